#include "value_format.h"

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>

namespace sisal::cli {
namespace {
constexpr int64_t kInfinity = std::numeric_limits<int64_t>::max();
constexpr int64_t kMinusInfinity = std::numeric_limits<int64_t>::min();
constexpr int64_t kMicrosecondsPerDay = int64_t{86400} * 1000000;

enum class List { kIntegers, kNumbers, kTexts, kBlobs, kBooleans };

List ListOf(v1::TypeCode type) {
  switch (type) {
    case v1::TYPE_CODE_BOOLEAN:
      return List::kBooleans;
    case v1::TYPE_CODE_SMALLINT:
    case v1::TYPE_CODE_INTEGER:
    case v1::TYPE_CODE_BIGINT:
    case v1::TYPE_CODE_DATE:
    case v1::TYPE_CODE_TIME:
    case v1::TYPE_CODE_TIMESTAMP:
    case v1::TYPE_CODE_TIMESTAMPTZ:
      return List::kIntegers;
    case v1::TYPE_CODE_REAL:
    case v1::TYPE_CODE_DOUBLE:
      return List::kNumbers;
    case v1::TYPE_CODE_BYTEA:
    case v1::TYPE_CODE_UUID:
      return List::kBlobs;
    default:
      return List::kTexts;
  }
}

int ListSize(v1::TypeCode type, const v1::Column& column) {
  switch (ListOf(type)) {
    case List::kIntegers:
      return column.integers_size();
    case List::kNumbers:
      return column.numbers_size();
    case List::kTexts:
      return column.texts_size();
    case List::kBlobs:
      return column.blobs_size();
    case List::kBooleans:
      return column.booleans_size();
  }
  return 0;
}

bool IsNull(const v1::Column& column, uint32_t row) {
  const std::string& bitmap = column.null_bitmap();
  return !bitmap.empty() && (static_cast<unsigned char>(bitmap[row / 8]) >> (row % 8) & 1) != 0;
}

Error BadAnswer(const std::string& what) { return Error("08P01", "the server's answer is malformed: " + what); }

Status CheckColumn(const v1::ColumnType& type, const v1::Column& column, uint64_t rows) {
  const std::string name = "column \"" + type.name() + "\"";
  if (!column.null_bitmap().empty() && column.null_bitmap().size() < (rows + 7) / 8) {
    return BadAnswer(name + " has a short null bitmap");
  }
  if (type.array()) return Error("0A000", name + " is an array, which this client does not support");
  if (static_cast<uint64_t>(ListSize(type.type(), column)) == rows) return Status();
  return BadAnswer(name + " has " + std::to_string(ListSize(type.type(), column)) + " values for " +
                   std::to_string(rows) + " rows");
}

void AppendPadded(int64_t value, int width, std::string* text) {
  char digits[24];
  text->append(digits, static_cast<size_t>(
                           std::snprintf(digits, sizeof digits, "%0*lld", width, static_cast<long long>(value))));
}

// The date without its era; returns whether " BC" has to follow.
bool AppendCalendarDate(int64_t days, std::string* text) {
  // Days in 400 years, the calendar's period: it keeps std::chrono's 16-bit year in range.
  constexpr int64_t kDaysPerPeriod = 146097;
  int64_t periods = days / kDaysPerPeriod;
  int64_t rest = days % kDaysPerPeriod;
  if (rest < 0) {
    rest += kDaysPerPeriod;
    --periods;
  }
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{rest}}};
  const int64_t year = int{date.year()} + periods * 400;
  AppendPadded(year > 0 ? year : 1 - year, 4, text);
  text->push_back('-');
  AppendPadded(static_cast<unsigned>(date.month()), 2, text);
  text->push_back('-');
  AppendPadded(static_cast<unsigned>(date.day()), 2, text);
  return year <= 0;
}

bool AppendInfinity(int64_t value, std::string* text) {
  if (value == kInfinity) text->append("infinity");
  if (value == kMinusInfinity) text->append("-infinity");
  return value == kInfinity || value == kMinusInfinity;
}

// odd * 2^exponent, exactly.
struct Binary {
  unsigned __int128 odd = 0;
  int exponent = 0;
  bool operator==(const Binary&) const = default;
};
Binary MakeBinary(unsigned __int128 value, int exponent) {
  for (; value != 0 && value % 2 == 0; value /= 2) ++exponent;
  return {value, exponent};
}

// The exact value of d.ddde+xx if it can be half-way between two floats; else zero. `digits`: at most 17 of them.
Binary ExactBinary(std::string_view digits) {
  unsigned __int128 value = 0;
  int exponent = std::atoi(digits.data() + digits.find('e') + 1);  // of 10, for `value`
  bool in_fraction = false;
  for (const char c : digits.substr(0, digits.find('e'))) {
    if (c == '.') in_fraction = true;
    if (c < '0' || c > '9') continue;
    value = value * 10 + static_cast<unsigned>(c - '0');
    exponent -= in_fraction ? 1 : 0;
  }
  // 5^24 alone has more bits than a half-way point, and more digits than `value`.
  if (exponent > 24 || exponent < -24) return {};
  for (int i = 0; i < exponent; ++i) value *= 5;
  for (int i = 0; i > exponent; --i) {
    if (value % 5 != 0) return {};
    value /= 5;
  }
  return MakeBinary(value, exponent);
}

// PostgreSQL's shortest digits never are a decimal exactly half-way between two floats, because some readers would
// round it to the other one; std::to_chars allows it for an even mantissa (1e+23).
template <typename T>
bool IsHalfWay(T value, const char* digits) {
  const Binary decimal = ExactBinary(digits);
  if (decimal.odd == 0) return false;
  int exponent = 0;
  const T fraction = std::frexp(std::fabs(value), &exponent);
  const auto mantissa = static_cast<uint64_t>(std::ldexp(fraction, std::numeric_limits<T>::digits));
  exponent -= std::numeric_limits<T>::digits;
  // Below a power of two the floats lie twice as close.
  const bool power_of_two = fraction == T{0.5};
  const Binary low =
      power_of_two ? MakeBinary(mantissa * 4 - 1, exponent - 2) : MakeBinary(mantissa * 2 - 1, exponent - 1);
  return decimal == low || decimal == MakeBinary(mantissa * 2 + 1, exponent - 1);
}
double ReadBack(double, const char* digits) { return std::strtod(digits, nullptr); }
float ReadBack(float, const char* digits) { return std::strtof(digits, nullptr); }

// Requires: a finite value. Writes the shortest digits that read back as `value`, as d.ddde+xx.
template <typename T>
void ShortestScientific(T value, char* digits, size_t size) {
  *std::to_chars(digits, digits + size, value, std::chars_format::scientific).ptr = '\0';
  if (!IsHalfWay(value, digits)) return;
  for (int precision = 0; precision < std::numeric_limits<T>::max_digits10; ++precision) {
    std::snprintf(digits, size, "%.*e", precision, static_cast<double>(value));
    if (ReadBack(value, digits) == value && !IsHalfWay(value, digits)) return;
  }
}

// `exponent_max`: from this exponent on PostgreSQL writes 1e+15 in place of 1000000000000000.
template <typename T>
void AppendFloat(T value, int exponent_max, std::string* text) {
  if (std::isnan(value)) return static_cast<void>(text->append("NaN"));
  if (std::isinf(value)) return static_cast<void>(text->append(value > 0 ? "Infinity" : "-Infinity"));
  char scientific[64];
  ShortestScientific(value, scientific, sizeof scientific - 1);
  std::string_view rest = scientific;
  if (rest.front() == '-') {
    text->push_back('-');
    rest.remove_prefix(1);
  }
  const size_t mark = rest.find('e');
  const int exponent = std::atoi(rest.data() + mark + 1);
  if (exponent < -4 || exponent >= exponent_max) return static_cast<void>(text->append(rest));
  std::string digits(1, rest[0]);
  if (mark > 2) digits.append(rest.substr(2, mark - 2));
  if (exponent < 0) {
    text->append("0.").append(static_cast<size_t>(-exponent - 1), '0').append(digits);
    return;
  }
  const size_t whole_digits = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole_digits) {
    text->append(digits).append(whole_digits - digits.size(), '0');
  } else {
    text->append(digits, 0, whole_digits).append(".").append(digits, whole_digits);
  }
}

// `index`: of the value in its list. NULL was looked at before.
void AppendScalar(v1::TypeCode type, const v1::Column& column, int index, std::string* text) {
  switch (type) {
    case v1::TYPE_CODE_BOOLEAN:
      text->push_back(column.booleans(index) ? 't' : 'f');
      return;
    case v1::TYPE_CODE_SMALLINT:
    case v1::TYPE_CODE_INTEGER:
    case v1::TYPE_CODE_BIGINT: {
      char digits[24];
      text->append(digits, std::to_chars(digits, digits + sizeof digits, column.integers(index)).ptr);
      return;
    }
    case v1::TYPE_CODE_REAL:
      return AppendReal(static_cast<float>(column.numbers(index)), text);
    case v1::TYPE_CODE_DOUBLE:
      return AppendDouble(column.numbers(index), text);
    case v1::TYPE_CODE_BYTEA:
      return AppendBytea(column.blobs(index), text);
    case v1::TYPE_CODE_UUID:
      return AppendUuid(column.blobs(index), text);
    case v1::TYPE_CODE_DATE:
      return AppendDate(column.integers(index), text);
    case v1::TYPE_CODE_TIME:
      return AppendTime(column.integers(index), text);
    case v1::TYPE_CODE_TIMESTAMP:
      return AppendTimestamp(column.integers(index), /*with_time_zone=*/false, text);
    case v1::TYPE_CODE_TIMESTAMPTZ:
      return AppendTimestamp(column.integers(index), /*with_time_zone=*/true, text);
    default:
      text->append(column.texts(index));
  }
}

}  // namespace

Status CheckBatch(const ColumnTypes& types, const v1::ColumnBatch& batch) {
  if (batch.columns_size() != types.size()) {
    return BadAnswer(std::to_string(batch.columns_size()) + " columns, not " + std::to_string(types.size()));
  }
  for (int i = 0; i < types.size(); ++i) {
    SISAL_RETURN_IF_ERROR(CheckColumn(types.Get(i), batch.columns(i), batch.row_count()));
  }
  return Status();
}

void FormatCell(const v1::ColumnType& type, const v1::Column& column, uint32_t row, Cell* cell) {
  cell->text.clear();
  cell->is_null = IsNull(column, row);
  if (cell->is_null) return;
  AppendScalar(type.type(), column, static_cast<int>(row), &cell->text);
}

void AppendDate(int64_t days, std::string* text) {
  if (AppendInfinity(days, text)) return;
  if (AppendCalendarDate(days, text)) text->append(" BC");
}

void AppendTime(int64_t microseconds, std::string* text) {
  const int64_t seconds = microseconds / 1000000;
  const int64_t fraction = microseconds % 1000000;
  AppendPadded(seconds / 3600, 2, text);
  text->push_back(':');
  AppendPadded(seconds / 60 % 60, 2, text);
  text->push_back(':');
  AppendPadded(seconds % 60, 2, text);
  if (fraction == 0) return;
  text->push_back('.');
  AppendPadded(fraction, 6, text);
  while (text->back() == '0') text->pop_back();
}

void AppendTimestamp(int64_t microseconds, bool with_time_zone, std::string* text) {
  if (AppendInfinity(microseconds, text)) return;
  int64_t days = microseconds / kMicrosecondsPerDay;
  int64_t rest = microseconds % kMicrosecondsPerDay;
  if (rest < 0) {
    rest += kMicrosecondsPerDay;
    --days;
  }
  const bool before_christ = AppendCalendarDate(days, text);
  text->push_back(' ');
  AppendTime(rest, text);
  if (with_time_zone) text->append("+00");
  if (before_christ) text->append(" BC");
}

void AppendBytea(std::string_view bytes, std::string* text) {
  constexpr char kHex[] = "0123456789abcdef";
  text->append("\\x");
  for (const char c : bytes) {
    text->push_back(kHex[static_cast<unsigned char>(c) >> 4]);
    text->push_back(kHex[static_cast<unsigned char>(c) & 15]);
  }
}

void AppendUuid(std::string_view bytes, std::string* text) {
  std::string hex;
  AppendBytea(bytes, &hex);
  hex.erase(0, 2);
  for (size_t i = 0; i < hex.size(); ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) text->push_back('-');
    text->push_back(hex[i]);
  }
}

void AppendDouble(double value, std::string* text) { AppendFloat(value, 15, text); }

void AppendReal(float value, std::string* text) { AppendFloat(value, 6, text); }

bool IsNumber(const v1::ColumnType& type) {
  return !type.array() && type.type() >= v1::TYPE_CODE_SMALLINT && type.type() <= v1::TYPE_CODE_NUMERIC;
}
}  // namespace sisal::cli
