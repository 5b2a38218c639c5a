// Time comes in through this interface, so that the engine runs on virtual time in the simulator.
#pragma once

#include <chrono>
#include <cstdint>

namespace sisal {

// Monotonic, for deadlines and durations; the epoch is the clock's own.
using Duration = std::chrono::nanoseconds;
struct Instant {
  Duration since_start{0};
  auto operator<=>(const Instant&) const = default;
  static constexpr Instant Max() { return Instant{Duration::max()}; }
};
inline Instant operator+(Instant t, Duration d) { return Instant{t.since_start + d}; }
inline Duration operator-(Instant a, Instant b) { return a.since_start - b.since_start; }

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant Now() const = 0;
  // Microseconds since 1970-01-01 00:00 UTC, for SQL's now() and for logs.
  virtual int64_t WallMicros() const = 0;
};

// The machine's clocks. Lives for ever.
const Clock& SystemClock();

}  // namespace sisal
