#include "replay.h"

#include <utility>

#include "sisal/base/simulation.h"
#include "sisal/io/runtime.h"

namespace sisal::txn {
namespace {

Error CorruptAt(Lsn start, std::string_view what) {
  return Error("XX001", "log record at " + std::to_string(start.value) + ": " + std::string(what));
}

Status AddPlace(Status status, Lsn start) {
  if (status.ok()) return status;
  return CorruptAt(start, status.error().message());
}

}  // namespace

Replayer::Replayer(TreeDirectory& trees, io::Runtime& runtime) : trees_(trees) {
  if (runtime.loop_count() > 1) parallel_.emplace(runtime, trees);
}

void Replayer::Finish() {
  if (parallel_) parallel_->Finish();
}

Status Replayer::Visit(const wal::RecordView& record) {
  closed_in_order_ = record.type == wal::RecordType::kCleanShutdown;
  switch (record.type) {
    case wal::RecordType::kCommit:
      return AddPlace(VisitCommit(record), record.start);
    case wal::RecordType::kChunk:
      return AddPlace(VisitChunk(record), record.start);
    case wal::RecordType::kCleanShutdown:
    case wal::RecordType::kPad:
      return Status();
    case wal::RecordType::kNote:
      break;  // none is defined yet: written by a later version of this program
  }
  return CorruptAt(record.start, "unknown record type " + std::to_string(static_cast<int>(record.type)));
}

Status Replayer::VisitChunk(const wal::RecordView& record) {
  ByteReader reader(record.payload);
  ChunkHeader header;
  SISAL_RETURN_IF_ERROR(ReadChunkHeader(reader, header));
  Chunks& chunks = chunks_[header.txn];
  if (header.sequence == 0) {  // an id is used again after a restart
    chunks = Chunks();
    chunks.first = record.start;
  }
  if (header.sequence != chunks.count) return Error("XX001", "a chunk is missing");
  chunks.operations.append(reader.rest());
  ++chunks.count;
  if (SISAL_PLANTED(kChunksReplayedAlone)) {
    ByteReader operations(chunks.operations);
    Operation operation;
    while (!operations.empty() && ReadOperation(operations, operation).ok()) {
      SISAL_RETURN_IF_ERROR(Apply(operation, Timestamp{record.end.value}));
    }
  }
  return Status();
}

Status Replayer::VisitCommit(const wal::RecordView& record) {
  ByteReader reader(record.payload);
  CommitHeader header;
  SISAL_RETURN_IF_ERROR(ReadCommitHeader(reader, header));
  const Timestamp position{record.end.value};
  if (header.next_tree > 0) trees_.Reserve(TreeId{header.next_tree - 1});
  if (header.chunked) {
    SISAL_ASSIGN_OR_RETURN(const std::string operations, TakeChunks(header));
    SISAL_RETURN_IF_ERROR(ApplyAll(operations, header.operation_count, position));
  } else {
    SISAL_RETURN_IF_ERROR(ApplyAll(reader.rest(), header.operation_count, position));
  }
  last_commit_ = position;
  ++commits_;
  io::YieldIfBudgetSpent();
  return Status();
}

Result<std::string> Replayer::TakeChunks(const CommitHeader& header) {
  const auto found = chunks_.find(header.chunk_txn);
  if (found == chunks_.end() || found->second.first != header.first_chunk ||
      found->second.count != header.chunk_count || found->second.operations.size() != header.chunk_bytes) {
    return Error("XX001", "the commit's chunks are not all in the log");
  }
  std::string operations = std::move(found->second.operations);
  chunks_.erase(found);
  return operations;
}

Status Replayer::ApplyAll(std::string_view bytes, uint64_t operation_count, Timestamp position) {
  constexpr uint64_t kYieldEvery = 64;
  ByteReader reader(bytes);
  for (uint64_t i = 0; i < operation_count; ++i) {
    Operation operation;
    SISAL_RETURN_IF_ERROR(ReadOperation(reader, operation));
    SISAL_RETURN_IF_ERROR(Apply(operation, position));
    if (i % kYieldEvery == kYieldEvery - 1) io::YieldIfBudgetSpent();
  }
  if (!reader.empty()) return Error("XX001", "bytes follow the last row operation");
  return Status();
}

Status Replayer::Apply(const Operation& operation, Timestamp position) {
  const TreeId id = operation.tree;
  if (id == TreeId::Max() || operation.key.size() >= UINT32_MAX || operation.value.size() >= UINT32_MAX) {
    return Error("XX001", "a row operation is out of range");
  }
  if (operation.kind == OperationKind::kDropTree) {
    if (parallel_) parallel_->Drop(id);
    tree_ = nullptr;
    trees_.Reserve(id);
    trees_.MarkDropped(id, position);
    trees_.TakeDropped(position);  // no snapshot is older than the start
    return Status();
  }
  if (tree_ == nullptr || tree_->id != id) {
    tree_ = trees_.FindOrMake(id);
    trees_.Reserve(id);
  }
  if (parallel_) {
    parallel_->Add(operation, position);
  } else {
    ApplyRow(*tree_, operation.kind, operation.key, operation.value, position);
  }
  return Status();
}

}  // namespace sisal::txn
