// The transactional store: ordered trees of rows, each row with versions, made durable by the log.
//
// Commit protocol: design (d). Uncommitted data lives in the transaction's write set and never enters a tree; a commit
// reserves log space (the position is its timestamp), applies, releases its intents, and is acknowledged when it is
// durable and the applied horizon has passed it.
//
// Concurrency: thread-safe. Ownership: borrows the Runtime.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "sisal/base/ids.h"
#include "sisal/base/status.h"
#include "sisal/io/runtime.h"
#include "sisal/txn/transaction.h"
#include "sisal/wal/log.h"

namespace sisal::txn {

struct StoreOptions {
  wal::LogOptions log;
  uint64_t transaction_bytes_max = 1 << 30;  // of one write set: 54000 above it
  Duration lock_timeout = Duration::max();   // default of TransactionOptions
};

struct StoreStats {
  uint64_t transactions_active = 0, commits = 0, rollbacks = 0;
  uint64_t conflicts = 0;              // 40001
  uint64_t serializable_failures = 0;  // of these, those of the check of serializable transactions
  uint64_t serializable_retained = 0;  // committed ones that later ones are checked against
  uint64_t deadlocks = 0;              // 40P01
  uint64_t intent_waits = 0, intent_wait_us_sum = 0;
  uint64_t intent_wait_us_pow2[24] = {};
  uint64_t trees = 0, entries = 0, versions = 0, bytes = 0;
  Timestamp applied, durable, oldest_snapshot;
};

struct CommittedRow {
  std::optional<std::string_view> value;  // nullopt: no row, or it is too long
  bool too_long = false;
};

class Store {
 public:
  // Replays the log. Errors: as wal::Log::Open; XX001 if a commit record is malformed. Suspends.
  static Result<std::unique_ptr<Store>> Open(io::Runtime& runtime, const std::string& directory,
                                             const StoreOptions& options, wal::ReplayProgress* progress);
  // Requires: Close or Abandon was called.
  virtual ~Store() = default;
  // Requires: no transaction is open. Writes the clean shutdown mark. Suspends.
  virtual Status Close() = 0;
  // Requires: no transaction is open. Leaves the files as a crash would. Suspends.
  virtual void Abandon() = 0;

  virtual std::unique_ptr<Transaction> Begin(const TransactionOptions& options) = 0;

  // One row as a read-only transaction that begins now would see it, without the transaction: what is newest, committed
  // and safe from a crash. The value lies in `arena`; one of more than `bytes_max` may be left out, so that the call
  // stays short. Any thread, attached or not; does not suspend. About 0.2 us.
  // Requires: the caller knows that the tree has not been dropped, see catalog::Catalog::newest_version.
  virtual CommittedRow GetCommitted(TreeId tree, std::string_view key, size_t bytes_max, Arena& arena) = 0;

  // Never given before; the tree exists once something is committed to it. Logged ids survive a restart: the number
  // restarts above every tree that the log has seen.
  virtual TreeId AllocateTree() = 0;
  // Next hidden row number of a tree whose keys are 8-byte big-endian numbers: above every key ever committed there and
  // every number handed out since the start. First call costs one descent.
  virtual uint64_t NextRowNumber(TreeId tree) = 0;

  virtual Timestamp applied() const = 0;  // all commits up to here are in the trees
  virtual Timestamp durable() const = 0;
  virtual Timestamp oldest_snapshot() const = 0;  // no present or future snapshot is older
  // Waits until all commits that have a position by now are in the trees: a snapshot taken after it has them. Suspends.
  virtual Status WaitApplied(const io::Interrupt& interrupt) = 0;
  virtual bool clean_start() const = 0;  // the log was new, or closed in order
  virtual bool read_only() const = 0;    // the log has failed: writes get 58030
  virtual StoreStats Stats() const = 0;
  virtual wal::Log& log() = 0;
};

}  // namespace sisal::txn
