#include "point_read.h"

namespace sisal::db {
namespace {

// Of a row, and of what is asked of it. Longer ones take so long to copy and to send that they belong on a fiber: the
// caller may be a thread that many connections share.
constexpr size_t kBytesMax = 16 << 10;

bool IsTooLong(std::span<const type::Vector> columns) {  // a column may be asked for many times
  size_t bytes = 0;
  for (const type::Vector& column : columns) {
    if (column.type.storage() == type::Storage::kBytes && !column.IsNull(0)) bytes += column.Bytes(0).size();
  }
  return bytes > kBytesMax;
}

}  // namespace

Result<bool> ReadPoint(const Engine& engine, const CachedPlan& plan, std::span<const type::Datum> params,
                       PointRow& row) {
  row.row_count = 0;
  row.columns.clear();
  const exec::PointRead* program = plan.point_read();
  const uint64_t version = engine.catalog->newest_version();
  if (program == nullptr || !plan.IsCurrent(version, *engine.catalog, *engine.store)) return false;
  row.arena.Reset();
  row.key.clear();
  if (!program->AppendKey(params, row.key)) return true;
  const txn::CommittedRow found = engine.store->GetCommitted(program->tree(), row.key, kBytesMax, row.arena);
  // Of a table that was dropped meanwhile the row may have been freed before we looked.
  if (found.too_long || engine.catalog->newest_version() != version) return false;
  if (!found.value.has_value()) return true;
  SISAL_RETURN_IF_ERROR(program->Decode(*found.value, row.arena, row.columns));
  if (IsTooLong(row.columns)) return false;
  row.row_count = 1;
  return true;
}

}  // namespace sisal::db
