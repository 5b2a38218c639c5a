// Mathematical functions of double precision, with PostgreSQL's treatment of infinities, NaN and range errors.
#include <cerrno>
#include <cmath>
#include <numbers>

#include "kernel.h"
#include "registry.h"

namespace sisal::function {
namespace {

using enum type::TypeId;

Failed Overflow(Env& env) { return env.Fail("22003", "value out of range: overflow"); }
Failed Underflow(Env& env) { return env.Fail("22003", "value out of range: underflow"); }
Failed OutOfRange(Env& env) { return env.Fail("22003", "input is out of range"); }

double SquareRoot(Env& env, double a) {
  if (a < 0) return env.Fail("2201F", "cannot take square root of a negative number");
  return std::sqrt(a);
}

double Power(Env& env, double base, double exponent) {
  if (std::isnan(base)) return exponent == 0 ? 1.0 : base;
  if (std::isnan(exponent)) return base == 1 ? 1.0 : exponent;
  if (base == 0 && exponent < 0) return env.Fail("2201F", "zero raised to a negative power is undefined");
  if (base < 0 && std::floor(exponent) != exponent) {
    return env.Fail("2201F", "a negative number raised to a non-integer power yields a complex result");
  }
  const double result = std::pow(base, exponent);
  if (std::isinf(base) || std::isinf(exponent)) return result;
  if (std::isinf(result)) return Overflow(env);
  if (result == 0 && base != 0) return Underflow(env);
  return result;
}

double Exp(Env& env, double a) {
  if (std::isnan(a) || std::isinf(a)) return a < 0 ? 0.0 : a;
  const double result = std::exp(a);
  if (std::isinf(result)) return Overflow(env);
  if (result == 0) return Underflow(env);
  return result;
}

template <double (*kLogarithm)(double)>
double Logarithm(Env& env, double a) {
  if (a == 0) return env.Fail("2201E", "cannot take logarithm of zero");
  if (a < 0) return env.Fail("2201E", "cannot take logarithm of a negative number");
  return kLogarithm(a);
}
double NaturalLogarithm(double a) { return std::log(a); }
double DecimalLogarithm(double a) { return std::log10(a); }

// sin(), cos(), tan(): of finite numbers only.
template <double (*kFunction)(double)>
double OfAngle(Env& env, double a) {
  if (std::isinf(a)) return OutOfRange(env);
  return kFunction(a);
}
double Sin(double a) { return std::sin(a); }
double Cos(double a) { return std::cos(a); }
double Tan(double a) { return std::tan(a); }
double Cot(double a) { return 1.0 / std::tan(a); }

double ArcCos(Env& env, double a) { return a < -1 || a > 1 ? OutOfRange(env) : std::acos(a); }
double ArcSin(Env& env, double a) { return a < -1 || a > 1 ? OutOfRange(env) : std::asin(a); }
double HyperbolicArcCos(Env& env, double a) { return a < 1 ? OutOfRange(env) : std::acosh(a); }
double HyperbolicArcTan(Env& env, double a) {
  if (a < -1 || a > 1) return OutOfRange(env);
  return std::atanh(a);  // infinite at the ends, without an error
}

double Degrees(Env& env, double a) {
  const double result = a / (std::numbers::pi / 180.0);
  if (std::isinf(result) && !std::isinf(a)) return Overflow(env);
  return result;
}

int64_t WidthBucket(Env& env, double operand, double low, double high, int64_t count) {
  if (count <= 0) return env.Fail("2201G", "count must be greater than zero");
  if (std::isnan(operand) || std::isnan(low) || std::isnan(high)) {
    return env.Fail("2201G", "operand, lower bound, and upper bound cannot be NaN");
  }
  if (std::isinf(low) || std::isinf(high)) return env.Fail("2201G", "lower and upper bounds must be finite");
  if (low == high) return env.Fail("2201G", "lower bound cannot equal upper bound");
  const bool ascending = low < high;
  const double from_low = ascending ? operand - low : low - operand;
  if (from_low < 0) return 0;
  if (ascending ? operand >= high : operand <= high) {
    if (count == INT32_MAX) return env.Fail("22003", "integer out of range");
    return count + 1;
  }
  // Halves, so that the width of the range cannot overflow.
  const double width = ascending ? high / 2 - low / 2 : low / 2 - high / 2;
  const double part = ascending ? operand / 2 - low / 2 : low / 2 - operand / 2;
  const int64_t bucket = static_cast<int64_t>(static_cast<double>(count) * (part / width));
  return (bucket >= count ? count - 1 : bucket) + 1;  // rounding may have reached the end
}

void AddUnary(Registry& registry, std::string_view name, Kernel kernel) {
  registry.Scalar(name, {kDouble}, kDouble, kernel);
}

}  // namespace

void RegisterFloatMathFunctions(Registry& registry) {
  for (const std::string_view name : {"ceil", "ceiling"}) {
    AddUnary(registry, name, Map<[](double a) { return std::ceil(a); }>);
  }
  AddUnary(registry, "floor", Map<[](double a) { return std::floor(a); }>);
  AddUnary(registry, "round", Map<[](double a) { return std::nearbyint(a); }>);  // half to even
  AddUnary(registry, "trunc", Map<[](double a) { return std::trunc(a); }>);
  AddUnary(registry, "sign", Map<[](double a) { return (a > 0) ? 1.0 : (a < 0) ? -1.0 : 0.0; }>);
  registry.ScalarAndOperator("sqrt", "|/", {kDouble}, kDouble,
                             Map<[](Env& env, double a) { return SquareRoot(env, a); }>);
  registry.ScalarAndOperator("cbrt", "||/", {kDouble}, kDouble, Map<[](double a) { return std::cbrt(a); }>);
  registry.ScalarAndOperator("power", "^", {kDouble, kDouble}, kDouble,
                             Map<[](Env& env, double a, double b) { return Power(env, a, b); }>);
  registry.Scalar("pow", {kDouble, kDouble}, kDouble,
                  Map<[](Env& env, double a, double b) { return Power(env, a, b); }>);
  AddUnary(registry, "exp", Map<[](Env& env, double a) { return Exp(env, a); }>);
  AddUnary(registry, "ln", Map<[](Env& env, double a) { return Logarithm<NaturalLogarithm>(env, a); }>);
  for (const std::string_view name : {"log", "log10"}) {
    AddUnary(registry, name, Map<[](Env& env, double a) { return Logarithm<DecimalLogarithm>(env, a); }>);
  }
  AddUnary(registry, "sin", Map<[](Env& env, double a) { return OfAngle<Sin>(env, a); }>);
  AddUnary(registry, "cos", Map<[](Env& env, double a) { return OfAngle<Cos>(env, a); }>);
  AddUnary(registry, "tan", Map<[](Env& env, double a) { return OfAngle<Tan>(env, a); }>);
  AddUnary(registry, "cot", Map<[](Env& env, double a) { return OfAngle<Cot>(env, a); }>);
  AddUnary(registry, "acos", Map<[](Env& env, double a) { return ArcCos(env, a); }>);
  AddUnary(registry, "asin", Map<[](Env& env, double a) { return ArcSin(env, a); }>);
  AddUnary(registry, "atan", Map<[](double a) { return std::atan(a); }>);
  registry.Scalar("atan2", {kDouble, kDouble}, kDouble, Map<[](double a, double b) { return std::atan2(a, b); }>);
  AddUnary(registry, "sinh", Map<[](double a) { return std::sinh(a); }>);  // infinite beyond the range, no error
  AddUnary(registry, "cosh", Map<[](double a) { return std::cosh(a); }>);
  AddUnary(registry, "tanh", Map<[](double a) { return std::tanh(a); }>);
  AddUnary(registry, "asinh", Map<[](double a) { return std::asinh(a); }>);
  AddUnary(registry, "acosh", Map<[](Env& env, double a) { return HyperbolicArcCos(env, a); }>);
  AddUnary(registry, "atanh", Map<[](Env& env, double a) { return HyperbolicArcTan(env, a); }>);
  AddUnary(registry, "degrees", Map<[](Env& env, double a) { return Degrees(env, a); }>);
  AddUnary(registry, "radians", Map<[](double a) { return a * (std::numbers::pi / 180.0); }>);
  registry.Scalar("pi", {}, kDouble, Map<[]() { return std::numbers::pi; }>);
  registry.Scalar("width_bucket", {kDouble, kDouble, kDouble, kInteger}, kInteger,
                  Map<[](Env& env, double operand, double low, double high, int64_t count) {
                    return WidthBucket(env, operand, low, high, count);
                  }>);
  registry.Scalar("random", {}, kDouble, Map<[](Env& env) { return env.context.random->Get().Fraction(); }>).volatility =
      Volatility::kVolatile;
}

}  // namespace sisal::function
