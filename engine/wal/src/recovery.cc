#include "recovery.h"

#include <algorithm>

#include "sisal/base/bytes.h"
#include "sisal/base/log.h"
#include "sisal/base/simulation.h"
#include "sisal/io/runtime.h"

namespace sisal::wal {
namespace {
constexpr uint64_t kWindowBytes = 1 << 20;

Error Damaged(const std::string& path, Lsn lsn, const std::string& what) {
  return Error{"XX001", "the log is damaged at position " + std::to_string(lsn.value) + " in " + path + ": " + what};
}
}  // namespace

Result<std::unique_ptr<SegmentReader>> SegmentReader::Open(io::FileSystem& file_system, const std::string& path) {
  SISAL_ASSIGN_OR_RETURN(auto file, file_system.Open(path, {}));
  std::unique_ptr<SegmentReader> reader(new SegmentReader(path, std::move(file)));
  SISAL_ASSIGN_OR_RETURN(reader->file_bytes_, reader->file_->Size());
  SISAL_ASSIGN_OR_RETURN(const std::string_view block, reader->Bytes(0, kBlockBytes));
  SISAL_ASSIGN_OR_RETURN(reader->header_, DecodeSegmentHeader(block, path));
  reader->file_bytes_ = std::min(reader->file_bytes_, reader->header_.segment_bytes);
  reader->position_ = reader->header_.start;
  return reader;
}

Result<std::string_view> SegmentReader::Bytes(uint64_t offset, uint64_t size_bytes) {
  size_bytes = offset >= file_bytes_ ? 0 : std::min(size_bytes, file_bytes_ - offset);
  const bool is_there = offset >= window_offset_ && offset + size_bytes <= window_offset_ + window_.size();
  if (!is_there) {
    const uint64_t want = std::min(std::max(size_bytes, kWindowBytes), file_bytes_ - std::min(offset, file_bytes_));
    window_.resize(want);
    window_offset_ = offset;
    SISAL_ASSIGN_OR_RETURN(const size_t read, file_->ReadAt(offset, window_));
    window_.resize(read);
    size_bytes = std::min<uint64_t>(size_bytes, read);
  }
  return std::string_view(window_).substr(offset - window_offset_, size_bytes);
}

Result<bool> SegmentReader::Check(Lsn lsn, RecordHeader& record) {
  const uint64_t offset = OffsetOf(lsn);
  SISAL_ASSIGN_OR_RETURN(const std::string_view head, Bytes(offset, kRecordHeaderBytes));
  if (head.size() < kRecordHeaderBytes || !DecodeRecordHeader(head.data(), lsn, record)) return false;
  const uint64_t end = lsn.value + RecordBytes(record.payload_bytes);
  if (end > header_.end().value || OffsetOf(Lsn{end}) > file_bytes_) return false;
  uint32_t crc = RecordCrcSeed(header_.salt, record);
  if (record.type == RecordType::kPad) return crc == record.crc;
  // In pieces: a torn length may claim most of a segment.
  for (uint64_t done = 0; done < record.payload_bytes;) {
    const uint64_t piece = std::min<uint64_t>(record.payload_bytes - done, kWindowBytes);
    SISAL_ASSIGN_OR_RETURN(const std::string_view bytes, Bytes(offset + kRecordHeaderBytes + done, piece));
    if (bytes.size() < piece) return false;
    crc = Crc32c(bytes, crc);
    done += piece;
  }
  return crc == record.crc || SISAL_PLANTED(kTornTailAccepted);
}

Result<bool> SegmentReader::Next(RecordView& record) {
  RecordHeader header;
  SISAL_ASSIGN_OR_RETURN(const bool is_whole, Check(position_, header));
  if (!is_whole) return false;
  record.start = position_;
  record.end = Lsn{position_.value + RecordBytes(header.payload_bytes)};
  record.type = header.type;
  record.payload = {};
  if (header.type != RecordType::kPad) {
    SISAL_ASSIGN_OR_RETURN(record.payload, Bytes(OffsetOf(position_) + kRecordHeaderBytes, header.payload_bytes));
  }
  position_ = record.end;
  return true;
}

Result<bool> SegmentReader::HasProofOfLoss(Lsn end, bool any) {
  Lsn lsn = position_;
  while (OffsetOf(lsn) < file_bytes_) {
    // A record's header lies in one block. Nearly all places are no header, and the first test says so.
    const uint64_t offset = OffsetOf(lsn);
    SISAL_ASSIGN_OR_RETURN(const std::string_view block, Bytes(offset, kBlockBytes - offset % kBlockBytes));
    RecordHeader header;
    uint64_t at = 0;
    bool is_candidate = false;
    for (; at + kRecordHeaderBytes <= block.size() && !is_candidate; at += kRecordAlignment) {
      is_candidate =
          DecodeRecordHeader(block.data() + at, Lsn{lsn.value + at}, header) && (any || header.durable > end);
    }
    if (at == 0) return false;  // the file's last bytes hold no header
    lsn.value += at;
    if (is_candidate) {
      SISAL_ASSIGN_OR_RETURN(const bool is_whole, Check(header.start, header));
      if (is_whole) return true;
    }
    io::YieldIfBudgetSpent();
  }
  return false;
}

namespace {
Result<std::vector<SegmentInfo>> ReadHeaders(io::FileSystem& file_system, const std::string& directory,
                                             const std::vector<std::string>& names) {
  std::vector<SegmentInfo> segments;
  for (const std::string& name : names) {
    const std::string path = directory + "/" + name;
    SISAL_ASSIGN_OR_RETURN(const auto reader, SegmentReader::Open(file_system, path));
    const SegmentHeader& header = reader->header();
    if (SegmentName(header.start) != name) return Damaged(path, header.start, "the file has another segment's name");
    if (!segments.empty()) {
      const SegmentHeader& before = segments.back().header;
      if (header.start < before.end() || header.generation < before.generation) {
        return Damaged(path, header.start, "the segment does not fit behind " + segments.back().name);
      }
    }
    segments.push_back({name, header});
  }
  return segments;
}

constexpr char kLossProved[] = "records behind it prove that more had been written";

// Looks for whole records in unused segments that prove that `log.end` is not the end.
Status CheckNothingLost(io::FileSystem& file_system, const std::string& directory, const LogEnd& log, size_t from) {
  for (size_t i = from; i < log.segments.size(); ++i) {
    const SegmentHeader& header = log.segments[i].header;
    const std::string path = directory + "/" + log.segments[i].name;
    SISAL_ASSIGN_OR_RETURN(const auto reader, SegmentReader::Open(file_system, path));
    // The first segment of an open may be written to as soon as it is there, the others only behind a full one.
    const bool any = !header.first && header.start > log.end;
    SISAL_ASSIGN_OR_RETURN(const bool lost, reader->HasProofOfLoss(std::max(log.end, header.start), any));
    if (lost) return Damaged(path, log.end, kLossProved);
  }
  return Status();
}
}  // namespace

Result<LogEnd> FindEnd(io::FileSystem& file_system, const std::string& directory,
                       const std::vector<std::string>& segment_names) {
  LogEnd log;
  SISAL_ASSIGN_OR_RETURN(log.segments, ReadHeaders(file_system, directory, segment_names));
  if (log.segments.empty()) return log;
  const uint64_t newest = log.segments.back().header.generation;
  size_t first_of_newest = log.segments.size();
  while (first_of_newest > 0 && log.segments[first_of_newest - 1].header.generation == newest) --first_of_newest;

  // The last segment of the newest open that begins with a whole record.
  size_t tail = log.segments.size();
  RecordView record;
  while (tail > first_of_newest) {
    SISAL_ASSIGN_OR_RETURN(const auto reader,
                           SegmentReader::Open(file_system, directory + "/" + log.segments[tail - 1].name));
    bool is_whole = false;
    bool was_closed = false;
    do {
      SISAL_ASSIGN_OR_RETURN(is_whole, reader->Next(record));
      if (is_whole) was_closed = record.type == RecordType::kCleanShutdown;
      io::YieldIfBudgetSpent();
    } while (is_whole);
    if (reader->position() > reader->header().start) {
      log.end = reader->position();
      log.segments_used = tail;
      log.is_tail_insecure = true;
      if (was_closed) return log;
      SISAL_ASSIGN_OR_RETURN(const bool lost, reader->HasProofOfLoss(log.end, false));
      if (lost) return Damaged(reader->path(), log.end, kLossProved);
      SISAL_RETURN_IF_ERROR(CheckNothingLost(file_system, directory, log, tail));
      return log;
    }
    --tail;
  }
  // The newest open has written nothing, so the log ends where that open found its end.
  log.end = log.segments[first_of_newest].header.previous_end;
  if (!log.segments[first_of_newest].header.first) {
    return Damaged(directory + "/" + log.segments[first_of_newest].name, log.end, "the segment before it is missing");
  }
  SISAL_RETURN_IF_ERROR(CheckNothingLost(file_system, directory, log, first_of_newest));
  while (log.segments_used < log.segments.size() && log.segments[log.segments_used].header.start < log.end) {
    ++log.segments_used;
  }
  return log;
}

namespace {
// Reads records of one segment up to `stop`, all of which must be whole.
Status ReplaySegment(SegmentReader& reader, Lsn stop, Lsn redo, const Log::Visitor& visit, ReplayProgress* progress) {
  RecordView record;
  while (reader.position() < stop) {
    if (progress != nullptr && progress->stop.load(std::memory_order_relaxed)) {
      return Error("57P01", "the replay of the log was stopped");
    }
    const Lsn before = reader.position();
    SISAL_ASSIGN_OR_RETURN(const bool is_whole, reader.Next(record));
    if (!is_whole) return Damaged(reader.path(), before, "a record that had been synced is not whole");
    if (record.type != RecordType::kPad && record.start >= redo) {
      SISAL_RETURN_IF_ERROR(visit(record));
      if (progress != nullptr) progress->records.fetch_add(1, std::memory_order_relaxed);
    }
    if (progress != nullptr) {
      progress->bytes_done.fetch_add(record.end.value - before.value, std::memory_order_relaxed);
    }
    io::YieldIfBudgetSpent();
  }
  return Status();
}

// Up to where the segments of this one's open were whole when the next open began.
Lsn StopOf(const LogEnd& log, size_t index) {
  const uint64_t generation = log.segments[index].header.generation;
  for (size_t i = index + 1; i < log.segments.size(); ++i) {
    if (log.segments[i].header.generation != generation) {
      return std::min(log.segments[i].header.previous_end, log.end);
    }
  }
  return log.end;
}
}  // namespace

Status Replay(io::FileSystem& file_system, const std::string& directory, const LogEnd& log, Lsn redo,
              const Log::Visitor& visit, ReplayProgress* progress) {
  struct Part {
    size_t index;
    Lsn stop;
  };
  std::vector<Part> parts;
  Lsn reached = log.segments.empty() ? Lsn{} : log.segments.front().header.previous_end;
  if (reached > redo) {
    return Damaged(directory, redo, "the log begins only at " + std::to_string(reached.value));
  }
  uint64_t bytes_total = 0;
  for (size_t i = 0; i < log.segments_used; ++i) {
    const SegmentHeader& header = log.segments[i].header;
    const Lsn stop = std::min(StopOf(log, i), header.end());
    if (stop <= header.start) continue;  // never used
    const bool follows = header.first ? header.previous_end == reached : header.start == reached;
    if (!follows && i > 0) {
      return Damaged(directory + "/" + log.segments[i].name, reached, "a segment before this one is missing");
    }
    reached = stop;
    if (stop <= redo) continue;
    parts.push_back({i, stop});
    bytes_total += stop.value - header.start.value;
  }
  if (reached < log.end) return Damaged(directory, reached, "a segment is missing");
  if (progress != nullptr) progress->bytes_total.store(bytes_total, std::memory_order_relaxed);
  for (const Part& part : parts) {
    SISAL_ASSIGN_OR_RETURN(const auto reader,
                           SegmentReader::Open(file_system, directory + "/" + log.segments[part.index].name));
    SISAL_RETURN_IF_ERROR(ReplaySegment(*reader, part.stop, redo, visit, progress));
  }
  return Status();
}

}  // namespace sisal::wal
