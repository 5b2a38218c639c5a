#include "trees.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <shared_mutex>

#include "sisal/base/check.h"

namespace sisal::txn {

void TreeState::SawKey(std::string_view key) {
  if (key.size() != sizeof(uint64_t)) return;
  uint64_t number = 0;
  std::memcpy(&number, key.data(), sizeof(number));
  number = __builtin_bswap64(number);
  uint64_t largest = row_number.load(std::memory_order_relaxed);
  while (largest < number && !row_number.compare_exchange_weak(largest, number, std::memory_order_relaxed)) {
  }
}

TreePtr TreeDirectory::Find(TreeId id) const {
  std::shared_lock lock(latch_);
  const auto found = trees_.find(id);
  return found == trees_.end() ? nullptr : found->second;
}

TreePtr TreeDirectory::FindOrMake(TreeId id) {
  if (TreePtr tree = Find(id)) return tree;
  TreePtr made = std::make_shared<TreeState>(id);
  std::unique_lock lock(latch_);
  return trees_.try_emplace(id, std::move(made)).first->second;
}

void TreeDirectory::MarkDropped(TreeId id, Timestamp position) {
  std::unique_lock lock(latch_);
  if (trees_.contains(id)) dropped_.push_back({position, id});
}

TreePtr TreeDirectory::TakeDropped(Timestamp oldest) {
  std::unique_lock lock(latch_);
  const auto due =
      std::find_if(dropped_.begin(), dropped_.end(), [&](const Dropped& d) { return d.position <= oldest; });
  if (due == dropped_.end()) return nullptr;
  const auto found = trees_.find(due->id);
  dropped_.erase(due);
  if (found == trees_.end()) return nullptr;
  TreePtr tree = std::move(found->second);
  trees_.erase(found);
  return tree;
}

TreeId TreeDirectory::Allocate() {
  const uint32_t id = next_id_.fetch_add(1, std::memory_order_relaxed);
  SISAL_CHECK(id != UINT32_MAX);
  return TreeId{id};
}

void TreeDirectory::Reserve(TreeId id) {
  uint32_t next = next_id_.load(std::memory_order_relaxed);
  while (next <= id.value && !next_id_.compare_exchange_weak(next, id.value + 1, std::memory_order_relaxed)) {
  }
}

void TreeDirectory::ForEach(absl::FunctionRef<void(const TreeState&)> visit) const {
  std::shared_lock lock(latch_);
  for (const auto& [id, tree] : trees_) visit(*tree);
}

}  // namespace sisal::txn
