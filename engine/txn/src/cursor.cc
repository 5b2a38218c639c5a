#include "cursor.h"

#include <algorithm>
#include <utility>

#include "sisal/io/runtime.h"
#include "transaction_impl.h"

namespace sisal::txn {

MergingCursor::MergingCursor(TransactionImpl& transaction, TreeId tree, KeyRange range, Direction direction)
    : transaction_(transaction), tree_(tree), range_(std::move(range)), forward_(direction == Direction::kForward) {}

MergingCursor::MergingCursor(TransactionImpl& transaction, TreeId tree, KeyRange range, Timestamp snapshot)
    : transaction_(transaction), tree_(tree), range_(std::move(range)), forward_(true), newest_(snapshot) {}

NewestCursor::NewestCursor(TransactionImpl& transaction, TreeId tree, KeyRange range)
    : MergingCursor(transaction, tree, std::move(range), transaction.TakeNewestSnapshot()) {}

NewestCursor::~NewestCursor() { transaction().ReleaseSnapshot(*newest()); }

Status MergingCursor::Next(size_t limit, EntryBatch& batch) {
  constexpr size_t kBatchBytes = 1 << 20;  // of what was copied: a caller gets fewer entries rather than more memory
  batch.Clear();
  while (!ended_ && batch.keys.size() < limit) {
    SISAL_RETURN_IF_ERROR(transaction_.CheckInterrupt());
    if (batch.keys.empty()) {
      batch.arena.Reset();  // nothing but dead entries so far
    } else if (batch.arena.footprint_bytes() > kBatchBytes) {
      break;
    }
    ReadTree(limit - batch.keys.size(), batch);
    Merge(limit, batch);
    io::YieldIfBudgetSpent();
  }
  if (transaction_.is_tracked()) NotePassed();
  return Status();
}

void MergingCursor::NotePassed() const {
  if (ended_) return transaction_.NoteScan(tree_, range_.lower, range_.upper);
  if (!last_) return;
  if (forward_) return transaction_.NoteScan(tree_, range_.lower, *last_ + '\0');  // the next key there can be
  transaction_.NoteScan(tree_, *last_, range_.upper);
}

void MergingCursor::ReadTree(size_t limit, EntryBatch& batch) {
  entries_.clear();
  exhausted_ = true;
  const TreePtr tree = transaction_.FindTree(tree_);
  if (tree == nullptr) return;
  std::optional<std::string_view> upper;
  if (!range_.upper.empty()) upper = range_.upper;
  if (forward_) {
    const std::string_view from = last_ ? std::string_view(*last_) : range_.lower;
    exhausted_ = tree->tree->ScanForward(from, last_.has_value(), upper, limit, batch.arena, entries_);
  } else {
    if (last_) upper = *last_;
    exhausted_ = tree->tree->ScanBackward(upper, range_.lower, limit, batch.arena, entries_);
  }
}

const WriteSet::TreeMap* MergingCursor::OwnWrites() const {
  const WriteSet::TreeMap* rows = transaction_.writes().FindTree(tree_);
  return rows == nullptr || rows->empty() ? nullptr : rows;
}

bool MergingCursor::InReach(std::string_view key) const {
  if (forward_ ? !range_.upper.empty() && key >= range_.upper : key < range_.lower) return false;
  return exhausted_ || !Before(entries_.back().key, key);
}

void MergingCursor::Merge(size_t limit, EntryBatch& batch) {
  const WriteSet::TreeMap* own = OwnWrites();
  if (own == nullptr) {
    for (const btree::Entry& entry : entries_) Emit(entry, batch);
    if (!entries_.empty()) Advance(entries_.back().key);
    ended_ = exhausted_;
    return;
  }

  // `place` is the next own write forwards; backwards the one after it, as with a reverse iterator.
  auto place = own->begin();
  if (forward_) {
    place = last_ ? own->upper_bound(std::string_view(*last_)) : own->lower_bound(std::string_view(range_.lower));
  } else {
    place = last_                  ? own->lower_bound(std::string_view(*last_))
            : range_.upper.empty() ? own->end()
                                   : own->lower_bound(std::string_view(range_.upper));
  }
  size_t next = 0;
  std::string_view passed;
  bool moved = false;
  while (batch.keys.size() < limit) {
    const bool has_entry = next < entries_.size();
    const bool at_end = forward_ ? place == own->end() : place == own->begin();
    const WriteSet::TreeMap::value_type* write = at_end ? nullptr : forward_ ? &*place : &*std::prev(place);
    if (write != nullptr && !InReach(write->first)) write = nullptr;
    if (!has_entry && write == nullptr) {
      ended_ = exhausted_;
      break;
    }
    moved = true;
    if (write == nullptr || (has_entry && Before(entries_[next].key, write->first))) {
      passed = entries_[next].key;
      Emit(entries_[next++], batch);
      continue;
    }
    passed = write->first;
    const bool same = has_entry && entries_[next].key == write->first;
    const WriteSet::Value* seen = newest_ ? &write->second : transaction_.writes().Held(tree_, *write);
    if (seen == nullptr) {
      if (same) Emit(entries_[next], batch);
    } else if (*seen) {  // hides the entry
      batch.keys.push_back(batch.arena.Copy(write->first));
      batch.values.push_back(batch.arena.Copy(**seen));
    }
    if (same) ++next;
    forward_ ? ++place : --place;
  }
  if (moved) Advance(passed);
}

void MergingCursor::Emit(const btree::Entry& entry, EntryBatch& batch) {
  const Timestamp snapshot = newest_ ? *newest_ : transaction_.snapshot();
  std::optional<std::string_view> value;
  if (entry.begin > snapshot) {
    value = transaction_.core().versions.Find(tree_, entry.key, snapshot, batch.arena);
  } else if (!entry.tombstone) {
    value = entry.value;
  }
  if (!value) return;
  batch.keys.push_back(entry.key);
  batch.values.push_back(*value);
}

void MergingCursor::Advance(std::string_view key) {
  if (last_) {
    last_->assign(key);
  } else {
    last_.emplace(key);
  }
}

}  // namespace sisal::txn
