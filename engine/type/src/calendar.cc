// The proleptic Gregorian calendar, and values as text.
#include <cstdlib>

#include "sisal/base/bytes.h"
#include "sisal/type/date_time.h"

namespace sisal::type {
namespace {

constexpr int64_t kDaysPerEra = 146'097;       // 400 years
constexpr int64_t kDaysBeforeEpoch = 719'468;  // from 0000-03-01 to 1970-01-01

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

void AppendPadded(uint64_t value, int width, std::string& out) {
  char digits[24];
  int count = 0;
  do digits[count++] = static_cast<char>('0' + value % 10);
  while ((value /= 10) != 0);
  for (int i = count; i < width; ++i) out.push_back('0');
  while (count > 0) out.push_back(digits[--count]);
}

// ".25": without trailing zeros, nothing for 0.
void AppendFraction(int32_t micros, std::string& out) {
  if (micros == 0) return;
  out.push_back('.');
  AppendPadded(static_cast<uint64_t>(micros), 6, out);
  while (out.back() == '0') out.pop_back();
}

bool AppendInfinity(int64_t value, std::string& out) {
  if (!IsInfinite(value)) return false;
  out += value == kInfinite ? "infinity" : "-infinity";
  return true;
}

void AppendYearMonthDay(int64_t days, bool& before_christ, std::string& out) {
  const CivilDate date = CivilFromDays(days);
  before_christ = date.year <= 0;
  AppendPadded(static_cast<uint64_t>(before_christ ? 1 - date.year : date.year), 4, out);
  out.push_back('-');
  AppendPadded(static_cast<uint64_t>(date.month), 2, out);
  out.push_back('-');
  AppendPadded(static_cast<uint64_t>(date.day), 2, out);
}

void AppendOffset(int32_t seconds, std::string& out) {
  out.push_back(seconds < 0 ? '-' : '+');
  seconds = std::abs(seconds);
  AppendPadded(static_cast<uint64_t>(seconds / 3600), 2, out);
  if (seconds % 3600 == 0) return;
  out.push_back(':');
  AppendPadded(static_cast<uint64_t>(seconds / 60 % 60), 2, out);
  if (seconds % 60 == 0) return;
  out.push_back(':');
  AppendPadded(static_cast<uint64_t>(seconds % 60), 2, out);
}

// "2 days": each part but the first has a blank before it, and a plus if it follows a negative part.
void AppendIntervalPart(int64_t value, std::string_view unit, bool& empty, bool& after_negative, std::string& out) {
  if (value == 0) return;
  if (!empty) out.push_back(' ');
  if (after_negative && value > 0) out.push_back('+');
  out += std::to_string(value);
  out.push_back(' ');
  out += unit;
  if (value != 1) out.push_back('s');
  after_negative = value < 0;
  empty = false;
}

}  // namespace

// After Howard Hinnant, "chrono-compatible low-level date algorithms": years begin in March, so that the leap day is
// the last of a year.
int64_t DaysFromCivil(int64_t year, int64_t month, int64_t day) {
  year += FloorDivide(month - 1, 12);
  month = month - 1 - FloorDivide(month - 1, 12) * 12 + 1;
  if (month <= 2) --year;
  const int64_t era = FloorDivide(year, 400);
  const int64_t year_of_era = year - era * 400;
  const int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  const int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * kDaysPerEra + day_of_era - kDaysBeforeEpoch;
}

CivilDate CivilFromDays(int64_t days) {
  days += kDaysBeforeEpoch;
  const int64_t era = FloorDivide(days, kDaysPerEra);
  const int64_t day_of_era = days - era * kDaysPerEra;
  const int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t shifted_month = (5 * day_of_year + 2) / 153;
  CivilDate date;
  date.day = static_cast<int32_t>(day_of_year - (153 * shifted_month + 2) / 5 + 1);
  date.month = static_cast<int32_t>(shifted_month < 10 ? shifted_month + 3 : shifted_month - 9);
  date.year = year_of_era + era * 400 + (date.month <= 2 ? 1 : 0);
  return date;
}

CivilTime TimeFromMicros(int64_t micros_of_day) {
  CivilTime time;
  time.micros = static_cast<int32_t>(micros_of_day % kMicrosPerSecond);
  const int64_t seconds = micros_of_day / kMicrosPerSecond;
  time.hour = static_cast<int32_t>(seconds / 3600);
  time.minute = static_cast<int32_t>(seconds / 60 % 60);
  time.second = static_cast<int32_t>(seconds % 60);
  return time;
}

int32_t DaysInMonth(int64_t year, int32_t month) {
  constexpr int32_t kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return month == 2 && leap ? 29 : kDays[month - 1];
}

int64_t DayOf(int64_t timestamp) { return FloorDivide(timestamp, kMicrosPerDay); }
int64_t MicrosOfDay(int64_t timestamp) {
  const int64_t rest = timestamp % kMicrosPerDay;
  return rest < 0 ? rest + kMicrosPerDay : rest;
}

std::string Interval::Encode() const {
  std::string bytes;
  AppendLittle(bytes, micros);
  AppendLittle(bytes, days);
  AppendLittle(bytes, months);
  return bytes;
}

Interval Interval::Decode(std::string_view bytes) {
  Interval interval;
  interval.micros = LoadLittle<int64_t>(bytes.data());
  interval.days = LoadLittle<int32_t>(bytes.data() + 8);
  interval.months = LoadLittle<int32_t>(bytes.data() + 12);
  return interval;
}

__int128 Interval::Span() const { return (static_cast<__int128>(months) * 30 + days) * kMicrosPerDay + micros; }

void FormatDate(int64_t days, std::string& out) {
  if (AppendInfinity(days, out)) return;
  bool before_christ;
  AppendYearMonthDay(days, before_christ, out);
  if (before_christ) out += " BC";
}

void FormatTime(int64_t micros, std::string& out) {
  const CivilTime time = TimeFromMicros(micros);
  AppendPadded(static_cast<uint64_t>(time.hour), 2, out);
  out.push_back(':');
  AppendPadded(static_cast<uint64_t>(time.minute), 2, out);
  out.push_back(':');
  AppendPadded(static_cast<uint64_t>(time.second), 2, out);
  AppendFraction(time.micros, out);
}

void FormatTimestamp(int64_t micros, std::string& out) {
  if (AppendInfinity(micros, out)) return;
  bool before_christ;
  AppendYearMonthDay(DayOf(micros), before_christ, out);
  out.push_back(' ');
  FormatTime(MicrosOfDay(micros), out);
  if (before_christ) out += " BC";
}

void FormatTimestampTz(int64_t micros, int32_t offset_seconds, std::string& out) {
  if (AppendInfinity(micros, out)) return;
  // By day and time of day, so that local time may lie beyond what a timestamp holds.
  const int64_t local_of_day = MicrosOfDay(micros) + offset_seconds * kMicrosPerSecond;
  const int64_t day = DayOf(micros) + DayOf(local_of_day);
  bool before_christ;
  AppendYearMonthDay(day, before_christ, out);
  out.push_back(' ');
  FormatTime(MicrosOfDay(local_of_day), out);
  AppendOffset(offset_seconds, out);
  if (before_christ) out += " BC";
}

void FormatInterval(const Interval& value, std::string& out) {
  bool empty = true;
  bool after_negative = false;
  AppendIntervalPart(value.months / 12, "year", empty, after_negative, out);
  AppendIntervalPart(value.months % 12, "mon", empty, after_negative, out);
  AppendIntervalPart(value.days, "day", empty, after_negative, out);
  if (value.micros == 0 && !empty) return;
  if (!empty) out.push_back(' ');
  if (value.micros < 0) {
    out.push_back('-');
  } else if (after_negative) {
    out.push_back('+');
  }
  const uint64_t micros =
      value.micros < 0 ? 0 - static_cast<uint64_t>(value.micros) : static_cast<uint64_t>(value.micros);
  const uint64_t seconds = micros / kMicrosPerSecond;
  AppendPadded(seconds / 3600, 2, out);
  out.push_back(':');
  AppendPadded(seconds / 60 % 60, 2, out);
  out.push_back(':');
  AppendPadded(seconds % 60, 2, out);
  AppendFraction(static_cast<int32_t>(micros % kMicrosPerSecond), out);
}

}  // namespace sisal::type
