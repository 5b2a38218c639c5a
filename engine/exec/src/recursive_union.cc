// WITH RECURSIVE: rounds of a plan over the rows that the round before gave, until one gives none.
#include "hash_index.h"
#include "operator.h"
#include "rows.h"

namespace sisal::exec {

using type::Chunk;
using type::Selection;
using type::Vector;

namespace {

class RecursiveUnionOperator final : public Operator {
 public:
  RecursiveUnionOperator(const sql::Plan& plan, Frame& frame, OperatorPtr start, OperatorPtr next)
      : plan_(plan),
        frame_(frame),
        start_(std::move(start)),
        next_(std::move(next)),
        working_(std::make_unique<RowStore>(plan.output, frame.state.memory)),
        coming_(std::make_unique<RowStore>(plan.output, frame.state.memory)),
        seen_(frame.state.memory) {}
  ~RecursiveUnionOperator() override { frame_.working_tables.erase(plan_.recursion); }

  Status Next(Chunk& out) override {
    for (;;) {
      SISAL_RETURN_IF_ERROR(frame_.state.CheckInterrupt());
      if (done_) {
        out = Chunk{0, {}};
        return Status();
      }
      SISAL_RETURN_IF_ERROR((round_ == 0 ? start_ : next_)->Next(out));
      if (out.row_count == 0) {
        SISAL_RETURN_IF_ERROR(EndRound());
        continue;
      }
      if (!plan_.keeps_duplicates) SISAL_RETURN_IF_ERROR(LeaveOutSeen(out));
      if (out.row_count == 0) continue;
      SISAL_RETURN_IF_ERROR(coming_->Append(out));
      return Status();
    }
  }

  Status Rewind() override {
    done_ = false;
    if (round_ > 0) SISAL_RETURN_IF_ERROR(next_->Rewind());
    round_ = 0;
    working_->Clear();
    coming_->Clear();
    seen_.Clear();
    return start_->Rewind();
  }

 private:
  Status EndRound() {
    if (coming_->row_count() == 0) {
      done_ = true;
      return Status();
    }
    std::swap(working_, coming_);
    coming_->Clear();
    frame_.working_tables[plan_.recursion] = working_.get();
    if (round_ > 0) SISAL_RETURN_IF_ERROR(next_->Rewind());
    ++round_;
    return Status();
  }

  Status LeaveOutSeen(Chunk& out) {
    arena_.Reset();
    uint16_t* kept = arena_.AllocateArray<uint16_t>(out.row_count);
    uint32_t count = 0;
    for (uint32_t row = 0; row < out.row_count; ++row) {
      key_.clear();
      AppendGroupKey(out.columns, row, key_);
      bool added;
      SISAL_RETURN_IF_ERROR(seen_.FindOrAdd(key_, added).status());
      if (added) kept[count++] = static_cast<uint16_t>(row);
    }
    columns_.assign(out.columns.begin(), out.columns.end());
    if (count > 0) Compact(columns_, Selection{kept, count}, arena_);
    out = Chunk{count, columns_};
    return Status();
  }

  const sql::Plan& plan_;
  Frame& frame_;
  OperatorPtr start_, next_;
  std::unique_ptr<RowStore> working_;  // what the last round gave: the input of this one
  std::unique_ptr<RowStore> coming_;   // what this round gives
  HashIndex seen_;
  uint64_t round_ = 0;
  bool done_ = false;
  std::string key_;
  Arena arena_;
  std::vector<Vector> columns_;
};

class WorkingTableOperator final : public Operator {
 public:
  WorkingTableOperator(const sql::Plan& plan, Frame& frame) : plan_(plan), frame_(frame) {}

  Status Next(Chunk& out) override {
    SISAL_RETURN_IF_ERROR(frame_.state.CheckInterrupt());
    if (!reader_.started()) reader_.Start(Find(), {});
    reader_.Next(out);
    return Status();
  }
  Status Rewind() override {
    reader_.Reset();
    return Status();
  }

 private:
  const RowStore* Find() const {
    for (const Frame* frame = &frame_;; frame = frame->around) {
      SISAL_CHECK(frame != nullptr);
      const auto found = frame->working_tables.find(plan_.recursion);
      if (found != frame->working_tables.end()) return found->second;
    }
  }

  const sql::Plan& plan_;
  Frame& frame_;
  RowReader reader_;
};

}  // namespace

namespace internal {
OperatorPtr MakeRecursiveUnion(const sql::Plan& plan, Frame& frame, OperatorPtr start, OperatorPtr next) {
  return std::make_unique<RecursiveUnionOperator>(plan, frame, std::move(start), std::move(next));
}
OperatorPtr MakeWorkingTable(const sql::Plan& plan, Frame& frame) {
  return std::make_unique<WorkingTableOperator>(plan, frame);
}
}  // namespace internal

}  // namespace sisal::exec
