// Applies replayed row operations on all loops, those of one key in the order of the log (design (a) 6).
//
// The reader of the log deals operations out by a hash of (tree, key) to partitions, more of them than loops. Each loop
// has a worker that takes a partition with work, applies what is there, and looks for the next; no two workers have one
// partition at a time. So the loops share the work whatever else they do, the reader's own loop too, and the result
// does not depend on who did what: of each key the last operation counts.
//
// A partition keeps its rows in trees of its own, which become one at the end: on one tree in memory its latch would
// let one loop work at a time (measured: no faster than one loop alone).
//
// Confined to the reader's fiber, but for the workers inside. Finish comes before its end.
// Memory: beside the rows, bounded by kBytesInFlightMax, the partitions' open batches, and one operation more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "format.h"
#include "sisal/base/ids.h"
#include "sisal/io/runtime.h"
#include "sisal/io/sync.h"
#include "trees.h"

namespace sisal::txn {

class ParallelApplier {
 public:
  ParallelApplier(io::Runtime& runtime, TreeDirectory& trees);
  ~ParallelApplier();
  ParallelApplier(const ParallelApplier&) = delete;
  ParallelApplier& operator=(const ParallelApplier&) = delete;

  // A put or a delete, its bytes copied. Waits while too much is on the way. Suspends.
  void Add(const Operation& operation, Timestamp position);
  // All that was added to `tree` is gone. Suspends.
  void Drop(TreeId tree);
  // Ends the workers and puts all rows into the directory's trees. Suspends.
  void Finish();

 private:
  struct Item {
    TreeId tree;
    Timestamp position;
    OperationKind kind;
    size_t key_bytes, value_bytes;
  };
  struct Batch {
    std::vector<Item> items;
    std::string bytes;  // the items' keys and values, one after the other
  };
  struct Partition {
    Batch open;                                                     // the reader's
    absl::flat_hash_map<TreeId, std::unique_ptr<TreeState>> trees;  // whoever has claimed it; the reader after Drain
    std::deque<Batch> queued;                                       // guarded by latch_
    bool claimed = false;                                           // in ready_, or a worker has it; guarded by latch_
  };

  void Send(Partition& partition);
  // Returns when everything added is in the partitions' trees. Suspends.
  void Drain();
  // Suspends.
  void Merge();
  void StartWorkers();
  void Work();
  // The oldest batch of a partition that the caller has claimed; returns its footprint. Requires: latch_ is held; it is
  // not on return. Suspends.
  size_t ApplyFirst(Partition& partition);
  static void Apply(Partition& partition, const Batch& batch);

  io::Runtime& runtime_;
  TreeDirectory& trees_;
  std::vector<Partition> partitions_;
  bool started_ = false;

  io::SpinLatch latch_;  // guards all below
  std::deque<Partition*> ready_;
  size_t bytes_in_flight_ = 0;
  size_t batches_in_flight_ = 0;
  bool stopping_ = false;
  io::WaitList idle_;    // workers
  io::WaitList reader_;  // while too much is on the way, or until nothing is
  size_t workers_left_ = 0;
  io::Event ended_;
};

// Puts one operation, no kDropTree, into its tree.
void ApplyRow(TreeState& tree, OperationKind kind, std::string_view key, std::string_view value, Timestamp position);

}  // namespace sisal::txn
