// INSERT, and the DEFAULT expressions of columns.
#include <algorithm>

#include "binder.h"

namespace sisal::sql {

Result<catalog::TablePtr> Binder::FindWritableTable(const PgQuery__RangeVar& node) {
  const std::string_view schema = View(node.schemaname);
  if (schema == "information_schema" || schema == "pg_catalog") {
    return At(node.location, "42501", "permission denied for table " + std::string(View(node.relname)));
  }
  if (FindSequence(schema, View(node.relname)) != nullptr) {
    return Error("42809", "cannot change sequence \"" + std::string(View(node.relname)) + "\"");
  }
  return FindTable(node);
}

Result<catalog::TablePtr> Binder::FindWriteTarget(const PgQuery__RangeVar& node, std::string_view verb) {
  SISAL_ASSIGN_OR_RETURN(catalog::TablePtr table, FindWritableTable(node));
  if (table->view.has_value()) return NotUpdatable(node, table, verb);
  return table;
}

Result<const Expr*> Binder::DefaultOf(const catalog::TablePtr& table, uint32_t column) {
  const catalog::Column& definition = table->columns[column];
  const Expr*& cached = defaults_[{table.get(), column}];
  if (cached != nullptr) return cached;
  if (definition.identity != catalog::Identity::kNone) {
    SISAL_ASSIGN_OR_RETURN(cached, NextIdentity(*table, column));
    return cached;
  }
  if (definition.default_sql.empty()) {
    cached = MakeConstant(definition.type, type::Datum(), -1);
    return cached;
  }
  SISAL_ASSIGN_OR_RETURN(cached, BindDefaultText(definition.default_sql, definition));
  return cached;
}

// The text was checked when the table was made, but it is bound under this statement's settings.
Result<const Expr*> Binder::BindDefaultText(const std::string& sql, const catalog::Column& column) {
  return BindStoredText(sql, "default of column \"" + column.name + "\"", [&](const Node* node) -> Result<const Expr*> {
    Scope scope;
    Frame frame;
    scope.frame = &frame;
    scope.clause = Clause::kDefault;
    SISAL_ASSIGN_OR_RETURN(const Expr* expr, BindExpr(scope, node));
    return CoerceForColumn(expr, column, -1);
  });
}

Result<std::vector<uint32_t>> Binder::InsertColumns(const catalog::Table& table, NodeList cols) {
  std::vector<uint32_t> columns;
  for (const Node* node : cols) {
    const PgQuery__ResTarget& target = *node->res_target;
    const std::string name(View(target.name));
    const std::optional<uint32_t> column = table.FindColumn(name);
    if (!column.has_value()) {
      return At(target.location, "42703", "column \"" + name + "\" of relation \"" + table.name + "\" does not exist");
    }
    if (target.n_indirection > 0) return NotSupported(target.location, "INSERT into a part of a column");
    if (std::find(columns.begin(), columns.end(), *column) != columns.end()) {
      return At(target.location, "42701", "column \"" + name + "\" specified more than once");
    }
    columns.push_back(*column);
  }
  return cols.empty() ? table.LiveColumns() : columns;
}

Result<Plan*> Binder::InsertFromValues(Scope& scope, const catalog::TablePtr& table,
                                       const std::vector<uint32_t>& columns, NodeList cols, NodeList rows) {
  Plan* plan = NewPlan(PlanKind::kValues);
  for (const catalog::Column& column : table->columns) plan->output.push_back(column.type);
  plan->rows.reserve(rows.size());
  scope.clause = Clause::kInsertValues;
  size_t width = 0;
  for (const Node* list : rows) {
    const NodeList items(list->list->items, list->list->n_items);
    if (!plan->rows.empty() && items.size() != width) {
      return At(LocationOf(items[0]), "42601", "VALUES lists must all be the same length");
    }
    width = items.size();
    if (items.size() > columns.size()) {
      return At(LocationOf(items[columns.size()]), "42601", "INSERT has more expressions than target columns");
    }
    if (items.size() < columns.size() && !cols.empty()) {
      return At(cols[items.size()]->res_target->location, "42601", "INSERT has more target columns than expressions");
    }
    std::vector<const Expr*> row(table->columns.size(), nullptr);
    for (size_t i = 0; i < items.size(); ++i) {
      const catalog::Column& column = table->columns[columns[i]];
      if (items[i]->node_case == PG_QUERY__NODE__NODE_SET_TO_DEFAULT) continue;
      SISAL_ASSIGN_OR_RETURN(const Expr* value, BindExpr(scope, items[i]));
      SISAL_ASSIGN_OR_RETURN(value, CoerceForColumn(value, column, LocationOf(items[i])));
      SISAL_ASSIGN_OR_RETURN(const bool takes, TakesInsertedValue(column));
      if (takes) row[columns[i]] = value;
    }
    for (uint32_t i = 0; i < row.size(); ++i) {
      if (row[i] != nullptr) continue;
      SISAL_ASSIGN_OR_RETURN(row[i], DefaultOf(table, i));
    }
    plan->rows.push_back(std::move(row));
  }
  return plan;
}

Result<Plan*> Binder::InsertFromQuery(const catalog::TablePtr& table, const std::vector<uint32_t>& columns,
                                      NodeList cols, const PgQuery__SelectStmt& node,
                                      const CommonTable* common_tables) {
  Frame frame;
  QueryOptions options;
  options.frame = &frame;
  options.common_tables = common_tables;
  options.keep_unknown = true;
  SISAL_ASSIGN_OR_RETURN(BoundQuery query, BindQuery(node, options));
  if (query.columns.size() > columns.size()) {
    return At(query.locations[columns.size()], "42601", "INSERT has more expressions than target columns");
  }
  if (query.columns.size() < columns.size() && !cols.empty()) {
    return At(cols[query.columns.size()]->res_target->location, "42601",
              "INSERT has more target columns than expressions");
  }
  std::vector<const Expr*> exprs(table->columns.size(), nullptr);
  for (uint32_t i = 0; i < query.columns.size(); ++i) {
    const catalog::Column& column = table->columns[columns[i]];
    const Expr* value = MakeColumn(i, query.columns[i].type, query.locations[i]);
    if (value->type.id == TypeId::kUnknown) {
      SISAL_CHECK(query.plan->kind == PlanKind::kProject);
      SISAL_ASSIGN_OR_RETURN(query.plan->exprs[i], CoerceType(query.plan->exprs[i], column.type.id,
                                                              CastContext::kAssignment, query.locations[i]));
      query.plan->output[i] = column.type.id;
      value = MakeColumn(i, column.type.id, query.locations[i]);
    }
    SISAL_ASSIGN_OR_RETURN(value, CoerceForColumn(value, column, query.locations[i]));
    SISAL_ASSIGN_OR_RETURN(const bool takes, TakesInsertedValue(column));
    if (takes) exprs[columns[i]] = value;
  }
  for (uint32_t i = 0; i < exprs.size(); ++i) {
    if (exprs[i] != nullptr) continue;
    SISAL_ASSIGN_OR_RETURN(exprs[i], DefaultOf(table, i));
  }
  return AddProject(query.plan, std::move(exprs));
}

Status Binder::BindInsert(const PgQuery__InsertStmt& node) {
  statement_.kind = StatementKind::kInsert;
  statement_.command = "INSERT";
  statement_.read_only = false;
  overriding_ = node.override;
  SISAL_ASSIGN_OR_RETURN(const CommonTable* common_tables, BindWith(node.with_clause, nullptr, nullptr));
  SISAL_ASSIGN_OR_RETURN(const catalog::TablePtr table, FindWriteTarget(*node.relation, "insert into"));
  const std::string alias(
      View(node.relation->alias != nullptr ? node.relation->alias->aliasname : node.relation->relname));
  const NodeList cols(node.cols, node.n_cols);
  SISAL_ASSIGN_OR_RETURN(const std::vector<uint32_t> columns, InsertColumns(*table, cols));

  Frame frame;
  Plan* source = nullptr;
  if (node.select_stmt == nullptr) {  // DEFAULT VALUES
    source = NewPlan(PlanKind::kValues);
    std::vector<const Expr*> row;
    for (uint32_t i = 0; i < table->columns.size(); ++i) {
      SISAL_ASSIGN_OR_RETURN(const Expr* value, DefaultOf(table, i));
      row.push_back(value);
      source->output.push_back(table->columns[i].type);
    }
    source->rows.push_back(std::move(row));
  } else {
    const PgQuery__SelectStmt& query = *node.select_stmt->select_stmt;
    const bool values = query.n_values_lists > 0 && query.n_sort_clause == 0 && query.limit_count == nullptr &&
                        query.limit_offset == nullptr && query.with_clause == nullptr;
    if (values) {
      Scope scope;
      scope.frame = &frame;
      scope.common_tables = common_tables;
      SISAL_ASSIGN_OR_RETURN(
          source, InsertFromValues(scope, table, columns, cols, NodeList(query.values_lists, query.n_values_lists)));
    } else {
      SISAL_ASSIGN_OR_RETURN(source, InsertFromQuery(table, columns, cols, query, common_tables));
    }
  }
  Plan* insert = NewPlan(PlanKind::kInsert);
  insert->inputs = {source};
  insert->table = table;
  if (node.on_conflict_clause != nullptr) {
    SISAL_RETURN_IF_ERROR(BindOnConflict(*node.on_conflict_clause, table, alias, common_tables, *insert));
  }
  SISAL_RETURN_IF_ERROR(CheckUnusedCommonTables(common_tables, nullptr, &frame));
  Scope scope;
  scope.frame = &frame;
  scope.common_tables = common_tables;
  NamespaceItem item;
  item.schema = table->schema;
  AddTableLeaf(scope, table, alias, item);
  scope.items.push_back(std::move(item));
  SISAL_RETURN_IF_ERROR(BindReturning(scope, NodeList(node.returning_list, node.n_returning_list), *insert));
  SISAL_ASSIGN_OR_RETURN(insert->rules, RulesOf(table, PlanKind::kInsert, insert->conflict_update));
  statement_.plan = insert;
  return Status();
}

Result<std::optional<uint32_t>> Binder::ConflictTarget(const PgQuery__InferClause* infer, const catalog::Table& table) {
  if (infer == nullptr) return std::optional<uint32_t>();
  const std::string constraint(View(infer->conname));
  if (!constraint.empty()) {
    if (!table.primary_key.empty() && table.primary_key_name == constraint) return std::optional<uint32_t>(0);
    for (uint32_t i = 0; i < table.indexes.size(); ++i) {
      if (table.indexes[i].is_constraint && table.indexes[i].name == constraint) return std::optional<uint32_t>(i + 1);
    }
    return Error("42704", "constraint \"" + constraint + "\" for table \"" + table.name + "\" does not exist");
  }
  if (infer->where_clause != nullptr) return NotSupported(infer->location, "ON CONFLICT with a partial index");
  std::vector<uint32_t> wanted;
  for (const Node* node : NodeList(infer->index_elems, infer->n_index_elems)) {
    const PgQuery__IndexElem& element = *node->index_elem;
    if (element.expr != nullptr) return NotSupported(infer->location, "ON CONFLICT with an expression");
    if (element.n_collation > 0 || element.n_opclass > 0)
      return NotSupported(infer->location, "COLLATE in ON CONFLICT");
    const std::optional<uint32_t> column = table.FindColumn(View(element.name));
    if (!column.has_value()) {
      return At(infer->location, "42703", "column \"" + std::string(View(element.name)) + "\" does not exist");
    }
    if (std::find(wanted.begin(), wanted.end(), *column) == wanted.end()) wanted.push_back(*column);
  }
  std::sort(wanted.begin(), wanted.end());
  std::vector<uint32_t> key = table.primary_key;
  std::sort(key.begin(), key.end());
  if (!key.empty() && key == wanted) return std::optional<uint32_t>(0);
  for (uint32_t i = 0; i < table.indexes.size(); ++i) {
    if (!table.indexes[i].unique) continue;
    key.clear();
    for (const catalog::IndexColumn& column : table.indexes[i].columns) key.push_back(column.column);
    std::sort(key.begin(), key.end());
    if (key == wanted) return std::optional<uint32_t>(i + 1);
  }
  return Error("42P10", "there is no unique or exclusion constraint matching the ON CONFLICT specification");
}

Status Binder::BindOnConflict(const PgQuery__OnConflictClause& node, const catalog::TablePtr& table,
                              const std::string& alias, const CommonTable* common_tables, Plan& insert) {
  insert.on_conflict = true;
  insert.conflict_do_update = node.action == PG_QUERY__ON_CONFLICT_ACTION__ONCONFLICT_UPDATE;
  if (insert.conflict_do_update && node.infer == nullptr) {
    return At(node.location, "42601", "ON CONFLICT DO UPDATE requires inference specification or constraint name")
        .WithHint("For example, ON CONFLICT (column_name).");
  }
  SISAL_ASSIGN_OR_RETURN(insert.conflict_target, ConflictTarget(node.infer, *table));
  if (!insert.conflict_do_update) return Status();
  // The existing row's columns, then those of the row that was to be inserted.
  Scope scope;
  Frame frame;
  scope.frame = &frame;
  scope.common_tables = common_tables;
  scope.clause = Clause::kConflict;
  for (const std::string& name : {alias, std::string("excluded")}) {
    NamespaceItem item;
    AddTableLeaf(scope, table, name, item);
    scope.items.push_back(std::move(item));
  }
  SISAL_ASSIGN_OR_RETURN(insert.conflict_update,
                         BindAssignments(scope, table, NodeList(node.target_list, node.n_target_list)));
  SISAL_ASSIGN_OR_RETURN(insert.conflict_where, BindCondition(scope, node.where_clause, Clause::kWhere));
  return Status();
}

}  // namespace sisal::sql
