// What production code knows of the deterministic simulator (sisal/io/simulation.h): places where it may step in, and
// bugs that it plants to prove that it would find them. Outside a simulation each costs one relaxed load.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sisal {

// Bugs that a run may switch on, one at a time: `sisal-sim --plant <name>`.
enum class Plant : uint8_t {
  kNone,
  kWakeDropped,              // a wake that comes before the park is forgotten
  kAckBeforeSync,            // written bytes count as durable
  kPublishedBeforeCopied,    // a log record is whole before its bytes are there
  kTornTailAccepted,         // recovery believes a record whose checksum is wrong
  kPositionRestarts,         // each open begins at the first position again
  kFailedSyncRetried,        // a sync that fails is tried again, and then believed
  kFailedSyncAcknowledged,   // the waiters of a failed sync get ok
  kChunksReplayedAlone,      // chunks without a commit record are replayed
  kNoSpaceSwallowed,         // a segment whose blocks were refused is used all the same
  kHorizonPassesHole,        // the applied horizon moves past a commit that is not applied
  kFirstCommitterUnchecked,  // an intent is granted over a newer version than the snapshot's
  kIntentsReleasedEarly,     // before the commit is applied
  kTailNotSecured,           // recovery trusts what the kernel shows
  kAckBeforeApplied,         // an answer does not wait for the horizon
  kDeadlockNoVictim,
  kDeadlockTwoVictims,
  kSnapshotAdvances,      // in the middle of a transaction
  kOldSegmentNotSynced,   // a flush goes on into the next segment without a sync
  kNewSegmentNotDurable,  // a segment is used before its header and its name are synced
  kReadAboveFloor,        // a read without a transaction sees what a crash can undo
  kChildrenAtSnapshot,    // a parent's DELETE does not look at the newest children
  kSequenceNotLogged,     // values are handed out that the log does not count as taken
  kSsiUnchecked,          // a serializable transaction commits without the check
};

struct PlantName {
  Plant plant;
  const char* name;
};
extern const std::array<PlantName, 23> kPlants;
std::optional<Plant> PlantOf(std::string_view name);
// The plants' switch. kNone: none.
void SetPlant(Plant plant);

// The simulator's side of the macros below. All members are set.
struct SimulationHooks {
  void (*point)();                                     // other loops may run now
  bool (*buggify)();                                   // whether the rare case is to happen
  void (*random_bytes)(void* out, size_t size_bytes);  // in place of the kernel's generator
  void (*forbid)(const char* what);                    // the code has left the simulation: ends the process
};
// nullptr: no simulation any more. Not thread-safe: set while no other thread uses the engine.
void SetSimulationHooks(const SimulationHooks* hooks);

namespace internal {
extern constinit std::atomic<Plant> plant;
extern constinit std::atomic<const SimulationHooks*> simulation_hooks;
inline const SimulationHooks* Hooks() { return simulation_hooks.load(std::memory_order_relaxed); }
}  // namespace internal

}  // namespace sisal

// True if this bug is planted.
#define SISAL_PLANTED(bug) \
  (__builtin_expect(::sisal::internal::plant.load(std::memory_order_relaxed) == ::sisal::Plant::bug, 0))

// A place where, in production, another loop's thread might come in between: a race's window. In a simulation fibers of
// other loops may run here, those of this loop not. Requires: no latch of any kind is held.
#define SISAL_SIM_POINT()                                                                            \
  do {                                                                                               \
    if (auto* sisal_hooks = ::sisal::internal::Hooks(); __builtin_expect(sisal_hooks != nullptr, 0)) \
      sisal_hooks->point();                                                                          \
  } while (false)

// True now and then in a simulation: for what is rare, and right at any time.
#define SISAL_BUGGIFY() \
  (__builtin_expect(::sisal::internal::Hooks() != nullptr, 0) && ::sisal::internal::Hooks()->buggify())

// At the doors to the real machine: a simulation that goes through one could not be repeated.
#define SISAL_NOT_SIMULATED(what)                                                                    \
  do {                                                                                               \
    if (auto* sisal_hooks = ::sisal::internal::Hooks(); __builtin_expect(sisal_hooks != nullptr, 0)) \
      sisal_hooks->forbid(what);                                                                     \
  } while (false)
