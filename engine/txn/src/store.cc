#include <algorithm>
#include <utility>

#include "replay.h"
#include "sisal/base/check.h"
#include "sisal/base/simulation.h"
#include "store_impl.h"
#include "transaction_impl.h"

namespace sisal::txn {

Status StoreImpl::Start(const std::string& directory, wal::ReplayProgress* progress) {
  Replayer replayer(core_.trees, core_.runtime);
  const auto visit = [&](const wal::RecordView& record) { return replayer.Visit(record); };
  auto log = wal::Log::Open(core_.runtime, directory, core_.options.log, Lsn{0}, visit, progress);
  replayer.Finish();
  if (!log.ok()) return log.status();
  core_.log = std::move(log).value();
  core_.recovered = replayer.last_commit();
  core_.horizon.Start(replayer.last_commit());
  clean_start_ = replayer.closed_in_order();
  core_.RefreshView();
  sweeper_.emplace(core_);
  return Status();
}

void StoreImpl::Stop() {
  SISAL_CHECK(core_.active.load() == 0);
  sweeper_.reset();
}

Status StoreImpl::Close() {
  Stop();
  return core_.log->Close();
}

void StoreImpl::Abandon() {
  Stop();
  core_.log->Abandon();
}

std::unique_ptr<Transaction> StoreImpl::Begin(const TransactionOptions& options) {
  return std::make_unique<TransactionImpl>(core_, options);
}

// Most rows are older than the floor: then the tree's entry is what every new snapshot sees, and none need be taken. A
// row that has just been written, or is being made durable, needs an older version, which a snapshot holds on to.
CommittedRow StoreImpl::GetCommitted(TreeId id, std::string_view key, size_t bytes_max, Arena& arena) {
  const TreePtr tree = core_.trees.Find(id);
  if (tree == nullptr) return {};
  btree::Entry entry;
  const Timestamp floor = SISAL_PLANTED(kReadAboveFloor) ? Timestamp::Max() : core_.Floor();
  SISAL_SIM_POINT();
  if (!tree->tree->Get(key, floor, bytes_max, arena, entry)) return {};
  if (entry.too_long) return {{}, true};  // be it for us or too new: its older versions are likely to be long as well
  if (entry.begin <= floor) return entry.tombstone ? CommittedRow() : CommittedRow{entry.value};

  const TxnId reader{core_.next_txn.fetch_add(1, std::memory_order_relaxed)};
  const Timestamp snapshot = core_.snapshots.Acquire(reader, [this] { return core_.Floor(); });
  SISAL_SIM_POINT();
  CommittedRow row;
  if (tree->tree->Get(key, snapshot, bytes_max, arena, entry)) {
    row.too_long = entry.too_long;
    if (!entry.too_long && entry.begin > snapshot) {
      row.value = core_.versions.Find(id, key, snapshot, arena);
    } else if (!entry.too_long && !entry.tombstone) {
      row.value = entry.value;
    }
  }
  core_.snapshots.Release(reader, snapshot);
  return row;
}

uint64_t StoreImpl::NextRowNumber(TreeId tree) {
  return core_.trees.FindOrMake(tree)->row_number.fetch_add(1, std::memory_order_relaxed) + 1;
}

Timestamp StoreImpl::durable() const { return std::max(Timestamp{core_.log->durable().value}, core_.recovered); }

Timestamp StoreImpl::oldest_snapshot() const {
  return core_.snapshots.View([this] { return core_.Floor(); }).oldest();
}

StoreStats StoreImpl::Stats() const {
  StoreStats stats;
  stats.transactions_active = core_.active.load(std::memory_order_relaxed);
  stats.commits = core_.commits.load(std::memory_order_relaxed);
  stats.rollbacks = core_.rollbacks.load(std::memory_order_relaxed);
  stats.serializable_failures = core_.ssi.failures();
  stats.serializable_retained = core_.ssi.retained();
  stats.conflicts = core_.conflicts.load(std::memory_order_relaxed) + stats.serializable_failures;
  const IntentStats intents = core_.intents.Stats();
  stats.deadlocks = intents.deadlocks;
  stats.intent_waits = intents.waits;
  stats.intent_wait_us_sum = intents.wait_us_sum;
  std::copy(std::begin(intents.wait_us_pow2), std::end(intents.wait_us_pow2), stats.intent_wait_us_pow2);
  core_.trees.ForEach([&](const TreeState& tree) {
    const btree::TreeStats tree_stats = tree.tree->Stats();
    stats.trees += 1;
    stats.entries += tree_stats.entries;
    stats.bytes += tree_stats.bytes;
  });
  stats.versions = core_.versions.version_count();
  stats.bytes += core_.versions.bytes();
  stats.applied = applied();
  stats.durable = durable();
  stats.oldest_snapshot = oldest_snapshot();
  return stats;
}

Status StoreImpl::WaitApplied(const io::Interrupt& interrupt) {
  const io::WaitResult result = core_.horizon.Wait(core_.horizon.last_reserved(), interrupt);
  if (result == io::WaitResult::kWoken) return Status();
  if (interrupt.cancel != nullptr) SISAL_RETURN_IF_ERROR(interrupt.cancel->Check());
  return Error("57014", "canceling statement due to statement timeout");
}

Result<std::unique_ptr<Store>> Store::Open(io::Runtime& runtime, const std::string& directory,
                                           const StoreOptions& options, wal::ReplayProgress* progress) {
  auto store = std::make_unique<StoreImpl>(runtime, options);
  SISAL_RETURN_IF_ERROR(store->Start(directory, progress));
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace sisal::txn
