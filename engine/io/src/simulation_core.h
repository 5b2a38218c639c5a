// The simulation's scheduler, clock and trace: see sisal/io/simulation.h.
//
// All contexts belong to Boost's one scheduler of the calling thread. Whenever one gives up the thread, Pick chooses
// the logical loop that runs next and then its fiber; what the loop's own thread would do between fibers (inbox,
// timers) is done for it there. The thread's main context is a fiber of one more loop, `home`.
#pragma once

#include <boost/fiber/context.hpp>
#include <boost/intrusive_ptr.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "loop.h"
#include "runtime_core.h"
#include "sisal/base/random.h"
#include "sisal/base/simulation.h"
#include "sisal/io/simulation.h"

namespace sisal::io {

class SimulationScheduler;

class VirtualClock final : public Clock {
 public:
  Instant Now() const override { return now; }
  int64_t WallMicros() const override { return kWallStartMicros + now.since_start.count() / 1000; }
  Instant now{std::chrono::seconds(1)};

 private:
  static constexpr int64_t kWallStartMicros = 1'767'225'600'000'000;  // 2026-01-01
};

class SimulationCore {
 public:
  explicit SimulationCore(const SimulationOptions& options);
  ~SimulationCore();

  // For Runtime and AttachedThread, on the main context.
  void RunAndWait(std::string_view name, std::function<void()> body);
  void Finish();
  void AttachMain();
  void DetachMain();
  // The last live fiber has ended.
  void AllEnded() { WakeMain(); }

  // For the loops.
  SISAL_NO_SANITIZE boost::fibers::context* PickNext();
  bool IsBudgetSpent() { return OneIn(options_.budget_one_in); }
  void Yielded(internal::Fiber& fiber);
  void JobStarted(const Job& job) { ++live_jobs_[std::string(job.name.view())]; }
  void JobEnded(const Job& job);
  LoopImpl& AnyLoop();

  // For Boost's algorithm.
  LoopImpl& home() { return *home_; }
  void Number(internal::Fiber& fiber);

  void Mix(uint64_t value);

  const SimulationOptions& options() const { return options_; }
  Runtime& runtime() { return *runtime_; }
  const VirtualClock& clock() const { return clock_; }
  uint64_t trace_hash() const { return trace_hash_; }
  uint64_t switch_count() const { return switch_count_; }

  // The running one; nullptr: none.
  static SimulationCore* Current();

 private:
  static void Point();
  static bool Buggify();
  static void RandomBytes(void* out, size_t size_bytes);
  static void Forbid(const char* what);
  static const SimulationHooks kHooks;

  bool OneIn(uint32_t n) { return n != 0 && random_.OneIn(n); }
  // Parks the main context until `done` holds; whoever makes it so calls WakeMain. Suspends.
  void WaitOnMain(const std::function<bool()>& done);
  void WakeMain();

  internal::Fiber* Pick();
  internal::Fiber* Choose();
  bool HasWork(const LoopImpl& loop) const;
  LoopImpl* ChooseLoop();
  void Poll(LoopImpl& loop);
  internal::Fiber* TakeFiber(LoopImpl& loop);
  internal::Fiber* TakeFrom(ReadyList& list);
  LoopImpl* LoopOfHighestPriority();
  void PassPriorityChange();
  // To the next timer. Does not return if there is none.
  void AdvanceClock();
  [[noreturn]] void ReportStuck(const std::string& why);

  const SimulationOptions options_;
  Random random_;
  VirtualClock clock_;
  std::unique_ptr<Runtime> runtime_;
  RuntimeCore* core_ = nullptr;
  std::unique_ptr<LoopImpl> home_;
  std::vector<LoopImpl*> loops_;          // all, home last
  std::vector<Instant> stalled_until_;    // by loop: until then its thread has no processor
  std::vector<internal::Fiber*> pinned_;  // by loop: it runs nobody but this fiber, which waits at a SISAL_SIM_POINT
  boost::intrusive_ptr<SimulationScheduler> scheduler_;
  internal::Fiber* main_ = nullptr;
  internal::Fiber* current_ = nullptr;
  internal::Fiber* forced_ = nullptr;  // runs next, whatever else could
  bool main_waits_ = false;
  bool main_attached_ = false;
  bool is_choosing_ = false;

  uint64_t next_serial_ = 1;
  uint64_t lowest_priority_ = uint64_t{1} << 62;
  std::vector<uint64_t> priority_changes_;  // switch counts, descending
  size_t starved_loop_ = 0;
  uint64_t starved_until_ = 0;
  std::map<std::string, uint64_t> live_jobs_;
  uint64_t switch_count_ = 0;
  uint64_t trace_hash_ = 0;
};

}  // namespace sisal::io
