// What a transaction has read, as keys and key ranges of trees, and what it has written, for the check of serializable
// transactions (ssi.h). Both may say more than is true, never less: large sets are kept as coarser ones, and keys by
// their hash.
//
// Confined to a transaction, immutable once it has committed.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "sisal/base/ids.h"
#include "write_set.h"

namespace sisal::txn {

class ReadSet {
 public:
  void AddKey(TreeId tree, std::string_view key);
  // [lower, upper); empty upper: to the end.
  void AddRange(TreeId tree, std::string_view lower, std::string_view upper);
  // All of the trees that `other` has read of.
  void AddTreesOf(const ReadSet& other);

  bool empty() const { return trees_.empty(); }
  bool Contains(TreeId tree, std::string_view key) const;
  // Whether anything of [first, last] may have been read.
  bool Overlaps(TreeId tree, std::string_view first, std::string_view last) const;
  bool HasReadOf(TreeId tree) const { return trees_.contains(tree); }
  uint64_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kKeysMax = 32768, kRangesMax = 1024;  // of one tree; above that all of it counts as read
  struct TreeReads {
    bool all = false;
    absl::flat_hash_set<uint64_t> keys;                      // hashes
    std::map<std::string, std::string, std::less<>> ranges;  // lower -> upper, apart from each other
    bool InRange(std::string_view key) const;
  };
  void MakeAll(TreeReads& reads);

  std::map<TreeId, TreeReads> trees_;
  uint64_t bytes_ = 0;
};

class WrittenKeys {
 public:
  WrittenKeys() = default;
  explicit WrittenKeys(const WriteSet& writes);
  // The bounds of `other`'s keys.
  void AddBoundsOf(const WrittenKeys& other);

  bool empty() const { return trees_.empty(); }
  bool MeetsReads(const ReadSet& reads) const;
  uint64_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kKeysMax = 1024;  // of one tree; of more only the bounds are kept
  struct TreeKeys {
    bool all = false;               // the tree was dropped
    std::string first, last;        // inclusive bounds
    std::vector<std::string> keys;  // empty: any between the bounds
  };
  std::map<TreeId, TreeKeys> trees_;
  uint64_t bytes_ = 0;
};

}  // namespace sisal::txn
