#include "sweeper.h"

#include <chrono>
#include <mutex>
#include <utility>

#include "sisal/io/sync.h"
#include "sisal/io/time.h"

namespace sisal::txn {
namespace {

constexpr Duration kPeriod = std::chrono::milliseconds(50);

// One round as a sequence of short steps.
class Round {
 public:
  // True: there is another step.
  bool Step(StoreCore& core) {
    if (view_ == nullptr) {
      view_ = core.RefreshView();
      return true;
    }
    if (stripe_ < VersionStore::kStripeCount) {
      if (!core.SweepSome(stripe_, *view_)) ++stripe_;
      return true;
    }
    return DiscardSome(core);
  }

 private:
  bool DiscardSome(StoreCore& core) {
    constexpr size_t kEntriesPerStep = 256;
    if (doomed_ == nullptr) doomed_ = core.trees.TakeDropped(view_->oldest());
    if (doomed_ == nullptr) return false;
    // A transaction may still remember the tree; then its last reference frees it.
    if (doomed_.use_count() > 1 || doomed_->tree->Discard(kEntriesPerStep) < kEntriesPerStep) doomed_ = nullptr;
    return true;
  }

  std::shared_ptr<const SnapshotView> view_;
  size_t stripe_ = 0;
  TreePtr doomed_;
};

}  // namespace

struct Sweeper::State {
  io::SpinLatch latch;  // guards core, and is held during a step
  StoreCore* core = nullptr;
  io::CancelToken stop;
};

Sweeper::Sweeper(StoreCore& core) : state_(std::make_shared<State>()) {
  state_->core = &core;
  core.runtime.Spawn({.name = "version sweep", .priority = io::Priority::kBackground},
                     [state = state_] { Run(state); });
}

Sweeper::~Sweeper() {
  {
    std::lock_guard lock(state_->latch);
    state_->core = nullptr;
  }
  state_->stop.Cancel(Error("57P01", "the store is closing"));
}

void Sweeper::Run(const std::shared_ptr<State>& state) {
  while (io::SleepUntil({.deadline = io::Now() + kPeriod, .cancel = &state->stop}) == io::WaitResult::kTimedOut) {
    Round round;
    bool more = true;
    while (more) {
      {
        std::lock_guard lock(state->latch);
        if (state->core == nullptr) return;
        more = round.Step(*state->core);
      }
      io::YieldIfBudgetSpent();
    }
  }
}

void Sweeper::Sweep(StoreCore& core) {
  for (Round round; round.Step(core);) io::YieldIfBudgetSpent();
}

}  // namespace sisal::txn
