// Results as sisal.v1 messages: headers, column chunks, trailers.
//
// The field numbers are those of proto/sisal/v1/result.proto and type.proto; result_test.cc reads everything back with
// the generated classes. Confined.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sisal/db/database.h"
#include "sisal/wire/buffer.h"

namespace sisal::wire {

// Numbers as in sisal.v1.Encoding.
enum class Encoding : uint8_t { kColumns = 1, kValues = 2, kPacked = 3 };

// Numbers as in sisal.v1.TransactionPhase.
enum class Phase : uint8_t { kNone = 0, kActive = 1, kFailed = 2, kCommitting = 3, kCommitted = 4, kRolledBack = 5 };

struct TransactionState {
  std::string_view handle;
  Phase phase = Phase::kNone;
  uint32_t expires_in_ms = 0;
  Timestamp commit_position;  // 0: none
  uint32_t attempts = 0;
};

// Positions compare as bytes: 8 bytes, big-endian. 0 is the empty string.
std::string EncodePosition(Timestamp position);

// Names the columns of a result for Statement.known_shape; never 0.
uint64_t ShapeOf(std::span<const sql::OutputColumn> columns);

// Writes the fields of a ColumnType. `for_prepare`: with sql_type and oid.
void WriteColumnType(std::string_view name, const type::SqlType& type, bool not_null, bool for_prepare, Buffer& out);

struct HeaderOptions {
  std::string_view statement_id;  // empty: not asked for
  uint64_t known_shape = 0;       // equal to the result's: its columns are left out
  bool for_prepare = false;
};
// Appends field `field` = ResultHeader.
void WriteHeader(uint32_t field, std::span<const sql::OutputColumn> columns, const HeaderOptions& options, Buffer& out);

struct Trailer {
  uint64_t rows_affected = 0;
  const db::CallStats* stats = nullptr;  // nullptr: not asked for
  uint64_t total_us = 0, queue_us = 0;
  const TransactionState* transaction = nullptr;
  std::span<const db::Notice> warnings;
  std::string_view command;  // "SELECT" travels as the empty string
};
void WriteTrailer(uint32_t field, const Trailer& trailer, Buffer& out);
void WriteTransaction(uint32_t field, const TransactionState& state, Buffer& out);
void WriteStats(uint32_t field, const db::CallStats& stats, uint64_t total_us, uint64_t queue_us, Buffer& out);

// Collects rows of vectors and turns them into one ResultChunk; used again for the next.
class ChunkEncoder {
 public:
  // `settings` outlives the encoder.
  ChunkEncoder(std::span<const sql::OutputColumn> columns, Encoding encoding, const type::TextSettings& settings);

  // How many of the rows [from, chunk.row_count) the next Append takes without passing `budget_bytes` by much: at least
  // one if the encoder is empty, so that a long row goes alone.
  uint32_t RowsThatFit(const type::Chunk& chunk, uint32_t from, size_t budget_bytes) const;
  void Append(const type::Chunk& chunk, uint32_t from, uint32_t upto);

  uint32_t row_count() const { return row_count_; }
  size_t size_bytes() const { return size_bytes_; }  // of the values collected so far, nearly
  // Appends field `field` = ResultChunk and starts again with no rows.
  void Finish(uint32_t field, Buffer& out);

 private:
  struct Column {
    type::SqlType type;
    Buffer values;   // packed numbers, or whole fields of texts and blobs, or the bytes alone for kPacked
    Buffer lengths;  // kPacked: varints
    Buffer nulls;    // bitmap; shorter than row_count_ bits: the rest is not NULL
  };
  void AppendColumn(Column& column, const type::Vector& vector, uint32_t from, uint32_t upto);
  void AppendNulls(Column& column, const type::Vector& vector, uint32_t from, uint32_t upto);
  void AppendBytes(Column& column, const type::Vector& vector, uint32_t from, uint32_t upto);
  void AppendRows(const type::Chunk& chunk, uint32_t from, uint32_t upto);
  void WriteValue(const type::Vector& vector, uint32_t row, Buffer& out);
  size_t ColumnSize(const Column& column) const;
  void WriteColumn(const Column& column, Buffer& out) const;

  Encoding encoding_;
  const type::TextSettings& settings_;
  std::vector<Column> columns_;
  Buffer rows_;       // kValues: the rows' fields
  std::string text_;  // scratch
  uint32_t row_count_ = 0;
  size_t size_bytes_ = 0;
};

}  // namespace sisal::wire
