// BEGIN, COMMIT, SAVEPOINT, SET, SHOW, EXPLAIN.
#include <algorithm>

#include "result.h"
#include "session.h"

namespace sisal::db {

using Kind = sql::StatementKind;

Result<std::unique_ptr<ResultSet>> EngineSession::ExecuteControl(PreparedPtr prepared, const CallOptions& options) {
  const sql::Statement& statement = prepared->statement();
  auto result = std::make_unique<FinishedResult>(prepared, statement.command);
  Status status;
  switch (statement.kind) {
    case Kind::kEmpty:
      break;
    case Kind::kBegin:
    case Kind::kCommit:
    case Kind::kRollback:
    case Kind::kSavepoint:
    case Kind::kReleaseSavepoint:
    case Kind::kRollbackToSavepoint:
    case Kind::kSetTransaction:
      status = ControlTransaction(statement, options, *result);
      break;
    case Kind::kSet:
    case Kind::kReset:
      status = RunSet(statement);
      break;
    case Kind::kShow: {
      Result<std::string> value = Show(statement.setting.name);
      if (value.ok()) {
        result->lines.push_back(*std::move(value));
      } else {
        status = std::move(value).status();
      }
      break;
    }
    case Kind::kExplain:
      if (statement.explain_analyze) {
        status = Error("0A000", "EXPLAIN ANALYZE is not supported yet");
      } else {
        result->lines = sql::Explain(*statement.plan);
      }
      break;
    default:
      status = RunInTransaction(std::static_pointer_cast<const CachedPlan>(prepared), options, *result);
  }
  if (!status.ok()) {
    // COMMIT and ROLLBACK have ended the transaction whatever they returned; a begin that failed began nothing.
    const bool fails_transaction = open_ != nullptr && !open_->failed && statement.kind != Kind::kBegin &&
                                   open_->on_error == OnError::kAbortTransaction;
    if (fails_transaction) Fail(false);
    return std::move(status).error();
  }
  return std::unique_ptr<ResultSet>(std::move(result));
}

Status EngineSession::ControlTransaction(const sql::Statement& statement, const CallOptions& options,
                                         FinishedResult& result) {
  const sql::TransactionStatement& modes = statement.transaction;
  switch (statement.kind) {
    case Kind::kBegin: {
      if (open_ != nullptr) {
        result.notices_list.push_back({"25001", "there is already a transaction in progress", ""});
        return Status();
      }
      BeginOptions begin;
      begin.isolation = modes.isolation;
      begin.read_only = modes.read_only.value_or(false);
      begin.deferrable = modes.deferrable.value_or(false);
      return Begin(begin);
    }
    case Kind::kCommit:
    case Kind::kRollback:
      return EndBySql(statement, options, result);
    case Kind::kSavepoint:
      if (open_ == nullptr) return Error("25P01", "SAVEPOINT can only be used in transaction blocks");
      open_->savepoints.push_back({modes.savepoint, open_->txn->SetMark(),
                                   open_->changes == nullptr ? nullptr : open_->changes->Clone(),
                                   open_->options.read_only});
      return Status();
    case Kind::kReleaseSavepoint:
      return ReleaseSavepoint(modes.savepoint);
    case Kind::kRollbackToSavepoint:
      return RollbackToSavepoint(modes.savepoint);
    default:
      return SetTransaction(modes);
  }
}

// COMMIT and ROLLBACK; AND CHAIN begins a transaction of the same kind at once.
Status EngineSession::EndBySql(const sql::Statement& statement, const CallOptions& options, FinishedResult& result) {
  if (open_ == nullptr) {
    if (statement.transaction.chain) {
      return Error("25P01", statement.command + " AND CHAIN can only be used in transaction blocks");
    }
    result.notices_list.push_back({"25P01", "there is no transaction in progress", ""});
    return Status();
  }
  const BeginOptions same{open_->options.isolation, open_->options.read_only, open_->options.deferrable,
                          open_->on_error};
  if (open_->failed || statement.kind == Kind::kRollback) {
    Rollback();
    result.set_command("ROLLBACK");
  } else {
    SISAL_ASSIGN_OR_RETURN(result.position, Commit(options));
  }
  return statement.transaction.chain ? Begin(same) : Status();
}

namespace {

Error NoSuchSavepoint(const std::string& name) { return Error("3B001", "savepoint \"" + name + "\" does not exist"); }

}  // namespace

Status EngineSession::ReleaseSavepoint(const std::string& name) {
  if (open_ == nullptr) return Error("25P01", "RELEASE SAVEPOINT can only be used in transaction blocks");
  auto& savepoints = open_->savepoints;
  const auto it = std::find_if(savepoints.rbegin(), savepoints.rend(), [&](const auto& s) { return s.name == name; });
  if (it == savepoints.rend()) return NoSuchSavepoint(name);
  open_->options.read_only = std::prev(it.base())->read_only;
  savepoints.erase(std::prev(it.base()), savepoints.end());
  return Status();
}

Status EngineSession::RollbackToSavepoint(const std::string& name) {
  if (open_ == nullptr) return Error("25P01", "ROLLBACK TO SAVEPOINT can only be used in transaction blocks");
  auto& savepoints = open_->savepoints;
  const auto it = std::find_if(savepoints.rbegin(), savepoints.rend(), [&](const auto& s) { return s.name == name; });
  if (it == savepoints.rend()) return NoSuchSavepoint(name);
  savepoints.erase(it.base(), savepoints.end());
  const OpenTransaction::SavepointState& savepoint = savepoints.back();
  open_->txn->RollbackTo(savepoint.mark);
  open_->changes = savepoint.changes == nullptr ? nullptr : savepoint.changes->Clone();
  if (open_->changes != nullptr && open_->root != nullptr) open_->changes->Rebase(open_->root);
  open_->options.read_only = savepoint.read_only;
  open_->failed = false;
  return Status();
}

// READ ONLY can be set at any time. The other modes can change until the first statement has read or locked anything:
// then the transaction is begun anew.
Status EngineSession::SetTransaction(const sql::TransactionStatement& modes) {
  if (open_ == nullptr) return Error("25P01", "SET TRANSACTION can only be used in transaction blocks");
  const txn::TransactionOptions& current = open_->options;
  txn::TransactionOptions options = current;
  if (modes.isolation.has_value()) options.isolation = *modes.isolation;
  if (modes.read_only.has_value()) options.read_only = *modes.read_only;
  if (modes.deferrable.has_value()) options.deferrable = *modes.deferrable;
  const bool begun = open_->txn->has_snapshot() || open_->txn->lock_count() > 0;
  const bool nested = !open_->savepoints.empty();
  if (options.isolation != current.isolation && (begun || nested)) {
    return Error("25001", begun ? "SET TRANSACTION ISOLATION LEVEL must be called before any query"
                                : "SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction");
  }
  if (options.deferrable != current.deferrable && (begun || nested)) {
    return Error("25001", nested ? "SET TRANSACTION [NOT] DEFERRABLE cannot be called within a subtransaction"
                                 : "SET TRANSACTION [NOT] DEFERRABLE must be called before any query");
  }
  if (!options.read_only && current.read_only && (begun || nested)) {
    return Error("25001", nested ? "cannot set transaction read-write mode inside a read-only transaction"
                                 : "transaction read-write mode must be set before any query");
  }
  if (begun || nested) {
    open_->options.read_only = options.read_only;
    return Status();
  }
  if (options == current) return Status();
  open_->txn = engine_.store->Begin(options);
  open_->options = options;
  return Status();
}

Status EngineSession::RunSet(const sql::Statement& statement) {
  const sql::SettingStatement& setting = statement.setting;
  if (open_ != nullptr && !at_begin_.has_value()) {
    at_begin_ = settings_;
    after_commit_ = settings_;
  }
  const auto apply = [&](Settings& settings) -> Status {
    if (statement.kind == Kind::kReset && setting.name == "all") return settings.ResetAll(), Status();
    if (statement.kind == Kind::kReset || setting.is_default) return settings.Reset(setting.name);
    return settings.Set(setting.name, setting.value);
  };
  SISAL_RETURN_IF_ERROR(apply(settings_));
  if (open_ != nullptr && !setting.local) return apply(*after_commit_);
  return Status();
}

Result<std::string> EngineSession::Show(const std::string& name) const {
  if (name == "transaction_isolation" || name == "transaction_read_only") {
    const bool open = open_ != nullptr && open_->txn != nullptr;
    if (name == "transaction_isolation") {
      return std::string(IsolationName(open ? open_->txn->options().isolation : settings_.default_isolation()));
    }
    return std::string((open ? open_->options.read_only : settings_.default_read_only()) ? "on" : "off");
  }
  if (name == "transaction_deferrable")
    return std::string(open_ != nullptr && open_->options.deferrable ? "on" : "off");
  if (name == "all") return Error("0A000", "SHOW ALL is not supported yet");
  return settings_.Show(name);
}

}  // namespace sisal::db
