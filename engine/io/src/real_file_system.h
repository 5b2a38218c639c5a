// The machine's files. Reads, writes and syncs go through the ring of the calling fiber's loop, or through the pool
// where it has none; all else goes through the pool. On a plain thread each call blocks.
#pragma once

#include "sisal/io/file.h"

namespace sisal::io {

struct RuntimeCore;

// Thread-safe.
class RealFileSystem final : public FileSystem {
 public:
  explicit RealFileSystem(RuntimeCore& core) : core_(core) {}
  Result<std::unique_ptr<File>> Open(const std::string& path, const OpenOptions& options) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& path) override;
  Status CreateDirectory(const std::string& path) override;
  Status SyncDirectory(const std::string& path) override;
  Result<std::vector<std::string>> List(const std::string& directory) override;
  Result<bool> Exists(const std::string& path) override;
  Result<uint64_t> FreeSpace(const std::string& path) override;
  Result<std::unique_ptr<DirectoryLock>> LockDirectory(const std::string& path, Duration patience) override;

 private:
  RuntimeCore& core_;
};

// `call`: what failed, "write". Codes as file.h says.
Error FileError(std::string_view call, const std::string& path, int error_number);

}  // namespace sisal::io
