// What all calls share once the database is open. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <unordered_map>

#include "sisal/db/database.h"
#include "sisal/io/runtime.h"
#include "sisal/service/handle.h"
#include "sisal/service/transaction_table.h"

namespace sisal::service {

class HeldResults;

struct ServiceOptions {
  LeaseLimits leases;
  uint64_t request_bytes_max = 16 << 20;
  uint64_t calls_max = 20'000;
  Duration reader_stall = std::chrono::seconds(60);
  Duration idempotency_window = std::chrono::hours(24);
  uint64_t statement_memory_bytes = 256 << 20;
  uint64_t transaction_bytes = 1 << 30;
  std::string version = "0.1.0";
};

// Single-use calls with an idempotency key that run now, so that GetTransaction need not wait for them.
class RunningKeys {
 public:
  void Add(const std::string& key);
  void Remove(const std::string& key);
  bool Contains(const std::string& key) const;

 private:
  mutable io::SpinLatch latch_;
  std::unordered_map<std::string, int> counts_;
};

class Core {
 public:
  // Borrows all; `database` and `runtime` outlive it.
  Core(io::Runtime& runtime, db::Database& database, const Identity& identity, const ServiceOptions& options);
  ~Core();

  io::Runtime& runtime;
  db::Database& database;
  const Identity identity;
  const ServiceOptions options;
  const Clock& clock;
  const HandleCodec codec;
  TransactionTable transactions;
  std::unique_ptr<HeldResults> held;
  RunningKeys running_keys;
  std::atomic<bool> draining{false};  // no new transaction begins
  std::atomic<uint64_t> next_token{1};

  // The sweep of leases and held results, until StopSweeping. Spawns a fiber.
  void StartSweeping();
  void StopSweeping();  // Suspends.
  void DropHeldResults();

 private:
  io::CancelToken stop_;
  io::Event stopped_;
  bool sweeping_ = false;
};

}  // namespace sisal::service
