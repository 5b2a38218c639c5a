#include "root.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "sisal/base/check.h"

namespace sisal::catalog {

std::string RelationKey(std::string_view schema, std::string_view name) {
  std::string key;
  key.reserve(schema.size() + 1 + name.size());
  key.append(schema).push_back('\0');
  key.append(name);
  return key;
}

std::vector<std::string> RelationNames(const Table& table) {
  std::vector<std::string> names = {table.name};
  if (!table.primary_key_name.empty()) names.push_back(table.primary_key_name);
  for (const Index& index : table.indexes) names.push_back(index.name);
  return names;
}

RootImpl::RootImpl() {
  static std::atomic<uint64_t> next_version{1};
  version_ = next_version.fetch_add(1, std::memory_order_relaxed);
}

TablePtr RootImpl::FindTable(std::string_view schema, std::string_view name) const {
  const Relation* relation = by_name_.Find(RelationKey(schema, name));
  return relation == nullptr || relation->is_index ? nullptr : relation->table;  // nullptr of a sequence, too
}

TablePtr RootImpl::FindTable(ObjectId id) const {
  const TablePtr* table = by_id_.Find(id);
  return table == nullptr ? nullptr : *table;
}

TablePtr RootImpl::FindTableOfIndex(std::string_view schema, std::string_view index_name) const {
  const Relation* relation = by_name_.Find(RelationKey(schema, index_name));
  return relation == nullptr || !relation->is_index ? nullptr : relation->table;
}

bool RootImpl::RelationExists(std::string_view schema, std::string_view name) const {
  return by_name_.Find(RelationKey(schema, name)) != nullptr;
}

void RootImpl::ForEachTable(const std::function<void(const TablePtr&)>& visit) const {
  by_name_.ForEach([&](const std::string&, const Relation& relation) {
    if (!relation.is_index && relation.table != nullptr) visit(relation.table);
  });
}

SequencePtr RootImpl::FindSequence(std::string_view schema, std::string_view name) const {
  const Relation* relation = by_name_.Find(RelationKey(schema, name));
  return relation == nullptr ? nullptr : relation->sequence;
}

SequencePtr RootImpl::FindSequence(ObjectId id) const {
  const SequencePtr* sequence = sequences_.Find(id);
  return sequence == nullptr ? nullptr : *sequence;
}

void RootImpl::ForEachSequence(const std::function<void(const SequencePtr&)>& visit) const {
  if (sequences_.size() == 0) return;
  by_name_.ForEach([&](const std::string&, const Relation& relation) {
    if (relation.sequence != nullptr) visit(relation.sequence);
  });
}

void RootImpl::ForEachView(const std::function<void(const TablePtr&)>& visit) const {
  views_.ForEach([&](const ObjectId&, const TablePtr& view) { visit(view); });
}

namespace {

// Views with a column of the relation for which `wanted` is true; by id.
template <typename Wanted>
std::vector<TablePtr> ViewsWith(const Root& root, ObjectId relation, Wanted wanted) {
  std::vector<TablePtr> views;
  root.ForEachView([&](const TablePtr& view) {
    for (const ViewSource& source : view->view->sources) {
      if (source.relation == relation && wanted(source)) views.push_back(view);
    }
  });
  std::sort(views.begin(), views.end(), [](const TablePtr& a, const TablePtr& b) { return a->id < b->id; });
  return views;
}

}  // namespace

std::vector<TablePtr> ViewsUsing(const Root& root, ObjectId relation, std::optional<uint32_t> slot) {
  return ViewsWith(root, relation, [&](const ViewSource& source) {
    return !slot.has_value() || std::any_of(source.columns.begin(), source.columns.end(),
                                            [&](const ViewColumn& c) { return c.used && c.slot == *slot; });
  });
}

std::vector<TablePtr> ViewsByKey(const Root& root, ObjectId table) {
  return ViewsWith(root, table, [](const ViewSource& source) {
    return std::any_of(source.columns.begin(), source.columns.end(), [](const ViewColumn& c) { return c.key; });
  });
}

RootImplPtr RootImpl::With(const Delta& delta) const {
  auto root = std::make_shared<RootImpl>();
  root->by_name_ = by_name_;
  root->by_id_ = by_id_;
  root->views_ = views_;
  root->sequences_ = sequences_;
  // All names first: one may go from a table to another.
  for (const auto& [id, table] : delta.tables) root->RemoveTable(id);
  for (const auto& [id, sequence] : delta.sequences) root->RemoveSequence(id);
  for (const auto& [id, table] : delta.tables) {
    if (table != nullptr) root->Add(table);
  }
  for (const auto& [id, sequence] : delta.sequences) {
    if (sequence != nullptr) root->Add(sequence);
  }
  return root;
}

void RootImpl::RemoveName(const std::string& schema, const std::string& name, ObjectId id) {
  const std::string key = RelationKey(schema, name);
  const Relation* relation = by_name_.Find(key);
  if (relation != nullptr && relation->id() == id) by_name_ = by_name_.Without(key);
}

void RootImpl::RemoveTable(ObjectId id) {
  const TablePtr table = FindTable(id);
  if (table == nullptr) return;
  for (const std::string& name : RelationNames(*table)) RemoveName(table->schema, name, id);
  by_id_ = by_id_.Without(id);
  views_ = views_.Without(id);
}

void RootImpl::RemoveSequence(ObjectId id) {
  const SequencePtr sequence = FindSequence(id);
  if (sequence == nullptr) return;
  RemoveName(sequence->schema, sequence->name, id);
  sequences_ = sequences_.Without(id);
}

void RootImpl::Add(const TablePtr& table) {
  by_id_ = by_id_.With(table->id, table);
  if (table->view.has_value()) views_ = views_.With(table->id, table);
  for (const std::string& name : RelationNames(*table)) {
    by_name_ = by_name_.With(RelationKey(table->schema, name), Relation{table, name != table->name, nullptr});
  }
}

void RootImpl::Add(const SequencePtr& sequence) {
  sequences_ = sequences_.With(sequence->id, sequence);
  by_name_ = by_name_.With(RelationKey(sequence->schema, sequence->name), Relation{nullptr, false, sequence});
}

void RootImpl::CheckInvariants() const {
  by_name_.CheckInvariants();
  by_id_.CheckInvariants();
  views_.CheckInvariants();
  size_t names = 0;
  by_id_.ForEach([&](const ObjectId& id, const TablePtr& table) {
    SISAL_CHECK(table->id == id);
    names += RelationNames(*table).size();
  });
  SISAL_CHECK(by_name_.size() == names + sequences_.size());
}

void ChangesImpl::Set(ObjectId id, TablePtr table) {
  root_ = root_->With({{{id, table}}, {}});
  delta_.tables[id] = std::move(table);
}

void ChangesImpl::SetSequence(ObjectId id, SequencePtr sequence) {
  root_ = root_->With({{}, {{id, sequence}}});
  delta_.sequences[id] = std::move(sequence);
}

}  // namespace sisal::catalog
