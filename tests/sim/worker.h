// Plays seeds in a child process, so that a seed that gets stuck, fails a check or loops for ever is a violation like
// any other, and the next seed begins afresh.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "scenario.h"
#include "sisal/base/simulation.h"

namespace sisal::sim {

struct SeedResult {
  const Scenario* scenario;
  uint64_t seed;
  uint64_t trace_hash;
  std::string violation;  // empty: none
};

// What to play next; nullopt: nothing more.
struct Task {
  const Scenario* scenario;
  uint64_t seed;
};

// Asks `next` for a task and tells `done` its result, until one of them ends it (nullopt, false).
void PlaySeeds(Plant plant, bool verbose, const std::function<std::optional<Task>()>& next,
               const std::function<bool(const SeedResult&)>& done);

}  // namespace sisal::sim
