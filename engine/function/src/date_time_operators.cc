// Operators of dates, times, timestamps and intervals.
#include "comparison.h"
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
Bytes Give(Env& env, Result<Interval> value) {
  if (!value.ok()) return env.Fail(std::move(value).error());
  return env.Copy(value->Encode());
}

// A point in time of any of the three types, comparable with the others. 128 bits: a date's range is wider than a
// timestamp's.
template <type::TypeId kType>
__int128 InstantOf(const Env& env, int64_t value) {
  if (type::IsInfinite(value)) return static_cast<__int128>(value) << 32;
  const __int128 micros = kType == kDate ? static_cast<__int128>(value) * type::kMicrosPerDay : value;
  // Timestamps without time zone are local time.
  const int64_t offset = kType == kTimestampTz ? 0 : env.context.text.time_zone_offset_seconds;
  return micros - offset * type::kMicrosPerSecond;
}

template <type::TypeId kLeft, type::TypeId kRight>
int CompareInstants(const Env& env, int64_t a, int64_t b) {
  const __int128 left = InstantOf<kLeft>(env, a), right = InstantOf<kRight>(env, b);
  return left < right ? -1 : left > right ? 1 : 0;
}

template <type::TypeId kLeft, type::TypeId kRight>
void RegisterMixedComparisons(Registry& registry) {
  const auto add = [&](std::string_view name, Kernel kernel) {
    Function& entry = registry.Operator(name, {kLeft, kRight}, kBoolean, kernel);
    if (kLeft == kTimestampTz || kRight == kTimestampTz) entry.volatility = Volatility::kStable;
  };
  add("=", Map<[](Env& env, int64_t a, int64_t b) { return (CompareInstants<kLeft, kRight>(env, a, b) == 0); }>);
  add("<>", Map<[](Env& env, int64_t a, int64_t b) { return (CompareInstants<kLeft, kRight>(env, a, b) != 0); }>);
  add("<", Map<[](Env& env, int64_t a, int64_t b) { return (CompareInstants<kLeft, kRight>(env, a, b) < 0); }>);
  add("<=", Map<[](Env& env, int64_t a, int64_t b) { return (CompareInstants<kLeft, kRight>(env, a, b) <= 0); }>);
  add(">", Map<[](Env& env, int64_t a, int64_t b) { return (CompareInstants<kLeft, kRight>(env, a, b) > 0); }>);
  add(">=", Map<[](Env& env, int64_t a, int64_t b) { return (CompareInstants<kLeft, kRight>(env, a, b) >= 0); }>);
}

void RegisterDateTimeComparisons(Registry& registry) {
  for (const type::TypeId id : {kDate, kTime, kTimestamp, kTimestampTz}) {
    RegisterComparisons<IntegerOrder, int64_t>(registry, id, id);
  }
  RegisterComparisons<BytesOrder<kInterval>, Bytes>(registry, kInterval, kInterval);
  RegisterMixedComparisons<kDate, kTimestamp>(registry);
  RegisterMixedComparisons<kTimestamp, kDate>(registry);
  RegisterMixedComparisons<kDate, kTimestampTz>(registry);
  RegisterMixedComparisons<kTimestampTz, kDate>(registry);
  RegisterMixedComparisons<kTimestamp, kTimestampTz>(registry);
  RegisterMixedComparisons<kTimestampTz, kTimestamp>(registry);
}

int64_t Shift(Env& env, int64_t timestamp, const Interval& interval, int32_t offset_seconds = 0) {
  return Give(env, type::AddInterval(timestamp, interval, offset_seconds));
}
int64_t ShiftBack(Env& env, int64_t timestamp, const Interval& interval, int32_t offset_seconds = 0) {
  const Result<Interval> negated = NegateInterval(interval);
  if (!negated.ok()) return env.Fail(negated.error());
  return Shift(env, timestamp, *negated, offset_seconds);
}
int64_t TimestampOf(Env& env, int64_t date) { return Give(env, type::DateToTimestamp(date)); }
int32_t Offset(const Env& env) { return env.context.text.time_zone_offset_seconds; }

int64_t DatePlusTime(Env& env, int64_t date, int64_t time) {
  const int64_t midnight = TimestampOf(env, date);
  if (env.failed() || type::IsInfinite(midnight)) return midnight;
  return Shift(env, midnight, Interval{time, 0, 0});
}

int64_t DateMinusDays(Env& env, int64_t date, int64_t days) { return Give(env, type::AddDaysToDate(date, -days)); }

void RegisterDateArithmetic(Registry& registry) {
  registry.Operator(
      "+", {kDate, kInteger}, kDate,
      Map<[](Env& env, int64_t date, int64_t days) { return Give(env, type::AddDaysToDate(date, days)); }>);
  registry.Operator(
      "+", {kInteger, kDate}, kDate,
      Map<[](Env& env, int64_t days, int64_t date) { return Give(env, type::AddDaysToDate(date, days)); }>);
  registry.Operator("-", {kDate, kInteger}, kDate,
                    Map<[](Env& env, int64_t date, int64_t days) { return DateMinusDays(env, date, days); }>);
  registry.Operator("-", {kDate, kDate}, kInteger,
                    Map<[](Env& env, int64_t a, int64_t b) { return Give(env, type::DateDifference(a, b)); }>);
  registry.Operator("+", {kDate, kTime}, kTimestamp,
                    Map<[](Env& env, int64_t date, int64_t time) { return DatePlusTime(env, date, time); }>);
  registry.Operator("+", {kTime, kDate}, kTimestamp,
                    Map<[](Env& env, int64_t time, int64_t date) { return DatePlusTime(env, date, time); }>);
  registry.Operator("+", {kDate, kInterval}, kTimestamp, Map<[](Env& env, int64_t date, Bytes interval) {
                      return Shift(env, TimestampOf(env, date), Interval::Decode(interval));
                    }>);
  registry.Operator("+", {kInterval, kDate}, kTimestamp, Map<[](Env& env, Bytes interval, int64_t date) {
                      return Shift(env, TimestampOf(env, date), Interval::Decode(interval));
                    }>);
  registry.Operator("-", {kDate, kInterval}, kTimestamp, Map<[](Env& env, int64_t date, Bytes interval) {
                      return ShiftBack(env, TimestampOf(env, date), Interval::Decode(interval));
                    }>);
}

void RegisterTimestampArithmetic(Registry& registry) {
  registry.Operator("+", {kTimestamp, kInterval}, kTimestamp, Map<[](Env& env, int64_t timestamp, Bytes interval) {
                      return Shift(env, timestamp, Interval::Decode(interval));
                    }>);
  registry.Operator("+", {kInterval, kTimestamp}, kTimestamp, Map<[](Env& env, Bytes interval, int64_t timestamp) {
                      return Shift(env, timestamp, Interval::Decode(interval));
                    }>);
  registry.Operator("-", {kTimestamp, kInterval}, kTimestamp, Map<[](Env& env, int64_t timestamp, Bytes interval) {
                      return ShiftBack(env, timestamp, Interval::Decode(interval));
                    }>);
  // Days and months count in the session's time zone.
  registry
      .Operator("+", {kTimestampTz, kInterval}, kTimestampTz, Map<[](Env& env, int64_t time, Bytes interval) {
                  return Shift(env, time, Interval::Decode(interval), Offset(env));
                }>)
      .volatility = Volatility::kStable;
  registry
      .Operator("+", {kInterval, kTimestampTz}, kTimestampTz, Map<[](Env& env, Bytes interval, int64_t time) {
                  return Shift(env, time, Interval::Decode(interval), Offset(env));
                }>)
      .volatility = Volatility::kStable;
  registry
      .Operator("-", {kTimestampTz, kInterval}, kTimestampTz, Map<[](Env& env, int64_t time, Bytes interval) {
                  return ShiftBack(env, time, Interval::Decode(interval), Offset(env));
                }>)
      .volatility = Volatility::kStable;
  for (const type::TypeId id : {kTimestamp, kTimestampTz}) {
    registry.Operator("-", {id, id}, kInterval,
                      Map<[](Env& env, int64_t a, int64_t b) { return Give(env, type::TimestampDifference(a, b)); }>);
  }
}

int64_t TimeMinusInterval(Env& env, int64_t time, const Interval& interval) {
  const Result<Interval> negated = NegateInterval(Interval{interval.micros % type::kMicrosPerDay, 0, 0});
  if (!negated.ok()) return env.Fail(negated.error());
  return type::AddIntervalToTime(time, *negated);
}

void RegisterTimeAndIntervalArithmetic(Registry& registry) {
  registry.Operator(
      "+", {kTime, kInterval}, kTime,
      Map<[](int64_t time, Bytes interval) { return type::AddIntervalToTime(time, Interval::Decode(interval)); }>);
  registry.Operator(
      "+", {kInterval, kTime}, kTime,
      Map<[](Bytes interval, int64_t time) { return type::AddIntervalToTime(time, Interval::Decode(interval)); }>);
  registry.Operator("-", {kTime, kInterval}, kTime, Map<[](Env& env, int64_t time, Bytes interval) {
                      return TimeMinusInterval(env, time, Interval::Decode(interval));
                    }>);
  registry.Operator("-", {kTime, kTime}, kInterval, Map<[](Env& env, int64_t a, int64_t b) {
                      return env.Copy(Interval{a - b, 0, 0}.Encode());
                    }>);
  registry.Operator("-", {kInterval}, kInterval,
                    Map<[](Env& env, Bytes a) { return Give(env, NegateInterval(Interval::Decode(a))); }>);
  registry.Operator("+", {kInterval, kInterval}, kInterval, Map<[](Env& env, Bytes a, Bytes b) {
                      return Give(env, AddIntervals(Interval::Decode(a), Interval::Decode(b)));
                    }>);
  registry.Operator("-", {kInterval, kInterval}, kInterval, Map<[](Env& env, Bytes a, Bytes b) {
                      return Give(env, SubtractIntervals(Interval::Decode(a), Interval::Decode(b)));
                    }>);
  registry.Operator(
      "*", {kInterval, kDouble}, kInterval,
      Map<[](Env& env, Bytes a, double factor) { return Give(env, MultiplyInterval(Interval::Decode(a), factor)); }>);
  registry.Operator(
      "*", {kDouble, kInterval}, kInterval,
      Map<[](Env& env, double factor, Bytes a) { return Give(env, MultiplyInterval(Interval::Decode(a), factor)); }>);
  registry.Operator(
      "/", {kInterval, kDouble}, kInterval,
      Map<[](Env& env, Bytes a, double divisor) { return Give(env, DivideInterval(Interval::Decode(a), divisor)); }>);
}

}  // namespace

void RegisterDateTimeOperators(Registry& registry) {
  RegisterDateTimeComparisons(registry);
  RegisterDateArithmetic(registry);
  RegisterTimestampArithmetic(registry);
  RegisterTimeAndIntervalArithmetic(registry);
}

}  // namespace sisal::function
