#include "real_file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "real_file.h"
#include "runtime_core.h"
#include "sisal/base/log.h"
#include "sisal/io/time.h"

namespace sisal::io {
namespace {

constexpr Duration kLockRetryInterval = std::chrono::milliseconds(20);

std::string ErrorText(int error_number) {
  char buffer[128];
  return ::strerror_r(error_number, buffer, sizeof(buffer));  // glibc's variant
}

int OpenFlags(const OpenOptions& options) {
  int flags = O_CLOEXEC | (options.write ? O_RDWR : O_RDONLY);
  if (options.create) flags |= O_CREAT;
  if (options.exclusive) flags |= O_EXCL;
  if (options.truncate) flags |= O_TRUNC;
  if (options.data_sync) flags |= O_DSYNC;
  return flags;
}

int OpenRetrying(const std::string& path, int flags) {
  int fd;
  do {
    fd = ::open(path.c_str(), flags, 0600);
  } while (fd < 0 && errno == EINTR);
  return fd < 0 ? -errno : fd;
}

// Runs on the pool; the work returns 0 or an errno.
template <typename Work>
Status RunCall(RuntimeCore& core, std::string_view call, const std::string& path, const Work& work) {
  int error_number = 0;
  core.pool.Run([&] { error_number = work(); });
  if (error_number != 0) return FileError(call, path, error_number);
  return Status();
}

class RealDirectoryLock final : public DirectoryLock {
 public:
  RealDirectoryLock(RuntimeCore& core, int fd) : core_(core), fd_(fd) {}
  ~RealDirectoryLock() override {
    core_.lock_registry.Remove(fd_);
    // Explicitly, for rings may hold the file open until their next write.
    ::flock(fd_, LOCK_UN);
    ::close(fd_);
  }

 private:
  RuntimeCore& core_;
  const int fd_;
};

std::string HolderOf(int fd) {
  char text[32] = {};
  const ssize_t size = ::pread(fd, text, sizeof(text) - 1, 0);
  const std::string_view digits(text, size > 0 ? std::strspn(text, "0123456789") : 0);
  return digits.empty() ? "another process" : "process " + std::string(digits);
}

int WritePid(int fd) {
  const std::string text = std::to_string(::getpid()) + "\n";
  if (::ftruncate(fd, 0) != 0) return errno;
  if (::pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) return errno;
  return 0;
}

}  // namespace

Error FileError(std::string_view call, const std::string& path, int error_number) {
  std::string_view sqlstate = "58030";
  if (error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG) sqlstate = "53100";
  if (error_number == ENOENT) sqlstate = "58P01";
  return Error(sqlstate, std::string(call) + " of \"" + path + "\" failed: " + ErrorText(error_number));
}

Result<std::unique_ptr<File>> RealFileSystem::Open(const std::string& path, const OpenOptions& options) {
  int fd = -1;
  bool direct = options.direct;
  core_.pool.Run([&] {
    const int flags = OpenFlags(options);
    fd = OpenRetrying(path, flags | (direct ? O_DIRECT : 0));
    if (fd == -EINVAL && direct) {  // a file system that refuses O_DIRECT; some leave an empty file behind
      direct = false;
      fd = OpenRetrying(path, flags & ~O_EXCL);
    }
  });
  if (fd < 0) return FileError("open", path, -fd);
  return std::unique_ptr<File>(std::make_unique<RealFile>(core_, path, fd, direct, options.data_sync));
}

Status RealFileSystem::Rename(const std::string& from, const std::string& to) {
  return RunCall(core_, "rename", from, [&] { return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno; });
}

Status RealFileSystem::Remove(const std::string& path) {
  return RunCall(core_, "unlink", path, [&] {
    if (::unlink(path.c_str()) == 0) return 0;
    if (errno != EISDIR) return errno;
    return ::rmdir(path.c_str()) == 0 ? 0 : errno;
  });
}

Status RealFileSystem::CreateDirectory(const std::string& path) {
  return RunCall(core_, "mkdir", path, [&] {
    if (::mkdir(path.c_str(), 0700) == 0) return 0;
    const int error_number = errno;
    struct stat status {};
    if (error_number == EEXIST && ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return 0;
    return error_number;
  });
}

Status RealFileSystem::SyncDirectory(const std::string& path) {
  return RunCall(core_, "fsync", path, [&] {
    const int fd = OpenRetrying(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return -fd;
    const int error_number = ::fsync(fd) == 0 ? 0 : errno;
    ::close(fd);
    return error_number;
  });
}

Result<std::vector<std::string>> RealFileSystem::List(const std::string& directory) {
  std::vector<std::string> names;
  SISAL_RETURN_IF_ERROR(RunCall(core_, "list", directory, [&] {
    DIR* const stream = ::opendir(directory.c_str());
    if (stream == nullptr) return errno;
    errno = 0;
    while (const dirent* entry = ::readdir(stream)) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
      errno = 0;
    }
    const int error_number = errno;
    ::closedir(stream);
    return error_number;
  }));
  std::sort(names.begin(), names.end());
  return names;
}

Result<bool> RealFileSystem::Exists(const std::string& path) {
  bool exists = false;
  SISAL_RETURN_IF_ERROR(RunCall(core_, "stat", path, [&] {
    struct stat status {};
    exists = ::stat(path.c_str(), &status) == 0;
    return exists || errno == ENOENT || errno == ENOTDIR ? 0 : errno;
  }));
  return exists;
}

Result<uint64_t> RealFileSystem::FreeSpace(const std::string& path) {
  struct statvfs status {};
  SISAL_RETURN_IF_ERROR(
      RunCall(core_, "statvfs", path, [&] { return ::statvfs(path.c_str(), &status) == 0 ? 0 : errno; }));
  return static_cast<uint64_t>(status.f_bavail) * status.f_frsize;
}

Result<std::unique_ptr<DirectoryLock>> RealFileSystem::LockDirectory(const std::string& path, Duration patience) {
  const std::string file_path = path + "/LOCK";
  int fd = -1;
  core_.pool.Run([&] { fd = OpenRetrying(file_path, O_RDWR | O_CREAT | O_CLOEXEC); });
  if (fd < 0) return FileError("open", file_path, -fd);
  const Instant deadline = core_.clock.Now() + patience;
  bool is_reported = false;
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int error_number = errno;
    if (error_number == EINTR) continue;
    if (error_number != EWOULDBLOCK || core_.clock.Now() >= deadline) {
      Error error = error_number != EWOULDBLOCK
                        ? FileError("flock", file_path, error_number)
                        : Error{"55006", "directory \"" + path + "\" is in use by " + HolderOf(fd)};
      ::close(fd);
      return error;
    }
    if (!std::exchange(is_reported, true)) {
      Log(LogLevel::kInfo, "directory \"" + path + "\" is in use by " + HolderOf(fd) + ", waiting");
    }
    if (OnFiber()) {
      SleepFor(kLockRetryInterval);
    } else {
      std::this_thread::sleep_for(kLockRetryInterval);
    }
  }
  int error_number = 0;
  core_.pool.Run([&] { error_number = WritePid(fd); });
  if (error_number == 0 && !core_.lock_registry.Add(fd)) error_number = EMFILE;
  if (error_number != 0) {
    ::close(fd);
    return FileError("write", file_path, error_number);
  }
  return std::unique_ptr<DirectoryLock>(std::make_unique<RealDirectoryLock>(core_, fd));
}

}  // namespace sisal::io
