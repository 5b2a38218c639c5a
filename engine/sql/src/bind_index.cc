// CREATE INDEX, DROP TABLE, DROP INDEX, TRUNCATE.
#include <algorithm>

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
  Result<catalog::TablePtr> found = FindWritableTable(*node.relation);
  if (!found.ok()) return std::move(found).error().WithPosition(0);
  const catalog::TablePtr table = *found;
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
  if (node.concurrent) return NotSupported(-1, "DROP INDEX CONCURRENTLY");
  if (node.remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_TABLE) return BindDropTable(node);
  if (node.remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_INDEX) return BindDropIndex(node);
  return NotSupported(-1, "DROP of this kind of object");
}

Result<catalog::TablePtr> Binder::FindDropped(const QualifiedName& name, bool is_index, bool missing_ok) {
  const auto find = [&](const std::string& schema, bool index) {
    return index ? context_.root->FindTableOfIndex(schema, name.name) : context_.root->FindTable(schema, name.name);
  };
  const std::span<const std::string> path = name.schema.empty() ? context_.search_path : std::span(&name.schema, 1);
  for (const std::string& schema : path) {
    if (catalog::TablePtr table = find(schema, is_index); table != nullptr) {
      UseTable(table);
      return table;
    }
    if (find(schema, !is_index) == nullptr) continue;
    return Error("42809", "\"" + name.name + "\" is not " + (is_index ? "an index" : "a table"))
        .WithHint(is_index ? "Use DROP TABLE to remove a table." : "Use DROP INDEX to remove an index.");
  }
  if (!missing_ok) {
    return Error(is_index ? "42704" : "42P01", (is_index ? "index \"" : "table \"") + name.text + "\" does not exist");
  }
  statement_.drop.missing.push_back(name.text);
  return catalog::TablePtr();
}

Status Binder::BindDropTable(const PgQuery__DropStmt& node) {
  UtilityCommand(StatementKind::kDropTable, "DROP TABLE");
  statement_.depends_on_catalog = true;
  for (const Node* object : NodeList(node.objects, node.n_objects)) {
    SISAL_ASSIGN_OR_RETURN(const catalog::TablePtr table, FindDropped(NameOf(object), false, node.missing_ok));
    if (table != nullptr) AddDropped(table);
  }
  return Status();
}

Status Binder::BindDropIndex(const PgQuery__DropStmt& node) {
  UtilityCommand(StatementKind::kDropIndex, "DROP INDEX");
  statement_.depends_on_catalog = true;
  for (const Node* object : NodeList(node.objects, node.n_objects)) {
    const QualifiedName name = NameOf(object);
    SISAL_ASSIGN_OR_RETURN(const catalog::TablePtr table, FindDropped(name, true, node.missing_ok));
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
  statement_.depends_on_catalog = true;
  for (const Node* relation : NodeList(node.relations, node.n_relations)) {
    SISAL_ASSIGN_OR_RETURN(const catalog::TablePtr table, FindWritableTable(*relation->range_var));
    AddDropped(table);
  }
  return Status();
}

}  // namespace sisal::sql
