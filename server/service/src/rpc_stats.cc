#include "sisal/service/rpc_stats.h"

#include <algorithm>
#include <bit>

namespace sisal::service {

RpcStats::RpcStats(std::vector<std::string> methods)
    : methods_(std::move(methods)), counters_(std::make_unique<Counters[]>(methods_.size())) {}

void RpcStats::Ended(size_t method, wire::Code code, Duration duration) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  Counters& counters = At(method);
  const uint64_t us = static_cast<uint64_t>(std::max<int64_t>(duration.count(), 0)) / 1000;
  counters.by_code[static_cast<size_t>(code)].fetch_add(1, kRelaxed);
  counters.latency[std::min<size_t>(std::bit_width(us), kLatencyBuckets - 1)].fetch_add(1, kRelaxed);
  counters.latency_us_sum.fetch_add(us, kRelaxed);
  counters.ended.fetch_add(1, kRelaxed);
}

void RpcStats::AnsweredAtOnce(size_t method, Duration duration) {
  Started(method);
  At(method).at_once.fetch_add(1, std::memory_order_relaxed);
  Ended(method, wire::Code::kOk, duration);
}

std::vector<RpcStats::Numbers> RpcStats::Read() const {
  std::vector<Numbers> all(methods_.size());
  for (size_t i = 0; i < methods_.size(); ++i) {
    Numbers& numbers = all[i];
    const Counters& counters = counters_[i];
    numbers.method = methods_[i];
    const uint64_t ended = counters.ended.load();  // before `started`, so that the difference is not negative
    numbers.at_once = counters.at_once.load();
    numbers.in_flight = counters.started.load() - ended;
    for (size_t code = 0; code < kCodes; ++code) numbers.by_code[code] = counters.by_code[code].load();
    for (size_t b = 0; b < kLatencyBuckets; ++b) numbers.latency_us_pow2[b] = counters.latency[b].load();
    numbers.latency_us_sum = counters.latency_us_sum.load();
  }
  return all;
}

}  // namespace sisal::service
