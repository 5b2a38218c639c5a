// Turns a write set into log records: one, or above a megabyte chunks and the commit record that names them.
// Confined to one commit.
#pragma once

#include <string>

#include "format.h"
#include "store_core.h"

namespace sisal::txn {

class CommitWriter {
 public:
  CommitWriter(StoreCore& core, TxnId txn);

  // Everything but the commit record itself, for which there is room afterwards. Errors: those of wal::Log::Reserve;
  // chunks that were written count for nothing. Suspends.
  Status Prepare(const WriteSet& writes);
  // Returns the commit's position, which the applied horizon then waits for. Does not suspend. Requires: Prepare was
  // ok.
  Timestamp Append();

 private:
  // Writes whole pieces of buffer_, and the rest too if `all`.
  Status FlushChunks(bool all);
  Status AppendChunk(std::string_view piece);

  StoreCore& core_;
  const uint64_t piece_bytes_max_;
  CommitHeader header_;
  std::string buffer_;  // operations that are not in a chunk yet
  std::string head_;    // of the commit record
  wal::LogCredit credit_;
};

}  // namespace sisal::txn
