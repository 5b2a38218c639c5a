// SQL's numeric: decimal numbers of any length, with PostgreSQL 15's semantics and result scales.
//
// A value is finite, NaN, Infinity or -Infinity. A finite one keeps its display scale (the digits after the point that
// its text shows): 1.0 and 1.00 are equal, but print as they are. At most 131072 digits before the point, 16383 after.
//
// In memory and as bytes there are two forms. *Small*: an int64 coefficient of at most 18 digits times 10^-scale, scale
// up to 63; nearly all values in practice, and the operators have short paths for it. *Big*: digits of base 10^4.
// The form is a function of the value and its scale, so equal bytes and equal (value, scale) are the same.
//
//   bytes of a small value    0      scale, 0..63
//                             1..    coefficient: two's complement, little-endian, as few bytes as hold it, 0: none
//   bytes of a big value      0      0x80, negative: 0x81
//                             1..2   display scale
//                             3..4   weight, signed: the first digit counts 10000^weight
//                             5..    digits, two bytes each; the first and the last are not 0
//   others                    0      0xC0 NaN, 0xC1 -Infinity, 0xC2 Infinity
//
// Errors are PostgreSQL's: 22003 value overflows numeric format, 22012 division by zero, ...
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sisal/base/arena.h"
#include "sisal/base/status.h"
#include "sisal/type/sql_type.h"

namespace sisal::type {

class Numeric {
 public:
  Numeric() = default;  // 0
  static Numeric FromInt(int64_t value);
  // coefficient * 10^-scale. Requires: 0 <= scale <= 16383.
  static Numeric FromScaled(__int128 coefficient, int32_t scale);
  static Numeric NaN();
  static Numeric Infinity(bool negative = false);
  // To 15 significant digits, as PostgreSQL casts; FromReal: to 6.
  static Numeric FromDouble(double value);
  static Numeric FromReal(double value);
  // The type's input function. Errors: 22P02, 22003.
  static Result<Numeric> Parse(std::string_view text);
  // Requires: IsValidEncoding(bytes).
  static Numeric Decode(std::string_view bytes);
  static bool IsValidEncoding(std::string_view bytes);

  std::string Encode() const;
  void AppendEncoded(std::string& out) const;
  std::string_view EncodeIn(Arena& arena) const;
  std::string ToString() const;
  void AppendText(std::string& out) const;

  bool is_nan() const { return form_ == Form::kNaN; }
  bool is_infinite() const { return form_ == Form::kInfinity || form_ == Form::kNegativeInfinity; }
  bool is_finite() const { return form_ <= Form::kBig; }
  // -1, 0, 1. Requires: !is_nan().
  int sign() const;
  // Digits after the point that the text shows. Requires: is_finite().
  int32_t scale() const { return scale_; }
  // The value as coefficient * 10^-scale(), if it is in the small form.
  std::optional<int64_t> small_coefficient() const {
    return form_ == Form::kSmall ? std::optional<int64_t>(coefficient_) : std::nullopt;
  }

  // Rounds half away from zero. `to`: kSmallint, kInteger or kBigint. Errors: 22003 integer out of range; 0A000 for NaN
  // and infinities.
  Result<int64_t> ToInt(TypeId to) const;
  // The nearest double or float. Errors: 22003 out of range.
  Result<double> ToDouble() const;
  Result<double> ToReal() const;
  // The nearest double; saturates to infinities and 0.
  double ToDoubleSaturating() const;

  // Both as numeric(precision, scale) demands: rounds to the scale. Errors: 22003 numeric field overflow, with detail.
  Status ApplyPrecision(int32_t precision, int32_t scale);

 private:
  friend struct NumericAccess;
  enum class Form : uint8_t { kSmall, kBig, kNaN, kNegativeInfinity, kInfinity };

  Form form_ = Form::kSmall;
  bool negative_ = false;         // kBig
  int32_t scale_ = 0;             // display scale of kSmall and kBig
  int32_t weight_ = 0;            // kBig
  int64_t coefficient_ = 0;       // kSmall
  std::vector<uint16_t> digits_;  // kBig
};

// NaN is above all and equal to itself.
int CompareNumerics(const Numeric& a, const Numeric& b);
// The same of encoded values; much faster when both are small.
int CompareEncodedNumerics(std::string_view a, std::string_view b);
uint64_t HashEncodedNumeric(std::string_view bytes);

Result<Numeric> Add(const Numeric& a, const Numeric& b);
Result<Numeric> Subtract(const Numeric& a, const Numeric& b);
Result<Numeric> Multiply(const Numeric& a, const Numeric& b);
// Errors: 22012. The scale of the quotient gives 16 significant digits at least, as PostgreSQL's.
Result<Numeric> Divide(const Numeric& a, const Numeric& b);
// div(): the quotient without its fraction.
Result<Numeric> DivideTruncated(const Numeric& a, const Numeric& b);
// %: has the sign of `a`.
Result<Numeric> Modulo(const Numeric& a, const Numeric& b);
Numeric Negate(const Numeric& a);
Numeric Abs(const Numeric& a);
Numeric Sign(const Numeric& a);  // -1, 0, 1 or NaN
// Half away from zero; `scale` may be negative: round(1234, -2) = 1200.
Result<Numeric> Round(const Numeric& a, int32_t scale);
Result<Numeric> Truncate(const Numeric& a, int32_t scale);
Result<Numeric> Ceil(const Numeric& a);
Result<Numeric> Floor(const Numeric& a);
// Errors: 2201F a negative base with a fractional exponent or zero with a negative one, 2201E logarithms.
Result<Numeric> SquareRoot(const Numeric& a);
Result<Numeric> Exp(const Numeric& a);
Result<Numeric> Ln(const Numeric& a);
Result<Numeric> Log(const Numeric& base, const Numeric& a);
Result<Numeric> Power(const Numeric& base, const Numeric& exponent);
// Digits after the point that the value needs (min_scale()), and the value with just those (trim_scale()). nullopt: NaN
// and infinities.
std::optional<int32_t> MinimalScale(const Numeric& a);
Numeric TrimScale(const Numeric& a);

// A running sum for aggregates: zeroed memory is an empty sum, there is no destructor, and what does not fit lies in
// the arena. Exact; the scale of the total is the largest scale that was added.
struct NumericSum {
  void Add(std::string_view encoded, Arena& arena);
  void AddInt(int64_t value, Arena& arena);
  void Merge(const NumericSum& other, Arena& arena);
  Result<Numeric> Total() const;

 private:
  void AddScaled(__int128 value, int32_t scale, Arena& arena);
  void Spill(const Numeric& value, Arena& arena);
  __int128 total() const { return static_cast<__int128>(total_high_) << 64 | total_low_; }
  void set_total(__int128 total);

  // total * 10^-scale; kept in two words, so that 8-byte aligned memory will do.
  uint64_t total_low_;
  int64_t total_high_;
  int32_t scale_;
  bool has_nan_, has_infinity_, has_negative_infinity_, overflowed_;
  char* spill_;  // an encoded numeric: what did not fit into total; nullptr: 0
  uint32_t spill_bytes_, spill_capacity_;
};

}  // namespace sisal::type
