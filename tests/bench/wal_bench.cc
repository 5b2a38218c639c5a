// The log: the device's bare sync latency, a lone commit's cost over it, commits per second and group size by the
// number of committers, and replay speed. Rounds of all of them alternate, so that a noisy machine is noisy for each.
//
//   wal_bench [--quick] [--dir DIR] [--loops N] [--method 0..3] [--bytes N]
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "bench_support.h"
#include "sisal/base/log.h"
#include "sisal/io/file.h"
#include "sisal/io/runtime.h"
#include "sisal/io/sync.h"
#include "sisal/io/time.h"
#include "sisal/wal/log.h"

namespace sisal::wal {
namespace {

struct Settings {
  bool quick = false;
  std::string parent = "/var/tmp";
  size_t loop_count = 2;
  WriteMethod method = WriteMethod::kCalibrate;
  size_t payload_bytes = 100;
};

double Micros(Duration duration) { return std::chrono::duration<double, std::micro>(duration).count(); }

std::string DeviceOf(const std::string& path) {
  std::ifstream mounts("/proc/self/mounts");
  std::string device, mount, type, rest, best, result = "unknown";
  while (mounts >> device >> mount >> type && std::getline(mounts, rest)) {
    const bool holds = path == mount || mount == "/" || path.starts_with(mount + "/");
    if (holds && mount.size() >= best.size()) {
      best = mount;
      result = type + " on " + device;
    }
  }
  return result;
}

// Writes of one block as the log makes them, each durable: rewriting a block until it is full, then the next.
class BareDevice {
 public:
  BareDevice(const std::string& path, const std::string& method, size_t record_bytes) : record_bytes_(record_bytes) {
    is_data_sync_ = method.find("O_DSYNC") != std::string::npos;
    const int flags = O_RDWR | O_CREAT | (method.find("O_DIRECT") != std::string::npos ? O_DIRECT : 0) |
                      (is_data_sync_ ? O_DSYNC : 0);
    file_ = ::open(path.c_str(), flags, 0600);
    SISAL_CHECK(file_ >= 0);
    block_ = std::aligned_alloc(4096, 4096);
    std::memset(block_, 0, 4096);
    for (off_t at = 0; at < kFileBytes; at += 4096) SISAL_CHECK(::pwrite(file_, block_, 4096, at) == 4096);
    SISAL_CHECK(::fdatasync(file_) == 0);
  }
  ~BareDevice() {
    ::close(file_);
    std::free(block_);
  }
  void WriteOne() {
    const off_t at = static_cast<off_t>(position_ / 4096 * 4096) % kFileBytes;
    SISAL_CHECK(::pwrite(file_, block_, 4096, at) == 4096);
    if (!is_data_sync_) SISAL_CHECK(::fdatasync(file_) == 0);
    position_ += record_bytes_;
  }

 private:
  static constexpr off_t kFileBytes = 1 << 20;
  const size_t record_bytes_;
  bool is_data_sync_ = false;
  int file_ = -1;
  void* block_ = nullptr;
  uint64_t position_ = 0;
};

Status CommitOne(Log& log, std::string_view payload) {
  SISAL_ASSIGN_OR_RETURN(LogCredit credit, log.Reserve(payload.size()));
  const std::string_view pieces[] = {payload};
  return log.WaitDurable(log.Append(std::move(credit), RecordType::kCommit, pieces).end);
}

struct GroupRun {
  double commits_per_second = 0;
  double group_size = 0;
};

// `count` fibers commit one after the other for `duration`.
GroupRun RunCommitters(io::Runtime& runtime, Log& log, size_t count, Duration duration, const std::string& payload) {
  const LogStats before = log.Stats();
  const Instant begin = io::Now();
  std::atomic<size_t> running{count};
  io::Event ended;
  for (size_t i = 0; i < count; ++i) {
    runtime.loop(i % runtime.loop_count()).Spawn({"committer"}, [&] {
      while (io::Now() - begin < duration) SISAL_CHECK(CommitOne(log, payload).ok());
      if (--running == 0) ended.Set();
    });
  }
  ended.Wait();
  const double seconds = Micros(io::Now() - begin) / 1e6;
  const LogStats after = log.Stats();
  const double commits = static_cast<double>(after.commits_synced - before.commits_synced);
  return {commits / seconds, commits / static_cast<double>(after.syncs - before.syncs)};
}

void MeasureCommits(io::Runtime& runtime, const Settings& settings, const std::string& directory) {
  const std::string payload(settings.payload_bytes, 'x');
  LogOptions options;
  options.write_method = settings.method;
  const Instant open_begin = io::Now();
  auto opened = Log::Open(
      runtime, directory + "/wal", options, Lsn{}, [](const RecordView&) { return Status(); }, nullptr);
  SISAL_CHECK(opened.ok());
  Log& log = **opened;
  const std::string method = log.Stats().write_method;
  std::printf("write method: %s; open of a new log %.1f ms\n", method.c_str(), Micros(io::Now() - open_begin) / 1e3);
  BareDevice device(directory + "/bare", method, payload.size() + 32);
  while (log.Stats().segments_ahead == 0) io::SleepFor(std::chrono::milliseconds(1));

  const size_t rounds = settings.quick ? 2 : 9;
  const int commits_per_round = settings.quick ? 100 : 1000;
  const Duration group_time = std::chrono::milliseconds(settings.quick ? 50 : 400);
  constexpr size_t kCounts[] = {1, 8, 16, 64};
  bench::Samples bare, lone, over, over_best, per_second[4], group[4];
  for (size_t round = 0; round < rounds; ++round) {
    bench::Samples bare_round, lone_round;
    for (int i = 0; i < commits_per_round; ++i) {  // one of each in turn: both see the same noise
      Instant start = io::Now();
      device.WriteOne();
      bare_round.Add(Micros(io::Now() - start));
      start = io::Now();
      SISAL_CHECK(CommitOne(log, payload).ok());
      lone_round.Add(Micros(io::Now() - start));
    }
    for (const double value : bare_round.values) bare.Add(value);
    for (const double value : lone_round.values) lone.Add(value);
    over.Add(lone_round.Quantile(0.5) - bare_round.Quantile(0.5));
    over_best.Add(lone_round.Quantile(0.1) - bare_round.Quantile(0.1));
    for (size_t i = 0; i < std::size(kCounts); ++i) {
      const GroupRun run = RunCommitters(runtime, log, kCounts[i], group_time, payload);
      per_second[i].Add(run.commits_per_second);
      group[i].Add(run.group_size);
    }
  }
  bare.Print("device: write of a block made durable", "us");
  lone.Print("one connection: commit", "us");
  over.Print("one connection over the device (target <= 10)", "us");
  over_best.Print("the same of each one's fastest tenth", "us");
  for (size_t i = 0; i < std::size(kCounts); ++i) {
    per_second[i].Print(std::to_string(kCounts[i]) + " committers", "commits/s");
    group[i].Print(std::to_string(kCounts[i]) + " committers: records per sync", "");
  }
  SISAL_CHECK(log.Close().ok());
}

void MeasureReplay(io::Runtime& runtime, const Settings& settings, const std::string& directory) {
  const std::string payload(settings.payload_bytes, 'x');
  const uint64_t bytes = (settings.quick ? 8 : 200) << 20;
  LogOptions options;
  options.write_method = settings.method;
  const Log::Visitor nothing = [](const RecordView&) { return Status(); };
  auto log = Log::Open(runtime, directory + "/replay", options, Lsn{}, nothing, nullptr);
  SISAL_CHECK(log.ok());
  const Lsn begin = (*log)->end();
  while ((*log)->end().value - begin.value < bytes) {
    auto credit = (*log)->Reserve(payload.size());
    SISAL_CHECK(credit.ok());
    const std::string_view pieces[] = {payload};
    (*log)->Append(std::move(*credit), RecordType::kCommit, pieces);
    io::YieldIfBudgetSpent();
  }
  SISAL_CHECK((*log)->WaitDurable((*log)->end()).ok());
  (*log)->Abandon();
  bench::Samples megabytes, records, whole_open;
  for (int round = 0; round < (settings.quick ? 1 : 5); ++round) {
    ReplayProgress progress;
    Instant last_record{}, first_record{};
    const Instant start = io::Now();
    uint64_t count = 0;
    log = Log::Open(
        runtime, directory + "/replay", options, Lsn{},
        [&](const RecordView&) {
          if (count++ == 0) first_record = io::Now();
          if (count % 1024 == 0) last_record = io::Now();
          return Status();
        },
        &progress);
    SISAL_CHECK(log.ok());
    const double seconds = Micros(last_record - first_record) / 1e6;
    megabytes.Add(static_cast<double>(progress.bytes_done) / 1e6 / seconds);
    records.Add(static_cast<double>(count) / 1e6 / seconds);
    whole_open.Add(Micros(io::Now() - start) / 1e3);
    (*log)->Abandon();
  }
  megabytes.Print("replay, one fiber, records checked only", "MB/s");
  records.Print("replay, one fiber, records checked only", "M records/s");
  whole_open.Print("open of this log after a crash", "ms");
}

Settings Parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const bool has_value = i + 1 < argc;
    if (flag == "--quick") {
      settings.quick = true;
    } else if (flag == "--dir" && has_value) {
      settings.parent = argv[++i];
    } else if (flag == "--loops" && has_value) {
      settings.loop_count = std::strtoul(argv[++i], nullptr, 10);
    } else if (flag == "--method" && has_value) {
      settings.method = static_cast<WriteMethod>(std::strtoul(argv[++i], nullptr, 10) % 4);
    } else if (flag == "--bytes" && has_value) {
      settings.payload_bytes = std::strtoul(argv[++i], nullptr, 10);
    } else {
      std::fprintf(stderr, "usage: wal_bench [--quick] [--dir DIR] [--loops N] [--method 0..3] [--bytes N]\n");
      std::exit(2);
    }
  }
  return settings;
}

int Run(int argc, char** argv) {
  const Settings settings = Parse(argc, argv);
  std::string directory = settings.parent + "/sisal-wal-bench-XXXXXX";
  SISAL_CHECK(::mkdtemp(directory.data()) != nullptr);
  auto runtime = io::Runtime::Start({.loop_count = settings.loop_count});
  SISAL_CHECK(runtime.ok());
  bench::PrintMachine("wal_bench", DeviceOf(directory) + "; " + std::to_string(settings.loop_count) + " loops, " +
                                       ((*runtime)->backend() == io::Backend::kIoUring ? "io_uring" : "thread pool") +
                                       ", records of " + std::to_string(settings.payload_bytes) +
                                       " bytes, segments of 64 MiB");
  (*runtime)->RunAndWait("bench", [&] {
    MeasureCommits(**runtime, settings, directory);
    MeasureReplay(**runtime, settings, directory);
  });
  std::filesystem::remove_all(directory);
  return 0;
}

}  // namespace
}  // namespace sisal::wal

int main(int argc, char** argv) { return sisal::wal::Run(argc, argv); }
