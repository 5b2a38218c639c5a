#include "plan_cache.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "sisal/base/bytes.h"

namespace sisal::db {

StatementId StatementIdOf(std::string_view sql) {
  const auto digest = Sha256(sql);
  StatementId id;
  std::memcpy(id.data(), digest.data(), id.size());
  return id;
}

bool CachedPlan::ValidUnder(const catalog::Root& root) const {
  if (!statement_->depends_on_catalog) return true;
  // A definition depends on names that it did not find, too: DROP TABLE IF EXISTS, names chosen for keys. Made anew.
  if (statement_->plan == nullptr) return false;
  for (const catalog::SequencePtr& sequence : statement_->sequences) {
    // Plans hold no more of it than its id.
    if (root.FindSequence(sequence->id) == nullptr) return false;
  }
  return std::all_of(statement_->tables.begin(), statement_->tables.end(),
                     [&](const catalog::TablePtr& table) { return root.FindTable(table->id) == table; });
}

// A root that is newer than the oldest snapshot to come may still be undone by a crash: not yet.
bool CachedPlan::IsCurrent(uint64_t newest, const catalog::Catalog& catalog, const txn::Store& store) const {
  if (current_version_.load(std::memory_order_relaxed) == newest) return true;
  const catalog::RootPtr root = catalog.RootAt(std::min(store.applied(), store.durable()));
  if (root->version() != newest || !ValidUnder(*root)) return false;
  current_version_.store(newest, std::memory_order_relaxed);
  return true;
}

CachedPlanPtr PlanCache::Find(const PlanKey& key) {
  Shard& shard = ShardOf(key.id);
  std::lock_guard lock(shard.latch);
  const auto it = shard.entries.find(key);
  if (it == shard.entries.end()) return nullptr;
  shard.recent.splice(shard.recent.begin(), shard.recent, it->second);
  return it->second->plan;
}

std::string PlanCache::FindText(const StatementId& id) {
  Shard& shard = ShardOf(id);
  std::lock_guard lock(shard.latch);
  const auto it =
      std::find_if(shard.recent.begin(), shard.recent.end(), [&](const Entry& e) { return e.key.id == id; });
  return it == shard.recent.end() ? std::string() : it->plan->sql();
}

void PlanCache::Insert(const PlanKey& key, CachedPlanPtr plan) {
  if (plan->sql().size() > kTextBytesMax) return;
  std::list<Entry> node;
  node.push_back({key, std::move(plan)});
  std::list<Entry> evicted;  // freed after the latch: a plan can be large
  Shard& shard = ShardOf(key.id);
  std::lock_guard lock(shard.latch);
  const auto it = shard.entries.find(key);
  if (it != shard.entries.end()) {
    evicted.splice(evicted.begin(), shard.recent, it->second);
    shard.entries.erase(it);
  }
  shard.recent.splice(shard.recent.begin(), node);
  shard.entries.emplace(key, shard.recent.begin());
  if (shard.recent.size() > shard_entries_max_) {
    shard.entries.erase(shard.recent.back().key);
    evicted.splice(evicted.begin(), shard.recent, std::prev(shard.recent.end()));
  }
}

}  // namespace sisal::db
