// The hash functions of the module. Not stable across versions: never store one.
#pragma once

#include <cstdint>
#include <string_view>

#include "sisal/base/bytes.h"

namespace sisal::type {

// Folds the 128-bit product, so that every bit of both reaches every bit of the result.
inline uint64_t FoldProduct(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline constexpr uint64_t kHashKey1 = 0x9E37'79B9'7F4A'7C15;
inline constexpr uint64_t kHashKey2 = 0xD6E8'FEB8'6659'FD93;

inline uint64_t MixHash(uint64_t value) { return FoldProduct(value ^ kHashKey1, kHashKey2) ^ value >> 32; }

inline uint64_t HashSpan(std::string_view bytes) {
  uint64_t state = kHashKey1 ^ bytes.size();
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 16; at += 16, left -= 16) {
    state = FoldProduct(LoadLittle<uint64_t>(at) ^ kHashKey1, LoadLittle<uint64_t>(at + 8) ^ state);
  }
  uint64_t first = 0, second = 0;
  if (left >= 8) {
    first = LoadLittle<uint64_t>(at);
    second = LoadLittle<uint64_t>(at + left - 8);
  } else if (left >= 4) {
    first = LoadLittle<uint32_t>(at);
    second = LoadLittle<uint32_t>(at + left - 4);
  } else if (left > 0) {
    first = static_cast<uint64_t>(static_cast<uint8_t>(at[0])) |
            static_cast<uint64_t>(static_cast<uint8_t>(at[left / 2])) << 8 |
            static_cast<uint64_t>(static_cast<uint8_t>(at[left - 1])) << 16;
  }
  return FoldProduct(FoldProduct(first ^ kHashKey2, second ^ state) ^ kHashKey1, kHashKey2 ^ state);
}

}  // namespace sisal::type
