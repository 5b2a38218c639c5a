#include "store_core.h"

#include <algorithm>
#include <mutex>

#include "sisal/base/simulation.h"

namespace sisal::txn {
namespace {

void RaiseTo(std::atomic<uint64_t>& number, uint64_t value) {
  uint64_t present = number.load(std::memory_order_relaxed);
  while (present < value && !number.compare_exchange_weak(present, value, std::memory_order_acq_rel)) {
  }
}

}  // namespace

StoreCore::StoreCore(io::Runtime& io_runtime, const StoreOptions& store_options)
    : runtime(io_runtime),
      options(store_options),
      intents(io_runtime.clock()),
      view_(std::make_shared<const SnapshotView>()) {}

Timestamp StoreCore::Stable() const {
  const uint64_t synced = log->durable().value;
  return Timestamp{std::max({synced, recovered.value, acknowledged_.load(std::memory_order_acquire)})};
}

void StoreCore::AcknowledgedUnsynced(Timestamp position) { RaiseTo(acknowledged_, position.value); }

void StoreCore::Apply(const WriteSet& writes, Timestamp position) noexcept {
  constexpr uint64_t kYieldEvery = 64;
  const std::shared_ptr<const SnapshotView> view = CachedView();
  uint64_t applied = 0;
  for (const auto& [id, tree_writes] : writes.trees()) {
    if (tree_writes.dropped) {
      trees.MarkDropped(id, position);
      continue;
    }
    if (tree_writes.rows.empty()) continue;
    const TreePtr tree = trees.FindOrMake(id);
    for (const auto& [key, value] : tree_writes.rows) {
      SISAL_SIM_POINT();
      tree->SawKey(key);
      tree->tree->Put(key, position, value, [&, tree_id = id, by_tombstone = !value](const btree::Entry& old) {
        versions.Supersede(tree_id, old, position, by_tombstone, *view);
      });
      if (++applied % kYieldEvery == 0) io::YieldIfBudgetSpent();
    }
  }
}

std::shared_ptr<const SnapshotView> StoreCore::CachedView() const {
  std::lock_guard lock(view_latch_);
  return view_;
}

std::shared_ptr<const SnapshotView> StoreCore::RefreshView() {
  auto view = std::make_shared<const SnapshotView>(snapshots.View([this] { return Floor(); }));
  std::lock_guard lock(view_latch_);
  if (view_->floor <= view->floor) view_ = view;
  return view_;
}

bool StoreCore::SweepSome(size_t stripe, const SnapshotView& view) {
  constexpr int kRowsPerStep = 32;
  for (int i = 0; i < kRowsPerStep; ++i) {
    const std::optional<RowKey> row = versions.NextGarbage(stripe, view.oldest());
    if (!row) return false;
    const TreePtr tree = trees.Find(row->tree);
    bool seen = false;
    if (tree != nullptr) {
      tree->tree->RemoveIf(row->key, [&](const btree::Entry& newest) {
        seen = true;
        return versions.Collect(row->tree, newest, view);
      });
    }
    if (!seen) versions.Forget(*row);  // its tree was dropped
  }
  return true;
}

}  // namespace sisal::txn
