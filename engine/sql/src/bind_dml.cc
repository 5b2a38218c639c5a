// UPDATE, DELETE, RETURNING.
#include <algorithm>

#include "binder.h"

namespace sisal::sql {

Status Binder::BindReturning(Scope& scope, NodeList list, Plan& write) {
  scope.clause = Clause::kReturning;
  SISAL_ASSIGN_OR_RETURN(std::vector<Target> targets, BindTargets(scope, list));
  for (Target& target : targets) {
    SISAL_ASSIGN_OR_RETURN(target.expr, ResolveUnknown(target.expr, target.location));
    bool foreign = false;
    VisitExpr(target.expr, [&](const Expr* part) {
      foreign |= part->kind == ExprKind::kColumn && scope.columns[part->index].leaf != 0;
    });
    if (foreign) return NotSupported(target.location, "RETURNING of another table's columns");
  }
  write.has_returning = !list.empty();
  std::vector<OutputColumn> columns;
  for (const Target& target : targets) {
    write.returning.push_back(target.expr);
    write.output.push_back(target.expr->type);
    const bool not_null = target.expr->kind == ExprKind::kColumn && scope.columns[target.expr->index].not_null;
    columns.push_back({target.name, target.expr->type, not_null});
  }
  statement_.returns_rows = write.has_returning;
  SetOutput(columns);
  return Status();
}

Result<std::vector<Assignment>> Binder::BindAssignments(Scope& scope, const catalog::TablePtr& table,
                                                        NodeList targets) {
  std::vector<Assignment> assignments;
  for (const Node* node : targets) {
    const PgQuery__ResTarget& target = *node->res_target;
    const std::string name(View(target.name));
    const std::optional<uint32_t> column = table->FindColumn(name);
    if (!column.has_value()) {
      return At(target.location, "42703", "column \"" + name + "\" of relation \"" + table->name + "\" does not exist");
    }
    if (target.n_indirection > 0) return NotSupported(target.location, "an assignment to a part of a column");
    const bool again = std::any_of(assignments.begin(), assignments.end(),
                                   [&](const Assignment& other) { return other.column == *column; });
    if (again) return Error("42601", "multiple assignments to same column \"" + name + "\"");
    const Node* value = target.val;
    if (value->node_case == PG_QUERY__NODE__NODE_MULTI_ASSIGN_REF) {
      const PgQuery__MultiAssignRef& several = *value->multi_assign_ref;
      if (several.source->node_case != PG_QUERY__NODE__NODE_ROW_EXPR) {
        return NotSupported(target.location, "an assignment of a sub-select to several columns");
      }
      const PgQuery__RowExpr& row = *several.source->row_expr;
      if (row.n_args != static_cast<size_t>(several.ncolumns)) {
        return At(row.location, "42601", "number of columns does not match number of values");
      }
      value = row.args[several.colno - 1];
    }
    Assignment assignment;
    assignment.column = *column;
    if (value->node_case == PG_QUERY__NODE__NODE_SET_TO_DEFAULT) {
      SISAL_ASSIGN_OR_RETURN(assignment.value, DefaultOf(table, *column));
    } else {
      SISAL_ASSIGN_OR_RETURN(const Expr* expr, BindExpr(scope, value));
      SISAL_ASSIGN_OR_RETURN(assignment.value, CoerceForColumn(expr, table->columns[*column], LocationOf(value)));
      SISAL_RETURN_IF_ERROR(CheckIdentityUpdate(table->columns[*column]));
    }
    assignments.push_back(assignment);
  }
  return assignments;
}

Status Binder::BindUpdate(const PgQuery__UpdateStmt& node) {
  statement_.kind = StatementKind::kUpdate;
  statement_.command = "UPDATE";
  return BindRowWrite(PlanKind::kUpdate, {.relation = *node.relation,
                                          .with = node.with_clause,
                                          .assignments = NodeList(node.target_list, node.n_target_list),
                                          .from = NodeList(node.from_clause, node.n_from_clause),
                                          .where = node.where_clause,
                                          .returning = NodeList(node.returning_list, node.n_returning_list)});
}

Status Binder::BindDelete(const PgQuery__DeleteStmt& node) {
  statement_.kind = StatementKind::kDelete;
  statement_.command = "DELETE";
  return BindRowWrite(PlanKind::kDelete, {.relation = *node.relation,
                                          .with = node.with_clause,
                                          .assignments = {},
                                          .from = NodeList(node.using_clause, node.n_using_clause),
                                          .where = node.where_clause,
                                          .returning = NodeList(node.returning_list, node.n_returning_list)});
}

Status Binder::BindRowWrite(PlanKind kind, const RowWrite& clauses) {
  statement_.read_only = false;
  SISAL_ASSIGN_OR_RETURN(const CommonTable* common_tables, BindWith(clauses.with, nullptr, nullptr));
  Frame frame;
  Scope scope;
  SISAL_ASSIGN_OR_RETURN(const catalog::TablePtr table,
                         OpenWriteScope(kind, clauses.relation, common_tables, frame, scope));
  SISAL_ASSIGN_OR_RETURN(const std::unique_ptr<FromTree> tree, BindWriteFrom(scope, clauses.from));
  Plan* write = NewPlan(kind);
  write->table = table;
  scope.clause = Clause::kUpdateSet;
  SISAL_ASSIGN_OR_RETURN(write->assignments, BindAssignments(scope, table, clauses.assignments));
  SISAL_ASSIGN_OR_RETURN(Plan * input, PlanWriteInput(scope, tree.get(), clauses.where, write->assignments));
  write->inputs = {input};
  SISAL_RETURN_IF_ERROR(BindReturning(scope, clauses.returning, *write));
  SISAL_RETURN_IF_ERROR(CheckUnusedCommonTables(common_tables, nullptr, &frame));
  SISAL_ASSIGN_OR_RETURN(write->rules, RulesOf(table, kind, write->assignments));
  statement_.plan = write;
  return Status();
}

// The target, joined with what FROM or USING names.
Result<std::unique_ptr<FromTree>> Binder::BindWriteFrom(Scope& scope, NodeList from) {
  auto target = std::make_unique<FromTree>();
  scope.clause = Clause::kFrom;
  scope.lateral_begin = scope.items.size();
  SISAL_ASSIGN_OR_RETURN(std::unique_ptr<FromTree> others, BindFrom(scope, from));
  scope.clause = Clause::kSelect;
  if (others == nullptr) return target;
  auto both = std::make_unique<FromTree>();
  both->left = std::move(target);
  both->right = std::move(others);
  return both;
}

// The target table as the first leaf: column ids are its column numbers, then comes the row's key.
Result<catalog::TablePtr> Binder::OpenWriteScope(PlanKind kind, const PgQuery__RangeVar& relation,
                                                 const CommonTable* common_tables, Frame& frame, Scope& scope) {
  SISAL_ASSIGN_OR_RETURN(const catalog::TablePtr table,
                         FindWriteTarget(relation, kind == PlanKind::kUpdate ? "update" : "delete from"));
  scope.frame = &frame;
  scope.common_tables = common_tables;
  NamespaceItem item;
  item.schema = table->schema;
  const std::string alias(View(relation.alias != nullptr ? relation.alias->aliasname : relation.relname));
  AddTableLeaf(scope, table, alias, item);
  AddKeyColumn(scope, 0);
  if (relation.alias != nullptr) item.schema.clear();
  scope.items.push_back(std::move(item));
  return table;
}

}  // namespace sisal::sql
