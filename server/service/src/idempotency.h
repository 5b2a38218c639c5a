// What an idempotency key stands for: the request's fingerprint, and the outcome that a retry gets.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sisal/db/database.h"
#include "sisal/service/transaction_table.h"

namespace sisal::v1 {
class Statement;
class TransactionOptions;
}  // namespace sisal::v1

namespace sisal::service {

// Rows of a keyed call are stored with its outcome, so they are few.
inline constexpr size_t kStoredRowsBytesMax = 64 << 10;

// The same statement and parameters have the same one, whether the statement is sent as text or as id.
std::string FingerprintOf(const db::StatementId& id, const v1::Statement& statement, uint32_t encoding);
std::string FingerprintOfBegin(const v1::TransactionOptions& options);

struct StoredOutcome {
  uint64_t rows_affected = 0;
  std::string command;
  std::string rows;  // header and chunk as fields 1 and 2 of an answer; empty: none
};
std::string EncodeOutcome(const StoredOutcome& outcome);
// Errors: XX001.
Result<StoredOutcome> DecodeOutcome(std::string_view bytes);

// Puts the outcome of a transaction that BeginTransaction opened with a key, right before its commit; nothing for one
// without. Requires: the transaction is active.
Status StoreOutcomeOf(const TransactionEntry& entry, db::Session& session);

// Makes sure that what was found under a key survives a crash before it is told, and returns a position that covers
// it: the commit's own position is not stored (it is not known when the outcome is written), and a later one serves a
// client just as well. Suspends. Errors: 08007, 58030.
Result<Timestamp> SettlePosition(txn::Store& store);

}  // namespace sisal::service
