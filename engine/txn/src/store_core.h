// What the store's parts share: the trees, the versions, the intents, the horizons and the log.
//
// Concurrency: thread-safe. Latch order: a tree, then a version stripe; the graph of waits, then an intent stripe; the
// log's reservation, then the applied horizon. No two of the three chains are ever held together, and none across a
// park. SsiTable::mutex comes before the log's reservation; its holder does not park.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "horizon.h"
#include "intents.h"
#include "sisal/io/runtime.h"
#include "sisal/txn/store.h"
#include "sisal/wal/log.h"
#include "snapshots.h"
#include "ssi.h"
#include "trees.h"
#include "versions.h"
#include "write_set.h"

namespace sisal::txn {

class StoreCore {
 public:
  StoreCore(io::Runtime& runtime, const StoreOptions& options);

  // What a crash cannot undo any more, or a client has agreed to lose.
  Timestamp Stable() const;
  // The oldest timestamp that a new snapshot may take.
  Timestamp Floor() const { return std::min(horizon.applied(), Stable()); }
  // A commit was acknowledged before it was durable, at the wish of its client.
  void AcknowledgedUnsynced(Timestamp position);

  // Puts `writes` into the trees as of `position`. Suspends (yields).
  void Apply(const WriteSet& writes, Timestamp position) noexcept;

  // A view that may be a little old; see SnapshotView.
  std::shared_ptr<const SnapshotView> CachedView() const;
  std::shared_ptr<const SnapshotView> RefreshView();

  // Removes what no snapshot needs, a few dozen rows of one stripe. True: there is more to remove in it now.
  bool SweepSome(size_t stripe, const SnapshotView& view);

  io::Runtime& runtime;
  const StoreOptions options;
  TreeDirectory trees;
  VersionStore versions;
  SnapshotRegistry snapshots;
  IntentTable intents;
  AppliedHorizon horizon;
  SsiTable ssi;
  std::unique_ptr<wal::Log> log;
  Timestamp recovered;  // the last commit that the log held at the start; set before any transaction

  std::atomic<uint64_t> next_txn{1}, active{0}, commits{0}, rollbacks{0}, conflicts{0};

 private:
  std::atomic<uint64_t> acknowledged_{0};
  mutable io::SpinLatch view_latch_;  // guards view_
  std::shared_ptr<const SnapshotView> view_;
};

}  // namespace sisal::txn
