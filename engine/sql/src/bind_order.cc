// ORDER BY, and the names that PostgreSQL gives unnamed columns.
#include <algorithm>

#include "binder.h"

namespace sisal::sql {

// What an item of ORDER BY or GROUP BY means: an output column by number or name, or an expression over FROM.
Result<Binder::SortTarget> Binder::FindSortTarget(Scope& scope, const Node* node, const std::vector<Target>& targets,
                                                  std::string_view clause) {
  const int32_t location = LocationOf(node);
  SortTarget result;
  if (node->node_case == PG_QUERY__NODE__NODE_A_CONST) {
    const PgQuery__AConst& constant = *node->a_const;
    if (constant.isnull || constant.val_case != PG_QUERY__A__CONST__VAL_IVAL) {
      return At(location, "42601", "non-integer constant in " + std::string(clause));
    }
    const int64_t number = constant.ival->ival;
    int64_t seen = 0;
    for (size_t i = 0; i < targets.size(); ++i) {
      if (targets[i].junk || ++seen != number) continue;
      result.target = i;
      result.expr = targets[i].expr;
      return result;
    }
    return At(location, "42P10",
              std::string(clause) + " position " + std::to_string(number) + " is not in select list");
  }
  if (node->node_case == PG_QUERY__NODE__NODE_COLUMN_REF && node->column_ref->n_fields == 1 &&
      IsString(node->column_ref->fields[0])) {
    const std::string_view name = StringOf(node->column_ref->fields[0]);
    // In GROUP BY a column of FROM comes first (SQL:1999), in ORDER BY an output column (SQL-92).
    bool prefer_input = false;
    if (clause == "GROUP BY") {
      for (const NamespaceItem& item : scope.items) {
        for (const NamedColumn& column : item.columns) prefer_input |= item.columns_visible && column.name == name;
      }
    }
    for (size_t i = 0; i < targets.size() && !prefer_input; ++i) {
      if (targets[i].junk || targets[i].name != name) continue;
      if (result.target.has_value() && !SameExpr(targets[i].expr, result.expr)) {
        return At(location, "42702", std::string(clause) + " \"" + std::string(name) + "\" is ambiguous");
      }
      if (result.target.has_value()) continue;
      result.target = i;
      result.expr = targets[i].expr;
    }
    if (result.target.has_value()) return result;
  }
  SISAL_ASSIGN_OR_RETURN(result.expr, BindExpr(scope, node));
  SISAL_ASSIGN_OR_RETURN(result.expr, ResolveUnknown(result.expr, location));
  for (size_t i = 0; i < targets.size(); ++i) {
    if (!SameExpr(targets[i].expr, result.expr)) continue;
    result.target = i;
    break;
  }
  return result;
}

Status Binder::BindSortDirection(const PgQuery__SortBy& sort, OrderKey& key) {
  if (sort.sortby_dir == PG_QUERY__SORT_BY_DIR__SORTBY_USING) return NotSupported(sort.location, "ORDER BY ... USING");
  const bool descending = sort.sortby_dir == PG_QUERY__SORT_BY_DIR__SORTBY_DESC;
  key.order = descending ? type::SortOrder::kDescending : type::SortOrder::kAscending;
  switch (sort.sortby_nulls) {
    case PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_FIRST:
      key.nulls_first = true;
      break;
    case PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_LAST:
      key.nulls_first = false;
      break;
    default:
      key.nulls_first = descending;
  }
  return Status();
}

Result<std::vector<Binder::OrderKey>> Binder::BindOrderBy(Scope& scope, NodeList list, std::vector<Target>& targets,
                                                          bool distinct) {
  std::vector<OrderKey> order;
  for (const Node* item : list) {
    const Node* node = item->sort_by->node;
    SISAL_ASSIGN_OR_RETURN(SortTarget found, FindSortTarget(scope, node, targets, "ORDER BY"));
    if (!found.target.has_value()) {
      if (distinct) {
        return At(LocationOf(node), "42P10", "for SELECT DISTINCT, ORDER BY expressions must appear in select list");
      }
      Target target;
      target.expr = found.expr;
      target.location = LocationOf(node);
      target.junk = true;
      found.target = targets.size();
      targets.push_back(std::move(target));
    }
    OrderKey key;
    key.target = *found.target;
    SISAL_RETURN_IF_ERROR(BindSortDirection(*item->sort_by, key));
    const bool known =
        std::any_of(order.begin(), order.end(), [&](const OrderKey& other) { return other.target == key.target; });
    if (!known) order.push_back(key);
  }
  return order;
}

namespace {

std::string_view ValueFunctionName(PgQuery__SQLValueFunctionOp op) {
  switch (op) {
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_DATE:
      return "current_date";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIME:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIME_N:
      return "current_time";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIMESTAMP:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIMESTAMP_N:
      return "current_timestamp";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIME:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIME_N:
      return "localtime";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIMESTAMP:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIMESTAMP_N:
      return "localtimestamp";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_ROLE:
      return "current_role";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_USER:
      return "user";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_SESSION_USER:
      return "session_user";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_CATALOG:
      return "current_catalog";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_SCHEMA:
      return "current_schema";
    default:
      return "current_user";
  }
}

// 2: a name to keep; 1: one that a better may replace (a type's, or "case"); 0: none.
int NameOf(const Node* node, std::string_view& name) {
  if (node == nullptr) return 0;
  switch (node->node_case) {
    case PG_QUERY__NODE__NODE_COLUMN_REF: {
      const std::string_view last = LastName(NodeList(node->column_ref->fields, node->column_ref->n_fields));
      if (last.empty()) return 0;
      name = last;
      return 2;
    }
    case PG_QUERY__NODE__NODE_A_INDIRECTION:
      return NameOf(node->a_indirection->arg, name);
    case PG_QUERY__NODE__NODE_FUNC_CALL:
      name = LastName(NodeList(node->func_call->funcname, node->func_call->n_funcname));
      return 2;
    case PG_QUERY__NODE__NODE_A_EXPR:
      if (node->a_expr->kind != PG_QUERY__A__EXPR__KIND__AEXPR_NULLIF) return 0;
      name = "nullif";
      return 2;
    case PG_QUERY__NODE__NODE_TYPE_CAST: {
      const int strength = NameOf(node->type_cast->arg, name);
      if (strength > 1) return strength;
      name = LastName(NodeList(node->type_cast->type_name->names, node->type_cast->type_name->n_names));
      return 1;
    }
    case PG_QUERY__NODE__NODE_COLLATE_CLAUSE:
      return NameOf(node->collate_clause->arg, name);
    case PG_QUERY__NODE__NODE_SUB_LINK: {
      const PgQuery__SubLink& link = *node->sub_link;
      if (link.sub_link_type == PG_QUERY__SUB_LINK_TYPE__EXISTS_SUBLINK) {
        name = "exists";
        return 2;
      }
      if (link.sub_link_type != PG_QUERY__SUB_LINK_TYPE__EXPR_SUBLINK) return 0;
      const PgQuery__SelectStmt* query = link.subselect->select_stmt;
      while (query->larg != nullptr) query = query->larg;
      if (query->n_values_lists > 0) {
        name = "column1";
        return 2;
      }
      if (query->n_target_list == 0) return 0;
      const PgQuery__ResTarget& first = *query->target_list[0]->res_target;
      if (!View(first.name).empty()) {
        name = View(first.name);
        return 2;
      }
      return NameOf(first.val, name) == 0 ? 0 : 2;
    }
    case PG_QUERY__NODE__NODE_CASE_EXPR: {
      const int strength = NameOf(node->case_expr->defresult, name);
      if (strength > 1) return strength;
      name = "case";
      return 1;
    }
    case PG_QUERY__NODE__NODE_ROW_EXPR:
      name = "row";
      return 2;
    case PG_QUERY__NODE__NODE_COALESCE_EXPR:
      name = "coalesce";
      return 2;
    case PG_QUERY__NODE__NODE_MIN_MAX_EXPR:
      name = node->min_max_expr->op == PG_QUERY__MIN_MAX_OP__IS_GREATEST ? "greatest" : "least";
      return 2;
    case PG_QUERY__NODE__NODE_SQLVALUE_FUNCTION:
      name = ValueFunctionName(node->sqlvalue_function->op);
      return 2;
    default:
      return 0;
  }
}

}  // namespace

std::string ColumnNameOf(const Node* node) {
  std::string_view name;
  return NameOf(node, name) == 0 ? "?column?" : std::string(name);
}

}  // namespace sisal::sql
