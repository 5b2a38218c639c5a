// Checks that stay on in release builds. They state what our own code guarantees: a failed one ends the process, and
// recovery repairs. User input, disk bytes and peers get an Error, never a check.
#pragma once

#include <string_view>

namespace sisal::internal {
// Prints the condition, place and note to standard error with a stack trace, and aborts.
[[noreturn]] void CheckFailed(std::string_view condition, const char* file, int line, std::string_view note = {});
}  // namespace sisal::internal

#define SISAL_CHECK(condition)                                              \
  (__builtin_expect(static_cast<bool>(condition), 1) ? static_cast<void>(0) \
                                                     : ::sisal::internal::CheckFailed(#condition, __FILE__, __LINE__))

// For costly checks: on in sanitizer and debug builds only.
#if defined(NDEBUG) && !defined(SISAL_ASAN) && !defined(SISAL_TSAN)
#define SISAL_DCHECK(condition) static_cast<void>(sizeof(static_cast<bool>(condition)))
#else
#define SISAL_DCHECK(condition) SISAL_CHECK(condition)
#endif
