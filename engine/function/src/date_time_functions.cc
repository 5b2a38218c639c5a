// Functions of dates, times, timestamps and intervals. The current time is in session.cc.
#include <cmath>

#include "kernel.h"
#include "registry.h"
#include "sisal/type/date_time.h"

namespace sisal::function {
namespace {

using enum type::TypeId;
using type::Interval;
using type::Numeric;
using Bytes = std::string_view;

int64_t Give(Env& env, Result<int64_t> value) {
  if (!value.ok()) return env.Fail(std::move(value).error());
  return *value;
}
Bytes Give(Env& env, Result<Interval> value) {
  if (!value.ok()) return env.Fail(std::move(value).error());
  return env.Copy(value->Encode());
}
int32_t Offset(const Env& env) { return env.context.text.time_zone_offset_seconds; }

// extract() gives numeric and date_part() double precision. Infinite values lack some fields: NULL.
template <type::TypeId kType, bool kAsDouble>
Status Extract(const Call& call, type::Vector& out) {
  type::EnsureNulls(out, call.capacity, call.arena);
  const int32_t offset = kType == kTimestampTz ? call.context.text.time_zone_offset_seconds : 0;
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    const uint32_t row = call.rows[i];
    const Bytes name = call.args[0].Bytes(row);
    Result<std::optional<Numeric>> field = [&] {
      if constexpr (kType == kInterval) {
        return ExtractIntervalField(name, Interval::Decode(call.args[1].Bytes(row)));
      } else {
        return ExtractField(kType, name, call.args[1].Int(row), offset);
      }
    }();
    if (!field.ok()) return std::move(field).error();
    if (!field->has_value()) {
      out.SetNull(row);
    } else if constexpr (kAsDouble) {
      out.doubles[row] = (*field)->ToDoubleSaturating();
    } else {
      out.bytes[row] = (*field)->EncodeIn(call.arena);
    }
  }
  return Status();
}

// date_part() of a date is that of its midnight: it knows hours, which extract() refuses.
Status DatePartOfDate(const Call& call, type::Vector& out) {
  type::Vector midnights = type::MakeVector(kTimestamp, call.capacity, call.arena);
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    const uint32_t row = call.rows[i];
    SISAL_ASSIGN_OR_RETURN(midnights.ints[row], type::DateToTimestamp(call.args[1].Int(row)));
  }
  const type::Vector args[] = {call.args[0], midnights};
  return Extract<kTimestamp, true>(Call{args, call.rows, call.capacity, call.arena, call.context}, out);
}

void RegisterExtract(Registry& registry) {
  registry.Scalar("extract", {kText, kDate}, kNumeric, Extract<kDate, false>);
  registry.Scalar("extract", {kText, kTime}, kNumeric, Extract<kTime, false>);
  registry.Scalar("extract", {kText, kTimestamp}, kNumeric, Extract<kTimestamp, false>);
  registry.Scalar("extract", {kText, kInterval}, kNumeric, Extract<kInterval, false>);
  registry.Scalar("extract", {kText, kTimestampTz}, kNumeric, Extract<kTimestampTz, false>).volatility =
      Volatility::kStable;
  registry.Scalar("date_part", {kText, kDate}, kDouble, DatePartOfDate);
  registry.Scalar("date_part", {kText, kTime}, kDouble, Extract<kTime, true>);
  registry.Scalar("date_part", {kText, kTimestamp}, kDouble, Extract<kTimestamp, true>);
  registry.Scalar("date_part", {kText, kInterval}, kDouble, Extract<kInterval, true>);
  registry.Scalar("date_part", {kText, kTimestampTz}, kDouble, Extract<kTimestampTz, true>).volatility =
      Volatility::kStable;
}

// An infinite timestamp is truncated to itself, whatever the field.
int64_t Truncate(Env& env, type::TypeId id, Bytes field, int64_t timestamp, int32_t offset_seconds) {
  if (type::IsInfinite(timestamp)) return timestamp;
  return Give(env, TruncateTimestamp(id, field, timestamp, offset_seconds));
}
int64_t TruncateInZone(Env& env, Bytes field, int64_t timestamp, Bytes zone) {
  const Result<int32_t> offset = type::ParseTimeZone(zone);
  if (!offset.ok()) return env.Fail(offset.error());
  return Truncate(env, kTimestampTz, field, timestamp, *offset);
}

void RegisterTruncation(Registry& registry) {
  registry.Scalar(
      "date_trunc", {kText, kTimestamp}, kTimestamp,
      Map<[](Env& env, Bytes field, int64_t timestamp) { return Truncate(env, kTimestamp, field, timestamp, 0); }>);
  registry
      .Scalar("date_trunc", {kText, kTimestampTz}, kTimestampTz, Map<[](Env& env, Bytes field, int64_t timestamp) {
                return Truncate(env, kTimestampTz, field, timestamp, Offset(env));
              }>)
      .volatility = Volatility::kStable;
  registry
      .Scalar("date_trunc", {kText, kTimestampTz, kText}, kTimestampTz,
              Map<[](Env& env, Bytes field, int64_t timestamp, Bytes zone) {
                return TruncateInZone(env, field, timestamp, zone);
              }>)
      .volatility = Volatility::kStable;
  registry.Scalar("date_trunc", {kText, kInterval}, kInterval, Map<[](Env& env, Bytes field, Bytes interval) {
                    return Give(env, TruncateInterval(field, Interval::Decode(interval)));
                  }>);
}

int64_t MakeTime(Env& env, int64_t hour, int64_t minute, double second) {
  if (std::isnan(second)) {
    char text[64];
    snprintf(text, sizeof(text), "time field value out of range: %d:%02d:NaN", static_cast<int>(hour),
             static_cast<int>(minute));
    return env.Fail("22008", text);
  }
  return Give(env, type::MakeTime(hour, minute, second));
}

int64_t MakeTimestamp(Env& env, int64_t year, int64_t month, int64_t day, int64_t hour, int64_t minute, double second) {
  const int64_t date = Give(env, type::MakeDate(year, month, day));
  const int64_t time = MakeTime(env, hour, minute, second);
  if (env.failed()) return 0;
  const __int128 timestamp = static_cast<__int128>(date) * type::kMicrosPerDay + time;
  if (timestamp < type::kMinTimestamp || timestamp > type::kMaxTimestamp) {
    char text[96];
    snprintf(text, sizeof(text), "timestamp out of range: %lld-%02lld-%02lld %lld:%02lld:%02g",
             static_cast<long long>(year), static_cast<long long>(month), static_cast<long long>(day),
             static_cast<long long>(hour), static_cast<long long>(minute), second);
    return env.Fail("22008", text);
  }
  return static_cast<int64_t>(timestamp);
}

int64_t LocalInZone(Env& env, int64_t local, Bytes zone) {
  const Result<int32_t> offset = type::ParseTimeZone(zone);
  if (!offset.ok()) return env.Fail(offset.error());
  return Give(env, type::LocalToUtc(local, *offset));
}
int64_t UtcInZone(Env& env, int64_t utc, Bytes zone) {
  const Result<int32_t> offset = type::ParseTimeZone(zone);
  if (!offset.ok()) return env.Fail(offset.error());
  return Give(env, type::UtcToLocal(utc, *offset));
}

// Seconds since 1970. PostgreSQL rounds the distance from 2000, which shows in the last digits.
int64_t ToTimestamp(Env& env, double seconds) {
  constexpr double kSecondsTo2000 = 946'684'800;
  constexpr double kSecondsPerDay = 86'400;
  if (std::isnan(seconds)) return env.Fail("22008", "timestamp cannot be NaN");
  if (std::isinf(seconds)) return seconds > 0 ? type::kInfinite : type::kNegativeInfinite;
  const auto out_of_range = [&]() -> int64_t {
    char text[32];
    snprintf(text, sizeof(text), "%g", seconds);
    return env.Fail("22008", "timestamp out of range: \"" + std::string(text) + "\"");
  };
  if (seconds < static_cast<double>(type::kMinDate) * kSecondsPerDay || seconds >= 9'224'318'016'000.0) {
    return out_of_range();
  }
  const double micros = std::nearbyint((seconds - kSecondsTo2000) * 1e6);
  int64_t result;
  if (__builtin_add_overflow(static_cast<int64_t>(micros), static_cast<int64_t>(kSecondsTo2000 * 1e6), &result) ||
      result > type::kMaxTimestamp) {
    return out_of_range();
  }
  return result;
}

// The arguments from the first on: years, months, weeks, days, hours, minutes; seconds may be last.
Bytes MakeInterval(Env& env, const int64_t (&fields)[6], double seconds) {
  const auto out_of_range = [&]() -> Bytes { return env.Fail("22008", "interval out of range"); };
  if (!std::isfinite(seconds)) return out_of_range();
  const __int128 months = static_cast<__int128>(fields[0]) * 12 + fields[1];
  const __int128 days = static_cast<__int128>(fields[2]) * 7 + fields[3];
  const double second_micros = std::nearbyint(seconds * 1e6);
  if (std::fabs(second_micros) >= 0x1p63) return out_of_range();
  const __int128 micros =
      static_cast<__int128>(fields[4]) * 3'600'000'000 + fields[5] * 60'000'000 + static_cast<int64_t>(second_micros);
  Interval interval;
  interval.micros = static_cast<int64_t>(micros);
  interval.days = static_cast<int32_t>(days);
  interval.months = static_cast<int32_t>(months);
  if (interval.micros != micros || interval.days != days || interval.months != months) return out_of_range();
  return env.Copy(interval.Encode());
}

Status MakeIntervalKernel(const Call& call, type::Vector& out) {
  Env env(call);
  for (uint32_t i = 0; i < call.rows.count && !env.failed(); ++i) {
    const uint32_t row = call.rows[i];
    int64_t fields[6] = {};
    for (size_t j = 0; j < std::min<size_t>(6, call.args.size()); ++j) fields[j] = call.args[j].Int(row);
    out.bytes[row] = MakeInterval(env, fields, call.args.size() == 7 ? call.args[6].Double(row) : 0.0);
  }
  return env.Finish();
}

void RegisterMakers(Registry& registry) {
  registry.Scalar("make_date", {kInteger, kInteger, kInteger}, kDate,
                  Map<[](Env& env, int64_t year, int64_t month, int64_t day) {
                    return Give(env, type::MakeDate(year, month, day));
                  }>);
  registry.Scalar(
      "make_time", {kInteger, kInteger, kDouble}, kTime,
      Map<[](Env& env, int64_t hour, int64_t minute, double second) { return MakeTime(env, hour, minute, second); }>);
  registry.Scalar("make_timestamp", {kInteger, kInteger, kInteger, kInteger, kInteger, kDouble}, kTimestamp,
                  Map<[](Env& env, int64_t year, int64_t month, int64_t day, int64_t hour, int64_t minute,
                         double second) { return MakeTimestamp(env, year, month, day, hour, minute, second); }>);
  registry
      .Scalar("make_timestamptz", {kInteger, kInteger, kInteger, kInteger, kInteger, kDouble}, kTimestampTz,
              Map<[](Env& env, int64_t year, int64_t month, int64_t day, int64_t hour, int64_t minute, double second) {
                const int64_t local = MakeTimestamp(env, year, month, day, hour, minute, second);
                return env.failed() ? 0 : Give(env, type::LocalToUtc(local, Offset(env)));
              }>)
      .volatility = Volatility::kStable;
  Registry::Types fields;
  for (size_t count = 0; count <= 7; ++count) {
    registry.Scalar("make_interval", fields, kInterval, MakeIntervalKernel);
    fields.push_back(count < 6 ? kInteger : kDouble);
  }
  registry.Scalar("to_timestamp", {kDouble}, kTimestampTz,
                  Map<[](Env& env, double seconds) { return ToTimestamp(env, seconds); }>);
}

// Seconds east of Greenwich.
int32_t OffsetOfInterval(Env& env, Bytes bytes) {
  const Interval zone = Interval::Decode(bytes);
  if (zone.months == 0 && zone.days == 0) return static_cast<int32_t>(zone.micros / type::kMicrosPerSecond);
  std::string text;
  type::FormatBytes(kInterval, bytes, env.context.text, text);
  return env.Fail("22023", "interval time zone \"" + text + "\" must not include months or days");
}

// timezone(zone, x): what AT TIME ZONE means.
void RegisterTimeZones(Registry& registry) {
  registry.Scalar("timezone", {kText, kTimestamp}, kTimestampTz,
                  Map<[](Env& env, Bytes zone, int64_t local) { return LocalInZone(env, local, zone); }>);
  registry.Scalar("timezone", {kText, kTimestampTz}, kTimestamp,
                  Map<[](Env& env, Bytes zone, int64_t utc) { return UtcInZone(env, utc, zone); }>);
  registry.Scalar("timezone", {kInterval, kTimestamp}, kTimestampTz, Map<[](Env& env, Bytes zone, int64_t local) {
                    const int32_t offset = OffsetOfInterval(env, zone);
                    return env.failed() ? 0 : Give(env, type::LocalToUtc(local, offset));
                  }>);
  registry.Scalar("timezone", {kInterval, kTimestampTz}, kTimestamp, Map<[](Env& env, Bytes zone, int64_t utc) {
                    const int32_t offset = OffsetOfInterval(env, zone);
                    return env.failed() ? 0 : Give(env, type::UtcToLocal(utc, offset));
                  }>);
}

int64_t DateBin(Env& env, const Interval& stride, int64_t timestamp, int64_t origin) {
  if (type::IsInfinite(timestamp)) return timestamp;
  if (type::IsInfinite(origin)) return env.Fail("22008", "origin out of range");
  if (stride.months != 0) {
    return env.Fail("0A000", "timestamps cannot be binned into intervals containing months or years");
  }
  const __int128 width = static_cast<__int128>(stride.days) * type::kMicrosPerDay + stride.micros;
  if (width > INT64_MAX) return env.Fail("22008", "interval out of range");
  if (width <= 0) return env.Fail("22008", "stride must be greater than zero");
  const __int128 offset = static_cast<__int128>(timestamp) - origin;
  __int128 bins = offset / width;
  if (offset % width < 0) --bins;
  const __int128 start = origin + bins * width;
  if (start < type::kMinTimestamp || start > type::kMaxTimestamp) return env.Fail("22008", "timestamp out of range");
  return static_cast<int64_t>(start);
}

void RegisterIntervalFunctions(Registry& registry) {
  for (const type::TypeId id : {kTimestamp, kTimestampTz}) {
    registry.Scalar("date_bin", {kInterval, id, id}, id,
                    Map<[](Env& env, Bytes stride, int64_t timestamp, int64_t origin) {
                      return DateBin(env, Interval::Decode(stride), timestamp, origin);
                    }>);
  }
  registry.Scalar("justify_hours", {kInterval}, kInterval,
                  Map<[](Env& env, Bytes a) { return Give(env, JustifyHours(Interval::Decode(a))); }>);
  registry.Scalar("justify_days", {kInterval}, kInterval,
                  Map<[](Env& env, Bytes a) { return Give(env, JustifyDays(Interval::Decode(a))); }>);
  registry.Scalar("justify_interval", {kInterval}, kInterval,
                  Map<[](Env& env, Bytes a) { return Give(env, JustifyInterval(Interval::Decode(a))); }>);
  registry.Scalar("isfinite", {kInterval}, kBoolean, Map<[](Bytes) { return true; }>);
  for (const type::TypeId id : {kDate, kTimestamp, kTimestampTz}) {
    registry.Scalar("isfinite", {id}, kBoolean, Map<[](int64_t a) { return !type::IsInfinite(a); }>);
  }
}

// Of two local times; of one: from today's midnight.
int64_t LocalMidnight(Env& env) {
  const int64_t local = Give(env, type::UtcToLocal(env.context.transaction_start_micros, Offset(env)));
  return local - type::MicrosOfDay(local);
}
Bytes AgeInSession(Env& env, int64_t a, int64_t b) {
  const int64_t local_a = Give(env, type::UtcToLocal(a, Offset(env)));
  const int64_t local_b = Give(env, type::UtcToLocal(b, Offset(env)));
  return env.failed() ? Bytes() : Give(env, type::Age(local_a, local_b));
}

void RegisterAge(Registry& registry) {
  registry.Scalar("age", {kTimestamp, kTimestamp}, kInterval,
                  Map<[](Env& env, int64_t a, int64_t b) { return Give(env, type::Age(a, b)); }>);
  registry
      .Scalar("age", {kTimestamp}, kInterval,
              Map<[](Env& env, int64_t a) { return Give(env, type::Age(LocalMidnight(env), a)); }>)
      .volatility = Volatility::kStable;
  registry
      .Scalar("age", {kTimestampTz, kTimestampTz}, kInterval,
              Map<[](Env& env, int64_t a, int64_t b) { return AgeInSession(env, a, b); }>)
      .volatility = Volatility::kStable;
  registry
      .Scalar("age", {kTimestampTz}, kInterval, Map<[](Env& env, int64_t a) {
                const int64_t local = Give(env, type::UtcToLocal(a, Offset(env)));
                return Give(env, type::Age(LocalMidnight(env), local));
              }>)
      .volatility = Volatility::kStable;
}

}  // namespace

void RegisterDateTimeFunctions(Registry& registry) {
  RegisterExtract(registry);
  RegisterTruncation(registry);
  RegisterMakers(registry);
  RegisterTimeZones(registry);
  RegisterIntervalFunctions(registry);
  RegisterAge(registry);
}

}  // namespace sisal::function
