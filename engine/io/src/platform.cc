#include "platform.h"

#include "sisal/base/clock.h"

namespace sisal::io {

double TicksPerMicrosecond() {
  static const double measured = [] {
    const Clock& clock = SystemClock();
    const Instant begin = clock.Now();
    const int64_t begin_ticks = Ticks();
    Duration elapsed{0};
    while (elapsed < std::chrono::milliseconds(1)) elapsed = clock.Now() - begin;
    const double ticks = static_cast<double>(Ticks() - begin_ticks);
    return ticks * 1000 / static_cast<double>(elapsed.count());
  }();
  return measured;
}

}  // namespace sisal::io
