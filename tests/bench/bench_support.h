// What every benchmark prints about itself, and how it sums up samples.
#pragma once

#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace sisal::bench {

// Kernel, processors, compiler and sanitizer; then the caller's settings.
inline void PrintMachine(std::string_view name, std::string_view settings) {
  utsname system{};
  ::uname(&system);
#if defined(SISAL_ASAN)
  constexpr const char* kBuild = "address sanitizer: times mean nothing";
#elif defined(SISAL_TSAN)
  constexpr const char* kBuild = "thread sanitizer: times mean nothing";
#elif defined(NDEBUG)
  constexpr const char* kBuild = "optimised";
#else
  constexpr const char* kBuild = "debug: times mean nothing";
#endif
  std::printf("# %.*s: %s %s %s, %u processors, g++ %s, %s; %.*s\n", static_cast<int>(name.size()), name.data(),
              system.sysname, system.release, system.machine, std::thread::hardware_concurrency(), __VERSION__, kBuild,
              static_cast<int>(settings.size()), settings.data());
}

// Median and spread of samples in one unit.
struct Samples {
  std::vector<double> values;
  void Add(double value) { values.push_back(value); }
  double Quantile(double q) {
    std::sort(values.begin(), values.end());
    return values.at(std::min(values.size() - 1, static_cast<size_t>(q * static_cast<double>(values.size()))));
  }
  void Print(std::string_view name, std::string_view unit) {
    std::printf("%-44.*s p50 %9.3f  p10 %9.3f  p90 %9.3f  p99 %9.3f %.*s  (n=%zu)\n", static_cast<int>(name.size()),
                name.data(), Quantile(0.5), Quantile(0.1), Quantile(0.9), Quantile(0.99), static_cast<int>(unit.size()),
                unit.data(), values.size());
  }
};

}  // namespace sisal::bench
