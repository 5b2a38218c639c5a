#include "node.h"

#include <algorithm>

namespace sisal::sql {
namespace {

int32_t Leftmost(int32_t a, int32_t b) {
  if (a < 0) return b;
  if (b < 0) return a;
  return std::min(a, b);
}

int32_t LocationOfFirst(Node* const* nodes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const int32_t location = LocationOf(nodes[i]);
    if (location >= 0) return location;
  }
  return -1;
}

}  // namespace

int32_t LocationOf(const Node* node) {
  if (node == nullptr) return -1;
  switch (node->node_case) {
    case PG_QUERY__NODE__NODE_A_CONST:
      return node->a_const->location;
    case PG_QUERY__NODE__NODE_COLUMN_REF:
      return node->column_ref->location;
    case PG_QUERY__NODE__NODE_PARAM_REF:
      return node->param_ref->location;
    case PG_QUERY__NODE__NODE_A_EXPR:
      return Leftmost(node->a_expr->location, LocationOf(node->a_expr->lexpr));
    case PG_QUERY__NODE__NODE_TYPE_CAST: {
      const PgQuery__TypeCast& cast = *node->type_cast;
      const int32_t location = Leftmost(LocationOf(cast.arg), cast.type_name->location);
      return Leftmost(location, cast.location);
    }
    case PG_QUERY__NODE__NODE_BOOL_EXPR:
      return Leftmost(node->bool_expr->location, LocationOfFirst(node->bool_expr->args, node->bool_expr->n_args));
    case PG_QUERY__NODE__NODE_FUNC_CALL:
      return Leftmost(node->func_call->location, LocationOfFirst(node->func_call->args, node->func_call->n_args));
    case PG_QUERY__NODE__NODE_SUB_LINK:
      return Leftmost(LocationOf(node->sub_link->testexpr), node->sub_link->location);
    case PG_QUERY__NODE__NODE_NULL_TEST:
      return Leftmost(node->null_test->location, LocationOf(node->null_test->arg));
    case PG_QUERY__NODE__NODE_BOOLEAN_TEST:
      return Leftmost(node->boolean_test->location, LocationOf(node->boolean_test->arg));
    case PG_QUERY__NODE__NODE_CASE_EXPR:
      return node->case_expr->location;
    case PG_QUERY__NODE__NODE_COALESCE_EXPR:
      return node->coalesce_expr->location;
    case PG_QUERY__NODE__NODE_MIN_MAX_EXPR:
      return node->min_max_expr->location;
    case PG_QUERY__NODE__NODE_SQLVALUE_FUNCTION:
      return node->sqlvalue_function->location;
    case PG_QUERY__NODE__NODE_ROW_EXPR:
      return node->row_expr->location;
    case PG_QUERY__NODE__NODE_SET_TO_DEFAULT:
      return node->set_to_default->location;
    case PG_QUERY__NODE__NODE_COLLATE_CLAUSE:
      return LocationOf(node->collate_clause->arg);
    case PG_QUERY__NODE__NODE_A_INDIRECTION:
      return LocationOf(node->a_indirection->arg);
    case PG_QUERY__NODE__NODE_A_ARRAY_EXPR:
      return node->a_array_expr->location;
    case PG_QUERY__NODE__NODE_RES_TARGET:
      return node->res_target->location;
    case PG_QUERY__NODE__NODE_RANGE_VAR:
      return node->range_var->location;
    case PG_QUERY__NODE__NODE_SELECT_STMT:
      return node->select_stmt->n_target_list > 0 ? LocationOf(node->select_stmt->target_list[0]) : -1;
    case PG_QUERY__NODE__NODE_SORT_BY:
      return LocationOf(node->sort_by->node);
    default:
      return -1;
  }
}

}  // namespace sisal::sql
