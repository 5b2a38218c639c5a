// Memory for O_DIRECT: aligned to a block, zeroed.
#pragma once

#include <cstring>
#include <new>

#include "format.h"

namespace sisal::wal {

class AlignedBuffer {
 public:
  explicit AlignedBuffer(size_t size_bytes)
      : data_(static_cast<char*>(::operator new (size_bytes, std::align_val_t{kBlockBytes}))), size_bytes_(size_bytes) {
    std::memset(data_, 0, size_bytes);
  }
  ~AlignedBuffer() { ::operator delete (data_, std::align_val_t{kBlockBytes}); }
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  char* data() { return data_; }
  size_t size() const { return size_bytes_; }

 private:
  char* data_;
  size_t size_bytes_;
};

}  // namespace sisal::wal
