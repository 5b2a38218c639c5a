// Files. Each call parks the calling fiber until the kernel has answered; on the real backend they go through the
// loop's ring, or through the thread pool where io_uring is refused or slower (buffered writes: design/runtime.md, 1).
//
// The interfaces exist so that the simulator can replace the disk. Thread-safe; concurrent calls on one file must not
// overlap in range.
// Errors: 53100 for ENOSPC, EDQUOT and EFBIG (a size limit), 58P01 if it does not exist, 58030 for all else; the
// message names path and call.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sisal/base/clock.h"
#include "sisal/base/status.h"

namespace sisal::io {

struct OpenOptions {
  bool write = false;
  bool create = false;
  bool exclusive = false;  // with create: an error if it exists
  bool truncate = false;
  bool direct = false;     // O_DIRECT: offsets, sizes and addresses are multiples of 4096; falls back where refused
  bool data_sync = false;  // O_DSYNC: a write returns when its bytes are on stable storage
};

class File {
 public:
  virtual ~File() = default;  // closes, without syncing
  // Reads up to into.size() bytes; fewer only at the end of the file. Suspends.
  virtual Result<size_t> ReadAt(uint64_t offset, std::span<char> into) = 0;
  // Writes all bytes or fails; after an error any part may be there. Suspends.
  virtual Status WriteAt(uint64_t offset, std::span<const char> bytes) = 0;
  virtual Status Sync() = 0;  // fdatasync. Suspends.
  // WriteAt and Sync for one who would wait alone: if the loop has nothing else to do, the calling thread makes the
  // system call itself and blocks in it, which saves the way through a worker of the kernel's and two wakes (20 to 100
  // us). Whoever comes to the loop meanwhile waits as long; when that happens, the next calls suspend. Suspends.
  virtual Status WriteAtInPlace(uint64_t offset, std::span<const char> bytes) { return WriteAt(offset, bytes); }
  virtual Status SyncInPlace() { return Sync(); }
  virtual Status Allocate(uint64_t offset, uint64_t size_bytes) = 0;  // fallocate: real blocks. Suspends.
  virtual Status Truncate(uint64_t size_bytes) = 0;
  virtual Result<uint64_t> Size() = 0;
  virtual bool direct() const = 0;  // O_DIRECT is in force
};

// An advisory lock on a directory, held until this dies; survives a killed process's in-flight writes, because the lock
// file is registered with each ring (design (b)).
class DirectoryLock {
 public:
  virtual ~DirectoryLock() = default;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual Result<std::unique_ptr<File>> Open(const std::string& path, const OpenOptions& options) = 0;
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  virtual Status Remove(const std::string& path) = 0;
  virtual Status CreateDirectory(const std::string& path) = 0;  // ok if it exists
  virtual Status SyncDirectory(const std::string& path) = 0;
  virtual Result<std::vector<std::string>> List(const std::string& directory) = 0;  // names, sorted, no . and ..
  virtual Result<bool> Exists(const std::string& path) = 0;
  // Free bytes for us on the file system of `path`.
  virtual Result<uint64_t> FreeSpace(const std::string& path) = 0;
  // Retries for `patience`. Errors: 55006 if another process holds it (message names its pid where known).
  virtual Result<std::unique_ptr<DirectoryLock>> LockDirectory(const std::string& path, Duration patience) = 0;
};

}  // namespace sisal::io
