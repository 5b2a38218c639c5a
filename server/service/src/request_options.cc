#include "request_options.h"

#include <algorithm>
#include <vector>

#include "sisal/v1/request.pb.h"
#include "sisal/v1/result.pb.h"
#include "sisal/v1/transaction.pb.h"

namespace sisal::service {
namespace {

constexpr size_t kKeyBytesMax = 64, kTagBytesMax = 128;
constexpr size_t kChunkBytesMin = 1 << 10, kChunkBytesMax = 1 << 20;

Error Unsupported(std::string what) { return Error{"0A000", std::move(what) + " is not supported"}; }

Result<Duration> CheckDuration(const google::protobuf::Duration& value, const char* name, Duration min, Duration max) {
  const bool sane = value.seconds() >= 0 && value.seconds() < 1'000'000 && value.nanos() >= 0;
  const Duration duration =
      sane ? std::chrono::seconds(value.seconds()) + std::chrono::nanoseconds(value.nanos()) : Duration(-1);
  if (duration >= min && duration <= max) return duration;
  const auto seconds = [](Duration d) {
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(d).count());
  };
  return Error{"22023", std::string("TransactionOptions.") + name + " must lie between " + seconds(min) + " s and " +
                            seconds(max) + " s"};
}

Status CheckIsolation(const v1::TransactionOptions& options, TransactionRequest& out) {
  switch (options.isolation()) {
    case v1::ISOLATION_LEVEL_UNSPECIFIED:
      return Status();
    case v1::ISOLATION_LEVEL_READ_COMMITTED:
      out.begin.isolation = txn::Isolation::kReadCommitted;
      break;
    case v1::ISOLATION_LEVEL_SNAPSHOT:
      out.begin.isolation = txn::Isolation::kSnapshot;
      break;
    case v1::ISOLATION_LEVEL_SERIALIZABLE:
      out.begin.isolation = txn::Isolation::kSerializable;
      break;
    default:
      return Error{"22023", "unknown TransactionOptions.isolation"};
  }
  out.explicit_begin = true;
  return Status();
}

}  // namespace

Result<TransactionRequest> CheckTransactionOptions(const v1::TransactionOptions& options, bool single_use) {
  TransactionRequest out;
  SISAL_RETURN_IF_ERROR(CheckIsolation(options, out));
  if (options.has_read_bound()) return Unsupported("TransactionOptions.read_bound");
  out.begin.read_only = options.read_only();
  out.begin.deferrable = options.deferrable();
  out.explicit_begin =
      out.explicit_begin || options.read_only() || options.deferrable() || options.has_server_retries();
  if (options.has_server_retries()) out.server_retries = options.server_retries();
  if (options.has_idle_timeout() || options.has_max_lifetime()) {
    if (single_use) return Error{"22023", "a single-use transaction has no idle_timeout and no max_lifetime"};
  }
  if (options.has_idle_timeout()) {
    SISAL_ASSIGN_OR_RETURN(out.idle_timeout, CheckDuration(options.idle_timeout(), "idle_timeout",
                                                           std::chrono::seconds(1), std::chrono::minutes(10)));
  }
  if (options.has_max_lifetime()) {
    SISAL_ASSIGN_OR_RETURN(out.lifetime, CheckDuration(options.max_lifetime(), "max_lifetime", std::chrono::seconds(1),
                                                       std::chrono::hours(1)));
  }
  if (options.durability() == v1::DURABILITY_FULL) out.durability = wal::Durability::kFull;
  if (options.durability() == v1::DURABILITY_NORMAL) out.durability = wal::Durability::kNormal;
  if (!v1::Durability_IsValid(options.durability())) return Error{"22023", "unknown TransactionOptions.durability"};
  if (!v1::OnError_IsValid(options.on_error())) return Error{"22023", "unknown TransactionOptions.on_error"};
  if (options.on_error() == v1::ON_ERROR_ROLLBACK_STATEMENT) out.begin.on_error = db::OnError::kRollbackStatement;
  return out;
}

Result<CallRequest> CheckCallOptions(const v1::CallOptions& options, CallOptionsTaken taken) {
  CallRequest out;
  out.idempotency_key = options.idempotency_key();
  if (!out.idempotency_key.empty() && !taken.key) {
    return Error{"22023", "CallOptions.idempotency_key goes with single-use writes and BeginTransaction only"};
  }
  if (out.idempotency_key.size() > kKeyBytesMax) return Error{"22023", "an idempotency_key has 1 to 64 bytes"};
  if (options.tag().size() > kTagBytesMax) return Error{"22023", "CallOptions.tag has at most 128 bytes"};
  out.tag = options.tag();
  if (options.priority() != v1::PRIORITY_UNSPECIFIED && options.priority() != v1::PRIORITY_NORMAL) {
    return Unsupported("CallOptions.priority other than NORMAL");
  }
  if (!taken.result && (options.stats_mode() != 0 || options.encoding() != 0 || options.chunk_bytes() != 0)) {
    return Error{"22023", "this call takes no CallOptions.stats_mode, encoding and chunk_bytes"};
  }
  switch (options.stats_mode()) {
    case v1::STATS_MODE_UNSPECIFIED:
      break;
    case v1::STATS_MODE_BASIC:
      out.stats = true;
      break;
    default:
      return Unsupported("CallOptions.stats_mode other than BASIC").WithHint("EXPLAIN shows a statement's plan.");
  }
  switch (options.encoding()) {
    case v1::ENCODING_UNSPECIFIED:
    case v1::ENCODING_COLUMNS:
      break;
    case v1::ENCODING_VALUES:
      out.encoding = wire::Encoding::kValues;
      break;
    case v1::ENCODING_PACKED:
      out.encoding = wire::Encoding::kPacked;
      break;
    case v1::ENCODING_ARROW_IPC:
      return Unsupported("CallOptions.encoding ARROW_IPC");
    default:
      return Error{"22023", "unknown CallOptions.encoding"};
  }
  if (options.chunk_bytes() != 0) {
    out.chunk_bytes = std::clamp<size_t>(options.chunk_bytes(), kChunkBytesMin, kChunkBytesMax);
  }
  return out;
}

Status ApplySettings(const v1::CallOptions& options, db::Session& session) {
  // In the order of their names: a map has none, and two settings may depend on each other.
  std::vector<std::pair<std::string_view, std::string_view>> sorted(options.settings().begin(),
                                                                    options.settings().end());
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [name, value] : sorted) SISAL_RETURN_IF_ERROR(session.SetSetting(name, value));
  return Status();
}

}  // namespace sisal::service
