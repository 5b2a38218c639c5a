#include "commit_writer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "sisal/io/runtime.h"

namespace sisal::txn {
namespace {

constexpr uint64_t kChunkBytes = 1 << 20;
constexpr uint64_t kHeadBytesMax = 80;  // of a commit or chunk header

template <typename Visit>
Status ForEachOperation(const WriteSet& writes, Visit visit) {
  for (const auto& [tree, tree_writes] : writes.trees()) {
    if (tree_writes.dropped) {
      SISAL_RETURN_IF_ERROR(visit(Operation{OperationKind::kDropTree, tree, {}, {}}));
      continue;
    }
    for (const auto& [key, value] : tree_writes.rows) {
      const OperationKind kind = value ? OperationKind::kPut : OperationKind::kDelete;
      SISAL_RETURN_IF_ERROR(visit(Operation{kind, tree, key, value.value_or(std::string_view())}));
    }
  }
  return Status();
}

// At least what the operations take when encoded.
uint64_t EncodedBytesMax(const WriteSet& writes) {
  constexpr uint64_t kOverhead = 1 + 5 + 5 + 5;  // kind, tree, two lengths
  uint64_t bytes = 0;
  for (const auto& [tree, tree_writes] : writes.trees()) {
    bytes += kOverhead;
    if (tree_writes.dropped) continue;
    for (const auto& [key, value] : tree_writes.rows) bytes += kOverhead + key.size() + (value ? value->size() : 0);
  }
  return bytes;
}

}  // namespace

CommitWriter::CommitWriter(StoreCore& core, TxnId txn)
    : core_(core), piece_bytes_max_(std::min(kChunkBytes, core.log->payload_bytes_max() - kHeadBytesMax)) {
  header_.chunk_txn = txn;
}

Status CommitWriter::Prepare(const WriteSet& writes) {
  header_.operation_count = writes.operation_count();
  header_.chunked = EncodedBytesMax(writes) > piece_bytes_max_;
  SISAL_RETURN_IF_ERROR(ForEachOperation(writes, [this](const Operation& operation) {
    AppendOperation(operation, buffer_);
    return header_.chunked ? FlushChunks(/*all=*/false) : Status();
  }));
  if (header_.chunked) SISAL_RETURN_IF_ERROR(FlushChunks(/*all=*/true));

  header_.wall_micros = core_.runtime.clock().WallMicros();
  header_.next_tree = core_.trees.next_id();
  AppendCommitHeader(header_, head_);
  SISAL_ASSIGN_OR_RETURN(credit_, core_.log->Reserve(head_.size() + buffer_.size()));
  return Status();
}

Timestamp CommitWriter::Append() {
  const std::array<std::string_view, 2> pieces = {head_, buffer_};
  const wal::LogRange range =
      core_.log->Append(std::move(credit_), wal::RecordType::kCommit, pieces,
                        [this](wal::LogRange reserved) { core_.horizon.Reserved(Timestamp{reserved.end.value}); });
  return Timestamp{range.end.value};
}

Status CommitWriter::FlushChunks(bool all) {
  size_t done = 0;
  while (buffer_.size() - done >= piece_bytes_max_ || (all && done < buffer_.size())) {
    const std::string_view piece = std::string_view(buffer_).substr(done, piece_bytes_max_);
    SISAL_RETURN_IF_ERROR(AppendChunk(piece));
    done += piece.size();
  }
  buffer_.erase(0, done);
  return Status();
}

Status CommitWriter::AppendChunk(std::string_view piece) {
  std::string head;
  AppendChunkHeader({header_.chunk_txn, header_.chunk_count}, head);
  SISAL_ASSIGN_OR_RETURN(wal::LogCredit credit, core_.log->Reserve(head.size() + piece.size()));
  const std::array<std::string_view, 2> pieces = {head, piece};
  const wal::LogRange range = core_.log->Append(std::move(credit), wal::RecordType::kChunk, pieces);
  if (header_.chunk_count == 0) header_.first_chunk = range.start;
  ++header_.chunk_count;
  header_.chunk_bytes += piece.size();
  return Status();
}

}  // namespace sisal::txn
