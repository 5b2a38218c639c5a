#include "statement_call.h"

#include "idempotency.h"
#include "sisal/io/time.h"
#include "sisal/v1/request.pb.h"
#include "sisal/v1/result.pb.h"
#include "sisal/v1/transaction.pb.h"
#include "sisal/wire/request.h"
#include "statement_support.h"

namespace sisal::service {
namespace {

using Kind = sql::StatementKind;

constexpr uint32_t kAttemptsMax = 100;

bool IsPlanChange(const Status& status) { return !status.ok() && status.error().reason() == db::kPlanChanged; }

}  // namespace

Outcome StatementCall::Execute(wire::Buffer& response) {
  started_ = core_.clock.Now();
  Status status = Check(false);
  while (status.ok()) {
    status = OpenSession();
    if (status.ok()) status = ExecuteOnce(response);
    if (status.ok() || !MayRetry(status)) break;
    response.Clear();
    if (!PrepareRetry(status)) break;
    status = Status();
  }
  return status.ok() ? std::nullopt : Fail(std::move(status).error());
}

// False: there is no use in another attempt, `status` stands. Suspends.
bool StatementCall::PrepareRetry(const Status& status) {
  ++attempts_;
  source_.reset();
  if (!IsPlanChange(status)) {
    io::Yield();  // the one that we lost against goes first
    return true;
  }
  // The schema that the statement was prepared for is on its way to the disk; reads see it when it is there.
  own_session_.reset();
  txn::Store& store = core_.database.store();
  return store.WaitApplied({context_.deadline, context_.cancel.get()}).ok() && SettlePosition(store).ok();
}

// What the failure of a call means for the transaction that it ran in.
Outcome StatementCall::Fail(Error error) {
  wire::CallError out(std::move(error));
  const std::string_view sqlstate = out.error.sqlstate();
  out.deadline_passed = sqlstate == "57014" && core_.clock.Now() >= context_.deadline;
  source_.reset();
  if (!lease_ || lease_->session == nullptr) return out;
  switch (lease_->session->phase()) {
    case db::TransactionPhase::kActive:
      out.transaction_usable = true;
      break;
    case db::TransactionPhase::kFailed:
      break;
    case db::TransactionPhase::kNone:  // a COMMIT failed, and the transaction is over
      core_.transactions.End(
          lease_, {sqlstate == "08007" ? wire::Phase::kCommitting : wire::Phase::kRolledBack, out.error, {}});
      break;
  }
  return out;
}

Status StatementCall::Check(bool streaming) {
  streaming_ = streaming;
  if (transaction_ != nullptr) {
    commit_ = transaction_->commit();
    switch (transaction_->selector_case()) {
      case v1::Transaction::kSingleUse: {
        SISAL_ASSIGN_OR_RETURN(transaction_request_, CheckTransactionOptions(transaction_->single_use(), true));
        if (transaction_request_.explicit_begin) mode_ = Mode::kExplicit;
        break;
      }
      case v1::Transaction::kBegin: {
        SISAL_ASSIGN_OR_RETURN(transaction_request_, CheckTransactionOptions(transaction_->begin(), false));
        mode_ = commit_ ? Mode::kExplicit : Mode::kBegin;
        break;
      }
      case v1::Transaction::kHandle:
        mode_ = Mode::kHandle;
        break;
      case v1::Transaction::SELECTOR_NOT_SET:
        break;
    }
  }
  const bool keyed = !streaming && (mode_ == Mode::kAuto || mode_ == Mode::kExplicit);
  SISAL_ASSIGN_OR_RETURN(call_request_, CheckCallOptions(options_, {.key = keyed, .result = true}));
  if (mode_ == Mode::kHandle && options_.settings_size() > 0) {
    return Error{"0A000", "CallOptions.settings in an open transaction is not supported"}.WithHint("Use SET LOCAL.");
  }
  if (mode_ != Mode::kHandle && core_.draining.load(std::memory_order_relaxed)) {
    return Error{"57P01", "the server is shutting down: no new transaction begins"};
  }
  if (mode_ == Mode::kAuto && (!call_request_.idempotency_key.empty() || statement_.has_param_rows())) {
    mode_ = Mode::kExplicit;
  }
  if (statement_.has_param_rows() && statement_.params_size() > 0) {
    return Error{"08P01", "a Statement has either params or param_rows"};
  }
  if (streaming && statement_.has_param_rows()) {
    return Error{"0A000", "Statement.param_rows in Query is not supported"}.WithHint("Use Execute.");
  }
  return Status();
}

// What a statement may not do where it runs.
Status StatementCall::CheckStatement(const sql::Statement& statement) const {
  SISAL_RETURN_IF_ERROR(CheckNoSessionSetting(statement));
  if (statement_.has_param_rows() && statement.kind != Kind::kInsert && statement.kind != Kind::kUpdate &&
      statement.kind != Kind::kDelete) {
    return Error{"0A000", "Statement.param_rows with " + statement.command + " is not supported"};
  }
  if (IsTransactionControl(statement.kind)) {
    if (streaming_)
      return Error{"0A000", statement.command + " through Query is not supported"}.WithHint("Use Execute.");
    if (mode_ == Mode::kExplicit || mode_ == Mode::kBegin) {
      return Error{"0A000", statement.command + " with transaction options or an idempotency key is not supported"};
    }
  }
  if (streaming_ && !statement.read_only) {
    return Error{"25006", "cannot execute " + statement.command + " through Query, which runs reads only"}.WithHint(
        "Use Execute.");
  }
  return Status();
}

bool StatementCall::MayRetry(const Status& status) const {
  const bool conflict = status.sqlstate() == "40001" || status.sqlstate() == "40P01";
  if (conflict ? mode_ != Mode::kExplicit && mode_ != Mode::kBegin : mode_ == Mode::kHandle || !IsPlanChange(status)) {
    return false;
  }
  if (context_.cancel->cancelled() || core_.clock.Now() >= context_.deadline) return false;
  const uint32_t retries_max = transaction_request_.server_retries.value_or(kAttemptsMax);
  return attempts_ <= retries_max;
}

Status StatementCall::OpenSession() {
  if (mode_ == Mode::kHandle) {
    SISAL_ASSIGN_OR_RETURN(
        lease_, core_.transactions.Acquire(transaction_->handle(), "", {context_.deadline, context_.cancel.get()}));
    session_ = lease_->session.get();
    return Status();
  }
  if (mode_ == Mode::kBegin) SISAL_RETURN_IF_ERROR(core_.transactions.CheckRoom());
  prepared_.reset();
  own_session_ = core_.database.NewSession();
  session_ = own_session_.get();
  SISAL_RETURN_IF_ERROR(ApplySettings(options_, *session_));
  if (mode_ != Mode::kAuto) SISAL_RETURN_IF_ERROR(session_->Begin(transaction_request_.begin));
  return Status();
}

Status StatementCall::Start() {
  SISAL_RETURN_IF_ERROR(CheckStatement(prepared_->statement()));
  const bool lasting = prepared_->statement().read_only;  // may go on after this call: its own cancel ends it
  RowSource::Options options;
  options.cancel = context_.cancel;
  options.deadline = lasting ? Instant::Max() : context_.deadline;
  options.durability = transaction_request_.durability;
  if (lease_ && lease_->durability.has_value()) options.durability = lease_->durability;
  options.encoding = call_request_.encoding;
  source_ = std::make_unique<RowSource>(prepared_, session_->text_settings(), std::move(options));
  if (statement_.has_param_rows()) return Status();  // FillParamRows starts it once for each row
  SISAL_ASSIGN_OR_RETURN(std::vector<type::Datum> params,
                         wire::ToParams(statement_, prepared_->statement().params, session_->input_settings()));
  return source_->Start(*session_, std::move(params));
}

// Once per row, as one statement: where a failed statement is undone alone, so are the rows before it.
Status StatementCall::FillParamRows(size_t budget_bytes) {
  const type::TextSettings settings = session_->input_settings();
  SISAL_ASSIGN_OR_RETURN(const wire::ParamRows rows,
                         wire::ParamRows::Make(statement_.param_rows(), prepared_->statement().params, settings));
  const bool savepoint = lease_ && lease_->statement_rollback;
  if (savepoint) SISAL_RETURN_IF_ERROR(RunControl("SAVEPOINT sisal_param_rows", *session_));
  Status status;
  param_rows_affected_ = 0;
  for (uint32_t row = 0; status.ok() && row < rows.row_count(); ++row) {
    Result<std::vector<type::Datum>> params = rows.Row(row);
    status = params.ok() ? source_->Start(*session_, *std::move(params)) : std::move(params).status();
    if (!status.ok()) break;
    Result<bool> filled = source_->Fill(budget_bytes, core_.clock);
    status = filled.status();
    if (!status.ok()) break;
    param_rows_affected_ += source_->result()->rows_affected();
    if (!*filled) status = AnswerTooLarge();
  }
  if (status.ok() && savepoint) status = RunControl("RELEASE SAVEPOINT sisal_param_rows", *session_);
  if (status.ok()) return Status();
  if (savepoint && session_->phase() != db::TransactionPhase::kNone) {
    source_.reset();
    SISAL_RETURN_IF_ERROR(RunControl("ROLLBACK TO SAVEPOINT sisal_param_rows", *session_));
    SISAL_RETURN_IF_ERROR(RunControl("RELEASE SAVEPOINT sisal_param_rows", *session_));
  }
  return status;
}

}  // namespace sisal::service
