// Loops: one per core = one thread + one ring + a fiber scheduler of ours. Fibers are pinned to the loop that they
// were spawned on; a fiber that waits parks, its thread goes on.
//
// Concurrency: thread-safe. Lifetime: the Runtime outlives everything that was spawned on it, and every thread that wakes
// its fibers: a Set or Notify must have returned before the Runtime's destructor begins.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sisal/base/clock.h"
#include "sisal/base/status.h"

namespace sisal::io {

class FileSystem;
class Loop;
class SimulationCore;
struct RuntimeCore;

enum class Backend {
  kAuto,     // io_uring, or the thread pool where the kernel or the container refuses it
  kIoUring,  // an error where refused
  kThreadPool,
};

struct RuntimeOptions {
  size_t loop_count = 0;  // 0: one per processor
  Backend backend = Backend::kAuto;
  size_t stack_bytes = 256 << 10;                            // of each fiber; sanitizer builds use at least 1 MiB
  const Clock* clock = nullptr;                              // nullptr: SystemClock()
  Duration stall_threshold = std::chrono::milliseconds(10);  // a fiber that runs longer is logged and counted
};

enum class Priority { kNormal, kBackground };

struct SpawnOptions {
  std::string_view name = "fiber";  // for stall reports; copied
  Priority priority = Priority::kNormal;
};

// Since start. Read without stopping the loop: each number is right, together they are only near each other.
struct LoopStats {
  uint64_t runnable_fibers = 0;
  uint64_t live_fibers = 0;
  uint64_t switches = 0;
  uint64_t stalls = 0;            // fibers that ran longer than the threshold
  uint64_t cross_loop_wakes = 0;  // arrived from other threads
  uint64_t sleeps = 0;            // times the loop went to the kernel to wait
  uint64_t reads = 0, writes = 0, syncs = 0;
  // Wake latency: from the waker's push to the fiber's run, cross-loop only; bucket i counts those below 1 us << i.
  uint64_t wake_latency_us_pow2[20] = {};
};

class Runtime {
 public:
  // Errors: 58000 if a loop cannot start (limits), or if kIoUring is refused.
  static Result<std::unique_ptr<Runtime>> Start(const RuntimeOptions& options);
  // Waits until every spawned fiber has ended, then stops the loops. Not to be called on a fiber.
  ~Runtime();

  size_t loop_count() const;
  Loop& loop(size_t index);
  // kIoUring or kThreadPool: what Start chose.
  Backend backend() const;
  // Why kAuto fell back to the thread pool; empty if it did not.
  const std::string& backend_note() const;
  FileSystem& file_system();
  const Clock& clock() const;
  std::vector<LoopStats> Stats() const;

  // Runs `body` on a new fiber of the least loaded loop. Callable from any thread, also from fibers. An exception that
  // leaves `body` ends the process.
  void Spawn(SpawnOptions options, std::function<void()> body);
  // Spawns and blocks the calling plain thread until `body` has returned. Not to be called on a fiber.
  void RunAndWait(std::string_view name, std::function<void()> body);

 private:
  struct Impl;
  explicit Runtime(std::unique_ptr<Impl> impl);
  // See simulation.h.
  static std::unique_ptr<Runtime> Simulate(const RuntimeOptions& options, SimulationCore& simulation,
                                           RuntimeCore** core);
  std::unique_ptr<Impl> impl_;
  friend class AttachedThread;
  friend class SimulationCore;
};

class Loop {
 public:
  virtual ~Loop() = default;
  // Callable from any thread.
  virtual void Spawn(SpawnOptions options, std::function<void()> body) = 0;
  virtual size_t index() const = 0;
};

// The loop of the calling fiber; nullptr on a plain thread that is not attached.
Loop* CurrentLoop();
bool OnFiber();
// The calling fiber's name, for reports.
std::string_view CurrentFiberName();

// Lets other ready fibers of this loop run. Suspends.
void Yield();
// For long computations: yields if the calling fiber has run for more than 0.5 ms. About 10 ns otherwise. May suspend.
void YieldIfBudgetSpent();

// A plain thread becomes a loop of its own while this lives: its main context may then call whatever suspends.
// About 25 us to attach and detach. Cost of nothing else: the thread runs the engine in place.
class AttachedThread {
 public:
  explicit AttachedThread(Runtime& runtime);
  ~AttachedThread();
  AttachedThread(const AttachedThread&) = delete;
  AttachedThread& operator=(const AttachedThread&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sisal::io
