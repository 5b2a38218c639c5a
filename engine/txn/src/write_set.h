// What a transaction has written and not committed: per tree an ordered map, and a journal to go back to a mark.
//
// Keys and values lie in an arena and stay there until the transaction ends, so views of them stay valid across later
// writes. Confined to its transaction.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "sisal/base/arena.h"
#include "sisal/base/ids.h"
#include "sisal/txn/transaction.h"

namespace sisal::txn {

class WriteSet {
 public:
  // nullopt: the key is deleted.
  using Value = std::optional<std::string_view>;
  using TreeMap = absl::btree_map<std::string_view, Value>;
  struct TreeWrites {
    TreeMap rows;
    bool dropped = false;  // `rows` are not to be applied
  };

  void Put(TreeId tree, std::string_view key, std::string_view value) { Set(tree, key, arena_.Copy(value)); }
  void Delete(TreeId tree, std::string_view key) { Set(tree, key, std::nullopt); }
  void DropTree(TreeId tree);

  // nullptr: nothing was written to it.
  const Value* Find(TreeId tree, std::string_view key) const;
  // As of the hold, if there is one; `write` is one of FindTree(tree)'s.
  const Value* FindHeld(TreeId tree, std::string_view key) const;
  const Value* Held(TreeId tree, const TreeMap::value_type& write) const;
  // From now on what stood here before is kept for FindHeld and Held, until Release.
  void Hold();
  void Release();
  const TreeMap* FindTree(TreeId tree) const;
  const std::map<TreeId, TreeWrites>& trees() const { return trees_; }

  Mark SetMark() const { return {journal_.size()}; }
  void RollbackTo(Mark mark);

  bool empty() const { return live_ == 0; }
  // Rows and drops that a commit applies.
  uint64_t operation_count() const;
  // Of all that was written, undone or not, and its bookkeeping.
  uint64_t bytes() const { return bytes_; }
  void Clear();

 private:
  struct Undo {
    TreeId tree;
    std::string_view key;
    bool existed;  // the key was in the write set, with `before`
    bool drop;     // DropTree; key, existed and before are unused
    Value before;
  };
  void Set(TreeId tree, std::string_view key, Value value);

  // What a key written since the hold had before.
  struct Before {
    bool existed;
    Value value;
  };
  Arena arena_{1 << 10};
  std::map<TreeId, TreeWrites> trees_;
  std::vector<Undo> journal_;
  bool holding_ = false;
  std::map<TreeId, absl::btree_map<std::string_view, Before>> held_;
  uint64_t live_ = 0;  // rows and drops in trees_
  uint64_t bytes_ = 0;
};

}  // namespace sisal::txn
