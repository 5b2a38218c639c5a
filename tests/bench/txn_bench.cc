// What transactions cost: point reads, scans, commits at 1 and 16 committers, a large commit, and replay at a start.
//   txn_bench [--quick] [--rows=N] [--directory=DIR]
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "bench_support.h"
#include "sisal/base/random.h"
#include "sisal/io/runtime.h"
#include "sisal/io/sync.h"
#include "sisal/txn/store.h"

namespace sisal::txn {
namespace {

constexpr TreeId kTree{100};
constexpr size_t kValueBytes = 100;

struct Settings {
  bool quick = false;
  uint64_t rows = 2'000'000;
  std::string directory = ".";
};

std::string Key(uint64_t number) {
  const uint64_t big_endian = __builtin_bswap64(number);
  return std::string("\x01") + std::string(reinterpret_cast<const char*>(&big_endian), sizeof(big_endian));
}

template <typename T>
T Must(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.error().ToString().c_str());
    std::exit(1);
  }
  return std::move(result).value();
}
void Must(const Status& status) { Must(status.ok() ? Result<bool>(true) : Result<bool>(status)); }

class Bench {
 public:
  Bench(io::Runtime& runtime, const Settings& settings, std::string directory)
      : runtime_(runtime), settings_(settings), directory_(std::move(directory)) {}

  // All of these suspend.
  void Open() {
    wal::ReplayProgress progress;
    const Instant start = runtime_.clock().Now();
    store_ = Must(Store::Open(runtime_, directory_, {}, &progress));
    const double seconds = Seconds(runtime_.clock().Now() - start);
    const StoreStats stats = store_->Stats();
    if (stats.entries == 0) return;
    std::printf("%-44s %.2f s, %.0f rows/s, %.0f MB/s\n", "open with replay", seconds,
                static_cast<double>(stats.entries) / seconds, static_cast<double>(progress.bytes_done) / seconds / 1e6);
  }
  void Close() {
    Must(store_->Close());
    store_.reset();
  }

  void Load() {
    const std::string value(kValueBytes, 'v');
    const uint64_t per_commit = std::min<uint64_t>(settings_.rows, 100'000);
    bench::Samples commit;
    const Instant start = runtime_.clock().Now();
    for (uint64_t next = 0; next < settings_.rows;) {
      const auto transaction = store_->Begin({});
      for (uint64_t i = 0; i < per_commit; ++i) Write(*transaction, Key(next++), value);
      const Instant before = runtime_.clock().Now();
      Must(transaction->Commit({}));
      commit.Add(Seconds(runtime_.clock().Now() - before) * 1e6 / static_cast<double>(per_commit));
    }
    std::printf("%-44s %.0f rows/s\n", "load",
                static_cast<double>(settings_.rows) / Seconds(runtime_.clock().Now() - start));
    commit.Print("of it commit (log, sync, apply), per row", "us");
  }

  void PointReads() {
    constexpr int kReads = 1000;
    Random random(1);
    bench::Samples alone, inside;
    for (int sample = 0; sample < Samples(); ++sample) {
      Arena arena;
      const Instant start = runtime_.clock().Now();
      const auto transaction = store_->Begin({.read_only = true});
      Must(transaction->TakeSnapshot());
      for (int i = 0; i < kReads; ++i) {
        arena.Reset();
        Must(transaction->Get(kTree, Key(random.Below(settings_.rows)), arena));
      }
      inside.Add(Seconds(runtime_.clock().Now() - start) * 1e6 / kReads);
    }
    for (int sample = 0; sample < Samples(); ++sample) {
      const Instant start = runtime_.clock().Now();
      for (int i = 0; i < kReads; ++i) {
        Arena arena;
        const auto transaction = store_->Begin({.read_only = true});
        Must(transaction->TakeSnapshot());
        Must(transaction->Get(kTree, Key(random.Below(settings_.rows)), arena));
        Must(transaction->Commit({}));
      }
      alone.Add(Seconds(runtime_.clock().Now() - start) * 1e6 / kReads);
    }
    inside.Print("point read inside a transaction", "us");
    alone.Print("point read as a transaction", "us");
  }

  void Scan() {
    bench::Samples per_row;
    for (int sample = 0; sample < 5; ++sample) {
      const auto transaction = store_->Begin({.read_only = true});
      Must(transaction->TakeSnapshot());
      const auto cursor = transaction->Scan(kTree, {}, Direction::kForward);
      EntryBatch batch;
      uint64_t rows = 0;
      const Instant start = runtime_.clock().Now();
      while (Must(cursor->Next(2048, batch)), !batch.keys.empty()) rows += batch.keys.size();
      per_row.Add(Seconds(runtime_.clock().Now() - start) * 1e9 / static_cast<double>(rows));
    }
    per_row.Print("full scan, per row", "ns");
  }

  void Commits(int committers) {
    std::atomic<int> running{committers};
    io::Event done;
    bench::Samples latency;
    io::SpinLatch latch;  // guards latency
    const Instant start = runtime_.clock().Now();
    for (int fiber = 0; fiber < committers; ++fiber) {
      runtime_.loop(static_cast<size_t>(fiber) % runtime_.loop_count()).Spawn({}, [&, fiber] {
        for (int i = 0; i < Samples(); ++i) {
          const auto transaction = store_->Begin({});
          Write(*transaction, Key(static_cast<uint64_t>(fiber)), std::string(kValueBytes, 'w'));
          const Instant before = runtime_.clock().Now();
          Must(transaction->Commit({}));
          const double us = Seconds(runtime_.clock().Now() - before) * 1e6;
          latch.lock();
          latency.Add(us);
          latch.unlock();
        }
        if (--running == 0) done.Set();
      });
    }
    done.Wait();
    const double seconds = Seconds(runtime_.clock().Now() - start);
    latency.Print("durable commit, " + std::to_string(committers) + " committers", "us");
    std::printf("%-44s %.0f/s\n", "", committers * Samples() / seconds);
  }

 private:
  static double Seconds(Duration duration) { return static_cast<double>(duration.count()) / 1e9; }
  int Samples() const { return settings_.quick ? 50 : 1000; }
  static void Write(Transaction& transaction, const std::string& key, const std::string& value) {
    Must(transaction.Lock(kTree, key, LockMode::kExclusive, LockWait::kWait, Conflict::kIgnore));
    Must(transaction.Put(kTree, key, value));
  }

  io::Runtime& runtime_;
  const Settings settings_;
  const std::string directory_;
  std::unique_ptr<Store> store_;
};

int Main(const Settings& settings) {
  std::string directory = settings.directory + "/txn_bench_XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) {
    std::perror(directory.c_str());
    return 1;
  }
  {
    const std::unique_ptr<io::Runtime> runtime = Must(io::Runtime::Start({.loop_count = 2}));
    bench::PrintMachine("txn_bench", std::to_string(settings.rows) + " rows of 9 + 100 bytes");
    Bench bench(*runtime, settings, directory);
    runtime->RunAndWait("bench", [&] {
      bench.Open();
      bench.Load();
      bench.PointReads();
      bench.Scan();
      bench.Commits(1);
      bench.Commits(16);
      bench.Close();
      bench.Open();
      bench.Close();
    });
  }
  std::filesystem::remove_all(directory);
  return 0;
}

}  // namespace
}  // namespace sisal::txn

int main(int argc, char** argv) {
  sisal::txn::Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--quick") {
      settings.quick = true;
      settings.rows = 20'000;
    } else if (argument.starts_with("--rows=")) {
      settings.rows = std::strtoull(argv[i] + 7, nullptr, 10);
    } else if (argument.starts_with("--directory=")) {
      settings.directory = argument.substr(12);
    } else {
      std::fprintf(stderr, "usage: txn_bench [--quick] [--rows=N] [--directory=DIR]\n");
      return 2;
    }
  }
  return sisal::txn::Main(settings);
}
