// Which way of writing is fastest at open: see Calibrate in segment_store.h.
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "aligned_buffer.h"
#include "segment_store.h"

namespace sisal::wal {
namespace {
constexpr int kSampleCountMax = 12;
constexpr Duration kBudgetPerMethod = std::chrono::milliseconds(15);
constexpr WriteMethod kMethods[] = {WriteMethod::kBufferedSync, WriteMethod::kDirectSync, WriteMethod::kDirectDataSync};
// The writes go round over a few blocks, as a log's do: a block is written anew until it is full.
constexpr uint64_t kBlockCount = 4;

// The lower quartile of some writes, as neighbours on the device only add to them; Max if the file system refuses the
// method.
Result<Duration> Measure(io::FileSystem& file_system, const Clock& clock, const std::string& path, uint64_t offset,
                         WriteMethod method) {
  const io::OpenOptions options = OpenOptionsFor(method);
  auto opened = file_system.Open(path, options);
  if (!opened.ok()) return opened.error().sqlstate() == "58030" ? Result<Duration>(Duration::max()) : opened.status();
  io::File& file = **opened;
  if (options.direct && !file.direct()) return Duration::max();
  AlignedBuffer block(kBlockBytes);
  std::vector<Duration> samples;
  const Instant begin = clock.Now();
  for (int i = 0; i < kSampleCountMax; ++i) {
    const Instant start = clock.Now();
    SISAL_RETURN_IF_ERROR(file.WriteAt(offset + (i % kBlockCount) * kBlockBytes, {block.data(), kBlockBytes}));
    if (!options.data_sync) SISAL_RETURN_IF_ERROR(file.Sync());
    const Instant end = clock.Now();
    if (i > 0) samples.push_back(end - start);  // the first pays for what the method's switch left behind
    if (end - begin > kBudgetPerMethod && !samples.empty()) break;
  }
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 4];
}
}  // namespace

std::string WriteMethodName(WriteMethod method) {
  switch (method) {
    case WriteMethod::kCalibrate:
      return "not yet calibrated";
    case WriteMethod::kBufferedSync:
      return "write+fdatasync";
    case WriteMethod::kDirectSync:
      return "O_DIRECT write+fdatasync";
    case WriteMethod::kDirectDataSync:
      return "O_DIRECT|O_DSYNC write";
  }
  return "";
}

io::OpenOptions OpenOptionsFor(WriteMethod method) {
  io::OpenOptions options;
  options.write = true;
  options.direct = method == WriteMethod::kDirectSync || method == WriteMethod::kDirectDataSync;
  options.data_sync = method == WriteMethod::kDirectDataSync;
  return options;
}

Result<Calibration> Calibrate(io::FileSystem& file_system, const Clock& clock, const std::string& path,
                              uint64_t offset) {
  Calibration result;
  Duration best = Duration::max();
  for (const WriteMethod method : kMethods) {
    SISAL_ASSIGN_OR_RETURN(const Duration latency, Measure(file_system, clock, path, offset, method));
    if (!result.report.empty()) result.report += ", ";
    result.report += WriteMethodName(method) + " ";
    if (latency == Duration::max()) {
      result.report += "refused";
      continue;
    }
    result.report += std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(latency).count()) + " us";
    if (latency < best) {
      best = latency;
      result.method = method;
    }
  }
  return result;
}

}  // namespace sisal::wal
