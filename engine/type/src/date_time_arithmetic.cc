#include <algorithm>
#include <cmath>
#include <cstdio>

#include "decimal.h"
#include "sisal/type/date_time.h"

namespace sisal::type {
namespace {

constexpr int64_t kPostgresEpoch = 946'684'800 * kMicrosPerSecond;  // 2000-01-01: what PostgreSQL's rounding is about
constexpr int32_t kFractionDigits = 6;

Error TimestampOutOfRange() { return Error{"22008", "timestamp out of range"}; }
Error IntervalOutOfRange() { return Error{"22008", "interval out of range"}; }

int64_t RoundTo(int64_t micros, int32_t precision) {
  const int64_t unit = kPowersOfTen[kFractionDigits - std::clamp(precision, 0, kFractionDigits)];
  const int64_t half = unit / 2;
  return micros >= 0 ? (micros + half) / unit * unit : -((half - micros) / unit * unit);
}

Result<int64_t> CheckTimestamp(__int128 micros) {
  if (micros < kMinTimestamp || micros > kMaxTimestamp) return TimestampOutOfRange();
  return static_cast<int64_t>(micros);
}

// To whole microseconds, as PostgreSQL rounds the remainders of its interval arithmetic, in seconds.
double RoundSeconds(double seconds) { return std::rint(seconds * 1e6) / 1e6; }

bool FitsInt32(double value) { return value >= INT32_MIN && value <= INT32_MAX; }

// `months` and `days` as multiplied or divided; what they lack of whole numbers flows into the smaller parts.
Result<Interval> Cascade(double months, double days, double micros) {
  if (!FitsInt32(months) || !FitsInt32(days)) return IntervalOutOfRange();
  int64_t whole_days = static_cast<int64_t>(days);
  const int32_t whole_months = static_cast<int32_t>(months);
  const double month_days = RoundSeconds((months - whole_months) * 30);
  double seconds = RoundSeconds((days - static_cast<double>(whole_days) + month_days - std::trunc(month_days)) * 86400);
  if (std::fabs(seconds) >= 86400) {
    const double carried = std::trunc(seconds / 86400);
    whole_days += static_cast<int64_t>(carried);
    seconds -= carried * 86400;
  }
  whole_days += static_cast<int64_t>(month_days);
  const double time = std::rint(micros + seconds * 1e6);
  if (whole_days < INT32_MIN || whole_days > INT32_MAX || !(time >= -0x1p63 && time < 0x1p63))
    return IntervalOutOfRange();
  return Interval{static_cast<int64_t>(time), static_cast<int32_t>(whole_days), whole_months};
}

// Moves what whole units of `unit` are in `small` to `large`. False: overflow.
template <typename Small, typename Large>
bool Carry(Small& small, Large& large, Small unit) {
  const Small whole = small / unit;
  small -= whole * unit;
  int64_t sum;
  if (__builtin_add_overflow(int64_t{large}, int64_t{whole}, &sum) || sum < INT32_MIN || sum > INT32_MAX) return false;
  large = static_cast<Large>(sum);
  return true;
}

// Gives `small` the sign of `large`.
template <typename Small, typename Large>
void AlignSigns(Small& small, Large& large, Small unit) {
  if (large > 0 && small < 0) {
    small += unit;
    --large;
  } else if (large < 0 && small > 0) {
    small -= unit;
    ++large;
  }
}

}  // namespace

Result<int64_t> RoundTimestamp(int64_t micros, int32_t precision) {
  if (IsInfinite(micros) || precision < 0 || precision >= kFractionDigits) return micros;
  return CheckTimestamp(static_cast<__int128>(RoundTo(micros - kPostgresEpoch, precision)) + kPostgresEpoch);
}

int64_t RoundTime(int64_t micros, int32_t precision) { return precision < 0 ? micros : RoundTo(micros, precision); }

Interval RoundInterval(Interval value, int32_t precision) {
  if (precision >= 0 && precision < kFractionDigits) value.micros = RoundTo(value.micros, precision);
  return value;
}

Result<int64_t> DateToTimestamp(int64_t days) {
  if (IsInfinite(days)) return days;
  const __int128 micros = static_cast<__int128>(days) * kMicrosPerDay;
  if (micros > kMaxTimestamp) return Error{"22008", "date out of range for timestamp"};
  return static_cast<int64_t>(micros);
}

int64_t TimestampToDate(int64_t micros) { return IsInfinite(micros) ? micros : DayOf(micros); }

Result<int64_t> LocalToUtc(int64_t local_micros, int32_t offset_seconds) {
  if (IsInfinite(local_micros)) return local_micros;
  return CheckTimestamp(static_cast<__int128>(local_micros) - static_cast<__int128>(offset_seconds) * kMicrosPerSecond);
}

Result<int64_t> UtcToLocal(int64_t utc_micros, int32_t offset_seconds) {
  if (IsInfinite(utc_micros)) return utc_micros;
  return CheckTimestamp(static_cast<__int128>(utc_micros) + static_cast<__int128>(offset_seconds) * kMicrosPerSecond);
}

Result<int64_t> AddDaysToDate(int64_t days, int64_t count) {
  if (IsInfinite(days)) return days;
  int64_t sum;
  if (__builtin_add_overflow(days, count, &sum) || sum < kMinDate || sum > kMaxDate) {
    return Error{"22008", "date out of range"};
  }
  return sum;
}

Result<int64_t> DateDifference(int64_t a, int64_t b) {
  if (IsInfinite(a) || IsInfinite(b)) return Error{"22008", "cannot subtract infinite dates"};
  return a - b;
}

Result<int64_t> AddInterval(int64_t timestamp, const Interval& interval, int32_t offset_seconds) {
  if (IsInfinite(timestamp)) return timestamp;
  const __int128 offset = static_cast<__int128>(offset_seconds) * kMicrosPerSecond;
  __int128 micros = timestamp;
  if (interval.months != 0 || interval.days != 0) {
    const __int128 local = micros + offset;
    __int128 day = local / kMicrosPerDay;
    if (local % kMicrosPerDay < 0) --day;
    const __int128 of_day = local - day * kMicrosPerDay;
    int64_t days = static_cast<int64_t>(day);
    if (interval.months != 0) {
      const CivilDate date = CivilFromDays(days);
      const int64_t month_index = date.year * 12 + (date.month - 1) + interval.months;
      const int64_t year = month_index / 12 - (month_index % 12 < 0 ? 1 : 0);
      const int32_t month = static_cast<int32_t>(month_index - year * 12) + 1;
      days = DaysFromCivil(year, month, std::min(date.day, DaysInMonth(year, month)));
    }
    days += interval.days;
    micros = static_cast<__int128>(days) * kMicrosPerDay + of_day - offset;
    if (micros < kMinTimestamp || micros > kMaxTimestamp) return TimestampOutOfRange();
  }
  return CheckTimestamp(micros + interval.micros);
}

Result<Interval> TimestampDifference(int64_t a, int64_t b) {
  if (IsInfinite(a) || IsInfinite(b)) return Error{"22008", "cannot subtract infinite timestamps"};
  int64_t micros;
  if (__builtin_sub_overflow(a, b, &micros)) return IntervalOutOfRange();
  return JustifyHours(Interval{micros, 0, 0});
}

Result<Interval> Age(int64_t a, int64_t b) {
  if (IsInfinite(a) || IsInfinite(b)) return Error{"22008", "timestamp out of range"};
  const bool negative = a < b;
  const CivilDate date_a = CivilFromDays(DayOf(a));
  const CivilDate date_b = CivilFromDays(DayOf(b));
  // The later one less the earlier one, part by part.
  const int64_t sign = negative ? -1 : 1;
  int64_t micros = sign * (MicrosOfDay(a) - MicrosOfDay(b));
  int64_t days = sign * (int64_t{date_a.day} - date_b.day);
  int64_t months = sign * ((date_a.year - date_b.year) * 12 + date_a.month - date_b.month);
  if (micros < 0) {
    micros += kMicrosPerDay;
    --days;
  }
  // A month is borrowed as long as the one of the earlier time.
  const CivilDate& earlier = negative ? date_a : date_b;
  while (days < 0) {
    days += DaysInMonth(earlier.year, earlier.month);
    --months;
  }
  return Interval{sign * micros, static_cast<int32_t>(sign * days), static_cast<int32_t>(sign * months)};
}

Result<Interval> NegateInterval(const Interval& a) {
  if (a.micros == INT64_MIN || a.days == INT32_MIN || a.months == INT32_MIN) return IntervalOutOfRange();
  return Interval{-a.micros, -a.days, -a.months};
}

Result<Interval> AddIntervals(const Interval& a, const Interval& b) {
  Interval sum;
  if (__builtin_add_overflow(a.micros, b.micros, &sum.micros) || __builtin_add_overflow(a.days, b.days, &sum.days) ||
      __builtin_add_overflow(a.months, b.months, &sum.months)) {
    return IntervalOutOfRange();
  }
  return sum;
}

Result<Interval> SubtractIntervals(const Interval& a, const Interval& b) {
  Interval difference;
  if (__builtin_sub_overflow(a.micros, b.micros, &difference.micros) ||
      __builtin_sub_overflow(a.days, b.days, &difference.days) ||
      __builtin_sub_overflow(a.months, b.months, &difference.months)) {
    return IntervalOutOfRange();
  }
  return difference;
}

Result<Interval> MultiplyInterval(const Interval& a, double factor) {
  return Cascade(a.months * factor, a.days * factor, static_cast<double>(a.micros) * factor);
}

Result<Interval> DivideInterval(const Interval& a, double divisor) {
  if (divisor == 0) return Error{"22012", "division by zero"};
  return Cascade(a.months / divisor, a.days / divisor, static_cast<double>(a.micros) / divisor);
}

Result<Interval> JustifyHours(const Interval& a) {
  Interval result = a;
  if (!Carry(result.micros, result.days, kMicrosPerDay)) return IntervalOutOfRange();
  AlignSigns(result.micros, result.days, kMicrosPerDay);
  return result;
}

Result<Interval> JustifyDays(const Interval& a) {
  Interval result = a;
  if (!Carry(result.days, result.months, 30)) return IntervalOutOfRange();
  AlignSigns(result.days, result.months, 30);
  return result;
}

Result<Interval> JustifyInterval(const Interval& a) {
  Interval result = a;
  // Days go first where the hours would push them over the edge.
  const bool same_sign = (a.days > 0 && a.micros > 0) || (a.days < 0 && a.micros < 0);
  if (same_sign && !Carry(result.days, result.months, 30)) return IntervalOutOfRange();
  if (!Carry(result.micros, result.days, kMicrosPerDay) || !Carry(result.days, result.months, 30)) {
    return IntervalOutOfRange();
  }
  const bool rest_negative = result.days < 0 || (result.days == 0 && result.micros < 0);
  const bool rest_positive = result.days > 0 || (result.days == 0 && result.micros > 0);
  if (result.months > 0 && rest_negative) {
    result.days += 30;
    --result.months;
  } else if (result.months < 0 && rest_positive) {
    result.days -= 30;
    ++result.months;
  }
  AlignSigns(result.micros, result.days, kMicrosPerDay);
  return result;
}

int64_t AddIntervalToTime(int64_t time_micros, const Interval& interval) {
  const int64_t sum = (time_micros + interval.micros % kMicrosPerDay) % kMicrosPerDay;
  return sum < 0 ? sum + kMicrosPerDay : sum;
}

Result<int64_t> MakeDate(int64_t year, int64_t month, int64_t day) {
  char text[64];
  std::snprintf(text, sizeof text, "%lld-%02lld-%02lld", static_cast<long long>(year), static_cast<long long>(month),
                static_cast<long long>(day));
  const int64_t astronomical = year < 0 ? year + 1 : year;
  if (year == 0 || month < 1 || month > 12 || day < 1 || day > DaysInMonth(astronomical, static_cast<int32_t>(month))) {
    return Error{"22008", std::string("date field value out of range: ") + text};
  }
  const int64_t days = DaysFromCivil(astronomical, month, day);
  if (days < kMinDate || days > kMaxDate) return Error{"22008", std::string("date out of range: ") + text};
  return days;
}

Result<int64_t> MakeTime(int64_t hour, int64_t minute, double second) {
  const bool in_range = hour >= 0 && hour <= 24 && minute >= 0 && minute < 60 && second >= 0 && second <= 60;
  const int64_t micros =
      in_range ? (hour * 60 + minute) * 60 * kMicrosPerSecond + static_cast<int64_t>(std::rint(second * 1e6))
               : kMicrosPerDay + 1;
  if (micros > kMicrosPerDay) {
    char text[96];
    std::snprintf(text, sizeof text, "time field value out of range: %lld:%02lld:%02g", static_cast<long long>(hour),
                  static_cast<long long>(minute), second);
    return Error{"22008", text};
  }
  return micros;
}

}  // namespace sisal::type
