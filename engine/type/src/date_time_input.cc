// The input functions of date, time and both timestamps: gathers what the fields say, then checks it as a whole.
#include <algorithm>

#include "date_time_scan.h"
#include "sisal/type/date_time.h"
#include "text_scan.h"

namespace sisal::type {
namespace {

// What has been said so far.
enum Part : uint32_t {
  kYear = 1,
  kMonth = 2,
  kDay = 4,
  kDayOfYear = 8,
  kTimePart = 16,
  kZonePart = 32,
  kMeridianPart = 64,
  kEraPart = 128,
  kDayOfWeekPart = 256,
};
constexpr uint32_t kDatePart = kYear | kMonth | kDay;

enum class Outcome : uint8_t { kOk, kMalformed, kOutOfRange, kOutOfRangeMonthDay, kZoneOutOfRange, kUnknownZone };

class Decoder {
 public:
  Decoder(TypeId type, const TextSettings& settings) : time_only_(type == TypeId::kTime), settings_(settings) {}

  Outcome Run(std::string_view text);
  bool Has(uint32_t parts) const { return (seen_ & parts) == parts; }
  // Infinities, and nothing else, of a field.
  bool is_infinite() const { return infinite_ != 0; }
  int64_t infinite_value() const { return infinite_ > 0 ? kInfinite : kNegativeInfinite; }
  int64_t days() const { return days_; }
  int64_t micros() const { return micros_; }
  // Seconds east: as the text says, else the session's.
  int32_t offset_seconds() const { return Has(kZonePart) ? offset_ : settings_.time_zone_offset_seconds; }
  const std::string& zone() const { return zone_; }

 private:
  Outcome Mark(uint32_t parts) {
    if ((seen_ & parts) != 0) return Outcome::kMalformed;
    seen_ |= parts;
    return Outcome::kOk;
  }
  Outcome DecodeField(const DateTimeField& field);
  Outcome DecodeDate(std::string_view text);
  Outcome DecodeNumber(std::string_view text, bool with_text_month);
  Outcome DecodeRunTogether(std::string_view text, bool time_only);
  Outcome DecodeWord(std::string_view text);
  Outcome DecodeClock(std::string_view text);
  Outcome DecodeJulian(std::string_view text);
  Outcome DecodeDateOrZone(std::string_view text);
  Outcome SetZone(std::string_view text);
  Outcome SetDay(int64_t days, uint32_t more = 0);
  Outcome FinishDate();
  Outcome FinishTime();

  const bool time_only_;  // a number without a date is a time
  const TextSettings& settings_;
  uint32_t seen_ = 0;
  int64_t year_ = 0, month_ = 0, day_ = 0, day_of_year_ = 0;
  bool two_digit_year_ = false;
  bool text_month_ = false;
  bool day_is_final_ = false;  // days_ is set: today, epoch, a Julian day
  bool after_time_mark_ = false, after_julian_mark_ = false;
  int infinite_ = 0;
  int32_t meridian_ = -1;
  bool before_christ_ = false;
  int64_t hours_ = 0, micros_of_hour_ = 0;
  int32_t offset_ = 0;
  int64_t days_ = 0;
  int64_t micros_ = 0;
  std::string zone_;
};

Outcome Decoder::Run(std::string_view text) {
  std::vector<DateTimeField> fields;
  if (!ScanDateTime(text, fields) || fields.empty()) return Outcome::kMalformed;
  for (const DateTimeField& field : fields) {
    const Outcome outcome = DecodeField(field);
    if (outcome != Outcome::kOk) return outcome;
  }
  if (after_time_mark_ || after_julian_mark_) return Outcome::kMalformed;
  const Outcome outcome = FinishDate();
  return outcome == Outcome::kOk ? FinishTime() : outcome;
}

Outcome Decoder::DecodeField(const DateTimeField& field) {
  if (after_julian_mark_) {
    after_julian_mark_ = false;
    return field.kind == FieldKind::kNumber ? DecodeJulian(field.text) : Outcome::kMalformed;
  }
  const bool after_time_mark = std::exchange(after_time_mark_, false);
  switch (field.kind) {
    case FieldKind::kTime:
      return DecodeClock(field.text);
    case FieldKind::kDate:
      return DecodeDateOrZone(field.text);
    case FieldKind::kNumber: {
      const size_t point = field.text.find('.');
      const size_t whole = std::min(point, field.text.size());
      if (after_time_mark) return DecodeRunTogether(field.text, true);
      if (time_only_ && (seen_ & kDatePart) == 0) return DecodeRunTogether(field.text, true);
      const bool has_date = Has(kMonth | kDay) || Has(kDayOfYear);
      if (point != std::string::npos && (seen_ & kDatePart) == 0) return DecodeDate(field.text);
      if (point != std::string::npos && whole > 2) return DecodeRunTogether(field.text, has_date && Has(kYear));
      if (whole >= 6 && (!(has_date && Has(kYear)) || !Has(kTimePart))) {
        return DecodeRunTogether(field.text, has_date && Has(kYear));
      }
      return DecodeNumber(field.text, text_month_);
    }
    case FieldKind::kSigned: {
      bool overflow = false;
      if (!ParseOffset(field.text, offset_, overflow)) return Outcome::kMalformed;
      if (overflow) return Outcome::kZoneOutOfRange;
      // "UTC+3": the POSIX form, in which west is positive.
      if (Has(kZonePart) && zone_ == "utc") {
        offset_ = -offset_;
        zone_.clear();
        return Outcome::kOk;
      }
      return Mark(kZonePart);
    }
    case FieldKind::kWord:
    case FieldKind::kSpecial:
      if (after_time_mark) return Outcome::kMalformed;
      return DecodeWord(field.text);
  }
  return Outcome::kMalformed;
}

Outcome Decoder::DecodeJulian(std::string_view text) {
  constexpr int64_t kJulianOfEpoch = 2'440'588;
  const size_t point = std::min(text.find('.'), text.size());
  int64_t julian;
  if (!ParseDigits(text.substr(0, point), julian)) return Outcome::kMalformed;
  if (julian > INT32_MAX) return Outcome::kOutOfRange;
  if (point == text.size()) return SetDay(julian - kJulianOfEpoch);
  // The day's fraction, as a time; six digits of it would not do for microseconds.
  int64_t value = 0;
  const std::string_view digits = text.substr(point + 1).substr(0, 15);
  if (!digits.empty() && !ParseDigits(digits, value)) return Outcome::kMalformed;
  double fraction = static_cast<double>(value);
  for (size_t i = 0; i < digits.size(); ++i) fraction /= 10;
  micros_of_hour_ = static_cast<int64_t>(fraction * static_cast<double>(kMicrosPerDay));
  hours_ = micros_of_hour_ / (3600 * kMicrosPerSecond);
  micros_of_hour_ %= 3600 * kMicrosPerSecond;
  return SetDay(julian - kJulianOfEpoch, kTimePart);
}

Outcome Decoder::SetDay(int64_t days, uint32_t more) {
  days_ = days;
  day_is_final_ = true;
  return Mark(kDatePart | more);
}

// A date, a time zone's name, or hhmmss-zz.
Outcome Decoder::DecodeDateOrZone(std::string_view text) {
  if (!Has(kMonth | kDay) && !(time_only_ && Has(kTimePart))) {
    const bool has_digits = text.find_first_of("0123456789") != std::string_view::npos;
    return IsLetter(text[0]) && !has_digits ? SetZone(text) : DecodeDate(text);
  }
  if (!IsDigit(text[0])) return SetZone(text);
  const size_t dash = text.find('-');
  if (Has(kTimePart) || dash == std::string_view::npos) return Outcome::kMalformed;
  bool overflow = false;
  if (!ParseOffset(text.substr(dash), offset_, overflow)) return Outcome::kMalformed;
  if (overflow) return Outcome::kZoneOutOfRange;
  const Outcome outcome = Mark(kZonePart);
  return outcome == Outcome::kOk ? DecodeRunTogether(text.substr(0, dash), true) : outcome;
}

Outcome Decoder::SetZone(std::string_view text) {
  const Result<int32_t> offset = ParseTimeZone(text);
  if (!offset.ok()) {
    zone_ = text;
    return Outcome::kUnknownZone;
  }
  offset_ = *offset;
  return Mark(kZonePart);
}

// Parts joined by - / or . : a month's name goes first, wherever it stands.
Outcome Decoder::DecodeDate(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t at = 0;
  while (at < text.size()) {
    if (!IsDigit(text[at]) && !IsLetter(text[at])) {
      ++at;
      continue;
    }
    const bool digits = IsDigit(text[at]);
    const size_t start = at;
    while (at < text.size() && (digits ? IsDigit(text[at]) : IsLetter(text[at]))) ++at;
    parts.push_back(text.substr(start, at - start));
    if (parts.size() > 3) return Outcome::kMalformed;
  }
  bool with_text_month = false;
  for (std::string_view& part : parts) {
    if (!IsLetter(part[0])) continue;
    const Word word = FindWord(part);
    if (word.kind != WordKind::kMonth) return Outcome::kMalformed;
    month_ = word.value;
    with_text_month = true;
    if (const Outcome outcome = Mark(kMonth); outcome != Outcome::kOk) return outcome;
    part = {};
  }
  for (std::string_view part : parts) {
    if (part.empty()) continue;
    if (const Outcome outcome = DecodeNumber(part, with_text_month); outcome != Outcome::kOk) return outcome;
  }
  // Only a time zone may have gone before.
  return (seen_ & ~uint32_t{kDayOfYear | kZonePart}) == kDatePart ? Outcome::kOk : Outcome::kMalformed;
}

// One number of a date, by what is known before it; DateStyle's order is month, day, year.
Outcome Decoder::DecodeNumber(std::string_view text, bool with_text_month) {
  int64_t value;
  const size_t length = text.size();
  if (!ParseDigits(text, value)) return Outcome::kMalformed;
  const auto set_year = [&] {
    year_ = value;
    two_digit_year_ = length <= 2;
    return Mark(kYear);
  };
  const auto set_day = [&] {
    day_ = value;
    return Mark(kDay);
  };
  const auto set_month = [&] {
    month_ = value;
    return Mark(kMonth);
  };
  if (length == 3 && (seen_ & (kDatePart | kDayOfYear)) == kYear && value >= 1 && value <= 366) {
    day_of_year_ = value;
    return Mark(kDayOfYear | kMonth | kDay);
  }
  switch (seen_ & kDatePart) {
    case 0:
      return length >= 3 ? set_year() : set_month();
    case kYear:
      return set_month();
    case kMonth:
      return with_text_month && length >= 3 ? set_year() : set_day();
    case kYear | kMonth:
      if (with_text_month && length >= 3 && two_digit_year_) {  // what seemed the year was the day
        day_ = year_;
        year_ = value;
        two_digit_year_ = false;
        return Mark(kDay);
      }
      return set_day();
    case kDay:
      return set_month();
    case kMonth | kDay:
      return set_year();
    case kDatePart:
      return DecodeRunTogether(text, true);
    default:
      return Outcome::kMalformed;
  }
}

// yymmdd, yyyymmdd, hhmm, hhmmss, and those with a fraction.
Outcome Decoder::DecodeRunTogether(std::string_view text, bool time_only) {
  const size_t point = text.find('.');
  int64_t fraction = 0;
  if (point != std::string_view::npos) {
    if (!ParseFractionMicros(text.substr(point), fraction)) return Outcome::kMalformed;
    text = text.substr(0, point);
  } else if (!time_only && text.size() >= 6) {
    int64_t value;
    if (!ParseDigits(text, value)) return Outcome::kMalformed;
    day_ = value % 100;
    month_ = value / 100 % 100;
    year_ = value / 10'000;
    two_digit_year_ = text.size() == 6;
    return Mark(kDatePart);
  }
  int64_t value;
  if ((text.size() != 4 && text.size() != 6) || !ParseDigits(text, value)) return Outcome::kMalformed;
  if (text.size() == 4) value *= 100;
  if (value / 100 % 100 > 59 || value % 100 > 60) return Outcome::kOutOfRange;
  hours_ = value / 10'000;
  micros_of_hour_ = (value / 100 % 100 * 60 + value % 100) * kMicrosPerSecond + fraction;
  return Mark(kTimePart);
}

Outcome Decoder::DecodeClock(std::string_view text) {
  bool overflow = false;
  if (!ParseClock(text, hours_, micros_of_hour_, overflow)) return Outcome::kMalformed;
  if (overflow) return Outcome::kOutOfRange;
  return Mark(kTimePart);
}

Outcome Decoder::DecodeWord(std::string_view text) {
  const int64_t local_now = settings_.now_micros + int64_t{settings_.time_zone_offset_seconds} * kMicrosPerSecond;
  const Word word = FindWord(text);
  switch (word.kind) {
    case WordKind::kIgnored:
      return Outcome::kOk;
    case WordKind::kMonth:
      // "8 Jan 1999": the number before it was the day.
      if (Has(kMonth) && !Has(kDay) && !text_month_ && month_ >= 1 && month_ <= 31) {
        day_ = month_;
        seen_ = (seen_ & ~uint32_t{kMonth}) | kDay;
      }
      month_ = word.value;
      text_month_ = true;
      return Mark(kMonth);
    case WordKind::kMeridian:
      meridian_ = word.value;
      return Mark(kMeridianPart);
    case WordKind::kEra:
      before_christ_ = word.value == 1;
      return Mark(kEraPart);
    case WordKind::kZone:
    case WordKind::kZoneAbbreviation:
      offset_ = word.value;
      zone_ = "utc";
      return Mark(kZonePart);
    case WordKind::kDayOfWeek:
      return Mark(kDayOfWeekPart);
    case WordKind::kTimeMark:
      if (!Has(kDatePart)) return Outcome::kMalformed;
      after_time_mark_ = true;
      return Outcome::kOk;
    case WordKind::kJulianMark:
      after_julian_mark_ = true;
      return Outcome::kOk;
    case WordKind::kNow:
      hours_ = MicrosOfDay(local_now) / (3600 * kMicrosPerSecond);
      micros_of_hour_ = MicrosOfDay(local_now) % (3600 * kMicrosPerSecond);
      offset_ = settings_.time_zone_offset_seconds;
      return SetDay(DayOf(local_now), kTimePart | kZonePart);
    case WordKind::kToday:
      return SetDay(DayOf(local_now));
    case WordKind::kYesterday:
      return SetDay(DayOf(local_now) - 1);
    case WordKind::kTomorrow:
      return SetDay(DayOf(local_now) + 1);
    case WordKind::kMidnight:
      return Mark(kTimePart | kZonePart);
    case WordKind::kEpoch:
      return SetDay(0, kTimePart | kZonePart);
    case WordKind::kInfinity:
      infinite_ = 1;
      return SetDay(0, kTimePart | kZonePart);
    case WordKind::kNegativeInfinity:
      infinite_ = -1;
      return SetDay(0, kTimePart | kZonePart);
    case WordKind::kUnknown:
      break;
  }
  if (!IsForeignZone(text)) return Outcome::kMalformed;
  zone_ = text;
  return Outcome::kUnknownZone;
}

Outcome Decoder::FinishDate() {
  if (day_is_final_) return before_christ_ ? Outcome::kMalformed : Outcome::kOk;
  if (Has(kYear)) {
    if (before_christ_) {
      if (year_ <= 0) return Outcome::kOutOfRange;
      year_ = 1 - year_;
    } else if (two_digit_year_) {
      year_ += year_ < 70 ? 2000 : 1900;
    } else if (year_ <= 0) {
      return Outcome::kOutOfRange;
    }
  }
  constexpr int64_t kYearsMax = 100'000'000;  // far beyond all ranges, and within the arithmetic's
  const int64_t year = std::clamp(year_, -kYearsMax, kYearsMax);
  if (Has(kDayOfYear)) {
    days_ = DaysFromCivil(year, 1, 1) + day_of_year_ - 1;
    return Outcome::kOk;
  }
  if (Has(kMonth) && (month_ < 1 || month_ > 12)) return Outcome::kOutOfRangeMonthDay;
  if (Has(kDay) && (day_ < 1 || day_ > 31)) return Outcome::kOutOfRangeMonthDay;
  if (!Has(kDatePart)) return Outcome::kOk;
  if (day_ > DaysInMonth(year_, static_cast<int32_t>(month_))) return Outcome::kOutOfRange;
  days_ = DaysFromCivil(year, month_, day_);
  return Outcome::kOk;
}

Outcome Decoder::FinishTime() {
  if (meridian_ >= 0) {
    if (hours_ > 12) return Outcome::kOutOfRange;
    hours_ = hours_ % 12 + (meridian_ == 1 ? 12 : 0);
  }
  if (hours_ > 24 || hours_ * 3600 * kMicrosPerSecond + micros_of_hour_ > kMicrosPerDay) return Outcome::kOutOfRange;
  micros_ = hours_ * 3600 * kMicrosPerSecond + micros_of_hour_;
  return Outcome::kOk;
}

Error MakeError(Outcome outcome, TypeId type, std::string_view text, const Decoder& decoder) {
  const std::string quoted = "\"" + std::string(text) + "\"";
  switch (outcome) {
    case Outcome::kOutOfRange:
      return Error{"22008", "date/time field value out of range: " + quoted};
    case Outcome::kOutOfRangeMonthDay:
      return Error{"22008", "date/time field value out of range: " + quoted}.WithHint(
          "Perhaps you need a different \"datestyle\" setting.");
    case Outcome::kZoneOutOfRange:
      return Error{"22009", "time zone displacement out of range: " + quoted};
    case Outcome::kUnknownZone:
      return Error{"22023", "time zone \"" + decoder.zone() + "\" not recognized"};
    default:
      break;
  }
  std::string_view name = TypeName(type);
  if (type == TypeId::kTime || type == TypeId::kTimestamp) name = name.substr(0, name.find(' '));
  return Error{"22007", "invalid input syntax for type " + std::string(name) + ": " + quoted};
}

Error OutOfRange(std::string_view what, std::string_view text) {
  return Error{"22008", std::string(what) + " out of range: \"" + std::string(text) + "\""};
}

// Both timestamps: local time, not yet moved by an offset.
Result<int64_t> DecodeTimestamp(TypeId type, std::string_view text, const TextSettings& settings) {
  Decoder decoder(type, settings);
  Outcome outcome = decoder.Run(text);
  if (outcome == Outcome::kOk && !decoder.Has(kDatePart)) outcome = Outcome::kMalformed;
  if (outcome != Outcome::kOk) return MakeError(outcome, type, text, decoder);
  if (decoder.is_infinite()) return decoder.infinite_value();
  const int32_t offset = type == TypeId::kTimestampTz ? decoder.offset_seconds() : 0;
  const __int128 micros = static_cast<__int128>(decoder.days()) * kMicrosPerDay + decoder.micros() -
                          static_cast<__int128>(offset) * kMicrosPerSecond;
  if (micros < kMinTimestamp || micros > kMaxTimestamp) return OutOfRange("timestamp", text);
  return static_cast<int64_t>(micros);
}

}  // namespace

Result<int64_t> ParseDate(std::string_view text, const TextSettings& settings) {
  Decoder decoder(TypeId::kDate, settings);
  Outcome outcome = decoder.Run(text);
  if (outcome == Outcome::kOk && !decoder.Has(kDatePart)) outcome = Outcome::kMalformed;
  if (outcome != Outcome::kOk) return MakeError(outcome, TypeId::kDate, text, decoder);
  if (decoder.is_infinite()) return decoder.infinite_value();
  if (decoder.days() < kMinDate || decoder.days() > kMaxDate) return OutOfRange("date", text);
  return decoder.days();
}

Result<int64_t> ParseTime(std::string_view text, const TextSettings& settings) {
  Decoder decoder(TypeId::kTime, settings);
  Outcome outcome = decoder.Run(text);
  if (outcome == Outcome::kOk && (!decoder.Has(kTimePart) || decoder.is_infinite())) outcome = Outcome::kMalformed;
  if (outcome != Outcome::kOk) return MakeError(outcome, TypeId::kTime, text, decoder);
  return decoder.micros();
}

Result<int64_t> ParseTimestamp(std::string_view text, const TextSettings& settings) {
  return DecodeTimestamp(TypeId::kTimestamp, text, settings);
}

Result<int64_t> ParseTimestampTz(std::string_view text, const TextSettings& settings) {
  return DecodeTimestamp(TypeId::kTimestampTz, text, settings);
}

Result<int32_t> ParseTimeZone(std::string_view name) {
  const Error unknown{"22023", "time zone \"" + std::string(name) + "\" not recognized"};
  std::string lower;
  for (char c : StripBlanks(name)) lower.push_back(ToLower(c));
  const Word word = FindWord(lower);
  if (word.kind == WordKind::kZoneAbbreviation) return word.value;
  if (word.kind == WordKind::kZone || lower == "etc/utc" || lower == "etc/gmt" || lower == "greenwich" ||
      lower == "gmt0" || lower == "etc/uct" || lower == "etc/zulu" || lower == "etc/universal" ||
      lower == "etc/greenwich") {
    return 0;
  }
  // Etc/GMT+3 is POSIX's form too.
  std::string_view rest = lower;
  if (rest.starts_with("etc/gmt")) rest.remove_prefix(4);
  if (!rest.empty() && rest[0] == '<') {
    const size_t end = rest.find('>');
    if (end == std::string_view::npos || end < 4) return unknown;
    rest.remove_prefix(end + 1);
  } else {
    size_t letters = 0;
    while (letters < rest.size() && IsLetter(rest[letters])) ++letters;
    if (letters > 0 && letters < 3) return unknown;
    rest.remove_prefix(letters);
  }
  std::string signed_offset(rest);
  if (!signed_offset.empty() && IsDigit(signed_offset[0])) signed_offset.insert(0, "+");
  int32_t seconds = 0;
  bool overflow = false;
  if (!ParseOffset(signed_offset, seconds, overflow) || overflow) return unknown;
  return -seconds;  // POSIX counts west
}

}  // namespace sisal::type
