// The log on standard error: one line for each message, text or JSON.
#pragma once

#include "sisal/base/status.h"
#include "sisal/config/settings.h"

namespace sisal::sisald {

// Sends the engine's messages there too.
void StartLogging(const config::Settings& settings);
void LogInfo(const std::string& message);
void LogWarning(const std::string& message);
void LogError(const std::string& message);

}  // namespace sisal::sisald
