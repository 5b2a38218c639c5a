// Walks over bound expressions, and the small plan nodes that every part of the binder adds.
#include <algorithm>

#include "binder.h"

namespace sisal::sql {

void VisitExpr(const Expr* expr, const std::function<void(const Expr*)>& visit) {
  visit(expr);
  for (const Expr* arg : expr->args) VisitExpr(arg, visit);
  for (const Expr* arg : expr->outer_args) VisitExpr(arg, visit);
}

void ForEachExpr(const Plan& plan, const std::function<void(const Expr*)>& visit) {
  const auto all = [&](const std::vector<const Expr*>& exprs) {
    for (const Expr* expr : exprs) visit(expr);
  };
  const auto one = [&](const Expr* expr) {
    if (expr != nullptr) visit(expr);
  };
  for (const auto& row : plan.rows) all(row);
  for (const KeyBounds& bounds : plan.bounds) {
    all(bounds.equal);
    one(bounds.lower);
    one(bounds.upper);
  }
  all(plan.function_args);
  one(plan.predicate);
  all(plan.exprs);
  for (const SortKey& key : plan.sort_keys) visit(key.expr);
  one(plan.lateral);
  one(plan.limit);
  one(plan.offset);
  for (const AggregateCall& call : plan.aggregates) {
    all(call.args);
    one(call.filter);
    for (const SortKey& key : call.order) visit(key.expr);
  }
  all(plan.partition);
  for (const WindowCall& call : plan.windows) {
    all(call.args);
    one(call.filter);
    one(call.frame.start_offset);
    one(call.frame.end_offset);
  }
  all(plan.hash_left);
  all(plan.hash_right);
  for (const Assignment& assignment : plan.assignments) visit(assignment.value);
  all(plan.returning);
  for (const Assignment& assignment : plan.conflict_update) visit(assignment.value);
  one(plan.conflict_where);
}

bool IsVolatile(const Plan& plan) {
  bool found = plan.kind == PlanKind::kLockRows;  // which rows it gives depends on others' locks
  ForEachExpr(plan, [&](const Expr* expr) { found = found || IsVolatile(expr); });
  return found ||
         std::any_of(plan.inputs.begin(), plan.inputs.end(), [](const Plan* input) { return IsVolatile(*input); });
}

namespace {

// It or a subplan of it, as LATERAL has: a working table, or a sequence, whose row moves on within a statement.
bool ReadsWhatChanges(const Plan& plan) {
  bool found = plan.kind == PlanKind::kWorkingTable || plan.sequence.value != 0;
  ForEachExpr(plan, [&](const Expr* expr) {
    VisitExpr(expr, [&](const Expr* part) {
      found = found || (part->subplan != nullptr && ReadsWhatChanges(*part->subplan));
    });
  });
  return found || std::any_of(plan.inputs.begin(), plan.inputs.end(),
                              [](const Plan* input) { return ReadsWhatChanges(*input); });
}

bool TakesOuter(const Plan& plan) {
  bool found = false;
  ForEachExpr(plan, [&](const Expr* expr) {
    VisitExpr(expr, [&](const Expr* part) { found = found || part->kind == ExprKind::kOuter; });
  });
  return found ||
         std::any_of(plan.inputs.begin(), plan.inputs.end(), [](const Plan* input) { return TakesOuter(*input); });
}

}  // namespace

bool IsFixed(const Plan& plan) { return !IsVolatile(plan) && !TakesOuter(plan) && !ReadsWhatChanges(plan); }

bool IsVolatile(const Expr* expr) {
  bool found = false;
  VisitExpr(expr, [&](const Expr* part) {
    if (part->kind == ExprKind::kCall && part->function->volatility == function::Volatility::kVolatile) found = true;
    if (part->subplan != nullptr && IsVolatile(*part->subplan)) found = true;
  });
  return found;
}

bool HasSubplan(const Expr* expr) {
  bool found = false;
  VisitExpr(expr, [&](const Expr* part) { found = found || part->subplan != nullptr; });
  return found;
}

bool SameExpr(const Expr* a, const Expr* b) {
  if (a == b) return true;
  if (a->kind != b->kind || a->type != b->type || a->index != b->index || a->flag != b->flag ||
      a->constant != b->constant || a->function != b->function || a->cast != b->cast || a->subplan != b->subplan ||
      a->args.size() != b->args.size() || a->outer_args.size() != b->outer_args.size()) {
    return false;
  }
  if (a->kind == ExprKind::kCall && a->function->volatility == function::Volatility::kVolatile) return false;
  for (size_t i = 0; i < a->args.size(); ++i) {
    if (!SameExpr(a->args[i], b->args[i])) return false;
  }
  for (size_t i = 0; i < a->outer_args.size(); ++i) {
    if (!SameExpr(a->outer_args[i], b->outer_args[i])) return false;
  }
  return true;
}

void AddConjuncts(const Expr* predicate, std::vector<const Expr*>& conjuncts) {
  if (predicate == nullptr) return;
  if (predicate->kind != ExprKind::kAnd) {
    conjuncts.push_back(predicate);
    return;
  }
  for (const Expr* arg : predicate->args) AddConjuncts(arg, conjuncts);
}

const Expr* Binder::Rewrite(const Expr* expr, const std::function<const Expr*(const Expr*)>& replace) {
  if (const Expr* other = replace(expr); other != nullptr) return other;
  std::vector<const Expr*> args, outer_args;
  args.reserve(expr->args.size());
  outer_args.reserve(expr->outer_args.size());
  for (const Expr* arg : expr->args) args.push_back(Rewrite(arg, replace));
  for (const Expr* arg : expr->outer_args) outer_args.push_back(Rewrite(arg, replace));
  if (args == expr->args && outer_args == expr->outer_args) return expr;
  Expr& copy = statement_.exprs.emplace_back();
  copy.kind = expr->kind;
  copy.type = expr->type;
  copy.position = expr->position;
  copy.index = expr->index;
  copy.flag = expr->flag;
  copy.constant = expr->constant;
  copy.function = expr->function;
  copy.cast = expr->cast;
  copy.subplan = expr->subplan;
  copy.args = std::move(args);
  copy.outer_args = std::move(outer_args);
  return &copy;
}

const Expr* Binder::Remap(const Expr* expr, const IdMap& map) {
  return Rewrite(expr, [&](const Expr* part) -> const Expr* {
    if (part->kind != ExprKind::kColumn) return nullptr;
    if (part->index >= kWindowBase) return part;
    SISAL_CHECK(part->index < map.size() && map[part->index] != kNoColumn);
    if (part->index == map[part->index]) return part;
    Expr& copy = statement_.exprs.emplace_back(*part);
    copy.index = map[part->index];
    return &copy;
  });
}

Binder::IdMap Binder::MapOf(const Scope& scope, const std::vector<uint32_t>& ids) const {
  IdMap map(scope.columns.size(), kNoColumn);
  for (uint32_t at = 0; at < ids.size(); ++at) map[ids[at]] = at;
  return map;
}

Plan* Binder::AddFilter(Plan* input, const Expr* predicate) {
  if (predicate == nullptr) return input;
  Plan* plan = NewPlan(PlanKind::kFilter);
  plan->inputs = {input};
  plan->output = input->output;
  plan->predicate = predicate;
  return plan;
}

namespace {

bool IsIdentity(const Plan& input, const std::vector<const Expr*>& exprs) {
  if (exprs.size() != input.output.size()) return false;
  for (uint32_t i = 0; i < exprs.size(); ++i) {
    if (exprs[i]->kind != ExprKind::kColumn || exprs[i]->index != i || exprs[i]->type != input.output[i]) return false;
  }
  return true;
}

}  // namespace

Plan* Binder::AddProject(Plan* input, std::vector<const Expr*> exprs) {
  if (IsIdentity(*input, exprs)) return input;
  Plan* plan = NewPlan(PlanKind::kProject);
  plan->inputs = {input};
  for (const Expr* expr : exprs) plan->output.push_back(expr->type);
  plan->exprs = std::move(exprs);
  return plan;
}

}  // namespace sisal::sql
