// The background fiber that removes old versions, tombstones and dropped trees.
//
// It works in steps that do not suspend, each under a latch; so the store can go away at any moment without waiting for
// the fiber, which finds out at its next step. Thread-safe.
#pragma once

#include <memory>

#include "sisal/base/clock.h"
#include "store_core.h"

namespace sisal::txn {

class Sweeper {
 public:
  explicit Sweeper(StoreCore& core);
  // No step runs after this. Does not suspend.
  ~Sweeper();
  Sweeper(const Sweeper&) = delete;
  Sweeper& operator=(const Sweeper&) = delete;

  // Does one whole round now. For tests; the caller's fiber does the work. Suspends (yields).
  static void Sweep(StoreCore& core);

 private:
  struct State;
  static void Run(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace sisal::txn
