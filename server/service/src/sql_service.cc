#include "sisal/service/sql_service.h"

#include "parsed_request.h"
#include "point_call.h"
#include "service_support.h"
#include "sisal/v1/request.pb.h"
#include "sisal/v1/sql_service.pb.h"
#include "sisal/wire/request.h"
#include "sisal/wire/result.h"
#include "statement_call.h"

namespace sisal::service {
namespace {

constexpr char kService[] = "sisal.v1.SqlService";

// As in the proto file; checked at the start.
enum Method {
  kExecute,
  kQuery,
  kExecuteBatch,
  kCall,
  kPrepare,
  kBeginTransaction,
  kCommitTransaction,
  kRollbackTransaction,
  kGetTransaction,
  kGetServerInfo,
  kSession,
  kIngest,
};

Outcome StartingUp() { return wire::CallError(Error{"57P03", "the database system is starting up"}); }

}  // namespace

SqlService::SqlService(ServerState& state) : state_(state) {
  SISAL_CHECK(MethodOf(kService, kExecute).name() == "Execute");
  SISAL_CHECK(MethodOf(kService, kPrepare).name() == "Prepare");
  SISAL_CHECK(MethodOf(kService, kGetServerInfo).name() == "GetServerInfo");
  SISAL_CHECK(MethodOf(kService, kIngest).name() == "Ingest");
}

Outcome SqlService::Unary(int method, CallContext& context, wire::Buffer& response) {
  return GuardCall([&]() -> Outcome {
    if (method == kCall || method == kSession || method == kIngest) {
      return wire::CallError(NotBuilt(MethodOf(kService, method).full_name()));
    }
    Core* core = state_.core();
    if (core == nullptr) return StartingUp();
    switch (method) {
      case kExecute:
        return Execute(*core, context, response);
      case kExecuteBatch:
        return ExecuteBatch(*core, context, response);
      case kPrepare:
        return ToOutcome(Prepare(*core, context, response));
      case kBeginTransaction:
        return ToOutcome(BeginTransaction(*core, context, response));
      case kCommitTransaction:
        return ToOutcome(CommitTransaction(*core, context, response));
      case kRollbackTransaction:
        return ToOutcome(RollbackTransaction(*core, context, response));
      case kGetTransaction:
        return ToOutcome(GetTransaction(*core, context, response));
      case kGetServerInfo:
        return ToOutcome(GetServerInfo(*core, context, response));
      default:
        return wire::CallError(NotBuilt(MethodOf(kService, method).full_name()));
    }
  });
}

bool SqlService::UnaryAtOnce(int method, std::string_view request, wire::Buffer& response) {
  if (method != kExecute) return false;
  Core* core = state_.core();
  if (core == nullptr) return false;
  try {
    if (ReadPointAtOnce(*core, request, response)) return true;
  } catch (const std::exception&) {  // memory has run out: Unary says so, if it happens there too
  }
  response.Clear();
  return false;
}

Outcome SqlService::ServerStream(int method, CallContext& context, ReplyStream& stream) {
  return GuardCall([&]() -> Outcome {
    if (method != kQuery) return wire::CallError(NotBuilt(MethodOf(kService, method).full_name()));
    Core* core = state_.core();
    if (core == nullptr) return StartingUp();
    return Query(*core, context, stream);
  });
}

Outcome SqlService::Execute(Core& core, CallContext& context, wire::Buffer& response) {
  ParsedRequest<v1::ExecuteRequest> request;
  if (Status parsed = request.Parse(context.request); !parsed.ok()) return ToOutcome(std::move(parsed));
  StatementCall call(core, context, request->statement(),
                     request->has_transaction() ? &request->transaction() : nullptr, request->options());
  return call.Execute(response);
}

Outcome SqlService::Query(Core& core, CallContext& context, ReplyStream& stream) {
  ParsedRequest<v1::QueryRequest> request;
  if (Status parsed = request.Parse(context.request); !parsed.ok()) return ToOutcome(std::move(parsed));
  StatementCall call(core, context, request->statement(),
                     request->has_transaction() ? &request->transaction() : nullptr, request->options());
  return call.Query(request->resume_token(), stream);
}

Status SqlService::Prepare(Core& core, CallContext& context, wire::Buffer& response) {
  ParsedRequest<v1::PrepareRequest> request;
  SISAL_RETURN_IF_ERROR(request.Parse(context.request));
  SISAL_RETURN_IF_ERROR(CheckCallOptions(request->options(), {}).status());
  if (request->sql().find('\0') != std::string::npos) {
    return Error{"22021", "invalid byte sequence for encoding \"UTF8\": 0x00"};
  }
  const std::unique_ptr<db::Session> session = core.database.NewSession();
  SISAL_RETURN_IF_ERROR(ApplySettings(request->options(), *session));
  db::CallOptions options;
  options.cancel = context.cancel.get();
  options.deadline = context.deadline;
  SISAL_ASSIGN_OR_RETURN(const db::PreparedPtr prepared, session->Prepare(request->sql(), options));

  const sql::Statement& statement = prepared->statement();
  wire::Writer writer(response);
  writer.Bytes(1, {prepared->id().data(), prepared->id().size()});
  for (const type::SqlType& type : statement.params) {
    const size_t opened = writer.Open(2);
    wire::WriteColumnType("", type, false, true, response);
    writer.Close(opened);
  }
  if (statement.returns_rows) {
    wire::HeaderOptions header;
    header.statement_id = {prepared->id().data(), prepared->id().size()};
    header.for_prepare = true;
    wire::WriteHeader(3, statement.output, header, response);
  }
  writer.VarintField(4, statement.read_only ? 1 : 0);
  writer.BytesField(5, statement.command);
  return Status();
}

Status SqlService::GetServerInfo(Core& core, CallContext& context, wire::Buffer& response) {
  ParsedRequest<v1::GetServerInfoRequest> request;
  SISAL_RETURN_IF_ERROR(request.Parse(context.request));
  const ServiceOptions& options = core.options;
  const auto milliseconds = [](Duration d) {
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(d).count());
  };
  v1::GetServerInfoResponse info;
  info.set_server_id(core.identity.ServerIdText());
  info.set_version(options.version);
  auto& limits = *info.mutable_limits();
  limits["request_bytes"] = options.request_bytes_max;
  limits["statement_bytes"] = sql::kStatementBytesMax;
  limits["statement_memory_bytes"] = options.statement_memory_bytes;
  limits["transaction_bytes"] = options.transaction_bytes;
  limits["transactions_count"] = options.leases.transactions_max;
  limits["calls_count"] = options.calls_max;
  limits["calls_per_transaction_count"] = options.leases.queue_max;
  limits["answer_bytes"] = 1 << 20;
  limits["chunk_bytes"] = 1 << 20;
  limits["row_bytes"] = kRowBytesMax;
  limits["held_results_count"] = HeldResults::kCountMax;
  limits["held_result_ms"] = milliseconds(HeldResults::kLifetime);
  limits["idempotency_key_bytes"] = 64;
  limits["idempotent_answer_bytes"] = 64 << 10;
  limits["idle_timeout_ms"] = milliseconds(options.leases.idle);
  limits["idle_timeout_min_ms"] = 1000;
  limits["idle_timeout_max_ms"] = 600'000;
  limits["lifetime_ms"] = milliseconds(options.leases.lifetime);
  limits["lifetime_max_ms"] = 3'600'000;
  limits["blocking_timeout_ms"] = milliseconds(options.leases.blocking);
  limits["tombstone_ms"] = milliseconds(options.leases.tombstone);
  limits["reader_stall_ms"] = milliseconds(options.reader_stall);
  limits["streams_per_connection_count"] = 1024;
  for (const char* feature :
       {"execute", "execute.param_rows", "execute.begin", "execute.more", "execute_batch", "query", "prepare",
        "transactions", "idempotency", "encoding.columns", "encoding.values", "encoding.packed"}) {
    info.add_features(feature);
  }
  info.set_durable_position(wire::EncodePosition(core.database.store().durable()));
  const auto window = std::chrono::duration_cast<std::chrono::seconds>(options.idempotency_window);
  info.mutable_idempotency_window()->set_seconds(window.count());
  Append(info, response);
  return Status();
}

}  // namespace sisal::service
