#include "session.h"

#include <algorithm>

#include "result.h"
#include "sisal/base/bytes.h"

namespace sisal::db {

namespace {

uint64_t MicrosSince(const Clock& clock, Instant start) {
  return static_cast<uint64_t>((clock.Now() - start).count() / 1000);
}

Error TransactionAborted() {
  return Error("25P02", "current transaction is aborted, commands ignored until end of transaction block");
}

}  // namespace

type::TextSettings EngineSession::input_settings() const {
  type::TextSettings settings = settings_.text();
  settings.now_micros = open_ != nullptr ? open_->start_micros : engine_.runtime.clock().WallMicros();
  return settings;
}

TransactionPhase EngineSession::phase() const {
  if (open_ == nullptr) return TransactionPhase::kNone;
  return open_->failed ? TransactionPhase::kFailed : TransactionPhase::kActive;
}

Status EngineSession::Begin(const BeginOptions& options) {
  if (open_ != nullptr) return Error("25001", "there is already a transaction in progress");
  txn::TransactionOptions txn_options;
  txn_options.isolation = options.isolation.value_or(settings_.default_isolation());
  txn_options.read_only = options.read_only || settings_.default_read_only();
  txn_options.deferrable = options.deferrable;
  open_ = std::make_unique<OpenTransaction>();
  open_->on_error = options.on_error;
  open_->start_micros = engine_.runtime.clock().WallMicros();
  open_->txn = engine_.store->Begin(txn_options);
  open_->options = txn_options;
  return Status();
}

void EngineSession::BeginSingleUse(bool read_only) {
  txn::TransactionOptions options;
  options.isolation = settings_.default_isolation();
  options.read_only = read_only;
  open_ = std::make_unique<OpenTransaction>();
  open_->start_micros = engine_.runtime.clock().WallMicros();
  open_->txn = engine_.store->Begin(options);
  open_->options = options;
}

Result<Timestamp> EngineSession::Commit(const CallOptions& options) {
  if (open_ == nullptr) return Error("25P01", "there is no transaction in progress");
  if (open_->failed) {
    Rollback();
    return TransactionAborted();
  }
  txn::CommitOptions commit;
  commit.durability = options.durability;
  if (open_->changes != nullptr && !open_->changes->empty()) {
    commit.on_apply = [this](Timestamp position) { engine_.catalog->Publish(*open_->changes, position); };
  }
  Result<txn::CommitResult> result = open_->txn->Commit(commit);
  EndTransaction(result.ok());
  if (!result.ok()) return std::move(result).error();
  return result->position;
}

void EngineSession::Rollback() {
  if (open_ == nullptr) return;
  if (open_->txn != nullptr) open_->txn->Rollback();
  EndTransaction(false);
}

// SET LOCAL ends with the transaction; a rollback takes back SET too.
void EngineSession::EndTransaction(bool committed) {
  open_.reset();
  if (at_begin_.has_value()) settings_ = committed ? *std::move(after_commit_) : *std::move(at_begin_);
  at_begin_.reset();
  after_commit_.reset();
}

void EngineSession::Fail(bool single_use) {
  if (open_ == nullptr) return;
  if (single_use) {
    Rollback();
    return;
  }
  open_->failed = true;
  // Nothing can be gone back to: what waits for our intents need not wait for the client's ROLLBACK.
  if (open_->savepoints.empty() && open_->txn != nullptr) {
    open_->txn->Rollback();
    open_->txn.reset();
    open_->changes.reset();
  }
}

catalog::RootPtr EngineSession::Root() const {
  if (open_ != nullptr && open_->changes != nullptr) return open_->changes->root();
  if (open_ != nullptr && open_->root != nullptr) return open_->root;
  return engine_.catalog->Newest();
}

void EngineSession::PinRoot() {
  if (open_ == nullptr || open_->txn == nullptr || !open_->txn->has_snapshot()) return;
  open_->root = engine_.catalog->RootAt(open_->txn->snapshot());
  if (open_->changes != nullptr) open_->changes->Rebase(open_->root);
}

void EngineSession::Interrupt(const CallOptions& options) {
  if (open_ == nullptr || open_->txn == nullptr) return;
  const Duration lock_timeout = settings_.lock_timeout();
  open_->txn->SetInterrupt({options.deadline, options.cancel},
                           lock_timeout == Duration(0) ? Duration::max() : lock_timeout);
}

Status EngineSession::PrepareSnapshot() {
  txn::Transaction& txn = *open_->txn;
  if (txn.options().isolation != txn::Isolation::kReadCommitted || !txn.has_snapshot()) return Status();
  SISAL_RETURN_IF_ERROR(txn.TakeSnapshot());
  PinRoot();
  return Status();
}

function::Context EngineSession::MakeFunctionContext() {
  function::Context context;
  context.text = settings_.text();
  context.clock = &engine_.runtime.clock();
  context.statement_start_micros = context.clock->WallMicros();
  context.transaction_start_micros = open_ != nullptr ? open_->start_micros : context.statement_start_micros;
  context.text.now_micros = context.transaction_start_micros;
  context.random = &random_;
  context.sequences = &sequences_;
  context.server_version = engine_.options.server_version;
  return context;
}

Result<CachedPlanPtr> EngineSession::FindPlan(std::string_view sql, const StatementId& id, bool& cached) {
  const catalog::RootPtr root = Root();
  const PlanKey key{id, settings_.PlanHash()};
  CachedPlanPtr plan = engine_.plans->Find(key);
  cached = plan != nullptr && plan->ValidUnder(*root);
  if (cached) return plan;
  sql::AnalyzeContext context;
  context.root = root;
  context.search_path = settings_.search_path();
  context.text = settings_.text();
  context.text.now_micros = engine_.runtime.clock().WallMicros();
  SISAL_ASSIGN_OR_RETURN(sql::StatementPtr statement, sql::Analyze(sql, context));
  plan = std::make_shared<const CachedPlan>(id, std::string(sql), std::move(statement));
  const bool private_root = open_ != nullptr && open_->changes != nullptr;
  if (!private_root) engine_.plans->Insert(key, plan);
  return plan;
}

Result<PreparedPtr> EngineSession::Prepare(std::string_view sql, const CallOptions&) {
  return PrepareText(sql, StatementIdOf(sql));
}

// A statement that cannot be analysed fails its transaction as any other does. In a failed one only syntax is looked
// at.
Result<PreparedPtr> EngineSession::PrepareText(std::string_view sql, const StatementId& id) {
  bool cached;
  Result<CachedPlanPtr> plan = FindPlan(sql, id, cached);
  if (plan.ok()) return PreparedPtr(*std::move(plan));
  if (open_ == nullptr) return std::move(plan).error();
  if (open_->failed && plan.sqlstate() != "42601") return TransactionAborted();
  if (!open_->failed && open_->on_error == OnError::kAbortTransaction) Fail(false);
  return std::move(plan).error();
}

Result<PreparedPtr> EngineSession::PrepareById(const StatementId& id, const CallOptions&) {
  if (CachedPlanPtr plan = engine_.plans->Find({id, settings_.PlanHash()}); plan && plan->ValidUnder(*Root())) {
    return PreparedPtr(std::move(plan));
  }
  const std::string text = engine_.plans->FindText(id);
  if (text.empty()) {
    return Error("26000", "prepared statement is not known to this server: send its text once")
        .WithReason("STATEMENT_UNKNOWN");
  }
  return PrepareText(text, id);
}

Result<std::unique_ptr<ResultSet>> EngineSession::Execute(PreparedPtr prepared, std::vector<type::Datum> params,
                                                          const CallOptions& options) {
  const Instant start = engine_.runtime.clock().Now();
  const Duration timeout = settings_.statement_timeout();
  CallOptions bounded = options;
  if (timeout != Duration(0)) bounded.deadline = std::min(options.deadline, start + timeout);
  using Kind = sql::StatementKind;
  const Kind kind = prepared->statement().kind;
  const bool ends_failure = kind == Kind::kCommit || kind == Kind::kRollback || kind == Kind::kRollbackToSavepoint;
  if (phase() == TransactionPhase::kFailed && !ends_failure) return TransactionAborted();
  Interrupt(bounded);
  switch (kind) {
    case Kind::kQuery:
    case Kind::kInsert:
    case Kind::kUpdate:
    case Kind::kDelete:
      break;
    default:
      return ExecuteControl(std::move(prepared), bounded);
  }
  // A statement with a snapshot of its own sees definitions that its plan does not know yet.
  if (open_ != nullptr && open_->txn->options().isolation == txn::Isolation::kReadCommitted &&
      open_->txn->has_snapshot() &&
      (open_->changes != nullptr || Root()->version() != engine_.catalog->newest_version())) {
    SISAL_RETURN_IF_ERROR(PrepareSnapshot());
  }
  // The plan may be older than the root that this statement runs under.
  auto plan = std::static_pointer_cast<const CachedPlan>(prepared);
  bool cached = true;
  if (!plan->ValidUnder(*Root())) {
    SISAL_ASSIGN_OR_RETURN(CachedPlanPtr renewed, FindPlan(plan->sql(), plan->id(), cached));
    if (renewed->statement().params != plan->statement().params) {
      return Error("0A000", "cached plan must not change its parameter types").WithReason(kPlanChanged);
    }
    plan = std::move(renewed);
  }
  auto result = std::make_unique<PlanResult>(*this, std::move(plan), std::move(params), bounded);
  result->mutable_stats().plan_us = MicrosSince(engine_.runtime.clock(), start);
  result->mutable_stats().plan_cached = cached;
  SISAL_RETURN_IF_ERROR(result->CheckReadOnly());
  return std::unique_ptr<ResultSet>(std::move(result));
}

namespace {

std::string OutcomeKey(std::string_view scope, std::string_view key) {
  std::string bytes;
  AppendLengthPrefixed(bytes, scope);
  bytes.append(key);
  return bytes;
}

}  // namespace

// Entry: expiry (microseconds, 8 bytes), fingerprint (length-prefixed), outcome.
Result<std::optional<std::string>> EngineSession::FindOutcome(std::string_view scope, std::string_view key,
                                                              std::string_view fingerprint) {
  SISAL_CHECK(open_ != nullptr && open_->txn != nullptr);
  const std::string row_key = OutcomeKey(scope, key);
  SISAL_RETURN_IF_ERROR(open_->txn->Lock(catalog::kIdempotencyTree, row_key, txn::LockMode::kExclusive,
                                         txn::LockWait::kWait, txn::Conflict::kIgnore));
  Arena arena;
  SISAL_ASSIGN_OR_RETURN(const auto stored, open_->txn->GetNewest(catalog::kIdempotencyTree, row_key, arena));
  if (!stored.has_value()) return std::optional<std::string>();
  ByteReader reader(*stored);
  int64_t expiry = 0;
  std::string_view stored_fingerprint;
  if (!reader.ReadLittle(expiry) || !reader.ReadLengthPrefixed(stored_fingerprint)) {
    return Error("XX001", "a stored outcome of an idempotent call is damaged");
  }
  if (expiry <= engine_.runtime.clock().WallMicros()) return std::optional<std::string>();
  if (!fingerprint.empty() && stored_fingerprint != fingerprint) {
    return Error("22023", "the idempotency key was used for another request").WithReason("IDEMPOTENCY_KEY_REUSED");
  }
  return std::optional<std::string>(reader.rest());
}

Status EngineSession::StoreOutcome(std::string_view scope, std::string_view key, std::string_view fingerprint,
                                   std::string_view outcome) {
  SISAL_CHECK(open_ != nullptr && open_->txn != nullptr);
  const Duration window = engine_.options.idempotency_window;
  std::string value;
  AppendLittle<int64_t>(value, engine_.runtime.clock().WallMicros() + window.count() / 1000);
  AppendLengthPrefixed(value, fingerprint);
  value.append(outcome);
  return open_->txn->Put(catalog::kIdempotencyTree, OutcomeKey(scope, key), value);
}

}  // namespace sisal::db
