// One transaction's state over the shared core.
//
//   open -> committing   Commit, once it has something to log; nothing else ends it from here on
//        -> ended        Rollback, the destructor
//   committing -> ended  Commit, also when nothing could be logged
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "sisal/txn/transaction.h"
#include "store_core.h"

namespace sisal::txn {

class TransactionImpl final : public Transaction {
 public:
  TransactionImpl(StoreCore& core, const TransactionOptions& options);
  ~TransactionImpl() override;

  TxnId id() const override { return owner_.id; }
  const TransactionOptions& options() const override { return options_; }
  bool has_snapshot() const override { return snapshot_.has_value(); }
  Timestamp snapshot() const override;
  bool has_writes() const override { return !writes_.empty(); }
  uint64_t write_bytes() const override { return writes_.bytes(); }
  uint64_t lock_count() const override { return owner_.held.size(); }

  void SetInterrupt(const io::Interrupt& interrupt, Duration lock_timeout) override;
  Status TakeSnapshot() override;
  Result<std::optional<std::string_view>> Get(TreeId tree, std::string_view key, Arena& arena) override;
  Result<std::optional<std::string_view>> GetNewest(TreeId tree, std::string_view key, Arena& arena) override;
  std::unique_ptr<Cursor> Scan(TreeId tree, KeyRange range, Direction direction) override;
  Result<std::unique_ptr<Cursor>> ScanNewest(TreeId tree, KeyRange range) override;
  Status Lock(TreeId tree, std::string_view key, LockMode mode, LockWait wait, Conflict conflict) override;
  Status Put(TreeId tree, std::string_view key, std::string_view value) override;
  Status Delete(TreeId tree, std::string_view key) override;
  Status DropTree(TreeId tree) override;
  Mark SetMark() override { return writes_.SetMark(); }
  void RollbackTo(Mark mark) override { writes_.RollbackTo(mark); }
  void HoldOwnWrites() override { writes_.Hold(); }
  void ReleaseOwnWrites() override { writes_.Release(); }
  void DependOn(Timestamp position) override { newest_seen_ = std::max(newest_seen_, position); }
  bool blocks_others() const override { return owner_.contended.load(std::memory_order_relaxed) > 0; }
  Result<CommitResult> Commit(const CommitOptions& options) override;
  void Rollback() override;

  // For the cursor.
  bool is_tracked() const { return tracked_ != nullptr; }
  void NoteScan(TreeId tree, std::string_view lower, std::string_view upper) {
    tracked_->reads.AddRange(tree, lower, upper);
  }
  StoreCore& core() { return core_; }
  const WriteSet& writes() const { return writes_; }
  TreePtr FindTree(TreeId id);
  Status CheckInterrupt() const;
  Timestamp TakeNewestSnapshot();
  void ReleaseSnapshot(Timestamp snapshot) { core_.snapshots.Release(owner_.id, snapshot); }

 private:
  enum class State { kOpen, kCommitting, kEnded };

  // What a serializable transaction is checked by.
  struct Tracked {
    ReadSet reads;   // at the snapshot
    ReadSet newest;  // rows whose intents it held: nobody overwrites them before it ends, but somebody may after that
    std::optional<SsiTable::Place> place;
  };

  Error InterruptError(io::WaitResult why) const;
  Status CheckWrite(std::string_view key, std::string_view value) const;
  Status CheckSize() const;
  // Puts the write set's records into the log and the position into the horizon. Nothing is applied yet. Suspends.
  Result<Timestamp> AppendRecords();
  void StopTracking();
  // For one that only reads: no tracking at a safe snapshot. If it is deferrable, waits for what decides whether this
  // one is, as far as nothing interrupts it. Suspends.
  Status StopTrackingIfSafe();
  Status PauseForSafety();
  Status TakeSnapshotOnce();
  // Errors: 40001. Requires: SsiTable::mutex is held.
  Result<Timestamp> CheckSerializable(const WrittenKeys& written) const;
  // The commit of one that wrote nothing. Suspends.
  Status CommitReads();
  // What this transaction has seen must not be undone by a crash. Suspends.
  Status AwaitSeen(wal::Durability durability);
  Status AwaitLogged(Timestamp position, wal::Durability durability);
  // The commit has its position: an exception from here on, out of memory, would leave it half applied, so it ends the
  // process. Suspends (yields).
  void ApplyAndEnd(Timestamp position, const CommitOptions& options) noexcept;
  void End();

  StoreCore& core_;
  const TransactionOptions options_;
  State state_ = State::kOpen;
  IntentOwner owner_;
  WriteSet writes_;
  std::optional<Timestamp> snapshot_;
  std::unique_ptr<Tracked> tracked_;  // nullptr: not serializable, or nothing can happen to it
  Timestamp newest_granted_;  // newest version of the rows whose intents were granted: the next snapshot includes it
  Timestamp newest_seen_;     // newest commit that anything shown depends on
  io::Interrupt interrupt_;
  Duration lock_timeout_;
  absl::InlinedVector<TreePtr, 4> recent_trees_;
};

}  // namespace sisal::txn
