// Roots, powers, exponentials and logarithms. Each first chooses the scale of its result, by PostgreSQL's rules: 16
// significant digits at least by an estimate of the result's weight, and no fewer decimals than the arguments show.
// Then it computes with guard digits and rounds.
#include <algorithm>
#include <cmath>

#include "numeric_access.h"
#include "sisal/type/numeric.h"

namespace sisal::type {
namespace {

using Access = NumericAccess;

constexpr double kLog10OfE = 0.434294481903252;
constexpr double kLnOf10 = 2.302585092994046;
constexpr double kExponentMax = 6000;  // of exp(): more is an overflow, or 0
constexpr int32_t kGuardDigits = 8;

Decimal One() { return DecimalFromInt(1); }

int32_t ClampScale(int32_t scale, int32_t at_least) {
  return std::min(std::max({scale, at_least, 0}), kDisplayScaleMax);
}

// The value as a double; saturates.
double Approximate(const Decimal& a) { return Access::FromDecimalUnchecked(a).ToDoubleSaturating(); }

// The first digits as a double: the value is about that times 10000^exponent.
double Mantissa(const Decimal& a, int32_t& exponent) {
  double mantissa = 0;
  const size_t count = std::min<size_t>(a.digits.size(), 5);
  for (size_t i = 0; i < count; ++i) mantissa = mantissa * kDigitBase + a.digits[i];
  exponent = a.weight - static_cast<int32_t>(count) + 1;
  return mantissa;
}

Decimal DecimalFromDouble(double value) { return Access::ToDecimal(Numeric::FromDouble(value)); }

bool IsWhole(const Decimal& a) { return a.is_zero() || static_cast<int32_t>(a.digits.size()) <= a.weight + 1; }
// Requires: IsWhole(a).
bool IsOdd(const Decimal& a) {
  return !a.is_zero() && static_cast<int32_t>(a.digits.size()) == a.weight + 1 && a.digits.back() % 2 == 1;
}

// The root rounded to `scale`. Requires: a > 0.
Decimal Root(const Decimal& a, int32_t scale) {
  int32_t exponent;
  double mantissa = Mantissa(a, exponent);
  if (exponent % 2 != 0) {
    mantissa *= kDigitBase;
    --exponent;
  }
  Decimal root = DecimalFromDouble(std::sqrt(mantissa));
  root.weight += exponent / 2;
  const int32_t working_scale = scale + kGuardDigits;
  // Newton's steps double the 15 digits that the start has right.
  const int64_t digits_wanted = std::max<int64_t>(int64_t{working_scale} + (root.weight + 1) * kDecimalsPerDigit, 1);
  for (int64_t right = 14; right < 2 * digits_wanted; right *= 2) {
    root = AddDecimals(root, DivideDecimals(a, root, working_scale, true));
    root = MultiplyDecimals(root, DecimalFromScaled(5, 1), working_scale);
  }
  root.Round(scale);
  // The guard digits decide all but exact halves: (root - half)^2 <= a < (root + half)^2 settles those.
  Decimal half = DecimalFromScaled(5, scale + 1);
  const Decimal unit = DecimalFromScaled(1, scale);
  const auto square = [](const Decimal& x) { return MultiplyDecimals(x, x, 2 * x.scale); };
  if (CompareDecimals(square(AddDecimals(root, half)), a) <= 0) root = AddDecimals(root, unit);
  if (!root.is_zero() && CompareDecimals(square(SubtractDecimals(root, half)), a) > 0)
    root = SubtractDecimals(root, unit);
  root.scale = scale;
  return root;
}

// e^x rounded to `scale`. Requires: |x| <= kExponentMax.
Decimal Exponential(const Decimal& x, int32_t scale) {
  const double estimate = Approximate(x);
  const int32_t weight = static_cast<int32_t>(estimate * kLog10OfE);
  Decimal rest = x;
  rest.negative = false;
  // e^x = (e^(x / 2^halvings))^(2^halvings), with the inner exponent below 1/128.
  int32_t halvings = 0;
  for (double size = std::fabs(estimate); size > 1.0 / 128; size /= 2) ++halvings;
  const int32_t significant = std::max(scale + weight, 0) + kGuardDigits + halvings / 3 + 2;
  for (int32_t left = halvings; left > 0;) {
    const int32_t step = std::min(left, 13);
    rest = DivideDecimals(rest, DecimalFromInt(int64_t{1} << step), significant + 8, true);
    left -= step;
  }
  Decimal sum = AddDecimals(One(), rest);
  Decimal term = rest;
  for (int32_t i = 2; !term.is_zero(); ++i) {
    term = MultiplyDecimals(term, rest, significant + 8);
    term = DivideDecimals(term, DecimalFromInt(i), significant + 8, true);
    sum = AddDecimals(sum, term);
  }
  for (; halvings > 0; --halvings) {
    sum = MultiplyDecimals(sum, sum, std::max(significant + 8 - 2 * sum.weight * kDecimalsPerDigit, 0));
  }
  if (x.negative) return DivideDecimals(One(), sum, scale, true);
  sum.Round(scale);
  return sum;
}

// ln(x) with an error well below 10^-scale; x is neither very large nor very small.
Decimal NearLogarithm(const Decimal& x, int32_t scale) {
  // ln(x) = g + ln(x / e^g) with a guess g that is right in its first 15 digits, so that the rest is a short series.
  const int32_t working_scale = scale + kGuardDigits;
  const Decimal guess = DecimalFromDouble(std::log(Approximate(x)));
  Decimal opposite = guess;
  opposite.negative = !guess.negative && !guess.is_zero();
  const Decimal near_one = MultiplyDecimals(x, Exponential(opposite, working_scale + 8), working_scale + 8);
  // ln(y) = 2 artanh((y - 1) / (y + 1)) = 2 (z + z^3 / 3 + z^5 / 5 + ...)
  const Decimal z =
      DivideDecimals(SubtractDecimals(near_one, One()), AddDecimals(near_one, One()), working_scale, true);
  const Decimal square = MultiplyDecimals(z, z, working_scale);
  Decimal sum = z;
  Decimal power = z;
  for (int32_t i = 3; !power.is_zero(); i += 2) {
    power = MultiplyDecimals(power, square, working_scale);
    sum = AddDecimals(sum, DivideDecimals(power, DecimalFromInt(i), working_scale, true));
  }
  return AddDecimals(guess, AddDecimals(sum, sum));
}

// ln(x) rounded to `scale`. Requires: x > 0.
Decimal Logarithm(const Decimal& x, int32_t scale) {
  if (CompareDecimals(x, One()) == 0) return DecimalFromScaled(0, scale);
  Decimal result;
  if (x.weight >= -1 && x.weight <= 1) {
    result = NearLogarithm(x, scale + 2);
  } else {  // x = m * 10000^weight
    constexpr int32_t kWeightDigits = 6;
    Decimal mantissa = x;
    mantissa.weight = 0;
    const Decimal of_base = NearLogarithm(DecimalFromInt(kDigitBase), scale + kWeightDigits);
    result = AddDecimals(NearLogarithm(mantissa, scale + 2),
                         MultiplyDecimals(of_base, DecimalFromInt(x.weight), scale + kWeightDigits));
  }
  result.Round(scale);
  return result;
}

// The decimal weight of ln(x), about. Requires: x > 0.
int32_t LogarithmWeight(const Decimal& x) {
  if (CompareDecimals(x, DecimalFromScaled(9, 1)) >= 0 && CompareDecimals(x, DecimalFromScaled(11, 1)) <= 0) {
    const Decimal rest = SubtractDecimals(x, One());  // ln(1 + rest) is about rest
    if (rest.is_zero()) return 0;
    return rest.weight * kDecimalsPerDigit + static_cast<int32_t>(std::log10(rest.digits[0]));
  }
  double first = x.digits[0];
  int32_t weight = x.weight * kDecimalsPerDigit;
  if (x.digits.size() > 1) {
    first = first * kDigitBase + x.digits[1];
    weight -= kDecimalsPerDigit;
  }
  return static_cast<int32_t>(std::log10(std::fabs(std::log(first) + weight * kLnOf10)));
}

// The decimal weight of base^exponent, about. Requires: base is not zero.
double PowerWeight(const Decimal& base, int32_t exponent) {
  double first = base.digits[0];
  int32_t point = base.weight * kDecimalsPerDigit;
  for (size_t i = 1; i < base.digits.size() && i * kDecimalsPerDigit < 16; ++i) {
    first = first * kDigitBase + base.digits[i];
    point -= kDecimalsPerDigit;
  }
  return exponent * (std::log10(first) + point);
}

// base^exponent by squaring.
Result<Numeric> WholePower(const Decimal& base, int32_t exponent) {
  const int32_t scale = ClampScale(kSignificantDigitsMin, base.scale);
  const auto rounded = [scale](Decimal value) {
    value.Round(scale);
    return Access::FromDecimal(std::move(value));
  };
  switch (exponent) {
    case 0:
      return rounded(One());
    case 1:
      return rounded(base);
    case -1:
      return Access::FromDecimal(DivideDecimals(One(), base, scale, true));
    case 2:
      return Access::FromDecimal(MultiplyDecimals(base, base, scale));
    default:
      break;
  }
  if (base.is_zero()) return Numeric::FromScaled(0, scale);
  const double weight = PowerWeight(base, exponent);
  if (weight > 3.0 * kWeightMax * kDecimalsPerDigit) return NumericOverflow();
  if (weight + 1 < -scale) return Numeric::FromScaled(0, scale);
  bool invert = exponent < 0;
  uint32_t bits = invert ? 0 - static_cast<uint32_t>(exponent) : static_cast<uint32_t>(exponent);
  const int32_t significant = 1 + scale + static_cast<int32_t>(weight) +
                              static_cast<int32_t>(std::log(std::fabs(static_cast<double>(exponent)))) + kGuardDigits;
  const auto multiply = [significant](const Decimal& a, const Decimal& b) {
    const int32_t by_weight = significant - (a.weight + b.weight) * kDecimalsPerDigit;
    return MultiplyDecimals(a, b, std::max(std::min(by_weight, a.scale + b.scale), 0));
  };
  Decimal square = base;
  Decimal result = bits % 2 != 0 ? base : One();
  while ((bits >>= 1) > 0) {
    square = multiply(square, square);
    if (bits % 2 != 0) result = multiply(square, result);
    if (square.weight > kWeightMax || result.weight > kWeightMax) {
      if (!invert) return NumericOverflow();
      return Numeric::FromScaled(0, scale);
    }
  }
  if (invert) {
    if (result.is_zero()) return NumericOverflow();
    return Access::FromDecimal(DivideDecimals(One(), result, scale, true));
  }
  return rounded(std::move(result));
}

Result<Numeric> FractionalPower(const Decimal& base, const Decimal& exponent) {
  Decimal magnitude = base;
  magnitude.negative = false;
  const bool negative = base.negative && IsOdd(exponent);
  const int32_t log_weight = LogarithmWeight(magnitude);
  // A first estimate of the result's weight, with 8 digits of ln(base).
  const int32_t rough_scale = std::max(8 - log_weight, 0);
  const double estimate = Approximate(MultiplyDecimals(Logarithm(magnitude, rough_scale), exponent, rough_scale));
  if (std::fabs(estimate) > kExponentMax * 1.0033) {
    if (estimate > 0) return NumericOverflow();
    return Numeric::FromScaled(0, kDisplayScaleMax);
  }
  const int32_t weight = static_cast<int32_t>(estimate * kLog10OfE);
  const int32_t scale = ClampScale(kSignificantDigitsMin - weight, std::max(base.scale, exponent.scale));
  const int32_t significant = std::max(scale + weight, 0);
  const int32_t log_scale = std::max(significant - log_weight + kGuardDigits, 0);
  const Decimal log = MultiplyDecimals(Logarithm(magnitude, log_scale), exponent, log_scale);
  const double log_value = Approximate(log);
  if (log_value > kExponentMax) return NumericOverflow();
  if (log_value < -kExponentMax) return Numeric::FromScaled(0, scale);
  Decimal result = Exponential(log, scale);
  result.negative = negative && !result.is_zero();
  return Access::FromDecimal(std::move(result));
}

Error ComplexPower() {
  return Error{"2201F", "a negative number raised to a non-integer power yields a complex result"};
}

// One of the two is NaN or infinite.
Result<Numeric> SpecialPower(const Numeric& base, const Numeric& exponent) {
  const Numeric one = Numeric::FromInt(1);
  const auto is_zero = [](const Numeric& a) { return a.is_finite() && a.sign() == 0; };
  if (is_zero(exponent) || CompareNumerics(base, one) == 0) return one;
  if (base.is_nan() || exponent.is_nan()) return Numeric::NaN();
  if (is_zero(base)) return Numeric();
  if (exponent.is_infinite()) {
    const int against_one = CompareNumerics(Abs(base), one);
    if (against_one == 0) return one;
    return (against_one > 0) == (exponent.sign() > 0) ? Numeric::Infinity() : Numeric();
  }
  if (base.sign() > 0) return exponent.sign() > 0 ? base : Numeric();
  const Decimal power = Access::ToDecimal(exponent);
  if (!IsWhole(power)) return ComplexPower();
  if (exponent.sign() < 0) return Numeric();
  return Numeric::Infinity(IsOdd(power));
}

// Checks an argument of a logarithm.
Status CheckLogarithm(const Numeric& a) {
  if (a.sign() < 0) return Error{"2201E", "cannot take logarithm of a negative number"};
  if (a.sign() == 0) return Error{"2201E", "cannot take logarithm of zero"};
  return Status();
}

}  // namespace

Result<Numeric> SquareRoot(const Numeric& a) {
  if (a.is_nan()) return a;
  if (a.sign() < 0) return Error{"2201F", "cannot take square root of a negative number"};
  if (a.is_infinite()) return a;
  const Decimal value = Access::ToDecimal(a);
  // The root's decimal weight, by the argument's.
  const int32_t weight =
      value.weight >= 0 ? value.weight * kDecimalsPerDigit / 2 + 1 : 1 - (1 - value.weight * kDecimalsPerDigit) / 2;
  const int32_t scale = ClampScale(kSignificantDigitsMin - weight, value.scale);
  if (value.is_zero()) return Numeric::FromScaled(0, scale);
  return Access::FromDecimal(Root(value, scale));
}

Result<Numeric> Exp(const Numeric& a) {
  if (a.is_nan()) return a;
  if (a.is_infinite()) return a.sign() > 0 ? a : Numeric();
  const double value = a.ToDoubleSaturating();
  const double weight = std::clamp(value * kLog10OfE, -2000.0, 2000.0);
  const int32_t scale = ClampScale(kSignificantDigitsMin - static_cast<int32_t>(weight), a.scale());
  if (value > kExponentMax) return NumericOverflow();
  if (value < -kExponentMax) return Numeric::FromScaled(0, scale);
  return Access::FromDecimal(Exponential(Access::ToDecimal(a), scale));
}

Result<Numeric> Ln(const Numeric& a) {
  if (a.is_nan()) return a;
  SISAL_RETURN_IF_ERROR(CheckLogarithm(a));
  if (a.is_infinite()) return a;
  const Decimal value = Access::ToDecimal(a);
  return Access::FromDecimal(Logarithm(value, ClampScale(kSignificantDigitsMin - LogarithmWeight(value), value.scale)));
}

Result<Numeric> Log(const Numeric& base, const Numeric& a) {
  if (base.is_nan() || a.is_nan()) return Numeric::NaN();
  if (base.sign() < 0 || a.sign() < 0) return Error{"2201E", "cannot take logarithm of a negative number"};
  if (base.sign() == 0 || a.sign() == 0) return Error{"2201E", "cannot take logarithm of zero"};
  if (base.is_infinite()) return a.is_infinite() ? Numeric::NaN() : Numeric();
  if (a.is_infinite()) return a;
  const Decimal base_value = Access::ToDecimal(base);
  const Decimal value = Access::ToDecimal(a);
  const int32_t base_weight = LogarithmWeight(base_value);
  const int32_t value_weight = LogarithmWeight(value);
  const int32_t weight = value_weight - base_weight;
  const int32_t scale = ClampScale(kSignificantDigitsMin - weight, std::max(base_value.scale, value.scale));
  const auto logarithm = [&](const Decimal& x, int32_t x_weight) {
    return Logarithm(x, std::max(scale + weight - x_weight + kGuardDigits, 0));
  };
  const Decimal of_base = logarithm(base_value, base_weight);
  if (of_base.is_zero()) return DivisionByZero();
  return Access::FromDecimal(DivideDecimals(logarithm(value, value_weight), of_base, scale, true));
}

Result<Numeric> Power(const Numeric& base, const Numeric& exponent) {
  if (base.is_finite() && base.sign() == 0 && !exponent.is_nan() && exponent.sign() < 0) {
    return Error{"2201F", "zero raised to a negative power is undefined"};
  }
  if (!base.is_finite() || !exponent.is_finite()) return SpecialPower(base, exponent);
  const Decimal base_value = Access::ToDecimal(base);
  const Decimal power = Access::ToDecimal(exponent);
  if (base_value.negative && !IsWhole(power)) return ComplexPower();
  if (IsWhole(power)) {
    const Result<int64_t> whole = exponent.ToInt(TypeId::kInteger);
    if (whole.ok()) return WholePower(base_value, static_cast<int32_t>(*whole));
  }
  if (base_value.is_zero()) return Numeric::FromScaled(0, kSignificantDigitsMin);
  return FractionalPower(base_value, power);
}

}  // namespace sisal::type
