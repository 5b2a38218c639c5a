#include "loop.h"

#include <cxxabi.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/fiber/algo/round_robin.hpp>
#include <cerrno>
#include <string>

#include "fiber_entry.h"
#include "platform.h"
#include "runtime_core.h"
#include "simulation_core.h"
#include "sisal/base/log.h"

namespace sisal::io {
namespace {

constexpr uint32_t kPicksPerPass = 64;
constexpr double kPassMicroseconds = 250;  // the same for fibers that run long: completions and wakes wait meanwhile
constexpr size_t kIdleFiberCountMax = 256;
// About what a sleep and a wake through the kernel cost: then spinning at most doubles the cost of a wait. Less would
// leave two loops that answer each other asleep for ever, for each answer would come just too late.
constexpr double kSpinMicroseconds = 12;
constexpr uint32_t kFailedSpinsMax = 16;  // then only each of these many sleeps begins with a spin
constexpr double kBudgetMicroseconds = 500;
constexpr uint32_t kBlockPause = 64;
constexpr int64_t kBackgroundShare = 8;  // background fibers get 1/8 of the time that normal ones use

thread_local LoopImpl* current_loop = nullptr;

// See LatchScope. More sleeping loops than these are woken at once.
constexpr uint32_t kPutOffWakesMax = 16;
thread_local LoopImpl* put_off_wakes[kPutOffWakesMax];

size_t StackBytes(const RuntimeOptions& options) {
  // Red zones and sanitizers' own frames need room.
  return kSanitized ? std::max<size_t>(options.stack_bytes, 1 << 20) : options.stack_bytes;
}

int64_t TicksOf(double microseconds) { return static_cast<int64_t>(microseconds * TicksPerMicrosecond()); }

int FutexWait(std::atomic<uint32_t>& word, uint32_t expected, const timespec* timeout) {
  return static_cast<int>(::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, timeout, nullptr, 0));
}
void FutexWake(std::atomic<uint32_t>& word) { ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }

static_assert(sizeof(ExceptionState) == 16);
ExceptionState* ThreadExceptions() { return reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals()); }

// Where the running context's stack is, as well as we can know it: for AddressSanitizer only.
void StackOf(internal::Fiber::Role role, const boost::fibers::context* context, const void** low_end, size_t* size) {
  if (!kSanitized) return;
  if (role == internal::Fiber::Role::kMain) {
    pthread_attr_t attributes;
    void* address = nullptr;
    SISAL_CHECK(::pthread_getattr_np(::pthread_self(), &attributes) == 0);
    SISAL_CHECK(::pthread_attr_getstack(&attributes, &address, size) == 0);
    ::pthread_attr_destroy(&attributes);
    *low_end = address;
  } else {
    // Boost puts a context at the high end of its stack, which for the dispatcher has the default size.
    constexpr uintptr_t kDispatcherStackBytes = 128 << 10;
    const uintptr_t high_end = reinterpret_cast<uintptr_t>(context) & ~uintptr_t{15};
    *low_end = reinterpret_cast<const void*>(high_end - kDispatcherStackBytes + 4096);
    *size = kDispatcherStackBytes - 4096;
  }
}

}  // namespace

constinit thread_local internal::LatchScope internal::latch_scope{};

LoopImpl* CurrentLoopImpl() { return current_loop; }
void SetCurrentLoopImpl(LoopImpl* loop) { current_loop = loop; }

internal::Fiber* CurrentFiber() {
  SISAL_CHECK(OnFiber());
  return current_loop->current();
}

namespace internal {

Fiber::Fiber(LoopImpl& owner, Role fiber_role, boost::fibers::context* context)
    : fiber_properties(context), InboxItem(Kind::kWake), loop(&owner), role(fiber_role) {
  if (role == Role::kWorker) {
    owner.ContextMade();
    return;  // StartWorker knows the stack
  }
  const void* low_end = nullptr;
  size_t size = 0;
  StackOf(role, context, &low_end, &size);
  SanitizerInit(sanitizer, role == Role::kMain, low_end, size);
  job.name = FiberName(role == Role::kMain ? "main" : "dispatcher");
}

Fiber::~Fiber() {
  SanitizerDestroy(sanitizer);
  if (role == Role::kWorker) loop->ContextGone();
}

}  // namespace internal

struct LoopImpl::SpawnItem : InboxItem {
  explicit SpawnItem(Job new_job) : InboxItem(Kind::kSpawn), job(std::move(new_job)) {}
  Job job;
};

struct LoopImpl::StopItem : InboxItem {
  StopItem() : InboxItem(Kind::kStop) {}
};

LoopImpl::LoopImpl(RuntimeCore& runtime, size_t index, Kind kind)
    : runtime_(runtime),
      simulation_(runtime.simulation),
      index_(index),
      kind_(kind),
      spin_ticks_(TicksOf(kSpinMicroseconds)),
      pass_ticks_(TicksOf(kPassMicroseconds)),
      budget_ticks_(TicksOf(kBudgetMicroseconds)),
      stall_ticks_(TicksOf(std::chrono::duration<double, std::micro>(runtime.options.stall_threshold).count())),
      stacks_(StackBytes(runtime.options)) {
  if (runtime.backend == Backend::kIoUring && Ring::MessageKind() == RingMessage::kEventFd) {
    wake_fd_ = ::eventfd(0, EFD_CLOEXEC);
  }
}

LoopImpl::~LoopImpl() {
  if (wake_fd_ >= 0) ::close(wake_fd_);
}

Status LoopImpl::OpenRing() {
  if (runtime_.backend != Backend::kIoUring) return Status();
  if (Ring::MessageKind() == RingMessage::kEventFd && wake_fd_ < 0) return Error{"58000", "out of descriptors"};
  SISAL_ASSIGN_OR_RETURN(ring_, Ring::Open(wake_fd_));
  ring_fd_.store(ring_->fd(), std::memory_order_release);
  return Status();
}

Status LoopImpl::Attach() {
  SISAL_CHECK(current_loop == nullptr);
  Status opened = OpenRing();
  if (!opened.ok() && kind_ == Kind::kOwned) return opened;  // an attached thread then uses the pool
  held_files_generation_ = 0;
  current_loop = this;
  thread_exceptions_ = ThreadExceptions();
  boost::fibers::context* const main = boost::fibers::context::active();
  main_ = static_cast<internal::Fiber*>(main->get_properties());
  if (main_ == nullptr) {
    main_ = new internal::Fiber(*this, internal::Fiber::Role::kMain, main);
    main->set_properties(main_);
  }
  main_->loop = this;
  current_ = main_;
  slice_begin_ = Ticks();
  picks_ = 0;
  scheduler_ = new Scheduler(*this);
  main->get_scheduler()->set_algo(scheduler_);
  SISAL_CHECK(dispatcher_ready_);
  return Status();
}

void LoopImpl::Detach() {
  SISAL_CHECK(current_ == main_ && context_count_ == 0 && timers_.empty());
  SISAL_CHECK(normal_.empty() && background_.empty());
  scheduler_->HandOver();
  boost::fibers::context::active()->get_scheduler()->set_algo(new boost::fibers::algo::round_robin());
  scheduler_.reset();
  current_ = main_ = dispatcher_ = nullptr;
  current_loop = nullptr;
  ring_fd_.store(-1, std::memory_order_release);
  ring_.reset();
}

void LoopImpl::Serve() {
  while (!stopping_) Suspend();  // RequestStop's item makes the main context ready
  while (!idle_.empty()) MakeReady(*idle_.Pop());
  while (context_count_ > 0) Yield();  // the dispatcher frees contexts that have ended
}

void LoopImpl::RequestStop() { Push(*new StopItem()); }

void LoopImpl::Spawn(SpawnOptions options, std::function<void()> body) {
  if (kind_ == Kind::kAttached) {
    // The thread may detach before such a fiber ends.
    runtime_.LeastLoaded().Spawn(options, std::move(body));
    return;
  }
  runtime_.FiberStarted();
  load_.fetch_add(1, std::memory_order_relaxed);
  Job job{std::move(body), FiberName(options.name), options.priority};
  if (simulation_ != nullptr) simulation_->JobStarted(job);
  if (current_loop == this) {
    Start(std::move(job));
  } else {
    Push(*new SpawnItem(std::move(job)));
  }
}

void LoopImpl::Start(Job job) {
  internal::Fiber* fiber;
  if (!idle_.empty()) {
    fiber = idle_.Pop();
    fiber->job = std::move(job);
    MakeReady(*fiber);
    return;
  }
  void* const stack = context_count_ > 0 && SISAL_BUGGIFY() ? nullptr : stacks_.Take();
  if (stack == nullptr) {
    // Without any fiber nothing would ever free a stack.
    SISAL_CHECK(context_count_ > 0);
    waiting_jobs_.push_back(std::move(job));
    return;
  }
  fiber = new internal::Fiber(*this, internal::Fiber::Role::kWorker, nullptr);
  SanitizerInit(fiber->sanitizer, false, stack, stacks_.usable_bytes());
  fiber->job = std::move(job);
  StartFiber(fiber, stacks_, stack);  // calls Awakened
}

void RunFiber(internal::Fiber& fiber) noexcept {
  do {
    fiber.job.body();  // an exception that leaves it ends the process: this function is noexcept
    fiber.job.body = nullptr;
  } while (fiber.loop->NextJob(fiber));
  fiber.ending = true;
}

bool LoopImpl::NextJob(internal::Fiber& fiber) {
  load_.fetch_sub(1, std::memory_order_relaxed);
  if (simulation_ != nullptr) simulation_->JobEnded(fiber.job);
  runtime_.FiberEnded();
  if (!waiting_jobs_.empty()) {
    fiber.job = std::move(waiting_jobs_.front());
    waiting_jobs_.pop_front();
    return true;
  }
  if (stopping_ || idle_.count() >= kIdleFiberCountMax) return false;
  fiber.job.name = FiberName("idle");
  fiber.job.priority = Priority::kNormal;
  idle_.Push(fiber);
  Suspend();
  return fiber.job.body != nullptr;
}

// ---- Waking ----

void LoopImpl::Schedule(internal::Fiber& fiber) {
  if (current_loop == this) {
    MakeReady(fiber);
  } else {
    Push(fiber);
  }
}

void LoopImpl::Push(InboxItem& item) {
  item.pushed_ticks = Ticks();
  inbox_.Push(item);
  // The item may be gone, its fiber may even have ended; the loop stays.
  if (sleeping_.load(std::memory_order_seq_cst) == 0 || sleeping_.exchange(0, std::memory_order_seq_cst) == 0) return;
  internal::LatchScope& scope = internal::latch_scope;
  if (scope.held_count != 0 && scope.put_off_count < kPutOffWakesMax) {
    put_off_wakes[scope.put_off_count++] = this;
  } else {
    Kick();
  }
}

void internal::SendPutOffWakes() {
  while (latch_scope.put_off_count > 0) put_off_wakes[--latch_scope.put_off_count]->Kick();
}

void LoopImpl::Kick() {
  // An attached thread may leave meanwhile and close its ring: then nobody sleeps here, and the message gets lost or
  // wakes another ring of ours for nothing.
  const int fd = ring_fd_.load(std::memory_order_acquire);
  if (fd < 0) {
    FutexWake(sleeping_);
  } else if (wake_fd_ >= 0) {
    const uint64_t one = 1;
    SISAL_CHECK(::write(wake_fd_, &one, sizeof(one)) == sizeof(one));
  } else {
    Ring::Message(fd);
  }
}

// ---- Switching ----

void LoopImpl::Awakened(boost::fibers::context* context) {
  auto* fiber = static_cast<internal::Fiber*>(context->get_properties());
  if (fiber == nullptr) {
    SISAL_CHECK(context->is_context(boost::fibers::type::dispatcher_context));
    fiber = new internal::Fiber(*this, internal::Fiber::Role::kDispatcher, context);
    context->set_properties(fiber);
  }
  if (fiber->role == internal::Fiber::Role::kDispatcher) {
    fiber->loop = this;
    dispatcher_ = fiber;
    dispatcher_ready_ = true;
  } else {
    MakeReady(*fiber);
  }
}

boost::fibers::context* LoopImpl::TakeDispatcher() {
  dispatcher_ready_ = false;
  return dispatcher_->context();
}

internal::Fiber* LoopImpl::Pick() {
  internal::Fiber* const from = current_;
  SISAL_CHECK(internal::latch_scope.held_count == 0);  // rule 1: no latch across a suspension
  const int64_t now = Ticks();
  EndSlice(*from, now);
  internal::Fiber* to;
  if (from == dispatcher_) {
    Poll();
    to = PickReady();
    if (to == nullptr) return nullptr;
    picks_ = 0;
    pass_begin_ = now;
  } else {
    to = ++picks_ < kPicksPerPass && now - pass_begin_ < pass_ticks_ ? PickReady() : nullptr;
    if (to == from) {  // it yields to nobody: let the dispatcher poll, Boost cannot resume the active context
      MakeReady(*from);
      to = nullptr;
    }
    if (to == nullptr) {
      to = dispatcher_;
      dispatcher_ready_ = false;
    }
  }
  if (to->woken_ticks != 0) {
    CountWakeLatency(now - to->woken_ticks);
    to->woken_ticks = 0;
  }
  counters_.switches.Add(1);
  slice_begin_ = now;
  current_ = to;
  from->exceptions = *thread_exceptions_;
  *thread_exceptions_ = to->exceptions;
  return to;
}

internal::Fiber* LoopImpl::PickReady() {
  // Never two background fibers in a row while a normal one waits, whatever the credit.
  const bool may_run_background = normal_.empty() || (background_credit_ > 0 && !picked_background_);
  picked_background_ = !background_.empty() && may_run_background;
  if (picked_background_) return background_.Pop();
  return normal_.empty() ? nullptr : normal_.Pop();
}

void LoopImpl::EndSlice(internal::Fiber& fiber, int64_t now) {
  const int64_t ticks = now - slice_begin_;
  if (fiber.job.priority == Priority::kBackground) {
    background_credit_ = std::max<int64_t>(background_credit_ - ticks, -stall_ticks_);
  } else {
    background_credit_ = std::min<int64_t>(background_credit_ + ticks / kBackgroundShare, pass_ticks_);
  }
  if (ticks > stall_ticks_ && fiber.role == internal::Fiber::Role::kWorker) NoteStall(fiber, ticks);
}

SISAL_NO_SANITIZE void LoopImpl::Suspend() {
  internal::Fiber* const self = current_;
  boost::fibers::context* const next =
      __builtin_expect(simulation_ == nullptr, 1) ? scheduler_->pick_next() : simulation_->PickNext();
  next->resume();
  CompleteSwitch(self->sanitizer);
}

void LoopImpl::Yield() {
  if (simulation_ != nullptr) simulation_->Yielded(*current_);
  MakeReady(*current_);
  Suspend();
}

void LoopImpl::YieldIfBudgetSpent() {
  if (simulation_ != nullptr) [[unlikely]] {
    if (simulation_->IsBudgetSpent()) Yield();
    return;
  }
  if (Ticks() - slice_begin_ > budget_ticks_) Yield();
}

bool LoopImpl::MayBlock() {
  if (simulation_ != nullptr || !OnFiber()) return false;
  if (!normal_.empty() || !background_.empty() || operations_running_ != 0 || !inbox_.empty()) return false;
  if (ring_ != nullptr && ring_->HasWork()) return false;
  if (block_pause_ == 0) return true;
  --block_pause_;
  return false;
}

void LoopImpl::Blocked() {
  if (!inbox_.empty()) block_pause_ = kBlockPause;
  slice_begin_ = Ticks();  // the disk's time, not the fiber's: no stall
}

void LoopImpl::CheckMayPark() const {
  SISAL_DCHECK(thread_exceptions_->caught == nullptr);
  SISAL_DCHECK(thread_exceptions_->uncaught_count == 0);
}

// ---- The dispatcher's pass ----

void LoopImpl::Poll() {
  DrainInbox();
  if (ring_ != nullptr && ring_->HasWork()) ring_->Poll();
  if (!timers_.empty()) timers_.Expire(Now());
  if (stalled_ticks_ != 0) ReportStalls();
  counters_.runnable.Set(normal_.count() + background_.count());
}

void LoopImpl::DrainInbox() {
  for (InboxItem* item = inbox_.TakeAll(); item != nullptr;) {
    InboxItem* const next = item->next_item;
    counters_.cross_loop_wakes.Add(1);
    switch (item->kind) {
      case InboxItem::Kind::kWake: {
        auto& fiber = static_cast<internal::Fiber&>(*item);
        fiber.woken_ticks = item->pushed_ticks;
        MakeReady(fiber);
        break;
      }
      case InboxItem::Kind::kSpawn: {
        std::unique_ptr<SpawnItem> spawn(static_cast<SpawnItem*>(item));
        Start(std::move(spawn->job));
        break;
      }
      case InboxItem::Kind::kStop:
        delete static_cast<StopItem*>(item);
        stopping_ = true;
        MakeReady(*main_);
        break;
    }
    item = next;
  }
}

void LoopImpl::Sleep() {
  if (SpinForWork()) return;
  sleeping_.store(1, std::memory_order_seq_cst);
  if (inbox_.empty()) {
    counters_.sleeps.Add(1);
    SleepInKernel();
  }
  sleeping_.store(0, std::memory_order_relaxed);
  slice_begin_ = Ticks();
}

bool LoopImpl::SpinForWork() {
  // A wake of a spinning loop costs a fraction of one that must go through the kernel. A loop that has spun in vain
  // for long stops trying, for it takes the processor from others.
  if (failed_spins_ >= kFailedSpinsMax && ++failed_spins_ % kFailedSpinsMax != 0) return false;
  if (ring_ != nullptr && ring_->HasWork()) return true;
  const int64_t end = Ticks() + spin_ticks_;
  while (Ticks() < end) {
    if (!inbox_.empty() || (ring_ != nullptr && ring_->HasWork())) {
      failed_spins_ = 0;
      return true;
    }
    CpuRelax();
  }
  ++failed_spins_;
  return false;
}

std::optional<Duration> LoopImpl::TimeToFirstTimer() const {
  if (timers_.empty()) return std::nullopt;
  Duration left = std::max(timers_.earliest() - Now(), Duration::zero());
  // Another clock than the machine's may jump: look again soon.
  if (&runtime_.clock != &SystemClock()) left = std::min<Duration>(left, std::chrono::milliseconds(1));
  return left;
}

void LoopImpl::SleepInKernel() {
  const std::optional<Duration> timeout = TimeToFirstTimer();
  if (ring_ != nullptr) {
    ring_->Wait(timeout);
    return;
  }
  timespec time{};
  if (timeout.has_value()) {
    time.tv_sec = timeout->count() / 1'000'000'000;
    time.tv_nsec = timeout->count() % 1'000'000'000;
  }
  // Returns at once when a waker has cleared the word in between.
  FutexWait(sleeping_, 1, timeout.has_value() ? &time : nullptr);
}

Instant LoopImpl::Now() const { return runtime_.clock.Now(); }

void LoopImpl::SyncHeldFiles() {
  if (ring_ == nullptr || held_files_generation_ == runtime_.lock_registry.generation()) return;
  held_files_generation_ = runtime_.lock_registry.HoldAll(*ring_);
}

// ---- Statistics ----

void LoopImpl::CountWakeLatency(int64_t ticks) {
  const double microseconds = static_cast<double>(ticks) / TicksPerMicrosecond();
  size_t bucket = 0;
  while (bucket + 1 < std::size(counters_.wake_latency) && microseconds >= static_cast<double>(1 << bucket)) ++bucket;
  counters_.wake_latency[bucket].Add(1);
}

void LoopImpl::NoteStall(const internal::Fiber& fiber, int64_t ticks) {
  counters_.stalls.Add(1);
  if (ticks <= stalled_ticks_) return;
  stalled_ticks_ = ticks;
  stalled_name_ = fiber.job.name;
}

void LoopImpl::ReportStalls() {
  const int64_t now = Ticks();
  if (last_report_ticks_ != 0 && now - last_report_ticks_ < TicksOf(1e6)) return;
  last_report_ticks_ = now;
  const uint64_t count = counters_.stalls.value() - stalls_reported_;
  stalls_reported_ += count;
  const auto milliseconds = static_cast<int64_t>(static_cast<double>(stalled_ticks_) / TicksPerMicrosecond() / 1000);
  Log(LogLevel::kWarning, "loop " + std::to_string(index_) + ": fiber \"" + std::string(stalled_name_.view()) +
                              "\" ran for " + std::to_string(milliseconds) + " ms without a pause (" +
                              std::to_string(count) + " such stalls since the last report)");
  stalled_ticks_ = 0;
}

}  // namespace sisal::io
