// Turns the function that adds one value to a state into an aggregate's update.
//
//   UpdateEach<[](Sum& sum, int64_t value) { sum.total += value; }>
//   UpdateEach<[](Sum& sum, Env& env, std::string_view value) { ... }>    allocates or fails
//
// A state is zeroed memory at first; its type must make sense of that, and is trivially copyable.
#pragma once

#include <span>
#include <type_traits>

#include "kernel.h"
#include "registry.h"

namespace sisal::function {

// All rows go to one state: an aggregate without GROUP BY, or one group in the chunk.
inline bool HaveOneState(std::span<char* const> states) {
  uintptr_t difference = 0;
  for (const char* const state : states) {
    difference |= reinterpret_cast<uintptr_t>(state) ^ reinterpret_cast<uintptr_t>(states[0]);
  }
  return !states.empty() && difference == 0;
}

namespace internal {

template <typename State, typename Add>
void ForEachRow(const Call& call, std::span<char* const> states, Add add) {
  const uint32_t count = call.rows.count;
  if (HaveOneState(states.first(count))) {
    State& state = *reinterpret_cast<State*>(states[0]);
    State local = state;  // in registers, where it fits
    if (call.rows.data == nullptr) {
      for (uint32_t row = 0; row < count; ++row) add(local, row);
    } else {
      for (uint32_t i = 0; i < count; ++i) add(local, call.rows.data[i]);
    }
    state = local;
    return;
  }
  for (uint32_t i = 0; i < count; ++i) add(*reinterpret_cast<State*>(states[i]), call.rows[i]);
}

template <auto kAdd, typename Signature>
struct Updater;

template <auto kAdd, typename Closure, typename State, typename Value>
struct Updater<kAdd, void (Closure::*)(State&, Value) const> {
  static_assert(std::is_trivially_copyable_v<State>);
  static Status Run(const Call& call, std::span<char* const> states) {
    const AnyColumn<Value> column = Any<Value>(call.args[0]);
    ForEachRow<State>(call, states, [&](State& state, uint32_t row) { kAdd(state, column[row]); });
    return Status();
  }
};

template <auto kAdd, typename Closure, typename State, typename Value>
struct Updater<kAdd, void (Closure::*)(State&, Env&, Value) const> {
  static_assert(std::is_trivially_copyable_v<State>);
  static Status Run(const Call& call, std::span<char* const> states) {
    const AnyColumn<Value> column = Any<Value>(call.args[0]);
    Env env(call);
    ForEachRow<State>(call, states, [&](State& state, uint32_t row) {
      if (!env.failed()) kAdd(state, env, column[row]);
    });
    return env.Finish();
  }
};

}  // namespace internal

template <auto kAdd>
Status UpdateEach(const Call& call, std::span<char* const> states) {
  return internal::Updater<kAdd, decltype(&std::remove_cv_t<decltype(kAdd)>::operator())>::Run(call, states);
}

// An aggregate's merge and finish with typed states: State{...}.Merge(const State&, Arena&), Finish(at, out, arena).
template <typename State>
Status MergeStates(const char* from, char* into, Arena& arena) {
  return reinterpret_cast<State*>(into)->Merge(*reinterpret_cast<const State*>(from), arena);
}
template <typename State>
Status FinishState(const char* state, uint32_t at, type::Vector& out, Arena& arena) {
  return reinterpret_cast<const State*>(state)->Finish(at, out, arena);
}

// The entry of an aggregate of one argument whose state has Merge and Finish.
template <typename State>
Aggregate MakeAggregate(std::string_view name, type::TypeId argument, type::TypeId result,
                        Status (*update)(const Call&, std::span<char* const>)) {
  static_assert(alignof(State) <= 16);
  Aggregate aggregate;
  aggregate.name = name;
  aggregate.arguments = {argument};
  aggregate.result = result;
  aggregate.state_bytes = sizeof(State);
  aggregate.update = update;
  aggregate.merge = MergeStates<State>;
  aggregate.finish = FinishState<State>;
  return aggregate;
}

// Bytes that a state keeps in its arena, with room to grow in place.
struct ArenaString {
  char* data;
  uint64_t size;
  uint64_t capacity;

  std::string_view view() const { return {data, size}; }
  void Assign(std::string_view bytes, Arena& arena) {
    size = 0;
    Append(bytes, arena);
  }
  void Append(std::string_view bytes, Arena& arena) {
    if (bytes.empty()) return;
    if (size + bytes.size() > capacity) {
      capacity = std::max<uint64_t>(2 * capacity, size + bytes.size());
      char* const larger = static_cast<char*>(arena.Allocate(capacity, 1));
      if (size > 0) std::memcpy(larger, data, size);
      data = larger;
    }
    std::memcpy(data + size, bytes.data(), bytes.size());
    size += bytes.size();
  }
};

}  // namespace sisal::function
