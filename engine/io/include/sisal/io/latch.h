// The page latch: eight bytes, three ways in.
//
//   optimistic   reads without a store: take the version, read, Validate. The default for readers.
//   shared       for readers that failed too often, or that need the bytes to stand still
//   exclusive    for writers; raises the version when it is let go
//
// Word: 0 exclusive | 1 waiters | 2-15 count of shared holders | 16-63 version.
//   waiters is set only on a word that somebody holds, and the step that frees the word clears it and owes a WakeAll:
//   so nobody parks on a free latch. New shared holders stay out while it is set, so that a writer is not starved.
//
// Concurrency: thread-safe. Waiting: Policy::kSpins looks; then a fiber that holds nothing yields once and parks, and
//              whoever holds a latch or is in a section goes on looking, for a holder never suspends (README, rule 8).
// Bytes that are read optimistically may change under the reader's hands: copy them, follow no pointer or offset from
// them and check nothing but bounds before Validate. They are a data race in the language's sense; read them by relaxed
// atomics, or by memcpy in functions that ThreadSanitizer leaves alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "sisal/base/check.h"
#include "sisal/io/concurrency.h"
#include "sisal/io/parking_lot.h"

namespace sisal::io {

// What an optimistic reader saw; of use only with the latch that it came from.
struct LatchVersion {
  uint64_t word = 0;
};

template <typename Policy = RealConcurrency>
class BasicLatch {
 public:
  BasicLatch() = default;
  BasicLatch(const BasicLatch&) = delete;
  BasicLatch& operator=(const BasicLatch&) = delete;

  // Nothing while a writer holds the latch.
  std::optional<LatchVersion> TryRead() const {
    const uint64_t word = word_.load(std::memory_order_acquire);
    if ((word & kExclusive) != 0) [[unlikely]] {
      return std::nullopt;
    }
    return LatchVersion{word & kVersionMask};
  }
  // Waits until no writer holds the latch. Suspends, unless the caller holds a latch or is in a section.
  LatchVersion Read() {
    std::optional<LatchVersion> version = TryRead();
    if (!version) [[unlikely]] {
      Wait(kExclusive, [&] { return (version = TryRead()).has_value(); });
    }
    return *version;
  }
  // True: since `version` was taken no writer has had the latch, so what was read in between is whole.
  bool Validate(LatchVersion version) const {
    Policy::Point();
    Policy::Fence(std::memory_order_acquire);  // the reads before are done
    return (word_.load(std::memory_order_relaxed) & (kVersionMask | kExclusive)) == version.word;
  }

  bool TryLockShared() {
    uint64_t word = word_.load(std::memory_order_relaxed);
    while ((word & (kExclusive | kWaiters)) == 0) {
      SISAL_CHECK((word & kSharedMask) != kSharedMask);
      if (word_.compare_exchange_weak(word, word + kOneShared, std::memory_order_acquire, std::memory_order_relaxed)) {
        Policy::NoteHeld();
        return true;
      }
    }
    return false;
  }
  // Suspends, unless the caller holds a latch or is in a section.
  void LockShared() {
    Policy::Point();
    if (!TryLockShared()) [[unlikely]] {
      Wait(kExclusive | kWaiters, [&] { return TryLockShared(); });
    }
  }
  void UnlockShared() {
    uint64_t word = word_.load(std::memory_order_relaxed);
    uint64_t next;
    do {
      SISAL_CHECK((word & kSharedMask) != 0);
      next = word - kOneShared;
      if ((next & kSharedMask) == 0) next &= ~kWaiters;
    } while (!word_.compare_exchange_weak(word, next, std::memory_order_release, std::memory_order_relaxed));
    Policy::NoteReleased();
    if ((word & kWaiters) != (next & kWaiters)) [[unlikely]] {
      WakeWaiters(this);
    }
  }

  bool TryLockExclusive() {
    uint64_t word = word_.load(std::memory_order_relaxed);
    return (word & (kExclusive | kSharedMask)) == 0 && Acquire(word);
  }
  // Suspends, unless the caller holds a latch or is in a section.
  void LockExclusive() {
    Policy::Point();
    if (!TryLockExclusive()) [[unlikely]] {
      Wait(kExclusive | kSharedMask, [&] { return TryLockExclusive(); });
    }
  }
  // From optimistic to exclusive: false if a writer came in between, or if somebody holds the latch.
  bool TryUpgrade(LatchVersion version) { return Acquire(version.word); }
  void UnlockExclusive() {
    const uint64_t held = word_.load(std::memory_order_relaxed);
    SISAL_CHECK((held & kExclusive) != 0);
    // Besides the holder, only a waiter's mark changes the word.
    const uint64_t old = word_.exchange((held & kVersionMask) + kOneVersion, std::memory_order_release);
    Policy::NoteReleased();
    if ((old & kWaiters) != 0) [[unlikely]] {
      WakeWaiters(this);
    }
  }

  // For assertions.
  bool held_exclusive() const { return (word_.load(std::memory_order_relaxed) & kExclusive) != 0; }
  bool held_shared() const { return (word_.load(std::memory_order_relaxed) & kSharedMask) != 0; }

 private:
  static constexpr uint64_t kExclusive = 1;
  static constexpr uint64_t kWaiters = 2;
  static constexpr uint64_t kOneShared = 4;
  static constexpr uint64_t kSharedMask = 0xFFFC;
  static constexpr uint64_t kOneVersion = 1 << 16;
  static constexpr uint64_t kVersionMask = ~uint64_t{0xFFFF};

  // Requires: `free_word` was free.
  bool Acquire(uint64_t free_word) {
    if (!word_.compare_exchange_strong(free_word, free_word | kExclusive, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
      return false;
    }
    Policy::Fence(std::memory_order_release);  // who sees a byte that is written from now on also sees kExclusive
    Policy::NoteHeld();
    return true;
  }

  // Tries until it succeeds; parks while a bit of `blocking` is set.
  template <typename Try>
  [[gnu::noinline]] void Wait(uint64_t blocking, const Try& try_once) {
    bool has_yielded = false;
    for (;;) {
      for (int spin = 0; spin < Policy::kSpins; ++spin) {
        Policy::Relax();
        if (try_once()) return;
      }
      if (!Policy::MaySuspend()) {
        Policy::YieldThread();  // the holder's thread may have lost its processor
      } else if (!has_yielded) {
        has_yielded = true;
        Policy::Yield();
      } else {
        Lot().Park(this, [&] { return MarkWaiting(blocking); });
      }
    }
  }
  // False: no bit of `blocking` is set any more.
  bool MarkWaiting(uint64_t blocking) {
    uint64_t word = word_.load(std::memory_order_relaxed);
    while ((word & blocking) != 0) {
      if ((word & kWaiters) != 0) return true;
      if (word_.compare_exchange_weak(word, word | kWaiters, std::memory_order_relaxed)) return true;
    }
    return false;
  }
  // Static: once it is unlocked the latch may be gone.
  [[gnu::noinline]] static void WakeWaiters(const void* address) { Lot().WakeAll(address); }
  static BasicParkingLot<Policy>& Lot() { return Policy::template Global<BasicParkingLot<Policy>>(); }

  typename Policy::template Atomic<uint64_t> word_{0};
};

using Latch = BasicLatch<>;
static_assert(sizeof(Latch) == 8);

}  // namespace sisal::io
