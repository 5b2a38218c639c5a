#include "sisal/base/simulation.h"

namespace sisal {

constinit std::atomic<Plant> internal::plant{Plant::kNone};
constinit std::atomic<const SimulationHooks*> internal::simulation_hooks{nullptr};

const std::array<PlantName, 23> kPlants = {{
    {Plant::kWakeDropped, "wake-dropped"},
    {Plant::kAckBeforeSync, "ack-before-sync"},
    {Plant::kPublishedBeforeCopied, "published-before-copied"},
    {Plant::kTornTailAccepted, "torn-tail-accepted"},
    {Plant::kPositionRestarts, "position-restarts"},
    {Plant::kFailedSyncRetried, "failed-sync-retried"},
    {Plant::kFailedSyncAcknowledged, "failed-sync-acknowledged"},
    {Plant::kChunksReplayedAlone, "chunks-replayed-alone"},
    {Plant::kNoSpaceSwallowed, "no-space-swallowed"},
    {Plant::kHorizonPassesHole, "horizon-passes-hole"},
    {Plant::kFirstCommitterUnchecked, "first-committer-unchecked"},
    {Plant::kIntentsReleasedEarly, "intents-released-early"},
    {Plant::kTailNotSecured, "tail-not-secured"},
    {Plant::kAckBeforeApplied, "ack-before-applied"},
    {Plant::kDeadlockNoVictim, "deadlock-no-victim"},
    {Plant::kDeadlockTwoVictims, "deadlock-two-victims"},
    {Plant::kSnapshotAdvances, "snapshot-advances"},
    {Plant::kOldSegmentNotSynced, "old-segment-not-synced"},
    {Plant::kNewSegmentNotDurable, "new-segment-not-durable"},
    {Plant::kReadAboveFloor, "read-above-floor"},
    {Plant::kChildrenAtSnapshot, "children-at-snapshot"},
    {Plant::kSequenceNotLogged, "sequence-not-logged"},
    {Plant::kSsiUnchecked, "ssi-unchecked"},
}};

std::optional<Plant> PlantOf(std::string_view name) {
  for (const PlantName& entry : kPlants) {
    if (entry.name == name) return entry.plant;
  }
  return std::nullopt;
}

void SetPlant(Plant plant) { internal::plant.store(plant, std::memory_order_relaxed); }

void SetSimulationHooks(const SimulationHooks* hooks) {
  internal::simulation_hooks.store(hooks, std::memory_order_relaxed);
}

}  // namespace sisal
