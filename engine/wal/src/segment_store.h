// The log's directory: makes, recycles and counts its files.
//
//   log-<start>.seg   a segment: durable header, then real blocks of zeros (or of a recycled segment's stale bytes,
//   which
//                     no salt of this open fits)
//   spare-<n>.seg     a segment that was never used, waiting to become another
//   reserve.seg       room to secure the next open's tail in: without it a full disk could not be opened
//   *.tmp             unfinished; removed at open
//
// Externally synchronised: Open, then the segment maker's fiber, use it; the counters may be read by anybody.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "format.h"
#include "sisal/base/clock.h"
#include "sisal/base/status.h"
#include "sisal/io/file.h"
#include "sisal/wal/log.h"

namespace sisal::wal {

// A segment that may be written: its file is open in the calibrated way.
struct Segment {
  Lsn start;
  Lsn end;
  std::unique_ptr<io::File> file;
};

std::string WriteMethodName(WriteMethod method);

class SegmentStore {
 public:
  SegmentStore(io::FileSystem& file_system, const Clock& clock, std::string directory, const LogOptions& options);

  const std::string& directory() const { return directory_; }
  std::string Path(const std::string& name) const { return directory_ + "/" + name; }

  // Counts what is there, removes unfinished files. Returns the segments' names in LSN order. Suspends.
  Result<std::vector<std::string>> Load();
  // All segments' and spares' ends: the next open's positions start beyond. Suspends.
  Result<Lsn> HighestEnd(const std::vector<std::string>& segment_names);
  uint64_t segment_bytes() const { return segment_bytes_; }
  // After Make has found no space: halves the segments, if that helps where waiting for space does not, which is so
  // under a file size limit and for a new log on a small disk. Not once a segment has been made. Suspends.
  Result<bool> TrySmallerSegments(bool is_new_log);

  // Replaces segment `name` by a durable copy of its first `size_bytes` bytes. Suspends.
  Status Secure(const std::string& name, uint64_t size_bytes);
  // An unused segment becomes a spare, or goes if there are enough; durable on return, so that of several the order of
  // the calls is kept. Suspends.
  Status Recycle(const std::string& name);
  // Makes the reserve, if it is not there. Suspends. Errors: 53100.
  Status EnsureReserve();
  // A durable segment with real blocks. `stop` is asked now and then. Suspends. Errors: 53100, nothing is left behind.
  Result<std::shared_ptr<Segment>> Make(const SegmentHeader& header, const std::function<bool()>& stop);

  uint64_t segments_live() const { return segments_live_.load(std::memory_order_relaxed); }
  uint64_t bytes_live() const { return bytes_live_.load(std::memory_order_relaxed); }
  // kCalibrate until the first segment was made.
  WriteMethod write_method() const { return write_method_.load(std::memory_order_relaxed); }

 private:
  Status CheckCap(uint64_t more_bytes) const;
  // A new file at `path` with `size_bytes` in real blocks, zeroed if `zero`, not yet synced. Suspends.
  Result<std::unique_ptr<io::File>> MakeFile(const std::string& path, uint64_t size_bytes, bool zero,
                                             const std::function<bool()>& stop);
  Status Zero(io::File& file, uint64_t size_bytes, const std::function<bool()>& stop);
  // A spare of the right size under the unfinished name `path`, or a new file. Suspends.
  Result<std::unique_ptr<io::File>> TakeFile(const std::string& path, const std::function<bool()>& stop);
  Status FinishSegment(const SegmentHeader& header, io::File& file, const std::string& path);
  Status CopyTo(io::File& from, io::File& to, uint64_t size_bytes);
  // Forgets its bytes and removes it; an error leaves it for the next open. Suspends.
  void Discard(const std::string& path, uint64_t size_bytes);
  Result<uint64_t> FileBytes(const std::string& name);
  Result<uint64_t> HeaderSegmentBytes(io::File& file, const std::string& name);

  io::FileSystem& file_system_;
  const Clock& clock_;
  const std::string directory_;
  const LogOptions options_;
  uint64_t segment_bytes_;
  std::vector<std::string> spares_;
  uint64_t spare_number_ = 0;
  uint64_t reserve_bytes_ = 0;  // 0: there is none
  std::atomic<WriteMethod> write_method_;
  std::atomic<uint64_t> segments_live_{0};
  std::atomic<uint64_t> bytes_live_{0};
};

// The fastest way to make a write of one block durable on the file's device, and its latency. Writes zeros to blocks of
// `path` from `offset` on. At most about 50 ms, however slow the device is. Suspends.
struct Calibration {
  WriteMethod method = WriteMethod::kBufferedSync;
  std::string report;  // "write+fdatasync 61 us, ..."
};
Result<Calibration> Calibrate(io::FileSystem& file_system, const Clock& clock, const std::string& path,
                              uint64_t offset);
io::OpenOptions OpenOptionsFor(WriteMethod method);

}  // namespace sisal::wal
