#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "server.h"
#include "sisal/config/settings.h"

extern char** environ;

namespace {

constexpr int kExitUsage = 2;

int Main(const std::vector<std::string>& arguments) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  const auto line = sisal::config::Load(arguments, environment);
  if (!line.ok()) {
    std::fprintf(stderr, "sisald: %s\n", line.error().message().c_str());
    if (!line.error().hint().empty()) std::fprintf(stderr, "%s\n", line.error().hint().c_str());
    return kExitUsage;
  }
  if (line->action != sisal::config::CommandLine::Action::kRun) {
    std::fputs(line->output.c_str(), stdout);
    return 0;
  }
  return sisal::sisald::RunServer(line->settings);
}

}  // namespace

int main(int count, char** values) {
  sisal::sisald::BlockSignals();
  try {
    return Main(std::vector<std::string>(values + 1, values + count));
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "sisald: %s\n", exception.what());
    return 1;
  }
}
