// What numeric*.cc share: the way between Numeric's forms and Decimal.
#pragma once

#include "decimal.h"
#include "sisal/type/numeric.h"

namespace sisal::type {

inline constexpr int64_t kSmallCoefficientMax = kPowersOfTen[18] - 1;
inline constexpr int32_t kSmallScaleMax = 63;

struct NumericAccess {
  static bool IsSmall(const Numeric& a) { return a.form_ == Numeric::Form::kSmall; }
  static int64_t Coefficient(const Numeric& a) { return a.coefficient_; }
  static bool IsNegativeBig(const Numeric& a) { return a.negative_; }

  static Numeric MakeSmall(int64_t coefficient, int32_t scale) {
    Numeric result;
    result.coefficient_ = coefficient;
    result.scale_ = scale;
    return result;
  }
  // Requires: is_finite().
  static Decimal ToDecimal(const Numeric& a);
  // Whatever the limits. Requires: `value` is normalised.
  static Numeric FromDecimalUnchecked(Decimal value);
  // Errors: 22003 value overflows numeric format.
  static Result<Numeric> FromDecimal(Decimal value);
};

// `bytes` of the small form. Requires: !bytes.empty(). False: another form.
inline bool DecodeSmall(std::string_view bytes, int64_t& coefficient, int32_t& scale) {
  const uint8_t tag = static_cast<uint8_t>(bytes[0]);
  if (tag > kSmallScaleMax) return false;
  scale = tag;
  const size_t count = bytes.size() - 1;
  uint64_t raw = 0;
  for (size_t i = 0; i < count; ++i) raw |= uint64_t{static_cast<uint8_t>(bytes[i + 1])} << (8 * i);
  const unsigned unused = 64 - 8 * static_cast<unsigned>(count);
  coefficient = count == 0 ? 0 : static_cast<int64_t>(raw << unused) >> unused;
  return true;
}

// Parses a decimal number without blanks and signs of infinity: [+-]digits[.digits][e[+-]digits]. False: malformed.
// `overflow`: the exponent is beyond all limits.
bool ParseDecimal(std::string_view text, Decimal& value, bool& overflow);
void AppendDecimalText(const Decimal& value, std::string& out);

inline Error NumericOverflow() { return Error{"22003", "value overflows numeric format"}; }
inline Error DivisionByZero() { return Error{"22012", "division by zero"}; }

}  // namespace sisal::type
