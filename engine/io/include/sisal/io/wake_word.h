// The word on which a wait and its wakers agree. It stands alone, and its atomic is a parameter, so that a test can run
// the production code through every interleaving.
//
//   running --BeginPark--> parking --CommitPark--> parked      by the waiter
//   running | parking --Wake--> notified                       remembered: the waiter will not stop
//   parked --Wake--> notified                                  the waker must make the waiter runnable
//   notified --Finish--> running                               by the waiter, which may then wait again
//
// Exactly one of several wakers (a notify, a timer, a cancel) wins, and its reason is what the waiter sees. After Wake
// a waker may touch the waiter only if it got kMustSchedule: in all other cases the waiter may already be gone.
#pragma once

#include <atomic>
#include <cstdint>

namespace sisal::io {

// Why a wait ended.
enum class WaitResult { kWoken, kTimedOut, kCancelled };

enum class WakeOutcome {
  kLost,          // another waker came first
  kRemembered,    // the waiter has not parked yet, and will not
  kMustSchedule,  // the waiter is parked: only the caller can make it run
};

template <template <typename> typename Atomic = std::atomic>
class BasicWakeWord {
 public:
  // False: a wake has come already. By the waiter.
  bool BeginPark() { return Move(kRunning, kParking); }
  // True: the waiter is parked and must give up its thread. False: a wake has come. By the waiter, after BeginPark.
  bool CommitPark() { return Move(kParking, kParked); }
  // Requires: notified. By the waiter.
  WaitResult Finish() {
    const uint32_t state = word_.load(std::memory_order_acquire);
    word_.store(kRunning, std::memory_order_relaxed);
    return static_cast<WaitResult>(state - kNotified);
  }
  bool notified() const { return word_.load(std::memory_order_acquire) >= kNotified; }

  // By anyone.
  WakeOutcome Wake(WaitResult reason) {
    uint32_t state = word_.load(std::memory_order_relaxed);
    while (state < kNotified) {
      if (word_.compare_exchange_weak(state, kNotified + static_cast<uint32_t>(reason), std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
        return state == kParked ? WakeOutcome::kMustSchedule : WakeOutcome::kRemembered;
      }
    }
    return WakeOutcome::kLost;
  }

 private:
  // kNotified + n: notified because of WaitResult n.
  enum : uint32_t { kRunning, kParking, kParked, kNotified };

  bool Move(uint32_t from, uint32_t to) {
    return word_.compare_exchange_strong(from, to, std::memory_order_acq_rel, std::memory_order_acquire);
  }

  Atomic<uint32_t> word_{kRunning};
};

using WakeWord = BasicWakeWord<>;

}  // namespace sisal::io
