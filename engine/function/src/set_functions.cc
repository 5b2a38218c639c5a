// generate_series() of integers, numeric and timestamps.
#include "registry.h"
#include "sisal/type/date_time.h"
#include "sisal/type/numeric.h"

namespace sisal::function {
namespace {

using enum type::TypeId;
using type::Datum;
using type::Interval;
using type::Numeric;
using Arguments = std::span<const Datum>;

// What lies in the 64 bytes of a call's state; zeroed at first.
struct Series {
  int64_t next;  // value, for integers and timestamps; number of values so far, for numeric
  bool started;
  bool finished;
};
static_assert(sizeof(Series) <= 64);

Error ZeroStep() { return Error("22023", "step size cannot equal zero"); }

Status NextIntegers(Context&, Arguments args, char* state, Arena&, type::Vector& out, uint32_t& count) {
  Series& series = *reinterpret_cast<Series*>(state);
  const int64_t stop = args[1].as_int();
  const int64_t step = args.size() > 2 ? args[2].as_int() : 1;
  if (!series.started) {
    if (step == 0) return ZeroStep();
    series.next = args[0].as_int();
    series.started = true;
  }
  // A series that reaches the type's limit ends there.
  const bool narrow = out.type.id == kInteger;
  for (count = 0; count < type::kVectorSize && !series.finished; ++count) {
    if (step > 0 ? series.next > stop : series.next < stop) {
      series.finished = true;
      break;
    }
    out.ints[count] = series.next;
    series.finished = __builtin_add_overflow(series.next, step, &series.next) ||
                      (narrow && series.next != static_cast<int32_t>(series.next));
  }
  return Status();
}

Status CheckFinite(const Numeric& value, std::string_view what) {
  if (value.is_nan()) return Error("22023", std::string(what) + " cannot be NaN");
  if (value.is_infinite()) return Error("22023", std::string(what) + " cannot be infinity");
  return Status();
}

Status NextNumerics(Context&, Arguments args, char* state, Arena& arena, type::Vector& out, uint32_t& count) {
  Series& series = *reinterpret_cast<Series*>(state);
  const Numeric start = Numeric::Decode(args[0].as_bytes());
  const Numeric stop = Numeric::Decode(args[1].as_bytes());
  const Numeric step = args.size() > 2 ? Numeric::Decode(args[2].as_bytes()) : Numeric::FromInt(1);
  if (!series.started) {
    SISAL_RETURN_IF_ERROR(CheckFinite(start, "start value"));
    SISAL_RETURN_IF_ERROR(CheckFinite(stop, "stop value"));
    SISAL_RETURN_IF_ERROR(CheckFinite(step, "step size"));
    if (step.sign() == 0) return ZeroStep();
    series.started = true;
  }
  SISAL_ASSIGN_OR_RETURN(const Numeric distance, Multiply(step, Numeric::FromInt(series.next)));
  SISAL_ASSIGN_OR_RETURN(Numeric value, Add(start, distance));
  const bool ascending = step.sign() > 0;
  for (count = 0; count < type::kVectorSize && !series.finished; ++count) {
    const int order = CompareNumerics(value, stop);
    if (ascending ? order > 0 : order < 0) {
      series.finished = true;
      break;
    }
    out.bytes[count] = value.EncodeIn(arena);
    ++series.next;
    SISAL_ASSIGN_OR_RETURN(value, Add(value, step));
  }
  return Status();
}

// Steps from value to value, so that months clamp as PostgreSQL's do: 31 January, 28 February, 28 March.
template <bool kLocalTime>
Status NextTimestamps(Context& context, Arguments args, char* state, Arena&, type::Vector& out, uint32_t& count) {
  Series& series = *reinterpret_cast<Series*>(state);
  const int32_t offset = kLocalTime ? 0 : context.text.time_zone_offset_seconds;
  const int64_t stop = args[1].as_int();
  const Interval step = Interval::Decode(args[2].as_bytes());
  const __int128 span = step.Span();
  if (!series.started) {
    if (span == 0) return ZeroStep();
    series.next = args[0].as_int();
    series.started = true;
  }
  for (count = 0; count < type::kVectorSize && !series.finished; ++count) {
    if (span > 0 ? series.next > stop : series.next < stop) {
      series.finished = true;
      break;
    }
    out.ints[count] = series.next;
    SISAL_ASSIGN_OR_RETURN(series.next, type::AddInterval(series.next, step, offset));
  }
  return Status();
}

}  // namespace

void RegisterSetFunctions(Registry& registry) {
  for (const type::TypeId id : {kInteger, kBigint}) {
    registry.AddSetFunction({"generate_series", {id, id}, id, NextIntegers});
    registry.AddSetFunction({"generate_series", {id, id, id}, id, NextIntegers});
  }
  registry.AddSetFunction({"generate_series", {kNumeric, kNumeric}, kNumeric, NextNumerics});
  registry.AddSetFunction({"generate_series", {kNumeric, kNumeric, kNumeric}, kNumeric, NextNumerics});
  registry.AddSetFunction({"generate_series", {kTimestamp, kTimestamp, kInterval}, kTimestamp, NextTimestamps<true>});
  registry.AddSetFunction(
      {"generate_series", {kTimestampTz, kTimestampTz, kInterval}, kTimestampTz, NextTimestamps<false>});
}

}  // namespace sisal::function
