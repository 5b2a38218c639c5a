#include "text_width.h"

#include <langinfo.h>
#include <wchar.h>

#include <clocale>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace sisal::cli {
namespace {
// The code point that `text` begins with and its length; length 0 if it is no valid UTF-8.
struct CodePoint {
  uint32_t value = 0;
  size_t bytes = 0;
};

CodePoint Decode(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {};
  uint32_t value = first & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3f);
  }
  const bool overlong = (bytes == 3 && value < 0x800) || (bytes == 4 && value < 0x10000);
  if (overlong || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return {};
  return {value, bytes};
}

void AppendEscape(const char* format, uint32_t value, DisplayLine* line) {
  char escape[16];
  const int length = std::snprintf(escape, sizeof escape, format, value);
  line->text.append(escape, static_cast<size_t>(length));
  line->width += static_cast<size_t>(length);
}

void AppendAscii(char c, DisplayLine* line) {
  if (c == '\t') {
    const size_t blanks = 8 - line->width % 8;
    line->text.append(blanks, ' ');
    line->width += blanks;
  } else if (c == '\r') {
    line->text.append("\\r");
    line->width += 2;
  } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
    AppendEscape("\\x%02X", static_cast<unsigned char>(c), line);
  } else {
    line->text.push_back(c);
    ++line->width;
  }
}
}  // namespace

void UseUtf8Locale() {
  if (std::setlocale(LC_CTYPE, "") == nullptr || std::strcmp(nl_langinfo(CODESET), "UTF-8") != 0) {
    std::setlocale(LC_CTYPE, "C.UTF-8");
  }
}

size_t CharacterBytes(std::string_view text) {
  const size_t bytes = Decode(text).bytes;
  return bytes == 0 ? 1 : bytes;
}

size_t FindInvalidUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = Decode(text.substr(at)).bytes;
    if (bytes == 0) return at;
    at += bytes;
  }
  return std::string_view::npos;
}

std::vector<DisplayLine> LayOut(std::string_view text) {
  std::vector<DisplayLine> lines(1);
  while (!text.empty()) {
    const char c = text.front();
    if (c == '\n') {
      lines.emplace_back();
      text.remove_prefix(1);
    } else if (static_cast<unsigned char>(c) < 0x80) {
      AppendAscii(c, &lines.back());
      text.remove_prefix(1);
    } else {
      const CodePoint character = Decode(text);
      if (character.bytes == 0) {
        AppendEscape("\\x%02X", static_cast<unsigned char>(c), &lines.back());
        text.remove_prefix(1);
        continue;
      }
      if (character.value < 0xa0) {
        AppendEscape("\\u%04X", character.value, &lines.back());
      } else {
        const int width = wcwidth(static_cast<wchar_t>(character.value));
        lines.back().text.append(text.substr(0, character.bytes));
        lines.back().width += width < 0 ? 1 : static_cast<size_t>(width);  // not known to this C library: one column
      }
      text.remove_prefix(character.bytes);
    }
  }
  return lines;
}
}  // namespace sisal::cli
