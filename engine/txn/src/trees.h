// Which trees exist. A tree begins with the first commit to it and ends when it was dropped and no snapshot can need
// it.
//
// Concurrency: thread-safe. Latch order: the directory's latch is held alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "sisal/base/ids.h"
#include "sisal/btree/latch.h"
#include "sisal/btree/tree.h"

namespace sisal::txn {

struct TreeState {
  explicit TreeState(TreeId tree_id) : id(tree_id), tree(btree::MakeMemoryTree()) {}

  // A key that is a row number (8 bytes, big-endian) has been committed.
  void SawKey(std::string_view key);

  const TreeId id;
  const std::unique_ptr<btree::Tree> tree;
  std::atomic<uint64_t> row_number{0};  // largest row number committed or handed out
};
// Shared: a scan may be in a tree that is being dropped.
using TreePtr = std::shared_ptr<TreeState>;

class TreeDirectory {
 public:
  TreePtr Find(TreeId id) const;  // nullptr: nothing was committed to it
  TreePtr FindOrMake(TreeId id);
  // The tree was dropped by the commit at `position`; it stays readable until TakeDropped.
  void MarkDropped(TreeId id, Timestamp position);
  // Takes a dropped tree that no snapshot before or at `oldest` needs out of the directory; nullptr: there is none.
  TreePtr TakeDropped(Timestamp oldest);

  TreeId Allocate();
  // No id up to `id` is given out any more.
  void Reserve(TreeId id);
  uint32_t next_id() const { return next_id_.load(std::memory_order_relaxed); }

  void ForEach(absl::FunctionRef<void(const TreeState&)> visit) const;

 private:
  static constexpr uint32_t kFirstUserTree = 100;  // lower ids are system trees, known to the layers above

  struct Dropped {
    Timestamp position;
    TreeId id;
  };
  mutable btree::SharedSpinLatch latch_;  // guards trees_ and dropped_
  absl::flat_hash_map<TreeId, TreePtr> trees_;
  std::vector<Dropped> dropped_;
  std::atomic<uint32_t> next_id_{kFirstUserTree};
};

}  // namespace sisal::txn
