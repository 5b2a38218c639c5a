// Joins: the right input is held in memory, hashed on the equal pairs where there are any; left rows stream past it.
#include <algorithm>
#include <numeric>

#include "hash_index.h"
#include "operator.h"
#include "rows.h"

namespace sisal::exec {

using sql::JoinKind;
using type::Chunk;
using type::Selection;
using type::Vector;

namespace {

class JoinOperator final : public Operator {
 public:
  JoinOperator(const sql::Plan& plan, Frame& frame, OperatorPtr left, OperatorPtr right)
      : plan_(plan),
        frame_(frame),
        left_(std::move(left)),
        right_(std::move(right)),
        rows_(plan.inputs[1]->output, frame.state.memory),
        keys_(frame.state.memory),
        left_keys_(Program::Compile(plan.hash_left, frame)),
        right_keys_(Program::Compile(plan.hash_right, frame)),
        columns_(plan.output.size()) {
    if (plan.predicate != nullptr) predicate_ = Program::Compile(plan.predicate, frame);
    keep_left_ = plan.join == JoinKind::kLeft || plan.join == JoinKind::kFull;
    keep_right_ = plan.join == JoinKind::kRight || plan.join == JoinKind::kFull;
  }

  Status Next(Chunk& out) override {
    if (!built_) SISAL_RETURN_IF_ERROR(Build());
    for (;;) {
      SISAL_RETURN_IF_ERROR(frame_.state.CheckInterrupt());
      if (left_row_ == left_chunk_.row_count) {
        if (left_done_) return UnmatchedRight(out);
        SISAL_RETURN_IF_ERROR(NextLeftChunk());
        if (left_done_) continue;
      }
      SISAL_RETURN_IF_ERROR(JoinSome(out));
      if (out.row_count > 0) return Status();
    }
  }

  Status Rewind() override {
    left_done_ = false;
    left_chunk_ = {};
    left_row_ = 0;
    next_unmatched_ = 0;
    SISAL_RETURN_IF_ERROR(left_->Rewind());
    if (built_ && plan_.right_is_fixed) {
      matched_.assign(matched_.size(), false);
      return Status();
    }
    built_ = false;
    rows_.Clear();
    keys_.Clear();
    buckets_.clear();
    return right_->Rewind();
  }

 private:
  bool hashed() const { return !plan_.hash_left.empty(); }
  size_t left_width() const { return plan_.inputs[0]->output.size(); }

  Status Build() {
    Arena arena;
    std::vector<Vector> values(plan_.hash_right.size());
    std::string key;
    for (;;) {
      SISAL_RETURN_IF_ERROR(frame_.state.CheckInterrupt());
      Chunk chunk;
      SISAL_RETURN_IF_ERROR(right_->Next(chunk));
      if (chunk.row_count == 0) break;
      const uint32_t first = rows_.row_count();
      SISAL_RETURN_IF_ERROR(rows_.Append(chunk));
      if (!hashed()) continue;
      arena.Reset();
      SISAL_RETURN_IF_ERROR(right_keys_.Evaluate(chunk, arena, values));
      for (uint32_t row = 0; row < chunk.row_count; ++row) {
        if (AnyNull(values, row)) continue;
        key.clear();
        AppendGroupKey(values, row, key);
        bool added;
        SISAL_ASSIGN_OR_RETURN(const uint32_t bucket, keys_.FindOrAdd(key, added));
        if (added) buckets_.emplace_back();
        buckets_[bucket].push_back(first + row);
      }
    }
    if (!hashed()) {
      all_rows_.resize(rows_.row_count());
      std::iota(all_rows_.begin(), all_rows_.end(), 0);
    }
    matched_.assign(keep_right_ ? rows_.row_count() : 0, false);
    built_ = true;
    return Status();
  }

  static bool AnyNull(std::span<const Vector> values, uint32_t row) {
    return std::any_of(values.begin(), values.end(), [row](const Vector& v) { return v.IsNull(row); });
  }

  Status NextLeftChunk() {
    SISAL_RETURN_IF_ERROR(left_->Next(left_chunk_));
    left_row_ = 0;
    candidate_ = 0;
    left_matched_ = false;
    left_done_ = left_chunk_.row_count == 0;
    if (left_done_ || !hashed()) return Status();
    left_arena_.Reset();
    left_values_.resize(plan_.hash_left.size());
    return left_keys_.Evaluate(left_chunk_, left_arena_, left_values_);
  }

  // The right rows that may match left row left_row_.
  const std::vector<uint32_t>& Candidates() {
    if (!hashed()) return all_rows_;
    static const std::vector<uint32_t> kNoRows;
    if (AnyNull(left_values_, left_row_)) return kNoRows;
    key_.clear();
    AppendGroupKey(left_values_, left_row_, key_);
    const uint32_t bucket = keys_.Find(key_);
    return bucket == HashIndex::kNone ? kNoRows : buckets_[bucket];
  }

  // Takes left rows with their candidates, at most kVectorSize pairs and finished left rows together; keeps the pairs
  // for which the predicate holds, and adds left rows that found no partner once all their candidates are through.
  Status JoinSome(Chunk& out) {
    arena_.Reset();
    std::vector<uint16_t> left_rows;
    std::vector<uint32_t> right_rows;
    while (left_rows.size() + ends_.size() < type::kVectorSize && left_row_ < left_chunk_.row_count) {
      const std::vector<uint32_t>& candidates = Candidates();
      const size_t room = type::kVectorSize - left_rows.size() - ends_.size();
      const size_t taken = std::min(room, candidates.size() - candidate_);
      for (size_t i = 0; i < taken; ++i) {
        left_rows.push_back(static_cast<uint16_t>(left_row_));
        right_rows.push_back(candidates[candidate_ + i]);
      }
      candidate_ += taken;
      if (candidate_ < candidates.size()) break;
      ends_.push_back({left_row_, left_rows.size()});
      ++left_row_;
      candidate_ = 0;
    }
    SISAL_RETURN_IF_ERROR(Match(left_rows, right_rows));
    if (kept_left_.empty()) {
      out = Chunk{0, {}};
    } else {
      MakePairs(kept_left_, kept_right_, out);
    }
    return Status();
  }

  // Fills kept_left_ and kept_right_ from the pairs; ends_ tells after how many pairs each finished left row ends.
  Status Match(const std::vector<uint16_t>& left_rows, const std::vector<uint32_t>& right_rows) {
    const uint32_t pairs = static_cast<uint32_t>(left_rows.size());
    std::vector<bool> holds(pairs, true);
    if (plan_.predicate != nullptr && pairs > 0) {
      Chunk candidates;
      MakePairs(left_rows, right_rows, candidates);
      Selection selected;
      SISAL_RETURN_IF_ERROR(predicate_.Select(candidates, arena_, selected));
      if (selected.data != nullptr || selected.count != pairs) {
        holds.assign(pairs, false);
        for (uint32_t i = 0; i < selected.count; ++i) holds[selected[i]] = true;
      }
    }
    kept_left_.clear();
    kept_right_.clear();
    uint32_t pair = 0;
    const auto take_until = [&](size_t end) {
      for (; pair < end; ++pair) {
        if (!holds[pair]) continue;
        left_matched_ = true;
        if (keep_right_) matched_[right_rows[pair]] = true;
        kept_left_.push_back(left_rows[pair]);
        kept_right_.push_back(right_rows[pair]);
      }
    };
    for (const End& end : ends_) {
      take_until(end.pairs);
      if (!left_matched_ && keep_left_) {
        kept_left_.push_back(static_cast<uint16_t>(end.left_row));
        kept_right_.push_back(RowStore::kNoRow);
      }
      left_matched_ = false;
    }
    take_until(pairs);
    ends_.clear();
    return Status();
  }

  void MakePairs(const std::vector<uint16_t>& left_rows, const std::vector<uint32_t>& right_rows, Chunk& out) {
    const uint32_t count = static_cast<uint32_t>(left_rows.size());
    std::copy(left_chunk_.columns.begin(), left_chunk_.columns.end(), columns_.begin());
    Compact(std::span(columns_).first(left_width()), Selection{left_rows.data(), count}, arena_);
    rows_.Gather(right_rows, arena_, std::span(columns_).subspan(left_width()));
    out = Chunk{count, columns_};
  }

  Status UnmatchedRight(Chunk& out) {
    out = Chunk{0, {}};
    if (!keep_right_) return Status();
    std::vector<uint32_t> right_rows;
    for (; next_unmatched_ < matched_.size() && right_rows.size() < type::kVectorSize; ++next_unmatched_) {
      if (!matched_[next_unmatched_]) right_rows.push_back(next_unmatched_);
    }
    if (right_rows.empty()) return Status();
    arena_.Reset();
    for (size_t c = 0; c < left_width(); ++c) {
      columns_[c] = type::MakeConstant(plan_.output[c], type::Datum::Null(), arena_);
    }
    rows_.Gather(right_rows, arena_, std::span(columns_).subspan(left_width()));
    out = Chunk{static_cast<uint32_t>(right_rows.size()), columns_};
    return Status();
  }

  struct End {
    uint32_t left_row;
    size_t pairs;
  };

  const sql::Plan& plan_;
  Frame& frame_;
  OperatorPtr left_, right_;
  RowStore rows_;
  HashIndex keys_;
  std::vector<std::vector<uint32_t>> buckets_;
  std::vector<uint32_t> all_rows_;
  std::vector<bool> matched_;
  Program left_keys_, right_keys_, predicate_;
  bool keep_left_, keep_right_;
  bool built_ = false;
  bool left_done_ = false;
  Chunk left_chunk_;
  uint32_t left_row_ = 0;
  size_t candidate_ = 0;
  bool left_matched_ = false;
  std::vector<End> ends_;
  std::vector<uint16_t> kept_left_;
  std::vector<uint32_t> kept_right_;
  uint32_t next_unmatched_ = 0;
  std::string key_;
  Arena left_arena_, arena_;
  std::vector<Vector> left_values_;
  std::vector<Vector> columns_;
};

}  // namespace

namespace internal {
OperatorPtr MakeJoin(const sql::Plan& plan, Frame& frame, OperatorPtr left, OperatorPtr right) {
  return std::make_unique<JoinOperator>(plan, frame, std::move(left), std::move(right));
}
}  // namespace internal

}  // namespace sisal::exec
