// Timers on the runtime's clock (a heap of ours per loop; Boost's own timers read the real clock and are banned).
#pragma once

#include "sisal/base/clock.h"
#include "sisal/io/sync.h"

namespace sisal::io {

Instant Now();  // of the calling loop's clock
// Suspends.
void SleepFor(Duration duration);
// kTimedOut at the deadline, kCancelled before it. Suspends.
WaitResult SleepUntil(const Interrupt& interrupt);

}  // namespace sisal::io
