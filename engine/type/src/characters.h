// Characters of UTF-8 text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sisal::type {

// Length by the first byte; 1 if that begins no character.
inline size_t CharacterBytes(char first) {
  const uint8_t byte = static_cast<uint8_t>(first);
  if (byte < 0xC0) return 1;
  if (byte < 0xE0) return 2;
  if (byte < 0xF0) return 3;
  return byte < 0xF8 ? 4 : 1;
}

// Bytes of the first `count` characters; npos: the text has fewer than `count` characters, and `found` of them.
inline size_t BytesOfCharacters(std::string_view text, size_t count, size_t& found) {
  size_t at = 0;
  for (found = 0; found < count; ++found) {
    if (at >= text.size()) return std::string_view::npos;
    at += CharacterBytes(text[at]);
  }
  return at < text.size() ? at : text.size();
}

// Without trailing blanks, which do not count in values of type char.
inline std::string_view TrimChar(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace sisal::type
