// extract(), date_part() and date_trunc().
#include <algorithm>

#include "sisal/type/date_time.h"
#include "text_scan.h"

namespace sisal::type {
namespace {

constexpr int64_t kJulianOfEpoch = 2'440'588;
constexpr int32_t kMicroDigits = 6;
constexpr int32_t kMilliDigits = 3;

struct FieldName {
  std::string_view text;
  DateField field;
};
// At most ten characters count, as in PostgreSQL.
constexpr size_t kNameSizeMax = 10;
constexpr FieldName kFieldNames[] = {
    {"us", DateField::kMicroseconds},
    {"usec", DateField::kMicroseconds},
    {"usecond", DateField::kMicroseconds},
    {"useconds", DateField::kMicroseconds},
    {"usecs", DateField::kMicroseconds},
    {"microsecon", DateField::kMicroseconds},
    {"ms", DateField::kMilliseconds},
    {"msec", DateField::kMilliseconds},
    {"msecond", DateField::kMilliseconds},
    {"mseconds", DateField::kMilliseconds},
    {"msecs", DateField::kMilliseconds},
    {"millisecon", DateField::kMilliseconds},
    {"s", DateField::kSecond},
    {"sec", DateField::kSecond},
    {"secs", DateField::kSecond},
    {"second", DateField::kSecond},
    {"seconds", DateField::kSecond},
    {"m", DateField::kMinute},
    {"min", DateField::kMinute},
    {"mins", DateField::kMinute},
    {"minute", DateField::kMinute},
    {"minutes", DateField::kMinute},
    {"h", DateField::kHour},
    {"hr", DateField::kHour},
    {"hrs", DateField::kHour},
    {"hour", DateField::kHour},
    {"hours", DateField::kHour},
    {"d", DateField::kDay},
    {"day", DateField::kDay},
    {"days", DateField::kDay},
    {"w", DateField::kWeek},
    {"week", DateField::kWeek},
    {"weeks", DateField::kWeek},
    {"mon", DateField::kMonth},
    {"mons", DateField::kMonth},
    {"month", DateField::kMonth},
    {"months", DateField::kMonth},
    {"qtr", DateField::kQuarter},
    {"quarter", DateField::kQuarter},
    {"y", DateField::kYear},
    {"yr", DateField::kYear},
    {"yrs", DateField::kYear},
    {"year", DateField::kYear},
    {"years", DateField::kYear},
    {"dec", DateField::kDecade},
    {"decs", DateField::kDecade},
    {"decade", DateField::kDecade},
    {"decades", DateField::kDecade},
    {"c", DateField::kCentury},
    {"cent", DateField::kCentury},
    {"century", DateField::kCentury},
    {"centuries", DateField::kCentury},
    {"mil", DateField::kMillennium},
    {"mils", DateField::kMillennium},
    {"millennia", DateField::kMillennium},
    {"millennium", DateField::kMillennium},
    {"dow", DateField::kDayOfWeek},
    {"isodow", DateField::kIsoDayOfWeek},
    {"doy", DateField::kDayOfYear},
    {"isoyear", DateField::kIsoYear},
    {"julian", DateField::kJulian},
    {"jd", DateField::kJulian},
    {"j", DateField::kJulian},
    {"epoch", DateField::kEpoch},
    {"timezone", DateField::kTimeZone},
    {"timezone_h", DateField::kTimeZoneHour},
    {"timezone_m", DateField::kTimeZoneMinute},
};

Error NotRecognized(TypeId type, std::string_view name) {
  std::string lower;
  for (char c : name) lower.push_back(ToLower(c));
  return Error{"22023", "unit \"" + lower + "\" not recognized for type " + std::string(TypeName(type))};
}
Error NotSupported(TypeId type, std::string_view name) {
  std::string lower;
  for (char c : name) lower.push_back(ToLower(c));
  return Error{"0A000", "unit \"" + lower + "\" not supported for type " + std::string(TypeName(type))};
}

// The number of the period of `length` years that holds `year`: 2001 is in the 21st century, 1 BC in the -1st.
int64_t PeriodOf(int64_t year, int64_t length) {
  return year > 0 ? (year + length - 1) / length : -((length - 1 - (year - 1)) / length);
}
int64_t DecadeOf(int64_t year) { return year >= 0 ? year / 10 : -((8 - (year - 1)) / 10); }
// There is no year 0: 1 BC is -1.
int64_t WithoutYearZero(int64_t year) { return year > 0 ? year : year - 1; }

// From 1, Monday.
int64_t IsoDayOfWeek(int64_t days) {
  const int64_t rest = (days + 3) % 7;
  return (rest < 0 ? rest + 7 : rest) + 1;
}
// A week belongs to the year that its Thursday lies in.
int64_t ThursdayOf(int64_t days) { return days - IsoDayOfWeek(days) + 4; }

// Whether the field grows with time, so that infinity has it.
bool IsMonotonic(DateField field) {
  switch (field) {
    case DateField::kYear:
    case DateField::kDecade:
    case DateField::kCentury:
    case DateField::kMillennium:
    case DateField::kJulian:
    case DateField::kIsoYear:
    case DateField::kEpoch:
      return true;
    default:
      return false;
  }
}

std::optional<Numeric> DateFieldOf(DateField field, int64_t days) {
  const CivilDate date = CivilFromDays(days);
  switch (field) {
    case DateField::kDay:
      return Numeric::FromInt(date.day);
    case DateField::kWeek: {
      const int64_t thursday = ThursdayOf(days);
      return Numeric::FromInt((thursday - DaysFromCivil(CivilFromDays(thursday).year, 1, 1)) / 7 + 1);
    }
    case DateField::kMonth:
      return Numeric::FromInt(date.month);
    case DateField::kQuarter:
      return Numeric::FromInt((date.month - 1) / 3 + 1);
    case DateField::kYear:
      return Numeric::FromInt(WithoutYearZero(date.year));
    case DateField::kDecade:
      return Numeric::FromInt(DecadeOf(date.year));
    case DateField::kCentury:
      return Numeric::FromInt(PeriodOf(date.year, 100));
    case DateField::kMillennium:
      return Numeric::FromInt(PeriodOf(date.year, 1000));
    case DateField::kDayOfWeek:
      return Numeric::FromInt(IsoDayOfWeek(days) % 7);
    case DateField::kIsoDayOfWeek:
      return Numeric::FromInt(IsoDayOfWeek(days));
    case DateField::kDayOfYear:
      return Numeric::FromInt(days - DaysFromCivil(date.year, 1, 1) + 1);
    case DateField::kIsoYear:
      return Numeric::FromInt(WithoutYearZero(CivilFromDays(ThursdayOf(days)).year));
    default:
      return std::nullopt;
  }
}

// `micros` may be of any length of time; parts of negative ones are negative.
std::optional<Numeric> TimeFieldOf(DateField field, int64_t micros) {
  const int64_t of_minute = micros % (60 * kMicrosPerSecond);
  switch (field) {
    case DateField::kMicroseconds:
      return Numeric::FromInt(of_minute);
    case DateField::kMilliseconds:
      return Numeric::FromScaled(of_minute, kMilliDigits);
    case DateField::kSecond:
      return Numeric::FromScaled(of_minute, kMicroDigits);
    case DateField::kMinute:
      return Numeric::FromInt(micros / (60 * kMicrosPerSecond) % 60);
    case DateField::kHour:
      return Numeric::FromInt(micros / (3600 * kMicrosPerSecond));
    default:
      return std::nullopt;
  }
}

Result<std::optional<Numeric>> ExtractFromTimestamp(TypeId type, std::string_view name, DateField field, int64_t value,
                                                    int32_t offset_seconds) {
  if (type == TypeId::kTimestampTz) {
    switch (field) {
      case DateField::kTimeZone:
        return std::optional(Numeric::FromInt(offset_seconds));
      case DateField::kTimeZoneHour:
        return std::optional(Numeric::FromInt(offset_seconds / 3600));
      case DateField::kTimeZoneMinute:
        return std::optional(Numeric::FromInt(offset_seconds / 60 % 60));
      default:
        break;
    }
  }
  if (field == DateField::kEpoch) return std::optional(Numeric::FromScaled(value, kMicroDigits));
  // By day and time of day: local time may lie beyond what a timestamp holds.
  const int64_t local_of_day = MicrosOfDay(value) + offset_seconds * kMicrosPerSecond;
  const int64_t day = DayOf(value) + DayOf(local_of_day);
  const int64_t of_day = MicrosOfDay(local_of_day);
  if (field == DateField::kJulian) {
    SISAL_ASSIGN_OR_RETURN(const Numeric fraction, Divide(Numeric::FromInt(of_day), Numeric::FromInt(kMicrosPerDay)));
    SISAL_ASSIGN_OR_RETURN(Numeric julian, Add(Numeric::FromInt(day + kJulianOfEpoch), fraction));
    return std::optional(std::move(julian));
  }
  std::optional<Numeric> result = DateFieldOf(field, day);
  if (!result) result = TimeFieldOf(field, of_day);
  if (!result) return NotSupported(type, name);
  return result;
}

// The first day of what `field` names around `days`; nullopt: not a unit of whole days.
std::optional<int64_t> TruncateDay(DateField field, int64_t days) {
  const CivilDate date = CivilFromDays(days);
  const auto first_of = [](int64_t year) { return DaysFromCivil(year, 1, 1); };
  switch (field) {
    case DateField::kDay:
      return days;
    case DateField::kWeek:
      return days - IsoDayOfWeek(days) + 1;
    case DateField::kMonth:
      return DaysFromCivil(date.year, date.month, 1);
    case DateField::kQuarter:
      return DaysFromCivil(date.year, (date.month - 1) / 3 * 3 + 1, 1);
    case DateField::kYear:
      return first_of(date.year);
    case DateField::kDecade:
      return first_of(DecadeOf(date.year) * 10);
    case DateField::kCentury:
      return first_of(date.year > 0 ? PeriodOf(date.year, 100) * 100 - 99 : PeriodOf(date.year, 100) * 100 + 1);
    case DateField::kMillennium:
      return first_of(date.year > 0 ? PeriodOf(date.year, 1000) * 1000 - 999 : PeriodOf(date.year, 1000) * 1000 + 1);
    default:
      return std::nullopt;
  }
}

// Why date_trunc() refuses a field. PostgreSQL looks for units of length only, and so does not know the others.
Error CannotTruncate(TypeId type, std::string_view name, DateField field) {
  const bool is_length = field <= DateField::kMillennium || field >= DateField::kTimeZone;
  return is_length ? NotSupported(type, name) : NotRecognized(type, name);
}

// Of a unit below a day, in microseconds; 0: none.
int64_t UnitMicros(DateField field) {
  switch (field) {
    case DateField::kMicroseconds:
      return 1;
    case DateField::kMilliseconds:
      return 1000;
    case DateField::kSecond:
      return kMicrosPerSecond;
    case DateField::kMinute:
      return 60 * kMicrosPerSecond;
    case DateField::kHour:
      return 3600 * kMicrosPerSecond;
    default:
      return 0;
  }
}

// Of a unit of whole months; 0: none.
int32_t UnitMonths(DateField field) {
  switch (field) {
    case DateField::kMonth:
      return 1;
    case DateField::kQuarter:
      return 3;
    case DateField::kYear:
      return 12;
    case DateField::kDecade:
      return 120;
    case DateField::kCentury:
      return 1'200;
    case DateField::kMillennium:
      return 12'000;
    default:
      return 0;
  }
}

}  // namespace

std::optional<DateField> ParseDateField(std::string_view name) {
  const std::string_view compared = name.substr(0, kNameSizeMax);
  for (const FieldName& entry : kFieldNames) {
    if (EqualsIgnoreCase(compared, entry.text)) return entry.field;
  }
  return std::nullopt;
}

Result<std::optional<Numeric>> ExtractField(TypeId type, std::string_view name, int64_t value, int32_t offset_seconds) {
  const std::optional<DateField> field = ParseDateField(name);
  if (!field) return NotRecognized(type, name);
  const bool is_zone = *field >= DateField::kTimeZone;
  if (type == TypeId::kTime) {
    if (*field == DateField::kEpoch) return std::optional(Numeric::FromScaled(value, kMicroDigits));
    std::optional<Numeric> result = TimeFieldOf(*field, value);
    if (!result) return NotSupported(type, name);
    return result;
  }
  const bool has_time = type != TypeId::kDate;
  if (!has_time && (UnitMicros(*field) != 0 || is_zone)) return NotSupported(type, name);
  if (IsInfinite(value)) {
    if (!IsMonotonic(*field)) return std::optional<Numeric>();
    return std::optional(Numeric::Infinity(value == kNegativeInfinite));
  }
  if (is_zone && type != TypeId::kTimestampTz) return NotSupported(type, name);
  if (has_time) return ExtractFromTimestamp(type, name, *field, value, offset_seconds);
  if (*field == DateField::kEpoch) return std::optional(Numeric::FromInt(value * 86'400));
  if (*field == DateField::kJulian) return std::optional(Numeric::FromInt(value + kJulianOfEpoch));
  return DateFieldOf(*field, value);
}

Result<std::optional<Numeric>> ExtractIntervalField(std::string_view name, const Interval& value) {
  const std::optional<DateField> field = ParseDateField(name);
  if (!field) return NotRecognized(TypeId::kInterval, name);
  if (std::optional<Numeric> time = TimeFieldOf(*field, value.micros)) return time;
  const auto whole = [](int64_t number) { return std::optional(Numeric::FromInt(number)); };
  switch (*field) {
    case DateField::kDay:
      return whole(value.days);
    case DateField::kMonth:
      return whole(value.months % 12);
    case DateField::kQuarter:
      return whole(value.months % 12 / 3 + 1);
    case DateField::kYear:
      return whole(value.months / 12);
    case DateField::kDecade:
      return whole(value.months / 120);
    case DateField::kCentury:
      return whole(value.months / 1'200);
    case DateField::kMillennium:
      return whole(value.months / 12'000);
    case DateField::kEpoch: {
      // A year counts 365.25 days, a further month 30.
      const __int128 quarter_days = static_cast<__int128>(value.months / 12) * 1'461 + value.months % 12 * 120 +
                                    static_cast<__int128>(value.days) * 4;
      return std::optional(Numeric::FromScaled(quarter_days * (kMicrosPerDay / 4) + value.micros, kMicroDigits));
    }
    default:
      return NotSupported(TypeId::kInterval, name);
  }
}

Result<int64_t> TruncateTimestamp(TypeId type, std::string_view name, int64_t value, int32_t offset_seconds) {
  if (IsInfinite(value)) return value;
  const std::optional<DateField> field = ParseDateField(name);
  if (!field) return NotRecognized(type, name);
  const int64_t local_of_day = MicrosOfDay(value) + offset_seconds * kMicrosPerSecond;
  const int64_t day = DayOf(value) + DayOf(local_of_day);
  __int128 local;
  if (const std::optional<int64_t> first = TruncateDay(*field, day)) {
    local = static_cast<__int128>(*first) * kMicrosPerDay;
  } else if (const int64_t unit = UnitMicros(*field); unit != 0) {
    local = static_cast<__int128>(day) * kMicrosPerDay + MicrosOfDay(local_of_day) / unit * unit;
  } else {
    return CannotTruncate(type, name, *field);
  }
  const __int128 micros = local - static_cast<__int128>(offset_seconds) * kMicrosPerSecond;
  if (micros < kMinTimestamp || micros > kMaxTimestamp) return Error{"22008", "timestamp out of range"};
  return static_cast<int64_t>(micros);
}

Result<Interval> TruncateInterval(std::string_view name, const Interval& value) {
  const std::optional<DateField> field = ParseDateField(name);
  if (!field) return NotRecognized(TypeId::kInterval, name);
  Interval result = value;
  if (const int32_t months = UnitMonths(*field); months != 0) {
    result.months = value.months / months * months;
    result.days = 0;
    result.micros = 0;
  } else if (*field == DateField::kDay) {
    result.micros = 0;
  } else if (const int64_t unit = UnitMicros(*field); unit != 0) {
    result.micros = value.micros / unit * unit;
  } else if (*field == DateField::kWeek) {
    return NotSupported(TypeId::kInterval, name).WithDetail("Months usually have fractional weeks.");
  } else {
    return CannotTruncate(TypeId::kInterval, name, *field);
  }
  return result;
}

}  // namespace sisal::type
