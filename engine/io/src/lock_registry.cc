#include "lock_registry.h"

#include <algorithm>
#include <mutex>

namespace sisal::io {

bool LockRegistry::Add(int fd) {
  std::lock_guard guard(latch_);
  const auto slot = std::find(fds_.begin(), fds_.end(), -1);
  if (slot == fds_.end()) return false;
  *slot = fd;
  generation_.fetch_add(1, std::memory_order_release);
  return true;
}

void LockRegistry::Remove(int fd) {
  std::lock_guard guard(latch_);
  const auto slot = std::find(fds_.begin(), fds_.end(), fd);
  if (slot == fds_.end()) return;
  *slot = -1;
  generation_.fetch_add(1, std::memory_order_release);
}

uint64_t LockRegistry::HoldAll(Ring& ring) {
  // The system calls are under the latch on purpose: else a descriptor could be closed, and its number reused, between
  // the look and the call. It happens once per ring and lock.
  std::lock_guard guard(latch_);
  for (unsigned slot = 0; slot < fds_.size(); ++slot) ring.HoldFile(slot, fds_[slot]);
  return generation_.load(std::memory_order_relaxed);
}

}  // namespace sisal::io
