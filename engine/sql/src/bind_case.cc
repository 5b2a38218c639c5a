// CASE, COALESCE, GREATEST, LEAST: expressions whose branches share one type.
#include "binder.h"

namespace sisal::sql {

Result<const Expr*> Binder::BindCase(Scope& scope, const PgQuery__CaseExpr& node) {
  const NodeList whens(node.args, node.n_args);
  const Expr* operand = nullptr;
  if (node.arg != nullptr) {
    constexpr uint64_t kDuplicationMax = 4096;
    const uint64_t duplication_before = duplication_;
    duplication_ *= whens.size();
    if (whens.size() > 1 && duplication_ > kDuplicationMax) {
      return At(node.location, "54001", "stack depth limit exceeded")
          .WithHint("BETWEEN and CASE are nested too deeply in each other's first operands.");
    }
    SISAL_ASSIGN_OR_RETURN(operand, BindExpr(scope, node.arg));
    duplication_ = duplication_before;
    SISAL_ASSIGN_OR_RETURN(operand, ResolveUnknown(operand, LocationOf(node.arg)));
    // It is compared with each WHEN in turn, which would compute it anew.
    if (IsVolatile(operand) && whens.size() > 1) {
      return NotSupported(LocationOf(node.arg), "CASE over a volatile expression");
    }
  }
  std::vector<const Expr*> conditions, results;
  std::vector<int32_t> locations;
  for (const Node* item : whens) {
    const PgQuery__CaseWhen& when = *item->case_when;
    SISAL_ASSIGN_OR_RETURN(const Expr* condition, BindExpr(scope, when.expr));
    if (operand != nullptr) {
      SISAL_ASSIGN_OR_RETURN(condition, MakeOperator("=", operand, condition, when.location));
    }
    SISAL_ASSIGN_OR_RETURN(condition, CoerceToBoolean(condition, "CASE/WHEN", LocationOf(when.expr)));
    conditions.push_back(condition);
  }
  // PostgreSQL looks at ELSE first when it chooses the type.
  const bool has_else = node.defresult != nullptr;
  if (has_else) {
    SISAL_ASSIGN_OR_RETURN(const Expr* result, BindExpr(scope, node.defresult));
    results.push_back(result);
    locations.push_back(LocationOf(node.defresult));
  }
  for (const Node* item : whens) {
    SISAL_ASSIGN_OR_RETURN(const Expr* result, BindExpr(scope, item->case_when->result));
    results.push_back(result);
    locations.push_back(LocationOf(item->case_when->result));
  }
  SISAL_ASSIGN_OR_RETURN(SqlType type, CoerceToCommon(results, locations, "CASE"));
  if (!has_else) type = type.id;  // the implicit NULL has no modifiers
  Expr* expr = NewExpr(ExprKind::kCase, type, node.location);
  expr->flag = has_else;
  for (size_t i = 0; i < conditions.size(); ++i) {
    expr->args.push_back(conditions[i]);
    expr->args.push_back(results[i + (has_else ? 1 : 0)]);
  }
  if (has_else) expr->args.push_back(results[0]);
  return expr;
}

Result<const Expr*> Binder::BindCoalesce(Scope& scope, const PgQuery__CoalesceExpr& node) {
  const NodeList nodes(node.args, node.n_args);
  SISAL_ASSIGN_OR_RETURN(std::vector<const Expr*> args, BindList(scope, nodes));
  std::vector<int32_t> locations;
  for (const Node* arg : nodes) locations.push_back(LocationOf(arg));
  SISAL_ASSIGN_OR_RETURN(const SqlType type, CoerceToCommon(args, locations, "COALESCE"));
  Expr* expr = NewExpr(ExprKind::kCoalesce, type, node.location);
  expr->args = std::move(args);
  return expr;
}

Result<const Expr*> Binder::BindMinMax(Scope& scope, const PgQuery__MinMaxExpr& node) {
  const bool greatest = node.op == PG_QUERY__MIN_MAX_OP__IS_GREATEST;
  const NodeList nodes(node.args, node.n_args);
  SISAL_ASSIGN_OR_RETURN(std::vector<const Expr*> args, BindList(scope, nodes));
  std::vector<int32_t> locations;
  for (const Node* arg : nodes) locations.push_back(LocationOf(arg));
  SISAL_ASSIGN_OR_RETURN(const SqlType type, CoerceToCommon(args, locations, greatest ? "GREATEST" : "LEAST"));
  Expr* expr = NewExpr(greatest ? ExprKind::kGreatest : ExprKind::kLeast, type, node.location);
  expr->args = std::move(args);
  return expr;
}

}  // namespace sisal::sql
