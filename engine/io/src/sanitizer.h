// Tells the sanitizers about switches between fibers: Debian's Boost.Context does not (design/runtime.md, 4). Nothing
// of this exists in release builds.
//
// A switch is announced in pick_next, just before Boost makes it, and completed by the first code of ours that runs on
// the other stack: the fiber's entry, the end of its suspension, or the dispatcher's next pick. Code between the two
// must be SISAL_NO_SANITIZE, for it would be booked on the wrong stack.
#pragma once

#include <cstddef>

#if defined(SISAL_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(SISAL_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

#if defined(SISAL_ASAN) || defined(SISAL_TSAN)
#define SISAL_NO_SANITIZE __attribute__((noinline, no_sanitize("address", "thread", "undefined")))
#else
#define SISAL_NO_SANITIZE
#endif

namespace sisal::io {

#if defined(SISAL_ASAN) || defined(SISAL_TSAN)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// What the sanitizers know of one fiber.
struct SanitizerState {
#if defined(SISAL_ASAN)
  void* fake_stack = nullptr;
  const void* stack_low_end = nullptr;
  size_t stack_bytes = 0;
  bool arriving = false;  // a switch to it was announced and not completed
#endif
#if defined(SISAL_TSAN)
  void* tsan_fiber = nullptr;
  bool owned = false;
#endif
};

inline void UnpoisonStack([[maybe_unused]] void* low_end, [[maybe_unused]] size_t size_bytes) {
#if defined(SISAL_ASAN)
  __asan_unpoison_memory_region(low_end, size_bytes);
#endif
}

// `running`: it is the context that runs now, with a stack of the thread's own.
inline void SanitizerInit([[maybe_unused]] SanitizerState& state, [[maybe_unused]] bool running,
                          [[maybe_unused]] const void* stack_low_end, [[maybe_unused]] size_t stack_bytes) {
#if defined(SISAL_ASAN)
  state.stack_low_end = stack_low_end;
  state.stack_bytes = stack_bytes;
#endif
#if defined(SISAL_TSAN)
  state.tsan_fiber = running ? __tsan_get_current_fiber() : __tsan_create_fiber(0);
  state.owned = !running;
#endif
}

inline void SanitizerDestroy([[maybe_unused]] SanitizerState& state) {
#if defined(SISAL_TSAN)
  if (state.owned) __tsan_destroy_fiber(state.tsan_fiber);
#endif
}

// Inlined into functions that are not instrumented.
__attribute__((always_inline)) inline void AnnounceSwitch([[maybe_unused]] SanitizerState& from,
                                                          [[maybe_unused]] bool from_is_ending,
                                                          [[maybe_unused]] SanitizerState& to) {
#if defined(SISAL_ASAN)
  to.arriving = true;
  __sanitizer_start_switch_fiber(from_is_ending ? nullptr : &from.fake_stack, to.stack_low_end, to.stack_bytes);
#endif
#if defined(SISAL_TSAN)
  __tsan_switch_to_fiber(to.tsan_fiber, 0);
#endif
}

__attribute__((always_inline)) inline void CompleteSwitch([[maybe_unused]] SanitizerState& state) {
#if defined(SISAL_ASAN)
  if (!state.arriving) return;
  state.arriving = false;
  __sanitizer_finish_switch_fiber(state.fake_stack, nullptr, nullptr);
#endif
}

}  // namespace sisal::io
