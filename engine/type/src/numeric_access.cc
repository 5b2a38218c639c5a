#include "numeric_access.h"

#include <algorithm>

#include "text_scan.h"

namespace sisal::type {

Decimal NumericAccess::ToDecimal(const Numeric& a) {
  if (IsSmall(a)) return DecimalFromScaled(a.coefficient_, a.scale_);
  Decimal result;
  result.negative = a.negative_;
  result.weight = a.weight_;
  result.scale = a.scale_;
  result.digits = a.digits_;
  return result;
}

Numeric NumericAccess::FromDecimalUnchecked(Decimal value) {
  constexpr int32_t kSmallDigitsMax = 8;  // 18 decimals, and up to 3 on each side that fill the digits up
  if (value.scale <= kSmallScaleMax) {
    if (value.is_zero()) return MakeSmall(0, value.scale);
    const int32_t fraction_digits = (value.scale + kDecimalsPerDigit - 1) / kDecimalsPerDigit;
    const int32_t count = value.weight + 1 + fraction_digits;
    if (count <= kSmallDigitsMax) {
      __int128 coefficient = 0;
      for (int32_t i = 0; i < count; ++i) {
        coefficient = coefficient * kDigitBase + (static_cast<size_t>(i) < value.digits.size() ? value.digits[i] : 0);
      }
      coefficient /= kPowersOfTen[fraction_digits * kDecimalsPerDigit - value.scale];
      if (coefficient <= kSmallCoefficientMax) {
        return MakeSmall(static_cast<int64_t>(value.negative ? -coefficient : coefficient), value.scale);
      }
    }
  }
  Numeric result;
  result.form_ = Numeric::Form::kBig;
  result.negative_ = value.negative;
  result.scale_ = value.scale;
  result.weight_ = value.weight;
  result.digits_ = std::move(value.digits);
  return result;
}

Result<Numeric> NumericAccess::FromDecimal(Decimal value) {
  if (value.weight > kWeightMax || value.scale > kScaleMax) return NumericOverflow();
  return FromDecimalUnchecked(std::move(value));
}

bool ParseDecimal(std::string_view text, Decimal& value, bool& overflow) {
  constexpr int64_t kExponentMax = INT32_MAX / 2;
  size_t i = 0;
  const bool negative = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) ++i;
  // The decimals without the point: text[first, point) and text[point + 1, end).
  const size_t first = i;
  while (i < text.size() && IsDigit(text[i])) ++i;
  const size_t point = i;
  size_t fraction = 0;
  if (i < text.size() && text[i] == '.') {
    ++i;
    while (i < text.size() && IsDigit(text[i])) ++i;
    fraction = i - point - 1;
  }
  if (point - first + fraction == 0) return false;
  int64_t exponent = 0;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    const bool negative_exponent = i < text.size() && text[i] == '-';
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
    if (i == text.size() || !IsDigit(text[i])) return false;
    for (; i < text.size() && IsDigit(text[i]); ++i) exponent = std::min(exponent * 10 + (text[i] - '0'), kExponentMax);
    if (negative_exponent) exponent = -exponent;
  }
  if (i != text.size()) return false;
  const int64_t scale = std::max<int64_t>(static_cast<int64_t>(fraction) - exponent, 0);
  overflow = exponent >= kExponentMax || exponent <= -kExponentMax || scale > kScaleMax;
  if (overflow) return true;

  value = Decimal();
  value.scale = static_cast<int32_t>(scale);
  const auto decimal = [&](size_t n) { return text[first + n + (first + n >= point ? 1 : 0)] - '0'; };
  const int64_t count = static_cast<int64_t>(point - first + fraction);
  // The first decimal counts 10^top; its digit begins at the next multiple of 4 above it.
  const int64_t top = static_cast<int64_t>(point - first) - 1 + exponent;
  const int64_t weight = top >= 0 ? top / kDecimalsPerDigit : -((-top + kDecimalsPerDigit - 1) / kDecimalsPerDigit);
  const int64_t leading = weight * kDecimalsPerDigit + kDecimalsPerDigit - 1 - top;  // zeros in front, 0..3
  value.digits.resize(static_cast<size_t>((leading + count + kDecimalsPerDigit - 1) / kDecimalsPerDigit), 0);
  for (int64_t n = 0; n < count; ++n) {
    const int64_t at = leading + n;
    value.digits[static_cast<size_t>(at / kDecimalsPerDigit)] += static_cast<uint16_t>(
        decimal(static_cast<size_t>(n)) * kPowersOfTen[kDecimalsPerDigit - 1 - at % kDecimalsPerDigit]);
  }
  value.weight = static_cast<int32_t>(weight);
  value.negative = negative;
  value.Normalize();
  return true;
}

void AppendDecimalText(const Decimal& value, std::string& out) {
  if (value.negative) out.push_back('-');
  const auto digit_at = [&](int32_t weight) -> uint32_t {
    const int32_t index = value.weight - weight;
    return index >= 0 && static_cast<size_t>(index) < value.digits.size() ? value.digits[index] : 0;
  };
  const auto append = [&](uint32_t digit, int32_t decimals) {
    for (int32_t i = 0; i < decimals; ++i) {
      out.push_back(static_cast<char>('0' + digit / kPowersOfTen[kDecimalsPerDigit - 1 - i] % 10));
    }
  };
  if (value.is_zero() || value.weight < 0) {
    out.push_back('0');
  } else {
    out += std::to_string(digit_at(value.weight));
    for (int32_t weight = value.weight - 1; weight >= 0; --weight) append(digit_at(weight), kDecimalsPerDigit);
  }
  if (value.scale == 0) return;
  out.push_back('.');
  for (int32_t done = 0, weight = -1; done < value.scale; done += kDecimalsPerDigit, --weight) {
    append(digit_at(weight), std::min(kDecimalsPerDigit, value.scale - done));
  }
}

}  // namespace sisal::type
