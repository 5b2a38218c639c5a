// The input function of interval: PostgreSQL's verbose and SQL-standard forms, then ISO 8601 (P1Y2MT3H,
// P0001-02T03:00).
#include <algorithm>
#include <charconv>
#include <cmath>

#include "date_time_scan.h"
#include "sisal/type/date_time.h"
#include "text_scan.h"

namespace sisal::type {
namespace {

// Units of time that a number may have.
bool IsUnit(DateField field) { return field <= DateField::kMillennium && field != DateField::kQuarter; }

enum class Outcome : uint8_t { kOk, kMalformed, kFieldOverflow };

// The parts as they are summed up. Each Add returns false on overflow.
class Sums {
 public:
  bool Add(DateField unit, int64_t value, double fraction) {
    switch (unit) {
      case DateField::kMicroseconds:
        return AddMicros(value, fraction, 1);
      case DateField::kMilliseconds:
        return AddMicros(value, fraction, 1000);
      case DateField::kSecond:
        return AddMicros(value, fraction, kMicrosPerSecond);
      case DateField::kMinute:
        return AddMicros(value, fraction, 60 * kMicrosPerSecond);
      case DateField::kHour:
        return AddMicros(value, fraction, 3600 * kMicrosPerSecond);
      case DateField::kDay:
        return AddWhole(days_, value, 1) && AddDayFraction(fraction, 1);
      case DateField::kWeek:
        return AddWhole(days_, value, 7) && AddDayFraction(fraction, 7);
      case DateField::kMonth:
        return AddWhole(months_, value, 1) && AddDayFraction(fraction, 30);
      case DateField::kYear:
        return AddYears(value, fraction, 1);
      case DateField::kDecade:
        return AddYears(value, fraction, 10);
      case DateField::kCentury:
        return AddYears(value, fraction, 100);
      case DateField::kMillennium:
        return AddYears(value, fraction, 1000);
      default:
        return false;
    }
  }

  bool Negate() {
    for (int32_t* part : {&years_, &months_, &days_}) {
      if (__builtin_sub_overflow(0, *part, part)) return false;
    }
    return !__builtin_sub_overflow(int64_t{0}, micros_, &micros_);
  }

  // False: the months do not fit.
  bool Total(Interval& interval) const {
    const int64_t months = int64_t{years_} * 12 + months_;
    if (months < INT32_MIN || months > INT32_MAX) return false;
    interval = {micros_, days_, static_cast<int32_t>(months)};
    return true;
  }

 private:
  static bool AddWhole(int32_t& part, int64_t value, int64_t each) {
    int64_t whole;
    return !__builtin_mul_overflow(value, each, &whole) && !__builtin_add_overflow(int64_t{part}, whole, &part);
  }
  // value + fraction units of `micros_each`; the fraction is rounded to the nearest microsecond.
  bool AddMicros(int64_t value, double fraction, int64_t micros_each) {
    int64_t whole;
    if (__builtin_mul_overflow(value, micros_each, &whole)) return false;
    if (__builtin_add_overflow(micros_, whole, &micros_)) return false;
    const double rest = fraction * static_cast<double>(micros_each);
    int64_t part = static_cast<int64_t>(rest);
    const double remainder = rest - static_cast<double>(part);
    part += remainder > 0.5 ? 1 : remainder < -0.5 ? -1 : 0;
    return !__builtin_add_overflow(micros_, part, &micros_);
  }
  bool AddDayFraction(double fraction, int64_t days_each) {
    const double rest = fraction * static_cast<double>(days_each);
    const int64_t part = static_cast<int64_t>(rest);
    return AddWhole(days_, part, 1) && AddMicros(0, rest - static_cast<double>(part), kMicrosPerDay);
  }
  bool AddYears(int64_t value, double fraction, int64_t years_each) {
    const double months = std::rint(fraction * static_cast<double>(years_each) * 12);
    return AddWhole(years_, value, years_each) && AddWhole(months_, static_cast<int64_t>(months), 1);
  }

  int32_t years_ = 0, months_ = 0, days_ = 0;
  int64_t micros_ = 0;
};

// Reads a signed whole number off the front of `text`. False: none, or (overflow) too large.
bool TakeInteger(std::string_view& text, int64_t& value, bool& overflow) {
  std::string_view digits = text;
  if (!digits.empty() && digits[0] == '+') digits.remove_prefix(1);
  const std::from_chars_result end = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  overflow = end.ec == std::errc::result_out_of_range;
  if (end.ec == std::errc::invalid_argument) return false;
  text.remove_prefix(static_cast<size_t>(end.ptr - text.data()));
  return !overflow;
}

// ".5", "." or "".
bool ParseFraction(std::string_view text, double& fraction) {
  fraction = 0;
  if (text.empty() || text == ".") return true;
  if (text[0] != '.') return false;
  for (char c : text.substr(1)) {
    if (!IsDigit(c)) return false;
  }
  std::from_chars(text.data(), text.data() + text.size(), fraction);
  return true;
}

constexpr uint32_t BitOf(DateField unit) { return uint32_t{1} << static_cast<int>(unit); }
// Seconds with a fraction stand for those, too.
constexpr uint32_t kAllSeconds =
    BitOf(DateField::kSecond) | BitOf(DateField::kMilliseconds) | BitOf(DateField::kMicroseconds);

class VerboseDecoder {
 public:
  explicit VerboseDecoder(IntervalFields fields) : fields_(fields) {}
  Outcome Run(std::string_view text, Sums& sums);

 private:
  Outcome AddClock(std::string_view text);  // perhaps signed
  Outcome AddNumber(std::string_view text);
  Outcome Mark(uint32_t bits) {
    if ((seen_ & bits) != 0) return Outcome::kMalformed;
    seen_ |= bits;
    return Outcome::kOk;
  }

  const IntervalFields fields_;
  Sums sums_;
  uint32_t seen_ = 0;
  bool after_ago_ = false;         // a number needs a unit then
  std::optional<DateField> unit_;  // of the number that comes next, from right to left
};

// From right to left, so that a unit is known before its number.
Outcome VerboseDecoder::Run(std::string_view text, Sums& sums) {
  std::vector<DateTimeField> fields;
  if (!ScanDateTime(text, fields)) return Outcome::kMalformed;
  bool negated = false;
  for (size_t i = fields.size(); i-- > 0;) {
    const DateTimeField& field = fields[i];
    Outcome outcome = Outcome::kOk;
    switch (field.kind) {
      case FieldKind::kTime:
        outcome = AddClock(field.text);
        break;
      case FieldKind::kSigned:
        outcome = field.text.find(':') != std::string::npos ? AddClock(field.text) : AddNumber(field.text);
        break;
      case FieldKind::kDate:
      case FieldKind::kNumber:
        outcome = AddNumber(field.text);
        break;
      case FieldKind::kWord: {
        const std::optional<DateField> unit = ParseDateField(field.text);
        if (field.text == "ago") {
          negated = true;
          unit_.reset();
          after_ago_ = true;
        } else if (!unit) {
          outcome = FindWord(field.text).kind == WordKind::kIgnored ? Outcome::kOk : Outcome::kMalformed;
        } else if (!IsUnit(*unit)) {
          outcome = Outcome::kMalformed;
        } else {
          unit_ = unit;
          after_ago_ = false;
        }
        break;
      }
      case FieldKind::kSpecial:
        outcome = Outcome::kMalformed;
        break;
    }
    if (outcome != Outcome::kOk) return outcome;
  }
  if (seen_ == 0) return Outcome::kMalformed;
  if (negated && !sums_.Negate()) return Outcome::kFieldOverflow;
  sums = sums_;
  return Outcome::kOk;
}

Outcome VerboseDecoder::AddClock(std::string_view text) {
  const bool has_sign = text[0] == '-' || text[0] == '+';
  const bool negative = text[0] == '-';
  if (has_sign) text.remove_prefix(1);
  int64_t hours, micros_of_hour;
  bool overflow = false;
  if (!ParseClock(text, hours, micros_of_hour, overflow)) return Outcome::kMalformed;
  if (overflow) return has_sign ? Outcome::kMalformed : Outcome::kFieldOverflow;
  const int64_t sign = negative ? -1 : 1;
  const bool no_seconds = std::count(text.begin(), text.end(), ':') == 1 && text.find('.') == std::string_view::npos;
  if (fields_.first == DateField::kMinute && fields_.last == DateField::kSecond && no_seconds) {  // mm:ss
    micros_of_hour = hours * 60 * kMicrosPerSecond + micros_of_hour / 60;
    hours = 0;
  }
  if (!sums_.Add(DateField::kHour, sign * hours, 0) || !sums_.Add(DateField::kMicroseconds, sign * micros_of_hour, 0)) {
    return Outcome::kFieldOverflow;
  }
  unit_ = DateField::kDay;  // "1 02:03" is a day and a time
  return Mark(BitOf(DateField::kHour) | BitOf(DateField::kMinute) | kAllSeconds);
}

Outcome VerboseDecoder::AddNumber(std::string_view text) {
  if (!unit_) {
    if (after_ago_) return Outcome::kMalformed;
    unit_ = fields_.last;
  }
  const bool negative = text[0] == '-';
  int64_t value = 0;
  bool overflow = false;
  std::string_view rest = text;
  if (!TakeInteger(rest, value, overflow)) {
    if (overflow) return Outcome::kFieldOverflow;
    if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) rest.remove_prefix(1);
    if (rest.empty() || rest[0] != '.' || rest.size() == 1) return Outcome::kMalformed;
  }
  double fraction = 0;
  if (!rest.empty() && rest[0] == '-') {  // years-months
    int64_t months;
    rest.remove_prefix(1);
    if (rest.empty() || !IsDigit(rest[0]) || !TakeInteger(rest, months, overflow) || !rest.empty()) {
      return overflow ? Outcome::kFieldOverflow : Outcome::kMalformed;
    }
    if (months > 11 || __builtin_mul_overflow(value, int64_t{12}, &value) ||
        __builtin_add_overflow(value, negative ? -months : months, &value)) {
      return Outcome::kFieldOverflow;
    }
    unit_ = DateField::kMonth;
  } else if (!ParseFraction(rest, fraction)) {
    return Outcome::kMalformed;
  }
  if (!sums_.Add(*unit_, value, negative ? -fraction : fraction)) return Outcome::kFieldOverflow;
  const bool all_seconds = unit_ == DateField::kSecond && fraction != 0;
  const Outcome outcome = Mark(all_seconds ? kAllSeconds : BitOf(*unit_));
  if (unit_ == DateField::kHour) unit_ = DateField::kDay;
  return outcome;
}

// P1Y2M3W4DT5H6M7.5S and the forms without letters: P2024-05-06T07:08:09, P20240506T070809. In those the first number
// without a letter is years, or hours, and further ones follow after - or :.
class IsoDecoder {
 public:
  explicit IsoDecoder(Sums& sums) : sums_(sums) {}
  Outcome Run(std::string_view text);

 private:
  // A number as strtod() reads it, in whole part and fraction.
  Outcome TakeNumber();
  Outcome AddRunTogether();
  Outcome AddSeparated();
  bool Add(DateField unit) { return sums_.Add(unit, whole_, fraction_); }

  Sums& sums_;
  std::string_view text_;
  bool time_ = false;
  bool lettered_ = false;  // in the part, date or time, that is being read
  int64_t whole_ = 0;
  double fraction_ = 0;
  size_t digits_ = 0;  // that the number begins with, after its sign
};

Outcome IsoDecoder::TakeNumber() {
  const size_t sign = !text_.empty() && text_[0] == '-' ? 1 : 0;
  digits_ = 0;
  while (sign + digits_ < text_.size() && IsDigit(text_[sign + digits_])) ++digits_;
  if (sign + digits_ == text_.size() && digits_ == 0) return Outcome::kMalformed;
  if (digits_ == 0 && text_[sign] != '.') return Outcome::kMalformed;
  double number = 0;
  const std::from_chars_result end = std::from_chars(text_.data(), text_.data() + text_.size(), number);
  if (end.ec != std::errc()) return Outcome::kMalformed;
  constexpr double kLimit = 9223372036854775808.0;
  if (number < -kLimit || number >= kLimit) return Outcome::kFieldOverflow;
  whole_ = static_cast<int64_t>(number);
  fraction_ = number - static_cast<double>(whole_);
  text_.remove_prefix(static_cast<size_t>(end.ptr - text_.data()));
  return Outcome::kOk;
}

// yyyymmdd or hhmmss.
Outcome IsoDecoder::AddRunTogether() {
  const int64_t parts[] = {whole_ / 10000, whole_ / 100 % 100, whole_ % 100};
  const DateField date[] = {DateField::kYear, DateField::kMonth, DateField::kDay};
  const DateField time[] = {DateField::kHour, DateField::kMinute, DateField::kSecond};
  for (int i = 0; i < 3; ++i) {
    // PostgreSQL takes the fraction of a second for microseconds here, so that it is lost.
    const double fraction = i == 2 && !time_ ? fraction_ : 0;
    if (!sums_.Add((time_ ? time : date)[i], parts[i], fraction)) return Outcome::kFieldOverflow;
  }
  return Outcome::kOk;
}

// yyyy[-mm[-dd]] or hh[:mm[:ss]]; the first number has been taken.
Outcome IsoDecoder::AddSeparated() {
  if (lettered_) return Outcome::kMalformed;
  const DateField date[] = {DateField::kYear, DateField::kMonth, DateField::kDay};
  const DateField time[] = {DateField::kHour, DateField::kMinute, DateField::kSecond};
  for (int i = 0;; ++i) {
    if (!Add((time_ ? time : date)[i])) return Outcome::kFieldOverflow;
    if (text_.empty() || (!time_ && text_[0] == 'T')) return Outcome::kOk;
    if (i == 2 || text_[0] != (time_ ? ':' : '-')) return Outcome::kMalformed;
    text_.remove_prefix(1);
    const Outcome outcome = TakeNumber();
    if (outcome != Outcome::kOk) return outcome;
  }
}

Outcome IsoDecoder::Run(std::string_view text) {
  if (text.size() < 2 || text[0] != 'P') return Outcome::kMalformed;
  text_ = text.substr(1);
  const auto unit_of = [](char letter, bool time) -> std::optional<DateField> {
    switch (letter) {
      case 'Y':
        return time ? std::nullopt : std::optional(DateField::kYear);
      case 'M':
        return time ? DateField::kMinute : DateField::kMonth;
      case 'W':
        return time ? std::nullopt : std::optional(DateField::kWeek);
      case 'D':
        return time ? std::nullopt : std::optional(DateField::kDay);
      case 'H':
        return time ? std::optional(DateField::kHour) : std::nullopt;
      case 'S':
        return time ? std::optional(DateField::kSecond) : std::nullopt;
      default:
        return std::nullopt;
    }
  };
  while (!text_.empty()) {
    if (text_[0] == 'T') {
      time_ = true;
      lettered_ = false;
      text_.remove_prefix(1);
      continue;
    }
    Outcome outcome = TakeNumber();
    if (outcome != Outcome::kOk) return outcome;
    const std::optional<DateField> unit = text_.empty() ? std::nullopt : unit_of(text_[0], time_);
    if (unit) {
      if (!Add(*unit)) return Outcome::kFieldOverflow;
      lettered_ = true;
      text_.remove_prefix(1);
      continue;
    }
    const bool ends = text_.empty() || (!time_ && text_[0] == 'T');
    const bool together = ends && !lettered_ && digits_ == (time_ ? 6 : 8);
    outcome = together ? AddRunTogether() : AddSeparated();
    if (outcome != Outcome::kOk) return outcome;
  }
  return Outcome::kOk;
}

Interval RestrictInterval(Interval value, DateField last) {
  switch (last) {
    case DateField::kYear:
      return {0, 0, value.months / 12 * 12};
    case DateField::kMonth:
      return {0, 0, value.months};
    case DateField::kDay:
      return {0, value.days, value.months};
    case DateField::kHour:
      value.micros -= value.micros % (3600 * kMicrosPerSecond);
      return value;
    case DateField::kMinute:
      value.micros -= value.micros % (60 * kMicrosPerSecond);
      return value;
    default:
      return value;
  }
}

}  // namespace

Result<Interval> ParseInterval(std::string_view text, IntervalFields fields) {
  Sums sums;
  Outcome outcome = VerboseDecoder(fields).Run(text, sums);
  if (outcome == Outcome::kMalformed) {
    sums = Sums();
    outcome = IsoDecoder(sums).Run(text);
  }
  const std::string quoted = "\"" + std::string(text) + "\"";
  if (outcome == Outcome::kMalformed) return Error{"22007", "invalid input syntax for type interval: " + quoted};
  if (outcome == Outcome::kFieldOverflow) return Error{"22015", "interval field value out of range: " + quoted};
  Interval interval;
  if (!sums.Total(interval)) return Error{"22008", "interval out of range"};
  return RestrictInterval(interval, fields.last);
}

}  // namespace sisal::type
