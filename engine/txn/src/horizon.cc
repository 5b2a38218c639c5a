#include "horizon.h"

#include <algorithm>
#include <mutex>

#include "sisal/base/check.h"
#include "sisal/base/simulation.h"

namespace sisal::txn {

void AppliedHorizon::Reserved(Timestamp position) {
  std::lock_guard lock(latch_);
  SISAL_CHECK(in_flight_.empty() || in_flight_.back().position < position);
  in_flight_.push_back({position, false});
}

void AppliedHorizon::Applied(Timestamp position) {
  std::lock_guard lock(latch_);
  const auto found = std::lower_bound(in_flight_.begin(), in_flight_.end(), position,
                                      [](const Commit& commit, Timestamp at) { return commit.position < at; });
  SISAL_CHECK(found != in_flight_.end() && found->position == position && !found->applied);
  found->applied = true;
  if (found != in_flight_.begin() && !SISAL_PLANTED(kHorizonPassesHole)) return;
  Timestamp applied;
  while (!in_flight_.empty() && in_flight_.front().applied) {
    applied = in_flight_.front().position;
    in_flight_.pop_front();
  }
  if (SISAL_PLANTED(kHorizonPassesHole)) applied = std::max(position, this->applied());
  applied_.store(applied.value, std::memory_order_release);
  waiters_.WakeThroughKey(applied.value);
}

io::WaitResult AppliedHorizon::Wait(Timestamp position, const io::Interrupt& interrupt) {
  latch_.lock();
  while (applied() < position) {
    io::WaitList::Node node(position.value);
    waiters_.Add(node);
    latch_.unlock();
    const io::WaitResult result = node.Park(interrupt);
    latch_.lock();
    if (result != io::WaitResult::kWoken && waiters_.Remove(node)) {
      latch_.unlock();
      return result;
    }
  }
  latch_.unlock();
  return io::WaitResult::kWoken;
}

}  // namespace sisal::txn
