// A progress line on a terminal; nothing where standard error is none.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace sisal::cli {
// Concurrency: externally synchronised.
class Progress {
 public:
  // `bytes_total`: 0 if it is not known; then there is no bar, only counts.
  Progress(std::string label, uint64_t bytes_total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Show(uint64_t rows, uint64_t bytes);
  // Before anything else is printed.
  void Clear();

 private:
  const std::string label_;
  const uint64_t bytes_total_;
  const bool on_terminal_;
  const std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point shown_at_;
  bool shown_ = false;
};

// "[=====>    ]  54%  120000 rows  8.1 MB/s"; without a total, counts alone.
std::string ProgressText(uint64_t rows, uint64_t bytes, uint64_t bytes_total, double seconds);
}  // namespace sisal::cli
