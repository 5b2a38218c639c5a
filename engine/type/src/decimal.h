// Arithmetic on finite decimals of any length: what Numeric's big form is computed with.
//
// Digits are of base 10^4, so that display scales and PostgreSQL's rules for result scales, which are stated in such
// digits, carry over as they are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sisal::type {

inline constexpr int32_t kDigitBase = 10'000;
inline constexpr int32_t kDecimalsPerDigit = 4;
inline constexpr int32_t kWeightMax = 32'767;         // 131072 decimals before the point
inline constexpr int32_t kScaleMax = 16'383;          // decimals after the point
inline constexpr int32_t kSignificantDigitsMin = 16;  // of results whose scale we choose
inline constexpr int32_t kDisplayScaleMax = 1'000;    // of results whose scale we choose

// 10^0 to 10^18.
inline constexpr std::array<int64_t, 19> kPowersOfTen = [] {
  std::array<int64_t, 19> powers{};
  powers[0] = 1;
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
  return powers;
}();
// 10^0 to 10^38.
inline constexpr std::array<__int128, 39> kWidePowersOfTen = [] {
  std::array<__int128, 39> powers{};
  powers[0] = 1;
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
  return powers;
}();

// The value is the sum of digits[i] * 10000^(weight - i). Operations want and leave it normalised: the first and the
// last digit are not 0; no digits, no sign and weight 0 for the value 0.
struct Decimal {
  bool negative = false;
  int32_t weight = 0;
  int32_t scale = 0;  // display scale; no digit lies beyond it, rounded up to a whole digit
  std::vector<uint16_t> digits;

  bool is_zero() const { return digits.empty(); }
  void Normalize();
  // Half away from zero, or towards zero. `to_scale` may be negative; the display scale is then 0.
  void Round(int32_t to_scale);
  void Truncate(int32_t to_scale);

 private:
  void Cut(int32_t to_scale, bool round);
};

Decimal DecimalFromInt(int64_t value);
// coefficient * 10^-scale
Decimal DecimalFromScaled(__int128 coefficient, int32_t scale);

int CompareMagnitudes(const Decimal& a, const Decimal& b);
int CompareDecimals(const Decimal& a, const Decimal& b);
// Exact; the scale is the larger one.
Decimal AddDecimals(const Decimal& a, const Decimal& b);
Decimal SubtractDecimals(const Decimal& a, const Decimal& b);
// Rounded to `scale`.
Decimal MultiplyDecimals(const Decimal& a, const Decimal& b, int32_t scale);
// Rounded, or else cut off, at `scale` >= 0. Requires: b is not zero.
Decimal DivideDecimals(const Decimal& a, const Decimal& b, int32_t scale, bool round);

}  // namespace sisal::type
