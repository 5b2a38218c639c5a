// Bump allocation: many small pieces of one lifetime, freed together.
//
// Cost: about 2 ns per allocation. Confined: one fiber at a time uses an arena.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sisal {

class Arena {
 public:
  explicit Arena(size_t first_block_bytes = 4096) : next_block_bytes_(first_block_bytes) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  Arena(Arena&&) = default;
  Arena& operator=(Arena&&) = default;

  // Uninitialised; aligned to `alignment`, a power of two of at most 64.
  void* Allocate(size_t size_bytes, size_t alignment = alignof(std::max_align_t)) {
    const size_t padding = (0 - reinterpret_cast<uintptr_t>(cursor_)) & (alignment - 1);
    if (size_bytes + padding <= static_cast<size_t>(limit_ - cursor_)) {
      char* place = cursor_ + padding;
      cursor_ = place + size_bytes;
      return place;
    }
    return AllocateSlow(size_bytes, alignment);
  }
  // Uninitialised array. No destructor ever runs: trivially destructible types only.
  template <typename T>
  T* AllocateArray(size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    return static_cast<T*>(Allocate(count * sizeof(T), alignof(T)));
  }
  template <typename T, typename... Args>
  T* New(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (Allocate(sizeof(T), alignof(T))) T(std::forward<Args>(args)...);
  }
  std::string_view Copy(std::string_view bytes) {
    if (bytes.empty()) return {};
    char* place = static_cast<char*>(Allocate(bytes.size(), 1));
    std::memcpy(place, bytes.data(), bytes.size());
    return {place, bytes.size()};
  }
  // Frees all but the largest block, which is used again.
  void Reset();
  // Of all blocks.
  size_t footprint_bytes() const { return footprint_bytes_; }

 private:
  struct Block {
    std::unique_ptr<char[]> bytes;
    size_t size_bytes;
  };
  void* AllocateSlow(size_t size_bytes, size_t alignment);

  char* cursor_ = nullptr;
  char* limit_ = nullptr;
  size_t next_block_bytes_;
  size_t footprint_bytes_ = 0;
  std::vector<Block> blocks_;
};

}  // namespace sisal
