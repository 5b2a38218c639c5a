#include "read_set.h"

#include <algorithm>

#include "absl/hash/hash.h"

namespace sisal::txn {
namespace {

constexpr uint64_t kTreeBytes = 128, kRangeBytes = 96, kKeyBytes = 16;  // beside the bytes of keys, roughly

uint64_t HashOf(std::string_view key) { return absl::HashOf(key); }

// Whether a range ends before `key`; an empty upper bound is no end.
bool EndsBefore(std::string_view upper, std::string_view key) { return !upper.empty() && upper < key; }

}  // namespace

bool ReadSet::TreeReads::InRange(std::string_view key) const {
  auto after = ranges.upper_bound(key);
  if (after == ranges.begin()) return false;
  const std::string& upper = std::prev(after)->second;
  return upper.empty() || key < upper;
}

void ReadSet::MakeAll(TreeReads& reads) {
  reads.all = true;
  bytes_ -= std::min<uint64_t>(bytes_, kKeyBytes * reads.keys.size());
  for (const auto& [lower, upper] : reads.ranges) {
    bytes_ -= std::min<uint64_t>(bytes_, kRangeBytes + lower.size() + upper.size());
  }
  reads.keys = {};
  reads.ranges.clear();
}

void ReadSet::AddKey(TreeId tree, std::string_view key) {
  const auto [found, is_new] = trees_.try_emplace(tree);
  if (is_new) bytes_ += kTreeBytes;
  TreeReads& reads = found->second;
  if (reads.all || !reads.keys.insert(HashOf(key)).second) return;
  bytes_ += kKeyBytes;
  if (reads.keys.size() > kKeysMax) MakeAll(reads);
}

void ReadSet::AddRange(TreeId tree, std::string_view lower, std::string_view upper) {
  const auto [found, is_new] = trees_.try_emplace(tree);
  if (is_new) bytes_ += kTreeBytes;
  TreeReads& reads = found->second;
  if (reads.all) return;
  std::string from(lower), to(upper);
  // Takes in all ranges that it meets or touches.
  auto at = reads.ranges.upper_bound(from);
  if (at != reads.ranges.begin() && !EndsBefore(std::prev(at)->second, from)) --at;
  while (at != reads.ranges.end() && !EndsBefore(to, at->first)) {
    bytes_ -= std::min<uint64_t>(bytes_, kRangeBytes + at->first.size() + at->second.size());
    from = std::min(from, at->first);
    to = to.empty() || at->second.empty() ? std::string() : std::max(to, at->second);
    at = reads.ranges.erase(at);
  }
  bytes_ += kRangeBytes + from.size() + to.size();
  reads.ranges.emplace(std::move(from), std::move(to));
  if (reads.ranges.size() > kRangesMax) MakeAll(reads);
}

void ReadSet::AddTreesOf(const ReadSet& other) {
  for (const auto& [tree, reads] : other.trees_) {
    const auto [found, is_new] = trees_.try_emplace(tree);
    if (is_new) bytes_ += kTreeBytes;
    if (!found->second.all) MakeAll(found->second);
  }
}

bool ReadSet::Contains(TreeId tree, std::string_view key) const {
  const auto found = trees_.find(tree);
  if (found == trees_.end()) return false;
  const TreeReads& reads = found->second;
  return reads.all || reads.keys.contains(HashOf(key)) || reads.InRange(key);
}

bool ReadSet::Overlaps(TreeId tree, std::string_view first, std::string_view last) const {
  const auto found = trees_.find(tree);
  if (found == trees_.end()) return false;
  const TreeReads& reads = found->second;
  if (reads.all || !reads.keys.empty() || reads.InRange(first)) return true;
  const auto next = reads.ranges.lower_bound(first);
  return next != reads.ranges.end() && next->first <= last;
}

WrittenKeys::WrittenKeys(const WriteSet& writes) {
  for (const auto& [tree, tree_writes] : writes.trees()) {
    if (tree_writes.rows.empty() && !tree_writes.dropped) continue;
    TreeKeys& out = trees_[tree];
    bytes_ += kTreeBytes;
    out.all = tree_writes.dropped;
    if (out.all) continue;
    out.first = tree_writes.rows.begin()->first;
    out.last = tree_writes.rows.rbegin()->first;
    if (tree_writes.rows.size() > kKeysMax) continue;
    for (const auto& [key, value] : tree_writes.rows) {
      out.keys.emplace_back(key);
      bytes_ += sizeof(std::string) + key.size();
    }
  }
}

void WrittenKeys::AddBoundsOf(const WrittenKeys& other) {
  for (const auto& [tree, keys] : other.trees_) {
    const auto [found, is_new] = trees_.try_emplace(tree, TreeKeys{keys.all, keys.first, keys.last, {}});
    if (is_new) {
      bytes_ += kTreeBytes;
      continue;
    }
    TreeKeys& mine = found->second;
    mine.all |= keys.all;
    mine.first = std::min(mine.first, keys.first);
    mine.last = std::max(mine.last, keys.last);
    mine.keys.clear();
  }
}

bool WrittenKeys::MeetsReads(const ReadSet& reads) const {
  return std::any_of(trees_.begin(), trees_.end(), [&](const auto& entry) {
    const auto& [tree, written] = entry;
    if (written.all) return reads.HasReadOf(tree);
    if (!reads.Overlaps(tree, written.first, written.last)) return false;
    return written.keys.empty() || std::any_of(written.keys.begin(), written.keys.end(),
                                               [&](const std::string& key) { return reads.Contains(tree, key); });
  });
}

}  // namespace sisal::txn
