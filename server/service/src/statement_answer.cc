// The second half of a StatementCall: rows, the end of the transaction, and the trailer.
#include <algorithm>

#include "idempotency.h"
#include "sisal/v1/request.pb.h"
#include "sisal/v1/result.pb.h"
#include "sisal/v1/transaction.pb.h"
#include "statement_call.h"
#include "statement_support.h"

namespace sisal::service {
namespace {

constexpr size_t kFirstChunkBytes = 16 << 10, kChunkBytesMax = 256 << 10;
constexpr Duration kFirstChunkWait = std::chrono::milliseconds(1), kChunkWait = std::chrono::milliseconds(50);

// The rest of a large read in an open transaction; the transaction's next call ends it.
struct HeldInTransaction : HeldWork {
  HeldInTransaction(std::string t, std::unique_ptr<RowSource> s) : token(std::move(t)), source(std::move(s)) {}
  std::string token;
  std::unique_ptr<RowSource> source;
};

Error ResultExpired() {
  return Error{"55000", "the rest of this result is no longer held"}
      .WithHint("Run the statement again, with Query if its result is large.")
      .WithReason("RESULT_EXPIRED");
}

// While it lives, GetTransaction knows that a call with the key runs.
class RunningKey {
 public:
  RunningKey(RunningKeys& keys, const std::string& key) : keys_(keys), key_(key) {
    if (!key_.empty()) keys_.Add(key_);
  }
  ~RunningKey() {
    if (!key_.empty()) keys_.Remove(key_);
  }

 private:
  RunningKeys& keys_;
  const std::string& key_;
};

}  // namespace

Status StatementCall::ExecuteOnce(wire::Buffer& response) {
  const RunningKey running(core_.running_keys, call_request_.idempotency_key);
  if (!call_request_.idempotency_key.empty()) {
    SISAL_ASSIGN_OR_RETURN(const bool replayed, Replay(response));
    if (replayed) return Status();
  }
  if (lease_) lease_->held.reset();
  SISAL_ASSIGN_OR_RETURN(prepared_, PrepareStatement(statement_, *session_, context_));
  const bool is_commit = prepared_->statement().kind == sql::StatementKind::kCommit;
  if (lease_ && is_commit && session_->phase() == db::TransactionPhase::kActive) {
    SISAL_RETURN_IF_ERROR(StoreOutcomeOfLease());
  }
  SISAL_RETURN_IF_ERROR(Start());
  const size_t budget = call_request_.chunk_bytes == 0 ? kAnswerBytesMax : call_request_.chunk_bytes;
  if (statement_.has_param_rows()) {
    SISAL_RETURN_IF_ERROR(FillParamRows(budget));
  } else {
    SISAL_ASSIGN_OR_RETURN(const bool ended, source_->Fill(budget, core_.clock));
    if (!ended) return AnswerPart(response);
  }
  WriteRows(true, response);
  NoteEnd();
  return FinishTransaction(response.view(), response);
}

Error StatementCall::AnswerTooLarge() {
  return Error{"54000", "the rows of a call that writes or commits are larger than one answer"}
      .WithHint("Read large results with Query.")
      .WithLimit("answer_bytes", kAnswerBytesMax);
}

Status StatementCall::AnswerPart(wire::Buffer& response) {
  const bool read_only = source_->statement().read_only;
  if (!read_only || commit_ || !call_request_.idempotency_key.empty()) {
    const Error reason = AnswerTooLarge();
    // An abandoned write fails its transaction. Where only the statement is to be undone it is made to fail instead;
    // if it ends all the same, the transaction as a whole is what can still be undone.
    const bool statement_alone = lease_ && lease_->statement_rollback && !read_only;
    const bool undone = !statement_alone || source_->Undo(reason);
    source_.reset();
    if (!undone) session_->Rollback();
    return reason;
  }
  WriteRows(true, response);
  wire::TransactionState state;
  const bool stays_open = mode_ == Mode::kBegin || mode_ == Mode::kHandle;
  if (mode_ == Mode::kBegin) {
    SISAL_RETURN_IF_ERROR(Adopt(state));
  } else if (stays_open) {
    DescribeLease(wire::Phase::kActive, state);
  }
  AppendTrailer(stays_open ? &state : nullptr, response);
  SISAL_ASSIGN_OR_RETURN(const std::string token, HoldRest());
  wire::Writer(response).Bytes(kMore, token);
  return Status();
}

Result<std::string> StatementCall::HoldRest() {
  if (lease_) {
    std::string token = core_.codec.Encode(HandleKind::kHeldResult, core_.next_token.fetch_add(1), "");
    lease_->held = std::make_unique<HeldInTransaction>(token, std::move(source_));
    return token;
  }
  HeldResult rest;
  rest.session = std::move(own_session_);
  rest.commit_at_end = mode_ == Mode::kExplicit;
  rest.source = std::move(source_);
  return core_.held->Put(std::move(rest), "");
}

Outcome StatementCall::Query(std::string_view resume_token, ReplyStream& stream) {
  started_ = core_.clock.Now();
  Status status = Check(true);
  while (status.ok()) {
    status = resume_token.empty() ? StartQuery() : ResumeHeld(resume_token);
    if (status.ok()) status = StreamRows(stream);
    if (status.ok() || has_streamed_ || !resume_token.empty() || !MayRetry(status) || !PrepareRetry(status)) break;
    status = Status();
  }
  return status.ok() ? std::nullopt : Fail(std::move(status).error());
}

Status StatementCall::StartQuery() {
  SISAL_RETURN_IF_ERROR(OpenSession());
  if (lease_) lease_->held.reset();
  SISAL_ASSIGN_OR_RETURN(prepared_, PrepareStatement(statement_, *session_, context_));
  return Start();
}

Status StatementCall::ResumeHeld(std::string_view token) {
  if (mode_ == Mode::kHandle) {
    SISAL_RETURN_IF_ERROR(OpenSession());
    auto* held = static_cast<HeldInTransaction*>(lease_->held.get());
    if (held == nullptr || held->token != token) return ResultExpired();
    source_ = std::move(held->source);
    lease_->held.reset();
  } else {
    SISAL_ASSIGN_OR_RETURN(HeldResult rest, core_.held->Take(token, ""));
    own_session_ = std::move(rest.session);
    session_ = own_session_.get();
    source_ = std::move(rest.source);
    mode_ = rest.commit_at_end ? Mode::kExplicit : Mode::kAuto;
  }
  context_.AlsoCancel(source_->cancel());
  if (RequestedId(statement_) != source_->prepared().id() || call_request_.encoding != source_->encoding()) {
    return Error{"22023", "the resume token belongs to another statement or encoding"};
  }
  return Status();
}

Status StatementCall::StreamRows(ReplyStream& stream) {
  const bool sized = call_request_.chunk_bytes != 0;
  size_t budget = sized ? call_request_.chunk_bytes : kFirstChunkBytes;
  const size_t budget_max = sized ? call_request_.chunk_bytes : kChunkBytesMax;
  for (bool first = true;; first = false) {
    SISAL_ASSIGN_OR_RETURN(const bool ended, source_->Fill(budget, core_.clock, first ? kFirstChunkWait : kChunkWait));
    wire::Buffer message;
    WriteRows(first, message);
    if (ended) {
      NoteEnd();
      SISAL_RETURN_IF_ERROR(FinishTransaction({}, message));
    }
    has_streamed_ = true;
    SISAL_RETURN_IF_ERROR(stream.Write(std::move(message)));
    if (ended) return Status();
    budget = std::min(4 * budget, budget_max);
  }
}

void StatementCall::WriteRows(bool first, wire::Buffer& message) {
  const sql::Statement& statement = source_->statement();
  if (!statement.returns_rows) return;
  if (first) {
    wire::HeaderOptions options;
    const db::StatementId& id = source_->prepared().id();
    if (statement_.body_case() == v1::Statement::kSql) options.statement_id = {id.data(), id.size()};
    options.known_shape = statement_.known_shape();
    wire::WriteHeader(kHeader, statement.output, options, message);
  }
  if (first || source_->encoder().row_count() > 0) source_->encoder().Finish(kChunk, message);
}

// Requires: the statement has ended. Afterwards its session may go.
void StatementCall::NoteEnd() {
  ended_.command = source_->statement().command;
  ended_.read_only = source_->statement().read_only;
  if (const db::ResultSet* result = source_->result(); result != nullptr) {
    ended_.stats = result->stats();
    ended_.notices = result->notices();
    ended_.command = result->command();
    ended_.commit_position = result->commit_position();
    ended_.rows_affected = statement_.has_param_rows() ? param_rows_affected_ : result->rows_affected();
  }
  source_.reset();
}

db::CallOptions StatementCall::CommitOptions() const {
  db::CallOptions options;
  options.cancel = context_.cancel.get();
  options.deadline = context_.deadline;
  options.durability = transaction_request_.durability;
  if (lease_ && lease_->durability.has_value()) options.durability = lease_->durability;
  return options;
}

Status StatementCall::FinishTransaction(std::string_view rows, wire::Buffer& message) {
  wire::TransactionState state;
  bool told = true;
  switch (mode_) {
    case Mode::kAuto:
      if (session_->phase() != db::TransactionPhase::kNone) {  // SQL's BEGIN
        SISAL_RETURN_IF_ERROR(Adopt(state));
        break;
      }
      told = !ended_.read_only;
      state.phase = wire::Phase::kCommitted;
      state.commit_position = ended_.commit_position;
      break;
    case Mode::kExplicit: {
      if (!call_request_.idempotency_key.empty()) SISAL_RETURN_IF_ERROR(StoreOutcome(rows));
      SISAL_ASSIGN_OR_RETURN(state.commit_position, session_->Commit(CommitOptions()));
      state.phase = wire::Phase::kCommitted;
      told = !ended_.read_only || (transaction_ != nullptr && transaction_->has_begin());
      break;
    }
    case Mode::kBegin:
      SISAL_RETURN_IF_ERROR(Adopt(state));
      break;
    case Mode::kHandle:
      SISAL_RETURN_IF_ERROR(FinishInHandle(state));
      break;
  }
  const uint32_t attempts = std::max(attempts_, ended_.stats.attempts);
  if (attempts > 1) state.attempts = attempts;
  AppendTrailer(told ? &state : nullptr, message);
  return Status();
}

Status StatementCall::FinishInHandle(wire::TransactionState& state) {
  handle_ = lease_->handle;
  const db::TransactionPhase phase = session_->phase();
  if (phase == db::TransactionPhase::kNone) {  // SQL's COMMIT or ROLLBACK
    const bool committed = ended_.command == "COMMIT";
    state.phase = committed ? wire::Phase::kCommitted : wire::Phase::kRolledBack;
    state.commit_position = ended_.commit_position;
  } else if (commit_) {
    SISAL_RETURN_IF_ERROR(StoreOutcomeOfLease());
    SISAL_ASSIGN_OR_RETURN(state.commit_position, session_->Commit(CommitOptions()));
    state.phase = wire::Phase::kCommitted;
  } else {
    DescribeLease(phase == db::TransactionPhase::kActive ? wire::Phase::kActive : wire::Phase::kFailed, state);
    return Status();
  }
  state.handle = handle_;
  core_.transactions.End(lease_, {state.phase, std::nullopt, state.commit_position});
  return Status();
}

// The open transaction of our session gets a handle.
Status StatementCall::Adopt(wire::TransactionState& state) {
  TransactionTable::CreateOptions options;
  options.idle_timeout = transaction_request_.idle_timeout;
  options.lifetime = transaction_request_.lifetime;
  options.durability = transaction_request_.durability;
  options.tag = call_request_.tag;
  options.statement_rollback = transaction_request_.begin.on_error == db::OnError::kRollbackStatement;
  SISAL_ASSIGN_OR_RETURN(lease_, core_.transactions.Create(own_session_, std::move(options), context_.cancel.get()));
  DescribeLease(wire::Phase::kActive, state);
  return Status();
}

void StatementCall::DescribeLease(wire::Phase phase, wire::TransactionState& state) {
  handle_ = lease_->handle;
  state.handle = handle_;
  state.phase = phase;
  state.expires_in_ms = core_.transactions.ExpiresInMs(*lease_);
}

void StatementCall::AppendTrailer(const wire::TransactionState* state, wire::Buffer& message) const {
  wire::Trailer trailer;
  trailer.rows_affected = ended_.rows_affected;
  if (call_request_.stats) {
    trailer.stats = &ended_.stats;
    const auto micros = [](Duration d) { return static_cast<uint64_t>(std::max<int64_t>(d.count(), 0) / 1000); };
    trailer.total_us = micros(core_.clock.Now() - context_.received);
    trailer.queue_us = micros(started_ - context_.received);
  }
  trailer.transaction = state;
  trailer.warnings = ended_.notices;
  trailer.command = ended_.command;
  wire::WriteTrailer(kTrailer, trailer, message);
}

Result<bool> StatementCall::Replay(wire::Buffer& response) {
  fingerprint_ = FingerprintOf(RequestedId(statement_), statement_, static_cast<uint32_t>(call_request_.encoding));
  session_->transaction()->SetInterrupt({context_.deadline, context_.cancel.get()}, Duration::max());
  SISAL_ASSIGN_OR_RETURN(const std::optional<std::string> found,
                         session_->FindOutcome("", call_request_.idempotency_key, fingerprint_));
  if (!found.has_value()) return false;
  SISAL_ASSIGN_OR_RETURN(const StoredOutcome outcome, DecodeOutcome(*found));
  session_->Rollback();
  wire::TransactionState state;
  SISAL_ASSIGN_OR_RETURN(state.commit_position, SettlePosition(core_.database.store()));
  state.phase = wire::Phase::kCommitted;
  response.Append(outcome.rows);
  ended_.rows_affected = outcome.rows_affected;
  ended_.command = outcome.command;
  AppendTrailer(&state, response);
  return true;
}

Status StatementCall::StoreOutcome(std::string_view rows) {
  if (rows.size() > kStoredRowsBytesMax) {
    return Error{"54000", "the rows of a call with an idempotency key are larger than what is stored with it"}
        .WithLimit("idempotent_answer_bytes", kStoredRowsBytesMax);
  }
  return session_->StoreOutcome("", call_request_.idempotency_key, fingerprint_,
                                EncodeOutcome({ended_.rows_affected, ended_.command, std::string(rows)}));
}

// Of a transaction that BeginTransaction opened with a key.
Status StatementCall::StoreOutcomeOfLease() { return StoreOutcomeOf(*lease_, *session_); }

}  // namespace sisal::service
