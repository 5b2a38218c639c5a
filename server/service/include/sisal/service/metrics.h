// The server's numbers as Prometheus families: read from the engine's counters at each scrape, nothing is kept.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "sisal/service/server_state.h"

namespace sisal::service {

// Callable from any thread.
std::vector<prometheus::MetricFamily> CollectMetrics(ServerState& state);

}  // namespace sisal::service
