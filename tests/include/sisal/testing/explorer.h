// A small model checker: runs a few actors through every schedule of their steps, by running the whole test again for
// each (stateless, depth first). A step is one access to a model atomic (model_concurrency.h); between steps only the
// running actor's own state changes.
//
//  - Memory: interleavings are sequentially consistent, with x86's store buffers: a store that is not seq_cst waits in
//    its actor's buffer until an explored step writes it out. Acquire and release orders matter beyond that: happens-
//    before is tracked with vector clocks, and two plain accesses that it does not order are a violation, in whatever
//    order they ran. Not modelled: loads that are delayed, and stores of one actor that change places.
//  - Equal schedules: two neighbouring steps that touch different words, or only read, commute. Sleep sets skip the
//    second order: all final states, and all that an actor can see, are still explored.
//  - Waiting: an actor in a spin loop calls Pause, and goes on only after another actor has changed something. If
//    nobody can go on, somebody waits for ever: a violation. So is a schedule of more than depth_max steps.
//  - preemptions_max bounds how often an actor that could go on is set aside for another actor or for a buffer (then
//    without sleep sets).
#pragma once

#include <algorithm>
#include <array>
#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#if defined(SISAL_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(SISAL_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace sisal::model {

constexpr size_t kActorsMax = 4;

// When each actor's steps were seen.
struct Clock {
  std::array<uint32_t, kActorsMax> at{};
  void Join(const Clock& other) {
    for (size_t i = 0; i < kActorsMax; ++i) at[i] = std::max(at[i], other.at[i]);
  }
};

// The word under a model atomic.
struct Cell {
  uint64_t bits = 0;
  Clock released;  // what an acquiring load of the present value learns
};

struct Options {
  size_t depth_max = 300;
  uint64_t schedules_max = 4'000'000;  // more are a violation, so that no test runs for ever
  size_t preemptions_max = SIZE_MAX;
  size_t weak_failures_max = 1;  // how often in a schedule a weak compare-and-set may fail without reason
};

struct Report {
  uint64_t schedules = 0;  // run to their end
  uint64_t skipped = 0;    // found to be equal to an earlier one
  size_t depth = 0;        // steps in the longest
  std::string violation;   // empty: none
  std::string schedule;    // the violation's: actors by number, buffers as b<number>
};

class Explorer {
 public:
  // `test` adds actors and checks; it is called anew for each schedule, and must do the same each time.
  static Report Explore(const Options& options, const std::function<void(Explorer&)>& test) {
    Explorer explorer(options);
    do {
      explorer.RunOnce(test);
      if (explorer.report_.schedules + explorer.report_.skipped > options.schedules_max) {
        explorer.report_.violation = "more schedules than schedules_max";
      }
    } while (explorer.report_.violation.empty() && explorer.NextPath());
    current_ = nullptr;
    return explorer.report_;
  }

  // By the test.
  void Actor(std::function<void()> body) {
    if (actor_count_ == kActorsMax) std::abort();
    actors_[actor_count_++].body = std::move(body);
  }
  void Finally(std::function<void()> check) { finally_.push_back(std::move(check)); }
  void Expect(bool truth, const char* claim) {
    if (!truth && violation_.empty()) violation_ = claim;
  }

  // By the model's primitives. nullptr outside actors: their accesses are then no steps.
  static Explorer* InActor() { return current_ != nullptr && current_->self_ != kNone ? current_ : nullptr; }
  static uint64_t run_number() { return run_number_; }
  static Explorer& current() { return *current_; }

  struct Op {
    const void* address = nullptr;
    bool write = false;
    bool drained = false;               // needs an empty store buffer
    const uint64_t* awaited = nullptr;  // can be taken only while this is not 0
  };
  // Ends before the next access of the actor, which is `op`.
  void Step(const Op& op) {
    ActorState& actor = Self();
    actor.op = op;
    SwitchToMain(actor, false);
    ++actor.clock.at[self_];
  }
  // In a spin loop, after a look that was in vain.
  void Pause() { Self().paused = true; }
  size_t Choose(size_t count) {
    if (skipping_) return 0;
    if (depth_ == path_.size()) path_.push_back({.is_choice = true, .count = count});
    return path_[depth_++].chosen;
  }
  bool MayFailWeakly() {
    if (weak_failures_ == options_.weak_failures_max || Choose(2) == 0) return false;
    ++weak_failures_;
    return true;
  }

  Clock& clock() { return Self().clock; }
  void Acquire(const Cell& cell, bool acquires) {
    (acquires ? Self().clock : Self().acquired_by_fence).Join(cell.released);
  }
  void FenceAcquire() { Self().clock.Join(Self().acquired_by_fence); }
  void FenceRelease() { Self().released_by_fence = Released(true); }
  Clock Released(bool releases) {
    if (!releases) return Self().released_by_fence;
    const Clock released = Self().clock;
    ++Self().clock.at[self_];  // what follows is not released
    return released;
  }
  void NoteChange() {
    ++changes_;
    ++Self().own_changes;
  }
  void Buffer(Cell* cell, uint64_t bits, bool releases) { Self().buffer.push_back({cell, bits, Released(releases)}); }
  const uint64_t* Buffered(const Cell* cell) {
    ActorState& actor = Self();
    for (size_t i = actor.buffer.size(); i-- > 0;) {
      if (actor.buffer[i].cell == cell) return &actor.buffer[i].bits;
    }
    return nullptr;
  }
  // The cell's memory goes away.
  static void Forget(const Cell* cell) {
    if (current_ == nullptr) return;
    for (size_t i = 0; i < current_->actor_count_; ++i) {
      std::erase_if(current_->actors_[i].buffer, [&](const Store& store) { return store.cell == cell; });
    }
  }

  // Plain memory, in units of 32 bytes.
  void PlainAccess(const void* address, size_t size_bytes, bool write) {
    const uintptr_t first = reinterpret_cast<uintptr_t>(address) / 32;
    const uintptr_t last = (reinterpret_cast<uintptr_t>(address) + size_bytes - 1) / 32;
    for (uintptr_t unit = first; unit <= last; ++unit) {
      PlainState& state = plain_[unit];
      const Clock& now = Self().clock;
      for (size_t i = 0; i < actor_count_; ++i) {
        if (state.written.at[i] > now.at[i] || (write && state.read.at[i] > now.at[i])) {
          Expect(false, "two accesses to plain memory that nothing orders");
        }
      }
      (write ? state.written : state.read).at[self_] = now.at[self_];
    }
  }
  size_t self() const { return self_; }
  size_t& held_count() { return Self().held_count; }

 private:
  static constexpr size_t kNone = SIZE_MAX;
  static constexpr size_t kStackBytes = 256 << 10;
  struct Store {
    Cell* cell;
    uint64_t bits;
    Clock released;
  };
  struct ActorState {
    std::function<void()> body;
    boost::context::detail::fcontext_t context = nullptr;
    std::vector<char> stack;
    bool ended = false;
    bool paused = false;
    Op op;
    uint64_t own_changes = 0;
    uint64_t changes_seen = 0;  // by others, when it last went on after a pause
    Clock clock;
    Clock acquired_by_fence;
    Clock released_by_fence;
    std::vector<Store> buffer;
    size_t held_count = 0;
    void* fake_stack = nullptr;  // the sanitizers'
    void* tsan_fiber = nullptr;
  };
  struct PlainState {
    Clock written;
    Clock read;
  };
  // A place where the path forks: which agent goes on, or a choice of an actor. Agents: actors, then their buffers.
  struct Fork {
    bool is_choice = false;
    size_t count = 0;  // of a choice
    size_t chosen = 0;
    uint32_t may_choose = 0;  // of agents: bits
    uint32_t sleeping = 0;
    uint32_t done = 0;
  };

  explicit Explorer(const Options& options) : options_(options) {
    for (ActorState& actor : actors_) actor.stack.resize(kStackBytes);
  }
  ~Explorer() {
#if defined(SISAL_TSAN)
    for (ActorState& actor : actors_) {
      if (actor.tsan_fiber != nullptr) __tsan_destroy_fiber(actor.tsan_fiber);
    }
#endif
  }

  ActorState& Self() { return actors_[self_]; }

  void RunOnce(const std::function<void(Explorer&)>& test) {
    current_ = this;
    self_ = kNone;
    ++run_number_;
    actor_count_ = depth_ = steps_ = changes_ = weak_failures_ = preemptions_ = 0;
    last_actor_ = kNone;
    sleeping_ = 0;
    skipping_ = false;
    plain_.clear();
    violation_.clear();
    trace_.clear();
    finally_.clear();
    test(*this);
    for (size_t i = 0; i < actor_count_; ++i) Begin(i);
    const bool ended = RunSteps();
    for (size_t i = 0; ended && i < finally_.size(); ++i) finally_[i]();
    for (size_t i = 0; i < actor_count_; ++i) actors_[i].buffer.clear();
    report_.depth = std::max(report_.depth, steps_);
    ++(skipping_ ? report_.skipped : report_.schedules);
    if (violation_.empty()) return;
    report_.violation = violation_;
    for (const uint8_t agent : trace_) {
      report_.schedule += (agent < kActorsMax ? " " : " b") + std::to_string(agent % kActorsMax);
    }
  }

  // False: the actors did not end.
  bool RunSteps() {
    for (;;) {
      uint32_t enabled = 0;
      bool all_ended = true;
      for (size_t i = 0; i < actor_count_; ++i) {
        ActorState& actor = actors_[i];
        all_ended &= actor.ended && actor.buffer.empty();
        if (!actor.buffer.empty()) enabled |= 1u << (kActorsMax + i);
        if (actor.ended || (actor.op.drained && !actor.buffer.empty())) continue;
        if (actor.op.awaited != nullptr && *actor.op.awaited == 0) continue;
        if (actor.paused && changes_ - actor.own_changes == actor.changes_seen) continue;
        enabled |= 1u << i;
      }
      if (all_ended) return true;
      if (enabled == 0) {
        Expect(false, "nobody can go on: a wake is lost, or actors wait for each other");
        return false;
      }
      if (steps_ == options_.depth_max) {
        Expect(false, "more steps than depth_max");
        return false;
      }
      const size_t agent = ChooseAgent(enabled);
      ++steps_;
      trace_.push_back(static_cast<uint8_t>(agent));
      if (agent != last_actor_ && LastCouldGoOn(enabled)) ++preemptions_;
      if (agent >= kActorsMax) {
        Drain(agent - kActorsMax);
        continue;
      }
      last_actor_ = agent;
      ActorState& actor = actors_[agent];
      if (std::exchange(actor.paused, false)) actor.changes_seen = changes_ - actor.own_changes;
      Resume(agent);
    }
  }

  bool LastCouldGoOn(uint32_t enabled) const { return last_actor_ != kNone && (enabled >> last_actor_ & 1) != 0; }

  size_t ChooseAgent(uint32_t enabled) {
    const bool bounded = options_.preemptions_max != SIZE_MAX;
    if (!skipping_ && depth_ == path_.size()) {
      uint32_t may_choose = enabled & ~sleeping_;
      if (bounded && preemptions_ >= options_.preemptions_max && LastCouldGoOn(enabled)) {
        may_choose &= 1u << last_actor_;
      }
      if (may_choose == 0) {
        skipping_ = true;  // goes on in any order, so that all is cleaned up
      } else {
        path_.push_back({.chosen = Preferred(may_choose), .may_choose = may_choose, .sleeping = sleeping_});
      }
    }
    if (skipping_) return Preferred(enabled);
    const Fork& fork = path_[depth_++];
    if (fork.is_choice || (fork.may_choose & ~enabled) != 0) {
      std::fprintf(stderr, "explorer: the test does not do the same each time\n");
      std::abort();
    }
    const uint32_t candidates = bounded ? 0 : fork.sleeping | fork.done;
    sleeping_ = 0;
    for (uint32_t left = candidates; left != 0; left &= left - 1) {
      const auto other = static_cast<size_t>(__builtin_ctz(left));
      if (Commute(other, fork.chosen)) sleeping_ |= 1u << other;
    }
    return fork.chosen;
  }
  // Who ran last, else the first: schedules with few switches come first.
  size_t Preferred(uint32_t agents) const {
    if (LastCouldGoOn(agents)) return last_actor_;
    return static_cast<size_t>(__builtin_ctz(agents));
  }
  bool Commute(size_t a, size_t b) const {
    if (a % kActorsMax == b % kActorsMax) return false;
    const Op x = OpOf(a), y = OpOf(b);
    return x.address != y.address || (!x.write && !y.write);
  }
  Op OpOf(size_t agent) const {
    if (agent < kActorsMax) return actors_[agent].op;
    return {.address = actors_[agent - kActorsMax].buffer.front().cell, .write = true};
  }
  // To the next path in depth-first order; false after the last.
  bool NextPath() {
    for (; !path_.empty(); path_.pop_back()) {
      Fork& fork = path_.back();
      if (fork.is_choice) {
        if (++fork.chosen < fork.count) return true;
        continue;
      }
      fork.done |= 1u << fork.chosen;
      const uint32_t left = fork.may_choose & ~fork.done;
      if (left == 0) continue;
      fork.chosen = static_cast<size_t>(__builtin_ctz(left));
      return true;
    }
    return false;
  }
  void Drain(size_t i) {
    ActorState& actor = actors_[i];
    const Store store = actor.buffer.front();
    actor.buffer.erase(actor.buffer.begin());
    store.cell->released = store.released;
    if (store.cell->bits == store.bits) return;
    store.cell->bits = store.bits;
    ++changes_;
    ++actor.own_changes;
  }

  // Switching. Boost's fcontext does it without unwinding, so that the stack of an actor that waits for ever can be
  // left as it is.
  void Begin(size_t i) {
    ActorState& actor = actors_[i];
    std::function<void()> body = std::move(actor.body);
    std::vector<char> stack = std::move(actor.stack);
    void* const tsan_fiber = actor.tsan_fiber;
    actor = ActorState{};
    actor.body = std::move(body);
    actor.stack = std::move(stack);
    actor.tsan_fiber = tsan_fiber;
    actor.context = boost::context::detail::make_fcontext(actor.stack.data() + kStackBytes, kStackBytes, &Entry);
#if defined(SISAL_TSAN)
    if (actor.tsan_fiber != nullptr) __tsan_destroy_fiber(actor.tsan_fiber);
    actor.tsan_fiber = __tsan_create_fiber(0);
#endif
    Resume(i);
  }
  void Resume(size_t i) {
    self_ = i;
    ActorState& actor = actors_[i];
#if defined(SISAL_ASAN)
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(&fake_stack, actor.stack.data(), kStackBytes);
#endif
#if defined(SISAL_TSAN)
    main_tsan_fiber_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(actor.tsan_fiber, 0);
#endif
    actor.context = boost::context::detail::jump_fcontext(actor.context, this).fctx;
#if defined(SISAL_ASAN)
    __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
    self_ = kNone;
  }
  void SwitchToMain(ActorState& actor, [[maybe_unused]] bool ending) {
#if defined(SISAL_ASAN)
    __sanitizer_start_switch_fiber(ending ? nullptr : &actor.fake_stack, main_stack_, main_stack_bytes_);
#endif
#if defined(SISAL_TSAN)
    __tsan_switch_to_fiber(main_tsan_fiber_, 0);
#endif
    main_ = boost::context::detail::jump_fcontext(main_, nullptr).fctx;
#if defined(SISAL_ASAN)
    __sanitizer_finish_switch_fiber(actor.fake_stack, &main_stack_, &main_stack_bytes_);
#else
    static_cast<void>(actor);
#endif
  }
  static void Entry(boost::context::detail::transfer_t from) {
    Explorer& explorer = *static_cast<Explorer*>(from.data);
    explorer.main_ = from.fctx;
#if defined(SISAL_ASAN)
    __sanitizer_finish_switch_fiber(nullptr, &explorer.main_stack_, &explorer.main_stack_bytes_);
#endif
    ActorState& actor = explorer.Self();
    actor.body();
    actor.ended = true;
    explorer.SwitchToMain(actor, true);
  }

  const Options options_;
  Report report_;
  std::array<ActorState, kActorsMax> actors_;
  size_t actor_count_ = 0;
  std::vector<std::function<void()>> finally_;
  boost::context::detail::fcontext_t main_ = nullptr;
  const void* main_stack_ = nullptr;
  size_t main_stack_bytes_ = 0;
  void* main_tsan_fiber_ = nullptr;

  std::vector<Fork> path_;  // of this run; kept for the next
  size_t depth_ = 0;        // forks of path_ that are behind
  // This run's:
  size_t self_ = kNone;
  size_t steps_ = 0;
  uint64_t changes_ = 0;
  size_t weak_failures_ = 0;
  size_t preemptions_ = 0;
  size_t last_actor_ = kNone;
  uint32_t sleeping_ = 0;
  bool skipping_ = false;
  std::unordered_map<uintptr_t, PlainState> plain_;
  std::string violation_;
  std::vector<uint8_t> trace_;

  static inline Explorer* current_ = nullptr;
  static inline uint64_t run_number_ = 0;
};

}  // namespace sisal::model
