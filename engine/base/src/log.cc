#include "sisal/base/log.h"

#include <cstdio>

namespace sisal {
namespace {

void WriteToStandardError(LogLevel level, std::string_view message) {
  static constexpr const char* kNames[] = {"debug", "info", "warning", "error"};
  std::fprintf(stderr, "%s: %.*s\n", kNames[static_cast<int>(level)], static_cast<int>(message.size()), message.data());
}

LogSink g_sink = WriteToStandardError;

}  // namespace

void SetLogSink(LogSink sink) { g_sink = sink; }

void Log(LogLevel level, std::string_view message) { g_sink(level, message); }

}  // namespace sisal
