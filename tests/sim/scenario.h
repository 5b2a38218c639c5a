// What a scenario is: one function that plays one seed and reports what it finds.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim_disk.h"
#include "sisal/base/random.h"
#include "sisal/io/runtime.h"
#include "sisal/io/simulation.h"
#include "sisal/io/sync.h"

namespace sisal::sim {

// One seed of one scenario. Confined to the simulation's thread.
class Run {
 public:
  explicit Run(uint64_t run_seed) : seed(run_seed), random(run_seed) {}

  // The first one counts. Does not stop the run.
  void Fail(std::string message) {
    if (violation.empty()) violation = std::move(message);
  }
  bool failed() const { return !violation.empty(); }

  const uint64_t seed;
  Random random;  // the scenario's own; the scheduler and the disk have others
  std::string violation;
  uint64_t trace_hash = 0;
  uint64_t switch_count = 0;
  // Called when the run is stuck; does not return.
  std::function<void(const std::string&)> on_stuck;
};

// Draws mode, number of loops and the rest from the run's seed.
io::SimulationOptions DrawOptions(Run& run, io::FileSystem& disk);

// Runs `body` on a fiber of a simulation of its own, to the end of all fibers. Fills in the run's trace.
void Simulate(Run& run, const io::SimulationOptions& options, const std::function<void(io::Runtime&)>& body);

// Fibers of a scenario, to be waited for.
class Crew {
 public:
  explicit Crew(io::Runtime& runtime) : runtime_(runtime) {}
  void Add(std::string name, std::function<void()> body);
  // Suspends.
  void WaitForAll();

 private:
  io::Runtime& runtime_;
  io::SpinLatch latch_;  // guards what follows
  size_t working_ = 0;
  io::WaitList waiters_;
};

struct Scenario {
  const char* name;
  void (*play)(Run& run);
};
const std::vector<Scenario>& Scenarios();

// One per scenario, or group of them.
void PlayCrashRecovery(Run& run);
void PlayTornTail(Run& run);
void PlayBigTransactions(Run& run);
void PlayLogFault(Run& run);
void PlayFullDisk(Run& run);
void PlayDamage(Run& run);
void PlayConcurrency(Run& run);
void PlayIsolation(Run& run);
void PlaySerializable(Run& run);
void PlayDeadlock(Run& run);
void PlaySql(Run& run);
void PlayForeignKeys(Run& run);

}  // namespace sisal::sim
