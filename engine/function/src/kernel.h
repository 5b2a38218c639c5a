// Turns the function of one row into the kernel of a vector, so that an entry is one lambda.
//
//   Map<[](int64_t a) { return ~a; }>                                         cannot fail
//   Map<[](IntegerRange<int32_t>& range, int64_t a, int64_t b) { ... }>       notes failures, looks at them at the end
//   Map<[](Env& env, std::string_view s) -> std::string_view { ... }>         allocates, reads the context, or fails
//
// The lambda's parameters choose the storage class: int64_t, double, std::string_view. The first two kinds are loops
// without exits, one for each mix of constants, which the compiler turns into vector code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "sisal/function/function.h"

namespace sisal::function {

// Converts to any result: `return env.Fail(...)`.
struct Failed {
  template <typename T>
  operator T() const {  // NOLINT: that is its purpose
    return T{};
  }
};

// What the function of one row may use. The first failure ends the kernel.
class Env {
 public:
  static constexpr bool kStopsAtOnce = true;
  explicit Env(const Call& call) : arena(call.arena), context(call.context) {}

  Failed Fail(std::string_view sqlstate, std::string message) { return Fail(Error(sqlstate, std::move(message))); }
  Failed Fail(Error error) {
    if (status_.ok()) status_ = std::move(error);
    return {};
  }
  Failed Fail(Status status) { return Fail(std::move(status).error()); }
  bool failed() const { return !status_.ok(); }
  Status Finish() { return std::move(status_); }
  std::string_view Copy(std::string_view bytes) { return arena.Copy(bytes); }

  Arena& arena;
  Context& context;

 private:
  Status status_;
};

// The guard of functions that cannot fail.
struct NoGuard {
  static constexpr bool kStopsAtOnce = false;
  explicit NoGuard(const Call&) {}
  Status Finish() { return Status(); }
};

template <typename T>
constexpr std::string_view kRangeMessage = "bigint out of range";
template <>
inline constexpr std::string_view kRangeMessage<int32_t> = "integer out of range";
template <>
inline constexpr std::string_view kRangeMessage<int16_t> = "smallint out of range";

// Notes whether a result left the range of T, without a branch.
template <typename T>
class IntegerRange {
 public:
  static constexpr bool kStopsAtOnce = false;
  explicit IntegerRange(const Call&) {}

  // Requires: `value` did not overflow 64 bits.
  int64_t Fit(int64_t value) {
    bad_ |= static_cast<uint64_t>(value ^ static_cast<int64_t>(static_cast<T>(value)));
    return value;
  }
  int64_t Add(int64_t a, int64_t b) {
    const uint64_t sum = static_cast<uint64_t>(a) + static_cast<uint64_t>(b);
    if constexpr (sizeof(T) == 8) {
      bad_ |= ((static_cast<uint64_t>(a) ^ sum) & (static_cast<uint64_t>(b) ^ sum)) >> 63;
      return static_cast<int64_t>(sum);
    }
    return Fit(static_cast<int64_t>(sum));
  }
  int64_t Subtract(int64_t a, int64_t b) {
    const uint64_t difference = static_cast<uint64_t>(a) - static_cast<uint64_t>(b);
    if constexpr (sizeof(T) == 8) {
      bad_ |= ((static_cast<uint64_t>(a) ^ static_cast<uint64_t>(b)) & (static_cast<uint64_t>(a) ^ difference)) >> 63;
      return static_cast<int64_t>(difference);
    }
    return Fit(static_cast<int64_t>(difference));
  }
  int64_t Multiply(int64_t a, int64_t b) {
    int64_t product;
    bad_ |= static_cast<uint64_t>(__builtin_mul_overflow(a, b, &product));
    if constexpr (sizeof(T) == 8) return product;
    return Fit(product);
  }
  Status Finish() { return bad_ == 0 ? Status() : Status(Error("22003", std::string(kRangeMessage<T>))); }

 private:
  uint64_t bad_ = 0;
};

template <typename T>
using StoredAs =
    std::conditional_t<std::is_integral_v<T>, int64_t, std::conditional_t<std::is_floating_point_v<T>, double, T>>;

template <typename T>
T* Values(const type::Vector& vector) {
  if constexpr (std::is_same_v<T, int64_t>) {
    return vector.ints;
  } else if constexpr (std::is_same_v<T, double>) {
    return vector.doubles;
  } else {
    static_assert(std::is_same_v<T, std::string_view>);
    return vector.bytes;
  }
}

namespace internal {

template <typename T>
struct PlainColumn {
  const T* __restrict values;
  T operator[](uint32_t row) const { return values[row]; }
};
template <typename T>
struct ConstantColumn {
  T value;
  T operator[](uint32_t) const { return value; }
};
template <typename T>
struct AnyColumn {
  const T* values;
  uint32_t mask;  // 0: constant
  T operator[](uint32_t row) const { return values[row & mask]; }
};

template <auto kFunction, typename Guard, typename Out, typename... Columns>
Status Loop(const Call& call, Out* __restrict out, Columns... columns) {
  Guard guard(call);
  const auto step = [&](uint32_t row) __attribute__((always_inline)) {
    if constexpr (std::is_same_v<Guard, NoGuard>) {
      out[row] = static_cast<Out>(kFunction(columns[row]...));
    } else {
      out[row] = static_cast<Out>(kFunction(guard, columns[row]...));
    }
  };
  const uint32_t count = call.rows.count;
  if (call.rows.data == nullptr) {
    for (uint32_t row = 0; row < count; ++row) {
      step(row);
      if constexpr (Guard::kStopsAtOnce) {
        if (guard.failed()) [[unlikely]]
          break;
      }
    }
  } else {
    for (uint32_t i = 0; i < count; ++i) {
      step(call.rows.data[i]);
      if constexpr (Guard::kStopsAtOnce) {
        if (guard.failed()) [[unlikely]]
          break;
      }
    }
  }
  return guard.Finish();
}

template <typename T>
AnyColumn<T> Any(const type::Vector& vector) {
  return {Values<T>(vector), vector.constant ? 0 : ~uint32_t{0}};
}
template <typename T>
PlainColumn<T> Plain(const type::Vector& vector) {
  return {Values<T>(vector)};
}
template <typename T>
ConstantColumn<T> Constant(const type::Vector& vector) {
  return {Values<T>(vector)[0]};
}

template <auto kFunction, typename Guard, typename Out, typename... Args>
struct Mapper {
  static Status Run(const Call& call, type::Vector& out) { return Run(call, out, std::index_sequence_for<Args...>()); }

 private:
  template <size_t... kIndex>
  static Status Run(const Call& call, type::Vector& out, std::index_sequence<kIndex...>) {
    Out* const to = Values<Out>(out);
    if constexpr (!Guard::kStopsAtOnce && sizeof...(Args) == 1) {
      if (!call.args[0].constant) return Loop<kFunction, Guard>(call, to, Plain<Args>(call.args[0])...);
    }
    if constexpr (!Guard::kStopsAtOnce && sizeof...(Args) == 2) {
      return RunBinary<Args...>(call, to);
    } else {
      return Loop<kFunction, Guard>(call, to, Any<Args>(call.args[kIndex])...);
    }
  }
  template <typename A, typename B>
  static Status RunBinary(const Call& call, Out* to) {
    const type::Vector& a = call.args[0];
    const type::Vector& b = call.args[1];
    if (!a.constant && !b.constant) return Loop<kFunction, Guard>(call, to, Plain<A>(a), Plain<B>(b));
    if (!a.constant) return Loop<kFunction, Guard>(call, to, Plain<A>(a), Constant<B>(b));
    if (!b.constant) return Loop<kFunction, Guard>(call, to, Constant<A>(a), Plain<B>(b));
    return Loop<kFunction, Guard>(call, to, Constant<A>(a), Constant<B>(b));
  }
};

template <typename T>
concept IsGuard = requires {
  T::kStopsAtOnce;
};

// Splits the parameters into a guard, if the first is one, and arguments.
template <auto kFunction, typename Out, typename... Parameters>
struct MapperFor : Mapper<kFunction, NoGuard, StoredAs<Out>, Parameters...> {};
template <auto kFunction, typename Out, typename Guard, typename... Parameters>
requires IsGuard<Guard>
struct MapperFor<kFunction, Out, Guard&, Parameters...> : Mapper<kFunction, Guard, StoredAs<Out>, Parameters...> {
};

template <auto kFunction, typename Signature>
struct MapperOf;
template <auto kFunction, typename Out, typename Closure, typename... Parameters>
struct MapperOf<kFunction, Out (Closure::*)(Parameters...) const> : MapperFor<kFunction, Out, Parameters...> {};

template <auto kFunction>
using MapperOfLambda = MapperOf<kFunction, decltype(&std::remove_cv_t<decltype(kFunction)>::operator())>;

}  // namespace internal

template <auto kFunction>
Status Map(const Call& call, type::Vector& out) {
  return internal::MapperOfLambda<kFunction>::Run(call, out);
}

}  // namespace sisal::function
