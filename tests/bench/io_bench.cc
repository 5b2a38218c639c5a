// What waking, yielding and file calls cost. Samples are means of small batches, so that reading the clock does not
// count; "one way" is half a round trip.
//   io_bench [--quick] [--backend=io_uring|thread_pool] [--directory=DIR]
#include <stdlib.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "bench_support.h"
#include "sisal/io/epoch.h"
#include "sisal/io/file.h"
#include "sisal/io/latch.h"
#include "sisal/io/runtime.h"
#include "sisal/io/sync.h"
#include "sisal/io/time.h"

namespace sisal::io {
namespace {

using bench::Samples;

struct Settings {
  bool quick = false;
  Backend backend = Backend::kAuto;
  std::string directory = ".";
  int samples() const { return quick ? 20 : 400; }
};

double Nanoseconds(Duration duration) { return static_cast<double>(duration.count()); }

void RunOn(Runtime& runtime, size_t loop, const std::function<void()>& body) {
  runtime.RunAndWait("bench", [&] {
    Event done;
    runtime.loop(loop).Spawn({.name = "bench"}, [&] {
      body();
      done.Set();
    });
    done.Wait();
  });
}

// A flag with one waiter, as intent queues and group commit use WaitList.
class Baton {
 public:
  void Give() {
    latch_.lock();
    given_ = true;
    waiters_.WakeFirst();
    latch_.unlock();
  }
  void Take() {
    latch_.lock();
    while (!given_) {
      WaitList::Node node;
      waiters_.Add(node);
      latch_.unlock();
      static_cast<void>(node.Park());
      latch_.lock();
    }
    given_ = false;
    latch_.unlock();
  }

 private:
  SpinLatch latch_;
  WaitList waiters_;
  bool given_ = false;
};

void MeasureYield(Runtime& runtime, const Settings& settings) {
  constexpr int kBatch = 10'000;
  Samples samples;
  RunOn(runtime, 0, [&] {
    bool stop = false;
    Event ended;
    runtime.loop(0).Spawn({.name = "other"}, [&] {
      while (!stop) Yield();
      ended.Set();
    });
    for (int i = 0; i < settings.samples(); ++i) {
      const Instant begin = Now();
      for (int j = 0; j < kBatch / 2; ++j) Yield();  // each lets the other yield once
      samples.Add(Nanoseconds(Now() - begin) / kBatch);
    }
    stop = true;
    ended.Wait();
  });
  samples.Print("yield to another fiber", "ns");
}

// `batch` round trips per sample between loops `first` and `second`; a `pause` before each lets `second` fall asleep.
void MeasureWake(Runtime& runtime, const Settings& settings, std::string_view name, size_t first, size_t second,
                 int batch, Duration pause) {
  Samples samples;
  Baton there;
  Baton back;
  const int sample_count = settings.samples();
  runtime.loop(second).Spawn({.name = "echo"}, [&, rounds = sample_count * batch] {
    for (int i = 0; i < rounds; ++i) {
      there.Take();
      back.Give();
    }
  });
  RunOn(runtime, first, [&] {
    for (int i = 0; i < sample_count; ++i) {
      if (pause > Duration::zero()) SleepFor(pause);
      const Instant begin = Now();
      for (int j = 0; j < batch; ++j) {
        there.Give();
        back.Take();
      }
      samples.Add(Nanoseconds(Now() - begin) / batch / 2000);
    }
  });
  samples.Print(name, "us");
}

// `call` alone on one fiber: nobody else wants the latch or moves the epoch.
template <typename Call>
void MeasureUncontended(Runtime& runtime, const Settings& settings, std::string_view name, const Call& call) {
  constexpr int kBatch = 10'000;
  Samples samples;
  RunOn(runtime, 0, [&] {
    for (int i = 0; i < settings.samples(); ++i) {
      const Instant begin = Now();
      for (int j = 0; j < kBatch; ++j) {
        call();
        asm volatile("" ::: "memory");  // the compiler must not merge calls
      }
      samples.Add(Nanoseconds(Now() - begin) / kBatch);
    }
  });
  samples.Print(name, "ns");
}

void MeasureLatches(Runtime& runtime, const Settings& settings) {
  Latch latch;
  MeasureUncontended(runtime, settings, "latch: optimistic read + validate", [&] {
    const std::optional<LatchVersion> version = latch.TryRead();
    asm volatile("" ::: "memory");
    SISAL_CHECK(version && latch.Validate(*version));
  });
  MeasureUncontended(runtime, settings, "latch: shared lock + unlock", [&] {
    latch.LockShared();
    latch.UnlockShared();
  });
  MeasureUncontended(runtime, settings, "latch: exclusive lock + unlock", [&] {
    latch.LockExclusive();
    latch.UnlockExclusive();
  });
  Epoch epochs(8);
  MeasureUncontended(runtime, settings, "epoch: section", [&] { const EpochSection section(epochs, 0); });
  MeasureUncontended(runtime, settings, "epoch: bump of 8 idle slots", [&] { static_cast<void>(epochs.Bump()); });
}

void MeasureSpawn(Runtime& runtime, const Settings& settings) {
  constexpr int kBatch = 500;
  Samples samples;
  RunOn(runtime, 0, [&] {
    for (int i = 0; i < settings.samples(); ++i) {
      int left = kBatch;
      Event done;
      const Instant begin = Now();
      for (int j = 0; j < kBatch; ++j) {
        runtime.loop(0).Spawn({.name = "job"}, [&] {
          if (--left == 0) done.Set();
        });
      }
      done.Wait();
      samples.Add(Nanoseconds(Now() - begin) / kBatch);
    }
  });
  samples.Print("spawn and run on one loop", "ns");
}

void MeasurePlainThread(Runtime& runtime, const Settings& settings) {
  Samples run;
  for (int i = 0; i < settings.samples(); ++i) {
    const Instant begin = runtime.clock().Now();
    runtime.RunAndWait("job", [] {});
    run.Add(Nanoseconds(runtime.clock().Now() - begin) / 1000);
  }
  run.Print("plain thread: RunAndWait", "us");
  Samples attach;
  for (int i = 0; i < settings.samples(); ++i) {
    const Instant begin = runtime.clock().Now();
    { AttachedThread attached(runtime); }
    attach.Add(Nanoseconds(runtime.clock().Now() - begin) / 1000);
  }
  attach.Print("plain thread: attach and detach", "us");
}

void MeasureFile(Runtime& runtime, const Settings& settings, std::string_view name, const OpenOptions& options,
                 const std::function<Status(File&, std::span<char>, uint64_t)>& call) {
  constexpr uint64_t kBlocks = 256;
  Samples samples;
  RunOn(runtime, 0, [&] {
    FileSystem& files = runtime.file_system();
    const std::string path = settings.directory + "/sisal-io-bench-" + std::to_string(::getpid());
    const std::unique_ptr<char, decltype(&std::free)> block(static_cast<char*>(std::aligned_alloc(4096, 4096)),
                                                            &std::free);
    std::memset(block.get(), 'x', 4096);
    {
      std::unique_ptr<File> file = std::move(files.Open(path, {.write = true, .create = true})).value();
      for (uint64_t i = 0; i < kBlocks; ++i) SISAL_CHECK(file->WriteAt(i * 4096, {block.get(), 4096}).ok());
      SISAL_CHECK(file->Sync().ok());
    }
    {
      std::unique_ptr<File> file = std::move(files.Open(path, options)).value();
      for (int i = 0; i < settings.samples(); ++i) {
        const Instant begin = Now();
        const Status status = call(*file, {block.get(), 4096}, static_cast<uint64_t>(i) % kBlocks * 4096);
        samples.Add(Nanoseconds(Now() - begin) / 1000);
        SISAL_CHECK(status.ok());
      }
    }
    SISAL_CHECK(files.Remove(path).ok());
  });
  samples.Print(name, "us");
}

void MeasureFiles(Runtime& runtime, const Settings& settings) {
  const auto write = [](File& file, std::span<char> block, uint64_t offset) { return file.WriteAt(offset, block); };
  const auto write_and_sync = [](File& file, std::span<char> block, uint64_t offset) {
    Status written = file.WriteAt(offset, block);
    return written.ok() ? file.Sync() : written;
  };
  MeasureFile(runtime, settings, "4 KiB cached read", {},
              [](File& file, std::span<char> block, uint64_t offset) { return file.ReadAt(offset, block).status(); });
  MeasureFile(runtime, settings, "4 KiB buffered write", {.write = true}, write);
  MeasureFile(runtime, settings, "4 KiB buffered write + fdatasync", {.write = true}, write_and_sync);
  MeasureFile(runtime, settings, "4 KiB O_DIRECT write", {.write = true, .direct = true}, write);
  MeasureFile(runtime, settings, "4 KiB O_DIRECT write + fdatasync", {.write = true, .direct = true}, write_and_sync);
  MeasureFile(runtime, settings, "4 KiB O_DIRECT + O_DSYNC write", {.write = true, .direct = true, .data_sync = true},
              write);
}

int Main(const Settings& settings) {
  Result<std::unique_ptr<Runtime>> started = Runtime::Start({.loop_count = 2, .backend = settings.backend});
  if (!started.ok()) {
    std::fprintf(stderr, "%s\n", started.error().ToString().c_str());
    return 1;
  }
  Runtime& runtime = **started;
  bench::PrintMachine("io_bench", std::string("2 loops, backend ") +
                                      (runtime.backend() == Backend::kIoUring ? "io_uring" : "thread pool") +
                                      (settings.quick ? ", quick" : ""));
  MeasureLatches(runtime, settings);
  MeasureYield(runtime, settings);
  MeasureWake(runtime, settings, "park + wake on one loop, one way", 0, 0, 1000, Duration::zero());
  MeasureWake(runtime, settings, "cross-loop wake, one way, awake (goal 3 us)", 0, 1, 100, Duration::zero());
  MeasureWake(runtime, settings, "cross-loop wake, one way, asleep", 0, 1, 1, std::chrono::milliseconds(1));
  MeasureSpawn(runtime, settings);
  MeasurePlainThread(runtime, settings);
  MeasureFiles(runtime, settings);
  return 0;
}

}  // namespace
}  // namespace sisal::io

int main(int argc, char** argv) {
  sisal::io::Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--quick") {
      settings.quick = true;
    } else if (argument == "--backend=io_uring") {
      settings.backend = sisal::io::Backend::kIoUring;
    } else if (argument == "--backend=thread_pool") {
      settings.backend = sisal::io::Backend::kThreadPool;
    } else if (argument.starts_with("--directory=")) {
      settings.directory = argument.substr(12);
    } else {
      std::fprintf(stderr, "usage: io_bench [--quick] [--backend=io_uring|thread_pool] [--directory=DIR]\n");
      return 2;
    }
  }
  return sisal::io::Main(settings);
}
