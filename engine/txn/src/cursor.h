// A scan as one transaction sees it: the tree's entries at its snapshot, overlaid with its own writes.
//
// The place in the range is a key, not a position in the tree: between two calls anything may change. Confined.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sisal/btree/tree.h"
#include "sisal/txn/transaction.h"
#include "write_set.h"

namespace sisal::txn {

class TransactionImpl;

class MergingCursor : public Cursor {
 public:
  MergingCursor(TransactionImpl& transaction, TreeId tree, KeyRange range, Direction direction);
  Status Next(size_t limit, EntryBatch& batch) override;

 protected:
  // At `snapshot` instead of the transaction's, and with own writes that are held back.
  MergingCursor(TransactionImpl& transaction, TreeId tree, KeyRange range, Timestamp snapshot);
  TransactionImpl& transaction() { return transaction_; }
  const std::optional<Timestamp>& newest() const { return newest_; }

 private:
  // Entries of the tree that come next, resolved at the snapshot only in Emit. Sets exhausted_.
  void ReadTree(size_t limit, EntryBatch& batch);
  // Merges entries_ with the own writes that lie before the last of them (or before the range's end).
  void Merge(size_t limit, EntryBatch& batch);
  void Emit(const btree::Entry& entry, EntryBatch& batch);
  void Advance(std::string_view key);
  // For serializable transactions: the part of the range that is behind counts as read, empty places included.
  void NotePassed() const;

  const WriteSet::TreeMap* OwnWrites() const;
  bool Before(std::string_view a, std::string_view b) const { return forward_ ? a < b : b < a; }
  // In the range, and not past the tree entries that were read.
  bool InReach(std::string_view key) const;

  TransactionImpl& transaction_;
  const TreeId tree_;
  const KeyRange range_;
  const bool forward_;
  const std::optional<Timestamp> newest_;  // nullopt: as the transaction sees it
  std::optional<std::string> last_;        // the last key that was passed; nullopt: at the start
  bool ended_ = false;
  bool exhausted_ = false;             // the tree has nothing beyond entries_
  std::vector<btree::Entry> entries_;  // bytes in the batch's arena
};

// Registers a snapshot of the newest commits while it lives.
class NewestCursor final : public MergingCursor {
 public:
  NewestCursor(TransactionImpl& transaction, TreeId tree, KeyRange range);
  ~NewestCursor() override;
};

}  // namespace sisal::txn
