// Roots, and what DDL changes in them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "persistent_map.h"
#include "sisal/catalog/catalog.h"

namespace sisal::catalog {

// "schema", a zero byte, "name": identifiers hold no zero byte. Also the keys of kCatalogNameTree.
std::string RelationKey(std::string_view schema, std::string_view name);
// The names that a table takes: its own, its primary key's and its indexes'. Unsorted.
std::vector<std::string> RelationNames(const Table& table);

// The last state of each table that a transaction changed; nullptr: dropped. Two deltas of transactions that ran at the
// same time touch different tables and names (object locks, name intents), so they may be merged in any order.
using Delta = std::map<ObjectId, TablePtr>;

class RootImpl final : public Root {
 public:
  RootImpl();

  TablePtr FindTable(std::string_view schema, std::string_view name) const override;
  TablePtr FindTable(ObjectId id) const override;
  TablePtr FindTableOfIndex(std::string_view schema, std::string_view index_name) const override;
  bool RelationExists(std::string_view schema, std::string_view name) const override;
  void ForEachTable(const std::function<void(const TablePtr&)>& visit) const override;
  uint64_t version() const override { return version_; }

  std::shared_ptr<const RootImpl> With(const Delta& delta) const;
  void CheckInvariants() const;

 private:
  struct Relation {
    TablePtr table;
    bool is_index;  // of `table`, its primary key's included
  };
  void Remove(ObjectId id);
  void Add(const TablePtr& table);

  PersistentMap<std::string, Relation> by_name_;
  PersistentMap<ObjectId, TablePtr> by_id_;
  uint64_t version_;
};
using RootImplPtr = std::shared_ptr<const RootImpl>;

class ChangesImpl final : public Changes {
 public:
  explicit ChangesImpl(RootPtr base) : root_(std::static_pointer_cast<const RootImpl>(std::move(base))) {}

  RootPtr root() const override { return root_; }
  bool empty() const override { return delta_.empty(); }
  std::unique_ptr<Changes> Clone() const override { return std::make_unique<ChangesImpl>(*this); }

  // nullptr: the table is dropped.
  void Set(ObjectId id, TablePtr table);
  const Delta& delta() const { return delta_; }

 private:
  RootImplPtr root_;
  Delta delta_;
};

}  // namespace sisal::catalog
