// Counters of calls, per method: since start, each right, together only near each other. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sisal/base/clock.h"
#include "sisal/wire/errors.h"

namespace sisal::service {

class RpcStats {
 public:
  static constexpr size_t kCodes = 17, kLatencyBuckets = 26;

  explicit RpcStats(std::vector<std::string> methods);

  void Started(size_t method) { At(method).started.fetch_add(1, std::memory_order_relaxed); }
  void Ended(size_t method, wire::Code code, Duration duration);
  // A call that was started, and ended with success, on the thread that received it.
  void AnsweredAtOnce(size_t method, Duration duration);

  struct Numbers {
    std::string method;  // "sisal.v1.SqlService/Execute"
    uint64_t in_flight = 0, at_once = 0;
    std::array<uint64_t, kCodes> by_code{};
    std::array<uint64_t, kLatencyBuckets> latency_us_pow2{};  // bucket i counts those below 1 us << i
    uint64_t latency_us_sum = 0;
  };
  std::vector<Numbers> Read() const;

 private:
  struct alignas(64) Counters {
    std::atomic<uint64_t> started{0}, ended{0}, at_once{0}, latency_us_sum{0};
    std::array<std::atomic<uint64_t>, kCodes> by_code{};
    std::array<std::atomic<uint64_t>, kLatencyBuckets> latency{};
  };
  Counters& At(size_t method) const { return counters_[method]; }

  const std::vector<std::string> methods_;
  const std::unique_ptr<Counters[]> counters_;
};

}  // namespace sisal::service
