#include "server.h"

#include <prometheus/text_serializer.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "logging.h"
#include "sisal/db/database.h"
#include "sisal/http/http_server.h"
#include "sisal/io/file.h"
#include "sisal/io/time.h"
#include "sisal/rpc/grpc_server.h"
#include "sisal/rpc/health.h"
#include "sisal/service/admin_service.h"
#include "sisal/service/metrics.h"
#include "sisal/service/sql_service.h"

namespace sisal::sisald {
namespace {

constexpr int kExitError = 1, kExitInUse = 3;
constexpr Duration kLook = std::chrono::milliseconds(5);        // between two looks at what must end
constexpr Duration kCallEnd = std::chrono::seconds(2);          // for a cancelled call to end, at most
constexpr Duration kFarewell = std::chrono::milliseconds(100);  // for clients to hear that their connection ends

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

// Wakes the main thread, which sleeps until there is a signal.
int WakeSignal() { return SIGRTMIN; }
void WakeMain() { kill(getpid(), WakeSignal()); }

// StopSignals and WakeSignal.
sigset_t AllSignals() {
  sigset_t signals = StopSignals();
  sigaddset(&signals, WakeSignal());
  return signals;
}

int ExitCodeOf(const Error& error) { return error.sqlstate() == "55006" ? kExitInUse : kExitError; }

int FailStart(const std::string& doing, const Error& error) {
  std::string text = "cannot " + doing + ": " + error.ToString();
  if (!error.hint().empty()) text += " Hint: " + error.hint();
  LogError(text);
  return ExitCodeOf(error);
}

db::DatabaseOptions DatabaseOptionsOf(const config::Settings& settings) {
  db::DatabaseOptions options;
  options.store.log.segment_bytes = settings.wal_segment_bytes;
  options.store.log.max_bytes = settings.wal_max_bytes;
  options.store.log.durability = settings.durability == "normal" ? wal::Durability::kNormal : wal::Durability::kFull;
  options.store.transaction_bytes_max = settings.transaction_bytes;
  options.statement_memory_bytes_max = settings.statement_memory_bytes;
  options.plan_cache_entries_max = settings.plan_cache_entries;
  options.default_isolation = settings.default_transaction_isolation == "read committed"
                                  ? txn::Isolation::kReadCommitted
                              : settings.default_transaction_isolation == "serializable" ? txn::Isolation::kSerializable
                                                                                         : txn::Isolation::kSnapshot;
  options.idempotency_window = std::chrono::seconds(settings.idempotency_window_seconds);
  options.idempotency_bytes_max = settings.idempotency_bytes;
  return options;
}

service::ServiceOptions ServiceOptionsOf(const config::Settings& settings) {
  service::ServiceOptions options;
  options.leases.idle = std::chrono::milliseconds(settings.idle_timeout_ms);
  options.leases.lifetime = std::chrono::milliseconds(settings.transaction_lifetime_ms);
  options.leases.blocking = std::chrono::milliseconds(settings.blocking_timeout_ms);
  options.leases.transactions_max = settings.transactions_count;
  options.request_bytes_max = settings.request_bytes;
  options.calls_max = settings.calls_count;
  options.reader_stall = std::chrono::milliseconds(settings.reader_stall_ms);
  options.idempotency_window = std::chrono::seconds(settings.idempotency_window_seconds);
  options.statement_memory_bytes = settings.statement_memory_bytes;
  options.transaction_bytes = settings.transaction_bytes;
  return options;
}

Result<rpc::GrpcOptions> GrpcOptionsOf(const config::Settings& settings) {
  SISAL_ASSIGN_OR_RETURN(const config::HostPort address, config::ParseHostPort(settings.listen));
  rpc::GrpcOptions options;
  options.host = address.host;
  options.port = address.port;
  options.request_bytes_max = settings.request_bytes;
  options.memory_bytes_max = settings.grpc_memory_bytes;
  options.calls_max = settings.calls_count;
  options.reader_stall = std::chrono::milliseconds(settings.reader_stall_ms);
  options.connection_age = std::chrono::seconds(settings.connection_age_seconds);
  options.connection_grace = std::chrono::milliseconds(settings.transaction_lifetime_ms);
  options.reflection = settings.reflection;
  return options;
}

std::map<std::string, http::Page> PagesOf(service::ServerState& state) {
  const auto text = [](bool good, const char* body) { return http::Answer{good ? 200 : 503, "text/plain", body}; };
  const auto words = [&state]() -> const char* {
    switch (state.stage()) {
      case service::Stage::kStarting:
        return "starting\n";
      case service::Stage::kReplaying:
        return "replaying\n";
      case service::Stage::kOpen:
        return "ok\n";
      case service::Stage::kDraining:
        return "draining\n";
    }
    return "";
  };
  return {
      {"/metrics",
       [&state] {
         return http::Answer{200, "text/plain; version=0.0.4; charset=utf-8",
                             prometheus::TextSerializer().Serialize(service::CollectMetrics(state))};
       }},
      {"/livez", [text, words] { return text(true, words()); }},
      // Up and at work, the log's replay included: an orchestrator must not kill a long recovery.
      {"/startupz", [&state, text, words] { return text(state.stage() != service::Stage::kStarting, words()); }},
      {"/readyz", [&state, text, words] { return text(state.stage() == service::Stage::kOpen, words()); }},
  };
}

// To standard output, or into a file that is there whole or not at all.
Status SayReady(const config::Settings& settings, const std::string& grpc, const std::string& http) {
  const std::string line = nlohmann::json{{"grpc", grpc}, {"http", http}, {"pid", getpid()}}.dump() + "\n";
  if (settings.ready_file.empty()) {
    std::fputs(line.c_str(), stdout);
    std::fflush(stdout);
    return Status();
  }
  const std::string temporary = settings.ready_file + ".new";
  std::ofstream file(temporary, std::ios::trunc);
  file << line << std::flush;
  if (!file.good() || std::rename(temporary.c_str(), settings.ready_file.c_str()) != 0) {
    return Error{"58030", "cannot write the ready file \"" + settings.ready_file + "\": " + std::strerror(errno)};
  }
  return Status();
}

// Everything between the start of the loops and their end.
class Server {
 public:
  Server(const config::Settings& settings, io::Runtime& runtime)
      : settings_(settings),
        runtime_(runtime),
        bindings_({{"sisal.v1.SqlService", &sql_},
                   {"sisal.v1.AdminService", &admin_},
                   {"sisal.v1.ChangeService", &change_},
                   {"grpc.health.v1.Health", &health_}}),
        stats_(rpc::MethodNames(bindings_)),
        state_(runtime, settings, stats_) {}

  int Run();

 private:
  Status StartHttp();
  Status StartGrpc();
  Status OpenDatabase();  // on a fiber
  Status MakeCore();      // on a plain thread
  void Serve();           // on a fiber
  // These three listen for signals. A replay ends early when one comes.
  Status OpenUnlessStopped();
  void WaitForStop();
  // Whether a signal has come after the one that began the stop. Does not wait.
  bool ToldAgain();
  int WaitForSignal();
  // Until `is_done`, a second signal, or `give_up`, which the signal brings to now. Suspends.
  void WaitUntilDone(Instant& give_up, const std::function<bool()>& is_done);
  void Drain();
  Status CloseDatabase();
  int RunDatabase();         // from the open store to its close
  int FailOpen(Status why);  // there is no core yet

  const config::Settings& settings_;
  io::Runtime& runtime_;
  service::SqlService sql_{state_};
  service::AdminService admin_{state_};
  service::UnsupportedService change_{"sisal.v1.ChangeService"};
  rpc::HealthService health_;
  std::vector<rpc::ServiceBinding> bindings_;
  service::RpcStats stats_;
  service::ServerState state_;
  std::string http_address_, grpc_address_;
  std::unique_ptr<http::HttpServer> http_;
  std::unique_ptr<rpc::GrpcServer> grpc_;
  std::unique_ptr<db::Database> database_;
  std::unique_ptr<service::Core> core_;
  int stop_signals_ = 0;  // a drain that was asked for over gRPC is none
};

Status Server::StartHttp() {
  if (settings_.http_listen.empty()) return Status();
  SISAL_ASSIGN_OR_RETURN(const config::HostPort address, config::ParseHostPort(settings_.http_listen));
  SISAL_ASSIGN_OR_RETURN(http_, http::HttpServer::Start(address.host, address.port, PagesOf(state_)));
  http_address_ = address.host + ":" + std::to_string(http_->port());
  return Status();
}

Status Server::StartGrpc() {
  SISAL_ASSIGN_OR_RETURN(const rpc::GrpcOptions options, GrpcOptionsOf(settings_));
  SISAL_ASSIGN_OR_RETURN(grpc_, rpc::GrpcServer::Start(runtime_, bindings_, stats_, options));
  grpc_address_ = options.host + ":" + std::to_string(grpc_->port());
  return Status();
}

namespace {

// A mistyped --data-dir must not fill somebody's folder with log files. What a file system's root may hold, and hidden
// files, are no obstacle.
Status CheckIsStoreOrEmpty(const std::string& directory) {
  std::error_code failed;  // of the listing: then opening the store says why
  std::string foreign;
  for (const auto& entry : std::filesystem::directory_iterator(directory, failed)) {
    const std::string name = entry.path().filename().string();
    if (name == "LOCK" || name == "sisald.identity" || name.starts_with("log-")) return Status();
    if (name != "lost+found" && !name.starts_with('.')) foreign = name;
  }
  if (foreign.empty()) return Status();
  return Error{"55000", "directory \"" + directory + "\" is not empty and holds no store"}
      .WithDetail("There is \"" + foreign + "\", for example.")
      .WithHint("Name another directory, or a new one, as --data-dir.");
}

}  // namespace

Status Server::OpenDatabase() {
  SISAL_RETURN_IF_ERROR(runtime_.file_system().CreateDirectory(settings_.data_dir));
  SISAL_RETURN_IF_ERROR(CheckIsStoreOrEmpty(settings_.data_dir));
  state_.replay_start_wall_micros = runtime_.clock().WallMicros();
  state_.SetStage(service::Stage::kReplaying);
  SISAL_ASSIGN_OR_RETURN(
      database_, db::Database::Open(runtime_, settings_.data_dir, DatabaseOptionsOf(settings_), &state_.replay));
  return Status();
}

// Blocks on small writes. Requires: the database is open.
Status Server::MakeCore() {
  SISAL_ASSIGN_OR_RETURN(const service::Identity identity, service::OpenIdentity(settings_.data_dir));
  core_ = std::make_unique<service::Core>(runtime_, *database_, identity, ServiceOptionsOf(settings_));
  return Status();
}

void Server::Serve() {
  core_->StartSweeping();
  state_.SetCore(core_.get());
  state_.SetStage(service::Stage::kOpen);
  health_.SetServing(true);
  const uint64_t records = state_.replay.records.load();
  const char* start = !database_->clean_start() ? "recovered" : records > 0 ? "the last shutdown was in order" : "new";
  LogInfo("store \"" + settings_.data_dir + "\" is open: " + start + ", " + std::to_string(records) +
          " log records replayed, server id " + core_->identity.ServerIdText());
}

int Server::WaitForSignal() {
  const sigset_t signals = AllSignals();
  int number;
  while ((number = sigwaitinfo(&signals, nullptr)) < 0) {
  }
  if (number != WakeSignal()) ++stop_signals_;
  return number;
}

bool Server::ToldAgain() {
  const sigset_t signals = StopSignals();
  const timespec at_once = {};
  while (sigtimedwait(&signals, nullptr, &at_once) > 0) ++stop_signals_;
  return stop_signals_ > 1;
}

Status Server::OpenUnlessStopped() {
  Status opened;
  io::Event done;
  runtime_.Spawn({.name = "open"}, [&] {
    opened = OpenDatabase();
    WakeMain();
    done.Set();
  });
  for (int number; (number = WaitForSignal()) != WakeSignal();) {
    LogInfo(std::string("stopping before the store is open: ") + strsignal(number));
    state_.replay.stop = true;
  }
  runtime_.RunAndWait("opened", [&] { done.Wait(); });
  return opened;
}

// Until a signal comes or AdminService.Drain asks.
void Server::WaitForStop() {
  io::CancelToken stop_waiting;
  io::Event waiter_done;
  runtime_.Spawn({.name = "drain request"}, [&] {
    if (state_.drain_requested().WaitUntil({Instant::Max(), &stop_waiting}) == io::WaitResult::kWoken) WakeMain();
    waiter_done.Set();
  });
  const int number = WaitForSignal();
  LogInfo(std::string("stopping: ") + (number == WakeSignal() ? "AdminService.Drain" : strsignal(number)));
  stop_waiting.Cancel(Error{"57P01", "the server stops"});
  runtime_.RunAndWait("drain request end", [&] { waiter_done.Wait(); });
}

void Server::WaitUntilDone(Instant& give_up, const std::function<bool()>& is_done) {
  while (!is_done() && io::Now() < give_up) {
    if (ToldAgain()) {
      LogInfo("stopping at once: a second signal");
      give_up = io::Now();
      return;
    }
    io::SleepFor(kLook);
  }
}

void Server::Drain() {
  state_.SetStage(service::Stage::kDraining);
  const Error cause{"57P01", "terminating connection due to administrator command"};
  Instant give_up = runtime_.clock().Now() + std::chrono::milliseconds(settings_.drain_ms);
  runtime_.RunAndWait("drain", [&] {
    health_.SetServing(false);
    core_->draining = true;
    core_->DropHeldResults();
    // Clients finish their open transactions, but for those that cannot commit; new ones are refused from now on.
    WaitUntilDone(give_up, [&] {
      core_->transactions.RollbackFailed(cause);
      return core_->transactions.open_count() == 0;
    });
    while (!core_->transactions.RollbackAll(cause)) io::SleepFor(kLook);
    health_.Stop();
    // Then the calls that stand for themselves. What is left hears why it ends.
    WaitUntilDone(give_up, [&] { return grpc_->is_idle(); });
    grpc_->CancelCalls(cause);
    for (const Instant end = io::Now() + kCallEnd; !grpc_->is_idle() && io::Now() < end;) io::SleepFor(kLook);
  });
  // Connections are told to end and asked to confirm that. gRPC's own clients see it within 5 s if no call of theirs
  // runs; as none runs there is nothing that could be lost by not waiting for them.
  grpc_->Shutdown(kFarewell);
}

Status Server::CloseDatabase() {
  Status closed;
  http_.reset();  // its pages read the core
  runtime_.RunAndWait("close", [&] {
    core_->StopSweeping();
    core_->transactions.RollbackAll(Error{"57P01", "the server stops"});
    core_->DropHeldResults();
    state_.SetCore(nullptr);
    closed = database_->Close();
  });
  core_.reset();
  runtime_.RunAndWait("destroy", [&] { database_.reset(); });
  return closed;
}

int Server::Run() {
  LogInfo(std::string("sisald 0.1.0, ") + std::to_string(runtime_.loop_count()) + " loops, io backend " +
          (runtime_.backend() == io::Backend::kIoUring ? "io_uring" : "thread_pool") +
          (runtime_.backend_note().empty() ? "" : " (" + runtime_.backend_note() + ")"));
  if (Status http = StartHttp(); !http.ok()) return FailStart("start HTTP", http.error());
  if (Status grpc = StartGrpc(); !grpc.ok()) return FailStart("start gRPC", grpc.error());
  Status opened = OpenUnlessStopped();
  if (opened.ok() && stop_signals_ == 0) opened = MakeCore();
  return opened.ok() && stop_signals_ == 0 ? RunDatabase() : FailOpen(std::move(opened));
}

int Server::RunDatabase() {
  runtime_.RunAndWait("serve", [&] { Serve(); });
  const Status ready = SayReady(settings_, grpc_address_, http_address_);
  if (ready.ok()) {
    LogInfo("serving: gRPC on " + grpc_address_ + (http_ ? ", HTTP on " + http_address_ : ""));
    WaitForStop();
  }
  Drain();
  const Status closed = CloseDatabase();
  if (!closed.ok()) return FailStart("close the store", closed.error());
  if (!ready.ok()) return FailStart("say that the server is ready", ready.error());
  LogInfo("stopped");
  return 0;
}

int Server::FailOpen(Status why) {
  runtime_.RunAndWait("stop watches", [&] { health_.Stop(); });
  grpc_->Shutdown(Duration(0));
  http_.reset();
  runtime_.RunAndWait("close", [&] {
    if (database_ != nullptr) database_->Close().ok();
    database_.reset();
  });
  if (stop_signals_ == 0 || (!why.ok() && why.sqlstate() != "57P01")) {
    return FailStart("open the store \"" + settings_.data_dir + "\"", why.error());
  }
  LogInfo("stopped");
  return 0;
}

io::RuntimeOptions RuntimeOptionsOf(const config::Settings& settings) {
  io::RuntimeOptions options;
  options.loop_count = settings.loops;
  if (settings.io_backend == "io_uring") options.backend = io::Backend::kIoUring;
  if (settings.io_backend == "thread_pool") options.backend = io::Backend::kThreadPool;
  return options;
}

}  // namespace

void BlockSignals() {
  const sigset_t signals = AllSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGXFSZ, SIG_IGN);  // a write past the file size limit then fails with EFBIG: 53100
  signal(SIGPIPE, SIG_IGN);
}

int RunServer(const config::Settings& settings) {
  StartLogging(settings);
  Result<std::unique_ptr<io::Runtime>> runtime = io::Runtime::Start(RuntimeOptionsOf(settings));
  if (!runtime.ok()) return FailStart("start the engine's loops", runtime.error());
  return Server(settings, **runtime).Run();
}

}  // namespace sisal::sisald
