#include "write_set.h"

#include "sisal/base/check.h"

namespace sisal::txn {

void WriteSet::Set(TreeId tree, std::string_view key, Value value) {
  TreeMap& rows = trees_[tree].rows;
  const auto found = rows.lower_bound(key);
  Undo undo{tree, {}, false, false, std::nullopt};
  if (found != rows.end() && found->first == key) {
    undo.key = found->first;
    undo.existed = true;
    undo.before = found->second;
    found->second = value;
  } else {
    undo.key = arena_.Copy(key);
    rows.emplace_hint(found, undo.key, value);
    bytes_ += key.size() + sizeof(TreeMap::value_type);
    ++live_;
  }
  bytes_ += sizeof(Undo) + (value ? value->size() : 0);
  if (holding_ && held_[tree].try_emplace(undo.key, Before{undo.existed, undo.before}).second) {
    bytes_ += sizeof(std::string_view) + sizeof(Before);
  }
  journal_.push_back(undo);
}

void WriteSet::DropTree(TreeId tree) {
  TreeWrites& writes = trees_[tree];
  if (writes.dropped) return;
  writes.dropped = true;
  ++live_;
  journal_.push_back({tree, {}, false, true, std::nullopt});
}

const WriteSet::Value* WriteSet::Find(TreeId tree, std::string_view key) const {
  const TreeMap* rows = FindTree(tree);
  if (rows == nullptr) return nullptr;
  const auto found = rows->find(key);
  return found == rows->end() ? nullptr : &found->second;
}

const WriteSet::Value* WriteSet::FindHeld(TreeId tree, std::string_view key) const {
  const TreeMap* rows = FindTree(tree);
  if (rows == nullptr) return nullptr;
  const auto found = rows->find(key);
  return found == rows->end() ? nullptr : Held(tree, *found);
}

const WriteSet::Value* WriteSet::Held(TreeId tree, const TreeMap::value_type& write) const {
  if (!holding_) return &write.second;
  const auto keys = held_.find(tree);
  if (keys == held_.end()) return &write.second;
  const auto found = keys->second.find(write.first);
  if (found == keys->second.end()) return &write.second;
  return found->second.existed ? &found->second.value : nullptr;
}

void WriteSet::Hold() {
  held_.clear();
  holding_ = true;
}

void WriteSet::Release() {
  held_.clear();
  holding_ = false;
}

const WriteSet::TreeMap* WriteSet::FindTree(TreeId tree) const {
  const auto found = trees_.find(tree);
  return found == trees_.end() ? nullptr : &found->second.rows;
}

void WriteSet::RollbackTo(Mark mark) {
  SISAL_CHECK(mark.position <= journal_.size());
  while (journal_.size() > mark.position) {
    const Undo& undo = journal_.back();
    TreeWrites& writes = trees_[undo.tree];
    if (undo.drop) {
      writes.dropped = false;
      --live_;
    } else if (undo.existed) {
      writes.rows[undo.key] = undo.before;
    } else {
      writes.rows.erase(undo.key);
      --live_;
    }
    journal_.pop_back();
  }
}

uint64_t WriteSet::operation_count() const {
  uint64_t count = 0;
  for (const auto& [tree, writes] : trees_) count += writes.dropped ? 1 : writes.rows.size();
  return count;
}

void WriteSet::Clear() {
  trees_.clear();
  journal_.clear();
  Release();
  live_ = bytes_ = 0;
  arena_.Reset();
}

}  // namespace sisal::txn
