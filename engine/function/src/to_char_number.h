// to_char() of numbers: PostgreSQL's template patterns (manual, section 9.8).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sisal/base/status.h"

namespace sisal::function {

// A format, parsed once for many values. Borrows the text.
class NumberFormat {
 public:
  // Errors: 42601 patterns that do not go together; 0A000 EEEE.
  static Result<NumberFormat> Parse(std::string_view format);

  bool is_roman() const { return roman_; }
  // Digits behind the point, and the power of ten that V asks for: the caller rounds to them.
  int32_t fraction_digits() const { return fraction_digits_; }
  int32_t shift() const { return shift_; }

  // `number` has no sign and `fraction_digits` digits behind the point, at most fraction_digits(): "12.50". Where it
  // ends, the output does. Errors: 22P02 an ordinal of what is not a number.
  Status Append(bool negative, std::string_view number, int32_t fraction_digits, std::string& out) const;
  // Requires: is_roman().
  void AppendRoman(int64_t value, std::string& out) const;

 private:
  enum class Kind : uint8_t {
    kNine,
    kZero,
    kPoint,
    kComma,
    kCurrency,
    kMinus,
    kPlus,
    kSign,
    kOrdinal,
    kRoman,
    kLiteral,
    kInvisible,
  };
  struct Item {
    Kind kind;
    bool lower = false;
    std::string_view literal;
  };
  enum class LockedSign : uint8_t { kNone, kBefore, kAfter };
  class Writer;

  Status Add(std::string_view name, bool lower);
  Status AddDigit(bool zero);
  Status AddLockedSign();
  void AppendLiteral(std::string_view& format);

  std::vector<Item> items_;
  bool fill_mode_ = false;  // FM: no padding
  bool roman_ = false, point_ = false, brackets_ = false, minus_ = false, plus_ = false, shifting_ = false;
  bool zero_ = false;
  LockedSign locked_sign_ = LockedSign::kNone;
  int32_t sign_place_ = 0;  // digits of the whole part before S
  int32_t whole_digits_ = 0, fraction_digits_ = 0, shift_ = 0;
  int32_t zero_begin_ = 0;  // place of the first '0' in the whole part
  int32_t zero_end_ = 0;    // digits up to the last '0'
};

}  // namespace sisal::function
