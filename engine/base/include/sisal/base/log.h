// Where the engine says what an operator should know. The server installs its own sink; without one the lines go to
// standard error.
#pragma once

#include <string>
#include <string_view>

namespace sisal {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Called from any thread, also from fibers: must not suspend nor block for long.
using LogSink = void (*)(LogLevel level, std::string_view message);
// Not thread-safe against logging: set once, at start.
void SetLogSink(LogSink sink);
void Log(LogLevel level, std::string_view message);

}  // namespace sisal
