// Older versions of rows, in memory only: no snapshot survives a restart. The newest version of a row is in its tree.
//
// A writer links the old version here before it changes the tree's entry, so a reader that finds an entry too new for
// it finds the older one here. A version goes when no snapshot can see it: when its row is written again (also between
// snapshots, so that a hot row under one old snapshot does not pile up versions), or by the sweep, which removes
// tombstones too. Each row with something to remove is in its stripe's queue exactly once.
//
// Concurrency: thread-safe. Latch order: a tree's latch, then a stripe here, then nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "row_key.h"
#include "sisal/base/arena.h"
#include "sisal/btree/tree.h"
#include "sisal/io/sync.h"
#include "snapshots.h"

namespace sisal::txn {

class VersionStore {
 public:
  static constexpr size_t kStripeCount = 64;

  // `old` is about to give way to a version, or a tombstone, of the commit at `position`. For btree::Tree::Put's
  // `before`.
  void Supersede(TreeId tree, const btree::Entry& old, Timestamp position, bool by_tombstone, const SnapshotView& view);

  // What a reader at `snapshot` sees of a row whose entry in the tree is newer; nullopt: no row. The value lies in
  // `arena`. Requires: `snapshot` is registered.
  std::optional<std::string_view> Find(TreeId tree, std::string_view key, Timestamp snapshot, Arena& arena) const;

  // Takes a row from a stripe's queue that may have something to remove once no snapshot is below `oldest`. The caller
  // passes it to Collect, or to Forget if its tree is gone.
  std::optional<RowKey> NextGarbage(size_t stripe, Timestamp oldest);
  // Removes what `view` does not need of a row whose tree entry is `newest`. True: the entry itself, a tombstone, may
  // go. For btree::Tree::RemoveIf's `decide`.
  bool Collect(TreeId tree, const btree::Entry& newest, const SnapshotView& view);
  void Forget(const RowKeyView& row);

  uint64_t version_count() const { return version_count_.load(std::memory_order_relaxed); }
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  struct Version {
    Timestamp begin;
    bool tombstone;
    std::string value;
    uint64_t footprint_bytes() const { return sizeof(Version) + value.size(); }
  };
  // Ascending by begin; each is visible until the next one's, the last until the tree entry's. The first is no
  // tombstone: no version means no row.
  struct Chain {
    std::vector<Version> versions;
    size_t prune_at = 4;  // length at which a writer prunes next, so that pruning costs O(1) per write
  };
  struct Garbage {
    Timestamp ready;  // worth a look when no snapshot is below
    RowKey row;
  };
  struct alignas(64) Stripe {
    mutable io::SpinLatch latch;  // guards all below
    absl::flat_hash_map<RowKey, Chain, RowKeyHash, RowKeyEqual> chains;
    std::deque<Garbage> garbage;  // one for each chain, but for those between NextGarbage and Collect
  };

  // The hash's upper bits: the table inside the stripe uses the lower ones.
  static size_t StripeIndex(size_t hash) { return hash >> 58; }
  Stripe& StripeOf(const RowKeyView& row) { return stripes_[StripeIndex(row.Hash())]; }
  void Prune(Chain& chain, Timestamp newest, const SnapshotView& view);
  void Remove(Stripe& stripe, const RowKeyView& row);

  std::array<Stripe, kStripeCount> stripes_;
  std::atomic<uint64_t> version_count_{0}, bytes_{0};
};

}  // namespace sisal::txn
