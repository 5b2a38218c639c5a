// Statements in process, next to SQLite in the same run: what one costs without gRPC.
//
// Each shape runs in interleaved rounds on one thread; printed are the median cost, the spread and the ratio to SQLite
// (above 1: we are faster). SQLite: prepared statements, WAL, its default cache.
// Usage: sql_bench [--quick] [--rows N] [--rounds N]
#include <sqlite3.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench_support.h"
#include "sisal/base/log.h"
#include "sisal/base/random.h"
#include "sisal/db/database.h"
#include "sisal/io/runtime.h"

namespace sisal::db {
namespace {

using Nanos = std::chrono::duration<double, std::nano>;

struct Shape {
  const char* name;
  const char* sql;
  uint32_t repeats;        // per round
  uint32_t rows_per_call;  // what the cost is divided by
  bool random_key;
};

class SisalSide {
 public:
  explicit SisalSide(const std::string& directory) {
    runtime_ = *io::Runtime::Start({.loop_count = 1});
    attached_ = std::make_unique<io::AttachedThread>(*runtime_);
    database_ = *Database::Open(*runtime_, directory, {}, nullptr);
    session_ = database_->NewSession();
  }
  ~SisalSide() {
    session_.reset();
    if (!database_->Close().ok()) std::abort();
    database_.reset();
  }
  void Run(const std::string& sql) { Call(*session_->Prepare(sql, {}), {}); }
  void Call(const PreparedPtr& prepared, std::vector<type::Datum> params) {
    auto result = session_->Execute(prepared, std::move(params), {});
    SISAL_CHECK(result.ok());
    type::Chunk chunk;
    do {
      SISAL_CHECK((*result)->Next(chunk).ok());
      if (chunk.row_count > 0) sink_ += static_cast<uint64_t>(chunk.columns[0].Int(0));
    } while (chunk.row_count > 0);
  }
  Session& session() { return *session_; }

 private:
  std::unique_ptr<io::Runtime> runtime_;
  std::unique_ptr<io::AttachedThread> attached_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Session> session_;
  uint64_t sink_ = 0;
};

class SqliteSide {
 public:
  explicit SqliteSide(const std::string& directory) {
    SISAL_CHECK(sqlite3_open((directory + "/peer.sqlite").c_str(), &database_) == SQLITE_OK);
    Run("PRAGMA journal_mode=WAL");
  }
  ~SqliteSide() { sqlite3_close(database_); }
  void Run(const std::string& sql) {
    SISAL_CHECK(sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  }
  sqlite3_stmt* Prepare(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    SISAL_CHECK(sqlite3_prepare_v2(database_, sql, -1, &statement, nullptr) == SQLITE_OK);
    return statement;
  }
  void Call(sqlite3_stmt* statement, bool has_key, int64_t key) {
    if (has_key) sqlite3_bind_int64(statement, 1, key);
    while (sqlite3_step(statement) == SQLITE_ROW) sink_ += static_cast<uint64_t>(sqlite3_column_int64(statement, 0));
    sqlite3_reset(statement);
  }

 private:
  sqlite3* database_ = nullptr;
  uint64_t sink_ = 0;
};

double Measure(uint32_t calls, const std::function<void(uint32_t)>& call) {
  const auto start = std::chrono::steady_clock::now();
  for (uint32_t i = 0; i < calls; ++i) call(i);
  return Nanos(std::chrono::steady_clock::now() - start).count() / calls;
}

void RunShape(const Shape& shape, uint32_t rows, uint32_t rounds, SisalSide& sisal, SqliteSide& sqlite) {
  const PreparedPtr prepared = *sisal.session().Prepare(shape.sql, {});
  sqlite3_stmt* statement = sqlite.Prepare(shape.sql);
  Random random(1);
  bench::Samples ours, theirs;
  for (uint32_t round = 0; round < rounds; ++round) {
    const auto key = [&] { return static_cast<int64_t>(random.Below(rows)) + 1; };
    ours.Add(Measure(shape.repeats, [&](uint32_t) {
      std::vector<type::Datum> params;
      if (shape.random_key) params.push_back(type::Datum::Int(key()));
      sisal.Call(prepared, std::move(params));
    }));
    theirs.Add(Measure(shape.repeats, [&](uint32_t) { sqlite.Call(statement, shape.random_key, key()); }));
  }
  sqlite3_finalize(statement);
  const auto print = [&](const char* system, bench::Samples& samples) {
    const double divisor = shape.rows_per_call;
    std::printf("  %s %9.1f ns [%.1f, %.1f]", system, samples.Quantile(0.5) / divisor, samples.Quantile(0) / divisor,
                samples.Quantile(1) / divisor);
  };
  std::printf("%-30s", shape.name);
  print("sisal", ours);
  print("sqlite", theirs);
  std::printf("  ratio %.2f\n", theirs.Quantile(0.5) / ours.Quantile(0.5));
}

int Main(int argc, char** argv) {
  uint32_t rows = 200'000, rounds = 7;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--quick") == 0) rows = 5'000, rounds = 3;
    if (std::strcmp(argv[i], "--rows") == 0 && i + 1 < argc) rows = static_cast<uint32_t>(std::stoul(argv[++i]));
    if (std::strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) rounds = static_cast<uint32_t>(std::stoul(argv[++i]));
  }
  SetLogSink([](LogLevel, std::string_view) {});
  std::string directory = (std::filesystem::temp_directory_path() / "sisal-sql-bench-XXXXXX").string();
  SISAL_CHECK(mkdtemp(directory.data()) != nullptr);
  bench::PrintMachine("sql_bench", std::to_string(rows) + " rows, " + std::to_string(rounds) +
                                       " rounds, one thread; cost per call (scans: per row)");
  {
    SisalSide sisal(directory + "/store");
    SqliteSide sqlite(directory);
    for (const char* sql : {"CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, name TEXT)"}) {
      sisal.Run(sql);
      sqlite.Run(sql);
    }
    const std::string count = std::to_string(rows);
    sisal.Run("INSERT INTO t SELECT g, g % 1000, 'name ' || g FROM generate_series(1, " + count + ") AS s(g)");
    sqlite.Run("WITH RECURSIVE s(g) AS (SELECT 1 UNION ALL SELECT g + 1 FROM s WHERE g < " + count +
               ") INSERT INTO t SELECT g, g % 1000, 'name ' || g FROM s");
    const Shape shapes[] = {
        {"point read, autocommit", "SELECT n FROM t WHERE id = $1", rows / 4, 1, true},
        {"20 rows by key range", "SELECT n FROM t WHERE id >= $1 LIMIT 20", rows / 20, 1, true},
        {"sum over all rows", "SELECT sum(n) FROM t", 1, rows, false},
        {"filter on all rows", "SELECT count(*) FROM t WHERE n < 500", 1, rows, false},
        {"group by into 1,000 groups", "SELECT n, count(*) FROM t GROUP BY n", 1, rows, false},
    };
    for (const Shape& shape : shapes) RunShape(shape, rows, rounds, sisal, sqlite);
  }
  std::filesystem::remove_all(directory);
  return 0;
}

}  // namespace
}  // namespace sisal::db

int main(int argc, char** argv) { return sisal::db::Main(argc, argv); }
