#include "sisal/io/runtime.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include <string>
#include <system_error>

#include "real_file_system.h"
#include "runtime_core.h"
#include "simulation_core.h"
#include "sisal/base/log.h"
#include "sisal/base/simulation.h"

namespace sisal::io {
namespace {

// Metadata calls only; where there is no ring, each read and write in flight takes a thread.
constexpr size_t kPoolThreadsWithRing = 4;
constexpr size_t kPoolThreadsWithoutRing = 32;

Result<Backend> ChooseBackend(Backend wanted, std::string* note) {
  if (wanted == Backend::kThreadPool) return Backend::kThreadPool;
  Result<std::unique_ptr<Ring>> ring = Ring::Open(-1);
  if (ring.ok()) return Backend::kIoUring;
  if (wanted == Backend::kIoUring) return ring.status();
  *note = ring.error().message();
  return Backend::kThreadPool;
}

}  // namespace

RuntimeCore::RuntimeCore(const RuntimeOptions& chosen_options, Backend chosen_backend, std::string note,
                         SimulationCore* simulator)
    : options(chosen_options),
      clock(chosen_options.clock != nullptr ? *chosen_options.clock : SystemClock()),
      backend(chosen_backend),
      backend_note(std::move(note)),
      simulation(simulator),
      file_system(std::make_unique<RealFileSystem>(*this)),
      pool(chosen_backend == Backend::kIoUring ? kPoolThreadsWithRing : kPoolThreadsWithoutRing) {}

void RuntimeCore::FiberEnded() {
  if (live_fibers.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (simulation != nullptr) return simulation->AllEnded();
  std::lock_guard guard(mutex);
  all_ended.notify_all();
}

LoopImpl& RuntimeCore::LeastLoaded() {
  if (simulation != nullptr) return simulation->AnyLoop();
  LoopImpl* best = loops.front().get();
  uint64_t best_load = best->load();
  for (const auto& loop : loops) {
    const uint64_t load = loop->load();
    if (load < best_load) {
      best = loop.get();
      best_load = load;
    }
  }
  return *best;
}

struct Runtime::Impl {
  Impl(const RuntimeOptions& options, Backend backend, std::string note, SimulationCore* simulator = nullptr)
      : core(options, backend, std::move(note), simulator) {}
  Status StartLoops(size_t count);
  void StopLoops();
  RuntimeCore core;
};

Status Runtime::Impl::StartLoops(size_t count) {
  for (size_t index = 0; index < count; ++index) {
    core.loops.push_back(std::make_unique<LoopImpl>(core, index, LoopImpl::Kind::kOwned));
  }
  std::mutex mutex;
  std::condition_variable changed;
  size_t answered = 0;
  Status first_error;
  for (size_t index = 0; index < count; ++index) {
    LoopImpl& loop = *core.loops[index];
    try {
      core.threads.emplace_back([&, index] {
        ::pthread_setname_np(::pthread_self(), ("sisal-loop-" + std::to_string(index)).c_str());
        ::prctl(PR_SET_TIMERSLACK, 1000UL);  // nanoseconds; by default a timer may come 50 us late
        Status attached = loop.Attach();
        const bool serves = attached.ok();
        {
          std::lock_guard guard(mutex);
          if (!serves && first_error.ok()) first_error = std::move(attached);
          ++answered;
          changed.notify_all();
        }
        if (!serves) return;  // nothing of this frame's captures is used from here on but the loop
        loop.Serve();
        loop.Detach();
      });
    } catch (const std::system_error& error) {
      std::lock_guard guard(mutex);
      if (first_error.ok()) first_error = Error{"58000", std::string("cannot start a thread: ") + error.what()};
      break;
    }
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return answered == core.threads.size(); });
  return first_error;
}

void Runtime::Impl::StopLoops() {
  // A loop that never started only keeps the request; its thread has returned.
  for (size_t index = 0; index < core.threads.size(); ++index) core.loops[index]->RequestStop();
  for (std::thread& thread : core.threads) thread.join();
}

Runtime::Runtime(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Runtime>> Runtime::Start(const RuntimeOptions& options) {
  // A write past the process's size limit is to fail with EFBIG, not to kill: it becomes 53100.
  ::signal(SIGXFSZ, SIG_IGN);
  SISAL_NOT_SIMULATED("Runtime::Start");
  std::string note;
  SISAL_ASSIGN_OR_RETURN(const Backend backend, ChooseBackend(options.backend, &note));
  const size_t loop_count =
      options.loop_count != 0 ? options.loop_count : std::max(1u, std::thread::hardware_concurrency());
  auto impl = std::make_unique<Impl>(options, backend, note);
  Status started = impl->StartLoops(loop_count);
  if (!started.ok()) {
    impl->StopLoops();
    return std::move(started).error();
  }
  std::string line = "io: " + std::to_string(loop_count) + " loops, backend " +
                     (backend == Backend::kIoUring ? "io_uring" : "thread pool");
  if (backend == Backend::kIoUring && Ring::MessageKind() == RingMessage::kEventFd) line += ", wakes by eventfd";
  if (!note.empty()) line += " (" + note + ")";
  Log(note.empty() ? LogLevel::kInfo : LogLevel::kWarning, line);
  return std::unique_ptr<Runtime>(new Runtime(std::move(impl)));
}

std::unique_ptr<Runtime> Runtime::Simulate(const RuntimeOptions& options, SimulationCore& simulation,
                                           RuntimeCore** core) {
  auto impl = std::make_unique<Impl>(options, Backend::kThreadPool, "simulated", &simulation);
  *core = &impl->core;
  for (size_t index = 0; index < options.loop_count; ++index) {
    impl->core.loops.push_back(std::make_unique<LoopImpl>(impl->core, index, LoopImpl::Kind::kOwned));
  }
  return std::unique_ptr<Runtime>(new Runtime(std::move(impl)));
}

Runtime::~Runtime() {
  SISAL_CHECK(!OnFiber());
  if (impl_->core.simulation != nullptr) {
    impl_->core.simulation->Finish();
    return;
  }
  {
    std::unique_lock lock(impl_->core.mutex);
    impl_->core.all_ended.wait(lock, [this] { return impl_->core.live_fibers.load(std::memory_order_acquire) == 0; });
    SISAL_CHECK(impl_->core.idle_attached.size() == impl_->core.attached.size());
  }
  impl_->StopLoops();
}

size_t Runtime::loop_count() const { return impl_->core.loops.size(); }
Loop& Runtime::loop(size_t index) { return *impl_->core.loops.at(index); }
Backend Runtime::backend() const { return impl_->core.backend; }
const std::string& Runtime::backend_note() const { return impl_->core.backend_note; }
FileSystem& Runtime::file_system() {
  const SimulationCore* const simulation = impl_->core.simulation;
  return simulation == nullptr ? *impl_->core.file_system : *simulation->options().file_system;
}
const Clock& Runtime::clock() const { return impl_->core.clock; }

std::vector<LoopStats> Runtime::Stats() const {
  std::vector<LoopStats> all;
  for (const auto& loop : impl_->core.loops) {
    const LoopCounters& counters = loop->counters();
    LoopStats& stats = all.emplace_back();
    stats.runnable_fibers = counters.runnable.value();
    stats.live_fibers = loop->load();
    stats.switches = counters.switches.value();
    stats.stalls = counters.stalls.value();
    stats.cross_loop_wakes = counters.cross_loop_wakes.value();
    stats.sleeps = counters.sleeps.value();
    stats.reads = counters.reads.value();
    stats.writes = counters.writes.value();
    stats.syncs = counters.syncs.value();
    for (size_t i = 0; i < std::size(stats.wake_latency_us_pow2); ++i) {
      stats.wake_latency_us_pow2[i] = counters.wake_latency[i].value();
    }
  }
  return all;
}

void Runtime::Spawn(SpawnOptions options, std::function<void()> body) {
  impl_->core.LeastLoaded().Spawn(options, std::move(body));
}

void Runtime::RunAndWait(std::string_view name, std::function<void()> body) {
  SISAL_CHECK(!OnFiber());
  if (impl_->core.simulation != nullptr) return impl_->core.simulation->RunAndWait(name, std::move(body));
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  Spawn(SpawnOptions{.name = name}, [&] {
    body();
    std::lock_guard guard(mutex);
    done = true;
    ended.notify_all();  // under the mutex: the waiter destroys both as soon as it sees `done`
  });
  std::unique_lock lock(mutex);
  ended.wait(lock, [&] { return done; });
}

Loop* CurrentLoop() { return CurrentLoopImpl(); }

bool OnFiber() {
  LoopImpl* const loop = CurrentLoopImpl();
  return loop != nullptr && loop->current()->role != internal::Fiber::Role::kDispatcher;
}

std::string_view CurrentFiberName() { return OnFiber() ? CurrentLoopImpl()->current()->job.name.view() : "thread"; }

void Yield() {
  SISAL_CHECK(OnFiber());
  CurrentLoopImpl()->Yield();
}

void YieldIfBudgetSpent() {
  if (LoopImpl* const loop = CurrentLoopImpl(); loop != nullptr) loop->YieldIfBudgetSpent();
}

struct AttachedThread::Impl {
  RuntimeCore& core;
  LoopImpl* loop;
};

AttachedThread::AttachedThread(Runtime& runtime) {
  RuntimeCore& core = runtime.impl_->core;
  if (core.simulation != nullptr) {
    core.simulation->AttachMain();
    impl_ = std::make_unique<Impl>(Impl{core, nullptr});
    return;
  }
  LoopImpl* loop;
  {
    std::lock_guard guard(core.mutex);
    if (core.idle_attached.empty()) {
      core.attached.push_back(
          std::make_unique<LoopImpl>(core, core.loops.size() + core.attached.size(), LoopImpl::Kind::kAttached));
      loop = core.attached.back().get();
    } else {
      loop = core.idle_attached.back();
      core.idle_attached.pop_back();
    }
  }
  SISAL_CHECK(loop->Attach().ok());
  impl_ = std::make_unique<Impl>(Impl{core, loop});
}

AttachedThread::~AttachedThread() {
  if (impl_->core.simulation != nullptr) {
    impl_->core.simulation->DetachMain();
    return;
  }
  SISAL_CHECK(CurrentLoopImpl() == impl_->loop);
  impl_->loop->Detach();
  std::lock_guard guard(impl_->core.mutex);
  impl_->core.idle_attached.push_back(impl_->loop);
}

}  // namespace sisal::io
