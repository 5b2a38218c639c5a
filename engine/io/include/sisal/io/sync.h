// Waiting for other fibers: everything that parks a fiber is here, in time.h and in file.h.
//
// Wake protocol (design (f)): a fiber's wake word is {running, parking, parked, notified}; a wake that comes before the
// park is remembered, so none is lost. All objects are thread-safe between loops and attached threads. Plain threads
// may call what does not suspend (Notify, Set, Cancel), nothing that does.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "sisal/base/clock.h"
#include "sisal/base/status.h"

namespace sisal::io {

namespace internal {
struct WaitNode;
}

// A short spin lock for a few dozen instructions that neither suspend nor allocate much; between loops only. A holder
// never parks, so a spin on the same loop cannot wait for a parked fiber.
class SpinLatch {
 public:
  void lock();
  void unlock();

 private:
  std::atomic<uint32_t> word_{0};
};

// Why a wait ended.
enum class WaitResult { kWoken, kTimedOut, kCancelled };

// A request to stop: a client's cancel, a deadline, a shutdown. Cancel may be called from any thread, often; the first
// reason stays. Shared by shared_ptr because the canceller may outlive the waiter.
class CancelToken {
 public:
  CancelToken();
  ~CancelToken();
  // Wakes the fiber that waits with this token, if one does. `reason` is what Check returns from then on.
  void Cancel(Error reason);
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  // Ok, or the reason. About 1 ns while not cancelled.
  Status Check() const;

 private:
  friend class WaitList;
  friend struct internal::WaitNode;
  struct Impl;
  std::atomic<bool> cancelled_{false};
  std::unique_ptr<Impl> impl_;
};

// What may end a wait early. Default: nothing.
struct Interrupt {
  Instant deadline = Instant::Max();  // on the runtime's clock
  CancelToken* cancel = nullptr;      // borrowed; outlives the wait
};

// Mutual exclusion that parks. FIFO hand-over. A holder may suspend.
class Mutex {
 public:
  Mutex();
  ~Mutex();
  void Lock();  // Suspends.
  bool TryLock();
  void Unlock();

 private:
  friend class Condition;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) : mutex_(mutex) { mutex_.Lock(), held_ = true; }
  ~MutexLock() {
    if (held_) mutex_.Unlock();
  }
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
  Condition();
  ~Condition();
  // Unlocks, waits for a notification, locks again. Suspends. No spurious wake-ups, but what was true at the notify may
  // be so no longer.
  void Wait(MutexLock& lock);
  WaitResult WaitUntil(MutexLock& lock, const Interrupt& interrupt);
  void NotifyOne();
  void NotifyAll();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Set once; lets all waiters go, now and later. Set may be called from any thread.
class Event {
 public:
  Event();
  ~Event();
  void Set();
  bool is_set() const;
  void Wait();                                       // Suspends.
  WaitResult WaitUntil(const Interrupt& interrupt);  // Suspends.

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// FIFO list of parked fibers under a lock of the caller's (a SpinLatch): the building block for intent queues, log
// waiters and memory budgets.
//   latch.lock(); while (!condition) { WaitList::Node node; list.Add(node); latch.unlock(); node.Park(...);
//   latch.lock(); }
class WaitList {
 public:
  class Node {
   public:
    explicit Node(uint64_t key = 0);
    ~Node();  // Requires: not in a list.
    // Parks until woken, or interrupted. After kTimedOut or kCancelled the node is perhaps still in the list: the
    // caller locks and calls Remove, which says whether a wake had come first (then treat it as woken). Suspends.
    WaitResult Park(const Interrupt& interrupt = {});
    uint64_t key() const;

   private:
    friend class WaitList;
    std::unique_ptr<internal::WaitNode> impl_;
  };
  WaitList();
  ~WaitList();
  // The caller holds its lock in all of these.
  void Add(Node& node);
  bool Remove(Node& node);  // false: it was not in the list (already woken)
  bool empty() const;
  bool WakeFirst();  // false: nobody waited
  void WakeAll();
  void WakeThroughKey(uint64_t key_max);  // all nodes with key <= key_max, wherever they stand

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sisal::io
