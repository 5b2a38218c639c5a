#include "sisal/base/check.h"

#include <execinfo.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace sisal::internal {

void CheckFailed(std::string_view condition, const char* file, int line, std::string_view note) {
  std::fprintf(stderr, "%s:%d: check failed: %.*s%s%.*s\n", file, line, static_cast<int>(condition.size()),
               condition.data(), note.empty() ? "" : ": ", static_cast<int>(note.size()), note.data());
  void* frames[64];
  backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
  std::abort();
}

}  // namespace sisal::internal
