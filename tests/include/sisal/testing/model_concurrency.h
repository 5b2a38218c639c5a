// The policy that production templates get in a test of all interleavings (sisal/io/concurrency.h has the real one).
// Bugs are planted by policies that derive from it and replace a part.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "sisal/io/wake_word.h"
#include "sisal/testing/explorer.h"

namespace sisal::model {

constexpr bool Acquires(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}
constexpr bool Releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}

template <typename T>
class Atomic {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  static constexpr std::memory_order kSeqCst = std::memory_order_seq_cst;

 public:
  Atomic() : Atomic(T()) {}
  Atomic(T value) { cell_.bits = Bits(value); }  // NOLINT: as std::atomic
  ~Atomic() { Explorer::Forget(&cell_); }
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load(std::memory_order order = kSeqCst) const {
    if (Explorer* const explorer = Explorer::InActor()) {
      explorer->Step({.address = &cell_});
      if (const uint64_t* const own = explorer->Buffered(&cell_)) return Value(*own);
      explorer->Acquire(cell_, Acquires(order));
    }
    return Value(cell_.bits);
  }
  void store(T value, std::memory_order order = kSeqCst) {
    Explorer* const explorer = Explorer::InActor();
    if (explorer == nullptr) {
      cell_.bits = Bits(value);
    } else if (order != kSeqCst) {
      explorer->Buffer(&cell_, Bits(value), Releases(order));
    } else {
      explorer->Step({.address = &cell_, .write = true, .drained = true});
      cell_.released = explorer->Released(true);
      Put(*explorer, value);
    }
  }
  template <typename F>
  T Modify(const F& next, std::memory_order order) {
    Explorer* const explorer = Explorer::InActor();
    if (explorer == nullptr) {
      const T old = Value(cell_.bits);
      cell_.bits = Bits(next(old));
      return old;
    }
    explorer->Step({.address = &cell_, .write = true, .drained = true});
    return ModifyNow(*explorer, next, order);
  }
  T exchange(T value, std::memory_order order = kSeqCst) {
    return Modify([&](T) { return value; }, order);
  }
  T fetch_add(T value, std::memory_order order = kSeqCst) {
    return Modify([&](T old) { return static_cast<T>(old + value); }, order);
  }
  T fetch_sub(T value, std::memory_order order = kSeqCst) {
    return Modify([&](T old) { return static_cast<T>(old - value); }, order);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order failure) {
    Explorer* const explorer = Explorer::InActor();
    if (explorer != nullptr) explorer->Step({.address = &cell_, .write = true, .drained = true});
    return CompareNow(explorer, expected, desired, success, failure);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order order = kSeqCst) {
    return compare_exchange_strong(expected, desired, order, Failure(order));
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure) {
    Explorer* const explorer = Explorer::InActor();
    if (explorer != nullptr && explorer->MayFailWeakly()) {
      expected = load(failure);
      return false;
    }
    return compare_exchange_strong(expected, desired, success, failure);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order order = kSeqCst) {
    return compare_exchange_weak(expected, desired, order, Failure(order));
  }

  // Both wait until it is not 0. The first is an acquiring load, the second an acquiring exchange.
  void Await() {
    Explorer* const explorer = Explorer::InActor();
    explorer->Step({.address = &cell_, .awaited = &cell_.bits});
    explorer->Acquire(cell_, true);
  }
  void AwaitAndExchange(T value) {
    Explorer* const explorer = Explorer::InActor();
    explorer->Step({.address = &cell_, .write = true, .drained = true, .awaited = &cell_.bits});
    ModifyNow(
        *explorer, [&](T) { return value; }, std::memory_order_acquire);
  }

 private:
  static constexpr std::memory_order Failure(std::memory_order order) {
    return Acquires(order) ? std::memory_order_acquire : std::memory_order_relaxed;
  }
  static uint64_t Bits(T value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    return bits;
  }
  static T Value(uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    return value;
  }
  void Put(Explorer& explorer, T value) {
    if (cell_.bits == Bits(value)) return;
    cell_.bits = Bits(value);
    explorer.NoteChange();
  }
  template <typename F>
  T ModifyNow(Explorer& explorer, const F& next, std::memory_order order) {
    const T old = Value(cell_.bits);
    explorer.Acquire(cell_, Acquires(order));
    cell_.released.Join(explorer.Released(Releases(order)));  // joins: a release sequence goes on
    Put(explorer, next(old));
    return old;
  }
  bool CompareNow(Explorer* explorer, T& expected, T desired, std::memory_order success, std::memory_order failure) {
    const T old = Value(cell_.bits);
    if (Bits(old) != Bits(expected)) {
      expected = old;
      if (explorer != nullptr) explorer->Acquire(cell_, Acquires(failure));
      return false;
    }
    if (explorer == nullptr) {
      cell_.bits = Bits(desired);
    } else {
      ModifyNow(
          *explorer, [&](T) { return desired; }, success);
    }
    return true;
  }

  Cell cell_;
};

// Memory that its users must order by other means.
template <typename T>
class alignas(32) Plain {
 public:
  T get() const {
    Note(false);
    return value_;
  }
  void set(T value) {
    Note(true);
    value_ = value;
  }

 private:
  void Note(bool write) const {
    if (Explorer* const explorer = Explorer::InActor()) explorer->PlainAccess(this, 1, write);
  }
  T value_{};
};

// Waiting is no loop here: a lock is one step, possible while the latch is free.
class Latch {
 public:
  void lock() {
    if (Explorer::InActor() != nullptr) free_.AwaitAndExchange(0);
  }
  void unlock() {
    if (Explorer::InActor() != nullptr) free_.exchange(1, std::memory_order_release);
  }

 private:
  Atomic<uint64_t> free_{1};
};

struct Concurrency {
  template <typename T>
  using Atomic = model::Atomic<T>;
  using Latch = model::Latch;
  static constexpr int kSpins = 1;
  static constexpr size_t kParkingBuckets = 1;

  template <typename T>
  static T& Global() {  // one in each schedule
    static std::unique_ptr<T> object;
    static uint64_t run_number = 0;
    if (std::exchange(run_number, Explorer::run_number()) != Explorer::run_number()) object = std::make_unique<T>();
    return *object;
  }

  static void Fence(std::memory_order order) {
    Explorer* const explorer = Explorer::InActor();
    if (explorer != nullptr && Acquires(order)) explorer->FenceAcquire();
    if (explorer != nullptr && Releases(order)) explorer->FenceRelease();
  }
  static void Copy(void* to, const void* from, size_t size_bytes) {
    NotePlain(to, size_bytes, true);
    std::memcpy(to, from, size_bytes);
  }
  static void Clear(void* to, size_t size_bytes) {
    NotePlain(to, size_bytes, true);
    std::memset(to, 0, size_bytes);
  }
  static void NotePlain(const void* at, size_t size_bytes, bool write) {
    Explorer* const explorer = Explorer::InActor();
    if (explorer != nullptr && size_bytes != 0) explorer->PlainAccess(at, size_bytes, write);
  }

  static void NoteHeld() {
    if (Explorer* const explorer = Explorer::InActor()) ++explorer->held_count();
  }
  static void NoteReleased() {
    if (Explorer* const explorer = Explorer::InActor()) --explorer->held_count();
  }
  static bool HoldsAny() { return Explorer::InActor() != nullptr && Explorer::InActor()->held_count() != 0; }

  static void Relax() {}
  static void YieldThread() { Explorer::InActor()->Pause(); }
  static bool MaySuspend() { return !HoldsAny(); }
  static void Yield() { Explorer::InActor()->Pause(); }
  // What the wake word promises (wake_word_test): a wake before the park is remembered.
  class Waiter {
   public:
    void Park() {
      Explorer::InActor()->Expect(!HoldsAny(), "a park while a latch is held");
      woken_.Await();
    }
    void Wake() { woken_.store(1); }

   private:
    model::Atomic<uint64_t> woken_{0};
  };
  static void Point() {}
};

// A planted bug: compare, and later store.
template <typename T>
class CasIsStoreAtomic : public Atomic<T> {
 public:
  using Atomic<T>::Atomic;
  bool compare_exchange_strong(T& expected, T desired, std::memory_order, std::memory_order = {}) {
    const T old = this->load(std::memory_order_acquire);
    if (old != expected) {
      expected = old;
      return false;
    }
    this->store(desired, std::memory_order_seq_cst);
    return true;
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order, std::memory_order = {}) {
    return compare_exchange_strong(expected, desired, {});
  }
};

inline Report ExploreAndPrint(const char* name, const Options& options, const std::function<void(Explorer&)>& test) {
  const Report report = Explorer::Explore(options, test);
  std::printf("  %s: %llu schedules, %llu more skipped as equal, depth %zu steps", name,
              static_cast<unsigned long long>(report.schedules), static_cast<unsigned long long>(report.skipped),
              report.depth);
  if (options.preemptions_max != SIZE_MAX) std::printf(", at most %zu preemptions", options.preemptions_max);
  std::printf("%s%s\n", report.violation.empty() ? "" : "; found: ", report.violation.c_str());
  return report;
}
// The production code: no schedule breaks a claim.
inline void ExpectSound(const char* name, const Options& options, const std::function<void(Explorer&)>& test) {
  const Report report = ExploreAndPrint(name, options, test);
  EXPECT_EQ(report.violation, "") << "in the schedule" << report.schedule;
}
// A planted bug: some schedule does.
inline void ExpectCaught(const char* name, const Options& options, const std::function<void(Explorer&)>& test) {
  EXPECT_NE(ExploreAndPrint(name, options, test).violation, "") << name;
}

}  // namespace sisal::model
