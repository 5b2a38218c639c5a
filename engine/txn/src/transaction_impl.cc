#include "transaction_impl.h"

#include <algorithm>
#include <utility>

#include "commit_writer.h"
#include "cursor.h"
#include "sisal/base/check.h"
#include "sisal/base/simulation.h"
#include "sisal/io/time.h"

namespace sisal::txn {
namespace {

constexpr char kConflictMessage[] = "could not serialize access due to concurrent update";

}  // namespace

TransactionImpl::TransactionImpl(StoreCore& core, const TransactionOptions& options)
    : core_(core),
      options_(options),
      owner_(TxnId{core.next_txn.fetch_add(1, std::memory_order_relaxed)}),
      lock_timeout_(core.options.lock_timeout) {
  if (options.isolation == Isolation::kSerializable) tracked_ = std::make_unique<Tracked>();
  core_.active.fetch_add(1, std::memory_order_relaxed);
}

TransactionImpl::~TransactionImpl() { Rollback(); }

Timestamp TransactionImpl::snapshot() const {
  SISAL_CHECK(snapshot_.has_value());
  return *snapshot_;
}

void TransactionImpl::SetInterrupt(const io::Interrupt& interrupt, Duration lock_timeout) {
  interrupt_ = interrupt;
  lock_timeout_ = lock_timeout;
}

Error TransactionImpl::InterruptError(io::WaitResult why) const {
  if (why == io::WaitResult::kCancelled) {
    Status reason = interrupt_.cancel->Check();
    if (!reason.ok()) return std::move(reason).error();
  }
  return Error("57014", "canceling statement due to statement timeout");
}

Status TransactionImpl::CheckInterrupt() const {
  if (interrupt_.cancel != nullptr && interrupt_.cancel->cancelled()) return interrupt_.cancel->Check();
  if (interrupt_.deadline != Instant::Max() && core_.runtime.clock().Now() >= interrupt_.deadline) {
    return InterruptError(io::WaitResult::kTimedOut);
  }
  return Status();
}

Status TransactionImpl::TakeSnapshot() {
  while (true) {
    SISAL_RETURN_IF_ERROR(TakeSnapshotOnce());
    if (tracked_ == nullptr || !options_.read_only) return Status();
    SISAL_RETURN_IF_ERROR(StopTrackingIfSafe());
    if (tracked_ == nullptr || !options_.deferrable) return Status();
    SISAL_RETURN_IF_ERROR(PauseForSafety());
  }
}

Status TransactionImpl::PauseForSafety() {
  constexpr Duration kPause = std::chrono::milliseconds(1);
  io::SleepUntil({core_.runtime.clock().Now() + kPause, interrupt_.cancel});
  return CheckInterrupt();
}

Status TransactionImpl::TakeSnapshotOnce() {
  SISAL_CHECK(state_ == State::kOpen);
  Timestamp taken;
  SISAL_SIM_POINT();
  if (tracked_ != nullptr && !tracked_->place) {
    tracked_->place = core_.ssi.Enter(owner_.id, !options_.read_only, [this] { return core_.Floor(); });
  }
  if (options_.read_only) {
    taken = core_.snapshots.Acquire(owner_.id, [this] { return core_.Floor(); });
  } else {
    // A writer lets go of its intents before every earlier commit is applied: what it wrote must not be missed.
    if (core_.horizon.applied() < newest_granted_) {
      const io::WaitResult result = core_.horizon.Wait(newest_granted_, interrupt_);
      if (result != io::WaitResult::kWoken) return InterruptError(result);
    }
    taken = core_.snapshots.Acquire(owner_.id, [this] { return core_.horizon.applied(); });
  }
  if (snapshot_) {
    core_.snapshots.Release(owner_.id, *snapshot_);
    if (tracked_ != nullptr) tracked_->reads = {};  // nothing of them has left
  }
  snapshot_ = taken;
  newest_seen_ = std::max(newest_seen_, taken);
  return Status();
}

void TransactionImpl::StopTracking() {
  if (tracked_ != nullptr && tracked_->place) core_.ssi.Leave(owner_.id, *tracked_->place);
  tracked_.reset();
}

Status TransactionImpl::StopTrackingIfSafe() {
  const uint64_t next = core_.ssi.next_writer();
  while (core_.ssi.HasWriterBelow(next)) {
    if (!options_.deferrable) return Status();
    SISAL_RETURN_IF_ERROR(PauseForSafety());
  }
  const io::MutexLock lock(core_.ssi.mutex);
  if (core_.ssi.IsSafe(*snapshot_)) StopTracking();
  return Status();
}

TreePtr TransactionImpl::FindTree(TreeId id) {
  constexpr size_t kRecentMax = 8;
  for (const TreePtr& tree : recent_trees_) {
    if (tree->id == id) return tree;
  }
  TreePtr tree = core_.trees.Find(id);
  if (tree != nullptr) {
    if (recent_trees_.size() == kRecentMax) recent_trees_.erase(recent_trees_.begin());
    recent_trees_.push_back(tree);
  }
  return tree;
}

Result<std::optional<std::string_view>> TransactionImpl::Get(TreeId id, std::string_view key, Arena& arena) {
  SISAL_CHECK(state_ == State::kOpen && snapshot_.has_value());
  if (const WriteSet::Value* own = writes_.FindHeld(id, key)) return *own;
  if (tracked_ != nullptr) tracked_->reads.AddKey(id, key);
  const Timestamp snapshot =
      SISAL_PLANTED(kSnapshotAdvances) ? std::max(*snapshot_, core_.horizon.applied()) : *snapshot_;
  const TreePtr tree = FindTree(id);
  btree::Entry entry;
  if (tree == nullptr || !tree->tree->Get(key, snapshot, arena, entry)) return std::optional<std::string_view>();
  SISAL_SIM_POINT();
  if (entry.begin > snapshot) return core_.versions.Find(id, key, snapshot, arena);
  if (entry.tombstone) return std::optional<std::string_view>();
  return std::optional(entry.value);
}

Result<std::optional<std::string_view>> TransactionImpl::GetNewest(TreeId id, std::string_view key, Arena& arena) {
  SISAL_CHECK(state_ == State::kOpen);
  if (const WriteSet::Value* own = writes_.Find(id, key)) return *own;
  if (tracked_ != nullptr) tracked_->newest.AddKey(id, key);
  const TreePtr tree = FindTree(id);
  btree::Entry entry;
  if (tree == nullptr || !tree->tree->Get(key, Timestamp::Max(), arena, entry)) {
    return std::optional<std::string_view>();
  }
  newest_seen_ = std::max(newest_seen_, entry.begin);
  if (tracked_ != nullptr && snapshot_ && entry.begin > *snapshot_ && tracked_->reads.Contains(id, key)) {
    return core_.ssi.Fail("a row that was read has changed");
  }
  if (entry.tombstone) return std::optional<std::string_view>();
  return std::optional(entry.value);
}

std::unique_ptr<Cursor> TransactionImpl::Scan(TreeId tree, KeyRange range, Direction direction) {
  SISAL_CHECK(state_ == State::kOpen && snapshot_.has_value());
  return std::make_unique<MergingCursor>(*this, tree, std::move(range), direction);
}

// A commit lets go of its intents after it has its position, so all that we waited for are below last_reserved.
Result<std::unique_ptr<Cursor>> TransactionImpl::ScanNewest(TreeId tree, KeyRange range) {
  SISAL_CHECK(state_ == State::kOpen);
  SISAL_SIM_POINT();
  const io::WaitResult result = core_.horizon.Wait(core_.horizon.last_reserved(), interrupt_);
  if (result != io::WaitResult::kWoken) return InterruptError(result);
  return std::unique_ptr<Cursor>(std::make_unique<NewestCursor>(*this, tree, std::move(range)));
}

Timestamp TransactionImpl::TakeNewestSnapshot() {
  const Timestamp taken = core_.snapshots.Acquire(owner_.id, [this] {
    return SISAL_PLANTED(kChildrenAtSnapshot) && snapshot_ ? *snapshot_ : core_.horizon.applied();
  });
  newest_seen_ = std::max(newest_seen_, taken);
  return taken;
}

Status TransactionImpl::Lock(TreeId tree_id, std::string_view key, LockMode mode, LockWait wait, Conflict conflict) {
  SISAL_CHECK(state_ == State::kOpen);
  SISAL_RETURN_IF_ERROR(CheckInterrupt());
  io::Interrupt interrupt = interrupt_;
  bool lock_timeout_first = false;
  if (wait == LockWait::kWait && lock_timeout_ != Duration::max()) {
    const Instant deadline = core_.runtime.clock().Now() + lock_timeout_;
    lock_timeout_first = deadline < interrupt.deadline;
    interrupt.deadline = std::min(interrupt.deadline, deadline);
  }
  switch (core_.intents.Acquire(owner_, {tree_id, key}, mode, wait, interrupt)) {
    case IntentResult::kGranted:
      break;
    case IntentResult::kBusy:
      return Error("55P03", "could not obtain lock on row");
    case IntentResult::kDeadlock:
      return Error("40P01", "deadlock detected");
    case IntentResult::kTimedOut:
      if (lock_timeout_first) return Error("55P03", "canceling statement due to lock timeout");
      return InterruptError(io::WaitResult::kTimedOut);
    case IntentResult::kCancelled:
      return InterruptError(io::WaitResult::kCancelled);
  }
  SISAL_SIM_POINT();
  if (const TreePtr tree = FindTree(tree_id)) {
    const Timestamp newest = tree->tree->Begin(key).value_or(Timestamp());
    newest_granted_ = std::max(newest_granted_, newest);
    if (conflict == Conflict::kCheck && snapshot_ && newest > *snapshot_ && !SISAL_PLANTED(kFirstCommitterUnchecked)) {
      core_.conflicts.fetch_add(1, std::memory_order_relaxed);
      return Error("40001", kConflictMessage);
    }
  }
  if (owner_.held_bytes > core_.options.transaction_bytes_max) {
    return Error("53200", "out of memory for row locks")
        .WithHint("Lock fewer rows in one transaction.")
        .WithLimit("transaction_bytes_max", core_.options.transaction_bytes_max);
  }
  return Status();
}

Status TransactionImpl::CheckWrite(std::string_view key, std::string_view value) const {
  SISAL_CHECK(state_ == State::kOpen && !options_.read_only);
  if (key.size() < UINT32_MAX && value.size() < UINT32_MAX) return Status();
  return Error("54000", "row is too large");
}

Status TransactionImpl::CheckSize() const {
  const uint64_t bytes_max = core_.options.transaction_bytes_max;
  if (writes_.bytes() <= bytes_max) return Status();
  return Error("54000", "the transaction's changes exceed " + std::to_string(bytes_max) + " bytes")
      .WithHint("Split it into several transactions.")
      .WithLimit("transaction_bytes_max", bytes_max);
}

Status TransactionImpl::Put(TreeId tree, std::string_view key, std::string_view value) {
  SISAL_RETURN_IF_ERROR(CheckWrite(key, value));
  writes_.Put(tree, key, value);
  return CheckSize();
}

Status TransactionImpl::Delete(TreeId tree, std::string_view key) {
  SISAL_RETURN_IF_ERROR(CheckWrite(key, {}));
  writes_.Delete(tree, key);
  return CheckSize();
}

Status TransactionImpl::DropTree(TreeId tree) {
  SISAL_RETURN_IF_ERROR(CheckWrite({}, {}));
  writes_.DropTree(tree);
  return Status();
}

Result<Timestamp> TransactionImpl::AppendRecords() {
  CommitWriter writer(core_, owner_.id);
  SISAL_RETURN_IF_ERROR(writer.Prepare(writes_));
  if (tracked_ == nullptr) return writer.Append();
  WrittenKeys written(writes_);
  const io::MutexLock lock(core_.ssi.mutex);
  SISAL_ASSIGN_OR_RETURN(const Timestamp earliest_out, CheckSerializable(written));
  const Timestamp position = writer.Append();
  core_.ssi.Publish(position, earliest_out, {std::move(tracked_->reads), std::move(tracked_->newest)},
                    std::move(written), [this] { return core_.Floor(); });
  return position;
}

Result<Timestamp> TransactionImpl::CheckSerializable(const WrittenKeys& written) const {
  if (!snapshot_) return Timestamp::Max();  // it has seen nothing but what its intents hold
  if (SISAL_PLANTED(kSsiUnchecked)) return Timestamp::Max();
  return core_.ssi.Check({*snapshot_, newest_seen_, tracked_->reads, written});
}

Status TransactionImpl::CommitReads() {
  if (tracked_ == nullptr || (tracked_->reads.empty() && tracked_->newest.empty())) return Status();
  const io::MutexLock lock(core_.ssi.mutex);
  SISAL_ASSIGN_OR_RETURN(const Timestamp earliest_out, CheckSerializable({}));
  const bool is_alone = core_.ssi.writers() == (options_.read_only ? 0 : 1);
  if (is_alone) return Status();  // writers to come have later snapshots: they cannot be a pivot for it
  core_.ssi.Publish(newest_seen_, earliest_out, {std::move(tracked_->reads), std::move(tracked_->newest)}, {},
                    [this] { return core_.Floor(); });
  return Status();
}

Status TransactionImpl::AwaitLogged(Timestamp position, wal::Durability durability) {
  const Lsn upto{position.value};
  if (durability == wal::Durability::kFull) return core_.log->WaitDurable(upto);
  SISAL_RETURN_IF_ERROR(core_.log->WaitWritten(upto));
  core_.AcknowledgedUnsynced(position);
  return Status();
}

Status TransactionImpl::AwaitSeen(wal::Durability durability) {
  if (newest_seen_ <= core_.Stable()) return Status();
  return AwaitLogged(newest_seen_, durability);
}

Result<CommitResult> TransactionImpl::Commit(const CommitOptions& options) {
  SISAL_CHECK(state_ == State::kOpen);
  const wal::Durability durability = options.durability.value_or(core_.options.log.durability);
  if (writes_.empty()) {
    Status seen = CommitReads();
    if (seen.ok()) seen = AwaitSeen(durability);
    End();
    (seen.ok() ? core_.commits : core_.rollbacks).fetch_add(1, std::memory_order_relaxed);
    if (!seen.ok()) return seen;
    return CommitResult{};
  }

  state_ = State::kCommitting;
  const Result<Timestamp> appended = AppendRecords();
  if (!appended.ok()) {
    End();
    core_.rollbacks.fetch_add(1, std::memory_order_relaxed);
    return appended.error();
  }
  const Timestamp position = *appended;
  ApplyAndEnd(position, options);
  if (!options.wait) return CommitResult{position};

  const Status logged = AwaitLogged(position, durability);
  // Else the client's next read could miss this commit.
  if (!SISAL_PLANTED(kAckBeforeApplied)) core_.horizon.Wait(position);
  if (!logged.ok()) return logged;  // 08007, or 58030 if the log had failed before this record
  return CommitResult{position};
}

void TransactionImpl::ApplyAndEnd(Timestamp position, const CommitOptions& options) noexcept {
  SISAL_SIM_POINT();
  if (SISAL_PLANTED(kIntentsReleasedEarly)) {
    core_.intents.ReleaseAll(owner_);
    SISAL_SIM_POINT();
  }
  core_.Apply(writes_, position);
  SISAL_SIM_POINT();
  if (options.on_apply) options.on_apply(position);
  core_.horizon.Applied(position);
  End();  // the intents go now: who waits for them reads what was applied, and its record lies behind ours in the log
  core_.commits.fetch_add(1, std::memory_order_relaxed);
}

void TransactionImpl::Rollback() {
  if (state_ == State::kEnded) return;
  End();
  core_.rollbacks.fetch_add(1, std::memory_order_relaxed);
}

void TransactionImpl::End() {
  state_ = State::kEnded;
  core_.intents.ReleaseAll(owner_);
  if (snapshot_) core_.snapshots.Release(owner_.id, *snapshot_);
  snapshot_.reset();
  StopTracking();
  writes_.Clear();
  recent_trees_.clear();
  core_.active.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace sisal::txn
