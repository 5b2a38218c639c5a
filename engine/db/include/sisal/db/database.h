// The engine as one object: what the server and embedders call.
//
// Database: thread-safe. Session: confined, one call at a time; a session belongs to one client's transaction or to one
// call. Everything that suspends runs on a fiber or an AttachedThread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sisal/base/status.h"
#include "sisal/io/runtime.h"
#include "sisal/io/sync.h"
#include "sisal/sql/statement.h"
#include "sisal/txn/store.h"
#include "sisal/type/vector.h"

namespace sisal::db {

struct DatabaseOptions {
  txn::StoreOptions store;
  uint64_t statement_memory_bytes_max = 256 << 20;
  size_t plan_cache_entries_max = 4096;
  txn::Isolation default_isolation = txn::Isolation::kSnapshot;
  std::string server_version = "15.0 (Sisal 0.1.0)";
  Duration idempotency_window = std::chrono::hours(24);
  uint64_t idempotency_bytes_max = 64 << 20;
};

// First 16 bytes of SHA-256 over the SQL text.
using StatementId = std::array<char, 16>;
StatementId StatementIdOf(std::string_view sql);

// A cached plan; re-made by the database when the objects it uses have changed.
class Prepared {
 public:
  virtual ~Prepared() = default;
  virtual const StatementId& id() const = 0;
  virtual const std::string& sql() const = 0;
  virtual const sql::Statement& statement() const = 0;
};
using PreparedPtr = std::shared_ptr<const Prepared>;

// What ends a call early and where its numbers go.
struct CallOptions {
  io::CancelToken* cancel = nullptr;
  Instant deadline = Instant::Max();
  std::optional<wal::Durability> durability;
};

struct CallStats {
  uint64_t plan_us = 0, execute_us = 0, lock_wait_us = 0, sync_wait_us = 0, rows_read = 0;
  bool plan_cached = false;
  uint32_t attempts = 1;
};

struct Notice {
  std::string sqlstate, message, hint;
};

enum class TransactionPhase : uint8_t { kNone, kActive, kFailed };
enum class OnError : uint8_t { kAbortTransaction, kRollbackStatement };

struct BeginOptions {
  std::optional<txn::Isolation> isolation;  // absent: the setting
  bool read_only = false;
  bool deferrable = false;
  OnError on_error = OnError::kAbortTransaction;
};

// One running statement.
class ResultSet {
 public:
  virtual ~ResultSet() = default;  // abandons what has not ended: a single-use transaction rolls back
  virtual const sql::Statement& statement() const = 0;
  // As exec::Execution::Next. At the end (row_count 0) the statement is complete; a single-use transaction has then
  // been committed and is durable. An error undoes the statement as the transaction's OnError says. Suspends.
  virtual Status Next(type::Chunk& chunk) = 0;
  // After the end:
  virtual uint64_t rows_affected() const = 0;
  virtual Timestamp commit_position() const = 0;  // of a single-use write, or of SQL's COMMIT; 0: none
  virtual const std::vector<Notice>& notices() const = 0;
  virtual const CallStats& stats() const = 0;
  virtual std::string_view command() const = 0;  // the tag: ROLLBACK for the COMMIT of a failed transaction
};

class Session {
 public:
  virtual ~Session() = default;  // rolls back

  // Settings as SET gives them; errors: 42704 unknown, 22023 bad value, 0A000.
  virtual Status SetSetting(std::string_view name, std::string_view value) = 0;
  virtual const type::TextSettings& text_settings() const = 0;
  // The same for reading values, in which 'now' is the start of the open transaction, or the present.
  virtual type::TextSettings input_settings() const = 0;

  virtual TransactionPhase phase() const = 0;
  virtual txn::Transaction* transaction() = 0;            // nullptr: none is open
  virtual Status Begin(const BeginOptions& options) = 0;  // Suspends.
  // Errors: 25P01 none open, 25P02 failed (and rolled back), those of txn::Transaction::Commit. Suspends.
  virtual Result<Timestamp> Commit(const CallOptions& options) = 0;
  virtual void Rollback() = 0;

  // Starts a statement: in the open transaction, or in one of its own that Next commits at the end. SQL's BEGIN,
  // COMMIT, ROLLBACK, SAVEPOINT, SET and DDL go this way too. `params` has one Datum per parameter, of the parameter's
  // type. With a single-use transaction, conflicts (40001, 40P01) are retried inside as long as no row has left. The
  // session, prepared statement and options outlive the result. Errors: 25P02 in a failed transaction. Suspends.
  virtual Result<std::unique_ptr<ResultSet>> Execute(PreparedPtr prepared, std::vector<type::Datum> params,
                                                     const CallOptions& options) = 0;

  // Finds or makes the plan under this session's settings and its transaction's catalog root. Errors: sql::Analyze's.
  virtual Result<PreparedPtr> Prepare(std::string_view sql, const CallOptions& options) = 0;
  // From the cache's texts: 26000 if the id is not known.
  virtual Result<PreparedPtr> PrepareById(const StatementId& id, const CallOptions& options) = 0;

  // Stored outcomes of idempotent calls (design/api.md, 1.8), in the same transaction as the writes that they guard:
  // locks (scope, key) and returns what is stored there; then StoreOutcome puts the answer. Requires: a transaction is
  // open. `fingerprint` must equal the stored one, else 22023 with reason IDEMPOTENCY_KEY_REUSED; an empty one of
  // FindOutcome fits any. Suspends.
  virtual Result<std::optional<std::string>> FindOutcome(std::string_view scope, std::string_view key,
                                                         std::string_view fingerprint) = 0;
  virtual Status StoreOutcome(std::string_view scope, std::string_view key, std::string_view fingerprint,
                              std::string_view outcome) = 0;
};

// Reason of the errors that say that a table has changed between Prepare and the statement's snapshot, so that the
// result or the parameters are of other types. In a single use nothing has happened yet: prepare and execute it again.
// A read's snapshot lies behind the newest schema until that is durable, so wait for that first.
inline constexpr char kPlanChanged[] = "PLAN_CHANGED";

// What Database::ReadPoint found; used again for the next one.
struct PointRow {
  Arena arena{1024};
  std::string key;
  std::vector<type::Vector> columns;  // values lie in the arena, or in the statement's table: defaults of old rows
  uint32_t row_count = 0;             // 0 or 1
  type::Chunk chunk() { return {row_count, columns}; }
};

class Database {
 public:
  // Locks the directory, replays the log, loads the catalog. Errors: 55006 in use, XX001, 53100. Suspends.
  static Result<std::unique_ptr<Database>> Open(io::Runtime& runtime, const std::string& directory,
                                                const DatabaseOptions& options, wal::ReplayProgress* progress);
  virtual ~Database() = default;
  // Requires: no session is left. Suspends.
  virtual Status Close() = 0;

  virtual std::unique_ptr<Session> NewSession() = 0;  // about 1 us

  // Reads of at most one row by its whole primary key, under default settings and in a transaction of their own, need
  // no session. Any thread, attached or not; neither call suspends.
  // The cached plan of such a statement; nullptr: it is another kind of statement, or not in the cache.
  virtual PreparedPtr FindPointRead(const StatementId& id) = 0;
  // Runs it; `params` as for Session::Execute. False: a session has to do it, as the plan is out of date or the row
  // long. Errors: XX001.
  virtual Result<bool> ReadPoint(const Prepared& prepared, std::span<const type::Datum> params, PointRow& row) = 0;
  virtual const type::TextSettings& default_text_settings() const = 0;
  virtual type::TextSettings default_input_settings() const = 0;  // as Session::input_settings

  virtual txn::Store& store() = 0;
  virtual bool clean_start() const = 0;  // the last shutdown was in order
};

}  // namespace sisal::db
