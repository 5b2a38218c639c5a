// sisal-sim: plays scenarios from seeds. See docs/testing.md.
#include <sys/personality.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sisal/base/simulation.h"
#include "worker.h"

namespace sisal::sim {
namespace {

constexpr char kUsage[] =
    "usage: sisal-sim [--scenario NAME] [--seeds N] [--first-seed S] [--plant BUG] [--list] [--verbose]\n"
    "  Plays each scenario (or one) with N seeds from S on; exits 1 if one shows a violation.\n"
    "  --plant: with this bug in the engine; exits 0 only if it is found, within 30 seconds.\n"
    "  --list: the names of scenarios and bugs.\n";
constexpr double kPlantSecondsMax = 30;

struct Settings {
  std::vector<const Scenario*> scenarios;
  uint64_t seeds = 20;
  bool are_seeds_given = false;
  uint64_t first_seed = 1;
  Plant plant = Plant::kNone;
  const char* plant_name = nullptr;
  bool verbose = false;
};

int List() {
  for (const Scenario& scenario : Scenarios()) std::printf("scenario %s\n", scenario.name);
  for (const PlantName& plant : kPlants) std::printf("plant %s\n", plant.name);
  return 0;
}

double SecondsNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int PlayCampaign(const Settings& settings) {
  size_t place = 0;
  uint64_t played = 0, violations = 0, all_violations = 0, hash = 0;
  double start = SecondsNow();
  const auto next = [&]() -> std::optional<Task> {
    if (place == settings.scenarios.size()) return std::nullopt;
    return Task{settings.scenarios[place], settings.first_seed + played};
  };
  const auto done = [&](const SeedResult& result) {
    ++played;
    hash = result.trace_hash;
    if (!result.violation.empty()) {
      ++violations;
      std::printf("violation %s seed %" PRIu64 ": %s\n", result.scenario->name, result.seed, result.violation.c_str());
    }
    if (played < settings.seeds) return true;
    std::printf("%-18s %" PRIu64 " seeds, %" PRIu64 " violations, %.1f s", result.scenario->name, played, violations,
                SecondsNow() - start);
    if (settings.seeds == 1) std::printf(", trace %016" PRIx64, hash);
    std::printf("\n");
    std::fflush(stdout);
    all_violations += violations;
    played = violations = 0;
    ++place;
    start = SecondsNow();
    return true;
  };
  PlaySeeds(settings.plant, settings.verbose, next, done);
  return all_violations == 0 ? 0 : 1;
}

int HuntPlant(const Settings& settings) {
  const double start = SecondsNow();
  uint64_t played = 0;
  bool found = false;
  const uint64_t count = settings.scenarios.size();
  const uint64_t limit = settings.are_seeds_given ? settings.seeds * count : UINT64_MAX;
  const auto next = [&]() -> std::optional<Task> {
    if (played == limit || SecondsNow() - start > kPlantSecondsMax) return std::nullopt;
    return Task{settings.scenarios[played % count], settings.first_seed + played / count};
  };
  const auto done = [&](const SeedResult& result) {
    ++played;
    if (result.violation.empty()) return true;
    found = true;
    std::printf("plant %s found after %" PRIu64 " seeds by %s, seed %" PRIu64 ": %s\n", settings.plant_name,
                (played + count - 1) / count, result.scenario->name, result.seed, result.violation.c_str());
    return false;
  };
  PlaySeeds(settings.plant, settings.verbose, next, done);
  if (!found) {
    std::printf("plant %s not found in %" PRIu64 " seeds, %.0f s\n", settings.plant_name, (played + count - 1) / count,
                SecondsNow() - start);
  }
  return found ? 0 : 1;
}

// Tables hash by addresses: without the same ones, a seed would not give the same run in another process.
void FixAddresses(char** arguments) {
  const int persona = ::personality(0xffffffff);
  if (persona == -1 || (persona & ADDR_NO_RANDOMIZE) != 0) return;
  if (::personality(static_cast<unsigned long>(persona) | ADDR_NO_RANDOMIZE) == -1) return;
  ::execv("/proc/self/exe", arguments);
}

std::optional<uint64_t> NumberOf(const char* text) {
  char* end = nullptr;
  const uint64_t number = std::strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != '\0') return std::nullopt;
  return number;
}

int Refuse(const std::string& why) {
  std::fprintf(stderr, "sisal-sim: %s\n%s", why.c_str(), kUsage);
  return 2;
}

int Main(int count, char** arguments) {
  Settings settings;
  for (int i = 1; i < count; ++i) {
    const std::string_view option = arguments[i];
    if (option == "--list") return List();
    if (option == "--help") return std::fputs(kUsage, stdout), 0;
    if (option == "--verbose") {
      settings.verbose = true;
      continue;
    }
    if (i + 1 == count) return Refuse("unknown option, or no value for it: " + std::string(option));
    const char* const value = arguments[++i];
    if (option == "--scenario") {
      const auto& all = Scenarios();
      const auto found =
          std::find_if(all.begin(), all.end(), [&](const Scenario& s) { return std::string_view(s.name) == value; });
      if (found == all.end()) return Refuse(std::string("no such scenario: ") + value);
      settings.scenarios.push_back(&*found);
    } else if (option == "--plant") {
      const std::optional<Plant> plant = PlantOf(value);
      if (!plant) return Refuse(std::string("no such bug: ") + value);
      settings.plant = *plant;
      settings.plant_name = value;
    } else if (option == "--seeds" || option == "--first-seed") {
      const std::optional<uint64_t> number = NumberOf(value);
      if (!number || (*number == 0 && option == "--seeds")) return Refuse(std::string("not a number: ") + value);
      (option == "--seeds" ? settings.seeds : settings.first_seed) = *number;
      settings.are_seeds_given |= option == "--seeds";
    } else {
      return Refuse("unknown option: " + std::string(option));
    }
  }
  FixAddresses(arguments);
  if (settings.scenarios.empty()) {
    for (const Scenario& scenario : Scenarios()) settings.scenarios.push_back(&scenario);
  }
  return settings.plant == Plant::kNone ? PlayCampaign(settings) : HuntPlant(settings);
}

}  // namespace
}  // namespace sisal::sim

int main(int count, char** arguments) { return sisal::sim::Main(count, arguments); }
