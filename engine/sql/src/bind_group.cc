// GROUP BY, HAVING and aggregates: from columns of FROM to columns of the aggregate node.
#include <algorithm>

#include "binder.h"

namespace sisal::sql {

Result<std::vector<const Expr*>> Binder::BindGroupBy(Scope& scope, NodeList list, std::vector<Target>& targets) {
  std::vector<const Expr*> groups;
  for (const Node* node : list) {
    if (node->node_case == PG_QUERY__NODE__NODE_GROUPING_SET) {
      if (node->grouping_set->kind == PG_QUERY__GROUPING_SET_KIND__GROUPING_SET_EMPTY) continue;
      return NotSupported(node->grouping_set->location, "GROUPING SETS, ROLLUP or CUBE");
    }
    SISAL_ASSIGN_OR_RETURN(SortTarget found, FindSortTarget(scope, node, targets, "GROUP BY"));
    SISAL_ASSIGN_OR_RETURN(found.expr, ResolveUnknown(found.expr, LocationOf(node)));
    if (found.target.has_value()) targets[*found.target].expr = found.expr;
    bool aggregates = false;
    VisitExpr(found.expr, [&](const Expr* part) {
      aggregates |= part->kind == ExprKind::kColumn && part->index >= kAggregateBase && part->index < kWindowBase;
    });
    if (const auto window = FindWindowCall(found.expr); window.has_value()) {
      return Error("42P20", "window functions are not allowed in GROUP BY").WithPosition(*window);
    }
    if (aggregates) return At(LocationOf(node), "42803", "aggregate functions are not allowed in GROUP BY");
    const bool known =
        std::any_of(groups.begin(), groups.end(), [&](const Expr* group) { return SameExpr(group, found.expr); });
    if (!known) groups.push_back(found.expr);
  }
  return groups;
}

std::string Binder::ColumnText(const Scope& scope, uint32_t id) const {
  const ColumnInfo& column = scope.columns[id];
  const Leaf& leaf = scope.leaves[column.leaf];
  for (const NamespaceItem& item : scope.items) {
    for (const NamedColumn& named : item.columns) {
      if (named.expr->kind == ExprKind::kColumn && named.expr->index == id) {
        return item.name.empty() ? named.name : item.name + "." + named.name;
      }
    }
  }
  return leaf.alias;
}

// A column that a grouped primary key determines may be used as if it were grouped; grouping by it changes nothing.
void Binder::AddDependentGroups(const Scope& scope, std::vector<const Expr*>& groups,
                                const std::vector<const Expr*>& uses) {
  const auto grouped = [&](uint32_t id) {
    return std::any_of(groups.begin(), groups.end(),
                       [&](const Expr* group) { return group->kind == ExprKind::kColumn && group->index == id; });
  };
  std::vector<bool> determined(scope.columns.size(), false);
  for (const Leaf& leaf : scope.leaves) {
    if (leaf.kind != LeafKind::kTable || leaf.table->primary_key.empty()) continue;
    const auto& key = leaf.table->primary_key;
    if (!std::all_of(key.begin(), key.end(), [&](uint32_t column) { return grouped(leaf.first_id + column); }))
      continue;
    for (uint32_t i = 0; i < leaf.column_count; ++i) determined[leaf.first_id + i] = true;
  }
  for (const Expr* use : uses) {
    VisitExpr(use, [&](const Expr* part) {
      if (part->kind != ExprKind::kColumn || part->index >= kAggregateBase) return;
      if (determined[part->index] && !grouped(part->index)) {
        groups.push_back(MakeColumn(part->index, part->type, -1));
        NoteKeyUse(*scope.leaves[scope.columns[part->index].leaf].table);
      }
    });
  }
}

namespace {

// Reached without going into what a subplan takes from outside.
bool InOwnArguments(const Expr* expr, const Expr* part) {
  return expr == part ||
         std::any_of(expr->args.begin(), expr->args.end(), [&](const Expr* arg) { return InOwnArguments(arg, part); });
}

}  // namespace

Result<const Expr*> Binder::OverGroups(const Scope& scope, const std::vector<const Expr*>& groups, const Expr* expr) {
  const Expr* ungrouped = nullptr;
  const Expr* rewritten = Rewrite(expr, [&](const Expr* part) -> const Expr* {
    for (uint32_t i = 0; i < groups.size(); ++i) {
      if (!SameExpr(groups[i], part)) continue;
      Expr* column = NewExpr(ExprKind::kColumn, part->type, -1);
      column->index = i;
      column->position = part->position;
      return column;
    }
    if (part->kind != ExprKind::kColumn) return nullptr;
    if (part->index >= kWindowBase) return part;
    if (part->index < kAggregateBase) {
      if (ungrouped == nullptr) ungrouped = part;
      return part;
    }
    Expr* column = NewExpr(ExprKind::kColumn, part->type, -1);
    column->index = static_cast<uint32_t>(groups.size()) + (part->index - kAggregateBase);
    column->position = part->position;
    return column;
  });
  if (ungrouped == nullptr) return rewritten;
  if (!InOwnArguments(expr, ungrouped)) {
    return Error("42803",
                 "subquery uses ungrouped column \"" + ColumnText(scope, ungrouped->index) + "\" from outer query")
        .WithPosition(ungrouped->position);
  }
  return Error("42803", "column \"" + ColumnText(scope, ungrouped->index) +
                            "\" must appear in the GROUP BY clause or be used in an aggregate function")
      .WithPosition(ungrouped->position);
}

bool Binder::EdgeOrder(const Scope& scope, const FromTree* tree, const std::vector<const Expr*>& groups,
                       std::vector<const Expr*>& conjuncts, WantedOrder& order) {
  if (!groups.empty() || scope.aggregates.size() != 1 || tree == nullptr || tree->left != nullptr) return false;
  const Leaf& leaf = scope.leaves[tree->leaf];
  const AggregateCall& call = scope.aggregates[0];
  const bool min = call.aggregate->name == "min", max = call.aggregate->name == "max";
  if (leaf.kind != LeafKind::kTable || (!min && !max) || call.filter != nullptr || call.args.size() != 1) return false;
  const Expr* column = call.args[0];
  if (column->kind == ExprKind::kCast && column->cast->kernel == nullptr) column = column->args[0];
  if (column->kind != ExprKind::kColumn) return false;
  const auto descending = max ? type::SortOrder::kDescending : type::SortOrder::kAscending;
  order.keys = {{column, descending, max}};
  if (!scope.columns[column->index].not_null) {
    Expr* present = NewExpr(ExprKind::kIsNull, TypeId::kBoolean, -1);
    present->flag = true;
    present->args = {column};
    conjuncts.push_back(present);
  }
  return true;
}

Result<Plan*> Binder::PlanGroups(Scope& scope, FromTree* tree, const std::vector<const Expr*>& conjuncts,
                                 std::vector<const Expr*> groups, const Expr* having, std::vector<Target>& targets,
                                 uint32_t& group_count) {
  std::vector<const Expr*> uses;
  for (const Target& target : targets) uses.push_back(target.expr);
  RewriteWindows(scope, [&](const Expr* part) { return uses.push_back(part), part; });
  if (having != nullptr) uses.push_back(having);
  AddDependentGroups(scope, groups, uses);
  for (Target& target : targets) {
    SISAL_ASSIGN_OR_RETURN(target.expr, OverGroups(scope, groups, target.expr));
  }
  if (having != nullptr) {
    SISAL_ASSIGN_OR_RETURN(having, OverGroups(scope, groups, having));
  }
  Status ungrouped;
  RewriteWindows(scope, [&](const Expr* part) {
    Result<const Expr*> rewritten = OverGroups(scope, groups, part);
    if (rewritten.ok()) return *rewritten;
    if (ungrouped.ok()) ungrouped = std::move(rewritten).error();
    return part;
  });
  SISAL_RETURN_IF_ERROR(ungrouped);
  group_count = static_cast<uint32_t>(groups.size());
  std::vector<bool> used(scope.columns.size(), false);
  for (const Expr* group : groups) MarkUsed(group, used);
  for (const AggregateCall& call : scope.aggregates) {
    for (const Expr* arg : call.args) MarkUsed(arg, used);
    if (call.filter != nullptr) MarkUsed(call.filter, used);
    for (const SortKey& key : call.order) MarkUsed(key.expr, used);
  }
  WantedOrder edge;
  std::vector<const Expr*> edge_conjuncts = conjuncts;
  Planned from;
  if (EdgeOrder(scope, tree, groups, edge_conjuncts, edge)) {
    from = PlanFrom(scope, tree, edge_conjuncts, used, &edge);
    if (edge.satisfied)
      from.plan = AddLimit(from.plan, {MakeConstant(TypeId::kBigint, type::Datum::Int(1), -1), nullptr});
  } else {
    from = PlanFrom(scope, tree, conjuncts, used, nullptr);
  }
  const IdMap map = MapOf(scope, from.ids);
  Plan* plan = NewPlan(PlanKind::kAggregate);
  plan->inputs = {from.plan};
  for (const Expr* group : groups) {
    plan->exprs.push_back(Remap(group, map));
    plan->output.push_back(group->type);
  }
  for (AggregateCall call : scope.aggregates) {
    for (const Expr*& arg : call.args) arg = Remap(arg, map);
    if (call.filter != nullptr) call.filter = Remap(call.filter, map);
    for (SortKey& key : call.order) key.expr = Remap(key.expr, map);
    plan->output.push_back(call.aggregate->result);
    plan->aggregates.push_back(std::move(call));
  }
  return AddFilter(plan, having);
}

}  // namespace sisal::sql
