#include "scenario.h"

#include <utility>

namespace sisal::sim {

const std::vector<Scenario>& Scenarios() {
  static const std::vector<Scenario> scenarios = {
      {"crash-recovery", PlayCrashRecovery},
      {"torn-tail", PlayTornTail},
      {"big-transactions", PlayBigTransactions},
      {"log-fault", PlayLogFault},
      {"full-disk", PlayFullDisk},
      {"damage", PlayDamage},
      {"concurrency", PlayConcurrency},
      {"isolation", PlayIsolation},
      {"serializable", PlaySerializable},
      {"deadlock", PlayDeadlock},
      {"sql", PlaySql},
      {"foreign-keys", PlayForeignKeys},
  };
  return scenarios;
}

io::SimulationOptions DrawOptions(Run& run, io::FileSystem& disk) {
  constexpr uint32_t kOneIn[] = {0, 2, 8, 8, 32};
  io::SimulationOptions options;
  options.seed = run.random.Next();
  options.loop_count = 1 + run.random.Below(4);
  options.mode = static_cast<io::SimulationMode>(run.random.Below(3));
  options.file_system = &disk;
  options.point_one_in = kOneIn[run.random.Below(std::size(kOneIn))];
  options.budget_one_in = kOneIn[run.random.Below(std::size(kOneIn))];
  options.buggify_one_in = run.random.OneIn(2) ? 0 : 8;
  return options;
}

void Simulate(Run& run, const io::SimulationOptions& drawn, const std::function<void(io::Runtime&)>& body) {
  io::SimulationOptions options = drawn;
  options.on_stuck = run.on_stuck;
  io::Simulation simulation(options);
  simulation.runtime().RunAndWait("scenario", [&] { body(simulation.runtime()); });
  run.trace_hash = run.trace_hash * 31 + simulation.trace_hash();
  run.switch_count += simulation.switch_count();
}

void Crew::Add(std::string name, std::function<void()> body) {
  latch_.lock();
  ++working_;
  latch_.unlock();
  runtime_.Spawn({.name = name}, [this, body = std::move(body)] {
    body();
    latch_.lock();
    if (--working_ == 0) waiters_.WakeAll();
    latch_.unlock();
  });
}

void Crew::WaitForAll() {
  latch_.lock();
  while (working_ > 0) {
    io::WaitList::Node node;
    waiters_.Add(node);
    latch_.unlock();
    node.Park();
    latch_.lock();
  }
  latch_.unlock();
}

}  // namespace sisal::sim
