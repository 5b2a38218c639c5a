// FROM and WHERE to scans, joins and filters: each condition goes as far down as it means the same.
#include <algorithm>

#include "binder.h"

namespace sisal::sql {

void MarkLeaves(const Scope& scope, const FromTree& tree, std::vector<bool>& ids) {
  if (tree.left != nullptr) {
    MarkLeaves(scope, *tree.left, ids);
    MarkLeaves(scope, *tree.right, ids);
    return;
  }
  const Leaf& leaf = scope.leaves[tree.leaf];
  for (uint32_t i = 0; i < leaf.column_count; ++i) ids[leaf.first_id + i] = true;
}

namespace {

// Which sides of a join an expression needs.
struct Sides {
  bool left = false;
  bool right = false;
};

Sides SidesOf(const Expr* expr, const std::vector<bool>& left_ids) {
  Sides sides;
  VisitExpr(expr, [&](const Expr* part) {
    if (part->kind != ExprKind::kColumn) return;
    (left_ids[part->index] ? sides.left : sides.right) = true;
  });
  return sides;
}

// ON conditions of inner joins are conditions of the whole.
void HoistConjuncts(FromTree& tree, std::vector<const Expr*>& conjuncts) {
  if (tree.left == nullptr || (tree.join != JoinKind::kInner && tree.join != JoinKind::kCross)) return;
  conjuncts.insert(conjuncts.end(), tree.conjuncts.begin(), tree.conjuncts.end());
  tree.conjuncts.clear();
  HoistConjuncts(*tree.left, conjuncts);
  HoistConjuncts(*tree.right, conjuncts);
}

bool IsEquality(const Expr* expr) {
  return expr->kind == ExprKind::kCall && expr->args.size() == 2 && expr->function->is_operator &&
         expr->function->name == "=";
}

// The type in which both sides of an equality are hashed; kUnknown: none.
TypeId HashTypeOf(TypeId a, TypeId b) {
  if (a == b) return a;
  if (!type::IsIntegerType(a) || !type::IsIntegerType(b)) return TypeId::kUnknown;
  return std::max(a, b);  // smallint, integer, bigint are numbered by width
}

bool HasColumns(const Expr* expr) {
  bool found = false;
  VisitExpr(expr, [&](const Expr* part) { found |= part->kind == ExprKind::kColumn; });
  return found;
}

}  // namespace

// From a.x = b.y and a.x = 5 follows b.y = 5, which may be a key of b.
void Binder::AddImpliedConstants(std::vector<const Expr*>& conjuncts) {
  struct Fixed {
    uint32_t id;
    const Expr* equality;
    const Expr* value;
  };
  std::vector<Fixed> fixed;
  for (const Expr* expr : conjuncts) {
    if (!IsEquality(expr) || HasSubplan(expr) || IsVolatile(expr)) continue;
    if (expr->args[0]->kind == ExprKind::kColumn && !HasColumns(expr->args[1])) {
      fixed.push_back({expr->args[0]->index, expr, expr->args[1]});
    }
  }
  const size_t given = conjuncts.size();
  for (size_t i = 0; i < given; ++i) {
    const Expr* pair = conjuncts[i];
    if (!IsEquality(pair) || pair->args[0]->kind != ExprKind::kColumn || pair->args[1]->kind != ExprKind::kColumn ||
        pair->args[0]->type.id != pair->args[1]->type.id) {
      continue;
    }
    for (const Fixed& known : fixed) {
      const Expr* other = pair->args[0]->index == known.id   ? pair->args[1]
                          : pair->args[1]->index == known.id ? pair->args[0]
                                                             : nullptr;
      if (other == nullptr) continue;
      const bool stated = std::any_of(conjuncts.begin(), conjuncts.end(), [&](const Expr* expr) {
        return IsEquality(expr) && expr->args[0]->kind == ExprKind::kColumn && expr->args[0]->index == other->index &&
               !HasColumns(expr->args[1]);
      });
      if (stated) continue;
      Expr* implied = NewExpr(ExprKind::kCall, TypeId::kBoolean, -1);
      implied->function = known.equality->function;
      implied->args = {other, known.value};
      conjuncts.push_back(implied);
    }
  }
}

const Expr* Binder::Widened(const Expr* expr, TypeId type) {
  if (expr->type.id == type) return expr;
  Expr* wide = NewExpr(ExprKind::kCast, type, -1);
  wide->cast = function::FindCast(expr->type.id, type);
  wide->args = {expr};
  SISAL_CHECK(wide->cast != nullptr);
  return wide;
}

Binder::Planned Binder::PlanFrom(Scope& scope, FromTree* tree, std::vector<const Expr*> conjuncts,
                                 const std::vector<bool>& used, WantedOrder* order) {
  if (tree == nullptr) {
    Planned planned;
    planned.plan = NewPlan(PlanKind::kValues);
    planned.plan->rows.emplace_back();
    planned.plan = AddFilter(planned.plan, MakeAnd(conjuncts));
    return planned;
  }
  return PlanTree(scope, *tree, std::move(conjuncts), used, order);
}

Binder::Planned Binder::PlanTree(Scope& scope, FromTree& tree, std::vector<const Expr*> conjuncts,
                                 const std::vector<bool>& used, WantedOrder* order) {
  if (tree.left == nullptr) return PlanLeaf(scope, tree.leaf, std::move(conjuncts), used, order);
  return PlanJoin(scope, tree, std::move(conjuncts), used);
}

Binder::Planned Binder::PlanJoin(Scope& scope, FromTree& tree, std::vector<const Expr*> conjuncts,
                                 std::vector<bool> used) {
  if (tree.right->left == nullptr && HasLeftColumns(scope.leaves[tree.right->leaf].lateral_args)) {
    return PlanLateral(scope, tree, std::move(conjuncts), std::move(used));
  }
  const bool inner = tree.join == JoinKind::kInner || tree.join == JoinKind::kCross;
  if (inner) {
    HoistConjuncts(tree, conjuncts);
    AddImpliedConstants(conjuncts);
  }
  std::vector<bool> left_ids(scope.columns.size(), false);
  MarkLeaves(scope, *tree.left, left_ids);
  std::vector<const Expr*> to_left, to_right, joining, above;
  for (const Expr* expr : conjuncts) {
    const Sides sides = SidesOf(expr, left_ids);
    // A condition above an outer join may only go to the side whose rows the join keeps as they are.
    const bool goes_left = !sides.right && (inner || tree.join == JoinKind::kLeft);
    const bool goes_right = !sides.left && sides.right && (inner || tree.join == JoinKind::kRight);
    (goes_left ? to_left : goes_right ? to_right : inner ? joining : above).push_back(expr);
  }
  for (const Expr* expr : tree.conjuncts) {
    const Sides sides = SidesOf(expr, left_ids);
    const bool goes_right = tree.join == JoinKind::kLeft && !sides.left && sides.right;
    const bool goes_left = tree.join == JoinKind::kRight && sides.left && !sides.right;
    (goes_left ? to_left : goes_right ? to_right : joining).push_back(expr);
  }
  for (const Expr* expr : joining) MarkUsed(expr, used);
  for (const Expr* expr : above) MarkUsed(expr, used);
  const Planned left = PlanTree(scope, *tree.left, std::move(to_left), used, nullptr);
  const Planned right = PlanTree(scope, *tree.right, std::move(to_right), used, nullptr);

  Planned joined;
  joined.plan = NewPlan(PlanKind::kJoin);
  Plan& plan = *joined.plan;
  plan.inputs = {left.plan, right.plan};
  plan.right_is_fixed = IsFixed(*right.plan);
  plan.output = left.plan->output;
  plan.output.insert(plan.output.end(), right.plan->output.begin(), right.plan->output.end());
  joined.ids = left.ids;
  joined.ids.insert(joined.ids.end(), right.ids.begin(), right.ids.end());
  const IdMap left_map = MapOf(scope, left.ids), right_map = MapOf(scope, right.ids), map = MapOf(scope, joined.ids);
  std::vector<const Expr*> rest;
  for (const Expr* expr : joining) {
    const TypeId hashed_as =
        IsEquality(expr) ? HashTypeOf(expr->args[0]->type.id, expr->args[1]->type.id) : TypeId::kUnknown;
    if (hashed_as != TypeId::kUnknown && !HasSubplan(expr) && !IsVolatile(expr)) {
      const Sides first = SidesOf(expr->args[0], left_ids), second = SidesOf(expr->args[1], left_ids);
      const bool straight = first.left && !first.right && second.right && !second.left;
      const bool crossed = first.right && !first.left && second.left && !second.right;
      if (straight || crossed) {
        plan.hash_left.push_back(Widened(Remap(expr->args[straight ? 0 : 1], left_map), hashed_as));
        plan.hash_right.push_back(Widened(Remap(expr->args[straight ? 1 : 0], right_map), hashed_as));
        continue;
      }
    }
    rest.push_back(Remap(expr, map));
  }
  plan.predicate = MakeAnd(rest);
  plan.join = !inner ? tree.join : joining.empty() ? JoinKind::kCross : JoinKind::kInner;
  for (const Expr*& expr : above) expr = Remap(expr, map);
  joined.plan = AddFilter(joined.plan, MakeAnd(above));
  return joined;
}

Binder::Planned Binder::PlanLeaf(Scope& scope, uint32_t number, std::vector<const Expr*> conjuncts,
                                 const std::vector<bool>& used, WantedOrder* order) {
  const Leaf& leaf = scope.leaves[number];
  Planned planned;
  if (leaf.kind != LeafKind::kTable) {
    planned.plan = const_cast<Plan*>(leaf.plan);
    if (leaf.lateral) {
      // It needs nothing from the left, but has a frame of its own.
      Plan* nothing = NewPlan(PlanKind::kValues);
      nothing->rows.emplace_back();
      planned.plan = AddLateralJoin(nothing, leaf, JoinKind::kCross, leaf.lateral_args);
    }
    for (uint32_t i = 0; i < leaf.column_count; ++i) planned.ids.push_back(leaf.first_id + i);
    const IdMap map = MapOf(scope, planned.ids);
    for (const Expr*& expr : conjuncts) expr = Remap(expr, map);
    planned.plan = AddFilter(planned.plan, MakeAnd(conjuncts));
    return planned;
  }
  planned.plan = NewPlan(PlanKind::kTableScan);
  Plan& scan = *planned.plan;
  scan.table = leaf.table;
  ChooseAccessPath(leaf, conjuncts, scan, order);
  std::vector<bool> decoded = used;
  for (const Expr* expr : conjuncts) MarkUsed(expr, decoded);
  for (uint32_t i = 0; i < leaf.column_count; ++i) {
    if (!decoded[leaf.first_id + i]) continue;
    planned.ids.push_back(leaf.first_id + i);
    scan.columns.push_back(i);
    scan.output.push_back(leaf.table->columns[i].type);
  }
  if (leaf.key_id.has_value() && used[*leaf.key_id]) {
    planned.ids.push_back(*leaf.key_id);
    scan.with_key = true;
    scan.output.push_back(TypeId::kBytea);
  }
  const IdMap map = MapOf(scope, planned.ids);
  for (const Expr*& expr : conjuncts) expr = Remap(expr, map);
  scan.predicate = MakeAnd(conjuncts);
  return planned;
}

// What UPDATE and DELETE read: all columns of the target, the first leaf, then the row's key. Values that need more
// than the target's row, or that look at tables while rows are being written, are computed here, behind the key.
Result<Plan*> Binder::PlanWriteInput(Scope& scope, FromTree* tree, const Node* where,
                                     std::vector<Assignment>& assignments) {
  SISAL_ASSIGN_OR_RETURN(const Expr* condition, BindCondition(scope, where, Clause::kWhere));
  std::vector<const Expr*> conjuncts;
  AddConjuncts(condition, conjuncts);
  std::vector<bool> used(scope.columns.size(), false);
  const uint32_t width = *scope.leaves[0].key_id + 1;
  std::fill_n(used.begin(), width, true);
  bool alone = tree->left == nullptr;
  for (const Assignment& assignment : assignments) {
    MarkUsed(assignment.value, used);
    alone &= !HasSubplan(assignment.value);
  }
  const Planned planned = PlanFrom(scope, tree, std::move(conjuncts), used, nullptr);
  if (alone) return planned.plan;
  const IdMap map = MapOf(scope, planned.ids);
  std::vector<const Expr*> exprs;
  for (uint32_t i = 0; i < width; ++i) exprs.push_back(Remap(MakeColumn(i, scope.columns[i].type, -1), map));
  for (Assignment& assignment : assignments) {
    const auto place = static_cast<uint32_t>(exprs.size());
    exprs.push_back(Remap(assignment.value, map));
    assignment.value = MakeColumn(place, assignment.value->type, -1);
  }
  return AddProject(planned.plan, std::move(exprs));
}

}  // namespace sisal::sql
