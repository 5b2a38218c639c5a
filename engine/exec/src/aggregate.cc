// GROUP BY and aggregates over a hash of group keys; DISTINCT; UNION, INTERSECT and EXCEPT.
#include <algorithm>
#include <numeric>

#include "hash_index.h"
#include "operator.h"
#include "rows.h"
#include "sisal/base/bytes.h"

namespace sisal::exec {

using type::Chunk;
using type::Selection;
using type::Vector;

namespace {

constexpr uint32_t kAlignment = 16;

// One aggregate call of the plan: where its states lie in a group's block, and what its DISTINCT has seen.
struct RunningCall {
  const sql::AggregateCall* call;
  Program args;
  Program filter;
  Program order;
  uint32_t state_offset = 0;
  std::unique_ptr<HashIndex> seen;      // DISTINCT: group number and argument values
  std::unique_ptr<RowStore> collected;  // ORDER BY inside: arguments, kept until the end
  std::vector<uint32_t> collected_group;
  std::vector<std::string> collected_key;
};

class AggregateOperator final : public Operator {
 public:
  AggregateOperator(const sql::Plan& plan, Frame& frame, OperatorPtr input)
      : plan_(plan),
        frame_(frame),
        input_(std::move(input)),
        groups_(frame.state.memory),
        group_rows_(GroupTypes(plan), frame.state.memory) {
    group_program_ = Program::Compile(plan.exprs, frame);
    for (const sql::AggregateCall& call : plan.aggregates) {
      RunningCall& running = calls_.emplace_back();
      running.call = &call;
      running.args = Program::Compile(call.args, frame);
      if (call.filter != nullptr) running.filter = Program::Compile(call.filter, frame);
      std::vector<const sql::Expr*> order;
      for (const sql::SortKey& key : call.order) order.push_back(key.expr);
      running.order = Program::Compile(order, frame);
      running.state_offset = state_bytes_;
      state_bytes_ += (call.aggregate->state_bytes + kAlignment - 1) / kAlignment * kAlignment;
      Prepare(running);
    }
  }
  ~AggregateOperator() override { frame_.state.memory.Release(charged_bytes_); }

  Status Next(Chunk& out) override {
    if (!done_) SISAL_RETURN_IF_ERROR(Consume());
    return Produce(out);
  }

  Status Rewind() override {
    done_ = false;
    next_ = 0;
    groups_.Clear();
    group_rows_.Clear();
    states_.clear();
    state_arena_.Reset();
    for (RunningCall& running : calls_) Prepare(running);
    return input_->Rewind();
  }

 private:
  static std::vector<type::SqlType> GroupTypes(const sql::Plan& plan) {
    return {plan.output.begin(), plan.output.begin() + static_cast<ptrdiff_t>(plan.exprs.size())};
  }

  void Prepare(RunningCall& running) {
    const sql::AggregateCall& call = *running.call;
    if (call.distinct) running.seen = std::make_unique<HashIndex>(frame_.state.memory);
    if (!call.order.empty()) {
      std::vector<type::SqlType> types;
      for (const sql::Expr* arg : call.args) types.push_back(arg->type);
      running.collected = std::make_unique<RowStore>(std::move(types), frame_.state.memory);
    }
    running.collected_group.clear();
    running.collected_key.clear();
  }

  Status Consume() {
    // Without GROUP BY there is one group, also over no rows.
    if (plan_.exprs.empty()) {
      bool added;
      SISAL_RETURN_IF_ERROR(groups_.FindOrAdd({}, added).status());
      AddState();
    }
    for (;;) {
      SISAL_RETURN_IF_ERROR(frame_.state.CheckInterrupt());
      Chunk chunk;
      SISAL_RETURN_IF_ERROR(input_->Next(chunk));
      if (chunk.row_count == 0) break;
      arena_.Reset();
      SISAL_RETURN_IF_ERROR(FindGroups(chunk));
      for (RunningCall& running : calls_) SISAL_RETURN_IF_ERROR(Update(running, chunk));
      const uint64_t held = state_arena_.footprint_bytes() + states_.capacity() * sizeof(char*);
      if (held > charged_bytes_) {
        SISAL_RETURN_IF_ERROR(frame_.state.memory.Charge(held - charged_bytes_));
        charged_bytes_ = held;
      }
    }
    for (RunningCall& running : calls_) {
      if (running.collected != nullptr) SISAL_RETURN_IF_ERROR(UpdateInOrder(running));
    }
    done_ = true;
    return Status();
  }

  void AddState() {
    char* state = static_cast<char*>(state_arena_.Allocate(std::max(state_bytes_, 1u), kAlignment));
    std::fill_n(state, state_bytes_, 0);
    states_.push_back(state);
  }

  // row_group_[i] = number of row i's group.
  Status FindGroups(const Chunk& chunk) {
    row_group_.assign(chunk.row_count, 0);
    if (plan_.exprs.empty()) return Status();
    std::vector<Vector> values(plan_.exprs.size());
    SISAL_RETURN_IF_ERROR(group_program_.Evaluate(chunk, arena_, values));
    std::string key;
    for (uint32_t row = 0; row < chunk.row_count; ++row) {
      key.clear();
      AppendGroupKey(values, row, key);
      bool added;
      SISAL_ASSIGN_OR_RETURN(row_group_[row], groups_.FindOrAdd(key, added));
      if (!added) continue;
      AddState();
      const uint16_t only[] = {static_cast<uint16_t>(row)};
      SISAL_RETURN_IF_ERROR(group_rows_.Append(Chunk{chunk.row_count, values}, Selection{only, 1}));
    }
    return Status();
  }

  Status Update(RunningCall& running, const Chunk& chunk) {
    const sql::AggregateCall& call = *running.call;
    Selection rows{nullptr, chunk.row_count};
    if (call.filter != nullptr) SISAL_RETURN_IF_ERROR(running.filter.Select(chunk, arena_, rows));
    std::vector<Vector> args(call.args.size());
    SISAL_RETURN_IF_ERROR(running.args.Evaluate(chunk, arena_, args));
    SISAL_ASSIGN_OR_RETURN(rows, Admit(running, args, rows));
    if (rows.count == 0) return Status();
    if (running.collected != nullptr) return Collect(running, chunk, args, rows);
    std::vector<char*> states(rows.count);
    for (uint32_t i = 0; i < rows.count; ++i) states[i] = states_[row_group_[rows[i]]] + running.state_offset;
    const function::Call kernel_call{args, rows, chunk.row_count, state_arena_, frame_.state.options.function};
    return call.aggregate->update(kernel_call, states);
  }

  // Leaves out rows with NULL arguments, where the aggregate ignores them, and what DISTINCT has had.
  Result<Selection> Admit(RunningCall& running, std::span<const Vector> args, const Selection& rows) {
    const bool skip_nulls = running.call->aggregate->skip_nulls;
    bool maybe_null = false;
    for (const Vector& arg : args) maybe_null = maybe_null || arg.nulls != nullptr;
    if ((!skip_nulls || !maybe_null) && running.seen == nullptr) return rows;
    uint16_t* kept = arena_.AllocateArray<uint16_t>(std::max(rows.count, 1u));
    uint32_t count = 0;
    std::string key;
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      const auto is_null = [row](const Vector& arg) { return arg.IsNull(row); };
      if (skip_nulls && std::any_of(args.begin(), args.end(), is_null)) continue;
      if (running.seen != nullptr) {
        key.clear();
        AppendLittle(key, row_group_[row]);
        AppendGroupKey(args, row, key);
        bool added;
        SISAL_RETURN_IF_ERROR(running.seen->FindOrAdd(key, added).status());
        if (!added) continue;
      }
      kept[count++] = static_cast<uint16_t>(row);
    }
    return Selection{kept, count};
  }

  Status Collect(RunningCall& running, const Chunk& chunk, std::span<Vector> args, const Selection& rows) {
    std::vector<Vector> order(running.call->order.size());
    SISAL_RETURN_IF_ERROR(running.order.Evaluate(chunk, arena_, order));
    for (uint32_t i = 0; i < rows.count; ++i) {
      std::string key;
      for (size_t k = 0; k < order.size(); ++k) {
        const sql::SortKey& by = running.call->order[k];
        type::AppendKey(by.expr->type, order[k], rows[i], by.order, by.nulls_first, key);
      }
      SISAL_RETURN_IF_ERROR(frame_.state.memory.Charge(key.size() + 48));
      charged_keys_bytes_ += key.size() + 48;
      running.collected_key.push_back(std::move(key));
      running.collected_group.push_back(row_group_[rows[i]]);
    }
    return running.collected->Append(Chunk{chunk.row_count, args}, rows);
  }

  Status UpdateInOrder(RunningCall& running) {
    std::vector<uint32_t> order(running.collected->row_count());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return running.collected_key[a] < running.collected_key[b]; });
    std::vector<Vector> args(running.call->args.size());
    for (size_t first = 0; first < order.size(); first += type::kVectorSize) {
      const std::span<const uint32_t> part =
          std::span(order).subspan(first, std::min<size_t>(type::kVectorSize, order.size() - first));
      arena_.Reset();
      running.collected->Gather(part, arena_, args);
      std::vector<char*> states;
      for (uint32_t row : part) states.push_back(states_[running.collected_group[row]] + running.state_offset);
      const uint32_t count = static_cast<uint32_t>(part.size());
      const function::Call kernel_call{args, {nullptr, count}, count, state_arena_, frame_.state.options.function};
      SISAL_RETURN_IF_ERROR(running.call->aggregate->update(kernel_call, states));
    }
    frame_.state.memory.Release(charged_keys_bytes_);
    charged_keys_bytes_ = 0;
    return Status();
  }

  Status Produce(Chunk& out) {
    arena_.Reset();
    const uint32_t count = std::min(type::kVectorSize, groups_.size() - next_);
    columns_.resize(plan_.output.size());
    std::vector<uint32_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), next_);
    group_rows_.Gather(plan_.exprs.empty() ? std::span<const uint32_t>() : numbers, arena_,
                       std::span(columns_).first(plan_.exprs.size()));
    for (size_t i = 0; i < calls_.size(); ++i) {
      Vector& column = columns_[plan_.exprs.size() + i];
      column = type::MakeVector(plan_.output[plan_.exprs.size() + i], std::max(count, 1u), arena_);
      type::EnsureNulls(column, std::max(count, 1u), arena_);
      for (uint32_t row = 0; row < count; ++row) {
        const char* state = states_[next_ + row] + calls_[i].state_offset;
        SISAL_RETURN_IF_ERROR(calls_[i].call->aggregate->finish(state, row, column, arena_));
      }
    }
    next_ += count;
    out = Chunk{count, columns_};
    return Status();
  }

  const sql::Plan& plan_;
  Frame& frame_;
  OperatorPtr input_;
  Program group_program_;
  std::vector<RunningCall> calls_;
  uint32_t state_bytes_ = 0;
  HashIndex groups_;
  RowStore group_rows_;
  std::vector<char*> states_;
  Arena state_arena_{16 << 10};
  std::vector<uint32_t> row_group_;
  bool done_ = false;
  uint32_t next_ = 0;
  uint64_t charged_bytes_ = 0;
  uint64_t charged_keys_bytes_ = 0;
  Arena arena_;
  std::vector<Vector> columns_;
};

class DistinctOperator final : public Operator {
 public:
  DistinctOperator(Frame& frame, OperatorPtr input)
      : frame_(frame), input_(std::move(input)), seen_(frame.state.memory) {}

  Status Next(Chunk& out) override {
    for (;;) {
      SISAL_RETURN_IF_ERROR(frame_.state.CheckInterrupt());
      SISAL_RETURN_IF_ERROR(input_->Next(out));
      if (out.row_count == 0) return Status();
      arena_.Reset();
      uint16_t* kept = arena_.AllocateArray<uint16_t>(out.row_count);
      uint32_t count = 0;
      std::string key;
      for (uint32_t row = 0; row < out.row_count; ++row) {
        key.clear();
        AppendGroupKey(out.columns, row, key);
        bool added;
        SISAL_RETURN_IF_ERROR(seen_.FindOrAdd(key, added).status());
        if (added) kept[count++] = static_cast<uint16_t>(row);
      }
      if (count == 0) continue;
      columns_.assign(out.columns.begin(), out.columns.end());
      Compact(columns_, Selection{kept, count}, arena_);
      out = Chunk{count, columns_};
      return Status();
    }
  }

  Status Rewind() override {
    seen_.Clear();
    return input_->Rewind();
  }

 private:
  Frame& frame_;
  OperatorPtr input_;
  HashIndex seen_;
  Arena arena_;
  std::vector<Vector> columns_;
};

// Counts each distinct row on both sides, then gives it as often as the operation says.
class SetOperator final : public Operator {
 public:
  SetOperator(const sql::Plan& plan, Frame& frame, OperatorPtr left, OperatorPtr right)
      : plan_(plan),
        frame_(frame),
        left_(std::move(left)),
        right_(std::move(right)),
        keys_(frame.state.memory),
        rows_(plan.output, frame.state.memory) {}

  Status Next(Chunk& out) override {
    if (!reader_.started()) {
      SISAL_RETURN_IF_ERROR(Count(*left_, 0));
      SISAL_RETURN_IF_ERROR(Count(*right_, 1));
      std::vector<uint32_t> order;
      for (uint32_t i = 0; i < counts_.size(); ++i) order.insert(order.end(), Copies(counts_[i]), i);
      if (order.empty()) rows_.Clear();
      reader_.Start(&rows_, std::move(order));
    }
    reader_.Next(out);
    return Status();
  }

  Status Rewind() override {
    reader_.Reset();
    keys_.Clear();
    rows_.Clear();
    counts_.clear();
    SISAL_RETURN_IF_ERROR(left_->Rewind());
    return right_->Rewind();
  }

 private:
  struct Counts {
    uint64_t sides[2] = {0, 0};
  };

  uint64_t Copies(const Counts& n) const {
    switch (plan_.set_operation) {
      case sql::SetOperationKind::kUnion:
        return 1;
      case sql::SetOperationKind::kIntersect:
        return n.sides[0] > 0 && n.sides[1] > 0;
      case sql::SetOperationKind::kIntersectAll:
        return std::min(n.sides[0], n.sides[1]);
      case sql::SetOperationKind::kExcept:
        return n.sides[0] > 0 && n.sides[1] == 0;
      case sql::SetOperationKind::kExceptAll:
        return n.sides[0] > n.sides[1] ? n.sides[0] - n.sides[1] : 0;
    }
    return 0;
  }

  Status Count(Operator& input, int side) {
    std::string key;
    for (;;) {
      SISAL_RETURN_IF_ERROR(frame_.state.CheckInterrupt());
      Chunk chunk;
      SISAL_RETURN_IF_ERROR(input.Next(chunk));
      if (chunk.row_count == 0) return Status();
      for (uint32_t row = 0; row < chunk.row_count; ++row) {
        key.clear();
        AppendGroupKey(chunk.columns, row, key);
        bool added;
        SISAL_ASSIGN_OR_RETURN(const uint32_t number, keys_.FindOrAdd(key, added));
        if (added) {
          counts_.emplace_back();
          const uint16_t only[] = {static_cast<uint16_t>(row)};
          SISAL_RETURN_IF_ERROR(rows_.Append(chunk, Selection{only, 1}));
        }
        ++counts_[number].sides[side];
      }
    }
  }

  const sql::Plan& plan_;
  Frame& frame_;
  OperatorPtr left_, right_;
  HashIndex keys_;
  RowStore rows_;
  std::vector<Counts> counts_;
  RowReader reader_;
};

}  // namespace

namespace internal {
OperatorPtr MakeAggregate(const sql::Plan& plan, Frame& frame, OperatorPtr input) {
  return std::make_unique<AggregateOperator>(plan, frame, std::move(input));
}
OperatorPtr MakeDistinct(const sql::Plan&, Frame& frame, OperatorPtr input) {
  return std::make_unique<DistinctOperator>(frame, std::move(input));
}
OperatorPtr MakeSetOperation(const sql::Plan& plan, Frame& frame, OperatorPtr left, OperatorPtr right) {
  return std::make_unique<SetOperator>(plan, frame, std::move(left), std::move(right));
}
}  // namespace internal

}  // namespace sisal::exec
