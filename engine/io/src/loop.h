// One loop: a thread, a scheduler for its fibers, timers, an inbox, and (where io_uring is allowed) a ring.
//
// Life of a pass: fibers run one after the other from the ready lists; when these are empty, after kPicksPerPass picks,
// and when some time has passed, Boost's dispatcher runs. It polls (inbox, ring, timers), and sleeps when nothing is
// ready.
//
// Confined to its thread but for Spawn, Schedule, RequestStop, load and the statistics.
#pragma once

#include <atomic>
#include <boost/fiber/context.hpp>
#include <boost/intrusive_ptr.hpp>
#include <deque>
#include <memory>
#include <optional>

#include "fiber.h"
#include "inbox.h"
#include "ring.h"
#include "scheduler.h"
#include "sisal/io/runtime.h"
#include "stack_pool.h"
#include "timer_heap.h"

namespace sisal::io {

struct RuntimeCore;
class SimulationCore;

// First in, first out.
class ReadyList {
 public:
  bool empty() const { return first_ == nullptr; }
  size_t count() const { return count_; }
  void Push(internal::Fiber& fiber) {
    fiber.next_ready = nullptr;
    (last_ != nullptr ? last_->next_ready : first_) = &fiber;
    last_ = &fiber;
    ++count_;
  }
  internal::Fiber* Pop() {
    internal::Fiber* const fiber = first_;
    first_ = fiber->next_ready;
    if (first_ == nullptr) last_ = nullptr;
    --count_;
    return fiber;
  }
  // For the simulation. Requires: index < count().
  internal::Fiber* PopAt(size_t index) {
    for (; index > 0; --index) Push(*Pop());
    return Pop();
  }
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const internal::Fiber* fiber = first_; fiber != nullptr; fiber = fiber->next_ready) visit(*fiber);
  }

 private:
  internal::Fiber* first_ = nullptr;
  internal::Fiber* last_ = nullptr;
  size_t count_ = 0;
};

// Written by one thread, read by any.
class Counter {
 public:
  void Add(uint64_t n) { value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
  void Set(uint64_t n) { value_.store(n, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

struct LoopCounters {
  Counter runnable, switches, stalls, cross_loop_wakes, sleeps, reads, writes, syncs;
  Counter wake_latency[20];
};

class LoopImpl final : public Loop {
 public:
  friend class SimulationCore;
  enum class Kind { kOwned, kAttached };

  LoopImpl(RuntimeCore& runtime, size_t index, Kind kind);
  ~LoopImpl() override;

  // Loop.
  void Spawn(SpawnOptions options, std::function<void()> body) override;
  size_t index() const override { return index_; }

  // The calling thread's main context becomes a fiber of this loop. Error: 58000 if the ring is refused (to an owned
  // loop; an attached one then works through the pool).
  Status Attach();
  // Requires: only the main context is left. A later Attach may be on another thread.
  void Detach();
  // For an owned loop: serves until RequestStop and the end of the last fiber.
  void Serve();
  void RequestStop();

  // Makes the kernel return from the thread's sleep. From any thread.
  void Kick();
  // Makes a parked fiber ready; the caller has won its wake. From any thread.
  void Schedule(internal::Fiber& fiber);
  // The same on the loop's own thread.
  void MakeReady(internal::Fiber& fiber) {
    (fiber.job.priority == Priority::kNormal ? normal_ : background_).Push(fiber);
  }
  // Gives up the thread until somebody makes the current fiber ready.
  SISAL_NO_SANITIZE void Suspend();
  void Yield();
  void YieldIfBudgetSpent();
  // No exception is in flight: a park inside a handler would mix up the handlers of two fibers.
  void CheckMayPark() const;

  // Whether the current fiber may block the thread for the time of a disk access: it is the only one that has anything
  // to do here, as far as can be known.
  bool MayBlock();
  // It has blocked.
  void Blocked();
  // Around each of the ring's operations.
  void OperationBegun() { ++operations_running_; }
  void OperationEnded() { --operations_running_; }

  internal::Fiber* current() const { return current_; }
  TimerHeap& timers() { return timers_; }
  Ring* ring() { return ring_.get(); }
  RuntimeCore& runtime() { return runtime_; }
  const LoopCounters& counters() const { return counters_; }
  LoopCounters& counters() { return counters_; }
  // Fibers that run or are to run here.
  uint64_t load() const { return load_.load(std::memory_order_relaxed); }
  Instant Now() const;
  // Lets the ring hold each lock file of the runtime, if that set has changed. Before each write.
  void SyncHeldFiles();

  // For the scheduler.
  void Awakened(boost::fibers::context* context);
  internal::Fiber* Pick();
  boost::fibers::context* TakeDispatcher();
  bool has_ready() const { return dispatcher_ready_; }
  void Sleep();

  // For worker fibers. False: the fiber is to end.
  bool NextJob(internal::Fiber& fiber);
  void ContextMade() { ++context_count_; }
  void ContextGone() { --context_count_; }

 private:
  struct SpawnItem;
  struct StopItem;

  Status OpenRing();
  void Push(InboxItem& item);
  void Start(Job job);
  void Poll();
  void DrainInbox();
  bool SpinForWork();
  void SleepInKernel();
  std::optional<Duration> TimeToFirstTimer() const;
  internal::Fiber* PickReady();
  void EndSlice(internal::Fiber& fiber, int64_t now);
  void NoteStall(const internal::Fiber& fiber, int64_t ticks);
  void ReportStalls();
  void CountWakeLatency(int64_t ticks);

  RuntimeCore& runtime_;
  SimulationCore* const simulation_;  // nullptr in production
  const size_t index_;
  const Kind kind_;
  const int64_t spin_ticks_;
  const int64_t pass_ticks_;
  const int64_t budget_ticks_;
  const int64_t stall_ticks_;

  // Shared with other threads.
  Inbox inbox_;
  alignas(64) std::atomic<uint32_t> sleeping_{0};  // 1: the thread waits in the kernel, or is about to
  std::atomic<int> ring_fd_{-1};
  int wake_fd_ = -1;  // eventfd where the kernel has no message for us; lives as long as this
  std::atomic<uint64_t> load_{0};
  LoopCounters counters_;

  // The loop's own.
  alignas(64) internal::Fiber* current_ = nullptr;
  internal::Fiber* main_ = nullptr;
  internal::Fiber* dispatcher_ = nullptr;
  bool dispatcher_ready_ = false;
  bool stopping_ = false;
  uint32_t picks_ = 0;      // since the dispatcher last ran
  int64_t pass_begin_ = 0;  // when it last ran; ticks
  ReadyList normal_, background_, idle_;
  std::deque<Job> waiting_jobs_;  // for a stack
  size_t context_count_ = 0;      // worker contexts that exist
  ExceptionState* thread_exceptions_ = nullptr;
  int64_t slice_begin_ = 0;        // ticks
  int64_t background_credit_ = 0;  // ticks that background fibers may run before normal ones
  bool picked_background_ = false;
  uint32_t failed_spins_ = 0;
  FiberName stalled_name_;
  int64_t stalled_ticks_ = 0;  // of the longest stall since the last report; 0: none
  uint64_t stalls_reported_ = 0;
  int64_t last_report_ticks_ = 0;
  uint64_t held_files_generation_ = 0;
  uint32_t operations_running_ = 0;  // of the ring
  uint32_t block_pause_ = 0;         // so often MayBlock says no
  TimerHeap timers_;
  StackPool stacks_;
  std::unique_ptr<Ring> ring_;
  boost::intrusive_ptr<Scheduler> scheduler_;
};

// The calling thread's; nullptr if it is not attached.
LoopImpl* CurrentLoopImpl();
// For the simulation, in which all loops are on one thread.
void SetCurrentLoopImpl(LoopImpl* loop);
// Requires: on a fiber.
internal::Fiber* CurrentFiber();

}  // namespace sisal::io
