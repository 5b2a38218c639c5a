// Window functions over sorted input: collects whole partitions and gives their rows with the functions' results.
#include "window.h"

#include <algorithm>
#include <cstring>

namespace sisal::exec {

using type::Chunk;
using type::Selection;
using type::Storage;
using type::Vector;

namespace {

// Not equal in the sense of DISTINCT: NULLs are equal.
bool Differs(const Vector& a, uint32_t row_a, const Vector& b, uint32_t row_b) {
  const bool null_a = a.IsNull(row_a), null_b = b.IsNull(row_b);
  if (null_a || null_b) return null_a != null_b;
  switch (a.type.storage()) {
    case Storage::kInt:
      return a.Int(row_a) != b.Int(row_b);
    case Storage::kDouble:
      return type::CompareDoubles(a.Double(row_a), b.Double(row_b)) != 0;
    case Storage::kBytes:
      return type::CompareBytes(a.type.id, a.Bytes(row_a), b.Bytes(row_b)) != 0;
  }
  return false;
}

class WindowOperator final : public Operator {
 public:
  WindowOperator(const sql::Plan& plan, Frame& frame, OperatorPtr input)
      : plan_(plan), frame_(frame), input_(std::move(input)), input_width_(plan.inputs[0]->output.size()) {
    std::vector<const sql::Expr*> computed;
    std::vector<type::SqlType> types = plan.inputs[0]->output;
    for (const sql::WindowCall& call : plan.windows) {
      std::vector<WindowArgument> arguments;
      for (const sql::Expr* arg : call.args) arguments.push_back(ArgumentOf(arg, computed, types));
      if (call.function != sql::WindowFunction::kAggregate) {
        runners_.push_back(internal::MakeWindowFunction(call, std::move(arguments), plan.sort_keys, frame));
        continue;
      }
      WindowArgument filter;
      if (call.filter != nullptr) filter = ArgumentOf(call.filter, computed, types);
      runners_.push_back(internal::MakeWindowAggregate(
          call, std::move(arguments), call.filter == nullptr ? nullptr : &filter, plan.sort_keys, frame));
    }
    program_ = Program::Compile(computed, frame);
    columns_.resize(types.size());
    rows_ = std::make_unique<WindowRows>(types, frame.state.memory);
    next_rows_ = std::make_unique<WindowRows>(types, frame.state.memory);
  }
  ~WindowOperator() override { frame_.state.memory.Release(charged_bytes_); }

  Status Next(Chunk& out) override {
    if (!open_) {
      for (const auto& runner : runners_) SISAL_RETURN_IF_ERROR(runner->Open());
      open_ = true;
    }
    SISAL_RETURN_IF_ERROR(frame_.state.CheckInterrupt());
    if (next_ == rows_->rows.row_count()) SISAL_RETURN_IF_ERROR(Collect());
    return Give(out);
  }

  Status Rewind() override {
    open_ = false;
    input_done_ = false;
    next_ = 0;
    Clear(*rows_);
    Clear(*next_rows_);
    return input_->Rewind();
  }

 private:
  // Columns of the input are there, constants are kept once, all else becomes a further column.
  WindowArgument ArgumentOf(const sql::Expr* expr, std::vector<const sql::Expr*>& computed,
                            std::vector<type::SqlType>& types) {
    WindowArgument argument;
    if (expr->kind == sql::ExprKind::kColumn) {
      argument.column = expr->index;
    } else if (expr->kind == sql::ExprKind::kConstant) {
      argument.constant = true;
      argument.value = type::MakeConstant(expr->type, expr->constant, frame_.state.constants);
    } else {
      argument.column = static_cast<uint32_t>(types.size());
      computed.push_back(expr);
      types.push_back(expr->type);
    }
    return argument;
  }

  static void Clear(WindowRows& rows) {
    rows.rows.Clear();
    rows.partitions.clear();
    rows.groups.clear();
  }

  // Fills rows_ with whole partitions; nothing at the end of the input. What the input has given beyond them waits in
  // next_rows_.
  Status Collect() {
    std::swap(rows_, next_rows_);
    Clear(*next_rows_);
    next_ = 0;
    partition_ = 0;
    partition_started_ = false;
    while (!input_done_ && next_rows_->rows.row_count() == 0) {
      SISAL_RETURN_IF_ERROR(frame_.state.CheckInterrupt());
      Chunk chunk;
      SISAL_RETURN_IF_ERROR(input_->Next(chunk));
      input_done_ = chunk.row_count == 0;
      if (!input_done_) SISAL_RETURN_IF_ERROR(Append(chunk));
    }
    return Status();
  }

  Status Append(const Chunk& chunk) {
    arena_.Reset();
    std::copy(chunk.columns.begin(), chunk.columns.begin() + static_cast<ptrdiff_t>(input_width_), columns_.begin());
    SISAL_RETURN_IF_ERROR(program_.Evaluate(chunk, arena_, std::span(columns_).subspan(input_width_)));
    const bool first = rows_->rows.row_count() == 0;
    FindStarts(chunk.row_count, first);
    // The last partition that begins here is not known to be whole, unless it is the first of all.
    uint32_t whole = chunk.row_count;
    for (uint32_t row = chunk.row_count; row-- > (first ? 1 : 0);) {
      if (starts_[row] != kPartition) continue;
      whole = row;
      break;
    }
    SISAL_RETURN_IF_ERROR(AppendRows(chunk.row_count, 0, whole, *rows_));
    return AppendRows(chunk.row_count, whole, chunk.row_count, *next_rows_);
  }

  Status AppendRows(uint32_t row_count, uint32_t begin, uint32_t end, WindowRows& to) {
    if (begin == end) return Status();
    const uint32_t base = to.rows.row_count();
    uint16_t* chosen = arena_.AllocateArray<uint16_t>(end - begin);
    for (uint32_t row = begin; row < end; ++row) {
      chosen[row - begin] = static_cast<uint16_t>(row);
      if (starts_[row] == kNothing) continue;
      const uint32_t place = base + row - begin;
      to.groups.push_back(place);
      if (starts_[row] == kPartition) to.partitions.push_back(place);
    }
    SISAL_RETURN_IF_ERROR(to.rows.Append(Chunk{row_count, columns_}, Selection{chosen, end - begin}));
    uint64_t held = 0;
    for (const WindowRows* rows : {rows_.get(), next_rows_.get()}) {
      held += (rows->groups.capacity() + rows->partitions.capacity()) * sizeof(uint32_t);
    }
    if (held > charged_bytes_) {
      SISAL_RETURN_IF_ERROR(frame_.state.memory.Charge(held - charged_bytes_));
      charged_bytes_ = held;
    }
    return Status();
  }

  // starts_[i]: what row i of the chunk begins. `first`: no row is before it.
  void FindStarts(uint32_t row_count, bool first) {
    starts_.assign(row_count, kNothing);
    for (const sql::SortKey& key : plan_.sort_keys) MarkStarts(*key.expr, row_count, first, kGroup);
    for (const sql::Expr* expr : plan_.partition) MarkStarts(*expr, row_count, first, kPartition);
    if (first) starts_[0] = kPartition;
  }

  void MarkStarts(const sql::Expr& column, uint32_t row_count, bool first, uint8_t mark) {
    const Vector& values = columns_[column.index];
    if (!first) {
      const uint32_t last = rows_->rows.row_count() - 1;
      const Vector& before = rows_->rows.Block(last / RowStore::kBlockRows)[column.index];
      if (Differs(before, last % RowStore::kBlockRows, values, 0)) starts_[0] = mark;
    }
    if (values.constant) return;
    for (uint32_t row = 1; row < row_count; ++row) {
      if (Differs(values, row - 1, values, row)) starts_[row] = mark;
    }
  }

  // Up to the end of a block, so that the rows need not be copied.
  Status Give(Chunk& out) {
    const uint32_t end = std::min(next_ + RowStore::kBlockRows, rows_->rows.row_count());
    if (next_ == end) {
      out = Chunk{0, {}};
      return Status();
    }
    const std::span<const Vector> block = rows_->rows.Block(next_ / RowStore::kBlockRows);
    given_.assign(block.begin(), block.begin() + static_cast<ptrdiff_t>(input_width_));
    result_arena_.Reset();
    for (const auto& runner : runners_) runner->StartChunk();
    for (const sql::WindowCall& call : plan_.windows) {
      given_.push_back(type::MakeVector(call.result, RowStore::kBlockRows, result_arena_));
      type::EnsureNulls(given_.back(), RowStore::kBlockRows, result_arena_);
    }
    for (uint32_t row = next_; row < end;) {
      const RowRange partition{rows_->partitions[partition_], rows_->PartitionEnd(partition_)};
      const RowRange part{row, std::min(end, partition.end)};
      for (size_t i = 0; i < runners_.size(); ++i) {
        if (!partition_started_) runners_[i]->StartPartition(*rows_, partition);
        SISAL_RETURN_IF_ERROR(runners_[i]->Compute(part, row - next_, given_[input_width_ + i]));
      }
      row = part.end;
      partition_started_ = row < partition.end;
      if (!partition_started_) ++partition_;
    }
    out = Chunk{end - next_, given_};
    next_ = end;
    return Status();
  }

  static constexpr uint8_t kNothing = 0, kGroup = 1, kPartition = 2;

  const sql::Plan& plan_;
  Frame& frame_;
  OperatorPtr input_;
  size_t input_width_;
  Program program_;  // arguments that are not columns
  std::vector<std::unique_ptr<WindowFunctionRunner>> runners_;
  bool open_ = false;
  bool input_done_ = false;
  std::unique_ptr<WindowRows> rows_;       // whole partitions
  std::unique_ptr<WindowRows> next_rows_;  // the beginning of the one behind them
  uint32_t next_ = 0;                      // row to be given; a multiple of the block's size, or all are given
  size_t partition_ = 0;                   // which one it is in
  bool partition_started_ = false;
  std::vector<uint8_t> starts_;
  uint64_t charged_bytes_ = 0;
  Arena arena_, result_arena_;
  std::vector<Vector> columns_, given_;
};

}  // namespace

namespace internal {
OperatorPtr MakeWindow(const sql::Plan& plan, Frame& frame, OperatorPtr input) {
  return std::make_unique<WindowOperator>(plan, frame, std::move(input));
}
}  // namespace internal

}  // namespace sisal::exec
