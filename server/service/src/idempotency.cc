#include "idempotency.h"

#include "sisal/base/bytes.h"
#include "sisal/v1/request.pb.h"
#include "sisal/v1/result.pb.h"
#include "sisal/v1/transaction.pb.h"

namespace sisal::service {
namespace {

constexpr uint8_t kFormat = 1;

std::string Digest(std::string_view bytes) {
  const auto hash = Sha256(bytes);
  return std::string(reinterpret_cast<const char*>(hash.data()), 16);
}

}  // namespace

std::string FingerprintOf(const db::StatementId& id, const v1::Statement& statement, uint32_t encoding) {
  std::string bytes = "statement";
  bytes.append(id.data(), id.size());
  AppendVarint(bytes, encoding);
  for (const v1::Value& value : statement.params()) AppendLengthPrefixed(bytes, value.SerializeAsString());
  if (statement.has_param_rows()) AppendLengthPrefixed(bytes, statement.param_rows().SerializeAsString());
  return Digest(bytes);
}

std::string FingerprintOfBegin(const v1::TransactionOptions& options) {
  return Digest("begin" + options.SerializeAsString());
}

std::string EncodeOutcome(const StoredOutcome& outcome) {
  std::string bytes(1, static_cast<char>(kFormat));
  AppendVarint(bytes, outcome.rows_affected);
  AppendLengthPrefixed(bytes, outcome.command);
  AppendLengthPrefixed(bytes, outcome.rows);
  return bytes;
}

Result<StoredOutcome> DecodeOutcome(std::string_view bytes) {
  StoredOutcome outcome;
  std::string_view command, rows;
  uint8_t format = 0;
  ByteReader reader(bytes);
  if (!reader.ReadLittle(format) || format != kFormat || !reader.ReadVarint(outcome.rows_affected) ||
      !reader.ReadLengthPrefixed(command) || !reader.ReadLengthPrefixed(rows)) {
    return Error{"XX001", "a stored outcome of an idempotency key is damaged"};
  }
  outcome.command = std::string(command);
  outcome.rows = std::string(rows);
  return outcome;
}

Status StoreOutcomeOf(const TransactionEntry& entry, db::Session& session) {
  if (entry.idempotency_key.empty()) return Status();
  return session.StoreOutcome(entry.principal, entry.idempotency_key, entry.fingerprint,
                              EncodeOutcome({0, "COMMIT", {}}));
}

Result<Timestamp> SettlePosition(txn::Store& store) {
  const Timestamp applied = store.applied();
  if (store.durable() < applied) SISAL_RETURN_IF_ERROR(store.log().WaitDurable(Lsn(applied.value)));
  return applied;
}

}  // namespace sisal::service
