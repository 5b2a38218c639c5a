#include "sisal/service/metrics.h"

#include <span>

#include "held_results.h"

namespace sisal::service {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

// Families in the making.
class Collector {
 public:
  MetricFamily& Family(std::string name, std::string help, MetricType type) {
    MetricFamily family;
    family.name = std::move(name), family.help = std::move(help), family.type = type;
    families_.push_back(std::move(family));
    return families_.back();
  }
  void Counter(std::string name, std::string help, uint64_t value) {
    AddCounter(Family(std::move(name), std::move(help), MetricType::Counter), {}, value);
  }
  void Gauge(std::string name, std::string help, double value, Labels labels = {}) {
    AddGauge(Family(std::move(name), std::move(help), MetricType::Gauge), std::move(labels), value);
  }
  static void AddCounter(MetricFamily& family, Labels labels, uint64_t value) {
    ClientMetric metric;
    metric.label = std::move(labels);
    metric.counter.value = static_cast<double>(value);
    family.metric.push_back(std::move(metric));
  }
  static void AddGauge(MetricFamily& family, Labels labels, double value) {
    ClientMetric metric;
    metric.label = std::move(labels);
    metric.gauge.value = value;
    family.metric.push_back(std::move(metric));
  }
  // pow2[i] counts values below 1 << i (or <= 1 << i); `scale` turns them into the metric's unit.
  static void AddHistogram(MetricFamily& family, Labels labels, std::span<const uint64_t> pow2, double sum,
                           double scale) {
    ClientMetric metric;
    metric.label = std::move(labels);
    uint64_t count = 0;
    for (size_t i = 0; i < pow2.size(); ++i) {
      count += pow2[i];
      const bool last = i + 1 == pow2.size();
      metric.histogram.bucket.push_back(
          {count, last ? std::numeric_limits<double>::infinity() : scale * static_cast<double>(uint64_t{1} << i)});
    }
    metric.histogram.sample_count = count;
    metric.histogram.sample_sum = sum;
    family.metric.push_back(std::move(metric));
  }
  std::vector<MetricFamily> Take() { return {families_.begin(), families_.end()}; }

 private:
  std::deque<MetricFamily> families_;  // references stay valid
};

constexpr double kMicrosecond = 1e-6;

void CollectProcess(ServerState& state, Collector& out) {
  const io::Runtime& runtime = state.runtime;
  out.Gauge("sisal_build_info", "Version of the server.", 1, {{"version", "0.1.0"}});
  out.Gauge("sisal_io_backend_info", "How files are read and written.", 1,
            {{"backend", runtime.backend() == io::Backend::kIoUring ? "io_uring" : "thread_pool"},
             {"note", runtime.backend_note()}});
  out.Gauge("sisal_start_time_seconds", "When the process started, in seconds since 1970.",
            static_cast<double>(state.start_wall_micros) * kMicrosecond);
  out.Gauge("sisal_server_stage", "1 starting, 2 replaying, 3 open, 4 draining.", static_cast<double>(state.stage()));
  out.Gauge("sisal_wal_replay_bytes", "Log bytes replayed by the last start.",
            static_cast<double>(state.replay.bytes_done.load()));
}

void CollectLoops(ServerState& state, Collector& out) {
  const std::vector<io::LoopStats> loops = state.runtime.Stats();
  const auto each = [&](std::string name, std::string help, MetricType type, auto read) {
    MetricFamily& family = out.Family("sisal_loop_" + name, std::move(help), type);
    for (size_t i = 0; i < loops.size(); ++i) {
      Labels labels = {{"loop", std::to_string(i)}};
      if (type == MetricType::Gauge) {
        Collector::AddGauge(family, std::move(labels), static_cast<double>(read(loops[i])));
      } else {
        Collector::AddCounter(family, std::move(labels), read(loops[i]));
      }
    }
  };
  using S = io::LoopStats;
  each("runnable_fibers", "Fibers that wait for their turn.", MetricType::Gauge,
       [](const S& s) { return s.runnable_fibers; });
  each("live_fibers", "Fibers that exist.", MetricType::Gauge, [](const S& s) { return s.live_fibers; });
  each("switches_total", "Fiber switches.", MetricType::Counter, [](const S& s) { return s.switches; });
  each("stalls_total", "Fibers that ran too long without a switch.", MetricType::Counter,
       [](const S& s) { return s.stalls; });
  each("cross_loop_wakes_total", "Wake-ups from other threads.", MetricType::Counter,
       [](const S& s) { return s.cross_loop_wakes; });
  each("sleeps_total", "Times the loop waited in the kernel.", MetricType::Counter,
       [](const S& s) { return s.sleeps; });
  each("reads_total", "File reads.", MetricType::Counter, [](const S& s) { return s.reads; });
  each("writes_total", "File writes.", MetricType::Counter, [](const S& s) { return s.writes; });
  each("syncs_total", "File syncs.", MetricType::Counter, [](const S& s) { return s.syncs; });
  MetricFamily& wakes =
      out.Family("sisal_loop_wake_latency_seconds",
                 "From another thread's wake to the fiber's run. The sum takes each at its bucket's upper bound.",
                 MetricType::Histogram);
  for (size_t i = 0; i < loops.size(); ++i) {
    const auto& pow2 = loops[i].wake_latency_us_pow2;
    double sum = 0;
    for (size_t b = 0; b < std::size(pow2); ++b) sum += static_cast<double>(pow2[b]) * static_cast<double>(1u << b);
    Collector::AddHistogram(wakes, {{"loop", std::to_string(i)}}, pow2, sum * kMicrosecond, kMicrosecond);
  }
}

void CollectRpcs(ServerState& state, Collector& out) {
  MetricFamily& calls =
      out.Family("sisal_rpc_calls_total", "Calls that ended, by gRPC status code.", MetricType::Counter);
  MetricFamily& flight = out.Family("sisal_rpc_in_flight", "Calls that run or wait.", MetricType::Gauge);
  MetricFamily& at_once =
      out.Family("sisal_rpc_at_once_total", "Calls answered where they arrived, without a fiber: point reads.",
                 MetricType::Counter);
  MetricFamily& latency =
      out.Family("sisal_rpc_latency_seconds", "From arrival to answer, in the server.", MetricType::Histogram);
  for (const RpcStats::Numbers& numbers : state.rpc_stats.Read()) {
    bool used = numbers.in_flight > 0;
    for (size_t code = 0; code < RpcStats::kCodes; ++code) {
      if (numbers.by_code[code] == 0) continue;
      used = true;
      Collector::AddCounter(calls, {{"method", numbers.method}, {"code", std::to_string(code)}}, numbers.by_code[code]);
    }
    if (!used) continue;
    Collector::AddCounter(at_once, {{"method", numbers.method}}, numbers.at_once);
    Collector::AddGauge(flight, {{"method", numbers.method}}, static_cast<double>(numbers.in_flight));
    Collector::AddHistogram(latency, {{"method", numbers.method}}, numbers.latency_us_pow2,
                            static_cast<double>(numbers.latency_us_sum) * kMicrosecond, kMicrosecond);
  }
}

void CollectLog(const wal::LogStats& log, Collector& out) {
  out.Counter("sisal_wal_appended_bytes_total", "Bytes of log records.", log.bytes_appended);
  out.Counter("sisal_wal_flushed_bytes_total", "Bytes handed to the kernel.", log.bytes_flushed);
  out.Counter("sisal_wal_syncs_total", "Syncs of the log.", log.syncs);
  out.Counter("sisal_wal_commits_synced_total", "Records made durable.", log.commits_synced);
  out.Gauge("sisal_wal_waiters", "Commits that wait for a sync.", static_cast<double>(log.waiters));
  out.Gauge("sisal_wal_segments_ahead", "Log files prepared and not yet written to.",
            static_cast<double>(log.segments_ahead));
  out.Gauge("sisal_wal_segments", "Log files.", static_cast<double>(log.segments_live));
  out.Gauge("sisal_wal_bytes", "Size of the log.", static_cast<double>(log.bytes_live));
  out.Gauge("sisal_wal_write_method_info", "How the log is written, as calibrated.", 1, {{"method", log.write_method}});
  Collector::AddHistogram(out.Family("sisal_wal_group_records", "Records that one sync covers.", MetricType::Histogram),
                          {}, log.group_size_pow2, static_cast<double>(log.group_size_sum), 1);
  Collector::AddHistogram(out.Family("sisal_wal_sync_seconds", "Duration of a sync.", MetricType::Histogram), {},
                          log.sync_latency_us_pow2, static_cast<double>(log.sync_latency_us_sum) * kMicrosecond,
                          kMicrosecond);
}

void CollectStore(Core& core, Collector& out) {
  const txn::StoreStats stats = core.database.store().Stats();
  out.Gauge("sisal_txn_active", "Open transactions of the store.", static_cast<double>(stats.transactions_active));
  out.Counter("sisal_txn_commits_total", "Commits.", stats.commits);
  out.Counter("sisal_txn_rollbacks_total", "Rollbacks.", stats.rollbacks);
  out.Counter("sisal_txn_conflicts_total", "Serialization failures (40001).", stats.conflicts);
  out.Counter("sisal_txn_serializable_failures_total",
              "Of these, transactions whose outcome may have been that of no serial order.",
              stats.serializable_failures);
  out.Gauge("sisal_txn_serializable_retained",
            "Committed serializable transactions that running ones are checked against.",
            static_cast<double>(stats.serializable_retained));
  out.Counter("sisal_txn_deadlocks_total", "Deadlocks (40P01).", stats.deadlocks);
  Collector::AddHistogram(
      out.Family("sisal_txn_lock_wait_seconds", "Waits for another transaction's rows.", MetricType::Histogram), {},
      stats.intent_wait_us_pow2, static_cast<double>(stats.intent_wait_us_sum) * kMicrosecond, kMicrosecond);
  out.Gauge("sisal_store_trees", "Tables and indexes.", static_cast<double>(stats.trees));
  out.Gauge("sisal_store_entries", "Rows and index entries.", static_cast<double>(stats.entries));
  out.Gauge("sisal_store_versions", "Versions of rows.", static_cast<double>(stats.versions));
  out.Gauge("sisal_store_bytes", "Memory of the store.", static_cast<double>(stats.bytes));
  out.Gauge("sisal_store_applied_position", "Commits up to here are visible.",
            static_cast<double>(stats.applied.value));
  out.Gauge("sisal_store_durable_position", "Commits up to here are on stable storage.",
            static_cast<double>(stats.durable.value));
  out.Gauge("sisal_store_oldest_snapshot_position", "Oldest snapshot in use.",
            static_cast<double>(stats.oldest_snapshot.value));
  out.Gauge("sisal_store_read_only", "1 after a failed log write: writes are refused until a restart.",
            core.database.store().read_only() ? 1 : 0);
}

void CollectTransactions(Core& core, Collector& out) {
  const TransactionTable::Counters& counters = core.transactions.counters();
  out.Gauge("sisal_txn_handles", "Open transactions with a handle.",
            static_cast<double>(core.transactions.open_count()));
  out.Gauge("sisal_rpc_held_results", "Results that wait to be continued.", static_cast<double>(core.held->count()));
  MetricFamily& expired =
      out.Family("sisal_txn_expired_total", "Transactions that the server rolled back.", MetricType::Counter);
  Collector::AddCounter(expired, {{"cause", "idle"}}, counters.idle_expired.load());
  Collector::AddCounter(expired, {{"cause", "lifetime"}}, counters.lifetime_expired.load());
  Collector::AddCounter(expired, {{"cause", "blocking"}}, counters.blocking_expired.load());
  Collector::AddCounter(expired, {{"cause", "killed"}}, counters.killed.load());
}

}  // namespace

std::vector<MetricFamily> CollectMetrics(ServerState& state) {
  Collector out;
  CollectProcess(state, out);
  CollectLoops(state, out);
  CollectRpcs(state, out);
  if (Core* core = state.core(); core != nullptr) {
    CollectStore(*core, out);
    CollectLog(core->database.store().log().Stats(), out);
    CollectTransactions(*core, out);
  }
  return out.Take();
}

}  // namespace sisal::service
