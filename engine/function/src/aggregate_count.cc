// count(*) and count(value).
#include "aggregate.h"

namespace sisal::function {
namespace {

struct Count {
  int64_t rows;

  Status Merge(const Count& from, Arena&) {
    rows += from.rows;
    return Status();
  }
  Status Finish(uint32_t at, type::Vector& out, Arena&) const {
    out.ints[at] = rows;
    return Status();
  }
};

// NULLs do not get here, and the values do not matter.
Status CountRows(const Call& call, std::span<char* const> states) {
  if (HaveOneState(states.first(call.rows.count))) {
    reinterpret_cast<Count*>(states[0])->rows += call.rows.count;
    return Status();
  }
  for (char* const state : states.first(call.rows.count)) ++reinterpret_cast<Count*>(state)->rows;
  return Status();
}

Status UncountRows(const Call& call, std::span<char* const> states) {
  for (char* const state : states.first(call.rows.count)) --reinterpret_cast<Count*>(state)->rows;
  return Status();
}

}  // namespace

void RegisterCountAggregates(Registry& registry) {
  using enum type::TypeId;
  Aggregate& all = registry.AddAggregate(MakeAggregate<Count>("count", kBigint, kBigint, CountRows));
  all.arguments.clear();
  all.remove = UncountRows;
  for (const type::TypeId id : {kBoolean, kSmallint, kInteger, kBigint, kReal, kDouble, kNumeric, kText, kVarchar,
                                kChar, kBytea, kDate, kTime, kTimestamp, kTimestampTz, kInterval, kUuid}) {
    registry.AddAggregate(MakeAggregate<Count>("count", id, kBigint, CountRows)).remove = UncountRows;
  }
}

}  // namespace sisal::function
