// numeric: arithmetic, comparison and functions.
#include "sisal/type/numeric.h"

#include "comparison.h"
#include "kernel.h"
#include "registry.h"

namespace sisal::function {
namespace {

using enum type::TypeId;
using type::Numeric;
using Bytes = std::string_view;

Bytes Give(Env& env, const Numeric& value) { return value.EncodeIn(env.arena); }
Bytes Give(Env& env, Result<Numeric> value) {
  if (!value.ok()) return env.Fail(std::move(value).error());
  return value->EncodeIn(env.arena);
}

template <auto kFunction>
constexpr Kernel kUnary = Map<[](Env& env, Bytes a) { return Give(env, kFunction(Numeric::Decode(a))); }>;
template <auto kFunction>
constexpr Kernel kBinary =
    Map<[](Env& env, Bytes a, Bytes b) { return Give(env, kFunction(Numeric::Decode(a), Numeric::Decode(b))); }>;
// With an integer as second argument.
template <auto kFunction>
constexpr Kernel kScaled = Map<[](Env& env, Bytes a, int64_t scale) {
  return Give(env, kFunction(Numeric::Decode(a), static_cast<int32_t>(scale)));
}>;

int64_t WidthBucket(Env& env, const Numeric& operand, const Numeric& low, const Numeric& high, int64_t count) {
  if (count <= 0) return env.Fail("2201G", "count must be greater than zero");
  if (operand.is_nan() || low.is_nan() || high.is_nan()) {
    return env.Fail("2201G", "operand, lower bound, and upper bound cannot be NaN");
  }
  if (low.is_infinite() || high.is_infinite()) return env.Fail("2201G", "lower and upper bounds must be finite");
  const int bounds = CompareNumerics(low, high);
  if (bounds == 0) return env.Fail("2201G", "lower bound cannot equal upper bound");
  if (CompareNumerics(operand, low) * bounds > 0) return 0;
  if (CompareNumerics(operand, high) * bounds <= 0) {
    if (count == INT32_MAX) return env.Fail("22003", "integer out of range");
    return count + 1;
  }
  const auto bucket = [&]() -> Result<int64_t> {
    SISAL_ASSIGN_OR_RETURN(const Numeric offset, Subtract(operand, low));
    SISAL_ASSIGN_OR_RETURN(const Numeric width, Subtract(high, low));
    SISAL_ASSIGN_OR_RETURN(const Numeric scaled, Multiply(offset, Numeric::FromInt(count)));
    SISAL_ASSIGN_OR_RETURN(const Numeric quotient, DivideTruncated(scaled, width));
    SISAL_ASSIGN_OR_RETURN(const int64_t whole, quotient.ToInt(kBigint));
    return whole + 1;
  }();
  if (!bucket.ok()) return env.Fail(bucket.error());
  return *bucket;
}

// first * (first + 1) * ... * last, in halves of like size: long numbers are multiplied seldom. Depth: log2 of the
// count.
Result<Numeric> Product(int64_t first, int64_t last) {
  if (last - first < 3) {
    int64_t product = 1;  // three factors of at most 15 bits
    for (int64_t i = first; i <= last; ++i) product *= i;
    return Numeric::FromInt(product);
  }
  const int64_t middle = first + (last - first) / 2;
  SISAL_ASSIGN_OR_RETURN(const Numeric left, Product(first, middle));
  SISAL_ASSIGN_OR_RETURN(const Numeric right, Product(middle + 1, last));
  return Multiply(left, right);
}

Result<Numeric> Factorial(int64_t n) {
  if (n < 0) return Error("22003", "factorial of a negative number is undefined");
  if (n > 32177) return Error("22003", "value overflows numeric format");  // PostgreSQL's limit
  return Product(1, n);
}

Result<Numeric> Gcd(Numeric a, Numeric b) {
  if (a.is_nan() || b.is_nan() || a.is_infinite() || b.is_infinite()) return Numeric::NaN();
  const int32_t scale = std::max(a.scale(), b.scale());
  a = Abs(a);
  b = Abs(b);
  while (b.sign() != 0) {
    SISAL_ASSIGN_OR_RETURN(Numeric rest, Modulo(a, b));
    a = std::exchange(b, std::move(rest));
  }
  return Round(a, scale);
}

Result<Numeric> Lcm(const Numeric& a, const Numeric& b) {
  if (a.is_nan() || b.is_nan() || a.is_infinite() || b.is_infinite()) return Numeric::NaN();
  const int32_t scale = std::max(a.scale(), b.scale());
  if (a.sign() == 0 || b.sign() == 0) return Round(Numeric(), scale);
  SISAL_ASSIGN_OR_RETURN(const Numeric gcd, Gcd(a, b));
  SISAL_ASSIGN_OR_RETURN(const Numeric part, DivideTruncated(a, gcd));
  SISAL_ASSIGN_OR_RETURN(const Numeric product, Multiply(part, b));
  return Round(Abs(product), scale);
}

struct NumericOrder {
  static bool Equal(Bytes a, Bytes b) { return type::CompareEncodedNumerics(a, b) == 0; }
  static bool Less(Bytes a, Bytes b) { return type::CompareEncodedNumerics(a, b) < 0; }
};

// NaN and infinities have no scale: NULL.
template <typename GetScale>
Status ScaleKernel(const Call& call, type::Vector& out, GetScale get) {
  type::EnsureNulls(out, call.capacity, call.arena);
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    const uint32_t row = call.rows[i];
    if (call.args[0].IsNull(row)) {
      out.SetNull(row);
      continue;
    }
    const std::optional<int32_t> scale = get(Numeric::Decode(call.args[0].Bytes(row)));
    if (scale.has_value()) {
      out.ints[row] = *scale;
    } else {
      out.SetNull(row);
    }
  }
  return Status();
}

void RegisterArithmetic(Registry& registry) {
  constexpr type::TypeId kType = kNumeric;
  RegisterComparisons<NumericOrder, Bytes>(registry, kType, kType);
  registry.Operator("+", {kType, kType}, kType, kBinary<type::Add>);
  registry.Operator("-", {kType, kType}, kType, kBinary<type::Subtract>);
  registry.Operator("*", {kType, kType}, kType, kBinary<type::Multiply>);
  registry.Operator("/", {kType, kType}, kType, kBinary<type::Divide>);
  registry.ScalarAndOperator("mod", "%", {kType, kType}, kType, kBinary<type::Modulo>);
  registry.Operator("-", {kType}, kType, kUnary<type::Negate>);
  registry.Operator("+", {kType}, kType, Map<[](Bytes a) { return a; }>);
  registry.ScalarAndOperator("abs", "@", {kType}, kType, kUnary<type::Abs>);
  registry.ScalarAndOperator("power", "^", {kType, kType}, kType, kBinary<type::Power>);
  registry.Scalar("pow", {kType, kType}, kType, kBinary<type::Power>);
}

}  // namespace

void RegisterNumericFunctions(Registry& registry) {
  RegisterArithmetic(registry);
  registry.Scalar("div", {kNumeric, kNumeric}, kNumeric, kBinary<type::DivideTruncated>);
  registry.Scalar("sign", {kNumeric}, kNumeric, kUnary<type::Sign>);
  registry.Scalar("round", {kNumeric, kInteger}, kNumeric, kScaled<type::Round>);
  registry.Scalar("trunc", {kNumeric, kInteger}, kNumeric, kScaled<type::Truncate>);
  registry.Scalar("round", {kNumeric}, kNumeric, kUnary<[](const Numeric& a) { return Round(a, 0); }>);
  registry.Scalar("trunc", {kNumeric}, kNumeric, kUnary<[](const Numeric& a) { return Truncate(a, 0); }>);
  registry.Scalar("ceil", {kNumeric}, kNumeric, kUnary<type::Ceil>);
  registry.Scalar("ceiling", {kNumeric}, kNumeric, kUnary<type::Ceil>);
  registry.Scalar("floor", {kNumeric}, kNumeric, kUnary<type::Floor>);
  registry.Scalar("sqrt", {kNumeric}, kNumeric, kUnary<type::SquareRoot>);
  registry.Scalar("exp", {kNumeric}, kNumeric, kUnary<type::Exp>);
  registry.Scalar("ln", {kNumeric}, kNumeric, kUnary<type::Ln>);
  registry.Scalar("log", {kNumeric, kNumeric}, kNumeric, kBinary<type::Log>);
  for (const std::string_view name : {"log", "log10"}) {
    registry.Scalar(name, {kNumeric}, kNumeric, kUnary<[](const Numeric& a) { return Log(Numeric::FromInt(10), a); }>);
  }
  registry.Scalar("gcd", {kNumeric, kNumeric}, kNumeric, kBinary<Gcd>);
  registry.Scalar("lcm", {kNumeric, kNumeric}, kNumeric, kBinary<Lcm>);
  registry.Scalar("factorial", {kBigint}, kNumeric, Map<[](Env& env, int64_t n) { return Give(env, Factorial(n)); }>);
  registry.Scalar("trim_scale", {kNumeric}, kNumeric, kUnary<type::TrimScale>);
  registry
      .Scalar("min_scale", {kNumeric}, kInteger,
              [](const Call& call, type::Vector& out) {
                return ScaleKernel(call, out, [](const Numeric& a) { return type::MinimalScale(a); });
              })
      .strict = false;
  registry
      .Scalar("scale", {kNumeric}, kInteger,
              [](const Call& call, type::Vector& out) {
                return ScaleKernel(call, out, [](const Numeric& a) {
                  return a.is_finite() ? std::optional<int32_t>(a.scale()) : std::nullopt;
                });
              })
      .strict = false;
  registry.Scalar("width_bucket", {kNumeric, kNumeric, kNumeric, kInteger}, kInteger,
                  Map<[](Env& env, Bytes operand, Bytes low, Bytes high, int64_t count) {
                    return WidthBucket(env, Numeric::Decode(operand), Numeric::Decode(low), Numeric::Decode(high),
                                       count);
                  }>);
}

}  // namespace sisal::function
