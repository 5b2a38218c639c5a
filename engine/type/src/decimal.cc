#include "decimal.h"

#include <algorithm>

#include "sisal/base/check.h"

namespace sisal::type {
namespace {

// |a| + |b|
Decimal AddMagnitudes(const Decimal& a, const Decimal& b) {
  if (a.is_zero()) return b;
  if (b.is_zero()) return a;
  const int32_t top = std::max(a.weight, b.weight) + 1;  // room for a carry
  const int32_t bottom =
      std::min(a.weight - static_cast<int32_t>(a.digits.size()), b.weight - static_cast<int32_t>(b.digits.size())) + 1;
  Decimal sum;
  sum.weight = top;
  sum.digits.assign(top - bottom + 1, 0);
  std::copy(a.digits.begin(), a.digits.end(), sum.digits.begin() + (top - a.weight));
  uint32_t carry = 0;
  size_t at = top - b.weight + b.digits.size();
  for (size_t i = b.digits.size(); i-- > 0;) {
    uint32_t digit = sum.digits[--at] + b.digits[i] + carry;
    carry = digit >= kDigitBase;
    if (carry != 0) digit -= kDigitBase;
    sum.digits[at] = static_cast<uint16_t>(digit);
  }
  while (carry != 0) {
    uint32_t digit = sum.digits[--at] + carry;
    carry = digit >= kDigitBase;
    if (carry != 0) digit -= kDigitBase;
    sum.digits[at] = static_cast<uint16_t>(digit);
  }
  sum.Normalize();
  return sum;
}

// |a| - |b|. Requires: |a| > |b|.
Decimal SubtractMagnitudes(const Decimal& a, const Decimal& b) {
  if (b.is_zero()) return a;
  const int32_t top = a.weight;
  const int32_t bottom =
      std::min(a.weight - static_cast<int32_t>(a.digits.size()), b.weight - static_cast<int32_t>(b.digits.size())) + 1;
  Decimal difference;
  difference.weight = top;
  difference.digits.assign(top - bottom + 1, 0);
  std::copy(a.digits.begin(), a.digits.end(), difference.digits.begin());
  int32_t borrow = 0;
  size_t at = top - b.weight + b.digits.size();
  for (size_t i = b.digits.size(); i-- > 0;) {
    int32_t digit = difference.digits[--at] - b.digits[i] - borrow;
    borrow = digit < 0;
    if (borrow != 0) digit += kDigitBase;
    difference.digits[at] = static_cast<uint16_t>(digit);
  }
  while (borrow != 0) {
    int32_t digit = difference.digits[--at] - borrow;
    borrow = digit < 0;
    if (borrow != 0) digit += kDigitBase;
    difference.digits[at] = static_cast<uint16_t>(digit);
  }
  difference.Normalize();
  return difference;
}

// The first `count` digits of u / v, where u[0] and v[0] have equal weight: the quotient's first digit counts 1.
// Requires: v[0] != 0, count > 0.
std::vector<uint16_t> QuotientDigits(const std::vector<uint16_t>& u, const std::vector<uint16_t>& v, size_t count) {
  std::vector<uint16_t> quotient(count, 0);
  const size_t n = v.size();
  if (n == 1) {
    uint32_t rest = 0;
    for (size_t i = 0; i < count; ++i) {
      rest = rest * kDigitBase + (i < u.size() ? u[i] : 0);
      quotient[i] = static_cast<uint16_t>(rest / v[0]);
      rest %= v[0];
    }
    return quotient;
  }
  // Knuth, The Art of Computer Programming, volume 2, 4.3.1, algorithm D.
  const uint32_t factor = kDigitBase / (v[0] + 1u);
  std::vector<int32_t> divisor(n);
  uint32_t carry = 0;
  for (size_t i = n; i-- > 0;) {
    carry += v[i] * factor;
    divisor[i] = static_cast<int32_t>(carry % kDigitBase);
    carry /= kDigitBase;
  }
  std::vector<int32_t> rest(count + n, 0);  // one digit more in front
  const size_t taken = std::min(u.size(), count + n - 1);
  carry = 0;
  for (size_t i = taken; i-- > 0;) {
    carry += u[i] * factor;
    rest[i + 1] = static_cast<int32_t>(carry % kDigitBase);
    carry /= kDigitBase;
  }
  rest[0] = static_cast<int32_t>(carry);
  for (size_t j = 0; j < count; ++j) {
    const int32_t head = rest[j] * kDigitBase + rest[j + 1];
    int32_t guess = head / divisor[0];
    int32_t remainder = head % divisor[0];
    while (guess >= kDigitBase || guess * divisor[1] > remainder * kDigitBase + rest[j + 2]) {
      --guess;
      remainder += divisor[0];
      if (remainder >= kDigitBase) break;
    }
    if (guess == 0) continue;
    int32_t borrow = 0;
    for (size_t i = n; i-- > 0;) {
      int32_t digit = rest[j + 1 + i] - guess * divisor[i] - borrow;
      borrow = 0;
      if (digit < 0) {
        borrow = (kDigitBase - 1 - digit) / kDigitBase;
        digit += borrow * kDigitBase;
      }
      rest[j + 1 + i] = digit;
    }
    rest[j] -= borrow;
    if (rest[j] < 0) {  // the guess was one too large
      --guess;
      int32_t over = 0;
      for (size_t i = n; i-- > 0;) {
        int32_t digit = rest[j + 1 + i] + divisor[i] + over;
        over = digit >= kDigitBase;
        if (over != 0) digit -= kDigitBase;
        rest[j + 1 + i] = digit;
      }
      rest[j] += over;
    }
    quotient[j] = static_cast<uint16_t>(guess);
  }
  return quotient;
}

}  // namespace

void Decimal::Normalize() {
  size_t leading = 0;
  while (leading < digits.size() && digits[leading] == 0) ++leading;
  if (leading > 0) digits.erase(digits.begin(), digits.begin() + static_cast<std::ptrdiff_t>(leading));
  weight -= static_cast<int32_t>(leading);
  while (!digits.empty() && digits.back() == 0) digits.pop_back();
  if (digits.empty()) {
    negative = false;
    weight = 0;
  }
}

void Decimal::Round(int32_t to_scale) { Cut(to_scale, true); }
void Decimal::Truncate(int32_t to_scale) { Cut(to_scale, false); }

void Decimal::Cut(int32_t to_scale, bool round) {
  scale = std::max(to_scale, 0);
  // Decimals that stay, counted from the first decimal of digits[0].
  const int64_t kept = (int64_t{weight} + 1) * kDecimalsPerDigit + to_scale;
  if (kept < 0) {
    digits.clear();
    Normalize();
    return;
  }
  const size_t whole = static_cast<size_t>(kept / kDecimalsPerDigit);
  if (whole >= digits.size()) return;
  const size_t part = kept % kDecimalsPerDigit;
  const uint32_t unit = static_cast<uint32_t>(kPowersOfTen[kDecimalsPerDigit - part]);
  const uint32_t dropped = digits[whole] % unit;
  const bool up = round && dropped >= unit / 2;
  size_t size = whole;
  uint32_t step = up ? 1 : 0;
  if (part > 0) {
    digits[whole] = static_cast<uint16_t>(digits[whole] - dropped);
    step *= unit;
    ++size;
  }
  digits.resize(size);
  for (size_t i = size; step != 0;) {
    if (i == 0) {
      digits.insert(digits.begin(), 1);
      ++weight;
      break;
    }
    --i;
    const uint32_t digit = digits[i] + step;
    digits[i] = static_cast<uint16_t>(digit % kDigitBase);
    step = digit / kDigitBase;
  }
  Normalize();
}

Decimal DecimalFromInt(int64_t value) { return DecimalFromScaled(value, 0); }

Decimal DecimalFromScaled(__int128 coefficient, int32_t scale) {
  Decimal result;
  result.scale = scale;
  result.negative = coefficient < 0;
  unsigned __int128 rest = coefficient;
  if (coefficient < 0) rest = 0 - rest;
  const int32_t fraction_digits = (scale + kDecimalsPerDigit - 1) / kDecimalsPerDigit;
  // The lowest digit is filled up with zeros to a whole one.
  const int32_t padding = fraction_digits * kDecimalsPerDigit - scale;
  uint16_t reversed[12];
  size_t count = 0;
  const uint32_t lowest_base = static_cast<uint32_t>(kPowersOfTen[kDecimalsPerDigit - padding]);
  reversed[count++] = static_cast<uint16_t>(static_cast<uint32_t>(rest % lowest_base) * kPowersOfTen[padding]);
  rest /= lowest_base;
  while (rest > UINT64_MAX) {
    reversed[count++] = static_cast<uint16_t>(rest % kDigitBase);
    rest /= kDigitBase;
  }
  for (uint64_t low = static_cast<uint64_t>(rest); low != 0; low /= kDigitBase) {
    reversed[count++] = static_cast<uint16_t>(low % kDigitBase);
  }
  result.weight = static_cast<int32_t>(count) - 1 - fraction_digits;
  result.digits.assign(std::make_reverse_iterator(reversed + count), std::make_reverse_iterator(reversed));
  result.Normalize();
  return result;
}

int CompareMagnitudes(const Decimal& a, const Decimal& b) {
  if (a.is_zero() || b.is_zero()) return static_cast<int>(b.is_zero()) - static_cast<int>(a.is_zero());
  if (a.weight != b.weight) return a.weight < b.weight ? -1 : 1;
  const size_t common = std::min(a.digits.size(), b.digits.size());
  for (size_t i = 0; i < common; ++i) {
    if (a.digits[i] != b.digits[i]) return a.digits[i] < b.digits[i] ? -1 : 1;
  }
  if (a.digits.size() == b.digits.size()) return 0;
  return a.digits.size() < b.digits.size() ? -1 : 1;
}

int CompareDecimals(const Decimal& a, const Decimal& b) {
  if (a.negative != b.negative) return a.negative ? -1 : 1;
  const int order = CompareMagnitudes(a, b);
  return a.negative ? -order : order;
}

Decimal AddDecimals(const Decimal& a, const Decimal& b) {
  Decimal sum;
  if (a.negative == b.negative) {
    sum = AddMagnitudes(a, b);
    sum.negative = a.negative && !sum.is_zero();
  } else {
    const int order = CompareMagnitudes(a, b);
    if (order != 0) {
      const Decimal& larger = order > 0 ? a : b;
      sum = SubtractMagnitudes(larger, order > 0 ? b : a);
      sum.negative = larger.negative;
    }
  }
  sum.scale = std::max(a.scale, b.scale);
  return sum;
}

Decimal SubtractDecimals(const Decimal& a, const Decimal& b) {
  Decimal negated = b;
  negated.negative = !b.negative && !b.is_zero();
  return AddDecimals(a, negated);
}

Decimal MultiplyDecimals(const Decimal& a, const Decimal& b, int32_t scale) {
  Decimal product;
  if (a.is_zero() || b.is_zero()) {
    product.scale = std::max(scale, 0);
    return product;
  }
  // Products are below 10^8 and there are below 2^16 of them in a sum, so a sum fits in 64 bits without carries.
  const size_t count = a.digits.size() + b.digits.size();
  std::vector<uint64_t> sums(count, 0);
  for (size_t i = 0; i < a.digits.size(); ++i) {
    const uint64_t digit = a.digits[i];
    uint64_t* row = sums.data() + i + 1;
    for (size_t j = 0; j < b.digits.size(); ++j) row[j] += digit * b.digits[j];
  }
  product.digits.resize(count);
  uint64_t carry = 0;
  for (size_t i = count; i-- > 0;) {
    carry += sums[i];
    product.digits[i] = static_cast<uint16_t>(carry % kDigitBase);
    carry /= kDigitBase;
  }
  product.weight = a.weight + b.weight + 1;
  product.negative = a.negative != b.negative;
  product.Normalize();
  product.Round(scale);
  return product;
}

Decimal DivideDecimals(const Decimal& a, const Decimal& b, int32_t scale, bool round) {
  SISAL_CHECK(!b.is_zero() && scale >= 0);
  Decimal quotient;
  quotient.scale = scale;
  if (a.is_zero()) return quotient;
  // At least one decimal more than asked for, by which the quotient is rounded.
  const int64_t count = int64_t{a.weight} - b.weight + 1 + scale / kDecimalsPerDigit + 1;
  if (count <= 0) return quotient;
  quotient.weight = a.weight - b.weight;
  quotient.digits = QuotientDigits(a.digits, b.digits, static_cast<size_t>(count));
  quotient.negative = a.negative != b.negative;
  quotient.Normalize();
  round ? quotient.Round(scale) : quotient.Truncate(scale);
  return quotient;
}

}  // namespace sisal::type
