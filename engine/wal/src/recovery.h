// Recovery: finds where the log ends, and reads it back.
//
// The end is the first record, in the newest generation (open) that has any, that is not whole. A torn tail is normal
// after a crash; damage is not, and is told from it by what lies behind:
//   - a whole record whose stored durable LSN is above the broken one: that one had been synced;
//   - a whole record in a later segment: a segment is synced before the next is written to;
//   - a later open's segment: it states up to where the log was whole and durable.
//
// Confined to the fiber that opens the log.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "format.h"
#include "sisal/base/status.h"
#include "sisal/io/file.h"
#include "sisal/wal/log.h"

namespace sisal::wal {

// Reads a segment's records in order. It trusts no length: a record is checked before memory is taken for it.
class SegmentReader {
 public:
  // Suspends.
  static Result<std::unique_ptr<SegmentReader>> Open(io::FileSystem& file_system, const std::string& path);

  const SegmentHeader& header() const { return header_; }
  const std::string& path() const { return path_; }
  // Where the next record starts.
  Lsn position() const { return position_; }
  // Reads the record at position() and moves past it. False: there is no whole one. `record.payload` is valid until the
  // next call. Pads are returned too. Suspends. Errors: only those of the file.
  Result<bool> Next(RecordView& record);
  // Whether a whole record starts behind position() whose durable LSN is above `end`, or any if `any`. Suspends.
  Result<bool> HasProofOfLoss(Lsn end, bool any);

 private:
  SegmentReader(std::string path, std::unique_ptr<io::File> file) : path_(std::move(path)), file_(std::move(file)) {}
  // The file's bytes from `offset` on: `size_bytes`, or fewer at its end. Valid until the next call. Suspends.
  Result<std::string_view> Bytes(uint64_t offset, uint64_t size_bytes);
  // Whether a whole record of at most the segment's rest is at `lsn`. Suspends.
  Result<bool> Check(Lsn lsn, RecordHeader& record);
  uint64_t OffsetOf(Lsn lsn) const { return kBlockBytes + (lsn.value - header_.start.value); }

  const std::string path_;
  const std::unique_ptr<io::File> file_;
  uint64_t file_bytes_ = 0;
  SegmentHeader header_;
  Lsn position_;
  std::string window_;
  uint64_t window_offset_ = 0;
};

struct SegmentInfo {
  std::string name;
  SegmentHeader header;
};

struct LogEnd {
  std::vector<SegmentInfo> segments;  // in LSN order
  size_t segments_used = 0;           // the first so many have, or had, records; the others were only prepared
  Lsn end;                            // of the last whole record; zero for a new log
  // The last used segment may hold bytes that are in the kernel's cache only.
  bool is_tail_insecure = false;
};

// Suspends. Errors: XX001.
Result<LogEnd> FindEnd(io::FileSystem& file_system, const std::string& directory,
                       const std::vector<std::string>& segment_names);

// Calls `visit` for each record in [redo, log.end). Suspends. Errors: XX001; the visitor's.
Status Replay(io::FileSystem& file_system, const std::string& directory, const LogEnd& log, Lsn redo,
              const Log::Visitor& visit, ReplayProgress* progress);

}  // namespace sisal::wal
