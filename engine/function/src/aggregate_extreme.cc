// min() and max(). Of equal values the last one wins, as in PostgreSQL; of char values the first.
#include "aggregate.h"
#include "comparison.h"

namespace sisal::function {
namespace {

using enum type::TypeId;
using Bytes = std::string_view;

template <typename T>
struct Extreme {
  T value;
  bool seen;
};
template <>
struct Extreme<Bytes> {
  ArenaString value;
  bool seen;
};

// Whether `next` takes the place of `best`.
template <typename Order, bool kMax, bool kFirstWins, typename T>
bool Beats(T next, T best) {
  if constexpr (kFirstWins) return kMax ? Order::Less(best, next) : Order::Less(next, best);
  return kMax ? !Order::Less(next, best) : !Order::Less(best, next);
}

template <typename Order, bool kMax, typename T, bool kFirstWins>
struct ExtremeState : Extreme<T> {
  T best() const {
    if constexpr (std::is_same_v<T, Bytes>) {
      return this->value.view();
    } else {
      return this->value;
    }
  }
  void Add(T next, Arena& arena) {
    if (this->seen && !Beats<Order, kMax, kFirstWins>(next, best())) return;
    this->seen = true;
    if constexpr (std::is_same_v<T, Bytes>) {
      this->value.Assign(next, arena);
    } else {
      this->value = next;
    }
  }
  Status Merge(const ExtremeState& from, Arena& arena) {
    if (from.seen) Add(from.best(), arena);
    return Status();
  }
  Status Finish(uint32_t at, type::Vector& out, Arena&) const {
    if (!this->seen) {
      out.SetNull(at);
    } else {
      Values<T>(out)[at] = best();
    }
    return Status();
  }
};

template <typename Order, typename T, bool kFirstWins = false>
void AddExtremes(Registry& registry, type::TypeId id) {
  using Min = ExtremeState<Order, false, T, kFirstWins>;
  using Max = ExtremeState<Order, true, T, kFirstWins>;
  registry.AddAggregate(MakeAggregate<Min>(
      "min", id, id, UpdateEach<[](Min& state, Env& env, T value) { state.Add(value, env.arena); }>));
  registry.AddAggregate(MakeAggregate<Max>(
      "max", id, id, UpdateEach<[](Max& state, Env& env, T value) { state.Add(value, env.arena); }>));
}

}  // namespace

void RegisterExtremeAggregates(Registry& registry) {
  for (const type::TypeId id : {kSmallint, kInteger, kBigint, kDate, kTime, kTimestamp, kTimestampTz}) {
    AddExtremes<IntegerOrder, int64_t>(registry, id);
  }
  AddExtremes<DoubleOrder, double>(registry, kReal);
  AddExtremes<DoubleOrder, double>(registry, kDouble);
  AddExtremes<BytesOrder<kNumeric>, Bytes>(registry, kNumeric);
  AddExtremes<BytewiseOrder, Bytes>(registry, kText);
  AddExtremes<BytesOrder<kChar>, Bytes, true>(registry, kChar);
  AddExtremes<BytesOrder<kInterval>, Bytes>(registry, kInterval);
}

}  // namespace sisal::function
