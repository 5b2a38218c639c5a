// The six comparison operators over one storage class.
#pragma once

#include "kernel.h"
#include "registry.h"

namespace sisal::function {

// `Order` has static bool Equal(a, b) and Less(a, b) over the storage class, and for NaN-safe "not less" no more: the
// order is total.
template <typename Order, typename A, typename B = A>
void RegisterComparisons(Registry& registry, type::TypeId left, type::TypeId right) {
  using enum type::TypeId;
  const auto add = [&](std::string_view name, Kernel kernel) {
    registry.Operator(name, {left, right}, kBoolean, kernel);
  };
  add("=", Map<[](A a, B b) { return Order::Equal(a, b); }>);
  add("<>", Map<[](A a, B b) { return !Order::Equal(a, b); }>);
  add("<", Map<[](A a, B b) { return Order::Less(a, b); }>);
  add("<=", Map<[](A a, B b) { return !Order::Less(b, a); }>);
  add(">", Map<[](A a, B b) { return Order::Less(b, a); }>);
  add(">=", Map<[](A a, B b) { return !Order::Less(a, b); }>);
}

struct IntegerOrder {
  static bool Equal(int64_t a, int64_t b) { return a == b; }
  static bool Less(int64_t a, int64_t b) { return a < b; }
};
// NaN equals itself and is above all other values.
struct DoubleOrder {
  static bool Equal(double a, double b) { return (a == b) | ((a != a) & (b != b)); }
  static bool Less(double a, double b) { return (a < b) | ((b != b) & (a == a)); }
};
struct BytewiseOrder {
  static bool Equal(std::string_view a, std::string_view b) { return a == b; }
  static bool Less(std::string_view a, std::string_view b) { return a < b; }
};
template <type::TypeId kType>
struct BytesOrder {
  static bool Equal(std::string_view a, std::string_view b) { return type::CompareBytes(kType, a, b) == 0; }
  static bool Less(std::string_view a, std::string_view b) { return type::CompareBytes(kType, a, b) < 0; }
};

}  // namespace sisal::function
