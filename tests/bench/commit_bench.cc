// Durable single-row commits per second at 1, 8, 16 and 64 committers: Sisal in process, SQLite (WAL, synchronous=FULL,
// a thread and a connection for each committer) and PostgreSQL (a private cluster, default settings, pgbench) on one
// disk. The systems take turns in each round, so that a noisy machine is noisy for all of them.
//
// One commit is UPDATE account SET balance = balance + 1 WHERE id = $1, each committer on its own row. At the end the
// sum of all balances must be the number of commits that were counted.
//
//   commit_bench [--quick] [--dir DIR] [--rounds N] [--seconds N] [--loops N]
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(SISAL_BENCH_SQLITE)
#include <sqlite3.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench_support.h"
#include "sisal/base/check.h"
#include "sisal/db/database.h"
#include "sisal/io/sync.h"
#include "sisal/io/time.h"
#include "sisal/type/datum.h"

namespace sisal::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array<int, 4> kCounts = {1, 8, 16, 64};
constexpr int kRowCount = 64;
constexpr char kUpdate[] = "UPDATE account SET balance = balance + 1 WHERE id = ";

struct Settings {
  bool quick = false;
  std::string parent = "/var/tmp";
  int rounds = 5;
  int seconds = 2;  // of one measurement; pgbench counts in whole ones
  size_t loop_count = std::thread::hardware_concurrency();
};

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class System {
 public:
  virtual ~System() = default;
  virtual std::string name() const = 0;
  // Commits per second.
  virtual double Run(int committers, double seconds) = 0;
  // Sum of all balances; how many commits it has counted in all.
  virtual int64_t Balance() = 0;
  virtual int64_t counted() const = 0;
  // Records per sync in the last run; 0: unknown.
  virtual double group_factor() const { return 0; }
};

// ---- Sisal ----

class Sisal final : public System {
 public:
  // `threads`: each committer is a thread attached to the engine; else a fiber on its loops.
  Sisal(io::Runtime& runtime, db::Database& database, bool threads)
      : runtime_(runtime), database_(database), threads_(threads) {}

  static std::unique_ptr<db::Database> Open(io::Runtime& runtime, const std::string& directory) {
    std::unique_ptr<db::Database> database;
    runtime.RunAndWait("open", [&] {
      auto opened = db::Database::Open(runtime, directory, {}, nullptr);
      SISAL_CHECK(opened.ok());
      database = *std::move(opened);
      const std::unique_ptr<db::Session> session = database->NewSession();
      Execute(*session, "CREATE TABLE account (id INTEGER PRIMARY KEY, balance BIGINT NOT NULL)");
      for (int i = 0; i < kRowCount; ++i)
        Execute(*session, "INSERT INTO account VALUES (" + std::to_string(i) + ", 0)");
      while (database->store().log().Stats().segments_ahead == 0) io::SleepFor(std::chrono::milliseconds(1));
    });
    return database;
  }

  std::string name() const override { return threads_ ? "sisal, threads" : "sisal, fibers"; }

  double Run(int committers, double seconds) override {
    const wal::LogStats before = database_.store().log().Stats();
    std::atomic<int64_t> commits{0};
    const Clock::time_point start = Clock::now();
    const auto end = start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    if (threads_) {
      std::vector<std::thread> threads;
      for (int i = 0; i < committers; ++i) {
        threads.emplace_back([&, i] {
          io::AttachedThread attached(runtime_);
          commits += Commit(i, end);
        });
      }
      for (std::thread& thread : threads) thread.join();
    } else {
      runtime_.RunAndWait("bench", [&] {
        std::atomic<int> left{committers};
        io::Event ended;
        for (int i = 0; i < committers; ++i) {
          runtime_.loop(static_cast<size_t>(i) % runtime_.loop_count()).Spawn({"committer"}, [&, i] {
            commits += Commit(i, end);
            if (--left == 0) ended.Set();
          });
        }
        ended.Wait();
      });
    }
    const double elapsed = SecondsSince(start);
    const wal::LogStats after = database_.store().log().Stats();
    group_factor_ = static_cast<double>(after.commits_synced - before.commits_synced) /
                    static_cast<double>(std::max<uint64_t>(after.syncs - before.syncs, 1));
    counted_ += commits;
    return static_cast<double>(commits) / elapsed;
  }

  int64_t Balance() override {
    int64_t sum = 0;
    runtime_.RunAndWait("balance", [&] {
      const std::unique_ptr<db::Session> session = database_.NewSession();
      sum = Execute(*session, "SELECT CAST(sum(balance) AS BIGINT) FROM account");
    });
    return sum;
  }
  int64_t counted() const override { return counted_; }
  double group_factor() const override { return group_factor_; }

 private:
  // The first value of the last row, if there is any. Suspends.
  static int64_t Drain(db::Session& session, const db::PreparedPtr& prepared, std::vector<type::Datum> params) {
    auto result = session.Execute(prepared, std::move(params), {});
    if (!result.ok()) Fail(result.error());
    int64_t value = 0;
    while (true) {
      type::Chunk chunk;
      const Status status = (*result)->Next(chunk);
      if (!status.ok()) Fail(status.error());
      if (chunk.row_count == 0) return value;
      value = chunk.columns[0].ToDatum(0).as_int();
    }
  }
  static int64_t Execute(db::Session& session, const std::string& sql) {
    auto prepared = session.Prepare(sql, {});
    if (!prepared.ok()) Fail(prepared.error());
    return Drain(session, *prepared, {});
  }
  [[noreturn]] static void Fail(const Error& error) {
    std::fprintf(stderr, "sisal: %s\n", error.ToString().c_str());
    std::exit(1);
  }
  // Suspends.
  int64_t Commit(int committer, Clock::time_point end) {
    const std::unique_ptr<db::Session> session = database_.NewSession();
    auto prepared = session->Prepare(std::string(kUpdate) + "$1", {});
    if (!prepared.ok()) Fail(prepared.error());
    int64_t commits = 0;
    for (; Clock::now() < end; ++commits) Drain(*session, *prepared, {type::Datum::Int(committer)});
    return commits;
  }

  io::Runtime& runtime_;
  db::Database& database_;
  const bool threads_;
  int64_t counted_ = 0;
  double group_factor_ = 0;
};

// ---- SQLite ----

#if defined(SISAL_BENCH_SQLITE)
class Sqlite final : public System {
 public:
  explicit Sqlite(std::string path) : path_(std::move(path)) {
    sqlite3* const connection = Connect();
    Execute(connection, "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)");
    for (int i = 0; i < kRowCount; ++i) {
      Execute(connection, "INSERT INTO account VALUES (" + std::to_string(i) + ", 0)");
    }
    sqlite3_close(connection);
  }

  std::string name() const override { return "sqlite " SQLITE_VERSION; }

  double Run(int committers, double seconds) override {
    std::atomic<int64_t> commits{0};
    const Clock::time_point start = Clock::now();
    const auto end = start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    std::vector<std::thread> threads;
    for (int i = 0; i < committers; ++i) threads.emplace_back([&, i] { commits += Commit(i, end); });
    for (std::thread& thread : threads) thread.join();
    counted_ += commits;
    return static_cast<double>(commits) / SecondsSince(start);
  }

  int64_t Balance() override {
    sqlite3* const connection = Connect();
    sqlite3_stmt* statement = nullptr;
    Check(connection, sqlite3_prepare_v2(connection, "SELECT sum(balance) FROM account", -1, &statement, nullptr));
    SISAL_CHECK(sqlite3_step(statement) == SQLITE_ROW);
    const int64_t sum = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(connection);
    return sum;
  }
  int64_t counted() const override { return counted_; }

 private:
  static void Check(sqlite3* connection, int result) {
    if (result == SQLITE_OK || result == SQLITE_DONE) return;
    std::fprintf(stderr, "sqlite: %s\n", sqlite3_errmsg(connection));
    std::exit(1);
  }
  static void Execute(sqlite3* connection, const std::string& sql) {
    Check(connection, sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr));
  }
  sqlite3* Connect() const {
    sqlite3* connection = nullptr;
    SISAL_CHECK(sqlite3_open(path_.c_str(), &connection) == SQLITE_OK);
    sqlite3_busy_timeout(connection, 60'000);
    Execute(connection, "PRAGMA journal_mode=WAL");
    Execute(connection, "PRAGMA synchronous=FULL");
    return connection;
  }
  int64_t Commit(int committer, Clock::time_point end) const {
    sqlite3* const connection = Connect();
    sqlite3_stmt* statement = nullptr;
    Check(connection, sqlite3_prepare_v2(connection, (std::string(kUpdate) + "?1").c_str(), -1, &statement, nullptr));
    sqlite3_bind_int(statement, 1, committer);
    int64_t commits = 0;
    for (; Clock::now() < end; ++commits) {
      Check(connection, sqlite3_step(statement));
      Check(connection, sqlite3_reset(statement));
    }
    sqlite3_finalize(statement);
    sqlite3_close(connection);
    return commits;
  }

  const std::string path_;
  int64_t counted_ = 0;
};
#endif

// ---- PostgreSQL ----

// What a shell command prints; its exit code in `status`. It runs in the root directory: another user may not look into
// ours, and PostgreSQL's programs complain about that.
std::string Shell(const std::string& command, int& status) {
  std::string output;
  FILE* const pipe = ::popen(("cd / && " + command + " 2>&1").c_str(), "r");
  SISAL_CHECK(pipe != nullptr);
  std::array<char, 4096> buffer;
  while (const size_t size = std::fread(buffer.data(), 1, buffer.size(), pipe)) output.append(buffer.data(), size);
  status = ::pclose(pipe);
  return output;
}

std::string MustShell(const std::string& command) {
  int status = 0;
  std::string output = Shell(command, status);
  if (status == 0) return output;
  std::fprintf(stderr, "%s\n%s", command.c_str(), output.c_str());
  std::exit(1);
}

class Postgres final : public System {
 public:
  // The newest installed version's programs; empty: none.
  static std::string FindPrograms() {
    std::string best;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/postgresql", ignored)) {
      const std::string path = entry.path().string() + "/bin/";
      const bool complete = ::access((path + "postgres").c_str(), X_OK) == 0 &&
                            ::access((path + "initdb").c_str(), X_OK) == 0 &&
                            ::access((path + "pgbench").c_str(), X_OK) == 0;
      if (complete) best = std::max(best, path);
    }
    return best;
  }
  // Why it cannot run here; empty: it can.
  static std::string Obstacle() {
    if (FindPrograms().empty()) return "PostgreSQL is not installed";
    if (::geteuid() == 0 && ::getpwnam("postgres") == nullptr) return "there is no user postgres to run it";
    return "";
  }

  explicit Postgres(const std::string& directory) : programs_(FindPrograms()), directory_(directory) {
    SISAL_CHECK(::mkdir(directory.c_str(), 0755) == 0);
    if (::geteuid() == 0) {
      const passwd* const user = ::getpwnam("postgres");
      SISAL_CHECK(::chown(directory.c_str(), user->pw_uid, user->pw_gid) == 0);
      as_user_ = "runuser -u postgres -- ";
    }
    std::ofstream(directory + "/update.sql") << kUpdate << ":client_id;\n";
    MustShell(as_user_ + programs_ + "initdb -A trust -U postgres -D " + directory + "/data");
    // All else as PostgreSQL comes: fsync and synchronous_commit are on.
    MustShell(as_user_ + programs_ + "pg_ctl -w -s -D " + directory + "/data -l " + directory +
              "/log -o \"-c listen_addresses='' -c unix_socket_directories=" + directory +
              " -c max_connections=100\" start");
    Sql("CREATE TABLE account (id INTEGER PRIMARY KEY, balance BIGINT NOT NULL)");
    Sql("INSERT INTO account SELECT i, 0 FROM generate_series(0, " + std::to_string(kRowCount - 1) + ") i");
    version_ = Sql("SHOW server_version");
    version_ = version_.substr(0, version_.find_first_of(" \n"));
  }
  ~Postgres() override {
    int status = 0;
    Shell(as_user_ + programs_ + "pg_ctl -w -s -m fast -D " + directory_ + "/data stop", status);
  }

  std::string name() const override { return "postgresql " + version_; }

  double Run(int committers, double seconds) override {
    const int threads = std::min<int>(committers, static_cast<int>(std::thread::hardware_concurrency()));
    const std::string output = MustShell(
        as_user_ + programs_ + "pgbench -n -M prepared -h " + directory_ + " -U postgres -c " +
        std::to_string(committers) + " -j " + std::to_string(threads) + " -T " +
        std::to_string(std::max(1, static_cast<int>(seconds))) + " -f " + directory_ + "/update.sql postgres");
    counted_ += static_cast<int64_t>(Number(output, "number of transactions actually processed: "));
    return Number(output, "tps = ");
  }
  int64_t Balance() override { return std::strtoll(Sql("SELECT sum(balance) FROM account").c_str(), nullptr, 10); }
  int64_t counted() const override { return counted_; }

 private:
  static double Number(const std::string& output, const std::string& label) {
    const size_t at = output.find(label);
    SISAL_CHECK(at != std::string::npos);
    return std::strtod(output.c_str() + at + label.size(), nullptr);
  }
  std::string Sql(const std::string& sql) const {
    return MustShell(as_user_ + programs_ + "psql -X -A -t -q -v ON_ERROR_STOP=1 -h " + directory_ +
                     " -U postgres -d postgres -c \"" + sql + "\"");
  }

  const std::string programs_;
  const std::string directory_;
  std::string as_user_;
  std::string version_;
  int64_t counted_ = 0;
};

// ---- The run ----

// Latencies of writing one block in place and making it durable, in microseconds.
class BareDevice {
 public:
  BareDevice(const std::string& path, int flags) : file_(::open(path.c_str(), O_RDWR | O_CREAT | flags, 0600)) {
    block_ = std::aligned_alloc(4096, 4096);
    SISAL_CHECK(file_ >= 0 && block_ != nullptr);
    std::memset(block_, 0, 4096);
    for (off_t at = 0; at < kFileBytes; at += 4096) SISAL_CHECK(::pwrite(file_, block_, 4096, at) == 4096);
    SISAL_CHECK(::fdatasync(file_) == 0);
    is_data_sync_ = (flags & O_DSYNC) == O_DSYNC;
  }
  ~BareDevice() {
    ::close(file_);
    std::free(block_);
  }
  void Sample(int count, Samples& samples) {
    for (int i = 0; i < count; ++i) {
      const Clock::time_point start = Clock::now();
      SISAL_CHECK(::pwrite(file_, block_, 4096, i / 8 * 4096 % kFileBytes) == 4096);
      if (!is_data_sync_) SISAL_CHECK(::fdatasync(file_) == 0);
      samples.Add(SecondsSince(start) * 1e6);
    }
  }

 private:
  static constexpr off_t kFileBytes = 1 << 20;
  const int file_;
  void* block_ = nullptr;
  bool is_data_sync_ = false;
};

std::string FileSystemOf(const std::string& path) {
  std::ifstream mounts("/proc/self/mounts");
  std::string device, mount, type, rest, best, result = "unknown";
  while (mounts >> device >> mount >> type && std::getline(mounts, rest)) {
    const bool holds = path == mount || mount == "/" || path.starts_with(mount + "/");
    if (!holds || mount.size() < best.size()) continue;
    best = mount;
    result = type + " on " + device;
  }
  return result;
}

struct Cell {
  Samples per_second, group_factor;
};

class Bench {
 public:
  explicit Bench(const Settings& settings) : settings_(settings) {}

  int Run(const std::string& directory, std::vector<System*> systems) {
    BareDevice buffered(directory + "/bare1", 0), direct(directory + "/bare2", O_DIRECT | O_DSYNC);
    Samples fdatasync, dsync;
    std::map<std::string, std::array<Cell, kCounts.size()>> cells;
    for (int round = 0; round < settings_.rounds; ++round) {
      buffered.Sample(settings_.quick ? 20 : 300, fdatasync);
      direct.Sample(settings_.quick ? 20 : 300, dsync);
      for (size_t i = 0; i < kCounts.size(); ++i) {
        for (size_t j = 0; j < systems.size(); ++j) {
          System& system = *systems[(j + static_cast<size_t>(round)) % systems.size()];  // none always goes first
          Cell& cell = cells[system.name()][i];
          cell.per_second.Add(system.Run(kCounts[i], settings_.quick ? 0.2 : settings_.seconds));
          cell.group_factor.Add(system.group_factor());
        }
      }
    }
    fdatasync.Print("device: write + fdatasync of a block", "us");
    dsync.Print("device: O_DIRECT|O_DSYNC write of a block", "us");
    for (System* system : systems) PrintSystem(*system, cells[system->name()]);
    PrintRatios(systems, cells);
    bool right = true;
    for (System* system : systems) right &= CheckBalance(*system);
    return right && CheckNoDecline(*systems.front(), cells[systems.front()->name()]) ? 0 : 1;
  }

 private:
  static void PrintSystem(System& system, std::array<Cell, kCounts.size()>& row) {
    for (size_t i = 0; i < kCounts.size(); ++i) {
      row[i].per_second.Print(system.name() + ", " + std::to_string(kCounts[i]) + " committers", "commits/s");
    }
    if (row[0].group_factor.Quantile(0.5) == 0) return;
    std::printf("%-44s", (system.name() + ", commits per sync").c_str());
    for (Cell& cell : row) std::printf(" %9.2f", cell.group_factor.Quantile(0.5));
    std::printf("  at 1, 8, 16, 64\n");
  }

  static void PrintRatios(const std::vector<System*>& systems,
                          std::map<std::string, std::array<Cell, kCounts.size()>>& cells) {
    auto& ours = cells[systems.front()->name()];
    for (const System* system : systems) {
      if (system == systems.front()) continue;
      std::printf("%-44s", (systems.front()->name() + " : " + system->name()).c_str());
      for (size_t i = 0; i < kCounts.size(); ++i) {
        std::printf(" %9.2f", ours[i].per_second.Quantile(0.5) / cells[system->name()][i].per_second.Quantile(0.5));
      }
      std::printf("  at 1, 8, 16, 64\n");
    }
  }

  bool CheckBalance(System& system) {
    // Both of ours count on one database.
    const bool ours = system.name().starts_with("sisal");
    const int64_t balance = system.Balance();
    sisal_counted_ += ours ? system.counted() : 0;
    if (ours && system.name() != "sisal, threads") return true;
    const int64_t counted = ours ? sisal_counted_ : system.counted();
    if (balance == counted) return true;
    std::printf("WRONG: %s has %lld commits, %lld were counted\n", system.name().c_str(),
                static_cast<long long>(balance), static_cast<long long>(counted));
    return false;
  }

  bool CheckNoDecline(const System& system, std::array<Cell, kCounts.size()>& row) const {
    const double at_8 = row[1].per_second.Quantile(0.5), at_64 = row[3].per_second.Quantile(0.5);
    const bool holds = at_64 >= at_8;
    std::printf("%s: 64 committers make %.2f times the commits of 8: %s\n", system.name().c_str(), at_64 / at_8,
                holds ? "no decline" : "DECLINE");
    return holds || settings_.quick;  // a fraction of a second proves nothing
  }

  const Settings settings_;
  int64_t sisal_counted_ = 0;
};

int Main(const Settings& settings) {
  std::string directory = std::filesystem::absolute(settings.parent).string() + "/sisal-commit-bench-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) {
    std::perror(directory.c_str());
    return 1;
  }
  ::chmod(directory.c_str(), 0755);  // PostgreSQL's user must reach its part
  auto runtime = io::Runtime::Start({.loop_count = settings.loop_count});
  SISAL_CHECK(runtime.ok());
  PrintMachine("commit_bench", FileSystemOf(directory) + ", " + std::to_string(settings.rounds) + " rounds of " +
                                   (settings.quick ? "0.2" : std::to_string(settings.seconds)) + " s each, " +
                                   std::to_string(settings.loop_count) + " loops, full durability");
  std::unique_ptr<db::Database> database = Sisal::Open(**runtime, directory + "/sisal");
  std::printf("sisal writes its log by %s\n", database->store().log().Stats().write_method.c_str());
  int result;
  {
    Sisal fibers(**runtime, *database, false), threads(**runtime, *database, true);
    std::vector<System*> systems = {&fibers, &threads};
#if defined(SISAL_BENCH_SQLITE)
    Sqlite sqlite(directory + "/sqlite.db");
    systems.push_back(&sqlite);
#else
    std::printf("SKIPPED: SQLite: its library was not there when this was built\n");
#endif
    std::unique_ptr<Postgres> postgres;
    if (const std::string obstacle = Postgres::Obstacle(); obstacle.empty()) {
      postgres = std::make_unique<Postgres>(directory + "/postgresql");
      systems.push_back(postgres.get());
    } else {
      std::printf("SKIPPED: PostgreSQL: %s\n", obstacle.c_str());
    }
    result = Bench(settings).Run(directory, systems);
  }
  (*runtime)->RunAndWait("close", [&] { SISAL_CHECK(database->Close().ok()); });
  database.reset();
  std::filesystem::remove_all(directory);
  return result;
}

}  // namespace
}  // namespace sisal::bench

int main(int argc, char** argv) {
  sisal::bench::Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const bool has_value = i + 1 < argc;
    if (flag == "--quick") {
      settings.quick = true;
      settings.rounds = 1;
    } else if (flag == "--dir" && has_value) {
      settings.parent = argv[++i];
    } else if (flag == "--rounds" && has_value) {
      settings.rounds = std::max(1, std::atoi(argv[++i]));
    } else if (flag == "--seconds" && has_value) {
      settings.seconds = std::max(1, std::atoi(argv[++i]));
    } else if (flag == "--loops" && has_value) {
      settings.loop_count = std::max(1ul, std::strtoul(argv[++i], nullptr, 10));
    } else {
      std::fprintf(stderr, "usage: commit_bench [--quick] [--dir DIR] [--rounds N] [--seconds N] [--loops N]\n");
      return 2;
    }
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  return sisal::bench::Main(settings);
}
