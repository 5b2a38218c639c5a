// real and double precision: arithmetic and comparison. The other functions are in float_math.cc.
#include <cmath>

#include "comparison.h"
#include "kernel.h"
#include "registry.h"

namespace sisal::function {
namespace {

using enum type::TypeId;

// Notes overflow to infinity, underflow to zero and division by zero, without a branch. T rounds the result: real
// values lie in doubles, and a real sum is the float nearest to the double sum.
template <typename T>
class FloatRange {
 public:
  static constexpr bool kStopsAtOnce = false;
  explicit FloatRange(const Call&) {}

  double Add(double a, double b) { return Finite(static_cast<T>(a + b), a, b); }
  double Subtract(double a, double b) { return Finite(static_cast<T>(a - b), a, b); }
  double Multiply(double a, double b) {
    const double product = static_cast<T>(a * b);
    underflow_ |= static_cast<uint64_t>((product == 0) & (a != 0) & (b != 0));
    return Finite(product, a, b);
  }
  double Divide(double a, double b) {
    const double quotient = static_cast<T>(a / b);
    by_zero_ |= static_cast<uint64_t>((b == 0) & (a == a));
    overflow_ |= static_cast<uint64_t>((std::fabs(quotient) == HUGE_VAL) & (std::fabs(a) != HUGE_VAL) & (b != 0));
    underflow_ |= static_cast<uint64_t>((quotient == 0) & (a != 0) & (std::fabs(b) != HUGE_VAL));
    return quotient;
  }
  Status Finish() const {
    if (by_zero_ != 0) return Error("22012", "division by zero");
    if (overflow_ != 0) return Error("22003", "value out of range: overflow");
    if (underflow_ != 0) return Error("22003", "value out of range: underflow");
    return Status();
  }

 private:
  double Finite(double value, double a, double b) {
    overflow_ |=
        static_cast<uint64_t>((std::fabs(value) == HUGE_VAL) & (std::fabs(a) != HUGE_VAL) & (std::fabs(b) != HUGE_VAL));
    return value;
  }
  uint64_t overflow_ = 0, underflow_ = 0, by_zero_ = 0;
};

// T is float only if both arguments are real.
template <typename T>
void RegisterArithmetic(Registry& registry, type::TypeId left, type::TypeId right, type::TypeId result) {
  const auto add = [&](std::string_view name, Kernel kernel) {
    registry.Operator(name, {left, right}, result, kernel);
  };
  add("+", Map<[](FloatRange<T>& range, double a, double b) { return range.Add(a, b); }>);
  add("-", Map<[](FloatRange<T>& range, double a, double b) { return range.Subtract(a, b); }>);
  add("*", Map<[](FloatRange<T>& range, double a, double b) { return range.Multiply(a, b); }>);
  add("/", Map<[](FloatRange<T>& range, double a, double b) { return range.Divide(a, b); }>);
}

void RegisterOneType(Registry& registry, type::TypeId id) {
  registry.Operator("-", {id}, id, Map<[](double a) { return -a; }>);
  registry.Operator("+", {id}, id, Map<[](double a) { return a; }>);
  registry.ScalarAndOperator("abs", "@", {id}, id, Map<[](double a) { return std::fabs(a); }>);
}

}  // namespace

void RegisterFloatFunctions(Registry& registry) {
  RegisterArithmetic<float>(registry, kReal, kReal, kReal);
  RegisterArithmetic<double>(registry, kDouble, kDouble, kDouble);
  RegisterArithmetic<double>(registry, kReal, kDouble, kDouble);
  RegisterArithmetic<double>(registry, kDouble, kReal, kDouble);
  for (const type::TypeId left : {kReal, kDouble}) {
    RegisterOneType(registry, left);
    for (const type::TypeId right : {kReal, kDouble}) RegisterComparisons<DoubleOrder, double>(registry, left, right);
  }
}

}  // namespace sisal::function
