// CREATE INDEX, DROP TABLE, DROP INDEX, TRUNCATE.
#include <algorithm>
#include <cctype>

#include "binder.h"

namespace sisal::sql {

namespace {

std::string Joined(const std::vector<std::string>& names) {
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? "" : "_") + name;
  return joined;
}

}  // namespace

Status Binder::BindCreateIndex(const PgQuery__IndexStmt& node) {
  UtilityCommand(StatementKind::kCreateIndex, "CREATE INDEX");
  statement_.depends_on_catalog = true;
  if (node.concurrent) return NotSupported(-1, "CREATE INDEX CONCURRENTLY");
  if (node.where_clause != nullptr) return NotSupported(LocationOf(node.where_clause), "a partial index");
  if (node.n_index_including_params > 0) return NotSupported(-1, "INCLUDE");
  if (node.n_options > 0) return NotSupported(-1, "WITH options of an index");
  if (node.nulls_not_distinct) return NotSupported(-1, "NULLS NOT DISTINCT");
  if (!View(node.table_space).empty()) return NotSupported(-1, "TABLESPACE");
  const std::string method(View(node.access_method));
  if (!method.empty() && method != "btree") return NotSupported(-1, "the index method \"" + method + "\"");
  if (FindSequence(View(node.relation->schemaname), View(node.relation->relname)) != nullptr) {
    return Error("42809", "cannot create index on relation \"" + std::string(View(node.relation->relname)) + "\"")
        .WithDetail("This operation is not supported for sequences.");
  }
  Result<catalog::TablePtr> found = FindWritableTable(*node.relation);
  if (!found.ok()) return std::move(found).error().WithPosition(0);
  const catalog::TablePtr table = *found;
  if (table->view.has_value()) {
    return Error("42809", "cannot create index on relation \"" + table->name + "\"")
        .WithDetail("This operation is not supported for views.");
  }
  catalog::Index index;
  index.unique = node.unique;
  std::vector<std::string> names;
  for (const Node* param : NodeList(node.index_params, node.n_index_params)) {
    const PgQuery__IndexElem& element = *param->index_elem;
    if (element.expr != nullptr) return NotSupported(LocationOf(element.expr), "an index on an expression");
    if (element.n_collation > 0) return NotSupported(-1, "COLLATE");
    if (element.n_opclass > 0) return NotSupported(-1, "an operator class");
    const std::string name(View(element.name));
    const std::optional<uint32_t> column = table->FindColumn(name);
    if (!column.has_value()) return Error("42703", "column \"" + name + "\" does not exist");
    const bool descending = element.ordering == PG_QUERY__SORT_BY_DIR__SORTBY_DESC;
    bool nulls_first = descending;
    if (element.nulls_ordering == PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_FIRST) nulls_first = true;
    if (element.nulls_ordering == PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_LAST) nulls_first = false;
    index.columns.push_back(
        {*column, descending ? type::SortOrder::kDescending : type::SortOrder::kAscending, nulls_first});
    // A column that comes twice is numbered in the index's name.
    std::string distinct = name;
    for (uint32_t i = 1; std::find(names.begin(), names.end(), distinct) != names.end(); ++i) {
      distinct = name + std::to_string(i);
    }
    names.push_back(std::move(distinct));
  }
  index.name = View(node.idxname);
  if (index.name.empty()) index.name = ChooseName(table->schema, table->name, Joined(names), "idx", {});
  statement_.create_index.table = table;
  statement_.create_index.index = std::move(index);
  statement_.create_index.if_not_exists = node.if_not_exists;
  return Status();
}

Binder::QualifiedName Binder::NameOf(const Node* object) {
  const NodeList parts(object->list->items, object->list->n_items);
  QualifiedName name;
  name.name = LastName(parts);
  if (parts.size() > 1) name.schema = StringOf(parts[parts.size() - 2]);
  name.text = name.schema.empty() ? name.name : name.schema + "." + name.name;
  return name;
}

Status Binder::BindDrop(const PgQuery__DropStmt& node) {
  statement_.drop.cascade = node.behavior == PG_QUERY__DROP_BEHAVIOR__DROP_CASCADE;
  if (node.concurrent) return NotSupported(-1, "DROP INDEX CONCURRENTLY");
  if (node.remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_TABLE) return BindDropTable(node);
  if (node.remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_INDEX) return BindDropIndex(node);
  if (node.remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_VIEW) return BindDropView(node);
  if (node.remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_SEQUENCE) return BindDropSequence(node);
  return NotSupported(-1, "DROP of this kind of object");
}

namespace {

// "table", with the verb and the article that messages about it have.
struct KindNames {
  std::string_view name, article;
};
constexpr KindNames kKindNames[] = {{"table", "a"}, {"view", "a"}, {"index", "an"}};

}  // namespace

Result<catalog::TablePtr> Binder::FindDropped(const QualifiedName& name, DropKind kind, bool missing_ok) {
  const std::span<const std::string> path = name.schema.empty() ? context_.search_path : std::span(&name.schema, 1);
  const KindNames& wanted = kKindNames[static_cast<size_t>(kind)];
  for (const std::string& schema : path) {
    catalog::TablePtr found = context_.root->FindTable(schema, name.name);
    DropKind found_kind = found != nullptr && found->view.has_value() ? DropKind::kView : DropKind::kTable;
    if (found == nullptr) {
      found = context_.root->FindTableOfIndex(schema, name.name);
      found_kind = DropKind::kIndex;
    }
    if (found == nullptr && context_.root->FindSequence(schema, name.name) != nullptr) {
      return Error("42809",
                   "\"" + name.name + "\" is not " + std::string(wanted.article) + " " + std::string(wanted.name))
          .WithHint("Use DROP SEQUENCE to remove a sequence.");
    }
    if (found == nullptr) continue;
    if (found_kind == kind) {
      UseTable(found);
      return found;
    }
    const std::string is(kKindNames[static_cast<size_t>(found_kind)].name);
    std::string command = "DROP " + is;
    std::transform(command.begin(), command.end(), command.begin(), [](unsigned char c) { return std::toupper(c); });
    return Error("42809",
                 "\"" + name.name + "\" is not " + std::string(wanted.article) + " " + std::string(wanted.name))
        .WithHint("Use " + command + " to remove " + std::string(kKindNames[static_cast<size_t>(found_kind)].article) +
                  " " + is + ".");
  }
  if (!missing_ok) {
    return Error(kind == DropKind::kIndex ? "42704" : "42P01",
                 std::string(wanted.name) + " \"" + name.text + "\" does not exist");
  }
  statement_.drop.missing.push_back(name.text);
  return catalog::TablePtr();
}

Status Binder::BindDropTable(const PgQuery__DropStmt& node) {
  UtilityCommand(StatementKind::kDropTable, "DROP TABLE");
  statement_.depends_on_catalog = true;
  statement_.drop.cascade = node.behavior == PG_QUERY__DROP_BEHAVIOR__DROP_CASCADE;
  for (const Node* object : NodeList(node.objects, node.n_objects)) {
    SISAL_ASSIGN_OR_RETURN(const catalog::TablePtr table,
                           FindDropped(NameOf(object), DropKind::kTable, node.missing_ok));
    if (table != nullptr) AddDropped(table);
  }
  return DropDependents(node.behavior);
}

Status Binder::BindDropView(const PgQuery__DropStmt& node) {
  UtilityCommand(StatementKind::kDropView, "DROP VIEW");
  statement_.depends_on_catalog = true;
  for (const Node* object : NodeList(node.objects, node.n_objects)) {
    SISAL_ASSIGN_OR_RETURN(const catalog::TablePtr view, FindDropped(NameOf(object), DropKind::kView, node.missing_ok));
    if (view != nullptr) AddDropped(view);
  }
  return DropDependents(node.behavior);
}

Status Binder::BindDropIndex(const PgQuery__DropStmt& node) {
  UtilityCommand(StatementKind::kDropIndex, "DROP INDEX");
  statement_.depends_on_catalog = true;
  for (const Node* object : NodeList(node.objects, node.n_objects)) {
    const QualifiedName name = NameOf(object);
    SISAL_ASSIGN_OR_RETURN(const catalog::TablePtr table, FindDropped(name, DropKind::kIndex, node.missing_ok));
    if (table == nullptr) continue;
    const auto index = std::find_if(table->indexes.begin(), table->indexes.end(),
                                    [&](const catalog::Index& other) { return other.name == name.name; });
    if (index == table->indexes.end() || index->is_constraint) {
      return Error("2BP01", "cannot drop index " + name.name + " because constraint " + name.name + " on table " +
                                table->name + " requires it")
          .WithHint("You can drop constraint " + name.name + " on table " + table->name + " instead.");
    }
    auto& names = statement_.drop.index_names;
    if (std::find(names.begin(), names.end(), name.name) != names.end()) continue;
    names.push_back(name.name);
    statement_.drop.tables.push_back(table);
  }
  return Status();
}

void Binder::AddDropped(const catalog::TablePtr& table) {
  auto& tables = statement_.drop.tables;
  if (std::find(tables.begin(), tables.end(), table) == tables.end()) tables.push_back(table);
}

Status Binder::BindTruncate(const PgQuery__TruncateStmt& node) {
  UtilityCommand(StatementKind::kTruncate, "TRUNCATE TABLE");
  statement_.drop.cascade = node.behavior == PG_QUERY__DROP_BEHAVIOR__DROP_CASCADE;
  statement_.depends_on_catalog = true;
  statement_.drop.restart_identity = node.restart_seqs;
  for (const Node* relation : NodeList(node.relations, node.n_relations)) {
    if (FindSequence(View(relation->range_var->schemaname), View(relation->range_var->relname)) != nullptr) {
      return Error("42809", "\"" + std::string(View(relation->range_var->relname)) + "\" is not a table");
    }
    SISAL_ASSIGN_OR_RETURN(const catalog::TablePtr table, FindWritableTable(*relation->range_var));
    if (table->view.has_value()) return Error("42809", "\"" + table->name + "\" is not a table");
    AddDropped(table);
  }
  return Status();
}

}  // namespace sisal::sql
