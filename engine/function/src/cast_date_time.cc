// Casts between dates, times, timestamps and intervals.
#include "kernel.h"
#include "registry.h"
#include "sisal/type/date_time.h"

namespace sisal::function {
namespace {

using enum type::TypeId;
using type::Interval;
using Bytes = std::string_view;

int64_t Give(Env& env, Result<int64_t> value) {
  if (!value.ok()) return env.Fail(std::move(value).error());
  return *value;
}

int32_t Offset(const Env& env) { return env.context.text.time_zone_offset_seconds; }

int64_t DateToTimestampTz(Env& env, int64_t date) {
  const int64_t local = Give(env, type::DateToTimestamp(date));
  return env.failed() ? 0 : Give(env, type::LocalToUtc(local, Offset(env)));
}

int64_t TimestampTzToDate(Env& env, int64_t timestamp) {
  const int64_t local = Give(env, type::UtcToLocal(timestamp, Offset(env)));
  return type::TimestampToDate(local);
}

int64_t IntervalToTime(Bytes bytes) {
  const int64_t rest = Interval::Decode(bytes).micros % type::kMicrosPerDay;
  return rest < 0 ? rest + type::kMicrosPerDay : rest;
}

// An infinite timestamp has no time of day: NULL. `offset_seconds` makes it local.
Status TimeOfTimestamp(const Call& call, int32_t offset_seconds, type::Vector& out) {
  type::EnsureNulls(out, call.capacity, call.arena);
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    const uint32_t row = call.rows[i];
    const int64_t timestamp = call.args[0].Int(row);
    if (type::IsInfinite(timestamp)) {
      out.SetNull(row);
      continue;
    }
    SISAL_ASSIGN_OR_RETURN(const int64_t local, type::UtcToLocal(timestamp, offset_seconds));
    out.ints[row] = type::MicrosOfDay(local);
  }
  return Status();
}

Status TimestampToTime(const Call& call, type::Vector& out) { return TimeOfTimestamp(call, 0, out); }
Status TimestampTzToTime(const Call& call, type::Vector& out) {
  return TimeOfTimestamp(call, call.context.text.time_zone_offset_seconds, out);
}

}  // namespace

void RegisterDateTimeCasts(Registry& registry) {
  using enum CastContext;
  registry.AddCast(kDate, kTimestamp, kImplicit,
                   Map<[](Env& env, int64_t date) { return Give(env, type::DateToTimestamp(date)); }>);
  registry.AddCast(kTimestamp, kDate, kAssignment,
                   Map<[](int64_t timestamp) { return type::TimestampToDate(timestamp); }>);
  registry.AddCast(kTimestamp, kTime, kAssignment, TimestampToTime);
  registry.AddCast(kTime, kInterval, kImplicit, Map<[](Env& env, int64_t time) {
                     return env.Copy(Interval{time, 0, 0}.Encode());
                   }>);
  registry.AddCast(kInterval, kTime, kAssignment, Map<[](Bytes interval) { return IntervalToTime(interval); }>);

  // These depend on the session's time zone.
  registry
      .AddCast(kDate, kTimestampTz, kImplicit, Map<[](Env& env, int64_t date) { return DateToTimestampTz(env, date); }>)
      .volatility = Volatility::kStable;
  registry
      .AddCast(kTimestampTz, kDate, kAssignment,
               Map<[](Env& env, int64_t timestamp) { return TimestampTzToDate(env, timestamp); }>)
      .volatility = Volatility::kStable;
  registry
      .AddCast(kTimestamp, kTimestampTz, kImplicit,
               Map<[](Env& env, int64_t local) { return Give(env, type::LocalToUtc(local, Offset(env))); }>)
      .volatility = Volatility::kStable;
  registry
      .AddCast(kTimestampTz, kTimestamp, kAssignment,
               Map<[](Env& env, int64_t timestamp) { return Give(env, type::UtcToLocal(timestamp, Offset(env))); }>)
      .volatility = Volatility::kStable;
  registry.AddCast(kTimestampTz, kTime, kAssignment, TimestampTzToTime).volatility = Volatility::kStable;
}

}  // namespace sisal::function
