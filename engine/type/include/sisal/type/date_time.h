// Dates, times, timestamps and intervals: the proleptic Gregorian calendar, text forms, fields and arithmetic.
//
// A date counts days and a timestamp microseconds since 1970-01-01 (UTC); INT64_MIN and INT64_MAX are the infinities of
// both. Ranges are PostgreSQL's (4713 BC to 5874897 AD and to 294276 AD), but a timestamp ends at
// 294247-01-10 04:00:54.775806, where the number does. Years here are astronomical: 0 is 1 BC, -1 is 2 BC.
// Time zones: UTC and fixed offsets only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sisal/base/status.h"
#include "sisal/type/datum.h"
#include "sisal/type/numeric.h"

namespace sisal::type {

inline constexpr int64_t kInfinite = INT64_MAX;
inline constexpr int64_t kNegativeInfinite = INT64_MIN;
inline constexpr int64_t kMicrosPerSecond = 1'000'000;
inline constexpr int64_t kMicrosPerDay = 86'400 * kMicrosPerSecond;
inline constexpr int64_t kMinDate = -2'440'588;     // 4714-11-24 BC
inline constexpr int64_t kMaxDate = 2'145'042'905;  // 5874897-12-31
inline constexpr int64_t kMinTimestamp = kMinDate * kMicrosPerDay;
inline constexpr int64_t kMaxTimestamp = INT64_MAX - 1;
constexpr bool IsInfinite(int64_t date_or_timestamp) {
  return date_or_timestamp == kInfinite || date_or_timestamp == kNegativeInfinite;
}

struct CivilDate {
  int64_t year = 1970;
  int32_t month = 1, day = 1;  // from 1
};
struct CivilTime {
  int32_t hour = 0, minute = 0, second = 0, micros = 0;
};
// `month` and `day` may lie outside the calendar's ranges by a year or so: they carry.
int64_t DaysFromCivil(int64_t year, int64_t month, int64_t day);
CivilDate CivilFromDays(int64_t days);
CivilTime TimeFromMicros(int64_t micros_of_day);
int32_t DaysInMonth(int64_t year, int32_t month);
// Splits a finite timestamp; the second is in [0, kMicrosPerDay).
int64_t DayOf(int64_t timestamp);
int64_t MicrosOfDay(int64_t timestamp);

// PostgreSQL's interval: the three parts never carry into each other by themselves.
struct Interval {
  int64_t micros = 0;
  int32_t days = 0;
  int32_t months = 0;
  bool operator==(const Interval&) const = default;
  // 16 bytes, little-endian: micros, days, months.
  std::string Encode() const;
  static Interval Decode(std::string_view bytes);  // Requires: 16 bytes.
  // In microseconds, a month as 30 days and a day as 24 hours: what comparison goes by.
  __int128 Span() const;
};

// The input functions. Errors: 22007 malformed, 22008 out of range, 22023 a time zone that is not known.
Result<int64_t> ParseDate(std::string_view text, const TextSettings& settings);
Result<int64_t> ParseTime(std::string_view text, const TextSettings& settings);
Result<int64_t> ParseTimestamp(std::string_view text, const TextSettings& settings);
Result<int64_t> ParseTimestampTz(std::string_view text, const TextSettings& settings);

void FormatDate(int64_t days, std::string& out);
void FormatTime(int64_t micros, std::string& out);
void FormatTimestamp(int64_t micros, std::string& out);
void FormatTimestampTz(int64_t micros, int32_t offset_seconds, std::string& out);
void FormatInterval(const Interval& value, std::string& out);

// Seconds east of Greenwich of a zone as SET TIME ZONE and AT TIME ZONE take its text: "UTC", "GMT", "Z", "UTC+3",
// "+02",
// "<+05:30>-05:30". As in PostgreSQL these follow POSIX: west is positive, so "+02" is -7200. (A bare number or an
// interval after SET TIME ZONE counts east, and is the caller's business.)
// Errors: 22023 time zone "..." not recognized.
Result<int32_t> ParseTimeZone(std::string_view name);

// Rounds to `precision` digits after the second's point (0..6), half away from zero. Infinities stay.
Result<int64_t> RoundTimestamp(int64_t micros, int32_t precision);
int64_t RoundTime(int64_t micros, int32_t precision);
Interval RoundInterval(Interval value, int32_t precision);

// Casts. Errors: 22008 date out of range for timestamp.
Result<int64_t> DateToTimestamp(int64_t days);
int64_t TimestampToDate(int64_t micros);
// Local time as UTC and back: `offset_seconds` is east of Greenwich. Errors: 22008 timestamp out of range.
Result<int64_t> LocalToUtc(int64_t local_micros, int32_t offset_seconds);
Result<int64_t> UtcToLocal(int64_t utc_micros, int32_t offset_seconds);

// Arithmetic. Errors: 22008 ... out of range; infinities as PostgreSQL 15 treats them.
Result<int64_t> AddDaysToDate(int64_t days, int64_t count);
Result<int64_t> DateDifference(int64_t a, int64_t b);  // 22008 cannot subtract infinite dates
// `offset_seconds`: months and days count in local time; 0 for timestamp.
Result<int64_t> AddInterval(int64_t timestamp, const Interval& interval, int32_t offset_seconds = 0);
Result<Interval> TimestampDifference(int64_t a, int64_t b);  // days and time; 22008 cannot subtract infinite timestamps
Result<Interval> Age(int64_t a, int64_t b);                  // age(): years, months, days and time
Result<Interval> NegateInterval(const Interval& a);
Result<Interval> AddIntervals(const Interval& a, const Interval& b);
Result<Interval> SubtractIntervals(const Interval& a, const Interval& b);
Result<Interval> MultiplyInterval(const Interval& a, double factor);
Result<Interval> DivideInterval(const Interval& a, double divisor);
Result<Interval> JustifyHours(const Interval& a);
Result<Interval> JustifyDays(const Interval& a);
Result<Interval> JustifyInterval(const Interval& a);
int64_t AddIntervalToTime(int64_t time_micros, const Interval& interval);  // wraps at midnight
Result<int64_t> MakeDate(int64_t year, int64_t month, int64_t day);        // make_date(): year -1 is 1 BC
Result<int64_t> MakeTime(int64_t hour, int64_t minute, double second);

// A field name of extract(), date_part() and date_trunc().
enum class DateField : uint8_t {
  kMicroseconds,
  kMilliseconds,
  kSecond,
  kMinute,
  kHour,
  kDay,
  kWeek,
  kMonth,
  kQuarter,
  kYear,
  kDecade,
  kCentury,
  kMillennium,
  kDayOfWeek,
  kIsoDayOfWeek,
  kDayOfYear,
  kIsoYear,
  kJulian,
  kEpoch,
  kTimeZone,
  kTimeZoneHour,
  kTimeZoneMinute,
};

// What INTERVAL DAY TO SECOND names.
struct IntervalFields {
  DateField first = DateField::kYear;
  DateField last = DateField::kSecond;  // of a number without a unit, too
};
// Cuts what is below `fields.last`. Errors: 22007 malformed, 22015, 22008 out of range.
Result<Interval> ParseInterval(std::string_view text, IntervalFields fields = {});
// nullopt: not a field. Takes PostgreSQL's abbreviations and plurals ("yrs", "msec"), in any case.
std::optional<DateField> ParseDateField(std::string_view name);

// extract(): scales as PostgreSQL 15's (second and epoch have 6). date_part() is ToDouble() of it. nullopt: NULL, for a
// field that an infinite value does not have. `name` is for messages only. Requires: a type of dates and times.
// Errors: 0A000 unit "..." not supported for type ..., 22023 unit "..." not recognized for type ....
Result<std::optional<Numeric>> ExtractField(TypeId type, std::string_view name, int64_t value,
                                            int32_t offset_seconds = 0);
Result<std::optional<Numeric>> ExtractIntervalField(std::string_view name, const Interval& value);

// date_trunc(); `offset_seconds`: the zone whose local time is cut; 0 for timestamp. `type`: kTimestamp or
// kTimestampTz, for messages.
Result<int64_t> TruncateTimestamp(TypeId type, std::string_view name, int64_t value, int32_t offset_seconds = 0);
Result<Interval> TruncateInterval(std::string_view name, const Interval& value);

}  // namespace sisal::type
