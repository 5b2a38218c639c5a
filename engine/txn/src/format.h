// The payload of wal::RecordType::kCommit and kChunk records. Part of the file format.
//
// Commit record (numbers without a size are LEB128 varints, fixed ones little-endian):
//   offset  size  field
//   0       1     format version, 1
//   1       1     flags: bit 0 = the operations lie in chunk records
//   2       8     wall clock at commit, microseconds since 1970-01-01 UTC
//   10      var   next tree id: every id below it has been given away
//           var   operation count
//   then, without bit 0, the operations; with it:
//           8     LSN at which the first chunk record starts
//           var   transaction id
//           var   chunk count
//           8     bytes of all chunks' pieces together
// Operation:
//   0       1     1 = put, 2 = delete, 3 = drop the tree with all its entries
//   1       var   tree id
//           var + bytes   key (put, delete)
//           var + bytes   value (put)
// Chunk record:
//   0       1     format version, 1
//   1       var   transaction id
//           var   sequence, from 0
//           rest  a piece of the operations' bytes, cut anywhere
//
// The commit's timestamp is not stored: it is the LSN of the record's end. Index entries are operations like rows, so
// redo needs no schema and reads no tree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sisal/base/bytes.h"
#include "sisal/base/ids.h"
#include "sisal/base/status.h"

namespace sisal::txn {

enum class OperationKind : uint8_t { kPut = 1, kDelete = 2, kDropTree = 3 };

struct Operation {
  OperationKind kind = OperationKind::kPut;
  TreeId tree;
  std::string_view key, value;
};

struct CommitHeader {
  int64_t wall_micros = 0;
  uint32_t next_tree = 0;
  uint64_t operation_count = 0;
  bool chunked = false;
  // Only if chunked:
  Lsn first_chunk;
  TxnId chunk_txn;
  uint64_t chunk_count = 0;
  uint64_t chunk_bytes = 0;
};

struct ChunkHeader {
  TxnId txn;
  uint64_t sequence = 0;
};

void AppendCommitHeader(const CommitHeader& header, std::string& out);
void AppendOperation(const Operation& operation, std::string& out);
void AppendChunkHeader(const ChunkHeader& header, std::string& out);

// Each reads from the front of untrusted bytes. Errors: XX001.
Status ReadCommitHeader(ByteReader& reader, CommitHeader& header);
Status ReadOperation(ByteReader& reader, Operation& operation);
Status ReadChunkHeader(ByteReader& reader, ChunkHeader& header);

}  // namespace sisal::txn
