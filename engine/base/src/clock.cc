#include "sisal/base/clock.h"

#include "sisal/base/simulation.h"

namespace sisal {
namespace {

class RealClock final : public Clock {
 public:
  Instant Now() const override {
    SISAL_NOT_SIMULATED("the machine's clock");
    return Instant{std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())};
  }
  int64_t WallMicros() const override {
    SISAL_NOT_SIMULATED("the machine's clock");
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
};

}  // namespace

const Clock& SystemClock() {
  static const RealClock clock;
  return clock;
}

}  // namespace sisal
