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

// The last state of each object that a transaction changed; nullptr: dropped. Two deltas of transactions that ran at
// the same time touch different objects and names (object locks, name intents), so they may be merged in any order.
struct Delta {
  std::map<ObjectId, TablePtr> tables;
  std::map<ObjectId, SequencePtr> sequences;
};

class RootImpl final : public Root {
 public:
  RootImpl();

  TablePtr FindTable(std::string_view schema, std::string_view name) const override;
  TablePtr FindTable(ObjectId id) const override;
  TablePtr FindTableOfIndex(std::string_view schema, std::string_view index_name) const override;
  bool RelationExists(std::string_view schema, std::string_view name) const override;
  void ForEachTable(const std::function<void(const TablePtr&)>& visit) const override;
  SequencePtr FindSequence(std::string_view schema, std::string_view name) const override;
  SequencePtr FindSequence(ObjectId id) const override;
  void ForEachSequence(const std::function<void(const SequencePtr&)>& visit) const override;
  void ForEachView(const std::function<void(const TablePtr&)>& visit) const override;
  uint64_t version() const override { return version_; }

  std::shared_ptr<const RootImpl> With(const Delta& delta) const;
  void CheckInvariants() const;

 private:
  struct Relation {
    TablePtr table;        // nullptr: a sequence
    bool is_index;         // of `table`, its primary key's included
    SequencePtr sequence;  // nullptr: a table or an index
    ObjectId id() const { return table != nullptr ? table->id : sequence->id; }
  };
  void RemoveName(const std::string& schema, const std::string& name, ObjectId id);
  void RemoveTable(ObjectId id);
  void RemoveSequence(ObjectId id);
  void Add(const TablePtr& table);
  void Add(const SequencePtr& sequence);

  PersistentMap<std::string, Relation> by_name_;
  PersistentMap<ObjectId, TablePtr> by_id_;
  PersistentMap<ObjectId, TablePtr> views_;  // of by_id_
  PersistentMap<ObjectId, SequencePtr> sequences_;
  uint64_t version_;
};
using RootImplPtr = std::shared_ptr<const RootImpl>;

class ChangesImpl final : public Changes {
 public:
  explicit ChangesImpl(RootPtr base) : root_(std::static_pointer_cast<const RootImpl>(std::move(base))) {}

  RootPtr root() const override { return root_; }
  bool empty() const override { return delta_.tables.empty() && delta_.sequences.empty(); }
  bool Touches(ObjectId id) const override { return delta_.tables.contains(id) || delta_.sequences.contains(id); }
  std::unique_ptr<Changes> Clone() const override { return std::make_unique<ChangesImpl>(*this); }

  void Rebase(const RootPtr& base) override { root_ = static_cast<const RootImpl&>(*base).With(delta_); }

  // nullptr: the object is dropped.
  void Set(ObjectId id, TablePtr table);
  void SetSequence(ObjectId id, SequencePtr sequence);
  const Delta& delta() const { return delta_; }

 private:
  RootImplPtr root_;
  Delta delta_;
};

}  // namespace sisal::catalog
