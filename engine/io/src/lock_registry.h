// The lock files of the runtime's directory locks, which each ring holds open.
//
// A killed process's writes in flight end only when its rings are torn down, after its descriptors are closed. A file
// that a ring has registered stays open until then, and with it the flock: the next process cannot enter too early.
//
// Thread-safe. Each loop compares the generation before it writes, and takes the set over when it has changed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "ring.h"
#include "sisal/io/sync.h"

namespace sisal::io {

class LockRegistry {
 public:
  LockRegistry() { fds_.fill(-1); }
  // False: all slots are taken.
  bool Add(int fd);
  void Remove(int fd);
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  // The generation that `ring` now holds.
  uint64_t HoldAll(Ring& ring);

 private:
  std::atomic<uint64_t> generation_{0};
  SpinLatch latch_;  // guards fds_
  std::array<int, Ring::kHeldFileCount> fds_;
};

}  // namespace sisal::io
