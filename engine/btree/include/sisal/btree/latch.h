// A reader-writer spin latch for short sections of memory work, between loops only: a holder never parks, so a spin on
// the same loop cannot wait for a parked fiber. A waiting writer keeps new readers out, so it is not starved.
//
// Meets the standard's shared lockable requirements: use std::unique_lock and std::shared_lock.
#pragma once

#include <atomic>
#include <cstdint>

namespace sisal::btree {

class SharedSpinLatch {
 public:
  void lock() {
    uint32_t word = word_.load(std::memory_order_relaxed);
    for (uint32_t turn = 0;; ++turn) {
      if ((word & kWriter) == 0 && word_.compare_exchange_weak(word, word | kWriter, std::memory_order_acquire)) break;
      Pause(turn);
      word = word_.load(std::memory_order_relaxed);
    }
    for (uint32_t turn = 0; word_.load(std::memory_order_acquire) != kWriter; ++turn) Pause(turn);
  }
  void unlock() { word_.fetch_and(~kWriter, std::memory_order_release); }

  void lock_shared() {
    uint32_t word = word_.load(std::memory_order_relaxed);
    for (uint32_t turn = 0;; ++turn) {
      if ((word & kWriter) == 0 && word_.compare_exchange_weak(word, word + 1, std::memory_order_acquire)) return;
      Pause(turn);
      word = word_.load(std::memory_order_relaxed);
    }
  }
  void unlock_shared() { word_.fetch_sub(1, std::memory_order_release); }

 private:
  static constexpr uint32_t kWriter = 1u << 31;
  // Lets the sibling thread run; after a while the processor, because the holder may have been preempted.
  static void Pause(uint32_t turn);

  std::atomic<uint32_t> word_{0};  // kWriter | number of readers
};

}  // namespace sisal::btree
