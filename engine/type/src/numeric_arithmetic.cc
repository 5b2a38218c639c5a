#include <algorithm>
#include <cstring>

#include "hash.h"
#include "numeric_access.h"
#include "sisal/type/numeric.h"

namespace sisal::type {
namespace {

using Access = NumericAccess;

bool BothSmall(const Numeric& a, const Numeric& b) { return Access::IsSmall(a) && Access::IsSmall(b); }

// The two small values as coefficients of one scale. False: they are too far apart.
bool Align(int64_t a, int32_t a_scale, int64_t b, int32_t b_scale, __int128& wide_a, __int128& wide_b) {
  const int32_t apart = a_scale - b_scale;
  if (apart > 18 || apart < -18) return false;
  wide_a = apart < 0 ? static_cast<__int128>(a) * kPowersOfTen[-apart] : a;
  wide_b = apart > 0 ? static_cast<__int128>(b) * kPowersOfTen[apart] : b;
  return true;
}

int CompareSmall(int64_t a, int32_t a_scale, int64_t b, int32_t b_scale) {
  if (a_scale == b_scale) return (a > b) - (a < b);
  if ((a > 0) - (a < 0) != (b > 0) - (b < 0)) return a < b ? -1 : 1;
  __int128 wide_a, wide_b;
  if (Align(a, a_scale, b, b_scale, wide_a, wide_b)) return (wide_a > wide_b) - (wide_a < wide_b);
  return CompareDecimals(DecimalFromScaled(a, a_scale), DecimalFromScaled(b, b_scale));
}

// -Infinity, finite, Infinity, NaN
int RankOf(const Numeric& a) {
  if (a.is_finite()) return 1;
  if (a.is_nan()) return 3;
  return a.sign() < 0 ? 0 : 2;
}

int DecimalCount(uint64_t value) {
  int count = 1;
  while (count <= 18 && value >= static_cast<uint64_t>(kPowersOfTen[count])) ++count;
  return count;
}

// The weight of the first digit, of base 10^4, and that digit. Both 0 for 0.
struct FirstDigit {
  int32_t weight = 0;
  int32_t digit = 0;
};
FirstDigit FirstDigitOf(const Numeric& a) {
  FirstDigit first;
  if (!Access::IsSmall(a)) {
    const Decimal decimal = Access::ToDecimal(a);
    if (!decimal.is_zero()) first = {decimal.weight, decimal.digits[0]};
    return first;
  }
  const int64_t coefficient = Access::Coefficient(a);
  if (coefficient == 0) return first;
  const uint64_t magnitude = static_cast<uint64_t>(coefficient < 0 ? -coefficient : coefficient);
  const int32_t exponent = DecimalCount(magnitude) - 1 - a.scale();
  first.weight =
      exponent >= 0 ? exponent / kDecimalsPerDigit : -((-exponent + kDecimalsPerDigit - 1) / kDecimalsPerDigit);
  const int32_t shift = a.scale() + first.weight * kDecimalsPerDigit;  // decimals below the first digit
  first.digit = static_cast<int32_t>(shift >= 0 ? magnitude / static_cast<uint64_t>(kPowersOfTen[shift])
                                                : magnitude * static_cast<uint64_t>(kPowersOfTen[-shift]));
  return first;
}

// PostgreSQL's rule: 16 significant digits at least, by an estimate of the quotient's weight, and no fewer decimals
// than either operand shows.
int32_t QuotientScale(const Numeric& a, const Numeric& b) {
  const FirstDigit first_a = FirstDigitOf(a);
  const FirstDigit first_b = FirstDigitOf(b);
  int32_t weight = first_a.weight - first_b.weight;
  if (first_a.digit <= first_b.digit) --weight;
  const int32_t scale = std::max({kSignificantDigitsMin - weight * kDecimalsPerDigit, a.scale(), b.scale(), 0});
  return std::min(scale, kDisplayScaleMax);
}

// Both small. False: an intermediate would not fit in 128 bits.
bool DivideSmall(const Numeric& a, const Numeric& b, int32_t scale, Numeric& quotient) {
  const int64_t dividend = Access::Coefficient(a);
  const int64_t divisor = Access::Coefficient(b);
  const int32_t shift = scale + b.scale() - a.scale();
  const unsigned __int128 magnitude = static_cast<uint64_t>(dividend < 0 ? -dividend : dividend);
  const uint64_t by = static_cast<uint64_t>(divisor < 0 ? -divisor : divisor);
  if (shift < 0 || shift + DecimalCount(static_cast<uint64_t>(magnitude)) > 38) return false;
  const unsigned __int128 wide = magnitude * static_cast<unsigned __int128>(kWidePowersOfTen[shift]);
  unsigned __int128 result = wide / by;
  if (2 * (wide - result * by) >= by) ++result;
  const __int128 value = static_cast<__int128>(result);
  quotient = Numeric::FromScaled((dividend < 0) != (divisor < 0) ? -value : value, scale);
  return true;
}

// NaN, or an infinity of the given sign; 0: NaN.
Numeric Special(int sign) { return sign == 0 ? Numeric::NaN() : Numeric::Infinity(sign < 0); }

}  // namespace

int CompareNumerics(const Numeric& a, const Numeric& b) {
  if (BothSmall(a, b)) return CompareSmall(Access::Coefficient(a), a.scale(), Access::Coefficient(b), b.scale());
  const int rank_a = RankOf(a), rank_b = RankOf(b);
  if (rank_a != rank_b) return rank_a < rank_b ? -1 : 1;
  return rank_a == 1 ? CompareDecimals(Access::ToDecimal(a), Access::ToDecimal(b)) : 0;
}

int CompareEncodedNumerics(std::string_view a, std::string_view b) {
  int64_t coefficient_a, coefficient_b;
  int32_t scale_a, scale_b;
  if (DecodeSmall(a, coefficient_a, scale_a) && DecodeSmall(b, coefficient_b, scale_b)) {
    return CompareSmall(coefficient_a, scale_a, coefficient_b, scale_b);
  }
  return CompareNumerics(Numeric::Decode(a), Numeric::Decode(b));
}

uint64_t HashEncodedNumeric(std::string_view bytes) {
  int64_t coefficient;
  int32_t scale;
  // Equal values of either form meet in coefficient * 10^-scale without trailing zeros, where that fits.
  const auto hash_scaled = [](int64_t value, int32_t value_scale) {
    if (value == 0) return MixHash(0);
    while (value % 10'000 == 0) value /= 10'000, value_scale -= 4;
    while (value % 10 == 0) value /= 10, --value_scale;
    return MixHash(static_cast<uint64_t>(value) ^ MixHash(static_cast<uint64_t>(int64_t{value_scale}) + 1));
  };
  if (DecodeSmall(bytes, coefficient, scale)) return hash_scaled(coefficient, scale);
  const Numeric value = Numeric::Decode(bytes);
  if (!value.is_finite()) return HashSpan(bytes);
  const Decimal decimal = Access::ToDecimal(value);
  if (decimal.is_zero()) return hash_scaled(0, 0);
  if (decimal.digits.size() <= 6) {
    __int128 wide = 0;
    for (uint16_t digit : decimal.digits) wide = wide * kDigitBase + digit;
    int32_t wide_scale = (static_cast<int32_t>(decimal.digits.size()) - 1 - decimal.weight) * kDecimalsPerDigit;
    while (wide % 10 == 0) wide /= 10, --wide_scale;
    if (wide <= kSmallCoefficientMax) {
      return hash_scaled(static_cast<int64_t>(decimal.negative ? -wide : wide), wide_scale);
    }
  }
  const std::string_view digits(reinterpret_cast<const char*>(decimal.digits.data()),
                                decimal.digits.size() * sizeof(uint16_t));
  return MixHash(HashSpan(digits) + static_cast<uint64_t>(int64_t{decimal.weight}) * 2 + (decimal.negative ? 1 : 0));
}

Result<Numeric> Add(const Numeric& a, const Numeric& b) {
  if (BothSmall(a, b)) {
    __int128 wide_a, wide_b;
    if (Align(Access::Coefficient(a), a.scale(), Access::Coefficient(b), b.scale(), wide_a, wide_b)) {
      return Numeric::FromScaled(wide_a + wide_b, std::max(a.scale(), b.scale()));
    }
  }
  if (a.is_finite() && b.is_finite()) {
    return Access::FromDecimal(AddDecimals(Access::ToDecimal(a), Access::ToDecimal(b)));
  }
  if (a.is_nan() || b.is_nan()) return Numeric::NaN();
  if (!a.is_finite() && !b.is_finite() && a.sign() != b.sign()) return Numeric::NaN();
  return a.is_finite() ? b : a;
}

Result<Numeric> Subtract(const Numeric& a, const Numeric& b) { return Add(a, Negate(b)); }

Result<Numeric> Multiply(const Numeric& a, const Numeric& b) {
  if (BothSmall(a, b)) {
    const __int128 product = static_cast<__int128>(Access::Coefficient(a)) * Access::Coefficient(b);
    return Numeric::FromScaled(product, a.scale() + b.scale());
  }
  if (a.is_finite() && b.is_finite()) {
    const int32_t scale = std::min(a.scale() + b.scale(), kScaleMax);
    return Access::FromDecimal(MultiplyDecimals(Access::ToDecimal(a), Access::ToDecimal(b), scale));
  }
  if (a.is_nan() || b.is_nan()) return Numeric::NaN();
  return Special(a.sign() * b.sign());  // infinity * 0 is NaN
}

Result<Numeric> Divide(const Numeric& a, const Numeric& b) {
  if (a.is_nan() || b.is_nan()) return Numeric::NaN();
  if (a.is_infinite()) {
    if (b.is_infinite()) return Numeric::NaN();
    if (b.sign() == 0) return DivisionByZero();
    return Special(a.sign() * b.sign());
  }
  if (b.is_infinite()) return Numeric();
  if (b.sign() == 0) return DivisionByZero();
  const int32_t scale = QuotientScale(a, b);
  Numeric quotient;
  if (BothSmall(a, b) && DivideSmall(a, b, scale, quotient)) return quotient;
  return Access::FromDecimal(DivideDecimals(Access::ToDecimal(a), Access::ToDecimal(b), scale, true));
}

Result<Numeric> DivideTruncated(const Numeric& a, const Numeric& b) {
  if (a.is_nan() || b.is_nan()) return Numeric::NaN();
  if (a.is_infinite()) {
    if (b.is_infinite()) return Numeric::NaN();
    if (b.sign() == 0) return DivisionByZero();
    return Special(a.sign() * b.sign());
  }
  if (b.is_infinite()) return Numeric();
  if (b.sign() == 0) return DivisionByZero();
  return Access::FromDecimal(DivideDecimals(Access::ToDecimal(a), Access::ToDecimal(b), 0, false));
}

Result<Numeric> Modulo(const Numeric& a, const Numeric& b) {
  if (a.is_nan() || b.is_nan()) return Numeric::NaN();
  if (a.is_infinite()) {
    if (b.is_finite() && b.sign() == 0) return DivisionByZero();
    return Numeric::NaN();
  }
  if (b.is_infinite()) return a;
  if (b.sign() == 0) return DivisionByZero();
  if (BothSmall(a, b)) {
    __int128 wide_a, wide_b;
    if (Align(Access::Coefficient(a), a.scale(), Access::Coefficient(b), b.scale(), wide_a, wide_b)) {
      return Numeric::FromScaled(wide_a % wide_b, std::max(a.scale(), b.scale()));
    }
  }
  const Decimal dividend = Access::ToDecimal(a);
  const Decimal divisor = Access::ToDecimal(b);
  const Decimal quotient = DivideDecimals(dividend, divisor, 0, false);
  Decimal rest = SubtractDecimals(dividend, MultiplyDecimals(quotient, divisor, divisor.scale));
  rest.scale = std::max(dividend.scale, divisor.scale);
  return Access::FromDecimal(std::move(rest));
}

Numeric Negate(const Numeric& a) {
  if (Access::IsSmall(a)) return Access::MakeSmall(-Access::Coefficient(a), a.scale());
  if (a.is_nan()) return a;
  if (a.is_infinite()) return Numeric::Infinity(a.sign() > 0);
  Decimal decimal = Access::ToDecimal(a);
  decimal.negative = !decimal.negative && !decimal.is_zero();
  return Access::FromDecimalUnchecked(std::move(decimal));
}

Numeric Abs(const Numeric& a) { return !a.is_nan() && a.sign() < 0 ? Negate(a) : a; }

Numeric Sign(const Numeric& a) { return a.is_nan() ? a : Numeric::FromInt(a.sign()); }

Result<Numeric> Round(const Numeric& a, int32_t scale) {
  if (!a.is_finite()) return a;
  scale = std::clamp(scale, -kDisplayScaleMax * 2, kDisplayScaleMax * 2);
  if (Access::IsSmall(a) && scale >= 0 && scale <= a.scale()) {
    const int32_t dropped = a.scale() - scale;
    const int64_t coefficient = Access::Coefficient(a);
    if (dropped > 18) return Access::MakeSmall(0, scale);  // below 10^18 / 10^19
    const int64_t unit = kPowersOfTen[dropped];
    const int64_t rest = coefficient % unit;
    int64_t rounded = coefficient / unit;
    if (dropped > 0 && rest >= unit / 2) ++rounded;
    if (dropped > 0 && -rest >= unit / 2) --rounded;
    return Access::MakeSmall(rounded, scale);
  }
  Decimal decimal = Access::ToDecimal(a);
  decimal.Round(scale);
  return Access::FromDecimal(std::move(decimal));
}

Result<Numeric> Truncate(const Numeric& a, int32_t scale) {
  if (!a.is_finite()) return a;
  scale = std::clamp(scale, -kDisplayScaleMax * 2, kDisplayScaleMax * 2);
  Decimal decimal = Access::ToDecimal(a);
  decimal.Truncate(scale);
  return Access::FromDecimal(std::move(decimal));
}

Result<Numeric> Floor(const Numeric& a) {
  if (!a.is_finite()) return a;
  Decimal whole = Access::ToDecimal(a);
  whole.Truncate(0);
  if (a.sign() < 0 && CompareDecimals(Access::ToDecimal(a), whole) != 0) {
    whole = SubtractDecimals(whole, DecimalFromInt(1));
  }
  return Access::FromDecimal(std::move(whole));
}

Result<Numeric> Ceil(const Numeric& a) {
  SISAL_ASSIGN_OR_RETURN(const Numeric floor, Floor(Negate(a)));
  return Negate(floor);
}

std::optional<int32_t> MinimalScale(const Numeric& a) {
  if (!a.is_finite()) return std::nullopt;
  const Decimal decimal = Access::ToDecimal(a);
  if (decimal.is_zero()) return 0;
  int32_t scale = (static_cast<int32_t>(decimal.digits.size()) - 1 - decimal.weight) * kDecimalsPerDigit;
  for (uint16_t last = decimal.digits.back(); last % 10 == 0; last /= 10) --scale;
  return std::max(scale, 0);
}

Numeric TrimScale(const Numeric& a) {
  if (!a.is_finite()) return a;
  Decimal decimal = Access::ToDecimal(a);
  decimal.scale = *MinimalScale(a);
  return Access::FromDecimalUnchecked(std::move(decimal));
}

void NumericSum::set_total(__int128 total) {
  total_low_ = static_cast<uint64_t>(total);
  total_high_ = static_cast<int64_t>(total >> 64);
}

void NumericSum::Add(std::string_view encoded, Arena& arena) {
  int64_t coefficient;
  int32_t scale;
  if (DecodeSmall(encoded, coefficient, scale)) return AddScaled(coefficient, scale, arena);
  const Numeric value = Numeric::Decode(encoded);
  if (value.is_finite()) return Spill(value, arena);
  has_nan_ |= value.is_nan();
  has_infinity_ |= value.is_infinite() && value.sign() > 0;
  has_negative_infinity_ |= value.is_infinite() && value.sign() < 0;
}

void NumericSum::AddInt(int64_t value, Arena& arena) { AddScaled(value, 0, arena); }

void NumericSum::AddScaled(__int128 value, int32_t scale, Arena& arena) {
  __int128 sum = total();
  if (scale != scale_) {
    __int128& coarser = scale > scale_ ? sum : value;
    const int32_t apart = scale > scale_ ? scale - scale_ : scale_ - scale;
    __int128 widened;
    if (apart > 38 || __builtin_mul_overflow(coarser, kWidePowersOfTen[apart], &widened)) {
      return Spill(Numeric::FromScaled(value, scale), arena);
    }
    coarser = widened;
    scale_ = std::max(scale, scale_);
    set_total(sum);  // it goes with its scale, also if what follows spills it
  }
  if (__builtin_add_overflow(sum, value, &sum)) {
    Spill(Numeric::FromScaled(total(), scale_), arena);
    sum = value;
  }
  set_total(sum);
}

void NumericSum::Spill(const Numeric& value, Arena& arena) {
  Result<Numeric> sum =
      spill_ == nullptr ? Result<Numeric>(value) : type::Add(Numeric::Decode({spill_, spill_bytes_}), value);
  if (!sum.ok()) {
    overflowed_ = true;
    return;
  }
  const std::string bytes = sum->Encode();
  if (bytes.size() > spill_capacity_) {
    spill_capacity_ = static_cast<uint32_t>(bytes.size() + bytes.size() / 2);
    spill_ = static_cast<char*>(arena.Allocate(spill_capacity_, 1));
  }
  std::memcpy(spill_, bytes.data(), bytes.size());
  spill_bytes_ = static_cast<uint32_t>(bytes.size());
}

void NumericSum::Merge(const NumericSum& other, Arena& arena) {
  AddScaled(other.total(), other.scale_, arena);
  if (other.spill_ != nullptr) Add({other.spill_, other.spill_bytes_}, arena);
  has_nan_ |= other.has_nan_;
  has_infinity_ |= other.has_infinity_;
  has_negative_infinity_ |= other.has_negative_infinity_;
  overflowed_ |= other.overflowed_;
}

Result<Numeric> NumericSum::Total() const {
  if (has_nan_ || (has_infinity_ && has_negative_infinity_)) return Numeric::NaN();
  if (has_infinity_ || has_negative_infinity_) return Numeric::Infinity(has_negative_infinity_);
  if (overflowed_) return NumericOverflow();
  const Numeric total_value = Numeric::FromScaled(total(), scale_);
  if (spill_ == nullptr) return total_value;
  return type::Add(Numeric::Decode({spill_, spill_bytes_}), total_value);
}

}  // namespace sisal::type
