// What a statement may ask about its session, and the current time.
#include "kernel.h"
#include "registry.h"
#include "sisal/base/check.h"
#include "sisal/type/date_time.h"

namespace sisal::function {
namespace {

using enum type::TypeId;

int64_t LocalTime(Env& env) {
  const Result<int64_t> local =
      type::UtcToLocal(env.context.transaction_start_micros, env.context.text.time_zone_offset_seconds);
  if (!local.ok()) return env.Fail(local.error());
  return *local;
}

void AddStable(Registry& registry, std::string_view name, type::TypeId result, Kernel kernel) {
  registry.Scalar(name, {}, result, kernel).volatility = Volatility::kStable;
}

void RegisterCurrentTime(Registry& registry) {
  for (const std::string_view name : {"now", "transaction_timestamp", "current_timestamp"}) {
    AddStable(registry, name, kTimestampTz, Map<[](Env& env) { return env.context.transaction_start_micros; }>);
  }
  AddStable(registry, "statement_timestamp", kTimestampTz,
            Map<[](Env& env) { return env.context.statement_start_micros; }>);
  registry
      .Scalar("clock_timestamp", {}, kTimestampTz, Map<[](Env& env) {
                SISAL_CHECK(env.context.clock != nullptr);
                return env.context.clock->WallMicros();
              }>)
      .volatility = Volatility::kVolatile;
  AddStable(registry, "current_date", kDate, Map<[](Env& env) { return type::DayOf(LocalTime(env)); }>);
  AddStable(registry, "localtimestamp", kTimestamp, Map<[](Env& env) { return LocalTime(env); }>);
  AddStable(registry, "localtime", kTime, Map<[](Env& env) { return type::MicrosOfDay(LocalTime(env)); }>);
}

// The names of the arguments' types; values do not matter.
Status TypeOf(const Call& call, type::Vector& out) {
  for (uint32_t i = 0; i < call.rows.count; ++i) out.bytes[call.rows[i]] = type::TypeName(call.args[0].type.id);
  return Status();
}

// num_nulls(), num_nonnulls().
template <bool kCountNulls>
Status CountNulls(const Call& call, type::Vector& out) {
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    const uint32_t row = call.rows[i];
    int64_t count = 0;
    for (const type::Vector& argument : call.args) count += argument.IsNull(row) == kCountNulls;
    out.ints[row] = count;
  }
  return Status();
}

Function& AddForAnything(Registry& registry, std::string_view name, type::TypeId result, Kernel kernel) {
  Function& entry = registry.Scalar(name, {kUnknown}, result, kernel);
  entry.any_argument = true;
  entry.strict = false;
  return entry;
}

}  // namespace

void RegisterSessionFunctions(Registry& registry) {
  RegisterCurrentTime(registry);
  for (const std::string_view name : {"current_user", "session_user", "user", "current_role"}) {
    AddStable(registry, name, kText, Map<[](Env& env) { return env.context.user; }>);
  }
  for (const std::string_view name : {"current_database", "current_catalog"}) {
    AddStable(registry, name, kText, Map<[](Env& env) { return env.context.database; }>);
  }
  AddStable(registry, "current_schema", kText, Map<[](Env&) { return std::string_view("public"); }>);
  AddStable(registry, "version", kText,
            Map<[](Env& env) { return env.Copy("Sisal " + std::string(env.context.server_version)); }>);
  AddForAnything(registry, "pg_typeof", kText, TypeOf).volatility = Volatility::kStable;
  AddForAnything(registry, "num_nulls", kInteger, CountNulls<true>).variadic = true;
  AddForAnything(registry, "num_nonnulls", kInteger, CountNulls<false>).variadic = true;
}

}  // namespace sisal::function
