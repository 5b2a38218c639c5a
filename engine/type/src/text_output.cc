#include <charconv>
#include <cmath>

#include "sisal/type/date_time.h"
#include "sisal/type/datum.h"
#include "sisal/type/numeric.h"

namespace sisal::type {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

// The shortest digits that read back as `value`, laid out as PostgreSQL does: plain while the exponent is in
// [-4, exponent_end), else like 1.5e+300.
template <typename T>
void AppendFloat(T value, int exponent_end, std::string& out) {
  if (std::isnan(value)) {
    out += "NaN";
    return;
  }
  if (std::isinf(value)) {
    out += value < 0 ? "-Infinity" : "Infinity";
    return;
  }
  char text[64];
  const char* const end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific).ptr;
  // text is [-]d[.ddd]e[+-]dd
  const char* at = text;
  if (*at == '-') out.push_back(*at++);
  const char* mark = end;
  while (*--mark != 'e') {
  }
  int exponent = 0;
  std::from_chars(mark[1] == '+' ? mark + 2 : mark + 1, end, exponent);
  if (exponent < -4 || exponent >= exponent_end) {
    out.append(at, end);
    return;
  }
  char digits[32];
  int count = 0;
  for (; at != mark; ++at) {
    if (*at != '.') digits[count++] = *at;
  }
  if (exponent < 0) {
    out += "0.";
    out.append(static_cast<size_t>(-exponent - 1), '0');
    out.append(digits, static_cast<size_t>(count));
    return;
  }
  for (int i = 0; i <= exponent; ++i) out.push_back(i < count ? digits[i] : '0');
  if (count > exponent + 1) {
    out.push_back('.');
    out.append(digits + exponent + 1, static_cast<size_t>(count - exponent - 1));
  }
}

void AppendHex(std::string_view bytes, std::string& out) {
  const size_t start = out.size();
  out.resize(start + bytes.size() * 2);
  char* at = out.data() + start;
  for (char c : bytes) {
    *at++ = kHexDigits[static_cast<uint8_t>(c) >> 4];
    *at++ = kHexDigits[static_cast<uint8_t>(c) & 15];
  }
}

void AppendUuid(std::string_view bytes, std::string& out) {
  constexpr size_t kGroupEnds[] = {4, 6, 8, 10, 16};
  size_t at = 0;
  for (size_t end : kGroupEnds) {
    if (at > 0) out.push_back('-');
    AppendHex(bytes.substr(at, end - at), out);
    at = end;
  }
}

}  // namespace

std::string FormatText(const SqlType& type, const Datum& value, const TextSettings& settings) {
  std::string text;
  switch (type.storage()) {
    case Storage::kInt:
      FormatInt(type.id, value.as_int(), settings, text);
      break;
    case Storage::kDouble:
      FormatDouble(type.id, value.as_double(), text);
      break;
    case Storage::kBytes:
      FormatBytes(type.id, value.as_bytes(), settings, text);
      break;
  }
  return text;
}

void FormatInt(TypeId id, int64_t value, const TextSettings& settings, std::string& out) {
  switch (id) {
    case TypeId::kBoolean:
      out.push_back(value != 0 ? 't' : 'f');
      return;
    case TypeId::kDate:
      FormatDate(value, out);
      return;
    case TypeId::kTime:
      FormatTime(value, out);
      return;
    case TypeId::kTimestamp:
      FormatTimestamp(value, out);
      return;
    case TypeId::kTimestampTz:
      FormatTimestampTz(value, settings.time_zone_offset_seconds, out);
      return;
    default: {
      char text[24];
      out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
    }
  }
}

void FormatDouble(TypeId id, double value, std::string& out) {
  // As many digits as the type holds for sure decide when the exponent form begins: FLT_DIG and DBL_DIG.
  if (id == TypeId::kReal) return AppendFloat(static_cast<float>(value), 6, out);
  AppendFloat(value, 15, out);
}

void FormatBytes(TypeId id, std::string_view value, const TextSettings&, std::string& out) {
  switch (id) {
    case TypeId::kNumeric:
      Numeric::Decode(value).AppendText(out);
      return;
    case TypeId::kInterval:
      FormatInterval(Interval::Decode(value), out);
      return;
    case TypeId::kUuid:
      AppendUuid(value, out);
      return;
    case TypeId::kBytea:
      out += "\\x";
      AppendHex(value, out);
      return;
    default:
      out.append(value);
  }
}

}  // namespace sisal::type
