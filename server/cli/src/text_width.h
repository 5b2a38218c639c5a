// How text looks on a terminal: lines, columns that a character takes, control characters made visible.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sisal::cli {
// Needed before any of the functions below: chooses the user's locale, or C.UTF-8 if that one is not UTF-8.
void UseUtf8Locale();

// The length of the character that `text` begins with, 1 if it begins with no valid UTF-8.
// Requires: `text` is not empty.
size_t CharacterBytes(std::string_view text);
// Valid UTF-8 as PostgreSQL takes it: no surrogates, no overlong forms, at most U+10FFFF. Returns the offset of the
// first byte that is wrong, or npos.
size_t FindInvalidUtf8(std::string_view text);

struct DisplayLine {
  std::string text;
  size_t width = 0;  // columns of the terminal
};
// Cut at newlines. Tabs reach to the next multiple of 8; \r and other control characters are spelt out.
std::vector<DisplayLine> LayOut(std::string_view text);
}  // namespace sisal::cli
