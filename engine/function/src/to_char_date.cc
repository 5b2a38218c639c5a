#include "to_char_date.h"

#include <cstdio>
#include <cstdlib>

#include "utf8.h"

namespace sisal::function {
namespace {

// What a pattern shows. Upper, mixed and lower case differ for names only.
enum class Shows : uint8_t {
  kMeridiem,
  kMeridiemDots,
  kEra,
  kEraDots,
  kHour12,
  kHour24,
  kMinute,
  kSecond,
  kFraction,
  kMillisecond,
  kMicrosecond,
  kSecondOfDay,
  kZone,
  kZoneHour,
  kZoneMinute,
  kZoneOffset,
  kMonthName,
  kMonthShort,
  kMonth,
  kDayName,
  kDayShort,
  kDayOfYear,
  kIsoDayOfYear,
  kDay,
  kDayOfWeek,
  kIsoDayOfWeek,
  kWeek,
  kIsoWeek,
  kWeekOfMonth,
  kQuarter,
  kCentury,
  kYearComma,
  kYear,
  kIsoYear,
  kRoman,
  kJulian,
  kNothing,
};
enum class Case : uint8_t { kUpper, kCapital, kLower };
struct Pattern {
  std::string_view name;
  Shows shows;
  Case letters = Case::kUpper;
  int digits = 0;  // of fractions and years
};

// Where one name begins another, the longer one stands first.
constexpr Pattern kPatterns[] = {
    {"A.D.", Shows::kEraDots},
    {"A.M.", Shows::kMeridiemDots},
    {"AD", Shows::kEra},
    {"AM", Shows::kMeridiem},
    {"B.C.", Shows::kEraDots},
    {"BC", Shows::kEra},
    {"CC", Shows::kCentury},
    {"DAY", Shows::kDayName},
    {"DDD", Shows::kDayOfYear},
    {"DD", Shows::kDay},
    {"DY", Shows::kDayShort},
    {"Day", Shows::kDayName, Case::kCapital},
    {"Dy", Shows::kDayShort, Case::kCapital},
    {"D", Shows::kDayOfWeek},
    {"FF1", Shows::kFraction, Case::kUpper, 1},
    {"FF2", Shows::kFraction, Case::kUpper, 2},
    {"FF3", Shows::kFraction, Case::kUpper, 3},
    {"FF4", Shows::kFraction, Case::kUpper, 4},
    {"FF5", Shows::kFraction, Case::kUpper, 5},
    {"FF6", Shows::kFraction, Case::kUpper, 6},
    {"FX", Shows::kNothing},
    {"HH24", Shows::kHour24},
    {"HH12", Shows::kHour12},
    {"HH", Shows::kHour12},
    {"IDDD", Shows::kIsoDayOfYear},
    {"ID", Shows::kIsoDayOfWeek},
    {"IW", Shows::kIsoWeek},
    {"IYYY", Shows::kIsoYear, Case::kUpper, 4},
    {"IYY", Shows::kIsoYear, Case::kUpper, 3},
    {"IY", Shows::kIsoYear, Case::kUpper, 2},
    {"I", Shows::kIsoYear, Case::kUpper, 1},
    {"J", Shows::kJulian},
    {"MI", Shows::kMinute},
    {"MM", Shows::kMonth},
    {"MONTH", Shows::kMonthName},
    {"MON", Shows::kMonthShort},
    {"MS", Shows::kMillisecond},
    {"Month", Shows::kMonthName, Case::kCapital},
    {"Mon", Shows::kMonthShort, Case::kCapital},
    {"OF", Shows::kZoneOffset},
    {"P.M.", Shows::kMeridiemDots},
    {"PM", Shows::kMeridiem},
    {"Q", Shows::kQuarter},
    {"RM", Shows::kRoman},
    {"SSSSS", Shows::kSecondOfDay},
    {"SSSS", Shows::kSecondOfDay},
    {"SS", Shows::kSecond},
    {"TZH", Shows::kZoneHour},
    {"TZM", Shows::kZoneMinute},
    {"TZ", Shows::kZone},
    {"US", Shows::kMicrosecond},
    {"WW", Shows::kWeek},
    {"W", Shows::kWeekOfMonth},
    {"Y,YYY", Shows::kYearComma},
    {"YYYY", Shows::kYear, Case::kUpper, 4},
    {"YYY", Shows::kYear, Case::kUpper, 3},
    {"YY", Shows::kYear, Case::kUpper, 2},
    {"Y", Shows::kYear, Case::kUpper, 1},
};
constexpr std::string_view kMonths[] = {"January", "February", "March",     "April",   "May",      "June",
                                        "July",    "August",   "September", "October", "November", "December"};
constexpr std::string_view kDays[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
constexpr std::string_view kRomans[] = {"I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"};

char LowerAscii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
char UpperAscii(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }

bool StartsWithLower(std::string_view text, std::string_view name) {
  if (text.size() < name.size()) return false;
  for (size_t i = 0; i < name.size(); ++i) {
    if (text[i] != LowerAscii(name[i])) return false;
  }
  return true;
}

// Index of the pattern at the front of `text`; lower case stands for the entry of capitals, plus `lower`.
int FindPattern(std::string_view text, bool& lower) {
  for (size_t i = 0; i < std::size(kPatterns); ++i) {
    const Pattern& pattern = kPatterns[i];
    lower = pattern.letters == Case::kUpper && !text.starts_with(pattern.name) && StartsWithLower(text, pattern.name);
    if (lower || text.starts_with(pattern.name)) return static_cast<int>(i);
  }
  return -1;
}

void AppendCased(std::string_view name, Case letters, std::string& out) {
  for (size_t i = 0; i < name.size(); ++i) {
    const bool upper = letters == Case::kUpper || (letters == Case::kCapital && i == 0);
    out += upper ? UpperAscii(name[i]) : LowerAscii(name[i]);
  }
}

// The name filled with blanks to `width`.
void AppendName(std::string_view name, Case letters, size_t width, std::string& out) {
  AppendCased(name, letters, out);
  if (name.size() < width) out.append(width - name.size(), ' ');
}

void AppendOrdinal(bool upper, std::string& out) {
  const size_t size = out.size();
  const char last = out[size - 1];
  const bool teen = size > 1 && out[size - 2] == '1';
  const std::string_view suffix = teen ? "th" : last == '1' ? "st" : last == '2' ? "nd" : last == '3' ? "rd" : "th";
  AppendCased(suffix, upper ? Case::kUpper : Case::kLower, out);
}

// A negative number is one wider.
void AppendNumber(int64_t value, int width, bool fill, std::string& out) {
  char text[32];
  const int wanted = !fill ? 0 : value >= 0 ? width : width + 1;
  snprintf(text, sizeof(text), "%0*lld", wanted, static_cast<long long>(value));
  out += text;
}

int64_t DayOfYear(const DateTimeFields& f) {
  if (f.is_interval) return (f.year * 12 + f.month) * 30 + f.day;
  return f.days - type::DaysFromCivil(f.year, 1, 1) + 1;
}
// Monday 0 .. Sunday 6. 1970-01-01 was a Thursday.
int64_t WeekdayFromMonday(int64_t days) { return ((days + 3) % 7 + 7) % 7; }
// The Monday that begins ISO year `year`: the week of 4 January.
int64_t IsoYearBegin(int64_t year) {
  const int64_t fourth = type::DaysFromCivil(year, 1, 4);
  return fourth - WeekdayFromMonday(fourth);
}
int64_t IsoYear(const DateTimeFields& f) {
  if (f.days >= IsoYearBegin(f.year + 1)) return f.year + 1;
  return f.days < IsoYearBegin(f.year) ? f.year - 1 : f.year;
}
int64_t IsoDayOfYear(const DateTimeFields& f) { return f.days - IsoYearBegin(IsoYear(f)) + 1; }

int64_t ShownYear(int64_t year, bool is_interval) { return is_interval || year > 0 ? year : 1 - year; }

int64_t Century(const DateTimeFields& f) {
  if (f.is_interval) return f.year / 100;
  return f.year > 0 ? (f.year - 1) / 100 + 1 : f.year / 100 - 1;
}

void AppendMeridiem(const DateTimeFields& f, bool dots, bool lower, std::string& out) {
  const bool afternoon = f.hour % 24 >= 12;
  const std::string_view name = dots ? (afternoon ? "P.M." : "A.M.") : (afternoon ? "PM" : "AM");
  AppendCased(name, lower ? Case::kLower : Case::kUpper, out);
}

void AppendZoneOffset(const DateTimeFields& f, bool fill, std::string& out) {
  const int32_t seconds = std::abs(f.offset_seconds);
  out += f.offset_seconds >= 0 ? '+' : '-';
  AppendNumber(seconds / 3600, 2, fill, out);
  if (seconds % 3600 != 0) {
    out += ':';
    AppendNumber(seconds % 3600 / 60, 2, true, out);
  }
}

// As PostgreSQL abbreviates zones that are UTC or an offset.
void AppendZone(const DateTimeFields& f, bool lower, std::string& out) {
  if (!f.has_zone) return;
  if (f.offset_seconds == 0) {
    out += lower ? "utc" : "UTC";
    return;
  }
  const int32_t seconds = std::abs(f.offset_seconds);
  out += f.offset_seconds > 0 ? '+' : '-';
  AppendNumber(seconds / 3600, 2, true, out);
  if (seconds % 3600 == 0) return;
  out += ':';
  AppendNumber(seconds % 3600 / 60, 2, true, out);
}

void AppendYear(int64_t year, bool is_interval, int digits, bool fill, std::string& out) {
  static constexpr int64_t kModulus[] = {0, 10, 100, 1000};
  year = ShownYear(year, is_interval);
  AppendNumber(digits == 4 ? year : year % kModulus[digits], digits == 1 ? 1 : digits, fill, out);
}

bool HasIntervals(Shows shows) {
  switch (shows) {
    case Shows::kEra:
    case Shows::kEraDots:
    case Shows::kZone:
    case Shows::kZoneHour:
    case Shows::kZoneMinute:
    case Shows::kZoneOffset:
    case Shows::kMonthName:
    case Shows::kMonthShort:
    case Shows::kDayName:
    case Shows::kDayShort:
    case Shows::kDayOfWeek:
    case Shows::kIsoDayOfWeek:
      return false;
    default:
      return true;
  }
}
// PostgreSQL takes an interval's years, months and days for a date here.
bool IsOddForIntervals(Shows shows) {
  return shows == Shows::kIsoDayOfYear || shows == Shows::kIsoWeek || shows == Shows::kIsoYear ||
         shows == Shows::kJulian || shows == Shows::kRoman;
}

}  // namespace

DateTimeFields FieldsOfTimestamp(int64_t local_timestamp) {
  DateTimeFields f;
  f.days = type::DayOf(local_timestamp);
  const type::CivilDate date = type::CivilFromDays(f.days);
  const type::CivilTime time = type::TimeFromMicros(type::MicrosOfDay(local_timestamp));
  f.year = date.year;
  f.month = date.month;
  f.day = date.day;
  f.hour = time.hour;
  f.minute = time.minute;
  f.second = time.second;
  f.micros = time.micros;
  return f;
}

DateTimeFields FieldsOfInterval(const type::Interval& interval) {
  DateTimeFields f;
  f.is_interval = true;
  f.year = interval.months / 12;
  f.month = interval.months % 12;
  f.day = interval.days;
  f.hour = interval.micros / 3'600'000'000;
  f.minute = interval.micros / 60'000'000 % 60;
  f.second = interval.micros / 1'000'000 % 60;
  f.micros = interval.micros % 1'000'000;
  return f;
}

DateFormat::DateFormat(std::string_view format) {
  while (!format.empty()) {
    Item item;
    if (format.starts_with("FM") || format.starts_with("fm")) {
      item.fill = false;
      format.remove_prefix(2);
    } else if (format.starts_with("TM") || format.starts_with("tm")) {
      item.translated = true;
      format.remove_prefix(2);
    }
    if (format.empty()) break;
    bool lower = false;
    item.pattern = FindPattern(format, lower);
    if (item.pattern >= 0) {
      item.literal = format.substr(0, kPatterns[item.pattern].name.size());
      format.remove_prefix(item.literal.size());
      if (format.starts_with("TH") || format.starts_with("th")) {
        item.ordinal = format[0];
        format.remove_prefix(2);
      } else if (format.starts_with("SP")) {
        format.remove_prefix(2);
      }
      items_.push_back(item);
      continue;
    }
    if (format[0] == '"') {
      format.remove_prefix(1);
      while (!format.empty() && format[0] != '"') {
        if (format[0] == '\\' && format.size() > 1) format.remove_prefix(1);
        Item text;
        text.literal = TakeCharacter(format);
        items_.push_back(text);
      }
      if (!format.empty()) format.remove_prefix(1);
      continue;
    }
    if (format.starts_with("\\\"")) format.remove_prefix(1);
    item.literal = TakeCharacter(format);
    items_.push_back(item);
  }
}

Status DateFormat::Append(const DateTimeFields& fields, std::string& out) const {
  for (const Item& item : items_) {
    if (item.pattern < 0) {
      out += item.literal;
    } else {
      SISAL_RETURN_IF_ERROR(AppendPattern(item, fields, out));
    }
  }
  return Status();
}

Status DateFormat::AppendPattern(const Item& item, const DateTimeFields& f, std::string& out) {
  const Pattern& pattern = kPatterns[item.pattern];
  if (f.is_interval && !HasIntervals(pattern.shows)) {
    return Error("22007", "invalid format specification for an interval value")
        .WithHint("Intervals are not tied to specific calendar dates.");
  }
  if (f.is_interval && IsOddForIntervals(pattern.shows)) {
    return Error("0A000", "format \"" + std::string(pattern.name) + "\" is not supported for an interval");
  }
  const bool lower = LowerAscii(item.literal[0]) == item.literal[0];
  const Case letters = lower ? Case::kLower : pattern.letters;
  const size_t name_width = item.fill && !item.translated ? 9 : 0;
  const bool fill = item.fill;
  const auto number = [&](int64_t value, int width) {
    AppendNumber(value, width, fill, out);
    if (item.ordinal != 0) AppendOrdinal(item.ordinal == 'T', out);
    return Status();
  };
  switch (pattern.shows) {
    case Shows::kNothing:
      break;
    case Shows::kMeridiem:
    case Shows::kMeridiemDots:
      AppendMeridiem(f, pattern.shows == Shows::kMeridiemDots, lower, out);
      break;
    case Shows::kEra:
      AppendCased(f.year <= 0 ? "BC" : "AD", letters, out);
      break;
    case Shows::kEraDots:
      AppendCased(f.year <= 0 ? "B.C." : "A.D.", letters, out);
      break;
    case Shows::kHour12:
      return number(f.hour % 12 == 0 ? 12 : f.hour % 12, 2);
    case Shows::kHour24:
      return number(f.hour, 2);
    case Shows::kMinute:
      return number(f.minute, 2);
    case Shows::kSecond:
      return number(f.second, 2);
    case Shows::kFraction: {
      int64_t value = f.micros;
      for (int i = pattern.digits; i < 6; ++i) value /= 10;
      AppendNumber(value, value < 0 ? pattern.digits - 1 : pattern.digits, true, out);
      if (item.ordinal != 0) AppendOrdinal(item.ordinal == 'T', out);
      break;
    }
    case Shows::kMillisecond:
    case Shows::kMicrosecond: {
      const bool millis = pattern.shows == Shows::kMillisecond;
      const int64_t value = millis ? f.micros / 1000 : f.micros;
      AppendNumber(value, (millis ? 3 : 6) - (value < 0), true, out);
      if (item.ordinal != 0) AppendOrdinal(item.ordinal == 'T', out);
      break;
    }
    case Shows::kSecondOfDay:
      return number(f.hour * 3600 + f.minute * 60 + f.second, 0);
    case Shows::kZone:
      AppendZone(f, lower, out);
      break;
    case Shows::kZoneHour:
      out += f.offset_seconds >= 0 ? '+' : '-';
      AppendNumber(std::abs(f.offset_seconds) / 3600, 2, true, out);
      break;
    case Shows::kZoneMinute:
      AppendNumber(std::abs(f.offset_seconds) % 3600 / 60, 2, true, out);
      break;
    case Shows::kZoneOffset:
      AppendZoneOffset(f, fill, out);
      break;
    case Shows::kMonthName:
      AppendName(kMonths[f.month - 1], letters, name_width, out);
      break;
    case Shows::kMonthShort:
      AppendCased(kMonths[f.month - 1].substr(0, 3), letters, out);
      break;
    case Shows::kMonth:
      return number(f.month, 2);
    case Shows::kDayName:
    case Shows::kDayShort: {
      const std::string_view name = kDays[(WeekdayFromMonday(f.days) + 1) % 7];
      if (pattern.shows == Shows::kDayName) {
        AppendName(name, letters, name_width, out);
      } else {
        AppendCased(name.substr(0, 3), letters, out);
      }
      break;
    }
    case Shows::kDayOfYear:
      return number(DayOfYear(f), DayOfYear(f) < 0 ? 2 : 3);  // the sign is one of the three
    case Shows::kIsoDayOfYear:
      return number(IsoDayOfYear(f), 3);
    case Shows::kDay:
      return number(f.day, f.day < 0 ? 1 : 2);  // the sign is one of the two
    case Shows::kDayOfWeek:
      return number((WeekdayFromMonday(f.days) + 1) % 7 + 1, 1);
    case Shows::kIsoDayOfWeek:
      return number(WeekdayFromMonday(f.days) + 1, 1);
    case Shows::kWeek:
      return number((DayOfYear(f) - 1) / 7 + 1, 2);
    case Shows::kIsoWeek:
      return number((IsoDayOfYear(f) - 1) / 7 + 1, 2);
    case Shows::kWeekOfMonth:
      return number((f.day - 1) / 7 + 1, 1);
    case Shows::kQuarter:
      return f.month == 0 ? Status() : number((f.month - 1) / 3 + 1, 1);
    case Shows::kCentury:
      return number(Century(f), 2);
    case Shows::kYearComma: {
      const int64_t year = ShownYear(f.year, f.is_interval);
      out += std::to_string(year / 1000) + ",";
      AppendNumber(year % 1000, year < 0 ? 2 : 3, true, out);
      if (item.ordinal != 0) AppendOrdinal(item.ordinal == 'T', out);
      break;
    }
    case Shows::kYear:
    case Shows::kIsoYear:
      AppendYear(pattern.shows == Shows::kYear ? f.year : IsoYear(f), f.is_interval, pattern.digits, fill, out);
      if (item.ordinal != 0) AppendOrdinal(item.ordinal == 'T', out);
      break;
    case Shows::kRoman:
      AppendName(kRomans[f.month - 1], letters, fill ? 4 : 0, out);
      break;
    case Shows::kJulian:
      return number(f.days + 2'440'588, 0);
  }
  return Status();
}

}  // namespace sisal::function
