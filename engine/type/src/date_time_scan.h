// Cuts the text of a date, time or interval into fields, by PostgreSQL's rules (manual, appendix B.1).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sisal/base/status.h"

namespace sisal::type {

enum class FieldKind : uint8_t {
  kNumber,   // digits, perhaps with a point
  kDate,     // digits or letters joined by - / .
  kTime,     // digits with colons
  kSigned,   // a sign and digits: a time zone's offset, or part of an interval
  kWord,     // letters
  kSpecial,  // a sign and letters: -infinity
};
struct DateTimeField {
  FieldKind kind;
  std::string text;  // in lower case
};

// False: malformed.
bool ScanDateTime(std::string_view text, std::vector<DateTimeField>& fields);

// What a word means.
enum class WordKind : uint8_t {
  kUnknown,
  kIgnored,
  kMonth,
  kMeridian,
  kEra,
  kZone,  // UTC
  kZoneAbbreviation,
  kDayOfWeek,
  kTimeMark,
  kJulianMark,
  kNow,
  kToday,
  kYesterday,
  kTomorrow,
  kMidnight,
  kEpoch,
  kInfinity,
  kNegativeInfinity,
};
struct Word {
  WordKind kind = WordKind::kUnknown;
  int32_t value = 0;  // month from 1; 1: pm, BC; abbreviation: seconds east
};
Word FindWord(std::string_view lower);
// A time zone's abbreviation that PostgreSQL knows and we do not: its offset has changed over the years.
bool IsForeignZone(std::string_view lower);

// "h:m[:s[.frac]]" or "m:s.frac". The caller checks the hours. False:
// malformed. `overflow`: a part is out of its range.
bool ParseClock(std::string_view text, int64_t& hours, int64_t& micros_of_hour, bool& overflow);
// ".25" or "." as microseconds, rounded. False: malformed.
bool ParseFractionMicros(std::string_view text, int64_t& micros);
// "+hh", "+hhmm", "+hh:mm[:ss]" in seconds. False: malformed; `overflow`: out of range.
bool ParseOffset(std::string_view text, int32_t& seconds, bool& overflow);
// All digits, at most 18 of them.
bool ParseDigits(std::string_view text, int64_t& value);

}  // namespace sisal::type
