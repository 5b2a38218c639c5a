// Little-endian fixed-width and LEB128 variable-width numbers in byte strings, CRC32C and SHA-256.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace sisal {

template <typename T>
T LoadLittle(const void* from) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;  // x86-64 and AArch64 are little-endian; others are refused at compile time in bytes.cc
}
template <typename T>
void StoreLittle(void* to, T value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::memcpy(to, &value, sizeof(T));
}
template <typename T>
void AppendLittle(std::string& out, T value) {
  char bytes[sizeof(T)];
  StoreLittle(bytes, value);
  out.append(bytes, sizeof(T));
}
void AppendVarint(std::string& out, uint64_t value);
// length as varint, then the bytes
void AppendLengthPrefixed(std::string& out, std::string_view bytes);

// Reads from the front of untrusted bytes. Each call returns false, and leaves the rest unspecified, when the bytes end
// early or a number is over-long; nothing is allocated.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}
  bool ReadVarint(uint64_t& value);
  bool ReadLengthPrefixed(std::string_view& bytes);
  bool ReadBytes(size_t count, std::string_view& bytes);
  template <typename T>
  bool ReadLittle(T& value) {
    if (rest_.size() < sizeof(T)) return false;
    value = LoadLittle<T>(rest_.data());
    rest_.remove_prefix(sizeof(T));
    return true;
  }
  std::string_view rest() const { return rest_; }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// CRC32C (Castagnoli; RFC 3720, B.4). `seed` is an earlier result, so that Crc32c(b, Crc32c(a)) == Crc32c(ab).
// About 0.1 ns per byte where the processor has SSE4.2 or ARMv8 CRC.
uint32_t Crc32c(std::string_view bytes, uint32_t seed = 0);

// FIPS 180-4.
std::array<uint8_t, 32> Sha256(std::string_view bytes);

// Valid UTF-8 (RFC 3629): no overlong forms, no surrogates, at most U+10FFFF. Returns the offset of the first byte that
// is not, or npos.
size_t FindInvalidUtf8(std::string_view bytes);

}  // namespace sisal
