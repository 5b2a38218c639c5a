#include "batch_call.h"

#include <algorithm>

#include "idempotency.h"
#include "service_support.h"
#include "sisal/base/bytes.h"
#include "sisal/io/time.h"
#include "sisal/service/sql_service.h"
#include "sisal/v1/request.pb.h"
#include "sisal/wire/request.h"
#include "statement_support.h"

namespace sisal::service {
namespace {

constexpr uint32_t kAttemptsMax = 100;
// Fields of ExecuteBatchResponse and StepResult.
constexpr uint32_t kResults = 1, kTransaction = 2, kStats = 3;
constexpr uint32_t kOk = 1, kError = 2, kSkipped = 3;

Error UnknownStep(const char* what, uint32_t step, uint32_t of) {
  return Error{"22023", std::string(what) + " of step " + std::to_string(step) + " names step " + std::to_string(of) +
                            ", which does not come before it"};
}

}  // namespace

Outcome SqlService::ExecuteBatch(Core& core, CallContext& context, wire::Buffer& response) {
  v1::ExecuteBatchRequest request;
  if (Status parsed = wire::ParseMessage(context.request, request); !parsed.ok()) return ToOutcome(std::move(parsed));
  return BatchCall(core, context, request).Run(response);
}

Outcome BatchCall::Run(wire::Buffer& response) {
  started_ = core_.clock.Now();
  Status status = Check();
  if (status.ok()) status = mode_ == Mode::kIndependent ? RunApart(response) : RunTogether(response);
  if (!status.ok()) return Fail(std::move(status).error());
  if (call_request_.stats) {
    const auto micros = [](Duration d) { return static_cast<uint64_t>(std::max<int64_t>(d.count(), 0) / 1000); };
    wire::WriteStats(kStats, stats_, micros(core_.clock.Now() - context_.received),
                     micros(started_ - context_.received), response);
  }
  return std::nullopt;
}

Outcome BatchCall::Fail(Error error) {
  wire::CallError out(std::move(error));
  out.step = failed_step_;
  out.deadline_passed = out.error.sqlstate() == "57014" && core_.clock.Now() >= context_.deadline;
  if (!lease_ || lease_->session == nullptr) return out;
  if (lease_->session->phase() == db::TransactionPhase::kActive) out.transaction_usable = true;
  if (lease_->session->phase() == db::TransactionPhase::kNone) {
    const bool unknown = out.error.sqlstate() == "08007";
    core_.transactions.End(lease_, {unknown ? wire::Phase::kCommitting : wire::Phase::kRolledBack, out.error, {}});
  }
  return out;
}

Status BatchCall::Check() {
  switch (request_.mode()) {
    case v1::BATCH_MODE_UNSPECIFIED:
    case v1::BATCH_MODE_ATOMIC:
      break;
    case v1::BATCH_MODE_CONTINUE:
      mode_ = Mode::kContinue;
      break;
    case v1::BATCH_MODE_INDEPENDENT:
      mode_ = Mode::kIndependent;
      break;
    default:
      return Error{"22023", "unknown ExecuteBatchRequest.mode"};
  }
  const v1::Transaction& transaction = request_.transaction();
  commit_ = transaction.commit();
  if (transaction.has_single_use()) {
    SISAL_ASSIGN_OR_RETURN(transaction_request_, CheckTransactionOptions(transaction.single_use(), true));
  } else if (transaction.has_begin()) {
    SISAL_ASSIGN_OR_RETURN(transaction_request_, CheckTransactionOptions(transaction.begin(), false));
    keeps_open_ = !commit_;
  }
  in_handle_ = transaction.selector_case() == v1::Transaction::kHandle;
  const bool given = in_handle_ || transaction.has_begin();
  if (mode_ == Mode::kContinue && !given)
    return Error{"22023", "BATCH_MODE_CONTINUE needs a transaction: begin or handle"};
  if (mode_ == Mode::kIndependent && (given || commit_)) {
    return Error{"22023", "BATCH_MODE_INDEPENDENT takes no transaction: each step has its own"};
  }
  const bool keyed = mode_ == Mode::kAtomic && !in_handle_ && !keeps_open_;
  SISAL_ASSIGN_OR_RETURN(call_request_, CheckCallOptions(request_.options(), {.key = keyed, .result = true}));
  if (call_request_.chunk_bytes != 0) return Error{"22023", "CallOptions.chunk_bytes means nothing to ExecuteBatch"};
  if (in_handle_ && request_.options().settings_size() > 0) {
    return Error{"0A000", "CallOptions.settings in an open transaction is not supported"}.WithHint("Use SET LOCAL.");
  }
  if (!in_handle_ && core_.draining.load(std::memory_order_relaxed)) {
    return Error{"57P01", "the server is shutting down: no new transaction begins"};
  }
  return CheckSteps();
}

Status BatchCall::CheckSteps() const {
  for (uint32_t i = 0; i < static_cast<uint32_t>(request_.steps_size()); ++i) {
    const v1::Step& step = request_.steps(static_cast<int>(i));
    for (const v1::ParamRef& ref : step.refs()) {
      if (ref.step() >= i) return UnknownStep("a reference", i, ref.step());
      if (ref.param() == 0) return Error{"22023", "parameters count from 1"};
    }
    if (step.has_when()) SISAL_RETURN_IF_ERROR(CheckCondition(step.when(), i));
    if (step.statement().has_param_rows()) return Error{"0A000", "Statement.param_rows in a batch is not supported"};
    if (mode_ == Mode::kIndependent && step.has_savepoint()) {
      return Error{"22023", "a savepoint means nothing in BATCH_MODE_INDEPENDENT"};
    }
  }
  return Status();
}

// The depth is bounded by that of a message, 100.
Status BatchCall::CheckCondition(const v1::Condition& condition, uint32_t step) const {
  const auto check = [step](uint32_t of) {
    return of < step ? Status() : Status(UnknownStep("the condition", step, of));
  };
  switch (condition.test_case()) {
    case v1::Condition::kStepOk:
      return check(condition.step_ok());
    case v1::Condition::kStepFailed:
      return check(condition.step_failed());
    case v1::Condition::kStepEmpty:
      return check(condition.step_empty());
    case v1::Condition::kNegate:
      return CheckCondition(condition.negate(), step);
    case v1::Condition::kAll:
      for (const v1::Condition& c : condition.all().conditions()) SISAL_RETURN_IF_ERROR(CheckCondition(c, step));
      return Status();
    case v1::Condition::kAny:
      for (const v1::Condition& c : condition.any().conditions()) SISAL_RETURN_IF_ERROR(CheckCondition(c, step));
      return Status();
    case v1::Condition::TEST_NOT_SET:
      break;
  }
  return Error{"08P01", "the condition of step " + std::to_string(step) + " is empty"};
}

bool BatchCall::Holds(const v1::Condition& condition) const {
  const auto holds = [this](const v1::Condition& c) { return Holds(c); };
  switch (condition.test_case()) {
    case v1::Condition::kStepOk:
      return done_[condition.step_ok()].ok;
    case v1::Condition::kStepFailed:
      return done_[condition.step_failed()].ran && !done_[condition.step_failed()].ok;
    case v1::Condition::kStepEmpty:
      return done_[condition.step_empty()].ok && done_[condition.step_empty()].empty;
    case v1::Condition::kNegate:
      return !Holds(condition.negate());
    case v1::Condition::kAll:
      return std::all_of(condition.all().conditions().begin(), condition.all().conditions().end(), holds);
    case v1::Condition::kAny:
      return std::any_of(condition.any().conditions().begin(), condition.any().conditions().end(), holds);
    case v1::Condition::TEST_NOT_SET:
      break;
  }
  return false;
}

db::CallOptions BatchCall::CallOptionsOf() const {
  db::CallOptions options;
  options.cancel = context_.cancel.get();
  options.deadline = context_.deadline;
  options.durability = lease_ && lease_->durability.has_value() ? lease_->durability : transaction_request_.durability;
  return options;
}

// ---- ATOMIC and CONTINUE ----

bool BatchCall::MayRetry(const Status& status) const {
  if (in_handle_ || (status.sqlstate() != "40001" && status.sqlstate() != "40P01")) return false;
  if (context_.cancel->cancelled() || core_.clock.Now() >= context_.deadline) return false;
  return attempts_ <= transaction_request_.server_retries.value_or(kAttemptsMax);
}

Status BatchCall::RunTogether(wire::Buffer& response) {
  while (true) {
    Status status = OpenSession();
    bool replayed = false;
    if (status.ok() && !call_request_.idempotency_key.empty()) {
      Result<bool> replay = Replay(response);
      status = replay.status();
      replayed = replay.ok() && *replay;
    }
    if (replayed) return Status();
    const bool savepoint = lease_ && mode_ == Mode::kAtomic;
    if (status.ok() && savepoint) status = RunControl("SAVEPOINT sisal_batch", *session_);
    if (status.ok()) {
      status = RunSteps(response);
      if (savepoint) status = EndSavepoint(std::move(status));
    }
    if (status.ok()) status = FinishTransaction(response);
    if (status.ok() || !MayRetry(status)) return status;
    ++attempts_;
    response.Clear();
    io::Yield();
  }
}

// Nothing of a failed batch stays in its transaction. A statement's error has failed the transaction as a whole, unless
// statements are undone alone in it; an error of ours (a row count, a reference) has not.
Status BatchCall::EndSavepoint(Status status) {
  if (status.ok()) return RunControl("RELEASE SAVEPOINT sisal_batch", *session_);
  const db::TransactionPhase phase = session_->phase();
  const bool stays_failed = phase == db::TransactionPhase::kFailed && !lease_->statement_rollback;
  if (phase == db::TransactionPhase::kNone || stays_failed) return status;
  Status undone = RunControl("ROLLBACK TO SAVEPOINT sisal_batch", *session_);
  if (undone.ok()) undone = RunControl("RELEASE SAVEPOINT sisal_batch", *session_);
  if (!undone.ok()) session_->Rollback();
  return status;
}

Status BatchCall::OpenSession() {
  if (in_handle_) {
    SISAL_ASSIGN_OR_RETURN(lease_, core_.transactions.Acquire(request_.transaction().handle(), "",
                                                              {context_.deadline, context_.cancel.get()}));
    lease_->held.reset();
    session_ = lease_->session.get();
    return Status();
  }
  if (keeps_open_) SISAL_RETURN_IF_ERROR(core_.transactions.CheckRoom());
  own_session_ = core_.database.NewSession();
  session_ = own_session_.get();
  SISAL_RETURN_IF_ERROR(ApplySettings(request_.options(), *session_));
  return session_->Begin(transaction_request_.begin);
}

Result<bool> BatchCall::Replay(wire::Buffer& response) {
  std::string all;
  for (const v1::Step& step : request_.steps()) {
    const db::StatementId id = RequestedId(step.statement());
    AppendLengthPrefixed(all, {id.data(), id.size()});
    v1::Step rest = step;
    if (rest.has_statement()) rest.mutable_statement()->clear_body();
    AppendLengthPrefixed(all, rest.SerializeAsString());
  }
  const auto hash = Sha256("batch" + std::to_string(static_cast<int>(call_request_.encoding)) + all);
  fingerprint_ = std::string(reinterpret_cast<const char*>(hash.data()), 16);
  session_->transaction()->SetInterrupt({context_.deadline, context_.cancel.get()}, Duration::max());
  SISAL_ASSIGN_OR_RETURN(const auto found, session_->FindOutcome("", call_request_.idempotency_key, fingerprint_));
  if (!found.has_value()) return false;
  SISAL_ASSIGN_OR_RETURN(const StoredOutcome outcome, DecodeOutcome(*found));
  session_->Rollback();
  wire::TransactionState state;
  state.phase = wire::Phase::kCommitted;
  SISAL_ASSIGN_OR_RETURN(state.commit_position, SettlePosition(core_.database.store()));
  response.Append(outcome.rows);
  wire::WriteTransaction(kTransaction, state, response);
  return true;
}

Status BatchCall::RunSteps(wire::Buffer& response) {
  done_.assign(static_cast<size_t>(request_.steps_size()), {});
  stats_ = {};
  rows_bytes_ = 0;
  failed_step_.reset();
  wire::Writer writer(response);
  for (uint32_t i = 0; i < done_.size(); ++i) {
    const v1::Step& step = request_.steps(static_cast<int>(i));
    const size_t opened = writer.Open(kResults);
    if (step.has_when() && !Holds(step.when())) {
      writer.Varint(kSkipped, 1);
      writer.Close(opened);
      continue;
    }
    done_[i].ran = true;
    wire::Buffer rows;
    Status status = mode_ == Mode::kIndependent ? RunAlone(i, rows) : RunStep(i, rows);
    done_[i].ok = status.ok();
    rows_bytes_ += rows.size();
    if (status.ok()) {
      writer.Bytes(kOk, rows.view());
    } else if (mode_ == Mode::kAtomic) {
      failed_step_ = i;
      return status;
    } else {
      wire::CallError error(std::move(status).error());
      error.step = i;
      error.transaction_usable = lease_ && session_->phase() == db::TransactionPhase::kActive;
      v1::Failure failure;
      wire::FillFailure(error, failure);
      writer.Bytes(kError, failure.SerializeAsString());
    }
    writer.Close(opened);
  }
  return Status();
}

Status BatchCall::FinishTransaction(wire::Buffer& response) {
  wire::TransactionState state;
  if (in_handle_) {
    SISAL_RETURN_IF_ERROR(FinishInHandle(state));
  } else if (keeps_open_) {
    SISAL_RETURN_IF_ERROR(Adopt(state));
  } else {
    if (!call_request_.idempotency_key.empty()) {
      if (response.size() > kStoredRowsBytesMax) {
        return Error{"54000", "the rows of a call with an idempotency key are larger than what is stored with it"}
            .WithLimit("idempotent_answer_bytes", kStoredRowsBytesMax);
      }
      SISAL_RETURN_IF_ERROR(session_->StoreOutcome("", call_request_.idempotency_key, fingerprint_,
                                                   EncodeOutcome({0, "", std::string(response.view())})));
    }
    SISAL_ASSIGN_OR_RETURN(state.commit_position, session_->Commit(CallOptionsOf()));
    state.phase = wire::Phase::kCommitted;
  }
  if (attempts_ > 1) state.attempts = attempts_;
  wire::WriteTransaction(kTransaction, state, response);
  return Status();
}

Status BatchCall::FinishInHandle(wire::TransactionState& state) {
  handle_ = lease_->handle;
  state.handle = handle_;
  const bool active = session_->phase() == db::TransactionPhase::kActive;
  if (commit_ && active) {
    SISAL_RETURN_IF_ERROR(StoreOutcomeOf(*lease_, *session_));
    SISAL_ASSIGN_OR_RETURN(state.commit_position, session_->Commit(CallOptionsOf()));
    state.phase = wire::Phase::kCommitted;
    core_.transactions.End(lease_, {wire::Phase::kCommitted, std::nullopt, state.commit_position});
    return Status();
  }
  state.phase = active ? wire::Phase::kActive : wire::Phase::kFailed;
  state.expires_in_ms = core_.transactions.ExpiresInMs(*lease_);
  return Status();
}

Status BatchCall::Adopt(wire::TransactionState& state) {
  const bool active = session_->phase() == db::TransactionPhase::kActive;
  TransactionTable::CreateOptions options;
  options.idle_timeout = transaction_request_.idle_timeout;
  options.lifetime = transaction_request_.lifetime;
  options.durability = transaction_request_.durability;
  options.tag = call_request_.tag;
  options.statement_rollback = transaction_request_.begin.on_error == db::OnError::kRollbackStatement;
  SISAL_ASSIGN_OR_RETURN(lease_, core_.transactions.Create(own_session_, std::move(options), context_.cancel.get()));
  handle_ = lease_->handle;
  state.handle = handle_;
  state.phase = active ? wire::Phase::kActive : wire::Phase::kFailed;
  state.expires_in_ms = core_.transactions.ExpiresInMs(*lease_);
  return Status();
}

// ---- INDEPENDENT ----

Status BatchCall::RunApart(wire::Buffer& response) { return RunSteps(response); }

Status BatchCall::RunAlone(uint32_t step, wire::Buffer& result) {
  for (attempts_ = 1;; ++attempts_) {
    result.Clear();
    Status status = OpenSession();
    if (status.ok()) status = RunStep(step, result);
    if (status.ok()) status = session_->Commit(CallOptionsOf()).status();
    if (status.ok() || !MayRetry(status)) return status;
    io::Yield();
  }
}

// ---- One step ----

Status BatchCall::RunStep(uint32_t step, wire::Buffer& result) {
  const v1::Step& what = request_.steps(static_cast<int>(step));
  switch (what.action_case()) {
    case v1::Step::kStatement: {
      // In a transaction that goes on, a row count that is not as expected undoes this statement.
      const bool savepoint = mode_ == Mode::kContinue && what.has_expect();
      if (savepoint) SISAL_RETURN_IF_ERROR(RunControl("SAVEPOINT sisal_step", *session_));
      Status status = RunStatement(step, result);
      const bool expected = status.sqlstate() != "P0002" && status.sqlstate() != "P0003";
      if (savepoint && !expected) {
        SISAL_RETURN_IF_ERROR(RunControl("ROLLBACK TO SAVEPOINT sisal_step", *session_));
      }
      if (savepoint && session_->phase() == db::TransactionPhase::kActive) {
        SISAL_RETURN_IF_ERROR(RunControl("RELEASE SAVEPOINT sisal_step", *session_));
      }
      return status;
    }
    case v1::Step::kCall:
      return Error{"0A000", "Step.call is not supported"};
    case v1::Step::kSavepoint:
      return RunSavepoint(what, result);
    case v1::Step::ACTION_NOT_SET:
      break;
  }
  return Error{"08P01", "step " + std::to_string(step) + " has no action"};
}

Result<std::vector<type::Datum>> BatchCall::ParamsOf(const v1::Step& step, const sql::Statement& statement) const {
  const type::TextSettings settings = session_->input_settings();
  const size_t count = statement.params.size(), given = static_cast<size_t>(step.statement().params_size());
  std::vector<type::Datum> params(count);
  std::vector<bool> filled(count);
  bool fits = given <= count;
  for (size_t i = 0; fits && i < given; ++i) {
    const v1::Value& value = step.statement().params(static_cast<int>(i));
    const bool referred = std::any_of(step.refs().begin(), step.refs().end(),
                                      [&](const v1::ParamRef& ref) { return ref.param() == i + 1; });
    filled[i] = true;
    if (referred) continue;  // its place is held by any value, also an empty one
    SISAL_ASSIGN_OR_RETURN(params[i], wire::ToDatum(value, statement.params[i], i + 1, settings));
  }
  for (const v1::ParamRef& ref : step.refs()) {
    if (ref.param() > count)
      return Error{"08P01", "a reference sets $" + std::to_string(ref.param()) + ", which the statement does not have"};
    const Done& from = done_[ref.step()];
    if (!from.first_row.has_value()) {
      return Error{"P0002", "step " + std::to_string(ref.step()) + ", which a reference names, gave no row"};
    }
    if (ref.column() >= from.first_row->size()) {
      return Error{"22023", "step " + std::to_string(ref.step()) + " has no column " + std::to_string(ref.column())};
    }
    const type::Datum& value = (*from.first_row)[ref.column()];
    const type::SqlType& was = from.types[ref.column()];
    const type::SqlType& wanted = statement.params[ref.param() - 1];
    filled[ref.param() - 1] = true;
    if (value.is_null() || was.id == wanted.id) {
      params[ref.param() - 1] = value;
    } else {
      SISAL_ASSIGN_OR_RETURN(params[ref.param() - 1],
                             type::ParseText(wanted, type::FormatText(was, value, settings), settings));
    }
  }
  fits = fits && std::all_of(filled.begin(), filled.end(), [](bool is) { return is; });
  if (fits) return params;
  return Error{"08P01", "bind message supplies " + std::to_string(given) +
                            " parameters, but prepared statement \"\" requires " + std::to_string(count)};
}

Status BatchCall::CheckExpected(const v1::Step& step, uint64_t rows) const {
  if (!step.has_expect()) return Status();
  if (rows < step.expect().min()) {
    return Error{"P0002", "expected at least " + std::to_string(step.expect().min()) + " rows, there were " +
                              std::to_string(rows)};
  }
  if (step.expect().has_max() && rows > step.expect().max()) {
    return Error{"P0003", "expected at most " + std::to_string(step.expect().max()) + " rows, there were " +
                              std::to_string(rows)};
  }
  return Status();
}

// StepRows: header = 1, chunk = 2, rows_affected = 3, command = 4, warnings = 5.
Status BatchCall::RunStatement(uint32_t step, wire::Buffer& result) {
  const v1::Step& what = request_.steps(static_cast<int>(step));
  SISAL_ASSIGN_OR_RETURN(const db::PreparedPtr prepared, PrepareStatement(what.statement(), *session_, context_));
  const sql::Statement& statement = prepared->statement();
  SISAL_RETURN_IF_ERROR(CheckNoSessionSetting(statement));
  if (IsTransactionControl(statement.kind)) {
    return Error{"0A000", statement.command + " in a batch is not supported"}.WithHint(
        "Use Transaction.commit and Step.savepoint.");
  }
  SISAL_ASSIGN_OR_RETURN(std::vector<type::Datum> params, ParamsOf(what, statement));
  RowSource::Options options;
  options.cancel = context_.cancel;
  options.deadline = context_.deadline;
  options.encoding = call_request_.encoding;
  options.keep_first_row = true;
  RowSource source(prepared, session_->text_settings(), std::move(options));
  SISAL_RETURN_IF_ERROR(source.Start(*session_, std::move(params)));
  const bool keeps_rows = statement.returns_rows && !what.discard_rows();
  if (keeps_rows) {
    SISAL_ASSIGN_OR_RETURN(const bool ended,
                           source.Fill(kAnswerBytesMax - std::min(rows_bytes_, kAnswerBytesMax), core_.clock));
    if (!ended) {
      return Error{"54000", "the rows of a batch are larger than one answer"}.WithLimit("answer_bytes",
                                                                                        kAnswerBytesMax);
    }
  } else {
    SISAL_RETURN_IF_ERROR(source.Drain());
  }
  const db::ResultSet& ended = *source.result();
  const bool writes = !statement.read_only;
  SISAL_RETURN_IF_ERROR(CheckExpected(what, writes ? ended.rows_affected() : source.rows_seen()));
  Done& done = done_[step];
  done.empty = source.rows_seen() == 0 && ended.rows_affected() == 0;
  done.first_row = source.first_row();
  for (const sql::OutputColumn& column : statement.output) done.types.push_back(column.type);
  AddStats(ended.stats());

  wire::Writer writer(result);
  if (keeps_rows) {
    wire::HeaderOptions header;
    if (what.statement().has_sql()) header.statement_id = {prepared->id().data(), prepared->id().size()};
    header.known_shape = what.statement().known_shape();
    wire::WriteHeader(1, statement.output, header, result);
    source.encoder().Finish(2, result);
  }
  writer.VarintField(3, ended.rows_affected());
  if (ended.command() != "SELECT") writer.BytesField(4, ended.command());
  for (const db::Notice& notice : ended.notices()) {
    const size_t opened = writer.Open(5);
    writer.BytesField(1, notice.sqlstate), writer.BytesField(2, notice.message), writer.BytesField(3, notice.hint);
    writer.Close(opened);
  }
  return Status();
}

Status BatchCall::RunSavepoint(const v1::Step& step, wire::Buffer& result) {
  const v1::Savepoint& savepoint = step.savepoint();
  std::string command, name;
  switch (savepoint.action_case()) {
    case v1::Savepoint::kCreate:
      command = "SAVEPOINT", name = savepoint.create();
      break;
    case v1::Savepoint::kRelease:
      command = "RELEASE", name = savepoint.release();
      break;
    case v1::Savepoint::kRollbackTo:
      command = "ROLLBACK", name = savepoint.rollback_to();
      break;
    case v1::Savepoint::ACTION_NOT_SET:
      return Error{"08P01", "the savepoint step has no action"};
  }
  if (name.empty() || name.find('\0') != std::string::npos) return Error{"22023", "a savepoint needs a name"};
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  quoted += '"';
  const std::string sql = command == "ROLLBACK"  ? "ROLLBACK TO SAVEPOINT " + quoted
                          : command == "RELEASE" ? "RELEASE SAVEPOINT " + quoted
                                                 : "SAVEPOINT " + quoted;
  SISAL_RETURN_IF_ERROR(RunControl(sql, *session_));
  wire::Writer(result).Bytes(4, command);
  return Status();
}

void BatchCall::AddStats(const db::CallStats& stats) {
  stats_.plan_us += stats.plan_us;
  stats_.execute_us += stats.execute_us;
  stats_.lock_wait_us += stats.lock_wait_us;
  stats_.sync_wait_us += stats.sync_wait_us;
  stats_.rows_read += stats.rows_read;
}

}  // namespace sisal::service
