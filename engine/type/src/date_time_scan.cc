#include "date_time_scan.h"

#include <charconv>
#include <cmath>

#include "text_scan.h"

namespace sisal::type {
namespace {

struct WordEntry {
  std::string_view text;
  Word word;
};
constexpr WordEntry kWords[] = {
    {"jan", {WordKind::kMonth, 1}},
    {"january", {WordKind::kMonth, 1}},
    {"feb", {WordKind::kMonth, 2}},
    {"february", {WordKind::kMonth, 2}},
    {"mar", {WordKind::kMonth, 3}},
    {"march", {WordKind::kMonth, 3}},
    {"apr", {WordKind::kMonth, 4}},
    {"april", {WordKind::kMonth, 4}},
    {"may", {WordKind::kMonth, 5}},
    {"jun", {WordKind::kMonth, 6}},
    {"june", {WordKind::kMonth, 6}},
    {"jul", {WordKind::kMonth, 7}},
    {"july", {WordKind::kMonth, 7}},
    {"aug", {WordKind::kMonth, 8}},
    {"august", {WordKind::kMonth, 8}},
    {"sep", {WordKind::kMonth, 9}},
    {"sept", {WordKind::kMonth, 9}},
    {"september", {WordKind::kMonth, 9}},
    {"oct", {WordKind::kMonth, 10}},
    {"october", {WordKind::kMonth, 10}},
    {"nov", {WordKind::kMonth, 11}},
    {"november", {WordKind::kMonth, 11}},
    {"dec", {WordKind::kMonth, 12}},
    {"december", {WordKind::kMonth, 12}},
    {"am", {WordKind::kMeridian, 0}},
    {"pm", {WordKind::kMeridian, 1}},
    {"ad", {WordKind::kEra, 0}},
    {"bc", {WordKind::kEra, 1}},
    {"z", {WordKind::kZone, 0}},
    {"zulu", {WordKind::kZone, 0}},
    {"utc", {WordKind::kZone, 0}},
    {"gmt", {WordKind::kZone, 0}},
    {"ut", {WordKind::kZone, 0}},
    {"uct", {WordKind::kZone, 0}},
    {"universal", {WordKind::kZone, 0}},
    {"sun", {WordKind::kDayOfWeek, 0}},
    {"sunday", {WordKind::kDayOfWeek, 0}},
    {"mon", {WordKind::kDayOfWeek, 1}},
    {"monday", {WordKind::kDayOfWeek, 1}},
    {"tue", {WordKind::kDayOfWeek, 2}},
    {"tues", {WordKind::kDayOfWeek, 2}},
    {"tuesday", {WordKind::kDayOfWeek, 2}},
    {"wed", {WordKind::kDayOfWeek, 3}},
    {"weds", {WordKind::kDayOfWeek, 3}},
    {"wednesday", {WordKind::kDayOfWeek, 3}},
    {"thu", {WordKind::kDayOfWeek, 4}},
    {"thur", {WordKind::kDayOfWeek, 4}},
    {"thurs", {WordKind::kDayOfWeek, 4}},
    {"thursday", {WordKind::kDayOfWeek, 4}},
    {"fri", {WordKind::kDayOfWeek, 5}},
    {"friday", {WordKind::kDayOfWeek, 5}},
    {"sat", {WordKind::kDayOfWeek, 6}},
    {"saturday", {WordKind::kDayOfWeek, 6}},
    {"t", {WordKind::kTimeMark, 0}},
    {"j", {WordKind::kJulianMark, 0}},
    {"jd", {WordKind::kJulianMark, 0}},
    {"julian", {WordKind::kJulianMark, 0}},
    {"at", {WordKind::kIgnored, 0}},
    {"on", {WordKind::kIgnored, 0}},
    {"now", {WordKind::kNow, 0}},
    {"today", {WordKind::kToday, 0}},
    {"yesterday", {WordKind::kYesterday, 0}},
    {"tomorrow", {WordKind::kTomorrow, 0}},
    {"allballs", {WordKind::kMidnight, 0}},
    {"epoch", {WordKind::kEpoch, 0}},
    {"infinity", {WordKind::kInfinity, 0}},
    {"-infinity", {WordKind::kNegativeInfinity, 0}},
};

constexpr std::string_view kForeignZones[] = {
    "amst",  "anast", "anat",  "arst",  "art",  "azst",  "azt",   "ckt",   "clt",   "davt", "easst",
    "east",  "fkst",  "fkt",   "gest",  "get",  "gyt",   "icst",  "iot",   "irkst", "irkt", "kgt",
    "kost",  "krast", "krat",  "ldt",   "lhdt", "lint",  "lkt",   "magst", "magt",  "mawt", "msk",
    "novst", "novt",  "nut",   "omsst", "omst", "petst", "pett",  "pyt",   "sgt",   "tkt",  "tmt",
    "ulat",  "vet",   "vlast", "vlat",  "volt", "west",  "yakst", "yakt",  "yekt"};

// PostgreSQL's default abbreviations that always mean the same offset: seconds east of Greenwich.
struct ZoneAbbreviation {
  std::string_view name;
  int32_t offset;
};
constexpr ZoneAbbreviation kZoneAbbreviations[] = {
    {"acdt", 37800},  {"acsst", 37800},  {"acst", 34200},  {"act", -18000},  {"acwst", 31500}, {"adt", -10800},
    {"aedt", 39600},  {"aesst", 39600},  {"aest", 36000},  {"aft", 16200},   {"akdt", -28800}, {"akst", -32400},
    {"almst", 25200}, {"almt", 21600},   {"amt", -14400},  {"ast", -14400},  {"awsst", 32400}, {"awst", 28800},
    {"azost", 0},     {"azot", -3600},   {"bdst", 7200},   {"bdt", 21600},   {"bnt", 28800},   {"bort", 28800},
    {"bot", -14400},  {"bra", -10800},   {"brst", -7200},  {"brt", -10800},  {"bst", 3600},    {"btt", 21600},
    {"cadt", 37800},  {"cast", 34200},   {"cct", 28800},   {"cdt", -18000},  {"cest", 7200},   {"cet", 3600},
    {"cetdst", 7200}, {"chadt", 49500},  {"chast", 45900}, {"chut", 36000},  {"clst", -10800}, {"cot", -18000},
    {"cst", -21600},  {"cxt", 25200},    {"ddut", 36000},  {"eat", 10800},   {"edt", -14400},  {"eest", 10800},
    {"eet", 7200},    {"eetdst", 10800}, {"egst", 0},      {"egt", -3600},   {"est", -18000},  {"fet", 10800},
    {"fjst", 46800},  {"fjt", 43200},    {"fnst", -3600},  {"fnt", -7200},   {"galt", -21600}, {"gamt", -32400},
    {"gft", -10800},  {"gilt", 43200},   {"hkt", 28800},   {"hst", -36000},  {"ict", 25200},   {"idt", 10800},
    {"irt", 12600},   {"ist", 7200},     {"jayt", 32400},  {"jst", 32400},   {"kdt", 36000},   {"kgst", 21600},
    {"kst", 32400},   {"lhst", 37800},   {"ligt", 36000},  {"mart", -34200}, {"mdt", -21600},  {"mest", 7200},
    {"mesz", 7200},   {"met", 3600},     {"metdst", 7200}, {"mez", 3600},    {"mht", 43200},   {"mmt", 23400},
    {"mpt", 36000},   {"msd", 14400},    {"mst", -25200},  {"must", 18000},  {"mut", 14400},   {"mvt", 18000},
    {"myt", 28800},   {"ndt", -9000},    {"nft", -12600},  {"npt", 20700},   {"nst", -12600},  {"nzdt", 46800},
    {"nzst", 43200},  {"nzt", 43200},    {"pdt", -25200},  {"pet", -18000},  {"pgt", 36000},   {"pht", 28800},
    {"pkst", 21600},  {"pkt", 18000},    {"pmdt", -7200},  {"pmst", -10800}, {"pont", 39600},  {"pst", -28800},
    {"pwt", 32400},   {"pyst", -10800},  {"ret", 14400},   {"sadt", 37800},  {"sast", 7200},   {"sct", 14400},
    {"taht", -36000}, {"tft", 18000},    {"tjt", 18000},   {"tot", 46800},   {"trut", 36000},  {"tvt", 43200},
    {"ulast", 32400}, {"uyst", -7200},   {"uyt", -10800},  {"uzst", 21600},  {"uzt", 18000},   {"vut", 39600},
    {"wadt", 28800},  {"wakt", 43200},   {"wast", 25200},  {"wat", 3600},    {"wdt", 32400},   {"wet", 0},
    {"wetdst", 3600}, {"wft", 43200},    {"wgst", -7200},  {"wgt", -10800},  {"xjt", 21600},   {"yapt", 36000},
    {"yekst", 21600}};

bool IsAlphanumeric(char c) { return IsLetter(c) || IsDigit(c); }
bool IsPunctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// Takes characters off the front of `rest` while `accept` holds, in lower case.
template <typename Accept>
void Take(std::string_view& rest, std::string& out, Accept accept) {
  while (!rest.empty() && accept(rest[0])) {
    out.push_back(ToLower(rest[0]));
    rest.remove_prefix(1);
  }
}

DateTimeField ScanDigits(std::string_view& rest) {
  DateTimeField field{FieldKind::kNumber, {}};
  Take(rest, field.text, IsDigit);
  if (rest.empty()) return field;
  const char next = rest[0];
  if (next == ':') {
    field.kind = FieldKind::kTime;
    Take(rest, field.text, [](char c) { return IsDigit(c) || c == ':' || c == '.'; });
  } else if (next == '-' || next == '/' || next == '.') {
    field.text.push_back(next);
    rest.remove_prefix(1);
    if (!rest.empty() && IsDigit(rest[0])) {
      if (next != '.') field.kind = FieldKind::kDate;
      Take(rest, field.text, IsDigit);
      // A second delimiter of the same kind makes a date of three parts.
      if (!rest.empty() && rest[0] == next) {
        field.kind = FieldKind::kDate;
        Take(rest, field.text, [next](char c) { return IsDigit(c) || c == next; });
      }
    } else {
      field.kind = next == '.' ? FieldKind::kNumber : FieldKind::kDate;
      if (!rest.empty() && IsLetter(rest[0])) field.kind = FieldKind::kDate;
      if (field.kind == FieldKind::kDate) {
        Take(rest, field.text, [next](char c) { return IsAlphanumeric(c) || c == next; });
      }
    }
  }
  return field;
}

DateTimeField ScanWord(std::string_view& rest) {
  DateTimeField field{FieldKind::kWord, {}};
  Take(rest, field.text, IsLetter);
  if (rest.empty()) return field;
  const char next = rest[0];
  // "jan-08-1999", or a time zone: "america/new_york".
  const bool joined = next == '-' || next == '/' || next == '.' ||
                      ((next == '+' || IsDigit(next)) && FindWord(field.text).kind == WordKind::kUnknown);
  if (joined) {
    field.kind = FieldKind::kDate;
    Take(rest, field.text, [](char c) {
      return IsAlphanumeric(c) || c == '+' || c == '-' || c == '/' || c == '_' || c == '.' || c == ':';
    });
  }
  return field;
}

}  // namespace

bool ScanDateTime(std::string_view text, std::vector<DateTimeField>& fields) {
  constexpr size_t kFieldsMax = 25;
  std::string_view rest = text;
  while (!rest.empty()) {
    const char c = rest[0];
    if (IsBlank(c)) {
      rest.remove_prefix(1);
      continue;
    }
    if (fields.size() == kFieldsMax) return false;
    if (IsDigit(c)) {
      fields.push_back(ScanDigits(rest));
    } else if (c == '.') {
      DateTimeField field{FieldKind::kNumber, "."};
      rest.remove_prefix(1);
      Take(rest, field.text, IsDigit);
      fields.push_back(std::move(field));
    } else if (IsLetter(c)) {
      fields.push_back(ScanWord(rest));
    } else if (c == '+' || c == '-') {
      DateTimeField field{FieldKind::kSigned, std::string(1, c)};
      rest.remove_prefix(1);
      while (!rest.empty() && IsBlank(rest[0])) rest.remove_prefix(1);
      if (rest.empty()) return false;
      if (IsDigit(rest[0])) {
        Take(rest, field.text, [](char d) { return IsDigit(d) || d == ':' || d == '.' || d == '-'; });
      } else if (IsLetter(rest[0])) {
        field.kind = FieldKind::kSpecial;
        Take(rest, field.text, IsLetter);
      } else {
        return false;
      }
      fields.push_back(std::move(field));
    } else if (IsPunctuation(c)) {
      rest.remove_prefix(1);
    } else {
      return false;
    }
  }
  return true;
}

Word FindWord(std::string_view lower) {
  for (const WordEntry& entry : kWords) {
    if (entry.text == lower) return entry.word;
  }
  for (const ZoneAbbreviation& zone : kZoneAbbreviations) {
    if (zone.name == lower) return {WordKind::kZoneAbbreviation, zone.offset};
  }
  return Word();
}

bool IsForeignZone(std::string_view lower) {
  for (std::string_view zone : kForeignZones) {
    if (zone == lower) return true;
  }
  return false;
}

bool ParseDigits(std::string_view text, int64_t& value) {
  if (text.empty() || text.size() > 18) return false;
  value = 0;
  for (char c : text) {
    if (!IsDigit(c)) return false;
    value = value * 10 + (c - '0');
  }
  return true;
}

bool ParseFractionMicros(std::string_view text, int64_t& micros) {
  micros = 0;
  if (text.empty() || text[0] != '.') return false;
  if (text.size() == 1) return true;
  for (char c : text.substr(1)) {
    if (!IsDigit(c)) return false;
  }
  double fraction = 0;
  std::from_chars(text.data(), text.data() + text.size(), fraction);
  micros = static_cast<int64_t>(std::rint(fraction * 1e6));
  return true;
}

bool ParseClock(std::string_view text, int64_t& hours, int64_t& micros_of_hour, bool& overflow) {
  int64_t parts[3] = {0, 0, 0};
  size_t count = 0;
  size_t start = 0;
  int64_t fraction = 0;
  bool has_fraction = false;
  while (true) {
    const size_t end = std::min(text.find_first_of(":.", start), text.size());
    if (count == 3) return false;
    const std::string_view part = text.substr(start, end - start);
    if (part.empty() && count > 0 && end == text.size()) break;  // "12:30:"
    if (!ParseDigits(part, parts[count])) return false;
    ++count;
    if (end == text.size()) break;
    if (text[end] == '.') {
      if (!ParseFractionMicros(text.substr(end), fraction)) return false;
      has_fraction = true;
      break;
    }
    start = end + 1;
  }
  if (count < 2 && has_fraction) return false;
  if (count == 2 && has_fraction) {  // minutes and seconds
    parts[2] = parts[1];
    parts[1] = parts[0];
    parts[0] = 0;
  }
  overflow = parts[1] > 59 || parts[2] > 60;
  hours = parts[0];
  micros_of_hour = overflow ? 0 : (parts[1] * 60 + parts[2]) * 1'000'000 + fraction;
  return true;
}

bool ParseOffset(std::string_view text, int32_t& seconds, bool& overflow) {
  constexpr int64_t kHoursMax = 15;
  overflow = false;
  if (text.size() < 2 || (text[0] != '+' && text[0] != '-')) return false;
  const bool negative = text[0] == '-';
  text.remove_prefix(1);
  int64_t hour = 0, minute = 0, second = 0;
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    if (text.size() > 9) return false;
    if (!ParseDigits(text, hour)) return false;
    if (text.size() > 2) {
      minute = hour % 100;
      hour /= 100;
    }
  } else {
    const size_t second_colon = text.find(':', colon + 1);
    const std::string_view minutes = text.substr(colon + 1, std::min(second_colon, text.size()) - colon - 1);
    if (!ParseDigits(text.substr(0, colon), hour) || !ParseDigits(minutes, minute)) return false;
    if (second_colon != std::string_view::npos && !ParseDigits(text.substr(second_colon + 1), second)) return false;
  }
  overflow = hour > kHoursMax || minute > 59 || second > 59;
  if (overflow) return true;
  seconds = static_cast<int32_t>((hour * 60 + minute) * 60 + second);
  if (negative) seconds = -seconds;
  return true;
}

}  // namespace sisal::type
