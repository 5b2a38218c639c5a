// bool_and(), bool_or(), every() and the bitwise aggregates of integers.
#include "aggregate.h"

namespace sisal::function {
namespace {

using enum type::TypeId;

struct And {
  static int64_t Combine(int64_t a, int64_t b) { return a & b; }
};
struct Or {
  static int64_t Combine(int64_t a, int64_t b) { return a | b; }
};
struct Xor {
  static int64_t Combine(int64_t a, int64_t b) { return a ^ b; }
};

template <typename Operation>
struct Folded {
  int64_t value;
  bool seen;

  void Add(int64_t next) {
    value = seen ? Operation::Combine(value, next) : next;
    seen = true;
  }
  Status Merge(const Folded& from, Arena&) {
    if (from.seen) Add(from.value);
    return Status();
  }
  Status Finish(uint32_t at, type::Vector& out, Arena&) const {
    if (seen) {
      out.ints[at] = value;
    } else {
      out.SetNull(at);
    }
    return Status();
  }
};

template <typename Operation>
void AddFold(Registry& registry, std::string_view name, type::TypeId id) {
  using State = Folded<Operation>;
  registry.AddAggregate(
      MakeAggregate<State>(name, id, id, UpdateEach<[](State& state, int64_t value) { state.Add(value); }>));
}

}  // namespace

void RegisterLogicAggregates(Registry& registry) {
  AddFold<And>(registry, "bool_and", kBoolean);
  AddFold<And>(registry, "every", kBoolean);
  AddFold<Or>(registry, "bool_or", kBoolean);
  for (const type::TypeId id : {kSmallint, kInteger, kBigint}) {
    AddFold<And>(registry, "bit_and", id);
    AddFold<Or>(registry, "bit_or", id);
    AddFold<Xor>(registry, "bit_xor", id);
  }
}

}  // namespace sisal::function
