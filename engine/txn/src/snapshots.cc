#include "snapshots.h"

#include <algorithm>
#include <mutex>

#include "sisal/base/check.h"

namespace sisal::txn {

bool SnapshotView::Needs(Timestamp begin, Timestamp end) const {
  if (floor < end) return true;
  const auto first = std::lower_bound(snapshots.begin(), snapshots.end(), begin);
  return first != snapshots.end() && *first < end;
}

Timestamp SnapshotRegistry::Acquire(TxnId txn, absl::FunctionRef<Timestamp()> horizon) {
  Slot& slot = slots_[txn.value % kSlotCount];
  std::lock_guard lock(slot.latch);
  const Timestamp snapshot = horizon();  // inside the latch: see the file comment
  slot.snapshots.push_back(snapshot);
  return snapshot;
}

void SnapshotRegistry::Release(TxnId txn, Timestamp snapshot) {
  Slot& slot = slots_[txn.value % kSlotCount];
  std::lock_guard lock(slot.latch);
  const auto found = std::find(slot.snapshots.begin(), slot.snapshots.end(), snapshot);
  SISAL_CHECK(found != slot.snapshots.end());
  *found = slot.snapshots.back();
  slot.snapshots.pop_back();
}

SnapshotView SnapshotRegistry::View(absl::FunctionRef<Timestamp()> floor) const {
  SnapshotView view;
  view.floor = floor();
  for (const Slot& slot : slots_) {
    std::lock_guard lock(slot.latch);
    view.snapshots.insert(view.snapshots.end(), slot.snapshots.begin(), slot.snapshots.end());
  }
  std::sort(view.snapshots.begin(), view.snapshots.end());
  view.snapshots.erase(std::unique(view.snapshots.begin(), view.snapshots.end()), view.snapshots.end());
  return view;
}

}  // namespace sisal::txn
