#include "client.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "error_text.h"
#include "text_width.h"

namespace sisal::cli {
namespace {
using std::chrono::milliseconds;

constexpr int kReceiveBytesMax = 16 << 20;
constexpr milliseconds kAskTimeout{5000};
// A lost connection is tried again at most this often; a call waits a little longer for it.
constexpr int kReconnectMilliseconds = 500;
constexpr milliseconds kReconnectWait{1000};
constexpr milliseconds kCleanupTimeout{2000};
// A large import takes its time: the longest life that the server grants.
constexpr int64_t kLifetimeSeconds = 3600;

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& server) {
  grpc::ChannelArguments arguments;
  arguments.SetUserAgentPrefix("sisal-cli");
  arguments.SetMaxReceiveMessageSize(kReceiveBytesMax);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // a database is no web site
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10000);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectMilliseconds);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMilliseconds);
  return grpc::CreateCustomChannel(server, grpc::InsecureChannelCredentials(), arguments);
}

// Takes blanks and comments off the front.
void SkipBlanks(std::string_view* sql) {
  size_t comment_depth = 0;
  while (!sql->empty()) {
    size_t skipped = 1;
    if (sql->starts_with("/*")) {
      ++comment_depth;
      skipped = 2;
    } else if (comment_depth > 0) {
      if (sql->starts_with("*/")) {
        --comment_depth;
        skipped = 2;
      }
    } else if (sql->starts_with("--")) {
      skipped = std::min(sql->find('\n'), sql->size());
    } else if (sql->front() != ' ' && (sql->front() < '\t' || sql->front() > '\r')) {
      return;
    }
    sql->remove_prefix(skipped);
  }
}

// Takes the next word off the front, in lower case; empty if something else comes.
std::string TakeWord(std::string_view* sql) {
  SkipBlanks(sql);
  std::string word;
  for (const char c : *sql) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (lower < 'a' || lower > 'z') break;
    word.push_back(lower);
  }
  sql->remove_prefix(word.size());
  return word;
}
}  // namespace

Status CollectedRows::Rows(const ColumnTypes& columns, const v1::ColumnBatch& batch) {
  for (uint32_t row = 0; row < batch.row_count(); ++row) {
    std::vector<Cell>& cells = rows.emplace_back(static_cast<size_t>(columns.size()));
    for (int i = 0; i < columns.size(); ++i) {
      FormatCell(columns.Get(i), batch.columns(i), row, &cells[static_cast<size_t>(i)]);
    }
  }
  return Status();
}

Client::Client(const std::string& server, Interrupts& interrupts, std::chrono::seconds idle_lease)
    : interrupts_(interrupts),
      idle_lease_(idle_lease),
      channel_(MakeChannel(server)),
      stub_(v1::SqlService::NewStub(channel_)) {}

Client::~Client() { interrupts_.SetCleanup(nullptr); }

grpc::Status Client::Invoke(const Call& call, milliseconds timeout) {
  // Threads that gRPC starts inside inherit this mask; SIGINT has a thread of its own.
  const ScopedSigint block(ScopedSigint::Action::kBlock);
  // gRPC answers with the failure of an earlier attempt, though the server may be back.
  if (channel_->GetState(/*try_to_connect=*/true) == GRPC_CHANNEL_TRANSIENT_FAILURE) {
    channel_->WaitForConnected(std::chrono::system_clock::now() + kReconnectWait);
  }
  grpc::ClientContext context;
  if (timeout.count() > 0) context.set_deadline(std::chrono::system_clock::now() + timeout);
  const Interrupts::Scope scope(interrupts_, context);
  return call(&context);
}

Result<v1::GetServerInfoResponse> Client::Connect(milliseconds timeout) {
  v1::GetServerInfoResponse response;
  const grpc::Status status = Invoke(
      [&](grpc::ClientContext* context) {
        return stub_->GetServerInfo(context, v1::GetServerInfoRequest(), &response);
      },
      timeout);
  if (!status.ok()) return FromStatus(status).error;
  return response;
}

Result<Client::Outcome> Client::Run(std::string_view sql, RowConsumer& consumer) {
  v1::Statement statement;
  statement.set_sql(std::string(sql));
  return Run(std::move(statement), consumer);
}

Result<Client::Outcome> Client::Run(v1::Statement statement, RowConsumer& consumer) {
  // The server would refuse it too, but protobuf complains to standard error when it sends such text.
  if (const size_t wrong = FindInvalidUtf8(statement.sql()); wrong != std::string::npos) {
    char byte[8];
    std::snprintf(byte, sizeof byte, "0x%02x", static_cast<unsigned char>(statement.sql()[wrong]));
    return Error("22021", std::string("invalid byte sequence for encoding \"UTF8\": ") + byte);
  }
  const bool ends = !handle_.empty() && EndsTransaction(statement.sql());
  const bool rolls_back = ends && RollsBack(statement.sql());
  v1::ExecuteRequest request;
  if (!handle_.empty()) {
    request.mutable_transaction()->set_handle(handle_);
  } else if (std::optional<Outcome> begun = BeginFor(statement.sql())) {
    return *std::move(begun);
  }
  request.mutable_statement()->Swap(&statement);
  Result<Outcome> outcome = Execute(std::move(request), consumer, milliseconds(0));
  if (!outcome.ok() && rolls_back) return SettleRollback(std::move(outcome).error());
  if (!outcome.ok() && ends) AskOutcome(&outcome.error());
  return outcome;
}

Result<Client::Outcome> Client::SettleRollback(Error error) {
  if (IsConnectionLoss(error)) {
    ForgetTransaction();
    return std::move(error).WithDetail("Nothing of the transaction is committed: the server rolls it back by itself.");
  }
  const bool restarted = error.sqlstate() == "08007";
  if (error.sqlstate() != "25P03" && !restarted) {
    AskOutcome(&error);
    return error;
  }
  ForgetTransaction();
  Outcome outcome;
  outcome.command = "ROLLBACK";
  v1::Warning& warning = outcome.warnings.emplace_back();
  warning.set_sqlstate("25P03");
  warning.set_message(restarted ? "the server has restarted: the transaction had been rolled back" : error.message());
  return outcome;
}

std::optional<Client::Outcome> Client::BeginFor(std::string_view sql) {
  const std::optional<BeginStatement> begin = ParseBegin(sql);
  if (!begin.has_value() || !Begin().ok()) return std::nullopt;
  Outcome outcome;
  outcome.command = begin->command;
  if (begin->modes.empty()) return outcome;
  CollectedRows none;
  const Result<Outcome> set = Run("SET TRANSACTION " + begin->modes, none);
  if (set.ok()) return outcome;
  static_cast<void>(Rollback());
  return std::nullopt;  // the statement itself gets the better error
}

Result<Client::Outcome> Client::RunAside(std::string_view sql, RowConsumer& consumer, milliseconds timeout) {
  const std::string handle = std::exchange(handle_, std::string());
  const Phase phase = std::exchange(phase_, Phase::kNone);
  v1::ExecuteRequest request;
  request.mutable_statement()->set_sql(std::string(sql));
  Result<Outcome> outcome = Execute(std::move(request), consumer, timeout);
  handle_ = handle;
  phase_ = phase;
  return outcome;
}

Result<Client::Outcome> Client::Execute(v1::ExecuteRequest request, RowConsumer& consumer, milliseconds timeout) {
  v1::ExecuteResponse response;
  const grpc::Status status =
      Invoke([&](grpc::ClientContext* context) { return stub_->Execute(context, request, &response); }, timeout);
  if (!status.ok()) return Failed(status);
  Outcome outcome;
  if (response.has_trailer()) Absorb(response.trailer(), &outcome);
  if (!response.has_header()) return outcome;
  outcome.has_rows = true;
  const ColumnTypes& columns = response.header().columns();
  SISAL_RETURN_IF_ERROR(consumer.Header(columns));
  SISAL_RETURN_IF_ERROR(Deliver(response.chunk(), columns, consumer));
  if (response.more().empty()) return outcome;

  v1::QueryRequest rest;
  rest.mutable_statement()->Swap(request.mutable_statement());
  if (!handle_.empty()) rest.mutable_transaction()->set_handle(handle_);
  rest.set_resume_token(response.more());
  SISAL_RETURN_IF_ERROR(ReadRest(std::move(rest), columns, consumer, &outcome, timeout));
  return outcome;
}

Status Client::ReadRest(v1::QueryRequest request, const ColumnTypes& columns, RowConsumer& consumer, Outcome* outcome,
                        milliseconds timeout) {
  Status delivered;
  const grpc::Status status = Invoke(
      [&](grpc::ClientContext* context) {
        const auto stream = stub_->Query(context, request);
        // A Ctrl-C while the rows before these were shown has found no call to cancel. The request is under way, so
        // that the server drops what it holds for us.
        if (interrupts_.pending()) context->TryCancel();
        v1::QueryResponse response;
        while (stream->Read(&response)) {
          if (!delivered.ok() || interrupts_.pending()) continue;  // what was under way when it was cancelled
          if (response.has_chunk()) delivered = Deliver(response.chunk(), columns, consumer);
          if (!delivered.ok()) context->TryCancel();
          if (response.has_trailer()) Absorb(response.trailer(), outcome);
        }
        return stream->Finish();
      },
      timeout);
  if (status.ok()) return delivered;
  Error error = Failed(status);
  if (!delivered.ok()) return delivered;
  return error;
}

Status Client::Deliver(const v1::ResultChunk& chunk, const ColumnTypes& columns, RowConsumer& consumer) {
  if (chunk.rows_case() == v1::ResultChunk::ROWS_NOT_SET) return Status();  // no rows
  if (!chunk.has_batch()) return Error("08P01", "the server sent rows in an encoding that was not asked for");
  SISAL_RETURN_IF_ERROR(CheckBatch(columns, chunk.batch()));
  return consumer.Rows(columns, chunk.batch());
}

void Client::Absorb(const v1::ResultTrailer& trailer, Outcome* outcome) {
  outcome->command = trailer.command();
  outcome->rows_affected = trailer.rows_affected();
  outcome->warnings.insert(outcome->warnings.end(), trailer.warnings().begin(), trailer.warnings().end());
  if (trailer.has_transaction()) Absorb(trailer.transaction());
}

void Client::Absorb(const v1::TransactionState& state) {
  if (state.handle().empty()) return;  // single use
  switch (state.phase()) {
    case v1::TRANSACTION_PHASE_ACTIVE:
    case v1::TRANSACTION_PHASE_FAILED:
    case v1::TRANSACTION_PHASE_COMMITTING:
      return KeepTransaction(state.handle(),
                             state.phase() == v1::TRANSACTION_PHASE_FAILED ? Phase::kFailed : Phase::kOpen);
    default:
      ForgetTransaction();
  }
}

Error Client::Failed(const grpc::Status& status) {
  RemoteError remote = FromStatus(status);
  // Even if the transaction has expired it stays with us as failed until ROLLBACK, so that no later statement of it
  // commits alone.
  if (!handle_.empty() && !remote.transaction_usable) phase_ = Phase::kFailed;
  return std::move(remote.error);
}

void Client::AskOutcome(Error* error) {
  v1::GetTransactionRequest request;
  request.set_handle(handle_);
  v1::GetTransactionResponse response;
  const grpc::Status status = Invoke(
      [&](grpc::ClientContext* context) { return stub_->GetTransaction(context, request, &response); }, kAskTimeout);
  const v1::TransactionPhase phase = status.ok() ? response.transaction().phase() : v1::TRANSACTION_PHASE_UNSPECIFIED;
  if (phase == v1::TRANSACTION_PHASE_ACTIVE || phase == v1::TRANSACTION_PHASE_FAILED) return;  // nothing has ended
  ForgetTransaction();
  if (phase == v1::TRANSACTION_PHASE_COMMITTED) {
    *error = std::move(*error).WithDetail("The transaction was committed.");
  } else if (phase != v1::TRANSACTION_PHASE_ROLLED_BACK && (IsConnectionLoss(*error) || error->sqlstate() == "57014")) {
    *error = std::move(*error).WithDetail("Whether the transaction was committed is not known.");
  }
}

void Client::KeepTransaction(const std::string& handle, Phase phase) {
  phase_ = phase;
  if (handle_ == handle) return;
  handle_ = handle;
  // A killed client must not leave its locks behind for the length of a lease.
  interrupts_.SetCleanup([stub = stub_.get(), handle] {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kCleanupTimeout);
    v1::RollbackTransactionRequest request;
    request.set_handle(handle);
    v1::RollbackTransactionResponse response;
    static_cast<void>(stub->RollbackTransaction(&context, request, &response).ok());
  });
}

void Client::ForgetTransaction() {
  if (!handle_.empty()) interrupts_.SetCleanup(nullptr);
  handle_.clear();
  phase_ = Phase::kNone;
}

Result<v1::PrepareResponse> Client::Prepare(std::string_view sql) {
  v1::PrepareRequest request;
  request.set_sql(std::string(sql));
  v1::PrepareResponse response;
  const grpc::Status status =
      Invoke([&](grpc::ClientContext* context) { return stub_->Prepare(context, request, &response); });
  if (!status.ok()) return FromStatus(status).error;
  return response;
}

Status Client::Begin() {
  v1::BeginTransactionRequest request;
  v1::TransactionOptions* options = request.mutable_transaction();
  options->mutable_max_lifetime()->set_seconds(kLifetimeSeconds);
  if (idle_lease_.count() > 0) options->mutable_idle_timeout()->set_seconds(idle_lease_.count());
  v1::BeginTransactionResponse response;
  const grpc::Status status =
      Invoke([&](grpc::ClientContext* context) { return stub_->BeginTransaction(context, request, &response); });
  if (!status.ok()) return FromStatus(status).error;
  Absorb(response.transaction());
  if (handle_.empty()) return Error("08P01", "the server's answer is malformed: BeginTransaction without a handle");
  return Status();
}

Status Client::Commit() {
  v1::CommitTransactionRequest request;
  request.set_handle(handle_);
  v1::CommitTransactionResponse response;
  const grpc::Status status =
      Invoke([&](grpc::ClientContext* context) { return stub_->CommitTransaction(context, request, &response); });
  if (status.ok()) {
    ForgetTransaction();
    return Status();
  }
  Error error = Failed(status);
  AskOutcome(&error);
  return error;
}

Status Client::Rollback() {
  v1::RollbackTransactionRequest request;
  request.set_handle(handle_);
  v1::RollbackTransactionResponse response;
  const grpc::Status status =
      Invoke([&](grpc::ClientContext* context) { return stub_->RollbackTransaction(context, request, &response); });
  ForgetTransaction();  // where the call failed, the lease ends it
  if (!status.ok()) return FromStatus(status).error;
  return Status();
}

bool EndsTransaction(std::string_view sql) {
  const std::string first = TakeWord(&sql);
  if (first != "commit" && first != "end" && first != "abort" && first != "rollback") return false;
  std::string next = TakeWord(&sql);
  if (next == "work" || next == "transaction") next = TakeWord(&sql);
  return next != "to" && next != "prepared";
}

bool RollsBack(std::string_view sql) {
  if (!EndsTransaction(sql)) return false;
  const std::string first = TakeWord(&sql);
  if (first != "rollback" && first != "abort") return false;
  std::string next = TakeWord(&sql);
  if (next == "work" || next == "transaction") next = TakeWord(&sql);
  return next.empty();
}

std::optional<BeginStatement> ParseBegin(std::string_view sql) {
  BeginStatement begin;
  const std::string first = TakeWord(&sql);
  std::string_view rest = sql;
  const std::string second = TakeWord(&rest);
  if (first == "start" && second == "transaction") {
    begin.command = "START TRANSACTION";
    sql = rest;
  } else if (first == "begin") {
    begin.command = "BEGIN";
    if (second == "work" || second == "transaction") sql = rest;
  } else {
    return std::nullopt;
  }
  SkipBlanks(&sql);
  begin.modes = sql;
  return begin;
}
}  // namespace sisal::cli
