#include "sisal/base/bytes.h"

#include <openssl/sha.h>

#include <bit>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace sisal {

static_assert(std::endian::native == std::endian::little, "the file formats are little-endian");

void AppendVarint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

void AppendLengthPrefixed(std::string& out, std::string_view bytes) {
  AppendVarint(out, bytes.size());
  out.append(bytes);
}

bool ByteReader::ReadVarint(uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (rest_.empty()) return false;
    const uint8_t byte = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    if (shift == 63 && byte > 1) return false;
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool ByteReader::ReadBytes(size_t count, std::string_view& bytes) {
  if (rest_.size() < count) return false;
  bytes = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return true;
}

bool ByteReader::ReadLengthPrefixed(std::string_view& bytes) {
  uint64_t length;
  return ReadVarint(length) && length <= rest_.size() && ReadBytes(length, bytes);
}

namespace {

struct Crc32cTable {
  uint32_t entries[256];
  constexpr Crc32cTable() : entries() {
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0x82f63b78u : 0);
      entries[i] = crc;
    }
  }
};

uint32_t Crc32cPortable(const char* bytes, size_t size, uint32_t crc) {
  static constexpr Crc32cTable table;
  for (size_t i = 0; i < size; ++i) crc = (crc >> 8) ^ table.entries[(crc ^ static_cast<uint8_t>(bytes[i])) & 0xff];
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t Crc32cHardware(const char* bytes, size_t size, uint32_t crc) {
  uint64_t wide = crc;
  for (; size >= 8; bytes += 8, size -= 8) wide = _mm_crc32_u64(wide, LoadLittle<uint64_t>(bytes));
  crc = static_cast<uint32_t>(wide);
  for (; size > 0; ++bytes, --size) crc = _mm_crc32_u8(crc, static_cast<uint8_t>(*bytes));
  return crc;
}
#endif

}  // namespace

uint32_t Crc32c(std::string_view bytes, uint32_t seed) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  if (has_instruction) return ~Crc32cHardware(bytes.data(), bytes.size(), ~seed);
#endif
  return ~Crc32cPortable(bytes.data(), bytes.size(), ~seed);
}

std::array<uint8_t, 32> Sha256(std::string_view bytes) {
  std::array<uint8_t, 32> digest;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return digest;
}

size_t FindInvalidUtf8(std::string_view bytes) {
  const auto byte_at = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  size_t i = 0;
  while (i < bytes.size()) {
    if (i + 8 <= bytes.size() && (LoadLittle<uint64_t>(bytes.data() + i) & 0x8080808080808080u) == 0) {
      i += 8;
      continue;
    }
    const uint8_t lead = byte_at(i);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || i + length > bytes.size()) return i;
    const uint8_t second = byte_at(i + 1);
    const uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (second < low || second > high) return i;
    for (size_t k = 2; k < length; ++k) {
      if ((byte_at(i + k) & 0xc0) != 0x80) return i;
    }
    i += length;
  }
  return std::string_view::npos;
}

}  // namespace sisal
