// The input function of interval: PostgreSQL's verbose and SQL-standard forms, then ISO 8601 (P1Y2MT3H).
#include <algorithm>
#include <charconv>
#include <cmath>

#include "date_time_scan.h"
#include "sisal/type/date_time.h"
#include "text_scan.h"

namespace sisal::type {
namespace {

enum class Unit : uint8_t {
  kNone,
  kMicrosecond,
  kMillisecond,
  kSecond,
  kMinute,
  kHour,
  kDay,
  kWeek,
  kMonth,
  kYear,
  kDecade,
  kCentury,
  kMillennium,
  kAgo,
};
struct UnitName {
  std::string_view text;
  Unit unit;
};
constexpr UnitName kUnitNames[] = {
    {"us", Unit::kMicrosecond},
    {"usec", Unit::kMicrosecond},
    {"usecond", Unit::kMicrosecond},
    {"useconds", Unit::kMicrosecond},
    {"usecs", Unit::kMicrosecond},
    {"microsecond", Unit::kMicrosecond},
    {"microseconds", Unit::kMicrosecond},
    {"microsecon", Unit::kMicrosecond},
    {"ms", Unit::kMillisecond},
    {"msec", Unit::kMillisecond},
    {"msecond", Unit::kMillisecond},
    {"mseconds", Unit::kMillisecond},
    {"msecs", Unit::kMillisecond},
    {"millisecond", Unit::kMillisecond},
    {"milliseconds", Unit::kMillisecond},
    {"millisecon", Unit::kMillisecond},
    {"s", Unit::kSecond},
    {"sec", Unit::kSecond},
    {"secs", Unit::kSecond},
    {"second", Unit::kSecond},
    {"seconds", Unit::kSecond},
    {"m", Unit::kMinute},
    {"min", Unit::kMinute},
    {"mins", Unit::kMinute},
    {"minute", Unit::kMinute},
    {"minutes", Unit::kMinute},
    {"h", Unit::kHour},
    {"hr", Unit::kHour},
    {"hrs", Unit::kHour},
    {"hour", Unit::kHour},
    {"hours", Unit::kHour},
    {"d", Unit::kDay},
    {"day", Unit::kDay},
    {"days", Unit::kDay},
    {"w", Unit::kWeek},
    {"week", Unit::kWeek},
    {"weeks", Unit::kWeek},
    {"mon", Unit::kMonth},
    {"mons", Unit::kMonth},
    {"month", Unit::kMonth},
    {"months", Unit::kMonth},
    {"y", Unit::kYear},
    {"yr", Unit::kYear},
    {"yrs", Unit::kYear},
    {"year", Unit::kYear},
    {"years", Unit::kYear},
    {"dec", Unit::kDecade},
    {"decs", Unit::kDecade},
    {"decade", Unit::kDecade},
    {"decades", Unit::kDecade},
    {"c", Unit::kCentury},
    {"cent", Unit::kCentury},
    {"century", Unit::kCentury},
    {"centuries", Unit::kCentury},
    {"mil", Unit::kMillennium},
    {"mils", Unit::kMillennium},
    {"millennia", Unit::kMillennium},
    {"millennium", Unit::kMillennium},
    {"ago", Unit::kAgo},
};

Unit FindUnit(std::string_view lower) {
  for (const UnitName& name : kUnitNames) {
    if (name.text == lower) return name.unit;
  }
  return Unit::kNone;
}

enum class Outcome : uint8_t { kOk, kMalformed, kFieldOverflow };

// The parts as they are summed up; 64 bits until the end.
struct Sums {
  int64_t months = 0, days = 0, micros = 0;

  // Adds value + fraction units of `micros_each`, rounded to the nearest microsecond.
  bool AddMicros(int64_t value, double fraction, int64_t micros_each) {
    int64_t whole;
    if (__builtin_mul_overflow(value, micros_each, &whole) || __builtin_add_overflow(micros, whole, &micros))
      return false;
    const double rest = fraction * static_cast<double>(micros_each);
    int64_t part = static_cast<int64_t>(rest);
    const double remainder = rest - static_cast<double>(part);
    part += remainder > 0.5 ? 1 : remainder < -0.5 ? -1 : 0;
    return !__builtin_add_overflow(micros, part, &micros);
  }
  bool AddDays(int64_t value, double fraction, int64_t days_each) {
    int64_t whole;
    if (__builtin_mul_overflow(value, days_each, &whole) || __builtin_add_overflow(days, whole, &days)) return false;
    return AddDayFraction(fraction, days_each);
  }
  bool AddDayFraction(double fraction, int64_t days_each) {
    const double rest = fraction * static_cast<double>(days_each);
    const int64_t part = static_cast<int64_t>(rest);
    if (__builtin_add_overflow(days, part, &days)) return false;
    return AddMicros(0, rest - static_cast<double>(part), kMicrosPerDay);
  }
  bool AddMonths(int64_t value, double fraction) {
    return !__builtin_add_overflow(months, value, &months) && AddDayFraction(fraction, 30);
  }
  bool AddYears(int64_t value, double fraction, int64_t years_each) {
    int64_t whole;
    if (__builtin_mul_overflow(value, years_each * 12, &whole) || __builtin_add_overflow(months, whole, &months)) {
      return false;
    }
    const double part = std::rint(fraction * static_cast<double>(years_each) * 12);
    return !__builtin_add_overflow(months, static_cast<int64_t>(part), &months);
  }

  bool Add(Unit unit, int64_t value, double fraction) {
    switch (unit) {
      case Unit::kMicrosecond:
        return AddMicros(value, fraction, 1);
      case Unit::kMillisecond:
        return AddMicros(value, fraction, 1000);
      case Unit::kSecond:
        return AddMicros(value, fraction, kMicrosPerSecond);
      case Unit::kMinute:
        return AddMicros(value, fraction, 60 * kMicrosPerSecond);
      case Unit::kHour:
        return AddMicros(value, fraction, 3600 * kMicrosPerSecond);
      case Unit::kDay:
        return AddDays(value, fraction, 1);
      case Unit::kWeek:
        return AddDays(value, fraction, 7);
      case Unit::kMonth:
        return AddMonths(value, fraction);
      case Unit::kYear:
        return AddYears(value, fraction, 1);
      case Unit::kDecade:
        return AddYears(value, fraction, 10);
      case Unit::kCentury:
        return AddYears(value, fraction, 100);
      case Unit::kMillennium:
        return AddYears(value, fraction, 1000);
      case Unit::kNone:
      case Unit::kAgo:
        break;
    }
    return false;
  }
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

class VerboseDecoder {
 public:
  Outcome Run(std::string_view text, Sums& sums);

 private:
  Outcome AddClock(std::string_view text, bool negative);
  Outcome AddNumber(std::string_view text);
  Outcome Mark(Unit unit) {
    const uint32_t bit = uint32_t{1} << static_cast<int>(unit);
    if ((seen_ & bit) != 0) return Outcome::kMalformed;
    seen_ |= bit;
    return Outcome::kOk;
  }

  Sums sums_;
  uint32_t seen_ = 0;
  Unit unit_ = Unit::kNone;  // of the number that comes next, from right to left
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
        outcome = AddClock(field.text, false);
        break;
      case FieldKind::kSigned:
        outcome = field.text.find(':') != std::string::npos
                      ? AddClock(std::string_view(field.text).substr(1), field.text[0] == '-')
                      : AddNumber(field.text);
        break;
      case FieldKind::kDate:
      case FieldKind::kNumber:
        outcome = AddNumber(field.text);
        break;
      case FieldKind::kWord: {
        const Unit unit = FindUnit(field.text);
        if (unit == Unit::kNone) {
          outcome = FindWord(field.text).kind == WordKind::kIgnored ? Outcome::kOk : Outcome::kMalformed;
        } else if (unit == Unit::kAgo) {
          negated = true;
        } else {
          unit_ = unit;
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
  if (negated) {
    if (__builtin_sub_overflow(int64_t{0}, sums_.micros, &sums_.micros) ||
        __builtin_sub_overflow(int64_t{0}, sums_.days, &sums_.days) ||
        __builtin_sub_overflow(int64_t{0}, sums_.months, &sums_.months)) {
      return Outcome::kFieldOverflow;
    }
  }
  sums = sums_;
  return Outcome::kOk;
}

Outcome VerboseDecoder::AddClock(std::string_view text, bool negative) {
  int64_t hours, micros_of_hour;
  bool overflow = false;
  if (!ParseClock(text, hours, micros_of_hour, overflow)) return Outcome::kMalformed;
  const int64_t sign = negative ? -1 : 1;
  if (overflow || !sums_.Add(Unit::kHour, sign * hours, 0) ||
      !sums_.Add(Unit::kMicrosecond, sign * micros_of_hour, 0)) {
    return Outcome::kFieldOverflow;
  }
  unit_ = Unit::kDay;  // "1 02:03" is a day and a time
  for (Unit unit : {Unit::kHour, Unit::kMinute, Unit::kSecond}) {
    if (const Outcome outcome = Mark(unit); outcome != Outcome::kOk) return outcome;
  }
  return Outcome::kOk;
}

Outcome VerboseDecoder::AddNumber(std::string_view text) {
  if (unit_ == Unit::kNone) unit_ = Unit::kSecond;
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
    unit_ = Unit::kMonth;
  } else if (!ParseFraction(rest, fraction)) {
    return Outcome::kMalformed;
  }
  if (!sums_.Add(unit_, value, negative ? -fraction : fraction)) return Outcome::kFieldOverflow;
  const Outcome outcome = Mark(unit_);
  if (unit_ == Unit::kHour) unit_ = Unit::kDay;
  return outcome;
}

// P1Y2M3W4DT5H6M7.5S and P0001-02-03T04:05:06.
Outcome DecodeIso(std::string_view text, Sums& sums) {
  if (text.size() < 2 || text[0] != 'P') return Outcome::kMalformed;
  text.remove_prefix(1);
  bool time = false;
  bool any = false;
  const auto unit_of = [&](char letter) {
    switch (letter) {
      case 'Y':
        return time ? Unit::kNone : Unit::kYear;
      case 'M':
        return time ? Unit::kMinute : Unit::kMonth;
      case 'W':
        return time ? Unit::kNone : Unit::kWeek;
      case 'D':
        return time ? Unit::kNone : Unit::kDay;
      case 'H':
        return time ? Unit::kHour : Unit::kNone;
      case 'S':
        return time ? Unit::kSecond : Unit::kNone;
      default:
        return Unit::kNone;
    }
  };
  while (!text.empty()) {
    if (text[0] == 'T') {
      if (time) return Outcome::kMalformed;
      time = true;
      text.remove_prefix(1);
      continue;
    }
    const bool negative = text[0] == '-';
    size_t length = negative || text[0] == '+' ? 1 : 0;
    while (length < text.size() && IsDigit(text[length])) ++length;
    std::string_view number = text.substr(0, length);
    int64_t value = 0;
    bool overflow = false;
    const bool has_whole = TakeInteger(number, value, overflow);
    if (overflow) return Outcome::kFieldOverflow;
    size_t end = length;
    if (end < text.size() && text[end] == '.') {
      ++end;
      while (end < text.size() && IsDigit(text[end])) ++end;
    }
    double fraction;
    if ((!has_whole && end < length + 2) || !ParseFraction(text.substr(length, end - length), fraction)) {
      return Outcome::kMalformed;
    }
    if (negative) fraction = -fraction;
    if (end == text.size()) return Outcome::kMalformed;
    const Unit unit = unit_of(text[end]);
    if (unit == Unit::kNone) return Outcome::kMalformed;
    if (!sums.Add(unit, value, fraction)) return Outcome::kFieldOverflow;
    any = true;
    text.remove_prefix(end + 1);
  }
  return any ? Outcome::kOk : Outcome::kMalformed;
}

}  // namespace

Result<Interval> ParseInterval(std::string_view text) {
  Sums sums;
  Outcome outcome = VerboseDecoder().Run(text, sums);
  if (outcome == Outcome::kMalformed) {
    sums = Sums();
    outcome = DecodeIso(text, sums);
  }
  const std::string quoted = "\"" + std::string(text) + "\"";
  if (outcome == Outcome::kMalformed) return Error{"22007", "invalid input syntax for type interval: " + quoted};
  if (outcome == Outcome::kFieldOverflow || sums.days < INT32_MIN || sums.days > INT32_MAX) {
    return Error{"22015", "interval field value out of range: " + quoted};
  }
  if (sums.months < INT32_MIN || sums.months > INT32_MAX) return Error{"22008", "interval out of range"};
  return Interval{sums.micros, static_cast<int32_t>(sums.days), static_cast<int32_t>(sums.months)};
}

}  // namespace sisal::type
