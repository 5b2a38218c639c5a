#include "format.h"

namespace sisal::txn {
namespace {

constexpr uint8_t kFormatVersion = 1;
constexpr uint8_t kFlagChunked = 1;

Error Corrupt(const char* what) { return Error("XX001", std::string("the log holds a malformed ") + what); }

Status ReadVersion(ByteReader& reader, const char* what) {
  uint8_t version = 0;
  if (!reader.ReadLittle(version)) return Corrupt(what);
  if (version == kFormatVersion) return Status();
  return Error("XX001", std::string("the log holds a ") + what + " of format version " + std::to_string(version) +
                            ", this program reads version 1");
}

bool ReadTree(ByteReader& reader, uint32_t& tree) {
  uint64_t value = 0;
  if (!reader.ReadVarint(value) || value > UINT32_MAX) return false;
  tree = static_cast<uint32_t>(value);
  return true;
}

}  // namespace

void AppendCommitHeader(const CommitHeader& header, std::string& out) {
  AppendLittle(out, kFormatVersion);
  AppendLittle(out, header.chunked ? kFlagChunked : uint8_t{0});
  AppendLittle(out, header.wall_micros);
  AppendVarint(out, header.next_tree);
  AppendVarint(out, header.operation_count);
  if (!header.chunked) return;
  AppendLittle(out, header.first_chunk.value);
  AppendVarint(out, header.chunk_txn.value);
  AppendVarint(out, header.chunk_count);
  AppendLittle(out, header.chunk_bytes);
}

void AppendOperation(const Operation& operation, std::string& out) {
  AppendLittle(out, static_cast<uint8_t>(operation.kind));
  AppendVarint(out, operation.tree.value);
  if (operation.kind != OperationKind::kDropTree) AppendLengthPrefixed(out, operation.key);
  if (operation.kind == OperationKind::kPut) AppendLengthPrefixed(out, operation.value);
}

void AppendChunkHeader(const ChunkHeader& header, std::string& out) {
  AppendLittle(out, kFormatVersion);
  AppendVarint(out, header.txn.value);
  AppendVarint(out, header.sequence);
}

Status ReadCommitHeader(ByteReader& reader, CommitHeader& header) {
  constexpr char kWhat[] = "commit record";
  SISAL_RETURN_IF_ERROR(ReadVersion(reader, kWhat));
  uint8_t flags = 0;
  if (!reader.ReadLittle(flags) || (flags & ~kFlagChunked) != 0 || !reader.ReadLittle(header.wall_micros) ||
      !ReadTree(reader, header.next_tree) || !reader.ReadVarint(header.operation_count)) {
    return Corrupt(kWhat);
  }
  header.chunked = (flags & kFlagChunked) != 0;
  if (!header.chunked) return Status();
  if (!reader.ReadLittle(header.first_chunk.value) || !reader.ReadVarint(header.chunk_txn.value) ||
      !reader.ReadVarint(header.chunk_count) || !reader.ReadLittle(header.chunk_bytes) || !reader.empty()) {
    return Corrupt(kWhat);
  }
  return Status();
}

Status ReadOperation(ByteReader& reader, Operation& operation) {
  constexpr char kWhat[] = "row operation";
  uint8_t kind = 0;
  if (!reader.ReadLittle(kind) || kind < 1 || kind > 3 || !ReadTree(reader, operation.tree.value))
    return Corrupt(kWhat);
  operation.kind = static_cast<OperationKind>(kind);
  operation.key = operation.value = {};
  if (operation.kind != OperationKind::kDropTree && !reader.ReadLengthPrefixed(operation.key)) return Corrupt(kWhat);
  if (operation.kind == OperationKind::kPut && !reader.ReadLengthPrefixed(operation.value)) return Corrupt(kWhat);
  return Status();
}

Status ReadChunkHeader(ByteReader& reader, ChunkHeader& header) {
  constexpr char kWhat[] = "chunk record";
  SISAL_RETURN_IF_ERROR(ReadVersion(reader, kWhat));
  if (!reader.ReadVarint(header.txn.value) || !reader.ReadVarint(header.sequence)) return Corrupt(kWhat);
  return Status();
}

}  // namespace sisal::txn
