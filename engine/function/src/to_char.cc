// to_char() of dates and times.
#include <optional>

#include "registry.h"
#include "to_char_date.h"

namespace sisal::function {
namespace {

using enum type::TypeId;

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

}  // namespace

void RegisterToCharFunctions(Registry& registry) {
  registry.Scalar("to_char", {kTimestamp, kText}, kText, ToChar<kTimestamp>);
  registry.Scalar("to_char", {kInterval, kText}, kText, ToChar<kInterval>);
  registry.Scalar("to_char", {kTimestampTz, kText}, kText, ToChar<kTimestampTz>).volatility = Volatility::kStable;
}

}  // namespace sisal::function
