#include "simulation_core.h"

#include <cxxabi.h>

#include <algorithm>
#include <boost/fiber/algo/algorithm.hpp>
#include <boost/fiber/algo/round_robin.hpp>
#include <utility>

#include "platform.h"
#include "sisal/base/check.h"
#include "sisal/io/sync.h"

namespace sisal::io {
namespace {

SimulationCore* g_current = nullptr;

constexpr Duration kStepMin{20}, kStepMax{600};  // virtual time that a fiber's run takes
// At a point a loop's thread now and then loses its processor, for about as long as a disk takes.
constexpr uint32_t kStallOneIn = 16;
constexpr Duration kStallMax = std::chrono::microseconds(300);

}  // namespace

// Boost's view of the thread. All decisions are in SimulationCore.
class SimulationScheduler final : public boost::fibers::algo::algorithm {
 public:
  explicit SimulationScheduler(SimulationCore& core) : core_(core) {}

  void awakened(boost::fibers::context* context) noexcept override {
    auto* fiber = static_cast<internal::Fiber*>(context->get_properties());
    if (fiber == nullptr || fiber->role == internal::Fiber::Role::kDispatcher) {
      core_.home().Awakened(context);
      return;
    }
    core_.Number(*fiber);
    fiber->loop->Awakened(context);
  }
  SISAL_NO_SANITIZE boost::fibers::context* pick_next() noexcept override {
    return handing_over_ ? core_.home().TakeDispatcher() : core_.PickNext();
  }
  bool has_ready_fibers() const noexcept override { return core_.home().has_ready(); }
  void suspend_until(const std::chrono::steady_clock::time_point&) noexcept override {}
  void notify() noexcept override {}
  void HandOver() { handing_over_ = true; }

 private:
  SimulationCore& core_;
  bool handing_over_ = false;
};

const SimulationHooks SimulationCore::kHooks = {&SimulationCore::Point, &SimulationCore::Buggify,
                                                &SimulationCore::RandomBytes, &SimulationCore::Forbid};

SimulationCore* SimulationCore::Current() { return g_current; }

SimulationCore::SimulationCore(const SimulationOptions& options) : options_(options), random_(options.seed) {
  SISAL_CHECK(g_current == nullptr && CurrentLoopImpl() == nullptr);
  SISAL_CHECK(options.loop_count > 0 && options.file_system != nullptr);
  RuntimeOptions runtime_options;
  runtime_options.loop_count = options.loop_count;
  runtime_options.stack_bytes = options.stack_bytes;
  runtime_options.clock = &clock_;
  runtime_ = Runtime::Simulate(runtime_options, *this, &core_);
  home_ = std::make_unique<LoopImpl>(*core_, options.loop_count, LoopImpl::Kind::kAttached);
  for (const auto& loop : core_->loops) loops_.push_back(loop.get());
  loops_.push_back(home_.get());
  pinned_.resize(loops_.size());
  stalled_until_.resize(loops_.size());
  for (LoopImpl* loop : loops_) loop->thread_exceptions_ = reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals());
  for (int i = 0; i < 4; ++i) priority_changes_.push_back(random_.Below(20'000));
  std::sort(priority_changes_.rbegin(), priority_changes_.rend());

  boost::fibers::context* const main = boost::fibers::context::active();
  main_ = static_cast<internal::Fiber*>(main->get_properties());
  if (main_ == nullptr) {
    main_ = new internal::Fiber(*home_, internal::Fiber::Role::kMain, main);
    main->set_properties(main_);
  }
  main_->loop = home_.get();
  main_->serial = next_serial_++;
  main_->simulated_priority = 0;
  current_ = home_->current_ = main_;
  scheduler_ = new SimulationScheduler(*this);
  main->get_scheduler()->set_algo(scheduler_);
  home_->dispatcher_->serial = next_serial_++;
  g_current = this;
  SetSimulationHooks(&kHooks);
}

SimulationCore::~SimulationCore() {
  runtime_.reset();  // calls Finish
}

// ---- The main context ----

void SimulationCore::WaitOnMain(const std::function<bool()>& done) {
  SISAL_CHECK(current_ == main_ && !main_waits_);
  SetCurrentLoopImpl(home_.get());
  while (!done()) {
    main_waits_ = true;
    home_->Suspend();
  }
  SetCurrentLoopImpl(main_attached_ ? home_.get() : nullptr);
}

void SimulationCore::WakeMain() {
  if (std::exchange(main_waits_, false)) home_->MakeReady(*main_);
}

void SimulationCore::RunAndWait(std::string_view name, std::function<void()> body) {
  bool done = false;
  runtime_->Spawn(SpawnOptions{.name = name}, [&] {
    body();
    done = true;
    WakeMain();
  });
  WaitOnMain([&] { return done; });
}

void SimulationCore::AttachMain() {
  SISAL_CHECK(current_ == main_ && !main_attached_);
  main_attached_ = true;
  SetCurrentLoopImpl(home_.get());
}

void SimulationCore::DetachMain() {
  main_attached_ = false;
  SetCurrentLoopImpl(nullptr);
}

void SimulationCore::Finish() {
  SISAL_CHECK(!main_attached_);
  WaitOnMain([this] { return core_->live_fibers.load() == 0; });
  size_t contexts = 0;
  for (LoopImpl* loop : loops_) {
    loop->stopping_ = true;
    while (!loop->idle_.empty()) loop->MakeReady(*loop->idle_.Pop());
    contexts += loop->context_count_;
  }
  SetCurrentLoopImpl(home_.get());
  while (contexts > 0) {  // the dispatcher frees those that have ended
    home_->Yield();
    contexts = 0;
    for (LoopImpl* loop : loops_) contexts += loop->context_count_;
  }
  for (LoopImpl* loop : loops_) SISAL_CHECK(loop->timers_.empty());
  SetCurrentLoopImpl(nullptr);
  scheduler_->HandOver();
  boost::fibers::context::active()->get_scheduler()->set_algo(new boost::fibers::algo::round_robin());
  SetSimulationHooks(nullptr);
  g_current = nullptr;
}

// ---- Choosing ----

SISAL_NO_SANITIZE boost::fibers::context* SimulationCore::PickNext() {
  internal::Fiber* const from = current_;
  CompleteSwitch(from->sanitizer);  // for the dispatcher, which has no other code of ours after its switch
  internal::Fiber* const to = Pick();
  AnnounceSwitch(from->sanitizer, from->ending, to->sanitizer);
  return to->context();
}

internal::Fiber* SimulationCore::Pick() {
  SISAL_CHECK(internal::latch_scope.held_count == 0);  // rule 1: no latch across a suspension
  internal::Fiber* const from = current_;
  internal::Fiber* const dispatcher = home_->dispatcher_;
  internal::Fiber* to;
  if (from->ending) {
    to = dispatcher;  // frees it
  } else {
    is_choosing_ = true;
    to = Choose();
    is_choosing_ = false;
    if (to == from) {  // Boost cannot resume the active context
      forced_ = to;
      to = dispatcher;
    }
  }
  if (to == dispatcher) {
    static_cast<void>(home_->TakeDispatcher());
  } else {
    ++switch_count_;
    Mix(to->loop->index() << 48 ^ to->serial);
    if (switch_count_ > options_.switch_count_max) ReportStuck("the run does not end");
  }
  current_ = to->loop->current_ = to;
  SetCurrentLoopImpl(to == main_ && !main_attached_ ? nullptr : to->loop);
  ExceptionState& in_flight = *home_->thread_exceptions_;
  from->exceptions = in_flight;
  in_flight = to->exceptions;
  return to;
}

internal::Fiber* SimulationCore::Choose() {
  if (forced_ != nullptr) return std::exchange(forced_, nullptr);
  clock_.now = clock_.now + kStepMin + Duration(random_.Below((kStepMax - kStepMin).count()));
  for (;;) {
    LoopImpl* const loop = ChooseLoop();
    if (loop == nullptr) {
      AdvanceClock();
      continue;
    }
    if (internal::Fiber* const fiber = TakeFiber(*loop)) return fiber;
  }
}

bool SimulationCore::HasWork(const LoopImpl& loop) const {
  if (stalled_until_[loop.index()] > clock_.now) return false;
  return pinned_[loop.index()] != nullptr || !loop.normal_.empty() || !loop.background_.empty() ||
         !loop.inbox_.empty() || !loop.waiting_jobs_.empty() ||
         (!loop.timers_.empty() && loop.timers_.earliest() <= clock_.now);
}

LoopImpl* SimulationCore::ChooseLoop() {
  if (options_.mode == SimulationMode::kPriorities) {
    PassPriorityChange();
    for (LoopImpl* loop : loops_) {
      if (pinned_[loop->index()] == nullptr && HasWork(*loop) && random_.OneIn(2)) Poll(*loop);
    }
    if (LoopImpl* const loop = LoopOfHighestPriority()) return loop;
  }
  if (options_.mode == SimulationMode::kAdversarial && switch_count_ >= starved_until_) {
    starved_loop_ = random_.Below(loops_.size());
    starved_until_ = switch_count_ + 1 + random_.Below(2000);
  }
  LoopImpl* candidates[64];
  size_t count = 0;
  LoopImpl* starved = nullptr;
  for (LoopImpl* loop : loops_) {
    if (!HasWork(*loop)) continue;
    const bool is_starved =
        options_.mode == SimulationMode::kAdversarial && loop->index() == starved_loop_ && !random_.OneIn(64);
    if (is_starved) {
      starved = loop;
    } else if (count < std::size(candidates)) {
      candidates[count++] = loop;
    }
  }
  return count == 0 ? starved : candidates[random_.Below(count)];
}

void SimulationCore::Poll(LoopImpl& loop) {
  LoopImpl* const before = CurrentLoopImpl();
  SetCurrentLoopImpl(&loop);
  loop.DrainInbox();
  if (!loop.waiting_jobs_.empty()) {  // SISAL_BUGGIFY had no stack for it; in production the next to end gives its own
    Job job = std::move(loop.waiting_jobs_.front());
    loop.waiting_jobs_.pop_front();
    loop.Start(std::move(job));
  }
  if (!loop.timers_.empty()) loop.timers_.Expire(clock_.now);
  SetCurrentLoopImpl(before);
}

internal::Fiber* SimulationCore::TakeFiber(LoopImpl& loop) {
  internal::Fiber*& pinned = pinned_[loop.index()];
  if (pinned != nullptr) return std::exchange(pinned, nullptr);
  if ((loop.normal_.empty() && loop.background_.empty()) || random_.OneIn(2)) Poll(loop);
  const bool background = !loop.background_.empty() && (loop.normal_.empty() || random_.OneIn(8));
  ReadyList& list = background ? loop.background_ : loop.normal_;
  return list.empty() ? nullptr : TakeFrom(list);
}

internal::Fiber* SimulationCore::TakeFrom(ReadyList& list) {
  size_t index = 0;
  switch (options_.mode) {
    case SimulationMode::kRandom:
      index = random_.OneIn(2) ? 0 : random_.Below(list.count());
      break;
    case SimulationMode::kAdversarial:
      index = random_.OneIn(4) ? random_.Below(list.count()) : list.count() - 1;
      break;
    case SimulationMode::kPriorities: {
      size_t place = 0;
      uint64_t highest = 0;
      list.ForEach([&](const internal::Fiber& fiber) {
        if (fiber.simulated_priority >= highest) {
          highest = fiber.simulated_priority;
          index = place;
        }
        ++place;
      });
      break;
    }
  }
  return list.PopAt(index);
}

LoopImpl* SimulationCore::LoopOfHighestPriority() {
  LoopImpl* best = nullptr;
  uint64_t highest = 0;
  const auto look_at = [&](const internal::Fiber& fiber) {
    if (best != nullptr && fiber.simulated_priority <= highest) return;
    best = fiber.loop;
    highest = fiber.simulated_priority;
  };
  for (LoopImpl* loop : loops_) {
    if (stalled_until_[loop->index()] > clock_.now) continue;
    if (const internal::Fiber* const pinned = pinned_[loop->index()]) {
      look_at(*pinned);
      continue;
    }
    loop->normal_.ForEach(look_at);
    if (loop->normal_.empty()) loop->background_.ForEach(look_at);
  }
  return best;
}

void SimulationCore::PassPriorityChange() {
  while (!priority_changes_.empty() && priority_changes_.back() <= switch_count_) {
    priority_changes_.pop_back();
    current_->simulated_priority = --lowest_priority_;
  }
}

void SimulationCore::Yielded(internal::Fiber& fiber) { fiber.simulated_priority = --lowest_priority_; }

void SimulationCore::AdvanceClock() {
  Instant next = Instant::Max();
  for (const LoopImpl* loop : loops_) {
    const Instant stalled_until = stalled_until_[loop->index()];
    if (stalled_until > clock_.now) {
      next = std::min(next, stalled_until);
    } else if (!loop->timers_.empty()) {
      next = std::min(next, loop->timers_.earliest());
    }
  }
  if (next == Instant::Max()) ReportStuck("nothing can run, and no timer is set");
  clock_.now = std::max(clock_.now, next);
  if (clock_.now.since_start > options_.time_limit) ReportStuck("the run does not end in time");
}

void SimulationCore::ReportStuck(const std::string& why) {
  std::string report = why + "; alive:";
  for (const auto& [name, count] : live_jobs_) report += " " + name + " x" + std::to_string(count) + ",";
  report.pop_back();
  SetSimulationHooks(nullptr);
  if (options_.on_stuck) options_.on_stuck(report);
  sisal::internal::CheckFailed("simulation", __FILE__, __LINE__, report);
}

// ---- Books ----

void SimulationCore::Number(internal::Fiber& fiber) {
  if (fiber.serial != 0) return;
  fiber.serial = next_serial_++;
  fiber.simulated_priority = (uint64_t{1} << 62) + random_.Below(uint64_t{1} << 62);
}

void SimulationCore::JobEnded(const Job& job) {
  const auto found = live_jobs_.find(std::string(job.name.view()));
  if (--found->second == 0) live_jobs_.erase(found);
}

LoopImpl& SimulationCore::AnyLoop() { return *loops_[random_.Below(loops_.size() - 1)]; }

void SimulationCore::Mix(uint64_t value) {
  uint64_t z = (trace_hash_ ^ value) + 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  trace_hash_ = z ^ (z >> 31);
}

// ---- What production code calls ----

void SimulationCore::Point() {
  SimulationCore& core = *g_current;
  internal::Fiber* const fiber = core.current_;
  const ExceptionState& in_flight = *core.home_->thread_exceptions_;
  if (core.is_choosing_ || fiber->role != internal::Fiber::Role::kWorker || fiber->ending) return;
  if (internal::latch_scope.held_count != 0 || in_flight.caught != nullptr || in_flight.uncaught_count != 0) return;
  if (!core.OneIn(core.options_.point_one_in)) return;
  const size_t index = fiber->loop->index();
  core.pinned_[index] = fiber;
  if (core.OneIn(kStallOneIn))
    core.stalled_until_[index] = core.clock_.now + Duration(core.random_.Below(kStallMax.count()));
  fiber->loop->Suspend();
}

bool SimulationCore::Buggify() { return g_current->OneIn(g_current->options_.buggify_one_in); }

void SimulationCore::RandomBytes(void* out, size_t size_bytes) {
  auto* bytes = static_cast<unsigned char*>(out);
  for (size_t i = 0; i < size_bytes; ++i) bytes[i] = static_cast<unsigned char>(g_current->random_.Next());
}

void SimulationCore::Forbid(const char* what) {
  SetSimulationHooks(nullptr);
  sisal::internal::CheckFailed("simulation", __FILE__, __LINE__, what);
}

// ---- Simulation ----

Simulation::Simulation(const SimulationOptions& options) : core_(std::make_unique<SimulationCore>(options)) {}
Simulation::~Simulation() = default;
Runtime& Simulation::runtime() { return core_->runtime(); }
const Clock& Simulation::clock() const { return core_->clock(); }
uint64_t Simulation::trace_hash() const { return core_->trace_hash(); }
uint64_t Simulation::switch_count() const { return core_->switch_count(); }

void Simulation::Trace(uint64_t value) {
  if (g_current != nullptr) g_current->Mix(value);
}

void Simulation::Trace(std::string_view bytes) {
  if (g_current == nullptr) return;
  uint64_t hash = bytes.size();
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  g_current->Mix(hash);
}

}  // namespace sisal::io
