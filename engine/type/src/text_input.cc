#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "characters.h"
#include "sisal/base/bytes.h"
#include "sisal/type/date_time.h"
#include "sisal/type/datum.h"
#include "sisal/type/numeric.h"
#include "text_scan.h"

namespace sisal::type {
namespace {

template <typename T>
Result<Datum> ParseInt(std::string_view type_name, std::string_view text) {
  size_t i = 0;
  while (i < text.size() && IsBlank(text[i])) ++i;
  const bool negative = i < text.size() && text[i] == '-';
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
  if (i == text.size() || !IsDigit(text[i])) return InvalidSyntax(type_name, text);
  T value = 0;  // grows downwards, so that the smallest value fits
  for (; i < text.size() && IsDigit(text[i]); ++i) {
    if (__builtin_mul_overflow(value, static_cast<T>(10), &value) ||
        __builtin_sub_overflow(value, static_cast<T>(text[i] - '0'), &value)) {
      return Error{"22003", "value \"" + std::string(text) + "\" is out of range for type " + std::string(type_name)};
    }
  }
  while (i < text.size() && IsBlank(text[i])) ++i;
  if (i != text.size()) return InvalidSyntax(type_name, text);
  if (!negative && __builtin_sub_overflow(static_cast<T>(0), value, &value)) {
    return Error{"22003", "value \"" + std::string(text) + "\" is out of range for type " + std::string(type_name)};
  }
  return Datum::Int(value);
}

Result<Datum> ParseBoolean(std::string_view text) {
  const std::string_view body = StripBlanks(text);
  const auto is_prefix_of = [&](std::string_view word, size_t length_min) {
    return body.size() >= length_min && body.size() <= word.size() &&
           EqualsIgnoreCase(body, word.substr(0, body.size()));
  };
  if (is_prefix_of("true", 1) || is_prefix_of("yes", 1) || is_prefix_of("on", 2) || body == "1")
    return Datum::Bool(true);
  if (is_prefix_of("false", 1) || is_prefix_of("no", 1) || is_prefix_of("off", 2) || body == "0") {
    return Datum::Bool(false);
  }
  return InvalidSyntax("boolean", text);
}

// T: float or double. Takes what strtod takes, hexadecimal numbers included.
template <typename T>
Result<Datum> ParseFloat(std::string_view type_name, std::string_view text) {
  const std::string_view body = StripBlanks(text);
  const char* at = body.data();
  const char* const end = at + body.size();
  bool negative = false;
  if (at != end && (*at == '+' || *at == '-')) negative = *at++ == '-';
  const bool hexadecimal = end - at > 2 && at[0] == '0' && (at[1] | 0x20) == 'x';
  if (hexadecimal) at += 2;
  if (at == end || *at == '-' || *at == '+') return InvalidSyntax(type_name, text);
  T value = 0;
  const std::from_chars_result result =
      std::from_chars(at, end, value, hexadecimal ? std::chars_format::hex : std::chars_format::general);
  if (result.ec == std::errc::invalid_argument || result.ptr != end) return InvalidSyntax(type_name, text);
  const std::string_view digits(at, static_cast<size_t>(end - at));
  const bool named_infinity = IsLetter(digits[0]) && !hexadecimal;
  if (result.ec == std::errc::result_out_of_range || (std::isinf(value) && !named_infinity)) {
    return Error{"22003", "\"" + std::string(body) + "\" is out of range for type " + std::string(type_name)};
  }
  if (std::isnan(value)) value = std::numeric_limits<T>::quiet_NaN();
  return Datum::Double(negative && !std::isnan(value) ? -value : value);
}

Status CheckUtf8(std::string_view text) {
  size_t at = FindInvalidUtf8(text);
  const size_t zero = text.find('\0');
  if (at == std::string_view::npos && zero == std::string_view::npos) return Status();
  at = std::min(at, zero);
  const size_t count = std::min(CharacterBytes(text[at]), text.size() - at);
  std::string message = "invalid byte sequence for encoding \"UTF8\":";
  for (size_t i = 0; i < count; ++i) {
    char byte[8];
    std::snprintf(byte, sizeof byte, " 0x%02x", static_cast<unsigned>(static_cast<uint8_t>(text[at + i])));
    message += byte;
  }
  return Error{"22021", std::move(message)};
}

Result<Datum> ParseHexBytea(std::string_view hex) {
  std::string bytes;
  bytes.reserve(hex.size() / 2);
  for (size_t i = 0; i < hex.size();) {
    if (hex[i] == ' ' || hex[i] == '\n' || hex[i] == '\t' || hex[i] == '\r') {
      ++i;
      continue;
    }
    int value = 0;
    for (int half = 0; half < 2; ++half, ++i) {
      if (i == hex.size()) return Error{"22023", "invalid hexadecimal data: odd number of digits"};
      const int digit = HexValue(hex[i]);
      if (digit < 0) {
        const std::string_view character = hex.substr(i, CharacterBytes(hex[i]));
        return Error{"22023", "invalid hexadecimal digit: \"" + std::string(character) + "\""};
      }
      value = value * 16 + digit;
    }
    bytes.push_back(static_cast<char>(value));
  }
  return Datum::Bytes(std::move(bytes));
}

Result<Datum> ParseBytea(std::string_view text) {
  if (text.starts_with("\\x")) return ParseHexBytea(text.substr(2));
  std::string bytes;
  bytes.reserve(text.size());
  const auto octal = [&](size_t at, char maximum) {
    return at < text.size() && text[at] >= '0' && text[at] <= maximum;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      bytes.push_back(text[i]);
    } else if (octal(i + 1, '3') && octal(i + 2, '7') && octal(i + 3, '7')) {
      bytes.push_back(static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0')));
      i += 3;
    } else if (i + 1 < text.size() && text[i + 1] == '\\') {
      bytes.push_back('\\');
      ++i;
    } else {
      return Error{"22P02", "invalid input syntax for type bytea"};
    }
  }
  return Datum::Bytes(std::move(bytes));
}

Result<Datum> ParseUuid(std::string_view text) {
  std::string_view rest = text;
  const bool braces = !rest.empty() && rest[0] == '{';
  if (braces) rest.remove_prefix(1);
  std::string bytes;
  for (size_t i = 0; i < 16; ++i) {
    if (rest.size() < 2) return InvalidSyntax("uuid", text);
    const int high = HexValue(rest[0]);
    const int low = HexValue(rest[1]);
    if (high < 0 || low < 0) return InvalidSyntax("uuid", text);
    bytes.push_back(static_cast<char>(high * 16 + low));
    rest.remove_prefix(2);
    if (i % 2 == 1 && i < 15 && !rest.empty() && rest[0] == '-') rest.remove_prefix(1);
  }
  if (braces) {
    if (rest.empty() || rest[0] != '}') return InvalidSyntax("uuid", text);
    rest.remove_prefix(1);
  }
  if (!rest.empty()) return InvalidSyntax("uuid", text);
  return Datum::Bytes(std::move(bytes));
}

Result<Datum> FromInt(Result<int64_t> value) {
  if (!value.ok()) return std::move(value).error();
  return Datum::Int(*value);
}

// Without the type's modifiers.
Result<Datum> ParseBare(TypeId id, std::string_view text, const TextSettings& settings) {
  switch (id) {
    case TypeId::kBoolean:
      return ParseBoolean(text);
    case TypeId::kSmallint:
      return ParseInt<int16_t>("smallint", text);
    case TypeId::kInteger:
      return ParseInt<int32_t>("integer", text);
    case TypeId::kBigint:
      return ParseInt<int64_t>("bigint", text);
    case TypeId::kReal:
      return ParseFloat<float>("real", text);
    case TypeId::kDouble:
      return ParseFloat<double>("double precision", text);
    case TypeId::kNumeric: {
      SISAL_ASSIGN_OR_RETURN(const Numeric value, Numeric::Parse(text));
      return Datum::Bytes(value.Encode());
    }
    case TypeId::kUnknown:
    case TypeId::kText:
    case TypeId::kVarchar:
    case TypeId::kChar:
      return Datum::Bytes(std::string(text));
    case TypeId::kBytea:
      return ParseBytea(text);
    case TypeId::kUuid:
      return ParseUuid(text);
    case TypeId::kDate:
      return FromInt(ParseDate(text, settings));
    case TypeId::kTime:
      return FromInt(ParseTime(text, settings));
    case TypeId::kTimestamp:
      return FromInt(ParseTimestamp(text, settings));
    case TypeId::kTimestampTz:
      return FromInt(ParseTimestampTz(text, settings));
    case TypeId::kInterval: {
      SISAL_ASSIGN_OR_RETURN(const Interval value, ParseInterval(text));
      return Datum::Bytes(value.Encode());
    }
  }
  return Error{"XX000", "no input function for type " + std::to_string(static_cast<int>(id))};
}

}  // namespace

Result<Datum> ParseText(const SqlType& type, std::string_view text, const TextSettings& settings) {
  // Checked for all types: the text may end up in a message.
  SISAL_RETURN_IF_ERROR(CheckUtf8(text));
  Result<Datum> value = ParseBare(type.id, text, settings);
  if (value.ok()) SISAL_RETURN_IF_ERROR(ApplyModifiers(type, false, *value));
  return value;
}

}  // namespace sisal::type
