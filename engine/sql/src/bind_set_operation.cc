// UNION, INTERSECT, EXCEPT.
#include "binder.h"

namespace sisal::sql {

// Gives the columns of a branch the types of the whole. Literals that are still of unknown type lie in the branch's top
// projection (see FinishQuery), and are read there.
Status Binder::ConvertBranch(BoundQuery& branch, const std::vector<SqlType>& types, CastContext context) {
  bool differs = false;
  for (size_t i = 0; i < types.size(); ++i) {
    if (branch.columns[i].type.id != TypeId::kUnknown) {
      differs |= branch.columns[i].type.id != types[i].id;
      continue;
    }
    SISAL_CHECK(branch.plan->kind == PlanKind::kProject);
    SISAL_ASSIGN_OR_RETURN(branch.plan->exprs[i],
                           CoerceType(branch.plan->exprs[i], types[i].id, context, branch.locations[i]));
    branch.plan->output[i] = types[i].id;
    branch.columns[i].type = types[i].id;
  }
  if (!differs) return Status();
  std::vector<const Expr*> exprs;
  for (uint32_t i = 0; i < types.size(); ++i) {
    const Expr* column = MakeColumn(i, branch.columns[i].type, branch.locations[i]);
    SISAL_ASSIGN_OR_RETURN(column, CoerceType(column, types[i].id, context, branch.locations[i]));
    exprs.push_back(column);
    branch.columns[i].type = column->type;
  }
  branch.plan = AddProject(branch.plan, std::move(exprs));
  return Status();
}

Result<std::vector<SqlType>> Binder::CommonTypes(const std::string& operation, const BoundQuery& left,
                                                 const BoundQuery& right) const {
  if (left.columns.size() != right.columns.size()) {
    return At(right.locations.empty() ? -1 : right.locations[0], "42601",
              "each " + operation + " query must have the same number of columns");
  }
  std::vector<SqlType> types;
  for (size_t i = 0; i < left.columns.size(); ++i) {
    const SqlType &a = left.columns[i].type, &b = right.columns[i].type;
    const TypeId pair[] = {a.id, b.id};
    size_t failed_at = 0;
    TypeId matched = TypeId::kUnknown;
    const std::optional<TypeId> common = CommonType(pair, failed_at, matched);
    if (!common.has_value()) {
      return At(right.locations[i], "42804",
                operation + " types " + TypeList(std::span(pair, 1)) + " and " + TypeList(std::span(pair + 1, 1)) +
                    " cannot be matched");
    }
    types.push_back(a == b && a.id == *common ? a : SqlType(*common));
  }
  return types;
}

Result<BoundQuery> Binder::BindSetOperation(const PgQuery__SelectStmt& node, const QueryOptions& options) {
  for (const auto* part : std::initializer_list<const PgQuery__SelectStmt*>{&node, node.larg, node.rarg}) {
    if (part->n_locking_clause == 0) continue;
    return Error("0A000",
                 LockName(*part->locking_clause[0]->locking_clause) + " is not allowed with UNION/INTERSECT/EXCEPT");
  }
  const std::string name = node.op == PG_QUERY__SET_OPERATION__SETOP_UNION       ? "UNION"
                           : node.op == PG_QUERY__SET_OPERATION__SETOP_INTERSECT ? "INTERSECT"
                                                                                 : "EXCEPT";
  QueryOptions inner = options;
  inner.keep_unknown = true;
  inner.exists = false;
  SISAL_ASSIGN_OR_RETURN(BoundQuery left, BindQuery(*node.larg, inner));
  SISAL_ASSIGN_OR_RETURN(BoundQuery right, BindQuery(*node.rarg, inner));
  SISAL_ASSIGN_OR_RETURN(const std::vector<SqlType> types, CommonTypes(name, left, right));
  SISAL_RETURN_IF_ERROR(ConvertBranch(left, types, CastContext::kImplicit));
  SISAL_RETURN_IF_ERROR(ConvertBranch(right, types, CastContext::kImplicit));

  Plan* plan = MakeSetOperation(node.op, node.all, left.plan, right.plan);
  plan->output = types;
  std::vector<Target> targets;
  for (uint32_t i = 0; i < types.size(); ++i) {
    Target target;
    target.expr = MakeColumn(i, types[i], left.locations[i]);
    target.name = left.columns[i].name;
    target.location = left.locations[i];
    target.not_null = left.columns[i].not_null && right.columns[i].not_null;
    targets.push_back(std::move(target));
  }
  Scope scope;
  scope.outer = options.around;
  scope.frame = options.frame;
  scope.common_tables = options.common_tables;
  scope.clause = Clause::kOrderBy;
  return FinishNamed(plan, std::move(targets), scope, node);
}

// Chains of UNION become one append, which keeps plans flat: (a UNION b) UNION c is the distinct rows of all three.
Plan* Binder::MakeSetOperation(PgQuery__SetOperation op, bool all, Plan* left, Plan* right) {
  if (op == PG_QUERY__SET_OPERATION__SETOP_UNION) {
    Plan* append = NewPlan(PlanKind::kAppend);
    const bool same = left->kind == (all ? PlanKind::kAppend : PlanKind::kDistinct) &&
                      (all || left->inputs[0]->kind == PlanKind::kAppend);
    if (same) {
      append->inputs = all ? left->inputs : left->inputs[0]->inputs;
    } else {
      append->inputs = {left};
    }
    append->inputs.push_back(right);
    append->output = right->output;
    if (all) return append;
    Plan* distinct = NewPlan(PlanKind::kDistinct);
    distinct->inputs = {append};
    distinct->output = append->output;
    append->output = right->output;
    return distinct;
  }
  Plan* plan = NewPlan(PlanKind::kSetOperation);
  plan->inputs = {left, right};
  const bool intersect = op == PG_QUERY__SET_OPERATION__SETOP_INTERSECT;
  plan->set_operation = intersect ? (all ? SetOperationKind::kIntersectAll : SetOperationKind::kIntersect)
                                  : (all ? SetOperationKind::kExceptAll : SetOperationKind::kExcept);
  return plan;
}

}  // namespace sisal::sql
