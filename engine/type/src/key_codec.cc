// A key column's bytes: a marker (NULL before all values, value, NULL after all), then the value, every byte of which
// is inverted when the order is descending:
//   integers, dates   big-endian, with the sign bit turned round, as wide as the type
//   real, double      IEEE 754 big-endian; all bits turned round if negative, else the sign bit; one NaN, no -0.0
//   uuid              its 16 bytes
//   interval          its length in microseconds, big-endian, 12 bytes, with the sign bit turned round
//   text, bytea       the bytes, with 00 as 00 FF, and 00 00 at the end; char without trailing blanks
//   numeric           class (-Infinity, negative, 0, positive, Infinity, NaN); then of finite values but 0: the weight
//                     (base 10^4) plus 2^15, big-endian; the digits in base 100, each plus 1; 00. All bytes behind the
//                     class are turned round if the number is negative.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "characters.h"
#include "decimal.h"
#include "numeric_access.h"
#include "sisal/base/bytes.h"
#include "sisal/type/date_time.h"
#include "sisal/type/numeric.h"
#include "sisal/type/row_codec.h"
#include "stored_width.h"

namespace sisal::type {
namespace {

constexpr char kNullFirst = 1;
constexpr char kValue = 2;
constexpr char kNullLast = 3;
constexpr char kEscapedZero = '\xFF';
constexpr size_t kSpanBytes = 12;

enum NumericClass : uint8_t { kBelow = 1, kNegative, kZero, kPositive, kAbove, kNotANumber };

template <typename T>
void AppendBig(T value, size_t width, std::string& out) {
  for (size_t i = width; i-- > 0;) out.push_back(static_cast<char>(value >> (8 * i)));
}

template <typename T>
T LoadBig(std::string_view bytes) {
  T value = 0;
  for (char c : bytes) value = value << 8 | static_cast<uint8_t>(c);
  return value;
}

void AppendIntKey(TypeId id, int64_t value, std::string& out) {
  if (id == TypeId::kDate) value = NarrowDate(value);
  const size_t width = StoredWidth(id);
  char bytes[8];
  const uint64_t biased = static_cast<uint64_t>(value) + (uint64_t{1} << (8 * width - 1));
  const uint64_t big = __builtin_bswap64(biased << (64 - 8 * width));
  std::memcpy(bytes, &big, sizeof bytes);
  out.append(bytes, width);
}

int64_t IntOfKey(TypeId id, std::string_view bytes) {
  const uint64_t biased = LoadBig<uint64_t>(bytes);
  const int64_t value = static_cast<int64_t>(biased - (uint64_t{1} << (8 * bytes.size() - 1)));
  return id == TypeId::kDate ? WidenDate(static_cast<int32_t>(value)) : value;
}

template <typename Float, typename Bits>
void AppendFloatKey(Float value, std::string& out) {
  if (std::isnan(value)) value = std::numeric_limits<Float>::quiet_NaN();
  if (value == 0) value = 0;  // -0.0
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  const Bits bits = std::bit_cast<Bits>(value);
  AppendBig(static_cast<Bits>((bits & kSign) != 0 ? ~bits : bits | kSign), sizeof(Bits), out);
}

template <typename Float, typename Bits>
double FloatOfKey(std::string_view bytes) {
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  const Bits bits = LoadBig<Bits>(bytes);
  return static_cast<double>(std::bit_cast<Float>(static_cast<Bits>((bits & kSign) != 0 ? bits & ~kSign : ~bits)));
}

void AppendEscaped(std::string_view bytes, std::string& out) {
  while (true) {
    const void* zero = bytes.empty() ? nullptr : std::memchr(bytes.data(), 0, bytes.size());
    if (zero == nullptr) break;
    const size_t count = static_cast<size_t>(static_cast<const char*>(zero) - bytes.data());
    out.append(bytes.data(), count + 1);
    out.push_back(kEscapedZero);
    bytes.remove_prefix(count + 1);
  }
  out.append(bytes);
  out.append(2, '\0');
}

void AppendNumericKey(std::string_view encoded, std::string& out) {
  const Numeric value = Numeric::Decode(encoded);
  if (value.is_nan()) return out.push_back(static_cast<char>(kNotANumber));
  const int sign = value.sign();
  if (value.is_infinite()) return out.push_back(static_cast<char>(sign < 0 ? kBelow : kAbove));
  if (sign == 0) return out.push_back(static_cast<char>(kZero));
  out.push_back(static_cast<char>(sign < 0 ? kNegative : kPositive));
  const size_t start = out.size();
  const Decimal decimal = NumericAccess::ToDecimal(value);
  AppendBig(static_cast<uint16_t>(decimal.weight + 0x8000), 2, out);
  for (uint16_t digit : decimal.digits) {
    out.push_back(static_cast<char>(digit / 100 + 1));
    out.push_back(static_cast<char>(digit % 100 + 1));
  }
  if (out.back() == 1) out.pop_back();
  out.push_back('\0');
  if (sign < 0) {
    for (size_t i = start; i < out.size(); ++i) out[i] = static_cast<char>(~out[i]);
  }
}

void AppendBytesKey(TypeId id, std::string_view value, std::string& out) {
  switch (id) {
    case TypeId::kNumeric:
      return AppendNumericKey(value, out);
    case TypeId::kUuid:
      out.append(value);
      return;
    case TypeId::kInterval: {
      const __int128 span = Interval::Decode(value).Span() + (static_cast<__int128>(1) << (8 * kSpanBytes - 1));
      return AppendBig(static_cast<unsigned __int128>(span), kSpanBytes, out);
    }
    case TypeId::kChar:
      return AppendEscaped(TrimChar(value), out);
    default:
      return AppendEscaped(value, out);
  }
}

void AppendNull(bool nulls_first, std::string& out) { out.push_back(nulls_first ? kNullFirst : kNullLast); }

void Invert(std::string& out, size_t start) {
  for (size_t i = start; i < out.size(); ++i) out[i] = static_cast<char>(~out[i]);
}

Error CorruptKey() { return Error{"XX001", "key is corrupt"}; }

// Hands out the value's bytes, inverted where the order is descending; false: the key ends early.
class KeyReader {
 public:
  KeyReader(std::string_view key, SortOrder order) : rest_(key), mask_(order == SortOrder::kDescending ? 0xFF : 0) {}
  bool Next(uint8_t& byte) {
    if (rest_.empty()) return false;
    byte = static_cast<uint8_t>(rest_[0]) ^ mask_;
    rest_.remove_prefix(1);
    return true;
  }
  bool Next(size_t count, std::string& bytes) {
    if (rest_.size() < count) return false;
    bytes.assign(rest_.substr(0, count));
    for (char& c : bytes) c = static_cast<char>(c ^ mask_);
    rest_.remove_prefix(count);
    return true;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
  uint8_t mask_;
};

bool ReadEscaped(KeyReader& reader, std::string& bytes) {
  uint8_t byte;
  while (reader.Next(byte)) {
    if (byte != 0) {
      bytes.push_back(static_cast<char>(byte));
      continue;
    }
    if (!reader.Next(byte)) return false;
    if (byte == 0) return true;
    if (byte != static_cast<uint8_t>(kEscapedZero)) return false;
    bytes.push_back('\0');
  }
  return false;
}

bool ReadFiniteNumeric(KeyReader& reader, bool negative, Numeric& value) {
  const uint8_t mask = negative ? 0xFF : 0;
  uint8_t high, low;
  if (!reader.Next(high) || !reader.Next(low)) return false;
  Decimal decimal;
  decimal.negative = negative;
  decimal.weight = ((high ^ mask) << 8 | (low ^ mask)) - 0x8000;
  for (size_t i = 0;; ++i) {
    uint8_t byte;
    if (!reader.Next(byte)) return false;
    byte ^= mask;
    if (byte == 0) break;
    if (byte > 100) return false;
    if (i % 2 == 0) {
      decimal.digits.push_back(static_cast<uint16_t>((byte - 1) * 100));
    } else {
      decimal.digits.back() = static_cast<uint16_t>(decimal.digits.back() + byte - 1);
    }
  }
  if (decimal.digits.empty() || decimal.digits.front() == 0 || decimal.digits.back() == 0) return false;
  // The key does not keep the display scale: the smallest that shows the value.
  int32_t scale = (static_cast<int32_t>(decimal.digits.size()) - 1 - decimal.weight) * kDecimalsPerDigit;
  for (uint16_t last = decimal.digits.back(); last % 10 == 0; last /= 10) --scale;
  decimal.scale = std::max(scale, 0);
  if (decimal.scale > kScaleMax) return false;
  value = NumericAccess::FromDecimalUnchecked(std::move(decimal));
  return true;
}

bool ReadNumeric(KeyReader& reader, Datum& value) {
  uint8_t number_class;
  if (!reader.Next(number_class)) return false;
  Numeric number;
  switch (number_class) {
    case kBelow:
      number = Numeric::Infinity(true);
      break;
    case kNegative:
    case kPositive:
      if (!ReadFiniteNumeric(reader, number_class == kNegative, number)) return false;
      break;
    case kZero:
      break;
    case kAbove:
      number = Numeric::Infinity();
      break;
    case kNotANumber:
      number = Numeric::NaN();
      break;
    default:
      return false;
  }
  value = Datum::Bytes(number.Encode());
  return true;
}

// The interval of this length with as many months, then days, as go into it.
Interval IntervalOfSpan(__int128 span) {
  Interval interval;
  const auto take = [&](__int128 unit) {
    const __int128 count = std::clamp<__int128>(span / unit, INT32_MIN, INT32_MAX);
    span -= count * unit;
    return static_cast<int32_t>(count);
  };
  interval.months = take(static_cast<__int128>(kMicrosPerDay) * 30);
  interval.days = take(kMicrosPerDay);
  interval.micros = static_cast<int64_t>(std::clamp<__int128>(span, INT64_MIN, INT64_MAX));
  return interval;
}

bool ReadValue(const SqlType& type, KeyReader& reader, Datum& value) {
  if (type.id == TypeId::kNumeric) return ReadNumeric(reader, value);
  std::string bytes;
  if (type.id == TypeId::kInterval) {
    if (!reader.Next(kSpanBytes, bytes)) return false;
    const unsigned __int128 biased = LoadBig<unsigned __int128>(bytes);
    const __int128 bias = static_cast<__int128>(1) << (8 * kSpanBytes - 1);
    value = Datum::Bytes(IntervalOfSpan(static_cast<__int128>(biased) - bias).Encode());
    return true;
  }
  const size_t width = StoredWidth(type.id);
  if (width == 0) {
    if (!ReadEscaped(reader, bytes)) return false;
    if (type.id == TypeId::kChar && type.length >= 0) {
      size_t characters = 0;
      const size_t length = static_cast<size_t>(type.length);
      if (BytesOfCharacters(bytes, length, characters) == std::string_view::npos) {
        bytes.append(length - characters, ' ');
      }
    }
    value = Datum::Bytes(std::move(bytes));
    return true;
  }
  if (!reader.Next(width, bytes)) return false;
  switch (type.storage()) {
    case Storage::kInt:
      value = Datum::Int(IntOfKey(type.id, bytes));
      break;
    case Storage::kDouble:
      value = Datum::Double(width == 4 ? FloatOfKey<float, uint32_t>(bytes) : FloatOfKey<double, uint64_t>(bytes));
      break;
    case Storage::kBytes:
      value = Datum::Bytes(std::move(bytes));
      break;
  }
  return true;
}

void AppendDoubleKey(TypeId id, double value, std::string& out) {
  if (id == TypeId::kReal) return AppendFloatKey<float, uint32_t>(static_cast<float>(value), out);
  AppendFloatKey<double, uint64_t>(value, out);
}

}  // namespace

void AppendKey(const SqlType& type, const Vector& values, uint32_t row, SortOrder order, bool nulls_first,
               std::string& out) {
  if (values.IsNull(row)) return AppendNull(nulls_first, out);
  out.push_back(kValue);
  const size_t start = out.size();
  switch (type.storage()) {
    case Storage::kInt:
      AppendIntKey(type.id, values.Int(row), out);
      break;
    case Storage::kDouble:
      AppendDoubleKey(type.id, values.Double(row), out);
      break;
    case Storage::kBytes:
      AppendBytesKey(type.id, values.Bytes(row), out);
      break;
  }
  if (order == SortOrder::kDescending) Invert(out, start);
}

void AppendKey(const SqlType& type, const Datum& value, SortOrder order, bool nulls_first, std::string& out) {
  if (value.is_null()) return AppendNull(nulls_first, out);
  out.push_back(kValue);
  const size_t start = out.size();
  switch (type.storage()) {
    case Storage::kInt:
      AppendIntKey(type.id, value.as_int(), out);
      break;
    case Storage::kDouble:
      AppendDoubleKey(type.id, value.as_double(), out);
      break;
    case Storage::kBytes:
      AppendBytesKey(type.id, value.as_bytes(), out);
      break;
  }
  if (order == SortOrder::kDescending) Invert(out, start);
}

Status ReadKey(const SqlType& type, SortOrder order, bool nulls_first, std::string_view& key, Datum& value) {
  if (key.empty()) return CorruptKey();
  const char marker = key[0];
  if (marker == (nulls_first ? kNullFirst : kNullLast)) {
    key.remove_prefix(1);
    value = Datum::Null();
    return Status();
  }
  if (marker != kValue) return CorruptKey();
  KeyReader reader(key.substr(1), order);
  if (!ReadValue(type, reader, value)) return CorruptKey();
  key = reader.rest();
  return Status();
}

std::string PrefixEnd(std::string_view prefix) {
  while (!prefix.empty() && prefix.back() == '\xFF') prefix.remove_suffix(1);
  std::string end(prefix);
  if (!end.empty()) end.back() = static_cast<char>(end.back() + 1);
  return end;
}

}  // namespace sisal::type
