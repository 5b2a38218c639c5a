// Which snapshots are in use, and therefore which versions somebody may still have to see.
//
// The floor is min(applied, stable): the oldest timestamp that a new snapshot may still take. Snapshots are registered
// in one of a few padded slots under its latch, where the horizon is read too. View reads the floor first and the slots
// after it, so a snapshot that it misses was taken later, at or above that floor.
//
// Concurrency: thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "sisal/base/ids.h"
#include "sisal/io/sync.h"

namespace sisal::txn {

// Immutable. However old it is, it never lets a version go that a snapshot needs: later snapshots are at or above
// `floor`.
struct SnapshotView {
  Timestamp floor;                   // no later snapshot is below
  std::vector<Timestamp> snapshots;  // in use then, ascending
  Timestamp oldest() const { return snapshots.empty() || floor < snapshots.front() ? floor : snapshots.front(); }
  // Whether a version that is visible to snapshots in [begin, end) may be read by anyone.
  bool Needs(Timestamp begin, Timestamp end) const;
};

class SnapshotRegistry {
 public:
  // Registers a snapshot at what `horizon` returns and returns it. Requires: `horizon` never goes back.
  Timestamp Acquire(TxnId txn, absl::FunctionRef<Timestamp()> horizon);
  void Release(TxnId txn, Timestamp snapshot);

  // `floor` is read before the slots.
  SnapshotView View(absl::FunctionRef<Timestamp()> floor) const;

 private:
  struct alignas(64) Slot {
    mutable io::SpinLatch latch;  // guards snapshots
    std::vector<Timestamp> snapshots;
  };
  static constexpr size_t kSlotCount = 16;
  std::array<Slot, kSlotCount> slots_;
};

}  // namespace sisal::txn
