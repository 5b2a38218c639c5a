// variance, stddev and the float averages.
//
// Floats: Youngs and Cramer's updating formulas (Youngs & Cramer, "Some results relevant to choice of sum and
// sum-of-product algorithms", Technometrics 13, 1971), as PostgreSQL does. Integers and numeric: exact sums.
#include <cmath>

#include "aggregate.h"
#include "sisal/type/numeric.h"

namespace sisal::function {
namespace {

using enum type::TypeId;
using type::Numeric;
using Bytes = std::string_view;

enum class Measure { kAverage, kVariancePopulation, kVarianceSample, kDeviationPopulation, kDeviationSample };
constexpr bool IsSample(Measure measure) {
  return measure == Measure::kVarianceSample || measure == Measure::kDeviationSample;
}
constexpr bool IsDeviation(Measure measure) {
  return measure == Measure::kDeviationPopulation || measure == Measure::kDeviationSample;
}

template <Measure kMeasure>
struct FloatMoments {
  double count;
  double sum;
  double squares;  // sum of the squared differences from the mean
  bool overflow;

  void Add(double value) {
    const double old_count = count, old_sum = sum;
    count += 1;
    sum += value;
    if (old_count == 0) {
      if (!std::isfinite(value)) squares = std::nan("");
      return;
    }
    const double difference = value * count - sum;
    squares += difference * difference / (count * old_count);
    if (std::isinf(sum) || std::isinf(squares)) {
      overflow |= !std::isinf(old_sum) && !std::isinf(value);
      squares = std::nan("");
    }
  }
  Status Merge(const FloatMoments& from, Arena&) {
    overflow |= from.overflow;
    if (from.count == 0) return Status();
    if (count == 0) {
      const bool overflowed = overflow;
      *this = from;
      overflow = overflowed;
      return Status();
    }
    const double total = count + from.count;
    const double difference = sum / count - from.sum / from.count;
    const double merged = squares + from.squares + count * from.count * difference * difference / total;
    overflow |= std::isinf(sum + from.sum) && !std::isinf(sum) && !std::isinf(from.sum);
    overflow |= std::isinf(merged) && !std::isinf(squares) && !std::isinf(from.squares);
    count = total;
    sum += from.sum;
    squares = merged;
    return Status();
  }
  Status Finish(uint32_t at, type::Vector& out, Arena&) const {
    if (overflow) return Error("22003", "value out of range: overflow");
    if (count == 0 || (IsSample(kMeasure) && count == 1)) return out.SetNull(at), Status();
    if (kMeasure == Measure::kAverage) {
      out.doubles[at] = sum / count;
      return Status();
    }
    const double variance = squares / (IsSample(kMeasure) ? count - 1 : count);
    out.doubles[at] = IsDeviation(kMeasure) ? std::sqrt(variance) : variance;
    return Status();
  }
};

// (count * squares - sum^2) / (count * (count - 1)), exact up to the division.
template <Measure kMeasure>
Result<Numeric> FromMoments(const Numeric& sum, const Numeric& squares, int64_t count) {
  if (!sum.is_finite() || !squares.is_finite()) return Numeric::NaN();
  const Numeric n = Numeric::FromInt(count);
  SISAL_ASSIGN_OR_RETURN(const Numeric scaled, Multiply(n, squares));
  SISAL_ASSIGN_OR_RETURN(const Numeric squared, Multiply(sum, sum));
  SISAL_ASSIGN_OR_RETURN(const Numeric numerator, Subtract(scaled, squared));
  if (numerator.sign() <= 0) return Numeric();
  SISAL_ASSIGN_OR_RETURN(const Numeric divisor, Multiply(n, Numeric::FromInt(IsSample(kMeasure) ? count - 1 : count)));
  SISAL_ASSIGN_OR_RETURN(Numeric variance, Divide(numerator, divisor));
  if (!IsDeviation(kMeasure)) return variance;
  SISAL_ASSIGN_OR_RETURN(const Numeric root, SquareRoot(variance));
  return Round(root, variance.scale());
}

template <Measure kMeasure>
struct IntegerMoments {
  __int128 sum, squares;  // smallint and integer only: squares have 62 bits
  int64_t count;

  void Add(int64_t value) {
    sum += value;
    squares += value * value;
    ++count;
  }
  void Remove(int64_t value) {
    sum -= value;
    squares -= value * value;
    --count;
  }
  Status Merge(const IntegerMoments& from, Arena&) {
    sum += from.sum;
    squares += from.squares;
    count += from.count;
    return Status();
  }
  Status Finish(uint32_t at, type::Vector& out, Arena& arena) const {
    if (count == 0 || (IsSample(kMeasure) && count == 1)) return out.SetNull(at), Status();
    SISAL_ASSIGN_OR_RETURN(const Numeric result,
                           FromMoments<kMeasure>(Numeric::FromScaled(sum, 0), Numeric::FromScaled(squares, 0), count));
    out.bytes[at] = result.EncodeIn(arena);
    return Status();
  }
};

template <Measure kMeasure>
struct DecimalMoments {
  type::NumericSum sum, squares;
  int64_t count;

  Status Add(const Numeric& value, Env& env) {
    SISAL_ASSIGN_OR_RETURN(const Numeric square, Multiply(value, value));
    std::string bytes;
    value.AppendEncoded(bytes);
    sum.Add(bytes, env.arena);
    bytes.clear();
    square.AppendEncoded(bytes);
    squares.Add(bytes, env.arena);
    ++count;
    return Status();
  }
  Status Merge(const DecimalMoments& from, Arena& arena) {
    sum.Merge(from.sum, arena);
    squares.Merge(from.squares, arena);
    count += from.count;
    return Status();
  }
  Status Finish(uint32_t at, type::Vector& out, Arena& arena) const {
    if (count == 0 || (IsSample(kMeasure) && count == 1)) return out.SetNull(at), Status();
    SISAL_ASSIGN_OR_RETURN(const Numeric total, sum.Total());
    SISAL_ASSIGN_OR_RETURN(const Numeric total_squares, squares.Total());
    SISAL_ASSIGN_OR_RETURN(const Numeric result, FromMoments<kMeasure>(total, total_squares, count));
    out.bytes[at] = result.EncodeIn(arena);
    return Status();
  }
};

template <Measure kMeasure>
void AddFloat(Registry& registry, std::string_view name) {
  for (const type::TypeId id : {kReal, kDouble}) {
    registry.AddAggregate(MakeAggregate<FloatMoments<kMeasure>>(
        name, id, kDouble, UpdateEach<[](FloatMoments<kMeasure>& state, double value) { state.Add(value); }>));
  }
}

template <Measure kMeasure>
void AddMeasure(Registry& registry, std::string_view name) {
  using Integers = IntegerMoments<kMeasure>;
  using Decimals = DecimalMoments<kMeasure>;
  AddFloat<kMeasure>(registry, name);
  for (const type::TypeId id : {kSmallint, kInteger}) {
    Aggregate& entry = registry.AddAggregate(MakeAggregate<Integers>(
        name, id, kNumeric, UpdateEach<[](Integers& state, int64_t value) { state.Add(value); }>));
    entry.remove = UpdateEach<[](Integers& state, int64_t value) { state.Remove(value); }>;
  }
  registry.AddAggregate(
      MakeAggregate<Decimals>(name, kBigint, kNumeric, UpdateEach<[](Decimals& state, Env& env, int64_t value) {
                                if (Status added = state.Add(Numeric::FromInt(value), env); !added.ok())
                                  env.Fail(std::move(added));
                              }>));
  registry.AddAggregate(
      MakeAggregate<Decimals>(name, kNumeric, kNumeric, UpdateEach<[](Decimals& state, Env& env, Bytes value) {
                                if (Status added = state.Add(Numeric::Decode(value), env); !added.ok())
                                  env.Fail(std::move(added));
                              }>));
}

}  // namespace

void RegisterVarianceAggregates(Registry& registry) {
  AddFloat<Measure::kAverage>(registry, "avg");
  AddMeasure<Measure::kVariancePopulation>(registry, "var_pop");
  AddMeasure<Measure::kVarianceSample>(registry, "var_samp");
  AddMeasure<Measure::kVarianceSample>(registry, "variance");
  AddMeasure<Measure::kDeviationPopulation>(registry, "stddev_pop");
  AddMeasure<Measure::kDeviationSample>(registry, "stddev_samp");
  AddMeasure<Measure::kDeviationSample>(registry, "stddev");
}

}  // namespace sisal::function
