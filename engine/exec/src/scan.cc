#include "scan.h"

#include <algorithm>

#include "rows.h"

namespace sisal::exec {

using type::Chunk;
using type::Selection;
using type::Vector;

std::vector<KeyColumn> KeyColumnsOf(const catalog::Table& table, std::optional<uint32_t> index) {
  std::vector<KeyColumn> columns;
  if (index.has_value()) {
    for (const catalog::IndexColumn& c : table.indexes[*index].columns) {
      columns.push_back({table.columns[c.column].type, c.order, c.nulls_first});
    }
  } else {
    for (uint32_t c : table.primary_key) columns.push_back({table.columns[c].type, type::SortOrder::kAscending, false});
  }
  return columns;
}

namespace {

// False if the value is NULL.
Result<bool> AppendBound(const sql::Expr* expression, const KeyColumn& column, Frame& frame, std::string& key) {
  Program program = Program::Compile(expression, frame);
  SISAL_ASSIGN_OR_RETURN(const type::Datum value, program.EvaluateScalar());
  if (value.is_null()) return false;
  type::AppendKey(column.type, value, column.order, column.nulls_first, key);
  return true;
}

// Puts one end of a range on a key column. `low`: the end lies at the column's low side in key order.
void Narrow(bool low, bool inclusive, std::string key, txn::KeyRange& range) {
  if (low) {
    range.lower = inclusive ? std::move(key) : type::PrefixEnd(key);
  } else {
    range.upper = inclusive ? type::PrefixEnd(key) : std::move(key);
  }
}

}  // namespace

Result<std::optional<ScanRange>> RangeOf(const sql::Plan& plan, const sql::KeyBounds& bounds, Frame& frame) {
  const std::vector<KeyColumn> columns = KeyColumnsOf(*plan.table, plan.index);
  ScanRange result;
  std::string prefix;
  for (size_t i = 0; i < bounds.equal.size(); ++i) {
    SISAL_ASSIGN_OR_RETURN(const bool present, AppendBound(bounds.equal[i], columns[i], frame, prefix));
    if (!present) return std::optional<ScanRange>();
  }
  result.point = !plan.index.has_value() && bounds.equal.size() == columns.size() && !columns.empty();
  result.range = {prefix, type::PrefixEnd(prefix)};
  if (bounds.lower == nullptr && bounds.upper == nullptr) return std::optional(std::move(result));

  // A comparison is never true for NULL: leave out the NULLs, which lie at one end of the column's keys.
  const KeyColumn& column = columns[bounds.equal.size()];
  std::string null_key = prefix;
  type::AppendKey(column.type, type::Datum::Null(), column.order, column.nulls_first, null_key);
  const bool ascending = column.order == type::SortOrder::kAscending;
  // NULLs compare as larger than all values unless NULLS FIRST/LAST turns them round.
  const bool nulls_at_low_end = column.nulls_first;
  Narrow(nulls_at_low_end, false, std::move(null_key), result.range);
  if (bounds.lower != nullptr) {
    std::string key = prefix;
    SISAL_ASSIGN_OR_RETURN(const bool present, AppendBound(bounds.lower, column, frame, key));
    if (!present) return std::optional<ScanRange>();
    Narrow(ascending, bounds.lower_inclusive, std::move(key), result.range);
  }
  if (bounds.upper != nullptr) {
    std::string key = prefix;
    SISAL_ASSIGN_OR_RETURN(const bool present, AppendBound(bounds.upper, column, frame, key));
    if (!present) return std::optional<ScanRange>();
    Narrow(!ascending, bounds.upper_inclusive, std::move(key), result.range);
  }
  return std::optional(std::move(result));
}

namespace {

class TableScanOperator final : public Operator {
 public:
  TableScanOperator(const sql::Plan& plan, Frame& frame) : plan_(plan), frame_(frame) {
    if (plan.predicate != nullptr) predicate_ = Program::Compile(plan.predicate, frame);
  }

  Status Next(Chunk& out) override {
    if (!started_) SISAL_RETURN_IF_ERROR(Start());
    for (;;) {
      SISAL_RETURN_IF_ERROR(frame_.state.CheckInterrupt());
      arena_.Reset();
      SISAL_RETURN_IF_ERROR(FetchRows());
      if (keys_.empty()) {
        out = Chunk{0, {}};
        return Status();
      }
      SISAL_RETURN_IF_ERROR(DecodeRows());
      uint32_t count = static_cast<uint32_t>(keys_.size());
      frame_.state.rows_read += count;
      Selection selected{nullptr, count};
      if (plan_.predicate != nullptr) {
        SISAL_RETURN_IF_ERROR(predicate_.Select(Chunk{count, columns_}, arena_, selected));
      }
      if (selected.count == 0) continue;
      Compact(columns_, selected, arena_);
      out = Chunk{selected.count, columns_};
      return Status();
    }
  }

  Status Rewind() override {
    started_ = false;
    cursor_.reset();
    return Status();
  }

 private:
  txn::Transaction& transaction() { return *frame_.state.options.transaction; }
  TreeId tree() const { return plan_.index.has_value() ? plan_.table->indexes[*plan_.index].tree : plan_.table->tree; }

  Status Start() {
    ranges_.clear();
    next_range_ = 0;
    step_rows_ = plan_.first_rows;
    for (const sql::KeyBounds& bounds : plan_.bounds) {
      SISAL_ASSIGN_OR_RETURN(std::optional<ScanRange> range, RangeOf(plan_, bounds, frame_));
      if (range.has_value()) ranges_.push_back(std::move(*range));
    }
    if (plan_.bounds.empty()) {
      ranges_.push_back({});
    } else if (plan_.bounds.size() > 1) {
      SortRanges();
    }
    started_ = true;
    return Status();
  }

  // Several bounds (an IN list): in key order, each once, so that the scan's order is the key's.
  void SortRanges() {
    std::sort(ranges_.begin(), ranges_.end(),
              [](const ScanRange& a, const ScanRange& b) { return a.range.lower < b.range.lower; });
    const auto same = [](const ScanRange& a, const ScanRange& b) { return a.range.lower == b.range.lower; };
    ranges_.erase(std::unique(ranges_.begin(), ranges_.end(), same), ranges_.end());
    if (plan_.backward) std::reverse(ranges_.begin(), ranges_.end());
  }

  // Fills keys_ and values_ with the next rows; none: the end.
  Status FetchRows() {
    keys_.clear();
    values_.clear();
    while (keys_.empty()) {
      if (cursor_ == nullptr) {
        if (next_range_ == ranges_.size()) return Status();
        const ScanRange& range = ranges_[next_range_++];
        if (range.point) {
          SISAL_RETURN_IF_ERROR(FetchPoint(range.range.lower));
          continue;
        }
        cursor_ = transaction().Scan(tree(), range.range,
                                     plan_.backward ? txn::Direction::kBackward : txn::Direction::kForward);
      }
      SISAL_RETURN_IF_ERROR(cursor_->Next(step_rows_, batch_));
      step_rows_ = std::min<size_t>(step_rows_ * 2, type::kVectorSize);
      if (batch_.keys.empty()) {
        cursor_.reset();
        continue;
      }
      SISAL_RETURN_IF_ERROR(plan_.index.has_value() ? FollowIndex() : TakeBatch());
    }
    return Status();
  }

  Status FetchPoint(const std::string& key) {
    SISAL_ASSIGN_OR_RETURN(const auto value, transaction().Get(tree(), key, arena_));
    if (value.has_value()) {
      keys_.push_back(key);
      values_.push_back(*value);
    }
    return Status();
  }

  Status TakeBatch() {
    keys_.assign(batch_.keys.begin(), batch_.keys.end());
    values_.assign(batch_.values.begin(), batch_.values.end());
    return Status();
  }

  Status FollowIndex() {
    for (std::string_view row_key : batch_.values) {
      SISAL_ASSIGN_OR_RETURN(const auto value, transaction().Get(plan_.table->tree, row_key, arena_));
      if (!value.has_value()) {
        return Error("XX001", "index \"" + plan_.table->indexes[*plan_.index].name + "\" has an entry without a row");
      }
      keys_.push_back(row_key);
      values_.push_back(*value);
    }
    return Status();
  }

  Status DecodeRows() {
    const uint32_t count = static_cast<uint32_t>(keys_.size());
    columns_.clear();
    for (uint32_t column : plan_.columns) {
      Vector& vector = columns_.emplace_back(type::MakeVector(plan_.table->columns[column].type, count, arena_));
      for (uint32_t i = 0; i < count; ++i) {
        SISAL_RETURN_IF_ERROR(plan_.table->layout.Decode(values_[i], column, i, vector, arena_));
      }
    }
    if (plan_.with_key) {
      Vector& vector = columns_.emplace_back(type::MakeVector(type::TypeId::kBytea, count, arena_));
      for (uint32_t i = 0; i < count; ++i) vector.bytes[i] = keys_[i];
    }
    return Status();
  }

  const sql::Plan& plan_;
  Frame& frame_;
  Program predicate_;
  bool started_ = false;
  std::vector<ScanRange> ranges_;
  size_t next_range_ = 0;
  std::unique_ptr<txn::Cursor> cursor_;
  size_t step_rows_ = 64;
  txn::EntryBatch batch_;
  std::vector<std::string_view> keys_, values_;
  Arena arena_{4096};
  std::vector<Vector> columns_;
};

class FunctionScanOperator final : public Operator {
 public:
  FunctionScanOperator(const sql::Plan& plan, Frame& frame) : plan_(plan), frame_(frame) {}

  Status Next(Chunk& out) override {
    SISAL_RETURN_IF_ERROR(frame_.state.CheckInterrupt());
    if (!started_) SISAL_RETURN_IF_ERROR(Start());
    arena_.Reset();
    columns_.clear();
    columns_.push_back(type::MakeVector(plan_.output[0], type::kVectorSize, arena_));
    uint32_t count = 0;
    if (!any_null_)
      SISAL_RETURN_IF_ERROR(
          plan_.set_function->next(frame_.state.options.function, args_, state_, arena_, columns_[0], count));
    frame_.state.rows_read += count;
    if (plan_.with_ordinality) {
      Vector& ordinals = columns_.emplace_back(type::MakeVector(type::TypeId::kBigint, std::max(count, 1u), arena_));
      for (uint32_t i = 0; i < count; ++i) ordinals.ints[i] = ++ordinal_;
    }
    out = Chunk{count, columns_};
    return Status();
  }

  Status Rewind() override { return started_ = false, Status(); }

 private:
  Status Start() {
    args_.clear();
    any_null_ = false;
    for (const sql::Expr* arg : plan_.function_args) {
      Program program = Program::Compile(arg, frame_);
      SISAL_ASSIGN_OR_RETURN(type::Datum value, program.EvaluateScalar());
      any_null_ = any_null_ || value.is_null();
      args_.push_back(std::move(value));
    }
    std::fill(std::begin(state_), std::end(state_), 0);
    ordinal_ = 0;
    started_ = true;
    return Status();
  }

  const sql::Plan& plan_;
  Frame& frame_;
  bool started_ = false;
  bool any_null_ = false;
  std::vector<type::Datum> args_;
  alignas(16) char state_[64] = {};
  int64_t ordinal_ = 0;
  Arena arena_;
  std::vector<Vector> columns_;
};

}  // namespace

namespace internal {
OperatorPtr MakeTableScan(const sql::Plan& plan, Frame& frame) {
  return std::make_unique<TableScanOperator>(plan, frame);
}
OperatorPtr MakeFunctionScan(const sql::Plan& plan, Frame& frame) {
  return std::make_unique<FunctionScanOperator>(plan, frame);
}
}  // namespace internal

}  // namespace sisal::exec
