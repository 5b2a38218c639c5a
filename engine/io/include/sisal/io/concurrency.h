// What the engine's small concurrent mechanisms (latch.h, epoch.h, the log's ring) stand on, as a template parameter:
// in production it is this class, and all of it inlines away; a test passes model::Concurrency, whose operations are
// steps that an explorer schedules (tests/include/sisal/testing), so that the production code runs in all
// interleavings.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>

#include "sisal/base/simulation.h"
#include "sisal/io/runtime.h"
#include "sisal/io/sync.h"

namespace sisal::io {

struct RealConcurrency {
  template <typename T>
  using Atomic = std::atomic<T>;
  using Latch = SpinLatch;

  // How often to look again, with Relax between, before giving the thread or the fiber up.
  static constexpr int kSpins = 64;
  static constexpr size_t kParkingBuckets = 256;

  // The one object of this type in the process.
  template <typename T>
  static T& Global() {
    static constinit T object;
    return object;
  }

  static void Fence(std::memory_order order) { std::atomic_thread_fence(order); }
  // Plain memory that other threads may reach: published by an atomic store that follows.
  static void Copy(void* to, const void* from, size_t size_bytes) { std::memcpy(to, from, size_bytes); }
  static void Clear(void* to, size_t size_bytes) { std::memset(to, 0, size_bytes); }

  // Latches and sections that the thread holds: while there is one, no suspension (README, rule 1).
  static void NoteHeld() { ++internal::latch_scope.held_count; }
  static void NoteReleased() {
    if (--internal::latch_scope.held_count == 0 && internal::latch_scope.put_off_count != 0)
      internal::SendPutOffWakes();
  }
  static bool HoldsAny() { return internal::latch_scope.held_count != 0; }

  // While waiting for another thread. A fiber that holds nothing may give its thread to other fibers: Yield, Waiter.
  static void Relax();
  static void YieldThread();
  static bool MaySuspend() { return !HoldsAny() && OnFiber(); }
  static void Yield() { io::Yield(); }  // Suspends.
  class Waiter {
   public:
    void Park() { static_cast<void>(node_.Park({})); }  // Suspends.
    void Wake() { node_.Wake(); }                       // from any thread; *this may be gone when it returns

   private:
    internal::WaitNode node_;
  };

  // A race's window, for the simulator. Nothing happens while a latch is held.
  static void Point() { SISAL_SIM_POINT(); }
};

}  // namespace sisal::io
