// Sorting by byte keys: each row's sort key is encoded so that memcmp gives SQL's order.
#include <algorithm>
#include <numeric>

#include "operator.h"
#include "rows.h"

namespace sisal::exec {

using type::Chunk;
using type::Vector;

namespace {

class SortOperator final : public Operator {
 public:
  SortOperator(const sql::Plan& plan, Frame& frame, OperatorPtr input)
      : plan_(plan), frame_(frame), input_(std::move(input)), rows_(plan.output, frame.state.memory) {
    std::vector<const sql::Expr*> exprs;
    for (const sql::SortKey& key : plan.sort_keys) exprs.push_back(key.expr);
    keys_program_ = Program::Compile(exprs, frame);
  }
  ~SortOperator() override { frame_.state.memory.Release(charged_bytes_); }

  Status Next(Chunk& out) override {
    if (!reader_.started()) SISAL_RETURN_IF_ERROR(Sort());
    reader_.Next(out);
    return Status();
  }

  Status Rewind() override {
    reader_.Reset();
    rows_.Clear();
    keys_.clear();
    key_arena_.Reset();
    return input_->Rewind();
  }

 private:
  Status Sort() {
    Arena arena;
    std::vector<Vector> values(plan_.sort_keys.size());
    std::string key;
    for (;;) {
      SISAL_RETURN_IF_ERROR(frame_.state.CheckInterrupt());
      Chunk chunk;
      SISAL_RETURN_IF_ERROR(input_->Next(chunk));
      if (chunk.row_count == 0) break;
      arena.Reset();
      SISAL_RETURN_IF_ERROR(keys_program_.Evaluate(chunk, arena, values));
      for (uint32_t row = 0; row < chunk.row_count; ++row) {
        key.clear();
        for (size_t i = 0; i < values.size(); ++i) {
          const sql::SortKey& by = plan_.sort_keys[i];
          type::AppendKey(by.expr->type, values[i], row, by.order, by.nulls_first, key);
        }
        keys_.push_back(key_arena_.Copy(key));
      }
      SISAL_RETURN_IF_ERROR(rows_.Append(chunk));
      const uint64_t held = key_arena_.footprint_bytes() + keys_.capacity() * sizeof(keys_[0]);
      if (held > charged_bytes_) {
        SISAL_RETURN_IF_ERROR(frame_.state.memory.Charge(held - charged_bytes_));
        charged_bytes_ = held;
      }
    }
    std::vector<uint32_t> order(keys_.size());
    std::iota(order.begin(), order.end(), 0);
    // Rows with equal keys keep the order in which they came.
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      const int difference = keys_[a].compare(keys_[b]);
      return difference != 0 ? difference < 0 : a < b;
    });
    reader_.Start(&rows_, std::move(order));
    return Status();
  }

  const sql::Plan& plan_;
  Frame& frame_;
  OperatorPtr input_;
  Program keys_program_;
  RowStore rows_;
  Arena key_arena_{16 << 10};
  std::vector<std::string_view> keys_;
  uint64_t charged_bytes_ = 0;
  RowReader reader_;
};

}  // namespace

namespace internal {
OperatorPtr MakeSort(const sql::Plan& plan, Frame& frame, OperatorPtr input) {
  return std::make_unique<SortOperator>(plan, frame, std::move(input));
}
}  // namespace internal

}  // namespace sisal::exec
