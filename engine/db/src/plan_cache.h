// Plans by statement text and settings, shared by all sessions; and the texts behind statement ids.
//
// Concurrency: thread-safe. A plan stays valid while the tables that it uses are the same objects in the root that it
// is to run under; others' DDL does not touch it.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <atomic>
#include <list>
#include <memory>
#include <string>

#include "sisal/catalog/catalog.h"
#include "sisal/db/database.h"
#include "sisal/exec/point_read.h"
#include "sisal/io/sync.h"

namespace sisal::db {

struct PlanKey {
  StatementId id;
  uint64_t settings;  // hash of what changes a plan: search_path, TimeZone
  bool operator==(const PlanKey&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const PlanKey& key) {
    return H::combine(std::move(h), key.id, key.settings);
  }
};

class CachedPlan final : public Prepared {
 public:
  CachedPlan(StatementId id, std::string sql, sql::StatementPtr statement)
      : id_(id),
        sql_(std::move(sql)),
        statement_(std::move(statement)),
        point_read_(statement_->plan == nullptr ? std::nullopt : exec::PointRead::Compile(*statement_)) {}
  const StatementId& id() const override { return id_; }
  const std::string& sql() const override { return sql_; }
  const sql::Statement& statement() const override { return *statement_; }
  const sql::StatementPtr& statement_ptr() const { return statement_; }
  // nullptr: the statement is more than a read of one row by its key.
  const exec::PointRead* point_read() const { return point_read_.has_value() ? &*point_read_ : nullptr; }
  // Whether the plan may run under `root`.
  bool ValidUnder(const catalog::Root& root) const;
  // ValidUnder(the catalog's newest root, of version `newest`), which every snapshot from now on sees. A few ns as long
  // as no DDL comes between.
  bool IsCurrent(uint64_t newest, const catalog::Catalog& catalog, const txn::Store& store) const;

 private:
  StatementId id_;
  std::string sql_;
  sql::StatementPtr statement_;
  std::optional<exec::PointRead> point_read_;
  mutable std::atomic<uint64_t> current_version_{0};  // of the last root for which IsCurrent was true
};
using CachedPlanPtr = std::shared_ptr<const CachedPlan>;

class PlanCache {
 public:
  explicit PlanCache(size_t entries_max) : shard_entries_max_(entries_max / kShards + 1) {}

  CachedPlanPtr Find(const PlanKey& key);  // nullptr: none
  // The text of any plan with this id; empty: unknown.
  std::string FindText(const StatementId& id);
  // Texts above kTextBytesMax are not kept.
  void Insert(const PlanKey& key, CachedPlanPtr plan);

  static constexpr size_t kTextBytesMax = 64 << 10;

 private:
  static constexpr size_t kShards = 16;
  struct Entry {
    PlanKey key;
    CachedPlanPtr plan;
  };
  struct alignas(64) Shard {
    io::SpinLatch latch;      // guards all below
    std::list<Entry> recent;  // most recently used first
    absl::flat_hash_map<PlanKey, std::list<Entry>::iterator> entries;
  };
  Shard& ShardOf(const StatementId& id) { return shards_[static_cast<unsigned char>(id[0]) % kShards]; }

  size_t shard_entries_max_;
  std::array<Shard, kShards> shards_;
};

}  // namespace sisal::db
