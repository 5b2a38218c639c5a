#include "sisal/io/concurrency.h"

#include "platform.h"

namespace sisal::io {

void RealConcurrency::Relax() {
  SISAL_NOT_SIMULATED("a wait for a latch, whose holder cannot run meanwhile");
  CpuRelax();
}

void RealConcurrency::YieldThread() {
  SISAL_NOT_SIMULATED("a wait for a latch, whose holder cannot run meanwhile");
  io::YieldThread();
}

}  // namespace sisal::io
