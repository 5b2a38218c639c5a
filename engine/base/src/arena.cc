#include "sisal/base/arena.h"

#include <algorithm>

namespace sisal {

void* Arena::AllocateSlow(size_t size_bytes, size_t alignment) {
  constexpr size_t kBlockBytesMax = size_t{1} << 20;
  const size_t block_bytes = std::max(next_block_bytes_, size_bytes + alignment);
  next_block_bytes_ = std::min(next_block_bytes_ * 2, kBlockBytesMax);
  blocks_.push_back({std::make_unique_for_overwrite<char[]>(block_bytes), block_bytes});
  footprint_bytes_ += block_bytes;
  cursor_ = blocks_.back().bytes.get();
  limit_ = cursor_ + block_bytes;
  const size_t padding = (0 - reinterpret_cast<uintptr_t>(cursor_)) & (alignment - 1);
  char* place = cursor_ + padding;
  cursor_ = place + size_bytes;
  return place;
}

void Arena::Reset() {
  if (blocks_.empty()) return;
  auto largest = std::max_element(blocks_.begin(), blocks_.end(),
                                  [](const Block& a, const Block& b) { return a.size_bytes < b.size_bytes; });
  std::swap(*largest, blocks_.front());
  blocks_.resize(1);
  footprint_bytes_ = blocks_.front().size_bytes;
  cursor_ = blocks_.front().bytes.get();
  limit_ = cursor_ + footprint_bytes_;
}

}  // namespace sisal
