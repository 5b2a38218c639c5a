#include "real_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "real_file_system.h"
#include "runtime_core.h"

namespace sisal::io {
namespace {

constexpr size_t kTransferBytesMax = size_t{1} << 30;  // of one system call
constexpr uint64_t kDirectAlignment = 4096;

// The calling fiber's loop if it has a ring.
LoopImpl* LoopWithRing() {
  LoopImpl* const loop = CurrentLoopImpl();
  return loop != nullptr && loop->ring() != nullptr && OnFiber() ? loop : nullptr;
}

// Prepares an entry by `prepare`, submits it with the loop's next pass and parks until it is done. Suspends.
template <typename Prepare>
int64_t RunOnRing(LoopImpl& loop, const Prepare& prepare) {
  loop.CheckMayPark();
  RingOperation operation{.fiber = loop.current()};
  io_uring_sqe* const entry = loop.ring()->Entry();
  prepare(entry);
  entry->user_data = reinterpret_cast<uintptr_t>(&operation);
  loop.OperationBegun();
  loop.Suspend();
  loop.OperationEnded();
  return operation.result;
}

// Runs a system call on the pool: its result, or -errno. Suspends.
template <typename Call>
int64_t RunOnPool(RuntimeCore& core, const Call& call) {
  int64_t result = 0;
  core.pool.Run([&] {
    do {
      result = call();
    } while (result < 0 && errno == EINTR);
    if (result < 0) result = -errno;
  });
  return result;
}

bool Again(int64_t result) { return result == -EINTR || result == -EAGAIN; }

}  // namespace

RealFile::RealFile(RuntimeCore& core, std::string path, int fd, bool direct, bool data_sync)
    : core_(core), path_(std::move(path)), fd_(fd), direct_(direct), data_sync_(data_sync) {}

RealFile::~RealFile() { ::close(fd_); }

int64_t RealFile::ReadSome(uint64_t offset, std::span<char> into) {
  const auto size = static_cast<unsigned>(std::min(into.size(), kTransferBytesMax));
  LoopImpl* const loop = LoopWithRing();
  if (CurrentLoopImpl() != nullptr) CurrentLoopImpl()->counters().reads.Add(1);
  if (loop == nullptr) {
    return RunOnPool(core_, [&] { return ::pread(fd_, into.data(), size, static_cast<off_t>(offset)); });
  }
  return RunOnRing(*loop, [&](io_uring_sqe* entry) { io_uring_prep_read(entry, fd_, into.data(), size, offset); });
}

int64_t RealFile::WriteSome(uint64_t offset, std::span<const char> bytes) {
  const auto size = static_cast<unsigned>(std::min(bytes.size(), kTransferBytesMax));
  LoopImpl* const loop = LoopWithRing();
  if (CurrentLoopImpl() != nullptr) CurrentLoopImpl()->counters().writes.Add(1);
  // An asynchronous O_DSYNC write is finished by a work queue of the kernel's, which on a busy machine comes late: 2 to
  // 5 ms instead of 0.1 were measured. Ours is finished by the thread that made it.
  if (loop == nullptr || data_sync_) {
    return RunOnPool(core_, [&] { return ::pwrite(fd_, bytes.data(), size, static_cast<off_t>(offset)); });
  }
  loop->SyncHeldFiles();
  return RunOnRing(*loop, [&](io_uring_sqe* entry) { io_uring_prep_write(entry, fd_, bytes.data(), size, offset); });
}

Result<size_t> RealFile::ReadAt(uint64_t offset, std::span<char> into) {
  size_t done = 0;
  while (done < into.size()) {
    const int64_t result = ReadSome(offset + done, into.subspan(done));
    if (Again(result)) continue;
    if (result < 0) return FileError("read", path_, static_cast<int>(-result));
    done += static_cast<size_t>(result);
    // A direct read that is no multiple of the alignment ended at the end of the file; it cannot be continued there.
    if (result == 0 || (direct_ && done % kDirectAlignment != 0)) break;
  }
  return done;
}

Status RealFile::WriteAt(uint64_t offset, std::span<const char> bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const int64_t result = WriteSome(offset + done, bytes.subspan(done));
    if (Again(result)) continue;
    if (result < 0) return FileError("write", path_, static_cast<int>(-result));
    // A regular file takes nothing only when it can take no more: the next error would name the reason.
    if (result == 0) return FileError("write", path_, ENOSPC);
    done += static_cast<size_t>(result);
  }
  return Status();
}

Status RealFile::Sync() {
  LoopImpl* const loop = LoopWithRing();
  if (CurrentLoopImpl() != nullptr) CurrentLoopImpl()->counters().syncs.Add(1);
  int64_t result;
  do {
    result =
        loop == nullptr
            ? RunOnPool(core_, [&] { return ::fdatasync(fd_); })
            : RunOnRing(*loop, [&](io_uring_sqe* entry) { io_uring_prep_fsync(entry, fd_, IORING_FSYNC_DATASYNC); });
  } while (Again(result));
  if (result < 0) return FileError("fdatasync", path_, static_cast<int>(-result));
  return Status();
}

Status RealFile::WriteAtInPlace(uint64_t offset, std::span<const char> bytes) {
  LoopImpl* const loop = CurrentLoopImpl();
  if (loop == nullptr || !loop->MayBlock()) return WriteAt(offset, bytes);
  loop->counters().writes.Add(1);
  loop->SyncHeldFiles();
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t result = ::pwrite(fd_, bytes.data() + done, std::min(bytes.size() - done, kTransferBytesMax),
                                    static_cast<off_t>(offset + done));
    if (result < 0 && !Again(-errno)) return FileError("write", path_, errno);
    if (result <= 0) return WriteAt(offset + done, bytes.subspan(done));  // which knows what to do
    done += static_cast<size_t>(result);
  }
  loop->Blocked();
  return Status();
}

Status RealFile::SyncInPlace() {
  LoopImpl* const loop = CurrentLoopImpl();
  if (loop == nullptr || !loop->MayBlock()) return Sync();
  loop->counters().syncs.Add(1);
  int result;
  do {
    result = ::fdatasync(fd_);
  } while (result != 0 && errno == EINTR);
  const int error_number = errno;
  loop->Blocked();
  // Not tried again: after a failed sync the kernel may have dropped the bytes.
  if (result != 0) return FileError("fdatasync", path_, error_number);
  return Status();
}

Status RealFile::Allocate(uint64_t offset, uint64_t size_bytes) {
  if (size_bytes == 0) return Status();
  const int64_t result =
      RunOnPool(core_, [&] { return ::fallocate(fd_, 0, static_cast<off_t>(offset), static_cast<off_t>(size_bytes)); });
  if (result == -EOPNOTSUPP) {
    // Not on this file system: write the part past the end. Holes before it stay, as in posix_fallocate's callers'
    // worst case; we make none.
    SISAL_ASSIGN_OR_RETURN(const uint64_t size, Size());
    const uint64_t begin = std::max(offset, size);
    return begin < offset + size_bytes ? WriteZeros(begin, offset + size_bytes - begin) : Status();
  }
  if (result < 0) return FileError("fallocate", path_, static_cast<int>(-result));
  return Status();
}

Status RealFile::WriteZeros(uint64_t offset, uint64_t size_bytes) {
  constexpr size_t kBlockBytes = 1 << 20;
  const std::unique_ptr<char, decltype(&std::free)> zeros(
      static_cast<char*>(std::aligned_alloc(kDirectAlignment, kBlockBytes)), &std::free);
  if (zeros == nullptr) return Error{"53200", "out of memory"};
  std::memset(zeros.get(), 0, kBlockBytes);
  while (size_bytes > 0) {
    const size_t step = std::min<uint64_t>(size_bytes, kBlockBytes);
    SISAL_RETURN_IF_ERROR(WriteAt(offset, {zeros.get(), step}));
    offset += step;
    size_bytes -= step;
  }
  return Status();
}

Status RealFile::Truncate(uint64_t size_bytes) {
  const int64_t result = RunOnPool(core_, [&] { return ::ftruncate(fd_, static_cast<off_t>(size_bytes)); });
  if (result < 0) return FileError("ftruncate", path_, static_cast<int>(-result));
  return Status();
}

Result<uint64_t> RealFile::Size() {
  struct stat status {};
  const int64_t result = RunOnPool(core_, [&] { return ::fstat(fd_, &status); });
  if (result < 0) return FileError("fstat", path_, static_cast<int>(-result));
  return static_cast<uint64_t>(status.st_size);
}

}  // namespace sisal::io
