#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "sisal/type/date_time.h"
#include "sisal/type/datum.h"
#include "sisal/type/numeric.h"

namespace sisal::type {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

// odd * 2^exponent
struct OddAndPower {
  unsigned __int128 odd;
  int exponent;
  bool operator==(const OddAndPower&) const = default;
};
OddAndPower Normalized(unsigned __int128 value, int exponent) {
  for (; value % 2 == 0; value /= 2) ++exponent;
  return {value, exponent};
}

// A decimal number d[.ddd]e[+-]dd taken apart: digits * 10^exponent.
struct Scientific {
  uint64_t digits = 0;
  int digit_count = 0;
  int exponent = 0;
};
Scientific TakeApart(const char* at, const char* end) {
  Scientific number;
  int after_point = 0;
  bool point = false;
  for (; *at != 'e'; ++at) {
    if (*at == '.') {
      point = true;
      continue;
    }
    number.digits = number.digits * 10 + static_cast<uint64_t>(*at - '0');
    ++number.digit_count;
    after_point += point;
  }
  std::from_chars(at[1] == '+' ? at + 2 : at + 1, end, number.exponent);
  number.exponent -= after_point;
  return number;
}

// Whether the decimal lies just between `value` > 0 and a neighbour of its type. PostgreSQL's shortest form leaves
// those out, though they read back by the rule of the even mantissa; the standard library's takes them.
template <typename T>
bool IsMidpoint(const Scientific& decimal, T value) {
  constexpr int kPowerMax = 27;  // 5^27 < 2^63: beyond, the digits could not come out even
  if (decimal.exponent > kPowerMax || decimal.exponent < -kPowerMax) return false;
  int exponent;
  const T fraction = std::frexp(value, &exponent);
  constexpr int kBits = std::numeric_limits<T>::digits;
  const unsigned __int128 mantissa = static_cast<uint64_t>(std::ldexp(fraction, kBits));
  exponent -= kBits;
  unsigned __int128 five = 1;
  for (int i = std::abs(decimal.exponent); i > 0; --i) five *= 5;
  const bool is_whole = decimal.exponent >= 0;
  const OddAndPower left = Normalized(decimal.digits * (is_whole ? five : 1), std::max(decimal.exponent, 0));
  const unsigned __int128 right_factor = is_whole ? 1 : five;
  const int right_power = exponent - std::min(decimal.exponent, 0);
  if (left == Normalized((2 * mantissa + 1) * right_factor, right_power - 1)) return true;
  // Below a power of two the neighbour is nearer.
  const bool is_power_of_two = mantissa == uint64_t{1} << (kBits - 1);
  return is_power_of_two ? left == Normalized((4 * mantissa - 1) * right_factor, right_power - 2)
                         : left == Normalized((2 * mantissa - 1) * right_factor, right_power - 1);
}

// Writes the shortest d[.ddd]e[+-]dd that is nearer to `value` > 0 than to any other; returns its end.
template <typename T>
const char* WriteShortest(T value, char* begin, char* end) {
  const char* written = std::to_chars(begin, end, value, std::chars_format::scientific).ptr;
  Scientific decimal = TakeApart(begin, written);
  if (!IsMidpoint(decimal, value)) return written;
  for (int digits = decimal.digit_count + 1;; ++digits) {
    written = std::to_chars(begin, end, value, std::chars_format::scientific, digits - 1).ptr;
    T read = 0;
    std::from_chars(begin, written, read);
    if (read == value && !IsMidpoint(TakeApart(begin, written), value)) return written;
  }
}

// Laid out as PostgreSQL does: plain while the exponent is in [-4, exponent_end), else like 1.5e+300.
template <typename T>
void AppendFloat(T value, int exponent_end, std::string& out) {
  if (std::isnan(value)) {
    out += "NaN";
    return;
  }
  if (std::signbit(value)) {
    out.push_back('-');
    value = -value;
  }
  if (std::isinf(value)) {
    out += "Infinity";
    return;
  }
  if (value == 0) {
    out.push_back('0');
    return;
  }
  char text[64];
  const char* const end = WriteShortest(value, text, text + sizeof text);
  const Scientific number = TakeApart(text, end);
  const int exponent = number.exponent + number.digit_count - 1;
  if (exponent < -4 || exponent >= exponent_end) {
    out.append(text, static_cast<size_t>(end - text));
    return;
  }
  char digits[24];
  std::to_chars(digits, digits + sizeof digits, number.digits);
  const size_t count = static_cast<size_t>(number.digit_count);
  if (exponent < 0) {
    out += "0.";
    out.append(static_cast<size_t>(-exponent - 1), '0');
    out.append(digits, count);
    return;
  }
  const size_t whole = static_cast<size_t>(exponent) + 1;
  out.append(digits, std::min(count, whole));
  if (count > whole) {
    out.push_back('.');
    out.append(digits + whole, count - whole);
  } else {
    out.append(whole - count, '0');
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
