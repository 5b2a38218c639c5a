// Window functions: what the operator and the functions share.
//
// The operator collects the rows of whole partitions and asks each function for its results in the order of the rows.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "operator.h"
#include "rows.h"
#include "sisal/type/numeric.h"

namespace sisal::exec {

// Rows of whole partitions in their order. Groups are rows that the window's order leaves equal (peers).
struct WindowRows {
  WindowRows(std::vector<type::SqlType> types, MemoryTracker& memory) : rows(std::move(types), memory) {}
  uint32_t PartitionEnd(size_t partition) const { return EndOf(partitions, partition); }
  uint32_t GroupEnd(size_t group) const { return EndOf(groups, group); }

  RowStore rows;                     // the input's columns, then what the functions need besides
  std::vector<uint32_t> partitions;  // their first rows, ascending
  std::vector<uint32_t> groups;      // likewise; a partition begins a group

 private:
  uint32_t EndOf(const std::vector<uint32_t>& starts, size_t number) const {
    return number + 1 < starts.size() ? starts[number + 1] : rows.row_count();
  }
};

// An argument: a column of the rows, or the same value for all.
struct WindowArgument {
  bool constant = false;
  type::Vector value;   // if constant
  uint32_t column = 0;  // else

  type::Vector In(const WindowRows& rows, uint32_t block) const {
    return constant ? value : rows.rows.Block(block)[column];
  }
  bool IsNull(const WindowRows& rows, uint32_t row) const {
    return In(rows, row / RowStore::kBlockRows).IsNull(row % RowStore::kBlockRows);
  }
  int64_t Int(const WindowRows& rows, uint32_t row) const {
    return In(rows, row / RowStore::kBlockRows).Int(row % RowStore::kBlockRows);
  }
  // Puts the row's value at index `at` of `out`, which has a null bitmap.
  void Copy(const WindowRows& rows, uint32_t row, uint32_t at, type::Vector& out) const;
};
void SetNullAt(uint32_t at, type::Vector& out);

// Walks the groups of a partition's rows, which are asked for in ascending order.
class GroupCursor {
 public:
  void Start(const WindowRows& rows, uint32_t row);
  void MoveTo(uint32_t row) {
    while (row >= end_) Advance();
  }
  uint32_t number() const { return number_; }  // in rows.groups
  uint32_t begin() const { return begin_; }
  uint32_t end() const { return end_; }

 private:
  void Advance();
  const WindowRows* rows_ = nullptr;
  uint32_t number_ = 0, begin_ = 0, end_ = 0;
};

// Half open.
struct RowRange {
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t count() const { return end - begin; }
  bool operator==(const RowRange&) const = default;
};

class RangeBound;

// The frame of one row after another.
class FrameCursor {
 public:
  // Requires: frame outlives it. `order`: the window's sort keys.
  FrameCursor(const sql::WindowFrame& frame, std::span<const sql::SortKey> order, Frame& execution);
  ~FrameCursor();
  // Computes the offsets anew. Errors: 22004 NULL, 22013 negative.
  Status Open();
  void StartPartition(const WindowRows& rows, RowRange partition);
  // Rows ascend. Errors: 22013, 22008 of adding an offset. Suspends.
  Status MoveTo(uint32_t row);
  // What the frame holds, EXCLUDE left out: ascending, not empty, up to three.
  std::span<const RowRange> pieces() const { return {pieces_, piece_count_}; }

 private:
  Status OpenOffset(const sql::Expr* expr, std::string_view which, uint64_t& rows, std::unique_ptr<RangeBound>& bound,
                    bool is_end);
  uint32_t RowsBegin(uint32_t row) const;
  uint32_t RowsEnd(uint32_t row) const;
  Status FindGroupFrame(uint32_t row);
  void Cut(uint32_t row);
  void AddPiece(uint32_t begin, uint32_t end);

  const sql::WindowFrame& frame_;
  std::span<const sql::SortKey> order_;
  Frame& execution_;
  const WindowRows* rows_ = nullptr;
  RowRange partition_;
  uint32_t first_group_ = 0, last_group_ = 0;
  GroupCursor group_;
  bool needs_groups_;
  uint64_t start_rows_ = 0, end_rows_ = 0;  // offsets of ROWS and GROUPS
  std::unique_ptr<RangeBound> start_bound_, end_bound_;
  RowRange frame_of_group_;  // RANGE and GROUPS: that of all rows of the group that begins at known_group_
  uint32_t known_group_ = 0;
  bool group_known_ = false;
  RowRange pieces_[3];
  uint32_t piece_count_ = 0;
};

// One end of a RANGE frame with an offset, which is added to the current row's key or subtracted from it.
class RangeBound {
 public:
  RangeBound(const sql::SortKey& key, const type::SqlType& offset_type, type::Datum offset, bool is_end, bool preceding,
             Frame& execution);
  void StartPartition(RowRange partition) { partition_ = partition, at_ = partition.begin; }
  // Where the frame of `row` begins, or one past its end. Rows ascend. Suspends.
  Result<uint32_t> Find(const WindowRows& rows, uint32_t row);

 private:
  // A sort key's value, or that with the offset.
  struct Value {
    __int128 number = 0;
    double real = 0;
    type::Numeric numeric;
  };
  Status CheckOffset();
  Result<Value> ValueOf(const type::Vector& column, uint32_t row) const;
  Result<Value> Moved(const type::Vector& column, uint32_t row) const;
  Result<bool> Passes(const type::Vector& column, uint32_t row) const;

  sql::SortKey key_;
  type::SqlType offset_type_;
  type::Datum offset_;
  bool is_end_;
  bool adds_;  // to the key; else it is subtracted
  const State& state_;
  bool checked_ = false;
  RowRange partition_;
  uint32_t at_ = 0;
  Value bound_;
  bool all_pass_ = false;  // infinity less infinity
};

// One window function. Errors of all: those of its arguments' values, and of the frame.
class WindowFunctionRunner {
 public:
  virtual ~WindowFunctionRunner() = default;
  // Before the first row and after a Rewind.
  virtual Status Open() { return Status(); }
  // Earlier results are not looked at any more.
  virtual void StartChunk() {}
  virtual void StartPartition(const WindowRows& rows, RowRange partition) = 0;
  // Results of `rows`, which ascend over the calls, from index `at` of `out` on; out has a null bitmap. Bytes stay
  // valid until the next StartChunk. Suspends.
  virtual Status Compute(RowRange rows, uint32_t at, type::Vector& out) = 0;
};

namespace internal {
// `filter`: of an aggregate, a boolean column; nullptr: none.
std::unique_ptr<WindowFunctionRunner> MakeWindowAggregate(const sql::WindowCall& call,
                                                          std::vector<WindowArgument> arguments,
                                                          const WindowArgument* filter,
                                                          std::span<const sql::SortKey> order, Frame& frame);
std::unique_ptr<WindowFunctionRunner> MakeWindowFunction(const sql::WindowCall& call,
                                                         std::vector<WindowArgument> arguments,
                                                         std::span<const sql::SortKey> order, Frame& frame);
}  // namespace internal

}  // namespace sisal::exec
