// SELECT: one query level from its parts to a plan.
#include <algorithm>

#include "binder.h"

namespace sisal::sql {
namespace {

// WITH queries are bound anew at each reference, so that a few lines can ask for any number of plan nodes.
constexpr size_t kPlanNodesMax = 20'000;

bool IsPlainDistinct(const PgQuery__SelectStmt& node) {
  return node.n_distinct_clause == 1 && node.distinct_clause[0]->node_case == PG_QUERY__NODE__NODE__NOT_SET;
}

// A scan whose rows pass straight to a LIMIT need not begin with more than that.
void ReadAheadLess(Plan* plan, const Expr* limit, const Expr* offset) {
  if (limit == nullptr || limit->kind != ExprKind::kConstant || limit->constant.is_null() || offset != nullptr) return;
  while (plan->kind == PlanKind::kProject || plan->kind == PlanKind::kFilter || plan->kind == PlanKind::kLockRows) {
    plan = const_cast<Plan*>(plan->inputs[0]);
  }
  const int64_t rows = std::max<int64_t>(limit->constant.as_int(), 1);
  if (rows < plan->first_rows) plan->first_rows = static_cast<uint32_t>(rows);
}

}  // namespace

Result<const CommonTable*> Binder::BindWith(const PgQuery__WithClause* with, const CommonTable* outer, Scope* around) {
  if (with == nullptr) return outer;
  constexpr size_t kCommonTablesMax = 1000;
  if (common_tables_.size() + with->n_ctes > kCommonTablesMax) {
    return Error("54000", "a statement can have at most " + std::to_string(kCommonTablesMax) + " WITH queries")
        .WithLimit("with_queries_max", kCommonTablesMax);
  }
  const CommonTable* visible = outer;
  std::vector<CommonTable*> items;
  for (const Node* node : NodeList(with->ctes, with->n_ctes)) {
    const PgQuery__CommonTableExpr& common = *node->common_table_expr;
    for (const CommonTable* other = visible; other != outer; other = other->previous) {
      if (other->name == View(common.ctename)) {
        return At(common.location, "42712", "WITH query name \"" + other->name + "\" specified more than once");
      }
    }
    CommonTable& added = common_tables_.emplace_back();
    added.name = View(common.ctename);
    added.node = &common;
    added.previous = visible;
    added.sees = visible;
    added.around = around;
    visible = &added;
    items.push_back(&added);
  }
  if (with->recursive) SISAL_RETURN_IF_ERROR(LinkRecursiveWith(items));
  return visible;
}

// A WITH query that nothing refers to must still be correct.
Status Binder::CheckUnusedCommonTables(const CommonTable* from, const CommonTable* until, Frame* frame) {
  for (const CommonTable* common = from; common != until; common = common->previous) {
    if (common->uses > 0) continue;
    ++common->uses;
    SISAL_RETURN_IF_ERROR(BindCommonQuery(*common, frame).status());
  }
  return Status();
}

Result<BoundQuery> Binder::BindQuery(const PgQuery__SelectStmt& node, const QueryOptions& options) {
  if (statement_.plans.size() > kPlanNodesMax) {
    return Error("54000",
                 "statement is too complex: its plan needs more than " + std::to_string(kPlanNodesMax) + " nodes")
        .WithLimit("plan_nodes_max", kPlanNodesMax);
  }
  const Level level(*this, 3);
  if (level.too_deep()) return NestedTooDeeply();
  if (node.into_clause != nullptr) return NotSupported(-1, "SELECT INTO");
  SISAL_ASSIGN_OR_RETURN(const CommonTable* common_tables,
                         BindWith(node.with_clause, options.common_tables, options.around));
  QueryOptions inner = options;
  inner.common_tables = common_tables;
  Result<BoundQuery> query = node.op != PG_QUERY__SET_OPERATION__SETOP_NONE ? BindSetOperation(node, inner)
                             : node.n_values_lists > 0                      ? BindValues(node, inner)
                                                                            : BindSimpleSelect(node, inner);
  if (!query.ok()) return query;
  SISAL_RETURN_IF_ERROR(CheckUnusedCommonTables(common_tables, options.common_tables, options.frame));
  return query;
}

Result<std::vector<Target>> Binder::BindTargets(Scope& scope, NodeList list) {
  std::vector<Target> targets;
  for (const Node* node : list) {
    const PgQuery__ResTarget& item = *node->res_target;
    if (item.val->node_case == PG_QUERY__NODE__NODE_COLUMN_REF) {
      const PgQuery__ColumnRef& column = *item.val->column_ref;
      if (IsStar(column.fields[column.n_fields - 1])) {
        SISAL_ASSIGN_OR_RETURN(std::vector<Target> expanded, ExpandStar(scope, column));
        targets.insert(targets.end(), std::make_move_iterator(expanded.begin()),
                       std::make_move_iterator(expanded.end()));
        continue;
      }
    }
    Target target;
    target.location = LocationOf(item.val);
    SISAL_ASSIGN_OR_RETURN(target.expr, BindExpr(scope, item.val));
    target.name = View(item.name).empty() ? ColumnNameOf(item.val) : std::string(View(item.name));
    targets.push_back(std::move(target));
  }
  constexpr size_t kTargetsMax = 1664;
  if (targets.size() > kTargetsMax) {
    return Error("54011", "target lists can have at most " + std::to_string(kTargetsMax) + " entries");
  }
  return targets;
}

Result<const Expr*> Binder::BindCondition(Scope& scope, const Node* node, Clause clause) {
  if (node == nullptr) return nullptr;
  const Clause before = scope.clause;
  scope.clause = clause;
  SISAL_ASSIGN_OR_RETURN(const Expr* condition, BindExpr(scope, node));
  scope.clause = before;
  const char* name = clause == Clause::kHaving   ? "HAVING"
                     : clause == Clause::kJoinOn ? "JOIN/ON"
                     : clause == Clause::kFilter ? "FILTER"
                                                 : "WHERE";
  return CoerceToBoolean(condition, name, LocationOf(node));
}

BoundQuery Binder::Describe(Plan* plan, const std::vector<Target>& targets) const {
  BoundQuery query;
  query.plan = plan;
  for (const Target& target : targets) {
    if (target.junk) continue;
    query.columns.push_back({target.name, target.expr->type, target.not_null});
    query.locations.push_back(target.location);
  }
  return query;
}

Result<BoundQuery> Binder::BindSimpleSelect(const PgQuery__SelectStmt& node, const QueryOptions& options) {
  Scope scope;
  scope.outer = options.around;
  scope.lateral = options.lateral;
  scope.frame = options.frame;
  scope.common_tables = options.common_tables;
  scope.window_clause = NodeList(node.window_clause, node.n_window_clause);
  bool distinct = node.n_distinct_clause > 0;
  if (distinct && !IsPlainDistinct(node)) return NotSupported(LocationOf(node.distinct_clause[0]), "DISTINCT ON");

  scope.clause = Clause::kFrom;
  SISAL_ASSIGN_OR_RETURN(const std::unique_ptr<FromTree> tree,
                         BindFrom(scope, NodeList(node.from_clause, node.n_from_clause)));
  scope.clause = Clause::kSelect;
  SISAL_ASSIGN_OR_RETURN(std::vector<Target> targets,
                         BindTargets(scope, NodeList(node.target_list, node.n_target_list)));
  SISAL_ASSIGN_OR_RETURN(const Expr* where, BindCondition(scope, node.where_clause, Clause::kWhere));
  SISAL_ASSIGN_OR_RETURN(const Expr* having, BindCondition(scope, node.having_clause, Clause::kHaving));
  scope.clause = Clause::kOrderBy;
  SISAL_ASSIGN_OR_RETURN(std::vector<OrderKey> order,
                         BindOrderBy(scope, NodeList(node.sort_clause, node.n_sort_clause), targets, distinct));
  scope.clause = Clause::kGroupBy;
  SISAL_ASSIGN_OR_RETURN(std::vector<const Expr*> groups,
                         BindGroupBy(scope, NodeList(node.group_clause, node.n_group_clause), targets));
  Limits limits;
  SISAL_RETURN_IF_ERROR(BindLimits(scope, node, limits));
  SISAL_RETURN_IF_ERROR(BindNamedWindows(scope, std::nullopt));
  SISAL_RETURN_IF_ERROR(BindRowLocks(scope, node, targets));
  for (Target& target : targets) {
    if (!options.keep_unknown || distinct) {
      SISAL_ASSIGN_OR_RETURN(target.expr, ResolveUnknown(target.expr, target.location));
    }
    target.not_null = target.expr->kind == ExprKind::kColumn && target.expr->index < kAggregateBase &&
                      scope.columns[target.expr->index].not_null;
  }

  std::vector<const Expr*> conjuncts;
  AddConjuncts(where, conjuncts);
  SISAL_RETURN_IF_ERROR(CheckRecursiveTerm(scope, targets, having));
  const bool grouped = scope.has_aggregates || node.n_group_clause > 0 || having != nullptr;
  if (grouped) {
    uint32_t group_count = 0;
    SISAL_ASSIGN_OR_RETURN(Plan * plan,
                           PlanGroups(scope, tree.get(), conjuncts, std::move(groups), having, targets, group_count));
    return FinishWindows(scope, plan, std::move(targets), std::move(order), distinct, limits, group_count, {});
  }

  if (options.exists && node.n_locking_clause == 0 && scope.window_uses.empty()) {
    // What the rows hold is not computed: EXISTS (SELECT 1 / 0) is true.
    targets.clear();
    order.clear();
    distinct = false;
  }
  std::vector<bool> used(scope.columns.size(), false);
  for (const Target& target : targets) MarkUsed(target.expr, used);
  RewriteWindows(scope, [&](const Expr* part) { return MarkUsed(part, used), part; });
  WantedOrder wanted;
  if (scope.window_uses.empty()) {
    for (const OrderKey& key : order) wanted.keys.push_back({targets[key.target].expr, key.order, key.nulls_first});
  } else {
    wanted.keys = FirstWindowOrder(scope, targets, order);
  }
  const bool useful = !wanted.keys.empty() && (!distinct || !scope.window_uses.empty());
  Planned from = PlanFrom(scope, tree.get(), conjuncts, used, useful ? &wanted : nullptr);
  const IdMap map = MapOf(scope, from.ids);
  for (Target& target : targets) target.expr = Remap(target.expr, map);
  RewriteWindows(scope, [&](const Expr* part) { return Remap(part, map); });
  std::vector<SortKey> sorted;
  if (wanted.satisfied && !scope.window_uses.empty()) {
    sorted = wanted.keys;
    for (SortKey& key : sorted) key.expr = Remap(key.expr, map);
  } else if (wanted.satisfied) {
    order.clear();
  }
  return FinishWindows(scope, from.plan, std::move(targets), std::move(order), distinct, limits, 0, std::move(sorted));
}

// Window nodes, where there are windows, and what follows them. `sorted`: the order in which the plan's rows come.
BoundQuery Binder::FinishWindows(Scope& scope, Plan* plan, std::vector<Target> targets, std::vector<OrderKey> order,
                                 bool distinct, const Limits& limits, uint32_t group_count,
                                 std::vector<SortKey> sorted) {
  if (!scope.window_uses.empty()) {
    plan = PlanWindows(scope, plan, targets, order, group_count, sorted);
    std::vector<SortKey> wanted;
    for (const OrderKey& key : order) wanted.push_back({targets[key.target].expr, key.order, key.nulls_first});
    if (!distinct && IsSortedBy(sorted, wanted)) order.clear();
  }
  return FinishQuery(plan, std::move(targets), order, distinct, limits);
}

void Binder::MarkUsed(const Expr* expr, std::vector<bool>& used) const {
  VisitExpr(expr, [&](const Expr* part) {
    if (part->kind == ExprKind::kColumn && part->index < kAggregateBase) used[part->index] = true;
  });
}

// Project, then DISTINCT, ORDER BY, row locks, LIMIT in this order. Targets are over `plan`'s output. Literals whose
// type is still open come in by a last projection, where whoever uses the query can give them one.
BoundQuery Binder::FinishQuery(Plan* plan, std::vector<Target> targets, const std::vector<OrderKey>& order,
                               bool distinct, const Limits& limits) {
  std::vector<const Expr*> exprs;
  std::vector<uint32_t> place(targets.size(), kNoColumn);
  bool late = false, locks = false;
  const bool any_locked =
      std::any_of(targets.begin(), targets.end(), [](const Target& target) { return target.locked != nullptr; });
  const bool postpones =
      !distinct && !any_locked && limits.offset == nullptr && (limits.limit != nullptr || !order.empty());
  std::vector<size_t> postponed;
  std::vector<bool> sorted(targets.size(), false);
  for (const OrderKey& key : order) sorted[key.target] = true;
  for (size_t i = 0; i < targets.size(); ++i) {
    const bool locked = targets[i].locked != nullptr;
    if (targets[i].junk && !sorted[i] && !locked) continue;
    locks |= locked;
    late |= (targets[i].junk && !locked) || targets[i].expr->type.id == TypeId::kUnknown;
    if (targets[i].expr->type.id == TypeId::kUnknown) continue;
    // nextval() is called in the order of the result, and no more often than LIMIT lets rows through.
    const bool last =
        postpones && !sorted[i] && !targets[i].junk && IsVolatile(targets[i].expr) && !HasSubplan(targets[i].expr);
    if (last) {
      postponed.push_back(i);
      late = true;
      continue;
    }
    place[i] = static_cast<uint32_t>(exprs.size());
    exprs.push_back(targets[i].expr);
  }
  const bool simple = order.empty() && !distinct && !locks && limits.limit == nullptr && limits.offset == nullptr;
  if (simple) {
    exprs.clear();
    for (const Target& target : targets) {
      if (!target.junk) exprs.push_back(target.expr);
    }
    return Describe(AddProject(plan, std::move(exprs)), targets);
  }
  for (const size_t i : postponed) {
    targets[i].expr = Rewrite(targets[i].expr, [&](const Expr* part) -> const Expr* {
      if (part->kind != ExprKind::kColumn) return nullptr;
      const auto same =
          std::find_if(exprs.begin(), exprs.end(), [&](const Expr* other) { return SameExpr(other, part); });
      const auto position = static_cast<uint32_t>(same - exprs.begin());
      if (same == exprs.end()) exprs.push_back(part);
      return MakeColumn(position, part->type, -1);
    });
  }
  plan = AddProject(plan, std::move(exprs));
  if (distinct) {
    Plan* unique = NewPlan(PlanKind::kDistinct);
    unique->inputs = {plan};
    unique->output = plan->output;
    plan = unique;
  }
  // With locks LIMIT counts the rows that were granted: all are to be sorted.
  plan = AddSort(plan, targets, order, place, locks ? Limits() : limits);
  if (locks) plan = AddLockRows(plan, targets);
  plan = AddLimit(plan, limits);
  if (late) {
    std::vector<const Expr*> last;
    for (size_t i = 0; i < targets.size(); ++i) {
      if (targets[i].junk) continue;
      last.push_back(place[i] == kNoColumn ? targets[i].expr : MakeColumn(place[i], targets[i].expr->type, -1));
    }
    plan = AddProject(plan, std::move(last));
  }
  return Describe(plan, targets);
}

Plan* Binder::AddSort(Plan* plan, const std::vector<Target>& targets, const std::vector<OrderKey>& order,
                      const std::vector<uint32_t>& place, const Limits& limits) {
  std::vector<SortKey> keys;
  for (const OrderKey& key : order) {
    if (place[key.target] == kNoColumn) continue;  // a literal: all rows are equal
    keys.push_back({MakeColumn(place[key.target], targets[key.target].expr->type, -1), key.order, key.nulls_first});
  }
  if (keys.empty()) return plan;
  Plan* sort = NewPlan(PlanKind::kSort);
  sort->inputs = {plan};
  sort->output = plan->output;
  sort->sort_keys = std::move(keys);
  sort->limit = limits.limit;
  sort->offset = limits.offset;
  return sort;
}

Plan* Binder::AddLimit(Plan* plan, const Limits& limits) {
  if (limits.limit == nullptr && limits.offset == nullptr) return plan;
  ReadAheadLess(plan, limits.limit, limits.offset);
  Plan* limited = NewPlan(PlanKind::kLimit);
  limited->inputs = {plan};
  limited->output = plan->output;
  limited->limit = limits.limit;
  limited->offset = limits.offset;
  return limited;
}

Status Binder::BindLimits(Scope& scope, const PgQuery__SelectStmt& node, Limits& limits) {
  if (node.limit_option == PG_QUERY__LIMIT_OPTION__LIMIT_OPTION_WITH_TIES) {
    return NotSupported(LocationOf(node.limit_count), "FETCH FIRST ... WITH TIES");
  }
  SISAL_ASSIGN_OR_RETURN(limits.offset, BindLimit(scope, node.limit_offset, Clause::kOffset, "OFFSET"));
  SISAL_ASSIGN_OR_RETURN(limits.limit, BindLimit(scope, node.limit_count, Clause::kLimit, "LIMIT"));
  return Status();
}

Result<const Expr*> Binder::BindLimit(Scope& scope, const Node* node, Clause clause, const char* name) {
  if (node == nullptr) return nullptr;
  if (node->node_case == PG_QUERY__NODE__NODE_A_CONST && node->a_const->isnull) return nullptr;  // LIMIT ALL
  const Clause before = scope.clause;
  scope.clause = clause;
  SISAL_ASSIGN_OR_RETURN(const Expr* expr, BindExpr(scope, node));
  scope.clause = before;
  const int32_t location = LocationOf(node);
  if (!CanCoerce(expr->type.id, TypeId::kBigint, CastContext::kAssignment)) {
    return At(location, "42804",
              std::string("argument of ") + name + " must be type bigint, not type " +
                  TypeList(std::span(&expr->type.id, 1)));
  }
  bool variables = false;
  VisitExpr(expr, [&](const Expr* part) { variables |= part->kind == ExprKind::kColumn; });
  if (variables) return At(location, "42P10", std::string("argument of ") + name + " must not contain variables");
  return CoerceType(expr, TypeId::kBigint, CastContext::kAssignment, location);
}

Result<BoundQuery> Binder::BindValues(const PgQuery__SelectStmt& node, const QueryOptions& options) {
  Scope scope;
  scope.outer = options.around;
  scope.lateral = options.lateral;
  scope.frame = options.frame;
  scope.common_tables = options.common_tables;
  scope.clause = Clause::kValues;
  if (node.n_locking_clause > 0) {
    return Error("0A000", LockName(*node.locking_clause[0]->locking_clause) + " cannot be applied to VALUES");
  }
  std::vector<std::vector<const Expr*>> columns;
  std::vector<std::vector<int32_t>> locations;
  const NodeList lists(node.values_lists, node.n_values_lists);
  for (const Node* list : lists) {
    const NodeList items(list->list->items, list->list->n_items);
    if (columns.empty()) {
      columns.resize(items.size());
      locations.resize(items.size());
    }
    if (items.size() != columns.size()) {
      return At(LocationOf(items[0]), "42601", "VALUES lists must all be the same length");
    }
    SISAL_ASSIGN_OR_RETURN(const std::vector<const Expr*> row, BindList(scope, items));
    for (size_t i = 0; i < row.size(); ++i) {
      columns[i].push_back(row[i]);
      locations[i].push_back(LocationOf(items[i]));
    }
  }
  Plan* plan = NewPlan(PlanKind::kValues);
  plan->rows.resize(lists.size());
  std::vector<Target> targets;
  for (size_t i = 0; i < columns.size(); ++i) {
    SISAL_ASSIGN_OR_RETURN(const SqlType type, CoerceToCommon(columns[i], locations[i], "VALUES"));
    for (size_t row = 0; row < lists.size(); ++row) plan->rows[row].push_back(columns[i][row]);
    plan->output.push_back(type);
    Target target;
    target.expr = MakeColumn(static_cast<uint32_t>(i), type, locations[i][0]);
    target.name = "column" + std::to_string(i + 1);
    target.location = locations[i][0];
    targets.push_back(std::move(target));
  }
  scope.clause = Clause::kOrderBy;
  NameOutput(scope, targets);
  SISAL_ASSIGN_OR_RETURN(const std::vector<OrderKey> order,
                         BindOrderBy(scope, NodeList(node.sort_clause, node.n_sort_clause), targets, false));
  Limits limits;
  SISAL_RETURN_IF_ERROR(BindLimits(scope, node, limits));
  if (order.empty()) return Describe(AddLimit(plan, limits), targets);
  if (!scope.window_uses.empty()) return NotSupported(-1, "a window function in ORDER BY of VALUES");
  return FinishQuery(plan, std::move(targets), order, false, limits);
}

// Lets expressions name the output columns.
void Binder::NameOutput(Scope& scope, const std::vector<Target>& targets) {
  NamespaceItem item;
  item.relation_visible = false;
  for (const Target& target : targets) item.columns.push_back({target.name, target.expr});
  scope.items = {std::move(item)};
}

// ORDER BY and LIMIT of a set operation.
Result<BoundQuery> Binder::FinishNamed(Plan* plan, std::vector<Target> targets, Scope& scope,
                                       const PgQuery__SelectStmt& node) {
  NameOutput(scope, targets);
  std::vector<OrderKey> order;
  for (const Node* item : NodeList(node.sort_clause, node.n_sort_clause)) {
    SISAL_ASSIGN_OR_RETURN(const SortTarget found, FindSortTarget(scope, item->sort_by->node, targets, "ORDER BY"));
    if (!found.target.has_value()) {
      return At(LocationOf(item->sort_by->node), "0A000", "invalid UNION/INTERSECT/EXCEPT ORDER BY clause")
          .WithDetail("Only result column names can be used, not expressions or functions.")
          .WithHint("Add the expression/function to every SELECT, or move the UNION into a FROM clause.");
    }
    OrderKey key;
    key.target = *found.target;
    SISAL_RETURN_IF_ERROR(BindSortDirection(*item->sort_by, key));
    order.push_back(key);
  }
  Limits limits;
  SISAL_RETURN_IF_ERROR(BindLimits(scope, node, limits));
  std::vector<uint32_t> place(targets.size());
  for (uint32_t i = 0; i < place.size(); ++i) place[i] = i;
  plan = AddSort(plan, targets, order, place, limits);
  return Describe(AddLimit(plan, limits), targets);
}

}  // namespace sisal::sql
