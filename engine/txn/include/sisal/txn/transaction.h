// One transaction over the store. Confined: one fiber at a time uses it (it may move between fibers and loops while
// nothing runs in it).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sisal/base/arena.h"
#include "sisal/base/clock.h"
#include "sisal/base/ids.h"
#include "sisal/base/status.h"
#include "sisal/io/sync.h"
#include "sisal/wal/log.h"

namespace sisal::txn {

enum class Isolation : uint8_t {
  kReadCommitted,  // a snapshot per statement
  kSnapshot,       // SQL's REPEATABLE READ: one snapshot, first committer wins
  kSerializable,   // kSnapshot, and COMMIT fails with 40001 where the outcome may be that of no serial order
};

struct TransactionOptions {
  Isolation isolation = Isolation::kSnapshot;
  bool read_only = false;  // snapshot at min(applied, durable): waits for nothing, never shows what a crash can undo
  // Of a serializable transaction that is read-only: TakeSnapshot waits for a snapshot at which it can neither fail nor
  // make others fail. Else without effect.
  bool deferrable = false;
  bool operator==(const TransactionOptions&) const = default;
};

enum class LockMode : uint8_t { kShared, kExclusive };
enum class LockWait : uint8_t { kWait, kNoWait };
// What the newest committed version may be when an intent is granted.
enum class Conflict : uint8_t {
  kCheck,   // newer than the snapshot: 40001 (update, delete of a row that was read)
  kIgnore,  // an insert: whoever calls looks at GetNewest
};

// [lower, upper) in key order; empty upper: to the end.
struct KeyRange {
  std::string lower, upper;
};
enum class Direction : uint8_t { kForward, kBackward };

// Entries of one step of a scan. Views point into `arena`, valid until the next Clear.
struct EntryBatch {
  std::vector<std::string_view> keys, values;
  Arena arena{16 << 10};
  void Clear() { keys.clear(), values.clear(), arena.Reset(); }
};

class Cursor {
 public:
  virtual ~Cursor() = default;
  // Clears `batch` and appends up to `limit` further entries as the transaction sees them (its own writes at the time
  // of the call included); none: the end. Suspends (yields between steps).
  virtual Status Next(size_t limit, EntryBatch& batch) = 0;
};

struct CommitResult {
  Timestamp position;  // of the commit record's end; 0 if the transaction wrote nothing
};

struct CommitOptions {
  std::optional<wal::Durability> durability;  // absent: the log's
  // false: Commit returns once the record has its place in the log and is applied. Whatever is logged after that is not
  // there after a crash without it; alone it may be lost.
  bool wait = true;
  // Runs after the position is fixed and before any later snapshot can include it: publishes a catalog root. Must not
  // fail nor suspend.
  std::function<void(Timestamp)> on_apply;
};

// A place in the write set to go back to.
struct Mark {
  uint64_t position = 0;
};

class Transaction {
 public:
  virtual ~Transaction() = default;  // rolls back if it is still open

  virtual TxnId id() const = 0;
  virtual const TransactionOptions& options() const = 0;
  virtual bool has_snapshot() const = 0;
  virtual Timestamp snapshot() const = 0;  // Requires: has_snapshot()
  virtual bool has_writes() const = 0;
  virtual uint64_t write_bytes() const = 0;
  virtual uint64_t lock_count() const = 0;

  // What may end this transaction's waits from now on; the statement's cancel token and deadline. Default: nothing.
  virtual void SetInterrupt(const io::Interrupt& interrupt, Duration lock_timeout) = 0;

  // Takes a snapshot of the newest applied commit, in place of the one before. For the first statement's first read,
  // each statement at kReadCommitted, and a statement that runs again because nothing of it has left. May wait for the
  // applied horizon to reach the rows whose intents this transaction has just been granted. Suspends.
  virtual Status TakeSnapshot() = 0;

  // As the snapshot sees it, own writes included. The view points into `arena` or the write set.
  // Requires: has_snapshot().
  virtual Result<std::optional<std::string_view>> Get(TreeId tree, std::string_view key, Arena& arena) = 0;
  // The newest committed version, own writes included, whatever the snapshot. Requires: an intent on the key is held.
  virtual Result<std::optional<std::string_view>> GetNewest(TreeId tree, std::string_view key, Arena& arena) = 0;
  virtual std::unique_ptr<Cursor> Scan(TreeId tree, KeyRange range, Direction direction) = 0;
  // As Scan, forward, but at a snapshot of its own that has every commit whose intents this transaction may have waited
  // for, and with all own writes, held back or not. What constraints look at: whoever could add to the range must be
  // locked out before. The cursor ends before the transaction does. Suspends.
  virtual Result<std::unique_ptr<Cursor>> ScanNewest(TreeId tree, KeyRange range) = 0;

  // Takes an intent on (tree, key), held until commit or rollback; waits in FIFO order for its holder. A second call is
  // cheap; shared becomes exclusive where asked for. Works before TakeSnapshot too (first intent, then snapshot).
  // Errors: 40001 "could not serialize access due to concurrent update" (Conflict::kCheck and a newer version than the
  // snapshot), 40P01 deadlock (the youngest in the cycle), 55P03 (kNoWait, or lock_timeout: "canceling statement due to
  // lock timeout"), the interrupt's reason, 57014. Suspends.
  virtual Status Lock(TreeId tree, std::string_view key, LockMode mode, LockWait wait, Conflict conflict) = 0;

  // Requires: an exclusive intent on the key, or on what alone decides about it (an index entry that contains its row's
  // key: the row; a new index: its table); not read_only. Errors: 54000 when the write set passes its limit.
  virtual Status Put(TreeId tree, std::string_view key, std::string_view value) = 0;
  virtual Status Delete(TreeId tree, std::string_view key) = 0;
  // All entries of the tree go at commit; the tree is never used again. Requires: an object lock of the caller's.
  virtual Status DropTree(TreeId tree) = 0;

  virtual Mark SetMark() = 0;
  virtual void RollbackTo(Mark mark) = 0;  // undoes writes after the mark; intents stay

  // From HoldOwnWrites to ReleaseOwnWrites, Get and Scan do not see what is written after the former: a statement must
  // not meet its own rows. GetNewest does.
  virtual void HoldOwnWrites() = 0;
  virtual void ReleaseOwnWrites() = 0;

  // What this transaction has shown depends on the commit at `position`: it is not answered before that is stable.
  virtual void DependOn(Timestamp position) = 0;

  // True while another transaction waits for an intent of this one (for the lease's contention rule). Any thread.
  virtual bool blocks_others() const = 0;

  // Ends the transaction, whatever it returns. Not interruptible once its record is reserved. Suspends.
  // Errors: 53100, 53200, 54000, 58030 before anything was logged: rolled back. 08007: the outcome is unknown.
  virtual Result<CommitResult> Commit(const CommitOptions& options) = 0;
  // Suspends no one.
  virtual void Rollback() = 0;
};

}  // namespace sisal::txn
