#include "segment_store.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "aligned_buffer.h"
#include "sisal/base/log.h"
#include "sisal/base/simulation.h"
#include "sisal/io/runtime.h"

namespace sisal::wal {
namespace {
constexpr char kReserveName[] = "reserve.seg";
constexpr char kUnfinishedName[] = "unfinished.tmp";
constexpr uint64_t kChunkBytes = 1 << 20;
constexpr size_t kSpareCountMax = 1;
// Under a size cap a log needs some segments, or it would be full before it can move on.
constexpr uint64_t kSegmentCountMin = 4;

uint64_t SegmentBytesFor(const LogOptions& options) {
  uint64_t size_bytes = AlignDown(options.segment_bytes, kBlockBytes);
  while (options.max_bytes != 0 && size_bytes * kSegmentCountMin > options.max_bytes &&
         size_bytes / 2 >= kSegmentBytesMin) {
    size_bytes = AlignDown(size_bytes / 2, kBlockBytes);
  }
  return size_bytes;
}
}  // namespace

SegmentStore::SegmentStore(io::FileSystem& file_system, const Clock& clock, std::string directory,
                           const LogOptions& options)
    : file_system_(file_system),
      clock_(clock),
      directory_(std::move(directory)),
      options_(options),
      segment_bytes_(SegmentBytesFor(options)),
      // Where an answer does not wait for a sync, only handing the bytes to the kernel counts.
      write_method_(options.durability == Durability::kNormal && options.write_method == WriteMethod::kCalibrate
                        ? WriteMethod::kBufferedSync
                        : options.write_method) {}

Result<uint64_t> SegmentStore::FileBytes(const std::string& name) {
  SISAL_ASSIGN_OR_RETURN(const auto file, file_system_.Open(Path(name), {}));
  return file->Size();
}

Result<std::vector<std::string>> SegmentStore::Load() {
  SISAL_ASSIGN_OR_RETURN(const std::vector<std::string> names, file_system_.List(directory_));
  std::vector<std::string> segments;
  for (const std::string& name : names) {
    Lsn start;
    const bool is_segment = ParseSegmentName(name, start);
    const bool is_spare = name.starts_with("spare-") && name.ends_with(".seg");
    if (name == kUnfinishedName) {
      SISAL_RETURN_IF_ERROR(file_system_.Remove(Path(name)));
      continue;
    }
    if (!is_segment && !is_spare && name != kReserveName) continue;
    SISAL_ASSIGN_OR_RETURN(const uint64_t size_bytes, FileBytes(name));
    bytes_live_ += size_bytes;
    if (is_segment) {
      segments.push_back(name);
      ++segments_live_;
    } else if (is_spare) {
      spares_.push_back(name);
    } else {
      reserve_bytes_ = size_bytes;
    }
  }
  return segments;  // the file system sorts names, and fixed-width hexadecimal sorts as numbers do
}

Result<Lsn> SegmentStore::HighestEnd(const std::vector<std::string>& segment_names) {
  Lsn highest;
  std::string block(kBlockBytes, '\0');
  std::vector<std::string> names = segment_names;
  names.insert(names.end(), spares_.begin(), spares_.end());
  for (const std::string& name : names) {
    SISAL_ASSIGN_OR_RETURN(const auto file, file_system_.Open(Path(name), {}));
    SISAL_ASSIGN_OR_RETURN(const size_t read, file->ReadAt(0, block));
    const auto header = DecodeSegmentHeader({block.data(), read}, Path(name));
    // A spare may have been cut off while it became a segment; then its positions were given to nobody.
    if (header.ok()) highest = std::max(highest, header->end());
  }
  return highest;
}

Result<bool> SegmentStore::TrySmallerSegments(bool is_new_log) {
  if (segment_bytes_ / 2 < kSegmentBytesMin) return false;
  if (!is_new_log) {
    SISAL_ASSIGN_OR_RETURN(const uint64_t free_bytes, file_system_.FreeSpace(directory_));
    if (free_bytes < 2 * segment_bytes_ || !CheckCap(2 * segment_bytes_).ok()) return false;
  }
  segment_bytes_ = AlignDown(segment_bytes_ / 2, kBlockBytes);
  if (reserve_bytes_ != 0) Discard(Path(kReserveName), std::exchange(reserve_bytes_, 0));
  return true;
}

Status SegmentStore::CheckCap(uint64_t more_bytes) const {
  if (options_.max_bytes == 0 || bytes_live() + more_bytes <= options_.max_bytes) return Status();
  return Error{"53100", "the log has reached its size limit of " + std::to_string(options_.max_bytes) + " bytes"}
      .WithLimit("log_max_bytes", options_.max_bytes);
}

void SegmentStore::Discard(const std::string& path, uint64_t size_bytes) {
  bytes_live_ -= size_bytes;
  const Status removed = file_system_.Remove(path);
  if (!removed.ok()) sisal::Log(LogLevel::kWarning, "log: " + path + " is left behind: " + removed.ToString());
}

Status SegmentStore::Zero(io::File& file, uint64_t size_bytes, const std::function<bool()>& stop) {
  AlignedBuffer zeros(std::min(kChunkBytes, size_bytes));
  for (uint64_t offset = 0; offset < size_bytes; offset += zeros.size()) {
    if (stop && stop()) return Error{"57P01", "the log is closing"};
    SISAL_RETURN_IF_ERROR(file.WriteAt(offset, {zeros.data(), std::min<uint64_t>(zeros.size(), size_bytes - offset)}));
    io::Yield();
  }
  return Status();
}

Result<std::unique_ptr<io::File>> SegmentStore::MakeFile(const std::string& path, uint64_t size_bytes, bool zero,
                                                         const std::function<bool()>& stop) {
  SISAL_RETURN_IF_ERROR(CheckCap(size_bytes));
  io::OpenOptions options;
  options.write = options.create = options.truncate = options.direct = true;  // zeros need no page cache
  SISAL_ASSIGN_OR_RETURN(auto file, file_system_.Open(path, options));
  bytes_live_ += size_bytes;
  Status status = file->Allocate(0, size_bytes);
  if (status.ok() && zero) status = Zero(*file, size_bytes, stop);
  if (status.sqlstate() == "53100" && SISAL_PLANTED(kNoSpaceSwallowed)) status = Status();
  if (status.ok()) return file;
  file.reset();
  Discard(path, size_bytes);
  return std::move(status).error();
}

Status SegmentStore::EnsureReserve() {
  if (reserve_bytes_ >= segment_bytes_) return Status();
  // It is there but small after an open with smaller segments.
  if (reserve_bytes_ != 0) Discard(Path(kReserveName), std::exchange(reserve_bytes_, 0));
  const std::string path = Path(kUnfinishedName);
  SISAL_ASSIGN_OR_RETURN(auto file, MakeFile(path, segment_bytes_, false, {}));
  Status status = file->Sync();
  file.reset();
  if (status.ok()) status = file_system_.Rename(path, Path(kReserveName));
  if (!status.ok()) {
    Discard(path, segment_bytes_);
    return status;
  }
  reserve_bytes_ = segment_bytes_;
  return file_system_.SyncDirectory(directory_);
}

Status SegmentStore::CopyTo(io::File& from, io::File& to, uint64_t size_bytes) {
  std::string chunk(std::min(kChunkBytes, size_bytes), '\0');
  for (uint64_t offset = 0; offset < size_bytes;) {
    const uint64_t want = std::min<uint64_t>(chunk.size(), size_bytes - offset);
    SISAL_ASSIGN_OR_RETURN(const size_t read, from.ReadAt(offset, {chunk.data(), want}));
    if (read != want) return Error{"58030", "the log's tail became shorter while it was copied"};
    SISAL_RETURN_IF_ERROR(to.WriteAt(offset, {chunk.data(), read}));
    offset += read;
    io::YieldIfBudgetSpent();
  }
  SISAL_RETURN_IF_ERROR(to.Truncate(size_bytes));
  return to.Sync();
}

Result<uint64_t> SegmentStore::HeaderSegmentBytes(io::File& file, const std::string& name) {
  std::string block(kBlockBytes, '\0');
  SISAL_ASSIGN_OR_RETURN(const size_t read, file.ReadAt(0, block));
  SISAL_ASSIGN_OR_RETURN(const SegmentHeader header, DecodeSegmentHeader({block.data(), read}, Path(name)));
  return header.segment_bytes;
}

Status SegmentStore::Secure(const std::string& name, uint64_t size_bytes) {
  SISAL_ASSIGN_OR_RETURN(const auto from, file_system_.Open(Path(name), {}));
  SISAL_ASSIGN_OR_RETURN(const uint64_t old_bytes, from->Size());
  // Only a copy made here is shorter than it says: an earlier open came so far, and found no space for a new segment.
  SISAL_ASSIGN_OR_RETURN(const uint64_t full_bytes, HeaderSegmentBytes(*from, name));
  if (old_bytes == size_bytes && size_bytes < full_bytes) return Status();
  const std::string path = Path(kUnfinishedName);
  const bool from_reserve = reserve_bytes_ >= size_bytes;
  io::OpenOptions options;
  options.write = true;
  if (from_reserve) {
    SISAL_RETURN_IF_ERROR(file_system_.Rename(Path(kReserveName), path));
    bytes_live_ -= reserve_bytes_;
    reserve_bytes_ = 0;
  } else {
    options.create = options.truncate = true;
  }
  SISAL_ASSIGN_OR_RETURN(auto to, file_system_.Open(path, options));
  SISAL_RETURN_IF_ERROR(CopyTo(*from, *to, size_bytes));
  SISAL_RETURN_IF_ERROR(file_system_.Rename(path, Path(name)));
  bytes_live_ += size_bytes;
  bytes_live_ -= old_bytes;
  return file_system_.SyncDirectory(directory_);
}

Status SegmentStore::Recycle(const std::string& name) {
  SISAL_ASSIGN_OR_RETURN(const uint64_t size_bytes, FileBytes(name));
  --segments_live_;
  if (spares_.size() >= kSpareCountMax) {
    bytes_live_ -= size_bytes;
    SISAL_RETURN_IF_ERROR(file_system_.Remove(Path(name)));
    return file_system_.SyncDirectory(directory_);
  }
  std::string spare;
  do {
    spare = "spare-" + std::to_string(spare_number_++) + ".seg";
  } while (std::find(spares_.begin(), spares_.end(), spare) != spares_.end());
  SISAL_RETURN_IF_ERROR(file_system_.Rename(Path(name), Path(spare)));
  spares_.push_back(spare);
  return file_system_.SyncDirectory(directory_);
}

Result<std::unique_ptr<io::File>> SegmentStore::TakeFile(const std::string& path, const std::function<bool()>& stop) {
  while (!spares_.empty()) {
    const std::string spare = spares_.back();
    spares_.pop_back();
    SISAL_ASSIGN_OR_RETURN(const uint64_t size_bytes, FileBytes(spare));
    if (size_bytes != segment_bytes_) {
      Discard(Path(spare), size_bytes);
      continue;
    }
    SISAL_RETURN_IF_ERROR(file_system_.Rename(Path(spare), path));
    io::OpenOptions options;
    options.write = options.direct = true;
    return file_system_.Open(path, options);
  }
  return MakeFile(path, segment_bytes_, true, stop);
}

Status SegmentStore::FinishSegment(const SegmentHeader& header, io::File& file, const std::string& path) {
  SISAL_RETURN_IF_ERROR(file.Sync());
  if (write_method() == WriteMethod::kCalibrate) {
    SISAL_ASSIGN_OR_RETURN(const Calibration calibration, Calibrate(file_system_, clock_, path, kBlockBytes));
    write_method_ = calibration.method;
    sisal::Log(LogLevel::kInfo,
               "log: writes by " + WriteMethodName(calibration.method) + "; measured: " + calibration.report);
  }
  // The first block of data too: a recycled segment begins as empty as a new one.
  AlignedBuffer blocks(2 * kBlockBytes);
  EncodeSegmentHeader(header, blocks.data());
  SISAL_RETURN_IF_ERROR(file.WriteAt(0, {blocks.data(), blocks.size()}));
  if (SISAL_PLANTED(kNewSegmentNotDurable)) return file_system_.Rename(path, Path(SegmentName(header.start)));
  SISAL_RETURN_IF_ERROR(file.Sync());
  SISAL_RETURN_IF_ERROR(file_system_.Rename(path, Path(SegmentName(header.start))));
  return file_system_.SyncDirectory(directory_);
}

Result<std::shared_ptr<Segment>> SegmentStore::Make(const SegmentHeader& header, const std::function<bool()>& stop) {
  SISAL_RETURN_IF_ERROR(EnsureReserve());
  const std::string path = Path(kUnfinishedName);
  SISAL_ASSIGN_OR_RETURN(auto file, TakeFile(path, stop));
  const Status finished = FinishSegment(header, *file, path);
  file.reset();
  if (!finished.ok()) {
    Discard(path, segment_bytes_);
    return finished.error();
  }
  auto segment = std::make_shared<Segment>();
  segment->start = header.start;
  segment->end = header.end();
  SISAL_ASSIGN_OR_RETURN(segment->file,
                         file_system_.Open(Path(SegmentName(header.start)), OpenOptionsFor(write_method())));
  ++segments_live_;
  return segment;
}

}  // namespace sisal::wal
