#include "sisal/config/settings.h"

namespace sisal::config {
namespace {

using S = Settings;
constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kBytesMax = uint64_t{1} << 50;  // more than a machine has; sums of them stay in range
constexpr uint64_t kHourMs = 3'600'000, kDayMs = 24 * kHourMs;
constexpr uint64_t kYearSeconds = 366 * 24 * 3600;
constexpr uint64_t kConnectionAgeMax = 2'000'000;  // seconds; gRPC counts milliseconds in an int

const SettingSpec kTable[] = {
    {"data_dir", &S::data_dir, "", "Directory of the store; made if it does not exist. Required.", ""},
    {"listen", &S::listen, "", "HOST:PORT for gRPC; port 0 picks a free one.", ""},
    {"http_listen", &S::http_listen, "",
     "HOST:PORT for /metrics, /livez, /readyz and /startupz; port 0 picks a free one; empty: none.", ""},
    {"ready_file", &S::ready_file, "",
     "File that gets the ready line (JSON: grpc, http, pid) once the server serves; empty: standard output.", ""},
    {"log_format", &S::log_format, "", "Form of the log on standard error.", "text|json"},
    {"log_level", &S::log_level, "", "Least severe messages that are logged.", "debug|info|warning|error"},
    {"loops", &S::loops, "count", "Engine threads; 0: one per processor.", "", 0, 1024},
    {"io_backend", &S::io_backend, "", "How files are read and written; auto: io_uring where the kernel allows it.",
     "auto|io_uring|thread_pool"},
    {"durability", &S::durability, "",
     "full: a commit is answered after the log is synced. normal: after it is written; a crash of the machine may lose "
     "100 ms.",
     "full|normal"},
    {"default_transaction_isolation", &S::default_transaction_isolation, "", "Isolation where a client names none.",
     "repeatable read|read committed|serializable"},
    {"wal_segment_bytes", &S::wal_segment_bytes, "bytes", "Size of a log file.", "", kMiB, 4096 * kMiB},
    {"wal_max_bytes", &S::wal_max_bytes, "bytes", "Cap on all log files together; 0: only the disk's.", "", 0,
     kBytesMax},
    {"statement_memory_bytes", &S::statement_memory_bytes, "bytes",
     "Memory for one statement's sorts, groups and hash tables.", "", kMiB, kBytesMax},
    {"transaction_bytes", &S::transaction_bytes, "bytes", "Size of one transaction's writes.", "", kMiB, kBytesMax},
    {"plan_cache_entries", &S::plan_cache_entries, "count", "Prepared statements kept.", "", 16, 10'000'000},
    {"idempotency_window_seconds", &S::idempotency_window_seconds, "seconds", "How long outcomes of keys are kept.", "",
     60, 10 * kYearSeconds},
    {"idempotency_bytes", &S::idempotency_bytes, "bytes", "Size of all kept outcomes.", "", kMiB, kBytesMax},
    {"transactions_count", &S::transactions_count, "count", "Open transactions with a handle.", "", 1, 1'000'000},
    {"calls_count", &S::calls_count, "count", "Calls that run or wait at one time.", "", 1, 1'000'000},
    {"idle_timeout_ms", &S::idle_timeout_ms, "ms", "Idle lease of a transaction whose client asks for none.", "", 1'000,
     600'000},
    {"transaction_lifetime_ms", &S::transaction_lifetime_ms, "ms",
     "Lifetime of a transaction whose client asks for none.", "", 1'000, kHourMs},
    {"blocking_timeout_ms", &S::blocking_timeout_ms, "ms",
     "How long an idle transaction may block others before it is rolled back.", "", 100, kHourMs},
    {"request_bytes", &S::request_bytes, "bytes", "Size of one request.", "", 64 << 10, 64 * kMiB},
    {"grpc_memory_bytes", &S::grpc_memory_bytes, "bytes", "Memory for requests and answers in flight.", "", 16 * kMiB,
     kBytesMax},
    {"reader_stall_ms", &S::reader_stall_ms, "ms", "How long an answer waits for a client that does not read.", "", 1'000,
     kDayMs},
    {"drain_ms", &S::drain_ms, "ms", "How long a stopping server lets running work finish.", "", 0, kDayMs},
    {"connection_age_seconds", &S::connection_age_seconds, "seconds",
     "Age at which a client connection is asked to reconnect.", "", 60, kConnectionAgeMax},
    {"reflection", &S::reflection, "", "Offer gRPC reflection, which grpcurl needs.", ""},
};

}  // namespace

std::span<const SettingSpec> SettingsTable() { return kTable; }

}  // namespace sisal::config
