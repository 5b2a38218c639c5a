// to_char() of numbers, dates and times.
#include <cmath>
#include <cstdio>
#include <optional>

#include "registry.h"
#include "sisal/type/numeric.h"
#include "to_char_date.h"
#include "to_char_number.h"

namespace sisal::function {
namespace {

using enum type::TypeId;
using type::Numeric;

// Infinities and an empty format give NULL.
template <type::TypeId kType>
Status ToChar(const Call& call, type::Vector& out) {
  type::EnsureNulls(out, call.capacity, call.arena);
  const int32_t offset = kType == kTimestampTz ? call.context.text.time_zone_offset_seconds : 0;
  std::optional<DateFormat> format;
  std::string_view format_text;
  std::string buffer;
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    const uint32_t row = call.rows[i];
    if (!format.has_value() || format_text != call.args[1].Bytes(row)) {
      format_text = call.args[1].Bytes(row);
      format.emplace(format_text);
    }
    DateTimeFields fields;
    if constexpr (kType == kInterval) {
      fields = FieldsOfInterval(type::Interval::Decode(call.args[0].Bytes(row)));
    } else {
      const int64_t timestamp = call.args[0].Int(row);
      if (type::IsInfinite(timestamp)) {
        out.SetNull(row);
        continue;
      }
      SISAL_ASSIGN_OR_RETURN(const int64_t local, type::UtcToLocal(timestamp, offset));
      fields = FieldsOfTimestamp(local);
      fields.has_zone = kType == kTimestampTz;
      fields.offset_seconds = offset;
    }
    if (format_text.empty()) {
      out.SetNull(row);
      continue;
    }
    buffer.clear();
    SISAL_RETURN_IF_ERROR(format->Append(fields, buffer));
    out.bytes[row] = call.arena.Copy(buffer);
  }
  return Status();
}

Status AppendSigned(const NumberFormat& format, std::string_view text, int32_t fraction_digits, std::string& out) {
  const bool negative = text.starts_with('-');
  return format.Append(negative, negative ? text.substr(1) : text, fraction_digits, out);
}

Status FormatNumeric(const NumberFormat& format, const Numeric& value, std::string& out) {
  if (format.is_roman()) {
    SISAL_ASSIGN_OR_RETURN(const int64_t whole, value.ToInt(kInteger));
    format.AppendRoman(whole, out);
    return Status();
  }
  if (!value.is_finite()) return AppendSigned(format, value.ToString(), format.fraction_digits(), out);
  Numeric scaled = value;
  if (format.shift() > 0) {
    SISAL_ASSIGN_OR_RETURN(const Numeric factor, Power(Numeric::FromInt(10), Numeric::FromInt(format.shift())));
    SISAL_ASSIGN_OR_RETURN(scaled, Multiply(value, factor));
  }
  SISAL_ASSIGN_OR_RETURN(scaled, Round(scaled, format.fraction_digits()));
  return AppendSigned(format, scaled.ToString(), format.fraction_digits(), out);
}

// A float shows as many digits as it is good for: 15, or 6.
template <int kDigits>
Status FormatFloat(const NumberFormat& format, double value, std::string& out) {
  if (format.is_roman()) {
    const double rounded = std::nearbyint(value);
    format.AppendRoman(rounded >= 1 && rounded <= 3999 ? static_cast<int64_t>(rounded) : 0, out);
    return Status();
  }
  if (format.shift() > 0) value *= std::pow(10.0, format.shift());
  if (!std::isfinite(value)) {
    return AppendSigned(format,
                        std::isnan(value) ? "NaN"
                        : value < 0       ? "-Infinity"
                                          : "Infinity",
                        format.fraction_digits(), out);
  }
  char text[512];  // 309 digits, the point and at most 15 more
  const int whole = snprintf(text, sizeof(text), "%.0f", std::fabs(value));
  const int digits = whole >= kDigits ? 0 : std::min(format.fraction_digits(), kDigits - whole);
  snprintf(text, sizeof(text), "%.*f", digits, value);
  return AppendSigned(format, text, digits, out);
}

template <type::TypeId kType>
Status FormatOne(const NumberFormat& format, const type::Vector& values, uint32_t row, std::string& out) {
  if constexpr (kType == kNumeric) return FormatNumeric(format, Numeric::Decode(values.Bytes(row)), out);
  if constexpr (kType == kReal) return FormatFloat<6>(format, values.Double(row), out);
  if constexpr (kType == kDouble) return FormatFloat<15>(format, values.Double(row), out);
  return FormatNumeric(format, Numeric::FromInt(values.Int(row)), out);
}

// An empty format gives an empty text.
template <type::TypeId kType>
Status NumberToChar(const Call& call, type::Vector& out) {
  std::optional<NumberFormat> format;
  std::string_view format_text;
  std::string buffer;
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    const uint32_t row = call.rows[i];
    if (!format.has_value() || format_text != call.args[1].Bytes(row)) {
      format_text = call.args[1].Bytes(row);
      SISAL_ASSIGN_OR_RETURN(format, NumberFormat::Parse(format_text));
    }
    buffer.clear();
    if (!format_text.empty()) SISAL_RETURN_IF_ERROR(FormatOne<kType>(*format, call.args[0], row, buffer));
    out.bytes[row] = call.arena.Copy(buffer);
  }
  return Status();
}

}  // namespace

void RegisterToCharFunctions(Registry& registry) {
  registry.Scalar("to_char", {kTimestamp, kText}, kText, ToChar<kTimestamp>);
  registry.Scalar("to_char", {kInterval, kText}, kText, ToChar<kInterval>);
  registry.Scalar("to_char", {kTimestampTz, kText}, kText, ToChar<kTimestampTz>).volatility = Volatility::kStable;
  registry.Scalar("to_char", {kInteger, kText}, kText, NumberToChar<kInteger>);
  registry.Scalar("to_char", {kBigint, kText}, kText, NumberToChar<kBigint>);
  registry.Scalar("to_char", {kReal, kText}, kText, NumberToChar<kReal>);
  registry.Scalar("to_char", {kDouble, kText}, kText, NumberToChar<kDouble>);
  registry.Scalar("to_char", {kNumeric, kText}, kText, NumberToChar<kNumeric>);
}

}  // namespace sisal::function
