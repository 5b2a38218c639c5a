// (tree, key) as the key of hash tables that can be searched without copying the bytes.
#pragma once

#include <string>
#include <string_view>

#include "absl/hash/hash.h"
#include "sisal/base/ids.h"

namespace sisal::txn {

struct RowKeyView {
  TreeId tree;
  std::string_view key;
  bool operator==(const RowKeyView&) const = default;
  size_t Hash() const { return absl::HashOf(tree.value, key); }
};

struct RowKey {
  explicit RowKey(RowKeyView view) : tree(view.tree), key(view.key) {}
  operator RowKeyView() const { return {tree, key}; }  // NOLINT: the same thing, borrowed
  TreeId tree;
  std::string key;
};

struct RowKeyHash {
  using is_transparent = void;
  size_t operator()(const RowKeyView& row) const { return row.Hash(); }
};
struct RowKeyEqual {
  using is_transparent = void;
  bool operator()(const RowKeyView& a, const RowKeyView& b) const { return a == b; }
};

}  // namespace sisal::txn
