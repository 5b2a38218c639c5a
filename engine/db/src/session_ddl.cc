// CREATE, DROP and TRUNCATE: in the open transaction, or in one of their own.
#include <algorithm>

#include "result.h"
#include "session.h"

namespace sisal::db {

using Kind = sql::StatementKind;

Status EngineSession::RunInTransaction(CachedPlanPtr plan, const CallOptions& options, FinishedResult& result) {
  const bool single_use = open_ == nullptr;
  if (single_use) {
    BeginSingleUse(settings_.default_read_only());
    Interrupt(options);
  }
  if (open_->options.read_only) {
    if (single_use) Rollback();
    return Error("25006", "cannot execute " + plan->statement().command + " in a read-only transaction");
  }
  const txn::Mark mark = open_->txn->SetMark();
  std::unique_ptr<catalog::Changes> changes_before = open_->changes == nullptr ? nullptr : open_->changes->Clone();
  Status status = RunRepeatedly(std::move(plan), options, result.notices_list);
  if (single_use) {
    if (!status.ok()) {
      Rollback();
      return status;
    }
    SISAL_ASSIGN_OR_RETURN(result.position, Commit(options));
    return Status();
  }
  if (!status.ok() && open_->on_error == OnError::kRollbackStatement) {
    open_->txn->RollbackTo(mark);
    open_->changes = std::move(changes_before);
    if (open_->changes != nullptr && open_->root != nullptr) open_->changes->Rebase(open_->root);
  }
  return status;
}

// Nothing that was read under the snapshot has left while no statement but DDL has ended, so it may move.
Status EngineSession::RunRepeatedly(CachedPlanPtr plan, const CallOptions& options, std::vector<Notice>& notices) {
  const txn::Mark mark = open_->txn->SetMark();
  const std::unique_ptr<catalog::Changes> before = open_->changes == nullptr ? nullptr : open_->changes->Clone();
  constexpr int kAttemptsMax = 100;
  for (int attempt = 1;; ++attempt) {
    notices.clear();
    Status status = RunUtility(plan->statement_ptr(), options, notices);
    const bool moves = !open_->answered || open_->txn->options().isolation == txn::Isolation::kReadCommitted;
    if (status.ok() || status.sqlstate() != "40001" || !moves || attempt == kAttemptsMax) return status;
    open_->txn->RollbackTo(mark);
    open_->changes = before == nullptr ? nullptr : before->Clone();
    SISAL_RETURN_IF_ERROR(open_->txn->TakeSnapshot());
    PinRoot();
    bool cached;
    SISAL_ASSIGN_OR_RETURN(plan, FindPlan(plan->sql(), plan->id(), cached));
  }
}

Status EngineSession::RunUtility(const sql::StatementPtr& statement_ptr, const CallOptions& options,
                                 std::vector<Notice>& notices) {
  const sql::Statement& statement = *statement_ptr;
  switch (statement.kind) {
    case Kind::kCreateTable:
      return CreateTable(statement, notices);
    case Kind::kCreateIndex:
      return CreateIndex(statement, options, notices);
    case Kind::kCreateView:
      return CreateView(statement);
    case Kind::kDropTable:
    case Kind::kDropView:
    case Kind::kDropIndex:
      return Drop(statement, notices);
    case Kind::kTruncate:
      return Truncate(statement, options, notices);
    case Kind::kAlterTable:
      return AlterTable(statement_ptr, options, notices);
    case Kind::kCreateSequence:
      return CreateSequence(statement, notices);
    case Kind::kAlterSequence:
      return AlterSequence(statement, notices);
    case Kind::kDropSequence:
      return DropSequences(statement, notices);
    default:
      return Error("0A000", statement.command + " is not supported");
  }
}

catalog::Changes& EngineSession::Changes() {
  if (open_->changes == nullptr) open_->changes = engine_.catalog->MakeChanges(Root());
  return *open_->changes;
}

Status EngineSession::CreateTable(const sql::Statement& statement, std::vector<Notice>& notices) {
  if (!open_->txn->has_snapshot()) SISAL_RETURN_IF_ERROR(open_->txn->TakeSnapshot());
  PinRoot();
  catalog::Table table = *statement.create_table.table;
  const std::string name = table.name;
  if (statement.create_table.if_not_exists && Root()->RelationExists(table.schema, name)) {
    notices.push_back({"42P07", "relation \"" + name + "\" already exists, skipping", ""});
    return Status();
  }
  SISAL_RETURN_IF_ERROR(LockSequencesOf(statement));
  const std::vector<sql::OwnedSequence>& owned = statement.create_table.sequences;
  for (const sql::OwnedSequence& each : owned) {
    table.columns[each.column].sequences = {engine_.catalog->AllocateObject()};
  }
  Result<catalog::TablePtr> created = engine_.catalog->CreateTable(*open_->txn, Changes(), std::move(table));
  // Somebody else was faster between our look and our intent.
  if (!created.ok() && created.sqlstate() == "42P07" && statement.create_table.if_not_exists) {
    notices.push_back({"42P07", "relation \"" + name + "\" already exists, skipping", ""});
    return Status();
  }
  if (!created.ok()) return std::move(created).status();
  return CreateOwnedSequences(owned, **created);
}

Status EngineSession::LockWhole(const catalog::Table& table, std::string_view command) {
  const auto& whole = open_->whole_tables;
  const bool own = (open_->changes != nullptr && engine_.catalog->Newest()->FindTable(table.id) == nullptr) ||
                   std::find(whole.begin(), whole.end(), table.id) != whole.end();
  const bool moves = !open_->answered || open_->txn->options().isolation == txn::Isolation::kReadCommitted;
  if (open_->txn->has_snapshot() && !own && !moves) {
    return Error("0A000",
                 std::string(command) +
                     " of a table that others may have written since the transaction's snapshot is not supported")
        .WithHint("Make it the first statement of its transaction, or run it outside of one.");
  }
  SISAL_RETURN_IF_ERROR(engine_.catalog->LockTable(*open_->txn, table, txn::LockMode::kExclusive));
  if (own) return Status();
  // Writers that held the table before us have released it, so their commits have positions; wait until all are
  // applied.
  SISAL_RETURN_IF_ERROR(engine_.store->WaitApplied({}));
  SISAL_RETURN_IF_ERROR(open_->txn->TakeSnapshot());
  PinRoot();
  open_->whole_tables.push_back(table.id);
  return Status();
}

Status EngineSession::LockDefinition(const catalog::Table& table) {
  SISAL_RETURN_IF_ERROR(engine_.catalog->LockTable(*open_->txn, table, txn::LockMode::kExclusive));
  if (open_->txn->has_snapshot()) return Status();
  SISAL_RETURN_IF_ERROR(engine_.store->WaitApplied({}));
  SISAL_RETURN_IF_ERROR(open_->txn->TakeSnapshot());
  PinRoot();
  open_->whole_tables.push_back(table.id);
  return Status();
}

exec::ExecutionOptions EngineSession::MakeExecutionOptions(const CallOptions& options) {
  exec::ExecutionOptions execution;
  execution.store = engine_.store.get();
  execution.transaction = open_->txn.get();
  execution.catalog = engine_.catalog.get();
  execution.root = Root();
  execution.function = MakeFunctionContext();
  execution.cancel = options.cancel;
  execution.deadline = options.deadline;
  execution.memory_bytes_max = engine_.options.statement_memory_bytes_max;
  return execution;
}

Status EngineSession::CreateIndex(const sql::Statement& statement, const CallOptions& options,
                                  std::vector<Notice>& notices) {
  const sql::CreateIndexStatement& create = statement.create_index;
  if (create.if_not_exists && Root()->RelationExists(create.table->schema, create.index.name)) {
    notices.push_back({"42P07", "relation \"" + create.index.name + "\" already exists, skipping", ""});
    return Status();
  }
  SISAL_RETURN_IF_ERROR(LockWhole(*create.table, "CREATE INDEX"));
  const catalog::TablePtr current = Root()->FindTable(create.table->id);
  if (current == nullptr) {
    return Error("42P01", "relation \"" + create.table->name + "\" does not exist");
  }
  SISAL_ASSIGN_OR_RETURN(const catalog::TablePtr with_index,
                         engine_.catalog->AddIndex(*open_->txn, Changes(), current, create.index));
  return exec::BuildIndex(MakeExecutionOptions(options), *with_index, with_index->indexes.back());
}

Status EngineSession::Drop(const sql::Statement& statement, std::vector<Notice>& notices) {
  const bool index = statement.kind == Kind::kDropIndex;
  const std::string kind = index ? "index" : statement.kind == Kind::kDropView ? "view" : "table";
  for (const std::string& name : statement.drop.missing) {
    notices.push_back({"00000", kind + " \"" + name + "\" does not exist, skipping", ""});
  }
  for (const sql::StatementNotice& notice : statement.alter.notices) {
    notices.push_back({notice.sqlstate, notice.message, ""});
  }
  std::vector<catalog::TablePtr> tables = statement.drop.tables;
  if (tables.empty()) return Status();
  tables.insert(tables.end(), statement.drop.dependents.begin(), statement.drop.dependents.end());
  if (!open_->txn->has_snapshot()) SISAL_RETURN_IF_ERROR(open_->txn->TakeSnapshot());
  if (open_->root == nullptr) PinRoot();
  SISAL_RETURN_IF_ERROR(DropReferences(statement.drop, notices));
  if (statement.kind == Kind::kDropTable) {
    SISAL_RETURN_IF_ERROR(DropOwnedSequences(statement.drop.tables, statement.drop.cascade, notices));
  }
  for (size_t i = 0; i < tables.size(); ++i) {
    const catalog::TablePtr current = Changes().root()->FindTable(tables[i]->id);
    if (current == nullptr) return Error("42P01", kind + " \"" + tables[i]->name + "\" does not exist");
    if (index) {
      SISAL_RETURN_IF_ERROR(
          engine_.catalog->DropIndex(*open_->txn, Changes(), current, statement.drop.index_names[i]).status());
      continue;
    }
    SISAL_RETURN_IF_ERROR(engine_.catalog->DropTable(*open_->txn, Changes(), current));
    SISAL_RETURN_IF_ERROR(CheckViews(catalog::ViewsUsing(*engine_.catalog->Newest(), current->id), tables));
  }
  return Status();
}

Status EngineSession::Truncate(const sql::Statement& statement, const CallOptions& options,
                               std::vector<Notice>& notices) {
  SISAL_ASSIGN_OR_RETURN(const std::vector<catalog::TablePtr> tables, TruncatedTables(statement.drop, notices));
  for (const catalog::TablePtr& table : tables) {
    SISAL_RETURN_IF_ERROR(LockWhole(*table, "TRUNCATE"));
    SISAL_RETURN_IF_ERROR(DeleteAllRows(*table, options));
    if (statement.drop.restart_identity) SISAL_RETURN_IF_ERROR(RestartIdentity(*table));
  }
  return Status();
}

// Nobody else writes to the table, so its rows and entries need no intents of their own beyond what Delete asks for.
Status EngineSession::DeleteAllRows(const catalog::Table& table, const CallOptions& options) {
  std::vector<TreeId> trees{table.tree};
  for (const catalog::Index& index : table.indexes) trees.push_back(index.tree);
  txn::EntryBatch batch;
  for (TreeId tree : trees) {
    const auto cursor = open_->txn->Scan(tree, {}, txn::Direction::kForward);
    for (;;) {
      if (options.cancel != nullptr) SISAL_RETURN_IF_ERROR(options.cancel->Check());
      SISAL_RETURN_IF_ERROR(cursor->Next(type::kVectorSize, batch));
      if (batch.keys.empty()) break;
      for (std::string_view key : batch.keys) {
        SISAL_RETURN_IF_ERROR(
            open_->txn->Lock(tree, key, txn::LockMode::kExclusive, txn::LockWait::kWait, txn::Conflict::kCheck));
        SISAL_RETURN_IF_ERROR(open_->txn->Delete(tree, key));
      }
    }
  }
  return Status();
}

}  // namespace sisal::db
