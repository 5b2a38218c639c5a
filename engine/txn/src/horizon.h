// The applied horizon: up to it every commit is in the trees. A contiguous watermark over the log's positions, so that
// a snapshot taken at it never changes its mind.
//
// Concurrency: thread-safe. Latch order: taken inside the log's reservation (Reserved is called from there); nothing is
// taken inside it but the wait list's wakes.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>

#include "sisal/base/ids.h"
#include "sisal/io/sync.h"

namespace sisal::txn {

class AppliedHorizon {
 public:
  // Before the first commit: all up to `start` is in the trees.
  void Start(Timestamp start) { applied_.store(start.value, std::memory_order_release); }

  // A commit has got its position. Requires: called in the order of positions (wal::Log::Append's on_reserved).
  void Reserved(Timestamp position);
  // The commit at `position` is in the trees. Requires: Reserved(position), once.
  void Applied(Timestamp position);

  Timestamp applied() const { return Timestamp{applied_.load(std::memory_order_acquire)}; }
  // Of the newest commit that has a position.
  Timestamp last_reserved() const {
    std::lock_guard lock(latch_);
    return in_flight_.empty() ? applied() : in_flight_.back().position;
  }
  // Returns when applied() >= `position`. kWoken, or why the wait ended before. Suspends.
  io::WaitResult Wait(Timestamp position, const io::Interrupt& interrupt = {});

 private:
  struct Commit {
    Timestamp position;
    bool applied;
  };
  mutable io::SpinLatch latch_;   // guards in_flight_ and waiters_
  std::deque<Commit> in_flight_;  // ascending; the first is not applied yet
  io::WaitList waiters_;          // keyed by the position that each waits for
  std::atomic<uint64_t> applied_{0};
};

}  // namespace sisal::txn
