// What the loops of one Runtime share.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "blocking_pool.h"
#include "lock_registry.h"
#include "loop.h"
#include "sisal/io/file.h"
#include "sisal/io/runtime.h"

namespace sisal::io {

class SimulationCore;

struct RuntimeCore {
  // `simulator`: nullptr in production.
  RuntimeCore(const RuntimeOptions& chosen_options, Backend chosen_backend, std::string note,
              SimulationCore* simulator = nullptr);

  void FiberStarted() { live_fibers.fetch_add(1, std::memory_order_relaxed); }
  void FiberEnded();
  LoopImpl& LeastLoaded();

  const RuntimeOptions options;
  const Clock& clock;
  const Backend backend;
  const std::string backend_note;
  SimulationCore* const simulation;

  std::atomic<uint64_t> live_fibers{0};
  std::mutex mutex;  // guards idle_attached and attached; and the wait for live_fibers to reach 0
  std::condition_variable all_ended;
  std::vector<std::unique_ptr<LoopImpl>> attached;  // all there ever were: wakers may still look at one
  std::vector<LoopImpl*> idle_attached;             // those that no thread uses

  LockRegistry lock_registry;
  std::unique_ptr<FileSystem> file_system;
  std::vector<std::unique_ptr<LoopImpl>> loops;
  std::vector<std::thread> threads;
  BlockingPool pool;  // last, so that it joins its threads first: they wake loops
};

}  // namespace sisal::io
