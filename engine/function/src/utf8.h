// Characters of UTF-8 text. Text values are valid UTF-8 (checked where they come in), so nothing is checked here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sisal::function {

inline bool StartsCharacter(char byte) { return (static_cast<uint8_t>(byte) & 0xC0) != 0x80; }

inline size_t CharacterCount(std::string_view text) {
  size_t count = 0;
  for (const char byte : text) count += StartsCharacter(byte);  // a loop for vector code
  return count;
}

// Bytes of the character that begins with `first`.
inline size_t CharacterBytes(char first) {
  const auto byte = static_cast<uint8_t>(first);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

// The offset just past the first `count` characters; text.size() if it has fewer.
inline size_t OffsetOfCharacter(std::string_view text, uint64_t count) {
  size_t offset = 0;
  while (count > 0 && offset < text.size()) {
    offset += CharacterBytes(text[offset]);
    --count;
  }
  return offset < text.size() ? offset : text.size();
}

// The first character, cut from `text`. Requires: !text.empty().
inline std::string_view TakeCharacter(std::string_view& text) {
  const std::string_view character = text.substr(0, CharacterBytes(text[0]));
  text.remove_prefix(character.size());
  return character;
}

inline uint32_t CodePointOf(std::string_view character) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(character[i])); };
  switch (character.size()) {
    case 1:
      return byte(0);
    case 2:
      return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    case 3:
      return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    default:
      return (byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
  }
}

// Writes up to 4 bytes; returns how many. Requires: a code point, no surrogate.
inline size_t WriteCodePoint(uint32_t code, char* out) {
  if (code < 0x80) {
    out[0] = static_cast<char>(code);
    return 1;
  }
  const size_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (size_t i = size - 1; i > 0; --i) {
    out[i] = static_cast<char>(0x80 | (code & 0x3F));
    code >>= 6;
  }
  static constexpr uint8_t kLead[] = {0, 0, 0xC0, 0xE0, 0xF0};
  out[0] = static_cast<char>(kLead[size] | code);
  return size;
}

// Simple case mapping (one character to one) of the C library's C.UTF-8, and ASCII alone where that is missing.
uint32_t UpperCodePoint(uint32_t code);
uint32_t LowerCodePoint(uint32_t code);
bool IsAlphanumeric(uint32_t code);

}  // namespace sisal::function
