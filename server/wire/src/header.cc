// Headers, trailers and states: the small messages around the rows.
#include <limits>

#include "sisal/wire/result.h"

namespace sisal::wire {
namespace {

using type::TypeId;

// sisal.v1.TypeCode has the numbers of TypeId.
static_assert(static_cast<int>(TypeId::kBoolean) == 1 && static_cast<int>(TypeId::kNumeric) == 7 &&
              static_cast<int>(TypeId::kBytea) == 11 && static_cast<int>(TypeId::kTimestampTz) == 16 &&
              static_cast<int>(TypeId::kUuid) == 18);

uint64_t Fnv1a(uint64_t hash, std::string_view bytes) {
  for (const char c : bytes) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

std::string EncodePosition(Timestamp position) {
  if (position.value == 0) return {};
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(position.value >> (56 - 8 * i));
  return bytes;
}

uint64_t ShapeOf(std::span<const sql::OutputColumn> columns) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const sql::OutputColumn& column : columns) {
    const int32_t numbers[] = {static_cast<int32_t>(column.type.id),
                               column.type.precision,
                               column.type.scale,
                               column.type.length,
                               column.not_null,
                               static_cast<int32_t>(column.name.size())};
    hash = Fnv1a(hash, {reinterpret_cast<const char*>(numbers), sizeof(numbers)});
    hash = Fnv1a(hash, column.name);
  }
  return hash == 0 ? 1 : hash;
}

void WriteColumnType(std::string_view name, const type::SqlType& type, bool not_null, bool for_prepare, Buffer& out) {
  Writer writer(out);
  writer.BytesField(1, name);
  writer.VarintField(2, static_cast<uint64_t>(type.id));
  if (type.precision >= 0) writer.Varint(4, static_cast<uint64_t>(type.precision));
  if (type.id == TypeId::kNumeric && type.precision >= 0) writer.VarintField(5, ZigZag(type.scale));
  if (type.length > 0) writer.VarintField(6, static_cast<uint64_t>(type.length));
  writer.VarintField(7, not_null ? 1 : 0);
  if (for_prepare) {
    writer.BytesField(8, type.ToString());
    writer.VarintField(9, type::OidOf(type.id));
  }
}

void WriteHeader(uint32_t field, std::span<const sql::OutputColumn> columns, const HeaderOptions& options,
                 Buffer& out) {
  Writer writer(out);
  const size_t header = writer.Open(field);
  const uint64_t shape = ShapeOf(columns);
  if (shape != options.known_shape) {
    for (const sql::OutputColumn& column : columns) {
      const size_t opened = writer.Open(1);
      WriteColumnType(column.name, column.type, column.not_null, options.for_prepare, out);
      writer.Close(opened);
    }
  }
  writer.BytesField(3, options.statement_id);
  writer.Fixed64(5, shape);
  writer.Close(header);
}

void WriteTransaction(uint32_t field, const TransactionState& state, Buffer& out) {
  Writer writer(out);
  const size_t opened = writer.Open(field);
  writer.BytesField(1, state.handle);
  writer.VarintField(2, static_cast<uint64_t>(state.phase));
  writer.VarintField(3, state.expires_in_ms);
  writer.BytesField(4, EncodePosition(state.commit_position));
  writer.VarintField(5, state.attempts);
  writer.Close(opened);
}

void WriteStats(uint32_t field, const db::CallStats& stats, uint64_t total_us, uint64_t queue_us, Buffer& out) {
  Writer writer(out);
  const size_t opened = writer.Open(field);
  writer.VarintField(1, total_us);
  writer.VarintField(2, queue_us);
  writer.VarintField(3, stats.plan_us);
  writer.VarintField(4, stats.execute_us);
  writer.VarintField(5, stats.lock_wait_us);
  writer.VarintField(6, stats.sync_wait_us);
  writer.VarintField(7, stats.rows_read);
  writer.VarintField(10, stats.plan_cached ? 1 : 0);
  writer.Close(opened);
}

void WriteTrailer(uint32_t field, const Trailer& trailer, Buffer& out) {
  Writer writer(out);
  const size_t opened = writer.Open(field);
  writer.VarintField(1, trailer.rows_affected);
  if (trailer.stats != nullptr) WriteStats(2, *trailer.stats, trailer.total_us, trailer.queue_us, out);
  if (trailer.transaction != nullptr) WriteTransaction(3, *trailer.transaction, out);
  for (const db::Notice& warning : trailer.warnings) {
    const size_t message = writer.Open(4);
    writer.BytesField(1, warning.sqlstate);
    writer.BytesField(2, warning.message);
    writer.BytesField(3, warning.hint);
    writer.Close(message);
  }
  if (trailer.command != "SELECT") writer.BytesField(5, trailer.command);
  writer.Close(opened);
}

}  // namespace sisal::wire
