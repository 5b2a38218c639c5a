#include "sisal/btree/latch.h"

#include <thread>

#include "sisal/base/simulation.h"

namespace sisal::btree {

void SharedSpinLatch::Pause(uint32_t turn) {
  SISAL_NOT_SIMULATED("a wait for a latch, whose holder cannot run meanwhile");
  constexpr uint32_t kSpins = 128;
  if (turn >= kSpins) {
    std::this_thread::yield();
    return;
  }
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace sisal::btree
