// LATERAL: FROM items that refer to columns of the items before them.
#include <algorithm>

#include "binder.h"

namespace sisal::sql {

Scope Binder::LateralScope(const Scope& scope) const {
  Scope left;
  left.outer = scope.outer;
  left.lateral = scope.lateral;
  left.frame = scope.frame;
  left.common_tables = scope.common_tables;
  left.clause = Clause::kFrom;
  left.items = scope.items;
  if (recorded_sources_ != nullptr) {  // a view notes which columns it uses
    left.columns = scope.columns;
    left.leaves = scope.leaves;
  }
  for (size_t i = 0; i < scope.lateral_begin; ++i) left.items[i].lateral_allowed = false;
  left.items.insert(left.items.end(), scope.lateral_items.begin(), scope.lateral_items.end());
  return left;
}

bool Binder::HasLeftColumns(const std::vector<const Expr*>& lateral_args) {
  bool found = false;
  for (const Expr* arg : lateral_args) {
    VisitExpr(arg, [&](const Expr* part) { found |= part->kind == ExprKind::kColumn; });
  }
  return found;
}

// What was bound in a frame of its own, in terms of the frame around it.
const Expr* Binder::WithoutFrame(const Expr* expr, const std::vector<const Expr*>& lateral_args) {
  return Rewrite(expr, [&](const Expr* part) -> const Expr* {
    return part->kind == ExprKind::kOuter ? lateral_args[part->index] : nullptr;
  });
}

// a, (s LEFT JOIN b) is (a, s) LEFT JOIN b: a lateral s finds a's columns in the tree that it is joined with.
std::unique_ptr<FromTree> Binder::JoinLeft(Scope& scope, std::unique_ptr<FromTree> left,
                                           std::unique_ptr<FromTree> right) {
  std::unique_ptr<FromTree>* end = &right;
  while ((*end)->left != nullptr &&
         ((*end)->join == JoinKind::kInner || (*end)->join == JoinKind::kCross || (*end)->join == JoinKind::kLeft)) {
    end = &(*end)->left;
  }
  const bool moves = (*end)->left == nullptr && HasLeftColumns(scope.leaves[(*end)->leaf].lateral_args);
  if (!moves) end = &right;
  auto both = std::make_unique<FromTree>();
  both->left = std::move(left);
  both->right = std::move(*end);
  *end = std::move(both);
  return right;
}

Status Binder::CheckLateral(const Scope& scope, const FromTree& tree) const {
  if (tree.left == nullptr) {
    // Whoever joins it looks at the right sides.
    return Status();
  }
  const FromTree& right = *tree.right;
  if (tree.left->left == nullptr && HasLeftColumns(scope.leaves[tree.left->leaf].lateral_args)) {
    return NotSupported(-1, "a LATERAL reference out of a join");
  }
  if (right.left == nullptr) {
    std::vector<bool> left_ids(scope.columns.size(), false);
    MarkLeaves(scope, *tree.left, left_ids);
    bool inside = tree.join != JoinKind::kRight && tree.join != JoinKind::kFull;
    bool any = false;
    for (const Expr* arg : scope.leaves[right.leaf].lateral_args) {
      VisitExpr(arg, [&](const Expr* part) {
        if (part->kind != ExprKind::kColumn) return;
        any = true;
        inside = inside && left_ids[part->index];
      });
    }
    if (any && !inside) return NotSupported(-1, "a LATERAL reference out of a join");
  }
  SISAL_RETURN_IF_ERROR(CheckLateral(scope, *tree.left));
  return CheckLateral(scope, right);
}

// `args`: what the leaf takes from the left, over the left plan's output.
Plan* Binder::AddLateralJoin(Plan* left, const Leaf& leaf, JoinKind join, const std::vector<const Expr*>& args) {
  Plan* plan = NewPlan(PlanKind::kLateralJoin);
  plan->inputs = {left};
  plan->output = left->output;
  plan->output.insert(plan->output.end(), leaf.plan->output.begin(), leaf.plan->output.end());
  plan->join = join;
  Expr* lateral = NewExpr(ExprKind::kLateral, TypeId::kBoolean, -1);
  lateral->subplan = leaf.plan;
  lateral->outer_args = args;
  plan->lateral = lateral;
  return plan;
}

// All conditions but the left side's are checked on the pairs: the right side's own may use what is outside of the
// query, which has other names within the lateral plan.
Binder::Planned Binder::PlanLateral(Scope& scope, FromTree& tree, std::vector<const Expr*> conjuncts,
                                    std::vector<bool> used) {
  const Leaf& leaf = scope.leaves[tree.right->leaf];
  std::vector<bool> left_ids(scope.columns.size(), false);
  MarkLeaves(scope, *tree.left, left_ids);
  const bool left_join = tree.join == JoinKind::kLeft;
  std::vector<const Expr*> to_left, joining = tree.conjuncts, above;
  for (const Expr* expr : conjuncts) {
    bool needs_right = false;
    VisitExpr(expr,
              [&](const Expr* part) { needs_right |= part->kind == ExprKind::kColumn && !left_ids[part->index]; });
    (!needs_right ? to_left : left_join ? above : joining).push_back(expr);
  }
  for (const std::vector<const Expr*>& exprs : {joining, above, leaf.lateral_args}) {
    for (const Expr* expr : exprs) MarkUsed(expr, used);
  }
  const Planned left = PlanTree(scope, *tree.left, std::move(to_left), used, nullptr);
  const IdMap left_map = MapOf(scope, left.ids);
  std::vector<const Expr*> args;
  for (const Expr* arg : leaf.lateral_args) args.push_back(Remap(arg, left_map));
  Planned joined;
  joined.plan = AddLateralJoin(left.plan, leaf, left_join ? JoinKind::kLeft : JoinKind::kInner, args);
  joined.ids = left.ids;
  for (uint32_t i = 0; i < leaf.column_count; ++i) joined.ids.push_back(leaf.first_id + i);
  const IdMap map = MapOf(scope, joined.ids);
  for (const Expr*& expr : joining) expr = Remap(expr, map);
  for (const Expr*& expr : above) expr = Remap(expr, map);
  joined.plan->predicate = MakeAnd(joining);
  joined.plan = AddFilter(joined.plan, MakeAnd(above));
  return joined;
}

}  // namespace sisal::sql
