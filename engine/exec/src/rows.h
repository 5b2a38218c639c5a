// Rows kept in memory, column-wise: what sorts, hash tables and DML hold between their input and their output.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sisal/type/row_codec.h"
#include "state.h"

namespace sisal::exec {

// Confined. Row numbers count from 0 in the order of appending. The tracker's charge is given back in the destructor.
class RowStore {
 public:
  RowStore(std::vector<type::SqlType> types, MemoryTracker& memory);
  ~RowStore();
  RowStore(const RowStore&) = delete;
  RowStore& operator=(const RowStore&) = delete;

  // Copies the rows of `selection`. Errors: 53200.
  Status Append(const type::Chunk& chunk, const type::Selection& selection);
  Status Append(const type::Chunk& chunk) { return Append(chunk, {nullptr, chunk.row_count}); }
  void Clear();

  uint32_t row_count() const { return row_count_; }
  std::span<const type::SqlType> types() const { return types_; }

  // Puts row `row`'s value of column `column` at index `at` of `out`, whose null bitmap is allocated.
  void Copy(uint32_t row, size_t column, uint32_t at, type::Vector& out) const;
  // out[i] = dense vectors of the given rows, all columns. kNoRow gives NULLs. Requires: rows.size() <= kVectorSize.
  void Gather(std::span<const uint32_t> rows, Arena& arena, std::span<type::Vector> out) const;
  static constexpr uint32_t kNoRow = ~uint32_t{0};

  // Rows lie in blocks of this many: row r at index r % kBlockRows of Block(r / kBlockRows), whose vectors may hold
  // further rows than there are and stay where they are until Clear.
  static constexpr uint32_t kBlockRows = 1024;
  std::span<const type::Vector> Block(uint32_t number) const { return blocks_[number]; }

 private:
  Status Grow();

  std::vector<type::SqlType> types_;
  MemoryTracker& memory_;
  Arena arena_{16 << 10};
  std::vector<std::vector<type::Vector>> blocks_;  // [block][column]
  uint32_t row_count_ = 0;
  uint64_t charged_bytes_ = 0;
};

// Gives out a RowStore's rows chunk by chunk, in the order of `order` (empty: as appended).
class RowReader {
 public:
  void Start(const RowStore* rows, std::vector<uint32_t> order);
  void Next(type::Chunk& out);
  bool started() const { return rows_ != nullptr; }
  void Reset() { rows_ = nullptr; }

 private:
  const RowStore* rows_ = nullptr;
  std::vector<uint32_t> order_;
  bool in_order_ = false;
  uint32_t next_ = 0;
  Arena arena_;
  std::vector<type::Vector> columns_;
};

// Appends the key of all columns at `row`: equal exactly where SQL's DISTINCT and GROUP BY say so (NULLs are equal).
void AppendGroupKey(std::span<const type::Vector> columns, uint32_t row, std::string& key);

}  // namespace sisal::exec
