#include "progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace sisal::cli {
using std::chrono::steady_clock;

Progress::Progress(std::string label, uint64_t bytes_total)
    : label_(std::move(label)),
      bytes_total_(bytes_total),
      on_terminal_(isatty(STDERR_FILENO) == 1),
      start_(steady_clock::now()) {}

Progress::~Progress() { Clear(); }

void Progress::Show(uint64_t rows, uint64_t bytes) {
  const auto now = steady_clock::now();
  if (!on_terminal_ || (shown_ && now - shown_at_ < std::chrono::milliseconds(100))) return;
  shown_ = true;
  shown_at_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  std::fprintf(stderr, "\r%s  %s\x1b[K", label_.c_str(), ProgressText(rows, bytes, bytes_total_, seconds).c_str());
  std::fflush(stderr);
}

void Progress::Clear() {
  if (!shown_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

std::string ProgressText(uint64_t rows, uint64_t bytes, uint64_t bytes_total, double seconds) {
  constexpr size_t kBarWidth = 30;
  const double megabytes = static_cast<double>(bytes) / 1e6;
  char counts[96];
  std::snprintf(counts, sizeof counts, "%llu rows  %.1f MB  %.1f MB/s", static_cast<unsigned long long>(rows),
                megabytes, seconds > 0 ? megabytes / seconds : 0.0);
  if (bytes_total == 0) return counts;
  const double share = std::min(1.0, static_cast<double>(bytes) / static_cast<double>(bytes_total));
  const size_t filled = static_cast<size_t>(share * kBarWidth);
  std::string bar(filled, '=');
  if (filled < kBarWidth) bar.push_back('>');
  bar.append(kBarWidth - bar.size(), ' ');
  char percent[16];
  std::snprintf(percent, sizeof percent, "%3.0f%%", share * 100);
  return "[" + bar + "] " + percent + "  " + counts;
}
}  // namespace sisal::cli
