#include "sisal/type/numeric.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "numeric_access.h"
#include "sisal/base/bytes.h"
#include "text_scan.h"

namespace sisal::type {
namespace {

constexpr uint8_t kBigTag = 0x80;
constexpr uint8_t kNegativeBigTag = 0x81;
constexpr uint8_t kNaNTag = 0xC0;
constexpr uint8_t kNegativeInfinityTag = 0xC1;
constexpr uint8_t kInfinityTag = 0xC2;
constexpr size_t kBigHeaderBytes = 5;
constexpr size_t kSmallBytesMax = 9;

// The small form of `coefficient` in out[kSmallBytesMax]; returns its length.
size_t EncodeSmall(int64_t coefficient, int32_t scale, char* out) {
  out[0] = static_cast<char>(scale);
  if (coefficient == 0) return 1;
  // Bits that hold it, with the sign.
  const uint64_t magnitude = static_cast<uint64_t>(coefficient < 0 ? ~coefficient : coefficient);
  const int bits = magnitude == 0 ? 1 : 65 - __builtin_clzll(magnitude);
  StoreLittle(out + 1, coefficient);
  return 1 + static_cast<size_t>(bits + 7) / 8;
}

Numeric FromDoubleWithDigits(double value, int digits) {
  if (std::isnan(value)) return Numeric::NaN();
  if (std::isinf(value)) return Numeric::Infinity(value < 0);
  char text[64];
  const std::to_chars_result end = std::to_chars(text, text + sizeof text, value, std::chars_format::general, digits);
  Decimal decimal;
  bool overflow = false;
  SISAL_CHECK(ParseDecimal({text, end.ptr}, decimal, overflow));
  return NumericAccess::FromDecimalUnchecked(std::move(decimal));
}

// A number of up to 18 digits, the usual case. False: something else, perhaps malformed.
bool ParseSmall(std::string_view text, Numeric& value) {
  size_t i = 0;
  bool negative = false;
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) negative = text[i++] == '-';
  if (text.size() - i > 19 || i == text.size()) return false;
  int64_t coefficient = 0;
  int32_t digits = 0;
  int32_t scale = 0;
  bool point = false;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      if (++digits > 18) return false;
      coefficient = coefficient * 10 + (c - '0');
      scale += point;
    } else {
      return false;
    }
  }
  if (digits == 0) return false;
  value = NumericAccess::MakeSmall(negative ? -coefficient : coefficient, scale);
  return true;
}

}  // namespace

Numeric Numeric::FromInt(int64_t value) { return FromScaled(value, 0); }

Numeric Numeric::FromScaled(__int128 coefficient, int32_t scale) {
  if (scale <= kSmallScaleMax && coefficient <= kSmallCoefficientMax && coefficient >= -kSmallCoefficientMax) {
    return NumericAccess::MakeSmall(static_cast<int64_t>(coefficient), scale);
  }
  return NumericAccess::FromDecimalUnchecked(DecimalFromScaled(coefficient, scale));
}

Numeric Numeric::NaN() {
  Numeric result;
  result.form_ = Form::kNaN;
  return result;
}

Numeric Numeric::Infinity(bool negative) {
  Numeric result;
  result.form_ = negative ? Form::kNegativeInfinity : Form::kInfinity;
  return result;
}

Numeric Numeric::FromDouble(double value) { return FromDoubleWithDigits(value, std::numeric_limits<double>::digits10); }
Numeric Numeric::FromReal(double value) { return FromDoubleWithDigits(value, std::numeric_limits<float>::digits10); }

Result<Numeric> Numeric::Parse(std::string_view text) {
  const std::string_view body = StripBlanks(text);
  Numeric value;
  if (ParseSmall(body, value)) return value;
  if (EqualsIgnoreCase(body, "nan")) return NaN();
  std::string_view unsigned_body = body;
  if (!body.empty() && (body[0] == '+' || body[0] == '-')) unsigned_body.remove_prefix(1);
  if (EqualsIgnoreCase(unsigned_body, "infinity") || EqualsIgnoreCase(unsigned_body, "inf")) {
    return Infinity(body[0] == '-');
  }
  Decimal decimal;
  bool overflow = false;
  if (!ParseDecimal(body, decimal, overflow)) return InvalidSyntax("numeric", text);
  if (overflow) return NumericOverflow();
  return NumericAccess::FromDecimal(std::move(decimal));
}

Numeric Numeric::Decode(std::string_view bytes) {
  Numeric result;
  if (DecodeSmall(bytes, result.coefficient_, result.scale_)) return result;
  const uint8_t tag = static_cast<uint8_t>(bytes[0]);
  if (tag == kNaNTag) return NaN();
  if (tag == kInfinityTag || tag == kNegativeInfinityTag) return Infinity(tag == kNegativeInfinityTag);
  result.form_ = Form::kBig;
  result.negative_ = tag == kNegativeBigTag;
  result.scale_ = LoadLittle<uint16_t>(bytes.data() + 1);
  result.weight_ = LoadLittle<int16_t>(bytes.data() + 3);
  result.digits_.resize((bytes.size() - kBigHeaderBytes) / sizeof(uint16_t));
  if (!result.digits_.empty()) {
    std::memcpy(result.digits_.data(), bytes.data() + kBigHeaderBytes, result.digits_.size() * sizeof(uint16_t));
  }
  return result;
}

bool Numeric::IsValidEncoding(std::string_view bytes) {
  if (bytes.empty()) return false;
  const uint8_t tag = static_cast<uint8_t>(bytes[0]);
  if (tag <= kSmallScaleMax) {
    if (bytes.size() > kSmallBytesMax) return false;
    int64_t coefficient;
    int32_t scale;
    DecodeSmall(bytes, coefficient, scale);
    char canonical[kSmallBytesMax];
    return coefficient >= -kSmallCoefficientMax && coefficient <= kSmallCoefficientMax &&
           EncodeSmall(coefficient, scale, canonical) == bytes.size();
  }
  if (tag >= kNaNTag) return tag <= kInfinityTag && bytes.size() == 1;
  if (tag != kBigTag && tag != kNegativeBigTag) return false;
  if (bytes.size() < kBigHeaderBytes || (bytes.size() - kBigHeaderBytes) % sizeof(uint16_t) != 0) return false;
  const int32_t scale = LoadLittle<uint16_t>(bytes.data() + 1);
  const int32_t weight = LoadLittle<int16_t>(bytes.data() + 3);
  const size_t count = (bytes.size() - kBigHeaderBytes) / sizeof(uint16_t);
  if (scale > kScaleMax) return false;
  if (count == 0) return weight == 0 && tag == kBigTag && scale > kSmallScaleMax;
  const int64_t count_max = int64_t{weight} + 1 + (scale + kDecimalsPerDigit - 1) / kDecimalsPerDigit;
  if (static_cast<int64_t>(count) > count_max) return false;
  for (size_t i = 0; i < count; ++i) {
    const uint16_t digit = LoadLittle<uint16_t>(bytes.data() + kBigHeaderBytes + i * sizeof(uint16_t));
    if (digit >= kDigitBase || (digit == 0 && (i == 0 || i + 1 == count))) return false;
  }
  return true;
}

void Numeric::AppendEncoded(std::string& out) const {
  switch (form_) {
    case Form::kSmall: {
      char bytes[kSmallBytesMax];
      out.append(bytes, EncodeSmall(coefficient_, scale_, bytes));
      return;
    }
    case Form::kBig:
      out.push_back(static_cast<char>(negative_ ? kNegativeBigTag : kBigTag));
      AppendLittle(out, static_cast<uint16_t>(scale_));
      AppendLittle(out, static_cast<int16_t>(weight_));
      out.append(reinterpret_cast<const char*>(digits_.data()), digits_.size() * sizeof(uint16_t));
      return;
    case Form::kNaN:
      out.push_back(static_cast<char>(kNaNTag));
      return;
    case Form::kNegativeInfinity:
      out.push_back(static_cast<char>(kNegativeInfinityTag));
      return;
    case Form::kInfinity:
      out.push_back(static_cast<char>(kInfinityTag));
      return;
  }
}

std::string Numeric::Encode() const {
  std::string bytes;
  AppendEncoded(bytes);
  return bytes;
}

std::string_view Numeric::EncodeIn(Arena& arena) const {
  if (form_ == Form::kSmall) {
    char* place = static_cast<char*>(arena.Allocate(kSmallBytesMax, 1));
    return {place, EncodeSmall(coefficient_, scale_, place)};
  }
  return arena.Copy(Encode());
}

std::string Numeric::ToString() const {
  std::string text;
  AppendText(text);
  return text;
}

void Numeric::AppendText(std::string& out) const {
  switch (form_) {
    case Form::kSmall: {
      char buffer[96];
      char* const end = buffer + sizeof buffer;
      char* at = end;
      uint64_t rest = static_cast<uint64_t>(coefficient_ < 0 ? -coefficient_ : coefficient_);
      for (int32_t i = 0; i < scale_; ++i, rest /= 10) *--at = static_cast<char>('0' + rest % 10);
      if (scale_ > 0) *--at = '.';
      do *--at = static_cast<char>('0' + rest % 10);
      while ((rest /= 10) != 0);
      if (coefficient_ < 0) *--at = '-';
      out.append(at, end);
      return;
    }
    case Form::kBig:
      AppendDecimalText(NumericAccess::ToDecimal(*this), out);
      return;
    case Form::kNaN:
      out += "NaN";
      return;
    case Form::kNegativeInfinity:
      out += "-Infinity";
      return;
    case Form::kInfinity:
      out += "Infinity";
      return;
  }
}

int Numeric::sign() const {
  switch (form_) {
    case Form::kSmall:
      return (coefficient_ > 0) - (coefficient_ < 0);
    case Form::kBig:
      return digits_.empty() ? 0 : negative_ ? -1 : 1;
    case Form::kNegativeInfinity:
      return -1;
    default:
      return 1;
  }
}

Result<int64_t> Numeric::ToInt(TypeId to) const {
  const std::string name(TypeName(to));
  if (is_nan()) return Error{"0A000", "cannot convert NaN to " + name};
  if (!is_finite()) return Error{"0A000", "cannot convert infinity to " + name};
  const auto out_of_range = [&] { return Error{"22003", name + " out of range"}; };
  __int128 whole = coefficient_;
  if (form_ == Form::kSmall) {
    if (scale_ > 18) {
      whole = 0;  // below 10^18 * 10^-19
    } else if (scale_ > 0) {
      const int64_t unit = kPowersOfTen[scale_];
      const int64_t rest = coefficient_ % unit;
      whole =
          coefficient_ / unit + (rest >= unit - rest && rest > 0 ? 1 : 0) - (-rest >= unit + rest && rest < 0 ? 1 : 0);
    }
  } else {
    Decimal decimal = NumericAccess::ToDecimal(*this);
    decimal.Round(0);
    if (decimal.weight > 4) return out_of_range();  // 10^20 and more
    whole = 0;
    for (int32_t i = 0; i <= decimal.weight; ++i) {
      whole = whole * kDigitBase + (static_cast<size_t>(i) < decimal.digits.size() ? decimal.digits[i] : 0);
    }
    if (decimal.is_zero()) whole = 0;
    if (decimal.negative) whole = -whole;
  }
  const int64_t maximum = to == TypeId::kSmallint ? INT16_MAX : to == TypeId::kInteger ? INT32_MAX : INT64_MAX;
  if (whole > maximum || whole < -static_cast<__int128>(maximum) - 1) return out_of_range();
  return static_cast<int64_t>(whole);
}

double Numeric::ToDoubleSaturating() const {
  constexpr int64_t kExactIntegerMax = int64_t{1} << 53;
  constexpr int32_t kExactPowerMax = 22;  // 10^22 is the last power of ten that a double holds
  switch (form_) {
    case Form::kSmall:
      if (scale_ <= 18 && scale_ <= kExactPowerMax && coefficient_ <= kExactIntegerMax &&
          coefficient_ >= -kExactIntegerMax) {
        return static_cast<double>(coefficient_) / static_cast<double>(kPowersOfTen[scale_]);
      }
      break;
    case Form::kBig:
      break;
    case Form::kNaN:
      return std::numeric_limits<double>::quiet_NaN();
    case Form::kNegativeInfinity:
      return -std::numeric_limits<double>::infinity();
    case Form::kInfinity:
      return std::numeric_limits<double>::infinity();
  }
  const std::string text = ToString();
  double value = 0;
  const std::from_chars_result end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc::result_out_of_range) return value;
  const double saturated = CompareNumerics(Abs(*this), FromInt(1)) > 0 ? std::numeric_limits<double>::infinity() : 0;
  return sign() < 0 ? -saturated : saturated;
}

Result<double> Numeric::ToDouble() const {
  const double value = ToDoubleSaturating();
  if (is_finite() && (std::isinf(value) || (value == 0 && sign() != 0))) {
    return Error{"22003", "\"" + ToString() + "\" is out of range for type double precision"};
  }
  return value;
}

Result<double> Numeric::ToReal() const {
  if (!is_finite()) return ToDoubleSaturating();
  // Not by way of double: that would round twice.
  const std::string text = ToString();
  float value = 0;
  const std::from_chars_result end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec == std::errc::result_out_of_range || std::isinf(value) || (value == 0 && sign() != 0)) {
    return Error{"22003", "\"" + text + "\" is out of range for type real"};
  }
  return static_cast<double>(value);
}

Status Numeric::ApplyPrecision(int32_t precision, int32_t scale) {
  if (precision < 0 || is_nan()) return Status();
  const auto overflow = [&](std::string_view what) {
    const int32_t whole = precision - scale;
    std::string detail = "A field with precision " + std::to_string(precision) + ", scale " + std::to_string(scale);
    detail += what;
    if (what.back() == ' ') detail += (whole != 0 ? "10^" : "") + std::to_string(whole != 0 ? whole : 1) + ".";
    return Error{"22003", "numeric field overflow"}.WithDetail(std::move(detail));
  };
  if (is_infinite()) return overflow(" cannot hold an infinite value.");
  constexpr std::string_view kMustRound = " must round to an absolute value less than ";
  if (form_ == Form::kSmall && scale >= 0 && scale <= kSmallScaleMax && scale >= scale_ && scale - scale_ <= 18) {
    const __int128 widened = coefficient_ * kWidePowersOfTen[scale - scale_];
    if (precision <= 38) {
      if (widened >= kWidePowersOfTen[precision] || -widened >= kWidePowersOfTen[precision])
        return overflow(kMustRound);
    }
    *this = FromScaled(widened, scale);
    return Status();
  }
  Decimal decimal = NumericAccess::ToDecimal(*this);
  decimal.Round(scale);
  if (!decimal.is_zero()) {
    // Decimals before the point; negative: zeros after it.
    int32_t whole = (decimal.weight + 1) * kDecimalsPerDigit;
    for (int32_t unit = kDigitBase / 10; decimal.digits[0] < unit; unit /= 10) --whole;
    if (whole > precision - scale) return overflow(kMustRound);
  }
  *this = NumericAccess::FromDecimalUnchecked(std::move(decimal));
  return Status();
}

}  // namespace sisal::type
