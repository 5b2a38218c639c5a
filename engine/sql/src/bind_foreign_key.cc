// FOREIGN KEY constraints: where they are defined, and the rules that a statement needs which writes either side.
#include <algorithm>

#include "alter_draft.h"
#include "binder.h"
#include "table_draft.h"

namespace sisal::sql {

namespace {

constexpr size_t kKeyColumnsMax = 32;

bool Contains(const std::vector<uint32_t>& columns, uint32_t column) {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

bool Intersects(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  return std::any_of(a.begin(), a.end(), [&](uint32_t column) { return Contains(b, column); });
}

bool IsString(TypeId id) { return id == TypeId::kText || id == TypeId::kVarchar; }
bool IsFloat(TypeId id) { return id == TypeId::kReal || id == TypeId::kDouble; }
bool IsDateTime(TypeId id) { return id == TypeId::kDate || id == TypeId::kTimestamp || id == TypeId::kTimestampTz; }

// Values of the two have one key encoding, but for the width of integers.
bool HaveOneEncoding(TypeId child, TypeId parent) {
  return child == parent || (IsString(child) && IsString(parent)) ||
         (type::IsIntegerType(child) && type::IsIntegerType(parent));
}

// Whether PostgreSQL has an "=" of the parent's index for them, or converts the child to the parent's type.
bool ArePostgresComparable(TypeId child, TypeId parent) {
  return (IsFloat(child) && IsFloat(parent)) || (IsDateTime(child) && IsDateTime(parent)) ||
         CanCoerce(child, parent, CastContext::kImplicit);
}

catalog::ReferenceAction ActionOf(const char* text) {
  switch (View(text).empty() ? 'a' : text[0]) {
    case 'r':
      return catalog::ReferenceAction::kRestrict;
    case 'c':
      return catalog::ReferenceAction::kCascade;
    case 'n':
      return catalog::ReferenceAction::kSetNull;
    case 'd':
      return catalog::ReferenceAction::kSetDefault;
    default:
      return catalog::ReferenceAction::kNoAction;
  }
}

bool Writes(catalog::ReferenceAction action) {
  return action != catalog::ReferenceAction::kNoAction && action != catalog::ReferenceAction::kRestrict;
}

// The table's unique key number `number` (Table::FindUniqueKey) as columns.
std::vector<catalog::IndexColumn> KeyColumns(const catalog::Table& table, uint32_t number) {
  if (number > 0) return table.indexes[number - 1].columns;
  std::vector<catalog::IndexColumn> columns;
  for (const uint32_t column : table.primary_key) columns.push_back({column, type::SortOrder::kAscending, false});
  return columns;
}

TreeId KeyTree(const catalog::Table& table, uint32_t number) {
  return number == 0 ? table.tree : table.indexes[number - 1].tree;
}

// The first of `key` as parts of a foreign key that has `columns` on this side; empty: they are others.
std::vector<KeyPart> PartsOf(const std::vector<catalog::IndexColumn>& key, const std::vector<uint32_t>& columns) {
  std::vector<KeyPart> parts;
  for (const catalog::IndexColumn& part : key) {
    if (parts.size() == columns.size()) break;
    const auto place = std::find(columns.begin(), columns.end(), part.column);
    if (place == columns.end()) return {};
    parts.push_back({static_cast<uint32_t>(place - columns.begin()), part.order, part.nulls_first});
  }
  // A column may come twice on the referencing side; then no index leads with all of them.
  if (parts.size() < columns.size()) return {};
  for (uint32_t i = 0; i < columns.size(); ++i) {
    const auto is = [&](const KeyPart& part) { return part.column == i; };
    if (std::none_of(parts.begin(), parts.end(), is)) return {};
  }
  return parts;
}

// How the rows of a foreign key's values are found: its primary key or an index that begins with its columns.
void ChooseAccess(ChildRule& rule) {
  const catalog::Table& child = *rule.child;
  for (uint32_t i = 0; i <= child.indexes.size(); ++i) {
    const std::vector<catalog::IndexColumn> key = i == 0 ? KeyColumns(child, 0) : child.indexes[i - 1].columns;
    rule.access_parts = PartsOf(key, rule.key->columns);
    if (rule.access_parts.empty()) continue;
    rule.access = KeyTree(child, i);
    return;
  }
}

std::string Joined(const std::vector<std::string>& names) {
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? "" : "_") + name;
  return joined;
}

}  // namespace

bool FindReferencedKey(ParentRule& rule) {
  const std::optional<uint32_t> number = rule.parent->FindUniqueKey(rule.key->referenced);
  if (!number.has_value()) return false;
  rule.tree = KeyTree(*rule.parent, *number);
  rule.parts = PartsOf(KeyColumns(*rule.parent, *number), rule.key->referenced);
  return true;
}

Result<catalog::TablePtr> Binder::FindReferenced(const PgQuery__RangeVar& relation, const catalog::TablePtr& table) {
  const std::string_view schema = View(relation.schemaname), name = View(relation.relname);
  if (name == table->name && (schema.empty() || schema == table->schema)) return table;
  if (schema == "pg_catalog" || schema == "information_schema") {
    return Error("42501", "permission denied: \"" + std::string(name) + "\" is a system catalog");
  }
  Result<catalog::TablePtr> found = FindTable(relation);
  if (!found.ok()) return std::move(found).error().WithPosition(0);
  if ((*found)->view.has_value()) {
    return Error("42809", "referenced relation \"" + (*found)->name + "\" is not a table");
  }
  return found;
}

Result<std::vector<uint32_t>> Binder::ForeignKeyColumns(const catalog::Table& table,
                                                        const std::vector<std::string>& names) const {
  std::vector<uint32_t> columns;
  for (const std::string& name : names) {
    const std::optional<uint32_t> column = table.FindColumn(name);
    if (!column.has_value()) {
      return Error("42703", "column \"" + name + "\" referenced in foreign key constraint does not exist");
    }
    if (columns.size() == kKeyColumnsMax) return Error("54011", "cannot have more than 32 keys in a foreign key");
    columns.push_back(*column);
  }
  return columns;
}

Result<std::vector<uint32_t>> Binder::ReferencedColumns(const PgQuery__Constraint& node,
                                                        const catalog::Table& parent) const {
  if (node.n_pk_attrs == 0) {
    if (!parent.primary_key.empty()) return parent.primary_key;
    return Error("42704", "there is no primary key for referenced table \"" + parent.name + "\"");
  }
  std::vector<std::string> names;
  for (const Node* name : NodeList(node.pk_attrs, node.n_pk_attrs)) names.emplace_back(StringOf(name));
  SISAL_ASSIGN_OR_RETURN(const std::vector<uint32_t> columns, ForeignKeyColumns(parent, names));
  std::vector<uint32_t> sorted = columns;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return Error("42830", "foreign key referenced-columns list must not contain duplicates");
  }
  if (!parent.FindUniqueKey(columns).has_value()) {
    return Error("42830",
                 "there is no unique constraint matching given keys for referenced table \"" + parent.name + "\"");
  }
  return columns;
}

Status Binder::CheckForeignKeyTypes(const catalog::ForeignKey& key, const catalog::Table& table,
                                    const catalog::Table& parent) const {
  for (size_t i = 0; i < key.columns.size(); ++i) {
    const catalog::Column& from = table.columns[key.columns[i]];
    const catalog::Column& to = parent.columns[key.referenced[i]];
    if (HaveOneEncoding(from.type.id, to.type.id)) continue;
    const std::string from_name(type::TypeName(from.type.id)), to_name(type::TypeName(to.type.id));
    if (ArePostgresComparable(from.type.id, to.type.id)) {
      return Error("0A000", "a foreign key of type " + from_name + " that references " + to_name + " is not supported");
    }
    return Error("42804", "foreign key constraint \"" + key.name + "\" cannot be implemented")
        .WithDetail("Key columns \"" + from.name + "\" and \"" + to.name +
                    "\" are of incompatible types: " + from_name + " and " + to_name + ".");
  }
  return Status();
}

Result<catalog::ForeignKey> Binder::BindForeignKey(const PgQuery__Constraint& node,
                                                   const std::vector<std::string>& names,
                                                   const catalog::TablePtr& table) {
  if (node.deferrable || node.initdeferred) return NotSupported(node.location, "DEFERRABLE");
  catalog::ForeignKey key;
  key.name = View(node.conname);
  const std::vector<std::string> taken = ConstraintNames(*table);
  if (key.name.empty()) {
    key.name = ChooseConstraintName(*table, Joined(names), "fkey", taken);
  } else if (std::find(taken.begin(), taken.end(), key.name) != taken.end()) {
    return Error("42710", "constraint \"" + key.name + "\" for relation \"" + table->name + "\" already exists");
  }
  SISAL_ASSIGN_OR_RETURN(const catalog::TablePtr parent, FindReferenced(*node.pktable, table));
  key.table = parent->id;
  SISAL_ASSIGN_OR_RETURN(key.columns, ForeignKeyColumns(*table, names));
  for (const Node* column : NodeList(node.fk_del_set_cols, node.n_fk_del_set_cols)) {
    SISAL_ASSIGN_OR_RETURN(const std::vector<uint32_t> set, ForeignKeyColumns(*table, {std::string(StringOf(column))}));
    if (!Contains(key.columns, set[0])) {
      return Error("42P10", "column \"" + std::string(StringOf(column)) +
                                "\" referenced in ON DELETE SET action must be part of foreign key");
    }
    if (!Contains(key.set_on_delete, set[0])) key.set_on_delete.push_back(set[0]);
  }
  SISAL_ASSIGN_OR_RETURN(key.referenced, ReferencedColumns(node, *parent));
  if (key.columns.size() != key.referenced.size()) {
    return Error("42830", "number of referencing and referenced columns for foreign key disagree");
  }
  key.match_full = View(node.fk_matchtype) == "f";
  key.on_delete = ActionOf(node.fk_del_action);
  key.on_update = ActionOf(node.fk_upd_action);
  SISAL_RETURN_IF_ERROR(CheckForeignKeyTypes(key, *table, *parent));
  return key;
}

Status Binder::AddForeignKeys(const TableDraft& added, AlterDraft& draft) {
  for (const TableDraft::ForeignKeyNode& node : added.foreign_keys) {
    if (node.node->skip_validation) return NotSupported(-1, "NOT VALID");
    const auto table = std::make_shared<catalog::Table>(draft.changed);
    table->SetColumns(draft.changed.columns);
    SISAL_ASSIGN_OR_RETURN(catalog::ForeignKey key, BindForeignKey(*node.node, node.names, table));
    draft.changed.foreign_keys.push_back(std::move(key));
  }
  return Status();
}

// The foreign keys that reference the table still find a key there.
Status Binder::CheckReferrers(const AlterDraft& draft, const std::string& dropped, const std::string& on) {
  std::string detail;
  for (const catalog::Referrer& referrer : draft.changed.referrers) {
    const bool is_own = referrer.table == draft.changed.id;
    const catalog::TablePtr child = is_own ? nullptr : context_.root->FindTable(referrer.table);
    const catalog::ForeignKey* key = is_own             ? draft.changed.FindForeignKey(referrer.foreign_key)
                                     : child != nullptr ? child->FindForeignKey(referrer.foreign_key)
                                                        : nullptr;
    if (key == nullptr || draft.changed.FindUniqueKey(key->referenced).has_value()) continue;
    detail += (detail.empty() ? "" : "\n") + ("constraint " + key->name) + " on table " +
              (is_own ? draft.changed.name : child->name) + " depends on " + on;
  }
  if (detail.empty()) return Status();
  return Error("2BP01", "cannot drop " + dropped + " because other objects depend on it")
      .WithDetail(std::move(detail))
      .WithHint("Use DROP ... CASCADE to drop the dependent objects too.");
}

Result<catalog::TablePtr> Binder::FindRelated(const catalog::TablePtr& table, ObjectId id) {
  if (table->id == id) return table;
  const catalog::TablePtr related = context_.root->FindTable(id);
  if (related == nullptr) {
    return Error("XX001", "a foreign key of or to \"" + table->name + "\" belongs to a table that is not there");
  }
  UseTable(related);
  return related;
}

Status Binder::AddParentRule(const catalog::ForeignKey& key, TableRules& rules) {
  ParentRule rule;
  rule.key = &key;
  SISAL_ASSIGN_OR_RETURN(rule.parent, FindRelated(rules.table, key.table));
  if (!FindReferencedKey(rule)) {
    return Error("XX001", "foreign key \"" + key.name + "\" references columns without a key");
  }
  rules.parents.push_back(std::move(rule));
  return Status();
}

Status Binder::AddChildRule(const catalog::Referrer& referrer, TableRules& rules) {
  ChildRule rule;
  SISAL_ASSIGN_OR_RETURN(rule.child, FindRelated(rules.table, referrer.table));
  rule.key = rule.child->FindForeignKey(referrer.foreign_key);
  if (rule.key == nullptr) return Error("XX001", "foreign key \"" + referrer.foreign_key + "\" is not there");
  const std::optional<uint32_t> number = rules.table->FindUniqueKey(rule.key->referenced);
  if (!number.has_value()) {
    return Error("XX001", "foreign key \"" + rule.key->name + "\" references columns without a key");
  }
  rule.tree = KeyTree(*rules.table, *number);
  rule.parts = PartsOf(KeyColumns(*rules.table, *number), rule.key->referenced);
  ChooseAccess(rule);
  if (Writes(rule.key->on_delete) || Writes(rule.key->on_update)) {
    SISAL_ASSIGN_OR_RETURN(rule.rules, AllRulesOf(rule.child));
  }
  using catalog::ReferenceAction;
  if (rule.key->on_delete == ReferenceAction::kSetDefault || rule.key->on_update == ReferenceAction::kSetDefault) {
    for (const uint32_t column : rule.key->columns) {
      SISAL_ASSIGN_OR_RETURN(const Expr* value, DefaultOf(rule.child, column));
      rule.defaults.push_back(value);
    }
  }
  rules.children.push_back(std::move(rule));
  return Status();
}

Status Binder::AddCheckRules(TableRules& rules) {
  for (const catalog::Check& check : rules.table->checks) {
    SISAL_ASSIGN_OR_RETURN(const Expr* condition, BindCheckText(check, rules.table));
    rules.checks.push_back({&check, condition});
  }
  return Status();
}

// Foreign keys may go round in circles, so the rules are known before they are whole.
Result<const TableRules*> Binder::AllRulesOf(const catalog::TablePtr& table) {
  const auto known = all_rules_.find(table.get());
  if (known != all_rules_.end()) return known->second;
  const Level level(*this, 1);
  if (level.too_deep()) return NestedTooDeeply();
  TableRules& rules = statement_.rules.emplace_back();
  rules.table = table;
  all_rules_[table.get()] = &rules;
  SISAL_RETURN_IF_ERROR(AddCheckRules(rules));
  for (const catalog::ForeignKey& key : table->foreign_keys) SISAL_RETURN_IF_ERROR(AddParentRule(key, rules));
  for (const catalog::Referrer& referrer : table->referrers) SISAL_RETURN_IF_ERROR(AddChildRule(referrer, rules));
  return &rules;
}

Result<const TableRules*> Binder::RulesOf(const catalog::TablePtr& table, PlanKind kind,
                                          const std::vector<Assignment>& assignments) {
  if (table->checks.empty() && table->foreign_keys.empty() && table->referrers.empty()) return nullptr;
  std::vector<uint32_t> assigned;
  for (const Assignment& assignment : assignments) assigned.push_back(assignment.column);
  TableRules& rules = statement_.rules.emplace_back();
  rules.table = table;
  if (kind != PlanKind::kDelete) SISAL_RETURN_IF_ERROR(AddCheckRules(rules));
  const bool moves = Intersects(assigned, table->primary_key);
  for (const catalog::ForeignKey& key : table->foreign_keys) {
    const bool needed = kind == PlanKind::kInsert || moves || Intersects(assigned, key.columns);
    if (needed && kind != PlanKind::kDelete) SISAL_RETURN_IF_ERROR(AddParentRule(key, rules));
  }
  for (const catalog::Referrer& referrer : table->referrers) {
    SISAL_ASSIGN_OR_RETURN(const catalog::TablePtr child, FindRelated(table, referrer.table));
    const catalog::ForeignKey* key = child->FindForeignKey(referrer.foreign_key);
    if (kind != PlanKind::kDelete && key != nullptr && !Intersects(assigned, key->referenced)) continue;
    SISAL_RETURN_IF_ERROR(AddChildRule(referrer, rules));
  }
  return rules.checks.empty() && rules.parents.empty() && rules.children.empty() ? nullptr : &rules;
}

}  // namespace sisal::sql
