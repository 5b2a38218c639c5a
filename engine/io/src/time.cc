#include "sisal/io/time.h"

#include "loop.h"
#include "runtime_core.h"

namespace sisal::io {

Instant Now() {
  LoopImpl* const loop = CurrentLoopImpl();
  SISAL_CHECK(loop != nullptr);
  return loop->Now();
}

void SleepFor(Duration duration) {
  const Instant now = Now();
  const bool for_ever = duration >= Instant::Max() - now;
  static_cast<void>(SleepUntil(Interrupt{.deadline = for_ever ? Instant::Max() : now + duration}));
}

WaitResult SleepUntil(const Interrupt& interrupt) {
  internal::WaitNode node;
  return node.Park(interrupt);
}

}  // namespace sisal::io
