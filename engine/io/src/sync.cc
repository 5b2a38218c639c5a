#include "sisal/io/sync.h"

#include <mutex>

#include "loop.h"
#include "platform.h"
#include "sisal/base/simulation.h"

namespace sisal::io {

void SpinLatch::LockSlow() {
  SISAL_NOT_SIMULATED("a wait for a latch, whose holder cannot run meanwhile");
  for (;;) {
    for (int spin = 0; spin < 64; ++spin) {
      CpuRelax();
      if (word_.load(std::memory_order_relaxed) != 0) continue;
      uint32_t expected = 0;
      if (word_.compare_exchange_weak(expected, 1, std::memory_order_acquire, std::memory_order_relaxed)) return;
    }
    YieldThread();  // the holder's thread may have lost its processor
  }
}

namespace internal {

WaitNode::WaitNode(uint64_t wait_key) : fiber(CurrentFiber()), key(wait_key) {}

WaitResult WaitNode::Park(const Interrupt& interrupt) {
  LoopImpl& loop = *fiber->loop;
  SISAL_CHECK(loop.current() == fiber);
  loop.CheckMayPark();
  SISAL_SIM_POINT();
  if (SISAL_PLANTED(kWakeDropped) && word.notified()) static_cast<void>(word.Finish());
  const bool timed = interrupt.deadline != Instant::Max();
  if (word.BeginPark()) {
    if (interrupt.cancel != nullptr && !interrupt.cancel->Add(*this)) Wake(WaitResult::kCancelled);
    if (timed) loop.timers().Add(*this, interrupt.deadline);
    SISAL_SIM_POINT();
    if (word.CommitPark()) loop.Suspend();
    if (timed) loop.timers().Remove(*this);
    if (interrupt.cancel != nullptr) interrupt.cancel->Remove(*this);
  }
  return word.Finish();
}

void WaitNode::Wake(WaitResult reason) {
  Fiber* const waiter = fiber;  // read first: after a wake that was only remembered this node may be gone
  if (word.Wake(reason) == WakeOutcome::kMustSchedule) waiter->loop->Schedule(*waiter);
}

}  // namespace internal

CancelToken::~CancelToken() { SISAL_CHECK(waiters_ == nullptr); }

void CancelToken::Cancel(Error reason) {
  std::lock_guard guard(latch_);
  if (cancelled_.load(std::memory_order_relaxed)) return;
  reason_ = std::move(reason);
  cancelled_.store(true, std::memory_order_release);
  // A waiter takes the latch in Remove before it goes on, so no node dies under this loop.
  for (internal::WaitNode* node = waiters_; node != nullptr; node = node->cancel_next) {
    node->Wake(WaitResult::kCancelled);
  }
}

bool CancelToken::Add(internal::WaitNode& node) {
  std::lock_guard guard(latch_);
  if (cancelled_.load(std::memory_order_relaxed)) return false;
  node.cancel_previous = nullptr;
  node.cancel_next = waiters_;
  if (waiters_ != nullptr) waiters_->cancel_previous = &node;
  waiters_ = &node;
  node.cancel_listed = true;
  return true;
}

void CancelToken::Remove(internal::WaitNode& node) {
  std::lock_guard guard(latch_);
  if (!node.cancel_listed) return;
  (node.cancel_previous != nullptr ? node.cancel_previous->cancel_next : waiters_) = node.cancel_next;
  if (node.cancel_next != nullptr) node.cancel_next->cancel_previous = node.cancel_previous;
  node.cancel_listed = false;
}

void WaitList::Add(Node& node) {
  internal::WaitNode& added = node.node_;
  SISAL_CHECK(!added.listed);
  added.previous = last_;
  added.next = nullptr;
  (last_ != nullptr ? last_->next : first_) = &added;
  last_ = &added;
  added.listed = true;
}

void WaitList::Unlink(internal::WaitNode& node) {
  (node.previous != nullptr ? node.previous->next : first_) = node.next;
  (node.next != nullptr ? node.next->previous : last_) = node.previous;
  node.listed = false;
}

bool WaitList::Remove(Node& node) {
  if (!node.node_.listed) return false;
  Unlink(node.node_);
  return true;
}

bool WaitList::WakeFirst() {
  if (first_ == nullptr) return false;
  internal::WaitNode& node = *first_;
  Unlink(node);
  node.Wake();
  return true;
}

void WaitList::WakeAll() {
  while (WakeFirst()) {
  }
}

void WaitList::WakeThroughKey(uint64_t key_max) {
  for (internal::WaitNode* node = first_; node != nullptr;) {
    internal::WaitNode* const next = node->next;
    if (node->key <= key_max) {
      Unlink(*node);
      node->Wake();
    }
    node = next;
  }
}

// The destructors take the latch once: whoever let the last fiber go may still be about to leave it.
Mutex::~Mutex() {
  std::lock_guard guard(latch_);
  SISAL_CHECK(state_.load(std::memory_order_relaxed) == kFree);
}
Condition::~Condition() { std::lock_guard guard(latch_); }
Event::~Event() { std::lock_guard guard(latch_); }

void Mutex::LockSlow() {
  WaitList::Node node;
  {
    std::lock_guard guard(latch_);
    // From here on an Unlock takes the slow path, and so the latch.
    if (state_.exchange(kContended, std::memory_order_acquire) == kFree) return;
    waiters_.Add(node);
  }
  static_cast<void>(node.Park());  // returns as the owner
}

void Mutex::UnlockSlow() {
  internal::WaitNode* heir;
  {
    std::lock_guard guard(latch_);
    heir = waiters_.first_;
    if (heir == nullptr) {
      state_.store(kFree, std::memory_order_release);
      return;
    }
    waiters_.Unlink(*heir);
  }
  // Outside the latch: the heir may destroy this mutex as soon as it runs. It waits without interrupts, so it stays.
  heir->Wake();
}

WaitResult Condition::WaitUntil(MutexLock& lock, const Interrupt& interrupt) {
  WaitList::Node node;
  {
    std::lock_guard guard(latch_);
    waiters_.Add(node);
  }
  lock.Unlock();
  WaitResult result = node.Park(interrupt);
  {
    std::lock_guard guard(latch_);
    if (result != WaitResult::kWoken && !waiters_.Remove(node)) result = WaitResult::kWoken;
  }
  lock.Lock();
  return result;
}

void Condition::NotifyOne() {
  std::lock_guard guard(latch_);
  waiters_.WakeFirst();
}

void Condition::NotifyAll() {
  std::lock_guard guard(latch_);
  waiters_.WakeAll();
}

void Event::Set() {
  std::lock_guard guard(latch_);
  set_.store(true, std::memory_order_release);
  waiters_.WakeAll();
}

WaitResult Event::WaitUntil(const Interrupt& interrupt) {
  WaitList::Node node;
  {
    std::lock_guard guard(latch_);
    if (set_.load(std::memory_order_relaxed)) return WaitResult::kWoken;
    waiters_.Add(node);
  }
  const WaitResult result = node.Park(interrupt);
  std::lock_guard guard(latch_);
  if (result != WaitResult::kWoken && !waiters_.Remove(node)) return WaitResult::kWoken;
  return result;
}

}  // namespace sisal::io
