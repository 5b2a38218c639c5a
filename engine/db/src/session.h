// A session: settings, and at most one open transaction.
//
//   none --Begin--> active --Commit/Rollback--> none
//   active --a statement fails (kAbortTransaction)--> failed --Rollback/Commit--> none
//   failed --ROLLBACK TO SAVEPOINT--> active
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan_cache.h"
#include "session_sequences.h"
#include "settings.h"
#include "sisal/catalog/catalog.h"
#include "sisal/db/database.h"
#include "sisal/exec/execution.h"

namespace sisal::db {

// What all sessions share. Owned by the Database.
struct Engine {
  io::Runtime& runtime;
  DatabaseOptions options;
  std::unique_ptr<txn::Store> store;
  std::unique_ptr<catalog::Catalog> catalog;
  std::unique_ptr<PlanCache> plans;
};

struct OpenTransaction {
  struct SavepointState {
    std::string name;
    txn::Mark mark;
    std::unique_ptr<catalog::Changes> changes;
    bool read_only = false;  // of the transaction when it was set
  };

  std::unique_ptr<txn::Transaction> txn;  // nullptr: failed, and all of it was given back
  txn::TransactionOptions options;        // read_only may come later than the txn's: it needs no other snapshot
  OnError on_error = OnError::kAbortTransaction;
  bool failed = false;
  bool answered = false;                      // a statement has ended in it: its snapshot may no longer move
  catalog::RootPtr root;                      // of its snapshot; nullptr before
  std::unique_ptr<catalog::Changes> changes;  // nullptr: no DDL yet
  std::vector<SavepointState> savepoints;
  std::vector<ObjectId> whole_tables;           // locked against everybody, under a snapshot that has all of their rows
  std::vector<catalog::SequencePtr> sequences;  // used so far, and locked against DDL
  int64_t start_micros = 0;
};

class FinishedResult;

class EngineSession final : public Session {
 public:
  explicit EngineSession(Engine& engine)
      : engine_(engine), settings_(engine.options.default_isolation), sequences_(*this) {}
  ~EngineSession() override { Rollback(); }

  Status SetSetting(std::string_view name, std::string_view value) override { return settings_.Set(name, value); }
  const type::TextSettings& text_settings() const override { return settings_.text(); }
  type::TextSettings input_settings() const override;
  TransactionPhase phase() const override;
  txn::Transaction* transaction() override { return open_ == nullptr ? nullptr : open_->txn.get(); }
  Status Begin(const BeginOptions& options) override;
  Result<Timestamp> Commit(const CallOptions& options) override;
  void Rollback() override;
  Result<std::unique_ptr<ResultSet>> Execute(PreparedPtr prepared, std::vector<type::Datum> params,
                                             const CallOptions& options) override;
  Result<PreparedPtr> Prepare(std::string_view sql, const CallOptions& options) override;
  Result<PreparedPtr> PrepareById(const StatementId& id, const CallOptions& options) override;
  Result<std::optional<std::string>> FindOutcome(std::string_view scope, std::string_view key,
                                                 std::string_view fingerprint) override;
  Status StoreOutcome(std::string_view scope, std::string_view key, std::string_view fingerprint,
                      std::string_view outcome) override;

  // For the results of this session:
  Engine& engine() { return engine_; }
  OpenTransaction* open() { return open_.get(); }
  Settings& settings() { return settings_; }
  // The root that the next statement sees.
  catalog::RootPtr Root() const;
  function::Context MakeFunctionContext();
  // A transaction around one statement.
  void BeginSingleUse(bool read_only);
  // Makes waits of the open transaction end with this call.
  void Interrupt(const CallOptions& options);
  // Snapshot for the next statement, where its isolation level wants a new one. Suspends.
  Status PrepareSnapshot();
  // Notes the root that belongs to the snapshot, once there is one.
  void PinRoot();
  Result<CachedPlanPtr> FindPlan(std::string_view sql, const StatementId& id, bool& cached);
  // Puts the open transaction into the failed state, or ends it if it is a single use.
  void Fail(bool single_use);

 private:
  Result<PreparedPtr> PrepareText(std::string_view sql, const StatementId& id);
  Result<std::unique_ptr<ResultSet>> ExecuteControl(PreparedPtr prepared, const CallOptions& options);
  Status ControlTransaction(const sql::Statement& statement, const CallOptions& options, FinishedResult& result);
  // DDL in the open transaction, or in one of its own. Suspends.
  Status RunInTransaction(CachedPlanPtr plan, const CallOptions& options, FinishedResult& result);
  // Once, and again under a newer snapshot while other DDL comes in between.
  Status RunRepeatedly(CachedPlanPtr plan, const CallOptions& options, std::vector<Notice>& notices);
  Status RunUtility(const sql::StatementPtr& statement, const CallOptions& options, std::vector<Notice>& notices);
  Status EndBySql(const sql::Statement& statement, const CallOptions& options, FinishedResult& result);
  Status SetTransaction(const sql::TransactionStatement& modes);
  Status RollbackToSavepoint(const std::string& name);
  Status ReleaseSavepoint(const std::string& name);
  Status RunSet(const sql::Statement& statement);
  Result<std::string> Show(const std::string& name) const;
  Status CreateTable(const sql::Statement& statement, std::vector<Notice>& notices);
  Status CreateIndex(const sql::Statement& statement, const CallOptions& options, std::vector<Notice>& notices);
  Status Drop(const sql::Statement& statement, std::vector<Notice>& notices);
  Status Truncate(const sql::Statement& statement, const CallOptions& options, std::vector<Notice>& notices);
  Status CheckNewForeignKeys(const catalog::Table& before, const catalog::TablePtr& table, const CallOptions& options);
  // A foreign key and what it depends on.
  struct Dependent {
    catalog::TablePtr child;
    std::string foreign_key;
    std::string on;
    bool goes_anyway;  // its table is dropped too
  };
  std::vector<Dependent> DependentsOf(const sql::DropStatement& drop, size_t which);
  // The foreign keys of others that need what is dropped: refuses (2BP01), or drops them. Suspends.
  Status DropReferences(const sql::DropStatement& drop, std::vector<Notice>& notices);
  // With those that CASCADE adds. Errors: 0A000 if one is referenced by another.
  Result<std::vector<catalog::TablePtr>> TruncatedTables(const sql::DropStatement& drop, std::vector<Notice>& notices);
  Status CreateView(const sql::Statement& statement);
  // 40001 if one of `views`, those that use what is being dropped, has come meanwhile and is not among `going`, which
  // go too. Requires: an exclusive lock on what they use, and views out of the newest root.
  Status CheckViews(const std::vector<catalog::TablePtr>& views, const std::vector<catalog::TablePtr>& going);
  Status AlterTable(const sql::StatementPtr& statement, const CallOptions& options, std::vector<Notice>& notices);
  Status DeleteAllRows(const catalog::Table& table, const CallOptions& options);
  // Sequences (session_sequence_ddl.cc). Suspend.
  struct DefaultUse {
    catalog::TablePtr table;
    uint32_t column;
    catalog::SequencePtr sequence;
  };
  // Takes a snapshot and its root, if there is none yet.
  Status StartDefinition();
  Result<catalog::SequencePtr> LockWholeSequence(const catalog::Sequence& sequence);
  Status CreateSequence(const sql::Statement& statement, std::vector<Notice>& notices);
  Status AlterSequence(const sql::Statement& statement, std::vector<Notice>& notices);
  Status DropSequences(const sql::Statement& statement, std::vector<Notice>& notices);
  Status SetOwned(ObjectId sequence, ObjectId table_id, std::optional<uint32_t> column);
  const catalog::Column* IdentityColumnOf(const catalog::Sequence& sequence, catalog::TablePtr& table);
  Status RestartSequence(const catalog::Sequence& bound);
  Status RestartIdentity(const catalog::Table& table);
  Result<std::vector<DefaultUse>> DefaultsThatUse(const std::vector<catalog::SequencePtr>& sequences,
                                                  const std::vector<catalog::TablePtr>& dropped);
  Status DropDefaultsThatUse(const std::vector<catalog::SequencePtr>& sequences,
                             const std::vector<catalog::TablePtr>& dropped, const std::string& what, bool cascade,
                             std::vector<Notice>& notices);
  Status DropOwnedSequences(const std::vector<catalog::TablePtr>& tables, bool cascade, std::vector<Notice>& notices);
  // Of columns that the changed table has no more.
  Status DropLostSequences(const catalog::Table& before, const catalog::Table& after, bool cascade,
                           std::vector<Notice>& notices);
  // A sequence that a DEFAULT names stays.
  Status LockSequencesOf(const sql::Statement& statement);
  Status CreateOwnedSequences(const std::vector<sql::OwnedSequence>& owned, const catalog::Table& table);
  exec::ExecutionOptions MakeExecutionOptions(const CallOptions& options);
  // Exclusive lock on a table, then a snapshot that has all its rows: nobody writes to it any more. Suspends.
  Status LockWhole(const catalog::Table& table, std::string_view command);
  // Exclusive lock on a table of which no row is looked at, and a snapshot if there is none. Suspends.
  Status LockDefinition(const catalog::Table& table);
  catalog::Changes& Changes();
  void EndTransaction(bool committed);

  Engine& engine_;
  Settings settings_;
  std::optional<Settings> at_begin_;      // settings before the transaction's first SET
  std::optional<Settings> after_commit_;  // settings that outlive it: without SET LOCAL
  std::unique_ptr<OpenTransaction> open_;
  LazyRandom random_;
  SessionSequences sequences_;
};

}  // namespace sisal::db
