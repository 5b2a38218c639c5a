// What the whole process agrees on: how far the start has come, and the core once the database is open. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "sisal/config/settings.h"
#include "sisal/service/core.h"
#include "sisal/service/rpc_stats.h"
#include "sisal/wal/log.h"

namespace sisal::service {

//   starting --Open begins--> replaying --Publish--> open --BeginDrain--> draining
enum class Stage { kStarting = 1, kReplaying = 2, kOpen = 3, kDraining = 4 };  // numbers of sisal.v1.ServerState

class ServerState {
 public:
  ServerState(io::Runtime& io_runtime, const config::Settings& server_settings, RpcStats& stats)
      : runtime(io_runtime),
        settings(server_settings),
        rpc_stats(stats),
        start_wall_micros(io_runtime.clock().WallMicros()) {}

  Stage stage() const { return stage_.load(std::memory_order_acquire); }
  void SetStage(Stage stage) { stage_.store(stage, std::memory_order_release); }
  // nullptr until the database is open and after it is closed. Valid while a call is in flight.
  Core* core() const { return core_.load(std::memory_order_acquire); }
  void SetCore(Core* core) { core_.store(core, std::memory_order_release); }
  void RequestDrain() { drain_requested_.Set(); }
  io::Event& drain_requested() { return drain_requested_; }

  io::Runtime& runtime;
  const config::Settings& settings;
  RpcStats& rpc_stats;
  const int64_t start_wall_micros;
  wal::ReplayProgress replay;
  std::atomic<int64_t> replay_start_wall_micros{0};

 private:
  std::atomic<Stage> stage_{Stage::kStarting};
  std::atomic<Core*> core_{nullptr};
  io::Event drain_requested_;
};

}  // namespace sisal::service
