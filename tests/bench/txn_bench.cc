// What transactions cost: point reads, scans, commits at 1 and 16 committers, a large commit, and replay at a start, on
// one loop and on one per processor.
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
#include <thread>

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
  void Open() { store_ = Must(Store::Open(runtime_, directory_, {}, nullptr)); }
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

  // Writes rows over, in random order and few at a time: so most logs look.
  void Overwrite() {
    const std::string value(kValueBytes, 'o');
    Random random(2);
    for (uint64_t done = 0; done < settings_.rows / 2;) {
      const auto transaction = store_->Begin({});
      for (int i = 0; i < 8; ++i, ++done) Write(*transaction, Key(random.Below(settings_.rows)), value);
      CommitOptions options;
      options.durability = wal::Durability::kNormal;
      Must(transaction->Commit(options));
    }
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

// Opens the store as after a crash, some times. Takes turns: a noisy machine is noisy for each number of loops.
void MeasureReplay(const Settings& settings, const std::string& directory) {
  const size_t loop_counts[] = {1, std::max<size_t>(2, std::thread::hardware_concurrency())};
  bench::Samples rows[2], megabytes[2];
  for (int round = 0; round < (settings.quick ? 1 : 5); ++round) {
    for (int i = 0; i < 2; ++i) {
      const std::unique_ptr<io::Runtime> runtime = Must(io::Runtime::Start({.loop_count = loop_counts[i]}));
      runtime->RunAndWait("replay", [&] {
        wal::ReplayProgress progress;
        const Instant start = runtime->clock().Now();
        const std::unique_ptr<Store> store = Must(Store::Open(*runtime, directory, {}, &progress));
        const double seconds = static_cast<double>((runtime->clock().Now() - start).count()) / 1e9;
        // Half the rows again were written over.
        rows[i].Add(static_cast<double>(settings.rows + settings.rows / 2) / seconds / 1e6);
        megabytes[i].Add(static_cast<double>(progress.bytes_done) / seconds / 1e6);
        store->Abandon();
      });
    }
  }
  for (int i = 0; i < 2; ++i) {
    const std::string name = "open with replay, " + std::to_string(loop_counts[i]) + (i == 0 ? " loop" : " loops");
    rows[i].Print(name, "M rows/s");
    megabytes[i].Print(name, "MB/s");
  }
}

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
      bench.Overwrite();
      bench.Close();
    });
  }
  MeasureReplay(settings, directory);
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
