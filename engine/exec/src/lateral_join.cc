// LATERAL: a plan that runs for each row of the left input, as a nested loop.
#include <algorithm>

#include "operator.h"
#include "rows.h"

namespace sisal::exec {

using type::Chunk;
using type::Selection;
using type::Vector;

namespace {

class LateralJoinOperator final : public Operator {
 public:
  LateralJoinOperator(const sql::Plan& plan, Frame& frame, OperatorPtr left)
      : plan_(plan),
        frame_(frame),
        left_(std::move(left)),
        args_(Program::Compile(plan.lateral->outer_args, frame)),
        right_(*plan.lateral->subplan, frame),
        left_width_(plan.inputs[0]->output.size()),
        values_(plan.lateral->outer_args.size()),
        columns_(plan.output.size()) {
    if (plan.predicate != nullptr) predicate_ = Program::Compile(plan.predicate, frame);
  }

  Status Next(Chunk& out) override {
    for (;;) {
      SISAL_RETURN_IF_ERROR(frame_.state.CheckInterrupt());
      if (!open_) {
        SISAL_ASSIGN_OR_RETURN(const bool found, OpenRow());
        if (!found) {
          out = Chunk{0, {}};
          return Status();
        }
      }
      Chunk right;
      SISAL_RETURN_IF_ERROR(right_.Next(right));
      if (right.row_count == 0) {
        open_ = false;
        ++row_;
        if (matched_ || plan_.join != sql::JoinKind::kLeft) continue;
        GiveAlone(out);
        return Status();
      }
      SISAL_RETURN_IF_ERROR(GivePairs(right, out));
      if (out.row_count == 0) continue;
      matched_ = true;
      return Status();
    }
  }

  Status Rewind() override {
    open_ = false;
    row_ = 0;
    chunk_ = {};
    return left_->Rewind();
  }

 private:
  // Starts the plan for the next left row. False: there is none.
  Result<bool> OpenRow() {
    if (row_ == chunk_.row_count) {
      row_ = 0;
      SISAL_RETURN_IF_ERROR(left_->Next(chunk_));
      if (chunk_.row_count == 0) return false;
      chunk_arena_.Reset();
      SISAL_RETURN_IF_ERROR(args_.Evaluate(chunk_, chunk_arena_, values_));
    }
    row_arena_.Reset();
    std::vector<Vector> outer;
    for (const Vector& value : values_) outer.push_back(AtRow(value));
    SISAL_RETURN_IF_ERROR(right_.Start(std::move(outer)));
    open_ = true;
    matched_ = false;
    return true;
  }

  // The row's value as one for all rows.
  Vector AtRow(const Vector& value) { return type::MakeConstant(value.type, value.ToDatum(row_), row_arena_); }

  void PutLeft() {
    for (size_t i = 0; i < left_width_; ++i) columns_[i] = AtRow(chunk_.columns[i]);
  }

  Status GivePairs(const Chunk& right, Chunk& out) {
    PutLeft();
    std::copy(right.columns.begin(), right.columns.end(), columns_.begin() + static_cast<ptrdiff_t>(left_width_));
    out = Chunk{right.row_count, columns_};
    if (plan_.predicate == nullptr) return Status();
    arena_.Reset();
    Selection selected;
    SISAL_RETURN_IF_ERROR(predicate_.Select(out, arena_, selected));
    if (selected.count > 0 && selected.count < right.row_count) Compact(columns_, selected, arena_);
    out = Chunk{selected.count, columns_};
    return Status();
  }

  // The left row with NULLs.
  void GiveAlone(Chunk& out) {
    --row_;
    PutLeft();
    ++row_;
    for (size_t i = left_width_; i < columns_.size(); ++i) {
      columns_[i] = type::MakeConstant(plan_.output[i], type::Datum::Null(), row_arena_);
    }
    out = Chunk{1, columns_};
  }

  const sql::Plan& plan_;
  Frame& frame_;
  OperatorPtr left_;
  Program args_, predicate_;
  Subplan right_;
  size_t left_width_;
  Chunk chunk_;  // of the left input; rows before row_ are done
  uint32_t row_ = 0;
  bool open_ = false;     // right_ runs for row_
  bool matched_ = false;  // and has given a pair
  Arena chunk_arena_, row_arena_, arena_;
  std::vector<Vector> values_;  // outer_args of the chunk's rows
  std::vector<Vector> columns_;
};

}  // namespace

namespace internal {
OperatorPtr MakeLateralJoin(const sql::Plan& plan, Frame& frame, OperatorPtr left) {
  return std::make_unique<LateralJoinOperator>(plan, frame, std::move(left));
}
}  // namespace internal

}  // namespace sisal::exec
