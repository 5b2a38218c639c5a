#include "versions.h"

#include <algorithm>
#include <mutex>

#include "sisal/base/check.h"

namespace sisal::txn {

void VersionStore::Supersede(TreeId tree, const btree::Entry& old, Timestamp position, bool by_tombstone,
                             const SnapshotView& view) {
  const RowKeyView row{tree, old.key};
  const bool needed = view.Needs(old.begin, position);
  Stripe& stripe = StripeOf(row);
  std::lock_guard lock(stripe.latch);
  auto found = stripe.chains.find(row);
  if (found == stripe.chains.end()) {
    if (!by_tombstone && (old.tombstone || !needed)) return;  // nothing to keep, nothing to remove later
    found = stripe.chains.try_emplace(RowKey(row)).first;
    stripe.garbage.push_back({position, RowKey(row)});
  }
  Chain& chain = found->second;
  if (needed && !(old.tombstone && chain.versions.empty())) {
    chain.versions.push_back({old.begin, old.tombstone, std::string(old.value)});
    version_count_.fetch_add(1, std::memory_order_relaxed);
    bytes_.fetch_add(chain.versions.back().footprint_bytes(), std::memory_order_relaxed);
  }
  if (chain.versions.size() >= chain.prune_at) {
    Prune(chain, position, view);
    chain.prune_at = std::max<size_t>(4, 2 * chain.versions.size());
  }
}

std::optional<std::string_view> VersionStore::Find(TreeId tree, std::string_view key, Timestamp snapshot,
                                                   Arena& arena) const {
  const RowKeyView row{tree, key};
  const Stripe& stripe = stripes_[StripeIndex(row.Hash())];
  std::lock_guard lock(stripe.latch);
  const auto found = stripe.chains.find(row);
  if (found == stripe.chains.end()) return std::nullopt;
  const std::vector<Version>& versions = found->second.versions;
  for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
    if (version->begin > snapshot) continue;
    if (version->tombstone) return std::nullopt;
    return arena.Copy(version->value);
  }
  return std::nullopt;
}

std::optional<RowKey> VersionStore::NextGarbage(size_t stripe_index, Timestamp oldest) {
  Stripe& stripe = stripes_[stripe_index];
  std::lock_guard lock(stripe.latch);
  if (stripe.garbage.empty() || stripe.garbage.front().ready > oldest) return std::nullopt;
  RowKey row = std::move(stripe.garbage.front().row);
  stripe.garbage.pop_front();
  return row;
}

bool VersionStore::Collect(TreeId tree, const btree::Entry& newest, const SnapshotView& view) {
  const RowKeyView row{tree, newest.key};
  Stripe& stripe = StripeOf(row);
  std::lock_guard lock(stripe.latch);
  if (newest.begin <= view.oldest()) {
    Remove(stripe, row);
    return newest.tombstone;
  }
  const auto found = stripe.chains.find(row);
  SISAL_CHECK(found != stripe.chains.end());  // only a sweep removes chains, and there is one sweep at a time
  Prune(found->second, newest.begin, view);
  stripe.garbage.push_back({newest.begin, RowKey(row)});
  return false;
}

void VersionStore::Forget(const RowKeyView& row) {
  Stripe& stripe = StripeOf(row);
  std::lock_guard lock(stripe.latch);
  Remove(stripe, row);
}

void VersionStore::Prune(Chain& chain, Timestamp newest, const SnapshotView& view) {
  std::vector<Version>& versions = chain.versions;
  size_t kept = 0;
  for (size_t i = 0; i < versions.size(); ++i) {
    const Timestamp end = i + 1 < versions.size() ? versions[i + 1].begin : newest;
    const bool keep = view.Needs(versions[i].begin, end) && !(kept == 0 && versions[i].tombstone);
    if (!keep) {
      version_count_.fetch_sub(1, std::memory_order_relaxed);
      bytes_.fetch_sub(versions[i].footprint_bytes(), std::memory_order_relaxed);
      continue;
    }
    if (kept != i) versions[kept] = std::move(versions[i]);
    ++kept;
  }
  versions.resize(kept);
}

void VersionStore::Remove(Stripe& stripe, const RowKeyView& row) {
  const auto found = stripe.chains.find(row);
  if (found == stripe.chains.end()) return;
  for (const Version& version : found->second.versions) {
    version_count_.fetch_sub(1, std::memory_order_relaxed);
    bytes_.fetch_sub(version.footprint_bytes(), std::memory_order_relaxed);
  }
  stripe.chains.erase(found);
}

}  // namespace sisal::txn
