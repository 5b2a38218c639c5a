// What the scheduler needs of the processor and the thread library, in one place.
#pragma once

#include <sched.h>

#include <chrono>
#include <cstdint>

namespace sisal::io {

inline void CpuRelax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

inline void YieldThread() { ::sched_yield(); }

// A cheap monotonic counter for run times and latencies (statistics, budgets), never for deadlines: 8-10 ns on a
// virtual machine where the clock takes 24-38.
inline int64_t Ticks() {
#if defined(__x86_64__)
  return static_cast<int64_t>(__builtin_ia32_rdtsc());
#elif defined(__aarch64__)
  int64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return std::chrono::steady_clock::now().time_since_epoch().count();
#endif
}

// Measured once, at the first call (about 1 ms).
double TicksPerMicrosecond();

}  // namespace sisal::io
