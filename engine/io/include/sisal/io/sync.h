// Waiting for other fibers: everything that parks a fiber is here, in time.h and in file.h.
//
// Wake protocol (wake_word.h): a wake that comes before the park is remembered, so none is lost. All objects are
// thread-safe between loops and attached threads. Plain threads may call what does not suspend (Notify, Set, Cancel),
// nothing that does.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "sisal/base/clock.h"
#include "sisal/base/status.h"
#include "sisal/io/wake_word.h"

namespace sisal::io {

class CancelToken;
struct Interrupt;

namespace internal {

struct Fiber;  // the scheduler's record of a fiber

// One wait of one fiber; lives on the waiter's stack.
struct WaitNode {
  explicit WaitNode(uint64_t wait_key = 0);
  WaitNode(const WaitNode&) = delete;
  WaitNode& operator=(const WaitNode&) = delete;

  // Suspends.
  WaitResult Park(const Interrupt& interrupt);
  // From any thread. The node may be gone when this returns.
  void Wake(WaitResult reason = WaitResult::kWoken);

  WakeWord word;
  Fiber* const fiber;  // who waits
  const uint64_t key;
  WaitNode* previous = nullptr;  // these three: of a WaitList, guarded by its lock
  WaitNode* next = nullptr;
  bool listed = false;
  WaitNode* cancel_previous = nullptr;  // these three: of a CancelToken, guarded by its latch
  WaitNode* cancel_next = nullptr;
  bool cancel_listed = false;
  size_t timer_index = SIZE_MAX;  // place in the loop's timer heap; only its thread touches it
};

}  // namespace internal

namespace internal {

// A wake of a sleeping loop is a system call of some microseconds, after which the woken thread may run in the waker's
// place. Under a latch it would make others spin all that time; so it is put off until the thread holds no latch.
struct LatchScope {
  uint32_t held_count;
  uint32_t put_off_count;  // wakes that wait for the last unlock
};
extern constinit thread_local LatchScope latch_scope;
void SendPutOffWakes();

}  // namespace internal

// A short spin lock for a few dozen instructions that neither suspend nor allocate much; between loops only. A holder
// never parks (checked), so a spin on the same loop cannot wait for a parked fiber.
class SpinLatch {
 public:
  void lock() {
    uint32_t expected = 0;
    if (!word_.compare_exchange_strong(expected, 1, std::memory_order_acquire, std::memory_order_relaxed)) LockSlow();
    ++internal::latch_scope.held_count;
  }
  void unlock() {
    word_.store(0, std::memory_order_release);
    if (--internal::latch_scope.held_count == 0 && internal::latch_scope.put_off_count != 0) {
      internal::SendPutOffWakes();  // *this may be gone by now
    }
  }

 private:
  void LockSlow();
  std::atomic<uint32_t> word_{0};
};

// What may end a wait early. Default: nothing.
struct Interrupt {
  Instant deadline = Instant::Max();  // on the runtime's clock
  CancelToken* cancel = nullptr;      // borrowed; outlives the wait
};

// A request to stop: a client's cancel, a deadline, a shutdown. Cancel may be called from any thread, often; the first
// reason stays. Shared by shared_ptr because the canceller may outlive the waiter.
class CancelToken {
 public:
  CancelToken() = default;
  ~CancelToken();
  CancelToken(const CancelToken&) = delete;
  CancelToken& operator=(const CancelToken&) = delete;
  // Wakes the fibers that wait with this token. `reason` is what Check returns from then on.
  void Cancel(Error reason);
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  // Ok, or the reason. About 1 ns while not cancelled.
  Status Check() const {
    if (!cancelled()) return Status();
    return *reason_;
  }

 private:
  friend struct internal::WaitNode;
  // False: cancelled already, the node was not added.
  bool Add(internal::WaitNode& node);
  void Remove(internal::WaitNode& node);

  std::atomic<bool> cancelled_{false};
  SpinLatch latch_;                        // guards all below
  std::optional<Error> reason_;            // written once, before cancelled_
  internal::WaitNode* waiters_ = nullptr;  // by cancel_next
};

// FIFO list of parked fibers under a lock of the caller's (a SpinLatch): the building block for intent queues, log
// waiters and memory budgets.
//   latch.lock();
//   while (!condition) { WaitList::Node node; list.Add(node); latch.unlock(); node.Park(...); latch.lock(); }
class WaitList {
 public:
  class Node {
   public:
    // On the fiber that will park.
    explicit Node(uint64_t key = 0) : node_(key) {}
    ~Node() { SISAL_CHECK(!node_.listed); }
    // Parks until woken, or interrupted. After kTimedOut or kCancelled the node is perhaps still in the list: the
    // caller locks and calls Remove, which says whether a wake had come first (then treat it as woken). Suspends.
    WaitResult Park(const Interrupt& interrupt = {}) { return node_.Park(interrupt); }
    uint64_t key() const { return node_.key; }

   private:
    friend class WaitList;
    friend class Condition;
    friend class Event;
    friend class Mutex;
    internal::WaitNode node_;
  };
  WaitList() = default;
  ~WaitList() { SISAL_CHECK(first_ == nullptr); }
  WaitList(const WaitList&) = delete;
  WaitList& operator=(const WaitList&) = delete;
  // The caller holds its lock in all of these.
  void Add(Node& node);
  bool Remove(Node& node);  // false: it was not in the list (already woken)
  bool empty() const { return first_ == nullptr; }
  bool WakeFirst();  // false: nobody waited
  void WakeAll();
  void WakeThroughKey(uint64_t key_max);  // all nodes with key <= key_max, wherever they stand

 private:
  friend class Mutex;
  void Unlink(internal::WaitNode& node);
  internal::WaitNode* first_ = nullptr;
  internal::WaitNode* last_ = nullptr;
};

// Mutual exclusion that parks. FIFO hand-over. A holder may suspend.
class Mutex {
 public:
  Mutex() = default;
  ~Mutex();
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  // Suspends.
  void Lock() {
    if (!TryLock()) LockSlow();
  }
  bool TryLock() {
    uint32_t expected = kFree;
    return state_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void Unlock() {
    uint32_t expected = kHeld;
    if (!state_.compare_exchange_strong(expected, kFree, std::memory_order_release, std::memory_order_relaxed)) {
      UnlockSlow();
    }
  }

 private:
  enum : uint32_t { kFree, kHeld, kContended };
  void LockSlow();
  void UnlockSlow();

  std::atomic<uint32_t> state_{kFree};  // kContended: held, and perhaps somebody waits
  SpinLatch latch_;                     // guards waiters_ and each change to or from kContended
  WaitList waiters_;
};

class MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) : mutex_(mutex) { mutex_.Lock(), held_ = true; }
  ~MutexLock() {
    if (held_) mutex_.Unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  void Lock() { mutex_.Lock(), held_ = true; }
  void Unlock() { held_ = false, mutex_.Unlock(); }
  Mutex& mutex() { return mutex_; }

 private:
  Mutex& mutex_;
  bool held_ = false;
};

// A condition variable for Mutex. FIFO.
class Condition {
 public:
  Condition() = default;
  ~Condition();
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;
  // Unlocks, waits for a notification, locks again. Suspends. No spurious wake-ups, but what was true at the notify may
  // be so no longer.
  void Wait(MutexLock& lock) { static_cast<void>(WaitUntil(lock, Interrupt{})); }
  WaitResult WaitUntil(MutexLock& lock, const Interrupt& interrupt);
  void NotifyOne();
  void NotifyAll();

 private:
  SpinLatch latch_;  // guards waiters_
  WaitList waiters_;
};

// Set once; lets all waiters go, now and later. Set may be called from any thread. Whoever has seen that it is set may
// destroy it, although Set may not have returned yet.
class Event {
 public:
  Event() = default;
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void Set();
  bool is_set() const { return set_.load(std::memory_order_acquire); }
  void Wait() { static_cast<void>(WaitUntil(Interrupt{})); }  // Suspends.
  WaitResult WaitUntil(const Interrupt& interrupt);           // Suspends.

 private:
  std::atomic<bool> set_{false};
  SpinLatch latch_;  // guards waiters_ and the change of set_
  WaitList waiters_;
};

}  // namespace sisal::io
