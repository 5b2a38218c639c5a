// A Runtime whose runs repeat from a seed: all loops on the calling thread, virtual time, a seeded scheduler.
//
// Fibers, wake words, sync objects, inboxes, timers and everything above are the production code. Only three things
// are exchanged: who runs next, the clock, and the file system (the caller's). The calling thread counts as a plain
// thread; its fibers run while it is in RunAndWait, on an AttachedThread, or in the Runtime's destructor.
//
// Where production code has a SISAL_SIM_POINT, fibers of other loops may come in between, as threads would; fibers of
// the same loop may not. So races of logic show although one thread does it all; those of memory order do not.
//
// Concurrency: one Simulation in a process at a time, all on one thread. Not for production.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "sisal/base/clock.h"
#include "sisal/io/file.h"
#include "sisal/io/runtime.h"

namespace sisal::io {

enum class SimulationMode : uint8_t {
  kRandom,       // each loop and each fiber with the same chance
  kAdversarial,  // one loop is starved for a while, then another; who was woken last goes first
  kPriorities,   // always the fiber of highest priority; a few times it is put last (PCT, Burckhardt et al. 2010)
};

struct SimulationOptions {
  uint64_t seed = 1;
  size_t loop_count = 2;
  SimulationMode mode = SimulationMode::kRandom;
  FileSystem* file_system = nullptr;  // what Runtime::file_system returns; borrowed
  size_t stack_bytes = 256 << 10;
  // One in so many SISAL_SIM_POINTs gives way to other loops, YieldIfBudgetSpents yield, SISAL_BUGGIFYs happen.
  // 0: none.
  uint32_t point_one_in = 8;
  uint32_t budget_one_in = 8;
  uint32_t buggify_one_in = 8;
  // Beyond these the run counts as stuck.
  Duration time_limit = std::chrono::minutes(10);
  uint64_t switch_count_max = 50'000'000;
  // Nothing can run, or a limit was passed. Not to return: what waits cannot be unwound. Default: a failed check.
  std::function<void(const std::string& report)> on_stuck;
};

class SimulationCore;

class Simulation {
 public:
  explicit Simulation(const SimulationOptions& options);
  // Requires: as Runtime's destructor.
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  Runtime& runtime();
  const Clock& clock() const;
  // A fingerprint of all switches and of all that Trace was told: the same seed gives the same, in any process.
  uint64_t trace_hash() const;
  uint64_t switch_count() const;

  // Adds to the running simulation's trace; nothing if there is none.
  static void Trace(uint64_t value);
  static void Trace(std::string_view bytes);

 private:
  std::unique_ptr<SimulationCore> core_;
};

}  // namespace sisal::io
