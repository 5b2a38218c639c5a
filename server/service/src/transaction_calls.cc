// BeginTransaction, CommitTransaction, RollbackTransaction, GetTransaction.
#include "idempotency.h"
#include "request_options.h"
#include "service_support.h"
#include "sisal/service/sql_service.h"
#include "sisal/v1/request.pb.h"
#include "sisal/v1/sql_service.pb.h"
#include "sisal/wire/request.h"
#include "sisal/wire/result.h"

namespace sisal::service {
namespace {

constexpr uint32_t kTransactionField = 1;  // of all four answers

// The live transaction of a key, if it is there: a retried BeginTransaction gets its handle back.
Result<bool> AnswerLive(Core& core, const std::string& key, const std::string& fingerprint, wire::Buffer& response) {
  std::string live_fingerprint;
  const std::string handle = core.transactions.FindByKey("", key, live_fingerprint);
  if (handle.empty()) return false;
  if (live_fingerprint != fingerprint) {
    return Error{"22023", "the idempotency key was used for another request"}.WithReason("IDEMPOTENCY_KEY_REUSED");
  }
  SISAL_ASSIGN_OR_RETURN(const TransactionTable::Known known, core.transactions.Look(handle, ""));
  wire::TransactionState state;
  state.handle = handle;
  state.phase = known.ending.phase;
  state.expires_in_ms = known.expires_in_ms;
  wire::WriteTransaction(kTransactionField, state, response);
  return true;
}

// Ends a transaction whose Commit has failed; the tombstone says why.
Error NoteFailedCommit(Core& core, TransactionTable::Lease& lease, Error error) {
  const bool unknown = error.sqlstate() == "08007";
  core.transactions.End(lease, {unknown ? wire::Phase::kCommitting : wire::Phase::kRolledBack, error, {}});
  return error;
}

}  // namespace

Status SqlService::BeginTransaction(Core& core, CallContext& context, wire::Buffer& response) {
  v1::BeginTransactionRequest request;
  SISAL_RETURN_IF_ERROR(wire::ParseMessage(context.request, request));
  SISAL_ASSIGN_OR_RETURN(const TransactionRequest wanted, CheckTransactionOptions(request.transaction(), false));
  SISAL_ASSIGN_OR_RETURN(const CallRequest call, CheckCallOptions(request.options(), {.key = true}));
  if (wanted.server_retries.has_value()) {
    return Error{"22023", "TransactionOptions.server_retries means nothing to BeginTransaction"};
  }
  std::string fingerprint;
  if (!call.idempotency_key.empty()) {
    fingerprint = FingerprintOfBegin(request.transaction());
    SISAL_ASSIGN_OR_RETURN(const bool live, AnswerLive(core, call.idempotency_key, fingerprint, response));
    if (live) return Status();
  }
  if (core.draining.load(std::memory_order_relaxed)) {
    return Error{"57P01", "the server is shutting down: no new transaction begins"};
  }
  SISAL_RETURN_IF_ERROR(core.transactions.CheckRoom());
  std::unique_ptr<db::Session> session = core.database.NewSession();
  SISAL_RETURN_IF_ERROR(ApplySettings(request.options(), *session));
  SISAL_RETURN_IF_ERROR(session->Begin(wanted.begin));
  wire::TransactionState state;
  if (!call.idempotency_key.empty()) {
    session->transaction()->SetInterrupt({context.deadline, context.cancel.get()}, Duration::max());
    SISAL_ASSIGN_OR_RETURN(const auto found, session->FindOutcome("", call.idempotency_key, fingerprint));
    if (found.has_value()) {
      session->Rollback();
      state.phase = wire::Phase::kCommitted;
      SISAL_ASSIGN_OR_RETURN(state.commit_position, SettlePosition(core.database.store()));
      wire::WriteTransaction(kTransactionField, state, response);
      return Status();
    }
  }
  TransactionTable::CreateOptions options;
  options.idle_timeout = wanted.idle_timeout;
  options.lifetime = wanted.lifetime;
  options.durability = wanted.durability;
  options.tag = call.tag;
  options.idempotency_key = call.idempotency_key;
  options.fingerprint = fingerprint;
  options.statement_rollback = wanted.begin.on_error == db::OnError::kRollbackStatement;
  SISAL_ASSIGN_OR_RETURN(const TransactionTable::Lease lease,
                         core.transactions.Create(session, std::move(options), context.cancel.get()));
  state.handle = lease->handle;
  state.phase = wire::Phase::kActive;
  state.expires_in_ms = core.transactions.ExpiresInMs(*lease);
  wire::WriteTransaction(kTransactionField, state, response);
  return Status();
}

Status SqlService::CommitTransaction(Core& core, CallContext& context, wire::Buffer& response) {
  v1::CommitTransactionRequest request;
  SISAL_RETURN_IF_ERROR(wire::ParseMessage(context.request, request));
  wire::TransactionState state;
  state.handle = request.handle();
  state.phase = wire::Phase::kCommitted;
  Result<TransactionTable::Lease> acquired =
      core.transactions.Acquire(request.handle(), "", {context.deadline, context.cancel.get()});
  if (!acquired.ok()) {
    // A commit whose answer was lost is asked for again.
    if (acquired.sqlstate() != "25P01") return std::move(acquired).error();
    SISAL_ASSIGN_OR_RETURN(const TransactionTable::Known known, core.transactions.Look(request.handle(), ""));
    state.commit_position = known.ending.commit_position;
    wire::WriteTransaction(kTransactionField, state, response);
    return Status();
  }
  TransactionTable::Lease& lease = *acquired;
  lease->held.reset();
  db::Session& session = *lease->session;
  if (session.phase() == db::TransactionPhase::kActive) SISAL_RETURN_IF_ERROR(StoreOutcomeOf(*lease, session));
  db::CallOptions options;
  options.cancel = context.cancel.get();
  options.durability = lease->durability;
  Result<Timestamp> committed = session.Commit(options);
  if (!committed.ok()) return NoteFailedCommit(core, lease, std::move(committed).error());
  state.commit_position = *committed;
  core.transactions.End(lease, {wire::Phase::kCommitted, std::nullopt, *committed});
  wire::WriteTransaction(kTransactionField, state, response);
  return Status();
}

Status SqlService::RollbackTransaction(Core& core, CallContext& context, wire::Buffer& response) {
  v1::RollbackTransactionRequest request;
  SISAL_RETURN_IF_ERROR(wire::ParseMessage(context.request, request));
  Result<TransactionTable::Lease> acquired =
      core.transactions.Acquire(request.handle(), "", {context.deadline, context.cancel.get()});
  if (acquired.ok()) {
    core.transactions.End(*acquired, {wire::Phase::kRolledBack, std::nullopt, {}});
  } else if (acquired.sqlstate() != "25P03") {  // what is wanted is so already
    return std::move(acquired).error();
  }
  wire::TransactionState state;
  state.handle = request.handle();
  state.phase = wire::Phase::kRolledBack;
  wire::WriteTransaction(kTransactionField, state, response);
  return Status();
}

// GetTransactionResponse: transaction = 1, rows_affected = 2, cause = 3.
Status SqlService::GetTransaction(Core& core, CallContext& context, wire::Buffer& response) {
  v1::GetTransactionRequest request;
  SISAL_RETURN_IF_ERROR(wire::ParseMessage(context.request, request));
  std::string handle = request.handle();
  wire::TransactionState state;
  if (request.selector_case() == v1::GetTransactionRequest::kIdempotencyKey) {
    const std::string& key = request.idempotency_key();
    std::string fingerprint;
    handle = core.transactions.FindByKey("", key, fingerprint);
    if (handle.empty() && core.running_keys.Contains(key)) {
      state.phase = wire::Phase::kActive;
      wire::WriteTransaction(kTransactionField, state, response);
      return Status();
    }
    if (handle.empty()) {
      const std::unique_ptr<db::Session> session = core.database.NewSession();
      SISAL_RETURN_IF_ERROR(session->Begin({}));
      session->transaction()->SetInterrupt({context.deadline, context.cancel.get()}, Duration::max());
      SISAL_ASSIGN_OR_RETURN(const auto found, session->FindOutcome("", key, ""));
      if (!found.has_value()) return Error{"02000", "nothing is known of this idempotency key"};
      SISAL_ASSIGN_OR_RETURN(const StoredOutcome outcome, DecodeOutcome(*found));
      session->Rollback();
      state.phase = wire::Phase::kCommitted;
      SISAL_ASSIGN_OR_RETURN(state.commit_position, SettlePosition(core.database.store()));
      wire::WriteTransaction(kTransactionField, state, response);
      wire::Writer(response).VarintField(2, outcome.rows_affected);
      return Status();
    }
  } else if (request.selector_case() == v1::GetTransactionRequest::SELECTOR_NOT_SET) {
    return Error{"08P01", "GetTransactionRequest has neither handle nor idempotency_key"};
  }
  SISAL_ASSIGN_OR_RETURN(const TransactionTable::Known known, core.transactions.Look(handle, ""));
  state.handle = handle;
  state.phase = known.ending.phase;
  state.expires_in_ms = known.expires_in_ms;
  state.commit_position = known.ending.commit_position;
  wire::WriteTransaction(kTransactionField, state, response);
  if (known.ending.cause.has_value()) {
    v1::Failure failure;
    wire::FillFailure(*known.ending.cause, failure);
    wire::Writer writer(response);
    writer.Length(3, failure.ByteSizeLong());
    Append(failure, response);
  }
  return Status();
}

}  // namespace sisal::service
