// One open file of the machine's.
#pragma once

#include <string>

#include "sisal/io/file.h"

namespace sisal::io {

struct RuntimeCore;

// Thread-safe; concurrent calls must not overlap in range.
class RealFile final : public File {
 public:
  // Takes `fd` over.
  RealFile(RuntimeCore& core, std::string path, int fd, bool direct, bool data_sync);
  ~RealFile() override;
  Result<size_t> ReadAt(uint64_t offset, std::span<char> into) override;
  Status WriteAt(uint64_t offset, std::span<const char> bytes) override;
  Status Sync() override;
  Status WriteAtInPlace(uint64_t offset, std::span<const char> bytes) override;
  Status SyncInPlace() override;
  Status Allocate(uint64_t offset, uint64_t size_bytes) override;
  Status Truncate(uint64_t size_bytes) override;
  Result<uint64_t> Size() override;
  bool direct() const override { return direct_; }

 private:
  // One system call each: bytes, or -errno. Suspend.
  int64_t ReadSome(uint64_t offset, std::span<char> into);
  int64_t WriteSome(uint64_t offset, std::span<const char> bytes);
  Status WriteZeros(uint64_t offset, uint64_t size_bytes);

  RuntimeCore& core_;
  const std::string path_;
  const int fd_;
  const bool direct_;
  const bool data_sync_;
};

}  // namespace sisal::io
