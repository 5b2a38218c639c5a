// Aggregates over frames.
//
// A frame that only grows adds to the state what is new: O(1) for each row. One that moves takes out what has left,
// where the aggregate can do that exactly: O(1) as well, as both ends move forward only. Elsewhere the state is made
// anew: row by row for a short frame, from a tree of the states of 64 rows each for a long one, O(log n) for each row.
// string_agg() always goes row by row: its result is as long as the frame.
#include <algorithm>
#include <numeric>

#include "window.h"

namespace sisal::exec {

using type::Selection;
using type::Storage;
using type::Vector;

namespace {

constexpr uint32_t kAlignment = 16;
constexpr uint32_t kLeafRows = 64;
constexpr uint32_t kFanOut = 16;
constexpr uint32_t kBlockRows = RowStore::kBlockRows;
constexpr uint32_t kRowsBetweenInterrupts = 4096;

// Charges what arenas hold.
class ArenaCharge {
 public:
  explicit ArenaCharge(MemoryTracker& memory) : memory_(memory) {}
  ~ArenaCharge() { memory_.Release(charged_bytes_); }
  ArenaCharge(const ArenaCharge&) = delete;
  ArenaCharge& operator=(const ArenaCharge&) = delete;
  Status Update(uint64_t held_bytes) {
    if (held_bytes > charged_bytes_) {
      SISAL_RETURN_IF_ERROR(memory_.Charge(held_bytes - charged_bytes_));
    } else {
      memory_.Release(charged_bytes_ - held_bytes);
    }
    charged_bytes_ = held_bytes;
    return Status();
  }

 private:
  MemoryTracker& memory_;
  uint64_t charged_bytes_ = 0;
};

// Calls an aggregate's kernels for ranges of rows, leaving out those that do not count.
class RowFeeder {
 public:
  RowFeeder(const sql::WindowCall& call, std::vector<WindowArgument> arguments, const WindowArgument* filter,
            Frame& frame)
      : aggregate_(*call.aggregate), arguments_(std::move(arguments)), frame_(frame), states_(kBlockRows) {
    if (filter != nullptr) filter_ = *filter;
    has_filter_ = filter != nullptr;
    values_.resize(arguments_.size());
    for (uint32_t i = 0; i < kBlockRows; ++i) all_[i] = static_cast<uint16_t>(i);
  }

  void StartPartition(const WindowRows& rows) {
    rows_ = &rows;
    block_ = ~uint32_t{0};
  }

  Status Add(RowRange range, char* state, Arena& arena) { return Feed(range, state, arena, aggregate_.update); }
  Status Remove(RowRange range, char* state, Arena& arena) { return Feed(range, state, arena, aggregate_.remove); }
  bool can_remove() const { return aggregate_.remove != nullptr; }

 private:
  Status Feed(RowRange range, char* state, Arena& arena,
              Status (*kernel)(const function::Call& call, std::span<char* const> states)) {
    while (range.begin < range.end) {
      const uint32_t block = range.begin / kBlockRows;
      const uint32_t end = std::min(range.end, (block + 1) * kBlockRows);
      const uint32_t first = range.begin % kBlockRows, count = end - range.begin;
      Enter(block);
      const Selection rows = checks_rows_ ? Admitted(first, count) : Selection{&all_[first], count};
      range.begin = end;
      work_ += count;
      if (rows.count > 0) {
        std::fill_n(states_.begin(), rows.count, state);
        const function::Call call{values_, rows, kBlockRows, arena, frame_.state.options.function};
        SISAL_RETURN_IF_ERROR(kernel(call, std::span(states_).first(rows.count)));
      }
      if (work_ < kRowsBetweenInterrupts) continue;
      work_ = 0;
      SISAL_RETURN_IF_ERROR(frame_.state.CheckInterrupt());
    }
    return Status();
  }

  void Enter(uint32_t block) {
    if (block == block_) return;
    block_ = block;
    checks_rows_ = has_filter_;
    for (size_t i = 0; i < arguments_.size(); ++i) {
      values_[i] = arguments_[i].In(*rows_, block);
      // All columns have a bitmap: look whether it says anything.
      checks_rows_ |= aggregate_.skip_nulls && HasNulls(values_[i]);
    }
  }

  static bool HasNulls(const Vector& vector) {
    if (vector.nulls == nullptr) return false;
    const uint32_t words = vector.constant ? 1 : kBlockRows / 64;
    return std::any_of(vector.nulls, vector.nulls + words, [](uint64_t word) { return word != 0; });
  }

  Selection Admitted(uint32_t first, uint32_t count) {
    uint32_t kept = 0;
    const Vector filter = has_filter_ ? filter_.In(*rows_, block_) : Vector();
    for (uint32_t row = first; row < first + count; ++row) {
      if (has_filter_ && (filter.IsNull(row) || filter.Int(row) == 0)) continue;
      const bool skipped = aggregate_.skip_nulls && std::any_of(values_.begin(), values_.end(),
                                                                [row](const Vector& v) { return v.IsNull(row); });
      if (!skipped) admitted_[kept++] = static_cast<uint16_t>(row);
    }
    return Selection{admitted_.data(), kept};
  }

  const function::Aggregate& aggregate_;
  std::vector<WindowArgument> arguments_;
  WindowArgument filter_;
  bool has_filter_ = false;
  Frame& frame_;
  const WindowRows* rows_ = nullptr;
  uint32_t block_ = 0;
  bool checks_rows_ = false;
  std::vector<Vector> values_;  // the arguments in the block
  std::vector<char*> states_;
  std::vector<uint16_t> all_ = std::vector<uint16_t>(kBlockRows);
  std::vector<uint16_t> admitted_ = std::vector<uint16_t>(kBlockRows);
  uint32_t work_ = 0;  // rows since the last look at interrupts
};

// States of a partition's rows, kLeafRows by kLeafRows, then of kFanOut of those each, and so on.
class StateTree {
 public:
  StateTree(const function::Aggregate& aggregate, uint32_t state_bytes, Frame& frame)
      : aggregate_(aggregate), state_bytes_(state_bytes), frame_(frame), charge_(frame.state.memory) {}

  void Reset(RowRange partition) {
    partition_ = partition;
    levels_.clear();
    arena_.Reset();
  }

  // Adds the rows of `range`, in order.
  Status AddTo(RowRange range, char* state, Arena& arena, RowFeeder& feeder) {
    if (levels_.empty()) SISAL_RETURN_IF_ERROR(Build(feeder));
    const uint32_t first = (range.begin - partition_.begin + kLeafRows - 1) / kLeafRows;
    const uint32_t last = (range.end - partition_.begin) / kLeafRows;  // one past the whole leaves
    if (first >= last) return feeder.Add(range, state, arena);
    SISAL_RETURN_IF_ERROR(feeder.Add({range.begin, partition_.begin + first * kLeafRows}, state, arena));
    SISAL_RETURN_IF_ERROR(AddNodes(0, first, last, state, arena));
    return feeder.Add({partition_.begin + last * kLeafRows, range.end}, state, arena);
  }

 private:
  char* NewState() {
    char* state = static_cast<char*>(arena_.Allocate(state_bytes_, kAlignment));
    std::fill_n(state, state_bytes_, 0);
    return state;
  }

  Status Build(RowFeeder& feeder) {
    std::vector<char*>& leaves = levels_.emplace_back();
    for (uint32_t row = partition_.begin; partition_.end - row >= kLeafRows; row += kLeafRows) {
      leaves.push_back(NewState());
      SISAL_RETURN_IF_ERROR(feeder.Add({row, row + kLeafRows}, leaves.back(), arena_));
      SISAL_RETURN_IF_ERROR(charge_.Update(arena_.footprint_bytes()));
    }
    while (levels_.back().size() > kFanOut) {
      std::vector<char*> above;
      const std::vector<char*>& below = levels_.back();
      for (size_t i = 0; i + kFanOut <= below.size(); i += kFanOut) {
        above.push_back(NewState());
        for (size_t k = i; k < i + kFanOut; ++k) {
          SISAL_RETURN_IF_ERROR(aggregate_.merge(below[k], above.back(), arena_));
        }
      }
      SISAL_RETURN_IF_ERROR(charge_.Update(arena_.footprint_bytes()));
      SISAL_RETURN_IF_ERROR(frame_.state.CheckInterrupt());
      levels_.push_back(std::move(above));
    }
    return Status();
  }

  Status AddNodes(size_t level, uint32_t first, uint32_t last, char* state, Arena& arena) {
    const uint32_t first_above = (first + kFanOut - 1) / kFanOut, last_above = last / kFanOut;
    if (level + 1 == levels_.size() || first_above >= last_above) return Merge(level, first, last, state, arena);
    SISAL_RETURN_IF_ERROR(Merge(level, first, first_above * kFanOut, state, arena));
    SISAL_RETURN_IF_ERROR(AddNodes(level + 1, first_above, last_above, state, arena));
    return Merge(level, last_above * kFanOut, last, state, arena);
  }

  Status Merge(size_t level, uint32_t first, uint32_t last, char* state, Arena& arena) {
    for (uint32_t i = first; i < last; ++i) SISAL_RETURN_IF_ERROR(aggregate_.merge(levels_[level][i], state, arena));
    return Status();
  }

  const function::Aggregate& aggregate_;
  uint32_t state_bytes_;
  Frame& frame_;
  RowRange partition_;
  std::vector<std::vector<char*>> levels_;
  Arena arena_{16 << 10};
  ArenaCharge charge_;
};

class AggregateRunner final : public WindowFunctionRunner {
 public:
  AggregateRunner(const sql::WindowCall& call, std::vector<WindowArgument> arguments, const WindowArgument* filter,
                  std::span<const sql::SortKey> order, Frame& frame)
      : aggregate_(*call.aggregate),
        frame_(call.frame, order, frame),
        feeder_(call, std::move(arguments), filter, frame),
        state_(aggregate_.state_bytes / sizeof(State) + 1),
        tree_(aggregate_, static_cast<uint32_t>(state_.size() * sizeof(State)), frame),
        state_charge_(frame.state.memory),
        result_charge_(frame.state.memory) {
    const bool excludes = call.frame.exclusion != sql::FrameExclusion::kNoOthers;
    const bool moves = call.frame.start != sql::FrameBound::kUnboundedPreceding;
    uses_tree_ = !aggregate_.ordered_input && (excludes || (moves && !feeder_.can_remove()));
  }

  Status Open() override { return frame_.Open(); }

  void StartChunk() override {
    result_in_state_ = false;
    result_arena_.Reset();
    last_result_ = kNone;
  }

  void StartPartition(const WindowRows& rows, RowRange partition) override {
    frame_.StartPartition(rows, partition);
    feeder_.StartPartition(rows);
    tree_.Reset(partition);
    Clear();
    last_result_ = kNone;
    held_count_ = 0;
  }

  Status Compute(RowRange rows, uint32_t at, Vector& out) override {
    const bool bytes = out.type.storage() == Storage::kBytes;
    for (uint32_t row = rows.begin; row < rows.end; ++row, ++at) {
      SISAL_RETURN_IF_ERROR(frame_.MoveTo(row));
      bool changed = false;
      SISAL_RETURN_IF_ERROR(Hold(frame_.pieces(), changed));
      if (!changed && last_result_ != kNone) {
        Repeat(last_result_, at, out);
        last_result_ = at;
        continue;
      }
      SISAL_RETURN_IF_ERROR(aggregate_.finish(state(), at, out, result_arena_));
      last_result_ = at;
      if (!bytes) continue;
      if (out.IsNull(at)) {
        out.bytes[at] = {};
      } else if (aggregate_.ordered_input) {
        result_in_state_ = true;  // what is appended leaves it as it is
      } else {
        out.bytes[at] = result_arena_.Copy(out.bytes[at]);
      }
      SISAL_RETURN_IF_ERROR(result_charge_.Update(result_arena_.footprint_bytes()));
    }
    return Status();
  }

 private:
  struct alignas(kAlignment) State {
    char bytes[kAlignment];
  };
  static constexpr uint32_t kNone = ~uint32_t{0};

  char* state() { return state_.data()->bytes; }

  void Clear() {
    std::fill(state_.begin(), state_.end(), State{});
    if (!result_in_state_) state_arena_.Reset();
  }

  // Makes the state that of the rows in `pieces`.
  Status Hold(std::span<const RowRange> pieces, bool& changed) {
    const bool same = pieces.size() == held_count_ && std::equal(pieces.begin(), pieces.end(), held_pieces_);
    if (same) return Status();
    changed = true;
    if (pieces.size() == 1 && held_count_ <= 1) {
      SISAL_RETURN_IF_ERROR(Slide(pieces[0]));
    } else {
      Clear();
      for (const RowRange& piece : pieces) SISAL_RETURN_IF_ERROR(AddRange(piece));
    }
    held_count_ = pieces.size();
    std::copy(pieces.begin(), pieces.end(), held_pieces_);
    return state_charge_.Update(state_arena_.footprint_bytes());
  }

  Status Slide(RowRange to) {
    const RowRange held = held_count_ == 1 ? held_pieces_[0] : RowRange();
    const uint32_t common = to.begin < held.end ? held.end - to.begin : 0;
    const bool grows = common > 0 && to.begin == held.begin;
    const bool cheaper = to.begin - held.begin < common;
    const bool moves_on = held.begin <= to.begin && held.end <= to.end;  // EXCLUDE may take the end off
    if (!moves_on || (!grows && (common == 0 || !feeder_.can_remove() || !cheaper))) {
      Clear();
      return AddRange(to);
    }
    SISAL_RETURN_IF_ERROR(feeder_.Remove({held.begin, to.begin}, state(), state_arena_));
    return feeder_.Add({held.end, to.end}, state(), state_arena_);
  }

  Status AddRange(RowRange range) {
    if (!uses_tree_ || range.count() <= 2 * kLeafRows) return feeder_.Add(range, state(), state_arena_);
    return tree_.AddTo(range, state(), state_arena_, feeder_);
  }

  static void Repeat(uint32_t from, uint32_t at, Vector& out) {
    if (out.IsNull(from)) return SetNullAt(at, out);
    switch (out.type.storage()) {
      case Storage::kInt:
        out.ints[at] = out.ints[from];
        break;
      case Storage::kDouble:
        out.doubles[at] = out.doubles[from];
        break;
      case Storage::kBytes:
        out.bytes[at] = out.bytes[from];
        break;
    }
  }

  const function::Aggregate& aggregate_;
  FrameCursor frame_;
  RowFeeder feeder_;
  std::vector<State> state_;
  StateTree tree_;
  Arena state_arena_{4 << 10};
  Arena result_arena_;
  ArenaCharge state_charge_, result_charge_;
  RowRange held_pieces_[3];  // whose rows the state has
  size_t held_count_ = 0;
  bool uses_tree_ = false;
  uint32_t last_result_ = kNone;  // where in the chunk the state's result stands
  bool result_in_state_ = false;  // results of this chunk point into the state's arena
};

}  // namespace

namespace internal {

std::unique_ptr<WindowFunctionRunner> MakeWindowAggregate(const sql::WindowCall& call,
                                                          std::vector<WindowArgument> arguments,
                                                          const WindowArgument* filter,
                                                          std::span<const sql::SortKey> order, Frame& frame) {
  return std::make_unique<AggregateRunner>(call, std::move(arguments), filter, order, frame);
}

}  // namespace internal

}  // namespace sisal::exec
