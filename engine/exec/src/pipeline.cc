// Operators that pass chunks on: values, filter, projection, limit, append; and the factory of all.
#include <algorithm>

#include "operator.h"
#include "rows.h"

namespace sisal::exec {

using type::Chunk;
using type::Selection;
using type::Vector;

namespace {

class ValuesOperator final : public Operator {
 public:
  ValuesOperator(const sql::Plan& plan, Frame& frame) : plan_(plan), frame_(frame) {}

  Status Next(Chunk& out) override {
    arena_.Reset();
    const uint32_t count = static_cast<uint32_t>(std::min<size_t>(type::kVectorSize, plan_.rows.size() - next_));
    columns_.clear();
    for (const type::SqlType& type : plan_.output) {
      columns_.push_back(type::MakeVector(type, std::max(count, 1u), arena_));
      type::EnsureNulls(columns_.back(), std::max(count, 1u), arena_);
    }
    std::vector<Vector> row(plan_.output.size());
    for (uint32_t i = 0; i < count; ++i) {
      Program program = Program::Compile(plan_.rows[next_ + i], frame_);
      SISAL_RETURN_IF_ERROR(program.Evaluate(Chunk{1, {}}, arena_, row));
      for (size_t c = 0; c < row.size(); ++c) Put(row[c], i, columns_[c]);
    }
    next_ += count;
    out = Chunk{count, columns_};
    return Status();
  }

  Status Rewind() override { return next_ = 0, Status(); }

 private:
  static void Put(const Vector& from, uint32_t at, Vector& to) {
    if (from.IsNull(0)) {
      to.SetNull(at);
      if (to.type.storage() == type::Storage::kBytes) to.bytes[at] = {};
      return;
    }
    switch (to.type.storage()) {
      case type::Storage::kInt:
        to.ints[at] = from.Int(0);
        break;
      case type::Storage::kDouble:
        to.doubles[at] = from.Double(0);
        break;
      case type::Storage::kBytes:
        to.bytes[at] = from.Bytes(0);
        break;
    }
  }

  const sql::Plan& plan_;
  Frame& frame_;
  size_t next_ = 0;
  Arena arena_;
  std::vector<Vector> columns_;
};

class FilterOperator final : public Operator {
 public:
  FilterOperator(const sql::Plan& plan, Frame& frame, OperatorPtr input)
      : frame_(frame), input_(std::move(input)), predicate_(Program::Compile(plan.predicate, frame)) {}

  Status Next(Chunk& out) override {
    for (;;) {
      SISAL_RETURN_IF_ERROR(frame_.state.CheckInterrupt());
      SISAL_RETURN_IF_ERROR(input_->Next(out));
      if (out.row_count == 0) return Status();
      arena_.Reset();
      Selection selected;
      SISAL_RETURN_IF_ERROR(predicate_.Select(out, arena_, selected));
      if (selected.count == 0) continue;
      columns_.assign(out.columns.begin(), out.columns.end());
      Compact(columns_, selected, arena_);
      out = Chunk{selected.count, columns_};
      return Status();
    }
  }

  Status Rewind() override { return input_->Rewind(); }

 private:
  Frame& frame_;
  OperatorPtr input_;
  Program predicate_;
  Arena arena_;
  std::vector<Vector> columns_;
};

class ProjectOperator final : public Operator {
 public:
  ProjectOperator(const sql::Plan& plan, Frame& frame, OperatorPtr input)
      : input_(std::move(input)), program_(Program::Compile(plan.exprs, frame)), columns_(plan.exprs.size()) {}

  Status Next(Chunk& out) override {
    Chunk chunk;
    SISAL_RETURN_IF_ERROR(input_->Next(chunk));
    out = Chunk{chunk.row_count, columns_};
    if (chunk.row_count == 0) return Status();
    arena_.Reset();
    return program_.Evaluate(chunk, arena_, columns_);
  }

  Status Rewind() override { return input_->Rewind(); }

 private:
  OperatorPtr input_;
  Program program_;
  Arena arena_;
  std::vector<Vector> columns_;
};

class LimitOperator final : public Operator {
 public:
  LimitOperator(const sql::Plan& plan, Frame& frame, OperatorPtr input)
      : plan_(plan), frame_(frame), input_(std::move(input)) {}

  Status Next(Chunk& out) override {
    if (!started_) SISAL_RETURN_IF_ERROR(Start());
    for (;;) {
      if (left_ == 0) {
        out = Chunk{0, {}};
        return Status();
      }
      SISAL_RETURN_IF_ERROR(input_->Next(out));
      if (out.row_count == 0) return Status();
      const uint64_t skipped = std::min<uint64_t>(skip_, out.row_count);
      skip_ -= skipped;
      const uint32_t kept = static_cast<uint32_t>(std::min<uint64_t>(left_, out.row_count - skipped));
      if (kept == 0) continue;
      left_ -= kept;
      if (skipped > 0) Shift(static_cast<uint32_t>(skipped), kept, out);
      out.row_count = kept;
      return Status();
    }
  }

  Status Rewind() override {
    started_ = false;
    return input_->Rewind();
  }

 private:
  Status Start() {
    SISAL_ASSIGN_OR_RETURN(left_, Count(plan_.limit, ~uint64_t{0}, "2201W", "LIMIT must not be negative"));
    SISAL_ASSIGN_OR_RETURN(skip_, Count(plan_.offset, 0, "2201X", "OFFSET must not be negative"));
    started_ = true;
    return Status();
  }

  Result<uint64_t> Count(const sql::Expr* expression, uint64_t missing, const char* sqlstate, const char* message) {
    if (expression == nullptr) return missing;
    Program program = Program::Compile(expression, frame_);
    SISAL_ASSIGN_OR_RETURN(const type::Datum value, program.EvaluateScalar());
    if (value.is_null()) return missing;
    if (value.as_int() < 0) return Error(sqlstate, message);
    return static_cast<uint64_t>(value.as_int());
  }

  void Shift(uint32_t skipped, uint32_t kept, Chunk& out) {
    arena_.Reset();
    uint16_t* rows = arena_.AllocateArray<uint16_t>(kept);
    for (uint32_t i = 0; i < kept; ++i) rows[i] = static_cast<uint16_t>(skipped + i);
    columns_.assign(out.columns.begin(), out.columns.end());
    Compact(columns_, Selection{rows, kept}, arena_);
    out = Chunk{kept, columns_};
  }

  const sql::Plan& plan_;
  Frame& frame_;
  OperatorPtr input_;
  bool started_ = false;
  uint64_t left_ = 0;
  uint64_t skip_ = 0;
  Arena arena_;
  std::vector<Vector> columns_;
};

class AppendOperator final : public Operator {
 public:
  AppendOperator(Frame& frame, std::vector<OperatorPtr> inputs) : frame_(frame), inputs_(std::move(inputs)) {}

  Status Next(Chunk& out) override {
    for (; current_ < inputs_.size(); ++current_) {
      SISAL_RETURN_IF_ERROR(frame_.state.CheckInterrupt());
      SISAL_RETURN_IF_ERROR(inputs_[current_]->Next(out));
      if (out.row_count > 0) return Status();
    }
    out = Chunk{0, {}};
    return Status();
  }

  Status Rewind() override {
    for (size_t i = 0; i <= current_ && i < inputs_.size(); ++i) SISAL_RETURN_IF_ERROR(inputs_[i]->Rewind());
    current_ = 0;
    return Status();
  }

 private:
  Frame& frame_;
  std::vector<OperatorPtr> inputs_;
  size_t current_ = 0;
};

}  // namespace

namespace internal {
OperatorPtr MakeValues(const sql::Plan& plan, Frame& frame) { return std::make_unique<ValuesOperator>(plan, frame); }
OperatorPtr MakeFilter(const sql::Plan& plan, Frame& frame, OperatorPtr input) {
  return std::make_unique<FilterOperator>(plan, frame, std::move(input));
}
OperatorPtr MakeProject(const sql::Plan& plan, Frame& frame, OperatorPtr input) {
  return std::make_unique<ProjectOperator>(plan, frame, std::move(input));
}
OperatorPtr MakeLimit(const sql::Plan& plan, Frame& frame, OperatorPtr input) {
  return std::make_unique<LimitOperator>(plan, frame, std::move(input));
}
OperatorPtr MakeAppend(const sql::Plan&, Frame& frame, std::vector<OperatorPtr> inputs) {
  return std::make_unique<AppendOperator>(frame, std::move(inputs));
}
}  // namespace internal

Result<OperatorPtr> MakeOperator(const sql::Plan& plan, Frame& frame, int depth) {
  if (depth > kPlanDepthMax) {
    return Error("54001", "stack depth limit exceeded")
        .WithHint("The statement's plan nests more than " + std::to_string(kPlanDepthMax) + " operators.");
  }
  std::vector<OperatorPtr> inputs;
  for (const sql::Plan* input : plan.inputs) {
    SISAL_ASSIGN_OR_RETURN(OperatorPtr made, MakeOperator(*input, frame, depth + 1));
    inputs.push_back(std::move(made));
  }
  using sql::PlanKind;
  switch (plan.kind) {
    case PlanKind::kValues:
      return internal::MakeValues(plan, frame);
    case PlanKind::kTableScan:
      return internal::MakeTableScan(plan, frame);
    case PlanKind::kFunctionScan:
      return internal::MakeFunctionScan(plan, frame);
    case PlanKind::kSystemView:
      return internal::MakeSystemView(plan, frame);
    case PlanKind::kFilter:
      return internal::MakeFilter(plan, frame, std::move(inputs[0]));
    case PlanKind::kProject:
      return internal::MakeProject(plan, frame, std::move(inputs[0]));
    case PlanKind::kSort:
      return internal::MakeSort(plan, frame, std::move(inputs[0]));
    case PlanKind::kLockRows:
      return internal::MakeLockRows(plan, frame, std::move(inputs[0]));
    case PlanKind::kLimit:
      return internal::MakeLimit(plan, frame, std::move(inputs[0]));
    case PlanKind::kAggregate:
      return internal::MakeAggregate(plan, frame, std::move(inputs[0]));
    case PlanKind::kWindow:
      return internal::MakeWindow(plan, frame, std::move(inputs[0]));
    case PlanKind::kDistinct:
      return internal::MakeDistinct(plan, frame, std::move(inputs[0]));
    case PlanKind::kJoin:
      return internal::MakeJoin(plan, frame, std::move(inputs[0]), std::move(inputs[1]));
    case PlanKind::kLateralJoin:
      return internal::MakeLateralJoin(plan, frame, std::move(inputs[0]));
    case PlanKind::kAppend:
      return internal::MakeAppend(plan, frame, std::move(inputs));
    case PlanKind::kSetOperation:
      return internal::MakeSetOperation(plan, frame, std::move(inputs[0]), std::move(inputs[1]));
    case PlanKind::kRecursiveUnion:
      return internal::MakeRecursiveUnion(plan, frame, std::move(inputs[0]), std::move(inputs[1]));
    case PlanKind::kWorkingTable:
      return internal::MakeWorkingTable(plan, frame);
    case PlanKind::kInsert:
      return internal::MakeInsert(plan, frame, std::move(inputs[0]));
    case PlanKind::kUpdate:
      return internal::MakeUpdate(plan, frame, std::move(inputs[0]));
    case PlanKind::kDelete:
      return internal::MakeDelete(plan, frame, std::move(inputs[0]));
  }
  return Error("XX000", "unknown plan node");
}

}  // namespace sisal::exec
