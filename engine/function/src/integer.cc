// smallint, integer and bigint: arithmetic, comparison, bits.
#include <numeric>

#include "comparison.h"
#include "kernel.h"
#include "registry.h"

namespace sisal::function {
namespace {

using enum type::TypeId;

template <typename T>
int64_t Divide(Env& env, int64_t a, int64_t b) {
  if (b == 0) return env.Fail("22012", "division by zero");
  // The one quotient that overflows; the processor would trap on it for bigint.
  if (b == -1 && a == std::numeric_limits<T>::min()) return env.Fail("22003", std::string(kRangeMessage<T>));
  return a / b;
}

int64_t Modulo(Env& env, int64_t a, int64_t b) {
  if (b == 0) return env.Fail("22012", "division by zero");
  return b == -1 ? 0 : a % b;
}

// The result's type T is the wider of the arguments' types.
template <typename T>
void RegisterArithmetic(Registry& registry, type::TypeId left, type::TypeId right, type::TypeId result) {
  const auto add = [&](std::string_view name, Kernel kernel) {
    registry.Operator(name, {left, right}, result, kernel);
  };
  add("+", Map<[](IntegerRange<T>& range, int64_t a, int64_t b) { return range.Add(a, b); }>);
  add("-", Map<[](IntegerRange<T>& range, int64_t a, int64_t b) { return range.Subtract(a, b); }>);
  add("*", Map<[](IntegerRange<T>& range, int64_t a, int64_t b) { return range.Multiply(a, b); }>);
  add("/", Map<[](Env& env, int64_t a, int64_t b) { return Divide<T>(env, a, b); }>);
}

// A shift by the width or more takes the count modulo the width, as PostgreSQL does on x86-64; smallint shifts as
// integer and is cut.
template <typename T>
int64_t ShiftLeft(int64_t a, int64_t b) {
  if constexpr (sizeof(T) == 8) return static_cast<int64_t>(static_cast<uint64_t>(a) << (b & 63));
  return static_cast<T>(static_cast<uint32_t>(a) << (b & 31));
}
template <typename T>
int64_t ShiftRight(int64_t a, int64_t b) {
  return a >> (b & (sizeof(T) == 8 ? 63 : 31));
}

template <typename T>
void RegisterOneType(Registry& registry, type::TypeId id) {
  const auto minus = Map<[](IntegerRange<T>& range, int64_t a) { return range.Subtract(0, a); }>;
  registry.Operator("-", {id}, id, minus);
  registry.Operator("+", {id}, id, Map<[](int64_t a) { return a; }>);
  registry.ScalarAndOperator("abs", "@", {id}, id,
                             Map<[](IntegerRange<T>& range, int64_t a) { return a < 0 ? range.Subtract(0, a) : a; }>);
  registry.ScalarAndOperator("mod", "%", {id, id}, id,
                             Map<[](Env& env, int64_t a, int64_t b) { return Modulo(env, a, b); }>);
  registry.Operator("&", {id, id}, id, Map<[](int64_t a, int64_t b) { return a & b; }>);
  registry.Operator("|", {id, id}, id, Map<[](int64_t a, int64_t b) { return a | b; }>);
  registry.Operator("#", {id, id}, id, Map<[](int64_t a, int64_t b) { return a ^ b; }>);
  registry.Operator("~", {id}, id, Map<[](int64_t a) { return ~a; }>);
  registry.Operator("<<", {id, kInteger}, id, Map<[](int64_t a, int64_t b) { return ShiftLeft<T>(a, b); }>);
  registry.Operator(">>", {id, kInteger}, id, Map<[](int64_t a, int64_t b) { return ShiftRight<T>(a, b); }>);
}

uint64_t Magnitude(int64_t a) { return a < 0 ? 0 - static_cast<uint64_t>(a) : static_cast<uint64_t>(a); }

template <typename T>
int64_t Gcd(Env& env, int64_t a, int64_t b) {
  const uint64_t gcd = std::gcd(Magnitude(a), Magnitude(b));
  if (gcd > static_cast<uint64_t>(std::numeric_limits<T>::max())) {
    return env.Fail("22003", std::string(kRangeMessage<T>));
  }
  return static_cast<int64_t>(gcd);
}

template <typename T>
int64_t Lcm(Env& env, int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  const uint64_t gcd = std::gcd(Magnitude(a), Magnitude(b));
  uint64_t lcm;
  if (__builtin_mul_overflow(Magnitude(a) / gcd, Magnitude(b), &lcm) ||
      lcm > static_cast<uint64_t>(std::numeric_limits<T>::max())) {
    return env.Fail("22003", std::string(kRangeMessage<T>));
  }
  return static_cast<int64_t>(lcm);
}

std::string_view ToHex(Env& env, uint64_t value) {
  char digits[16];
  size_t at = sizeof(digits);
  do {
    digits[--at] = "0123456789abcdef"[value & 15];
    value >>= 4;
  } while (value != 0);
  return env.Copy({digits + at, sizeof(digits) - at});
}

}  // namespace

void RegisterIntegerFunctions(Registry& registry) {
  RegisterArithmetic<int16_t>(registry, kSmallint, kSmallint, kSmallint);
  RegisterArithmetic<int32_t>(registry, kInteger, kInteger, kInteger);
  RegisterArithmetic<int32_t>(registry, kSmallint, kInteger, kInteger);
  RegisterArithmetic<int32_t>(registry, kInteger, kSmallint, kInteger);
  RegisterArithmetic<int64_t>(registry, kBigint, kBigint, kBigint);
  for (const type::TypeId narrow : {kSmallint, kInteger}) {
    RegisterArithmetic<int64_t>(registry, narrow, kBigint, kBigint);
    RegisterArithmetic<int64_t>(registry, kBigint, narrow, kBigint);
  }
  for (const type::TypeId left : {kSmallint, kInteger, kBigint}) {
    for (const type::TypeId right : {kSmallint, kInteger, kBigint}) {
      RegisterComparisons<IntegerOrder, int64_t>(registry, left, right);
    }
  }
  RegisterOneType<int16_t>(registry, kSmallint);
  RegisterOneType<int32_t>(registry, kInteger);
  RegisterOneType<int64_t>(registry, kBigint);

  registry.Scalar("gcd", {kInteger, kInteger}, kInteger,
                  Map<[](Env& env, int64_t a, int64_t b) { return Gcd<int32_t>(env, a, b); }>);
  registry.Scalar("gcd", {kBigint, kBigint}, kBigint,
                  Map<[](Env& env, int64_t a, int64_t b) { return Gcd<int64_t>(env, a, b); }>);
  registry.Scalar("lcm", {kInteger, kInteger}, kInteger,
                  Map<[](Env& env, int64_t a, int64_t b) { return Lcm<int32_t>(env, a, b); }>);
  registry.Scalar("lcm", {kBigint, kBigint}, kBigint,
                  Map<[](Env& env, int64_t a, int64_t b) { return Lcm<int64_t>(env, a, b); }>);
  registry.Scalar("to_hex", {kInteger}, kText,
                  Map<[](Env& env, int64_t a) { return ToHex(env, static_cast<uint32_t>(a)); }>);
  registry.Scalar("to_hex", {kBigint}, kText,
                  Map<[](Env& env, int64_t a) { return ToHex(env, static_cast<uint64_t>(a)); }>);
}

}  // namespace sisal::function
