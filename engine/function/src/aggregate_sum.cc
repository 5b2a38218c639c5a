// sum() and avg(). The float averages share the variance's state: see aggregate_variance.cc.
#include <cmath>

#include "aggregate.h"
#include "sisal/type/date_time.h"
#include "sisal/type/numeric.h"

namespace sisal::function {
namespace {

using enum type::TypeId;
using type::Interval;
using type::Numeric;
using Bytes = std::string_view;

Status GiveNumeric(Result<Numeric> value, uint32_t at, type::Vector& out, Arena& arena) {
  if (!value.ok()) return std::move(value).error();
  out.bytes[at] = value->EncodeIn(arena);
  return Status();
}

// 128 bits hold 2^64 bigints.
struct IntegerSum {
  __int128 total;
  int64_t count;

  Status Merge(const IntegerSum& from, Arena&) {
    total += from.total;
    count += from.count;
    return Status();
  }
};
struct SumAsBigint : IntegerSum {
  Status Finish(uint32_t at, type::Vector& out, Arena&) const {
    if (count == 0) return out.SetNull(at), Status();
    out.ints[at] = static_cast<int64_t>(total);
    if (out.ints[at] != total) return Error("22003", "bigint out of range");
    return Status();
  }
};
struct SumAsNumeric : IntegerSum {
  Status Finish(uint32_t at, type::Vector& out, Arena& arena) const {
    if (count == 0) return out.SetNull(at), Status();
    return GiveNumeric(Numeric::FromScaled(total, 0), at, out, arena);
  }
};
struct IntegerAverage : IntegerSum {
  Status Finish(uint32_t at, type::Vector& out, Arena& arena) const {
    if (count == 0) return out.SetNull(at), Status();
    return GiveNumeric(Divide(Numeric::FromScaled(total, 0), Numeric::FromInt(count)), at, out, arena);
  }
};
template <typename State>
constexpr auto kAddInteger = UpdateEach<[](State& sum, int64_t value) {
  sum.total += value;
  ++sum.count;
}>;

template <typename State>
constexpr auto kRemoveInteger = UpdateEach<[](State& sum, int64_t value) {
  sum.total -= value;
  --sum.count;
}>;
template <typename State>
void AddIntegerSum(Registry& registry, std::string_view name, type::TypeId argument, type::TypeId result) {
  registry.AddAggregate(MakeAggregate<State>(name, argument, result, kAddInteger<State>)).remove =
      kRemoveInteger<State>;
}

struct DecimalSum {
  type::NumericSum total;
  int64_t count;

  Status Merge(const DecimalSum& from, Arena& arena) {
    total.Merge(from.total, arena);
    count += from.count;
    return Status();
  }
  Status Finish(uint32_t at, type::Vector& out, Arena& arena) const {
    if (count == 0) return out.SetNull(at), Status();
    return GiveNumeric(total.Total(), at, out, arena);
  }
};
struct DecimalAverage : DecimalSum {
  Status Finish(uint32_t at, type::Vector& out, Arena& arena) const {
    if (count == 0) return out.SetNull(at), Status();
    SISAL_ASSIGN_OR_RETURN(const Numeric sum, total.Total());
    return GiveNumeric(Divide(sum, Numeric::FromInt(count)), at, out, arena);
  }
};
template <typename State>
constexpr auto kAddDecimal = UpdateEach<[](State& sum, Env& env, Bytes value) {
  sum.total.Add(value, env.arena);
  ++sum.count;
}>;

// T is the type in which PostgreSQL adds up: float for real.
template <typename T>
struct FloatSum {
  double total;
  bool seen;
  bool overflow;  // finite values reached infinity

  void Add(double value) {
    const double sum = static_cast<T>(total + value);
    overflow |= std::isinf(sum) & !std::isinf(total) & !std::isinf(value);
    // The first value is the sum, so that -0 stays what it is.
    total = seen ? sum : value;
    seen = true;
  }
  Status Merge(const FloatSum& from, Arena&) {
    if (!from.seen) return Status();
    overflow |= from.overflow;
    Add(from.total);
    return Status();
  }
  Status Finish(uint32_t at, type::Vector& out, Arena&) const {
    if (overflow) return Error("22003", "value out of range: overflow");
    if (!seen) return out.SetNull(at), Status();
    out.doubles[at] = total;
    return Status();
  }
};

struct IntervalSum {
  Interval total;
  int64_t count;

  Status Add(const Interval& value) {
    SISAL_ASSIGN_OR_RETURN(total, AddIntervals(total, value));
    return Status();
  }
  Status Merge(const IntervalSum& from, Arena&) {
    count += from.count;
    return Add(from.total);
  }
  Status Finish(uint32_t at, type::Vector& out, Arena& arena) const {
    if (count == 0) return out.SetNull(at), Status();
    out.bytes[at] = arena.Copy(total.Encode());
    return Status();
  }
};
struct IntervalAverage : IntervalSum {
  Status Finish(uint32_t at, type::Vector& out, Arena& arena) const {
    if (count == 0) return out.SetNull(at), Status();
    SISAL_ASSIGN_OR_RETURN(const Interval mean, DivideInterval(total, static_cast<double>(count)));
    out.bytes[at] = arena.Copy(mean.Encode());
    return Status();
  }
};
template <typename State>
constexpr auto kAddInterval = UpdateEach<[](State& sum, Env& env, Bytes value) {
  ++sum.count;
  if (Status added = sum.Add(Interval::Decode(value)); !added.ok()) env.Fail(std::move(added));
}>;

}  // namespace

void RegisterSumAggregates(Registry& registry) {
  for (const type::TypeId id : {kSmallint, kInteger}) AddIntegerSum<SumAsBigint>(registry, "sum", id, kBigint);
  AddIntegerSum<SumAsNumeric>(registry, "sum", kBigint, kNumeric);
  for (const type::TypeId id : {kSmallint, kInteger, kBigint}) {
    AddIntegerSum<IntegerAverage>(registry, "avg", id, kNumeric);
  }
  registry.AddAggregate(MakeAggregate<DecimalSum>("sum", kNumeric, kNumeric, kAddDecimal<DecimalSum>));
  registry.AddAggregate(MakeAggregate<DecimalAverage>("avg", kNumeric, kNumeric, kAddDecimal<DecimalAverage>));
  registry.AddAggregate(MakeAggregate<FloatSum<float>>(
      "sum", kReal, kReal, UpdateEach<[](FloatSum<float>& sum, double value) { sum.Add(value); }>));
  registry.AddAggregate(MakeAggregate<FloatSum<double>>(
      "sum", kDouble, kDouble, UpdateEach<[](FloatSum<double>& sum, double value) { sum.Add(value); }>));
  registry.AddAggregate(MakeAggregate<IntervalSum>("sum", kInterval, kInterval, kAddInterval<IntervalSum>));
  registry.AddAggregate(MakeAggregate<IntervalAverage>("avg", kInterval, kInterval, kAddInterval<IntervalAverage>));
}

}  // namespace sisal::function
