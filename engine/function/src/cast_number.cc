// Casts between boolean and the number types.
#include <cmath>

#include "kernel.h"
#include "registry.h"
#include "sisal/type/numeric.h"

namespace sisal::function {
namespace {

using enum type::TypeId;
using type::Numeric;
using Bytes = std::string_view;

// Half to even, as rint() does. NaN is in no range.
template <typename T>
int64_t FromFloat(Env& env, double value) {
  const double rounded = std::nearbyint(value);
  // -min(T) is a power of two, so it is exact as a double; max(T) need not be.
  constexpr double kLimit = -static_cast<double>(std::numeric_limits<T>::min());
  if (!(rounded >= -kLimit && rounded < kLimit)) return env.Fail("22003", std::string(kRangeMessage<T>));
  return static_cast<int64_t>(rounded);
}

double DoubleToReal(Env& env, double value) {
  const double rounded = static_cast<float>(value);
  if (std::isinf(rounded) && !std::isinf(value)) return env.Fail("22003", "value out of range: overflow");
  if (rounded == 0 && value != 0) return env.Fail("22003", "value out of range: underflow");
  return rounded;
}

template <typename T>
T Give(Env& env, Result<T> value) {
  if (!value.ok()) return env.Fail(std::move(value).error());
  return *value;
}

constexpr Kernel kSame = nullptr;
constexpr Kernel kToDouble = Map<[](int64_t a) { return static_cast<double>(a); }>;
constexpr Kernel kToReal = Map<[](int64_t a) { return static_cast<double>(static_cast<float>(a)); }>;
constexpr Kernel kIntToNumeric = Map<[](Env& env, int64_t a) { return Numeric::FromInt(a).EncodeIn(env.arena); }>;
constexpr Kernel kDoubleToNumeric = Map<[](Env& env, double a) { return Numeric::FromDouble(a).EncodeIn(env.arena); }>;
constexpr Kernel kRealToNumeric = Map<[](Env& env, double a) { return Numeric::FromReal(a).EncodeIn(env.arena); }>;
template <typename T>
constexpr Kernel kNarrow = Map<[](IntegerRange<T>& range, int64_t a) { return range.Fit(a); }>;
template <typename T>
constexpr Kernel kFromFloat = Map<[](Env& env, double a) { return FromFloat<T>(env, a); }>;
template <type::TypeId kTo>
constexpr Kernel kNumericToInt = Map<[](Env& env, Bytes a) { return Give(env, Numeric::Decode(a).ToInt(kTo)); }>;

}  // namespace

void RegisterNumberCasts(Registry& registry) {
  using enum CastContext;
  registry.AddCast(kSmallint, kInteger, kImplicit, kSame);
  registry.AddCast(kSmallint, kBigint, kImplicit, kSame);
  registry.AddCast(kInteger, kBigint, kImplicit, kSame);
  registry.AddCast(kInteger, kSmallint, kAssignment, kNarrow<int16_t>);
  registry.AddCast(kBigint, kSmallint, kAssignment, kNarrow<int16_t>);
  registry.AddCast(kBigint, kInteger, kAssignment, kNarrow<int32_t>);
  registry.AddCast(kInteger, kBoolean, kExplicit, Map<[](int64_t a) { return a != 0; }>);
  registry.AddCast(kBoolean, kInteger, kExplicit, kSame);

  for (const type::TypeId integer : {kSmallint, kInteger, kBigint}) {
    registry.AddCast(integer, kReal, kImplicit, kToReal);
    registry.AddCast(integer, kDouble, kImplicit, kToDouble);
    registry.AddCast(integer, kNumeric, kImplicit, kIntToNumeric);
  }
  for (const type::TypeId real : {kReal, kDouble}) {
    registry.AddCast(real, kSmallint, kAssignment, kFromFloat<int16_t>);
    registry.AddCast(real, kInteger, kAssignment, kFromFloat<int32_t>);
    registry.AddCast(real, kBigint, kAssignment, kFromFloat<int64_t>);
  }
  registry.AddCast(kReal, kDouble, kImplicit, kSame);
  registry.AddCast(kDouble, kReal, kAssignment, Map<[](Env& env, double a) { return DoubleToReal(env, a); }>);
  registry.AddCast(kReal, kNumeric, kAssignment, kRealToNumeric);
  registry.AddCast(kDouble, kNumeric, kAssignment, kDoubleToNumeric);

  registry.AddCast(kNumeric, kSmallint, kAssignment, kNumericToInt<kSmallint>);
  registry.AddCast(kNumeric, kInteger, kAssignment, kNumericToInt<kInteger>);
  registry.AddCast(kNumeric, kBigint, kAssignment, kNumericToInt<kBigint>);
  registry.AddCast(kNumeric, kReal, kImplicit,
                   Map<[](Env& env, Bytes a) { return Give(env, Numeric::Decode(a).ToReal()); }>);
  registry.AddCast(kNumeric, kDouble, kImplicit,
                   Map<[](Env& env, Bytes a) { return Give(env, Numeric::Decode(a).ToDouble()); }>);
}

}  // namespace sisal::function
