// Redo at start: the log's commit records, in order, into empty trees.
//
// One fiber does it all; design (a) 6 partitions by key over the loops once trees lie on pages. Chunks are collected
// until the commit record that names them; those of transactions that never committed are dropped at the end.
//
// Confined. What it holds is bounded by the log's own bytes, whatever the records claim.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "format.h"
#include "sisal/base/ids.h"
#include "sisal/base/status.h"
#include "sisal/wal/log.h"
#include "trees.h"

namespace sisal::txn {

class Replayer {
 public:
  explicit Replayer(TreeDirectory& trees) : trees_(trees) {}

  // For wal::Log::Open. Errors: XX001. Suspends (yields).
  Status Visit(const wal::RecordView& record);

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
  absl::flat_hash_map<TxnId, Chunks> chunks_;
  TreePtr tree_;  // of the operation before: they come tree by tree
  Timestamp last_commit_;
  uint64_t commits_ = 0;
  bool closed_in_order_ = true;
};

}  // namespace sisal::txn
