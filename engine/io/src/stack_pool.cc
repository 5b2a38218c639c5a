#include "stack_pool.h"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>

#include "sanitizer.h"
#include "sisal/base/check.h"

namespace sisal::io {
namespace {

constexpr size_t kGuardBytes = 4096;
constexpr size_t kFreeCountMax = 256;      // stacks kept beyond those in use
constexpr int kMadviseGuardInstall = 102;  // MADV_GUARD_INSTALL, Linux 6.13

bool InstallGuard(void* page) {
  static std::atomic<bool> madvise_works{true};
  if (madvise_works.load(std::memory_order_relaxed)) {
    if (::madvise(page, kGuardBytes, kMadviseGuardInstall) == 0) return true;
    if (errno != EINVAL) return false;
    madvise_works.store(false, std::memory_order_relaxed);
  }
  return ::mprotect(page, kGuardBytes, PROT_NONE) == 0;
}

}  // namespace

StackPool::StackPool(size_t stack_bytes) : usable_bytes_((stack_bytes + kGuardBytes - 1) / kGuardBytes * kGuardBytes) {
  free_.reserve(kFreeCountMax);
}

StackPool::~StackPool() {
  for (void* stack : free_) Unmap(stack);
}

void* StackPool::Take() {
  if (!free_.empty()) {
    void* const stack = free_.back();
    free_.pop_back();
    return stack;
  }
  void* const mapping = ::mmap(nullptr, kGuardBytes + usable_bytes_, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  if (!InstallGuard(mapping)) {
    ::munmap(mapping, kGuardBytes + usable_bytes_);
    return nullptr;
  }
  return static_cast<char*>(mapping) + kGuardBytes;
}

void StackPool::Give(void* low_end) {
  // The frames of a fiber that ended leave their red zones behind.
  UnpoisonStack(low_end, usable_bytes_);
  if (free_.size() < kFreeCountMax) {
    free_.push_back(low_end);
  } else {
    Unmap(low_end);
  }
}

void StackPool::Unmap(void* low_end) {
  UnpoisonStack(low_end, usable_bytes_);
  SISAL_CHECK(::munmap(static_cast<char*>(low_end) - kGuardBytes, kGuardBytes + usable_bytes_) == 0);
}

}  // namespace sisal::io
