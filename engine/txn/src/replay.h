// Redo at start: the log's commit records, in order, into empty trees.
//
// The visiting fiber checks and decodes every record; with more than one loop it deals the row operations out to all of
// them, by key (ParallelApplier). Dropping a tree is a barrier between what comes before and after it. Chunks are
// collected until the commit record that names them; those of transactions that never committed are dropped at the end.
//
// Confined. What it holds is bounded by the log's own bytes, whatever the records claim.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "format.h"
#include "parallel_applier.h"
#include "sisal/base/ids.h"
#include "sisal/base/status.h"
#include "sisal/io/runtime.h"
#include "sisal/wal/log.h"
#include "trees.h"

namespace sisal::txn {

class Replayer {
 public:
  // On the visiting fiber alone.
  explicit Replayer(TreeDirectory& trees) : trees_(trees) {}
  // On all loops of `runtime`, if it has more than one. Finish comes before the end, also after an error.
  Replayer(TreeDirectory& trees, io::Runtime& runtime);

  // For wal::Log::Open. Errors: XX001. Suspends.
  Status Visit(const wal::RecordView& record);
  // All that was visited is in the trees; nothing more is visited. Suspends.
  void Finish();

  Timestamp last_commit() const { return last_commit_; }
  uint64_t commits() const { return commits_; }
  // The log was empty, or ends with the mark of a clean shutdown.
  bool closed_in_order() const { return closed_in_order_; }

 private:
  struct Chunks {
    Lsn first;
    uint64_t count = 0;
    std::string operations;
  };
  Status VisitChunk(const wal::RecordView& record);
  Status VisitCommit(const wal::RecordView& record);
  Result<std::string> TakeChunks(const CommitHeader& header);
  Status ApplyAll(std::string_view bytes, uint64_t operation_count, Timestamp position);
  Status Apply(const Operation& operation, Timestamp position);

  TreeDirectory& trees_;
  std::optional<ParallelApplier> parallel_;
  absl::flat_hash_map<TxnId, Chunks> chunks_;
  TreePtr tree_;  // of the operation before: they come tree by tree
  Timestamp last_commit_;
  uint64_t commits_ = 0;
  bool closed_in_order_ = true;
};

}  // namespace sisal::txn
