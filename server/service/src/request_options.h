// TransactionOptions and CallOptions of a request: checked, with nothing ignored.
#pragma once

#include <optional>
#include <string>

#include "sisal/db/database.h"
#include "sisal/wire/result.h"

namespace sisal::v1 {
class CallOptions;
class TransactionOptions;
}  // namespace sisal::v1

namespace sisal::service {

struct TransactionRequest {
  db::BeginOptions begin;
  std::optional<Duration> idle_timeout, lifetime;
  std::optional<wal::Durability> durability;
  std::optional<uint32_t> server_retries;
  bool explicit_begin = false;  // something that a single statement does not have by itself
};
// `single_use`: there is no lease to set. Errors: 22023, 0A000 naming the field.
Result<TransactionRequest> CheckTransactionOptions(const v1::TransactionOptions& options, bool single_use);

struct CallRequest {
  std::string idempotency_key, tag;
  wire::Encoding encoding = wire::Encoding::kColumns;
  bool stats = false;
  size_t chunk_bytes = 0;  // 0: the server's choice
};
// Which options mean something to an RPC.
struct CallOptionsTaken {
  bool key = false, result = false;  // result: encoding, chunk_bytes, stats_mode
};
// Errors: 22023 an option that the RPC does not take or a bad value, 0A000.
Result<CallRequest> CheckCallOptions(const v1::CallOptions& options, CallOptionsTaken taken);

// CallOptions.settings, as SET does. Errors: Session::SetSetting's.
Status ApplySettings(const v1::CallOptions& options, db::Session& session);

}  // namespace sisal::service
