#include "utf8.h"

#include <clocale>
#include <cwctype>

namespace sisal::function {
namespace {

// PostgreSQL asks the database's locale; ours is always this one. nullptr: the C library lacks it.
locale_t Utf8Locale() {
  static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return locale;
}

}  // namespace

uint32_t UpperCodePoint(uint32_t code) {
  if (code < 0x80) return code >= 'a' && code <= 'z' ? code - 32 : code;
  const locale_t locale = Utf8Locale();
  return locale == nullptr ? code : static_cast<uint32_t>(towupper_l(static_cast<wint_t>(code), locale));
}

uint32_t LowerCodePoint(uint32_t code) {
  if (code < 0x80) return code >= 'A' && code <= 'Z' ? code + 32 : code;
  const locale_t locale = Utf8Locale();
  return locale == nullptr ? code : static_cast<uint32_t>(towlower_l(static_cast<wint_t>(code), locale));
}

bool IsAlphanumeric(uint32_t code) {
  if (code < 0x80) return (code >= '0' && code <= '9') || (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z');
  const locale_t locale = Utf8Locale();
  return locale != nullptr && iswalnum_l(static_cast<wint_t>(code), locale) != 0;
}

}  // namespace sisal::function
