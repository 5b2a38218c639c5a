// WITH RECURSIVE.
#include <algorithm>

#include "binder.h"
#include "with_references.h"

namespace sisal::sql {
namespace {

std::string_view PlaceName(RecursionPlace place) {
  switch (place) {
    case RecursionPlace::kNonRecursiveTerm:
      return "its non-recursive term";
    case RecursionPlace::kSubquery:
      return "a subquery";
    case RecursionPlace::kOuterJoin:
      return "an outer join";
    case RecursionPlace::kIntersect:
      return "INTERSECT";
    case RecursionPlace::kExcept:
      return "EXCEPT";
    case RecursionPlace::kAllowed:
      break;
  }
  return "";
}

}  // namespace

// The queries of the clause see each other, in any order; what refers to itself is recursive.
Status Binder::LinkRecursiveWith(std::span<CommonTable* const> items) {
  const size_t count = items.size();
  std::vector<std::vector<bool>> needs(count, std::vector<bool>(count, false));
  for (size_t i = 0; i < count; ++i) {
    items[i]->sees = items.back();
    ReferenceWalker walker([&](const PgQuery__RangeVar& relation, RecursionPlace) {
      for (size_t k = 0; k < count; ++k) {
        if (items[k]->name == View(relation.relname)) needs[i][k] = true;
      }
      return Status();
    });
    SISAL_RETURN_IF_ERROR(walker.Walk(items[i]->node->ctequery, RecursionPlace::kAllowed));
    items[i]->recursive = needs[i][i];
    needs[i][i] = false;
  }
  // Takes away one after another what needs none that is left.
  std::vector<size_t> order(count);
  for (size_t i = 0; i < count; ++i) order[i] = i;
  for (size_t i = 0; i < count; ++i) {
    const auto free = std::find_if(order.begin() + static_cast<ptrdiff_t>(i), order.end(), [&](size_t item) {
      return std::none_of(order.begin() + static_cast<ptrdiff_t>(i), order.end(),
                          [&](size_t other) { return needs[item][other]; });
    });
    if (free == order.end()) {
      return At(items[order[i]]->node->location, "0A000", "mutual recursion between WITH items is not implemented");
    }
    std::swap(order[i], *free);
  }
  for (const size_t i : order) {
    if (items[i]->recursive) SISAL_RETURN_IF_ERROR(CheckRecursion(*items[i]));
  }
  return Status();
}

Status Binder::CheckRecursion(const CommonTable& common) {
  const std::string name = "\"" + common.name + "\"";
  const int32_t location = common.node->location;
  if (common.node->ctequery->node_case != PG_QUERY__NODE__NODE_SELECT_STMT) {
    return At(location, "42P19", "recursive query " + name + " must not contain data-modifying statements");
  }
  const PgQuery__SelectStmt& query = *common.node->ctequery->select_stmt;
  if (query.op != PG_QUERY__SET_OPERATION__SETOP_UNION) {
    return At(location, "42P19",
              "recursive query " + name + " does not have the form non-recursive-term UNION [ALL] recursive-term");
  }
  uint32_t references = 0;
  ReferenceWalker walker([&](const PgQuery__RangeVar& relation, RecursionPlace place) -> Status {
    if (View(relation.relname) != common.name) return Status();
    const std::string reference = "recursive reference to query " + name + " must not appear ";
    if (place != RecursionPlace::kAllowed) {
      return At(relation.location, "42P19", reference + "within " + std::string(PlaceName(place)));
    }
    if (++references > 1) return At(relation.location, "42P19", reference + "more than once");
    return Status();
  });
  SISAL_RETURN_IF_ERROR(walker.Walk(*query.larg, RecursionPlace::kNonRecursiveTerm));
  SISAL_RETURN_IF_ERROR(walker.Walk(*query.rarg, RecursionPlace::kAllowed));
  if (query.with_clause != nullptr) {
    for (const Node* item : NodeList(query.with_clause->ctes, query.with_clause->n_ctes)) {
      SISAL_RETURN_IF_ERROR(walker.Walk(item->common_table_expr->ctequery, RecursionPlace::kSubquery));
    }
  }
  const auto refused = [&](const Node* node, const std::string& what) {
    return At(LocationOf(node), "0A000", what + " in a recursive query is not implemented");
  };
  if (query.n_sort_clause > 0) return refused(query.sort_clause[0]->sort_by->node, "ORDER BY");
  if (query.limit_offset != nullptr) return refused(query.limit_offset, "OFFSET");
  if (query.limit_count != nullptr) return refused(query.limit_count, "LIMIT");
  if (query.n_locking_clause > 0) return At(-1, "0A000", "FOR UPDATE/SHARE in a recursive query is not implemented");
  return Status();
}

// The query of a WITH item, with the names that the item gives its columns.
Result<BoundQuery> Binder::BindCommonQuery(const CommonTable& common, Frame* frame) {
  const PgQuery__CommonTableExpr& node = *common.node;
  if (node.ctequery->node_case != PG_QUERY__NODE__NODE_SELECT_STMT) {
    return NotSupported(node.location, "INSERT, UPDATE or DELETE in WITH");
  }
  if (node.search_clause != nullptr) return NotSupported(node.search_clause->location, "SEARCH");
  if (node.cycle_clause != nullptr) return NotSupported(node.cycle_clause->location, "CYCLE");
  QueryOptions options;
  options.around = common.around;
  options.frame = frame;
  options.common_tables = common.sees;
  if (common.recursive) return BindRecursiveQuery(common, options);
  SISAL_ASSIGN_OR_RETURN(BoundQuery query, BindQuery(*node.ctequery->select_stmt, options));
  SISAL_RETURN_IF_ERROR(NameCommonColumns(common, query.columns));
  return query;
}

Status Binder::NameCommonColumns(const CommonTable& common, std::vector<OutputColumn>& columns) const {
  const NodeList names(common.node->aliascolnames, common.node->n_aliascolnames);
  if (names.size() > columns.size()) {
    return At(common.node->location, "42P10",
              "WITH query \"" + common.name + "\" has " + std::to_string(columns.size()) + " columns available but " +
                  std::to_string(names.size()) + " columns specified");
  }
  for (size_t i = 0; i < names.size(); ++i) columns[i].name = StringOf(names[i]);
  return Status();
}

Result<BoundQuery> Binder::BindRecursiveQuery(const CommonTable& common, QueryOptions options) {
  const Level level(*this, 3);
  if (level.too_deep()) return NestedTooDeeply();
  const PgQuery__SelectStmt& node = *common.node->ctequery->select_stmt;
  const CommonTable* outer = options.common_tables;
  SISAL_ASSIGN_OR_RETURN(options.common_tables, BindWith(node.with_clause, outer, options.around));
  options.keep_unknown = true;
  SISAL_ASSIGN_OR_RETURN(BoundQuery start, BindQuery(*node.larg, options));

  // The recursive term sees the columns as the other one gives them.
  Recursion recursion;
  recursion.number = recursion_count_++;
  recursion.columns = start.columns;
  for (OutputColumn& column : recursion.columns) {
    if (column.type.id == TypeId::kUnknown) column.type = TypeId::kText;
    column.not_null = false;
  }
  SISAL_RETURN_IF_ERROR(NameCommonColumns(common, recursion.columns));
  const Recursion* before = common.recursion;
  common.recursion = &recursion;
  ++recursion_depth_;
  Result<BoundQuery> next = BindQuery(*node.rarg, options);
  --recursion_depth_;
  common.recursion = before;
  if (!next.ok()) return next;

  SISAL_ASSIGN_OR_RETURN(const std::vector<SqlType> types, CommonTypes("UNION", start, *next));
  for (size_t i = 0; i < types.size(); ++i) {
    const SqlType& given = recursion.columns[i].type;
    if (types[i] == given) continue;
    return At(start.locations[i], "42804",
              "recursive query \"" + common.name + "\" column " + std::to_string(i + 1) + " has type " +
                  given.ToString() + " in non-recursive term but type " + types[i].ToString() + " overall")
        .WithHint("Cast the output of the non-recursive term to the correct type.");
  }
  SISAL_RETURN_IF_ERROR(ConvertBranch(start, types, CastContext::kImplicit));
  SISAL_RETURN_IF_ERROR(ConvertBranch(*next, types, CastContext::kImplicit));
  SISAL_RETURN_IF_ERROR(CheckUnusedCommonTables(options.common_tables, outer, options.frame));

  BoundQuery query;
  query.plan = NewPlan(PlanKind::kRecursiveUnion);
  query.plan->inputs = {start.plan, next->plan};
  query.plan->output = types;
  query.plan->recursion = recursion.number;
  query.plan->keeps_duplicates = node.all;
  query.columns = std::move(recursion.columns);
  query.locations = std::move(start.locations);
  return query;
}

// A recursive term's reference to its own query: the rows that the last round gave.
Result<std::unique_ptr<FromTree>> Binder::BindWorkingTable(Scope& scope, const CommonTable& common,
                                                           const PgQuery__RangeVar& node,
                                                           std::vector<NamespaceItem>& items) {
  BoundQuery query;
  query.plan = NewPlan(PlanKind::kWorkingTable);
  query.plan->recursion = common.recursion->number;
  query.columns = common.recursion->columns;
  for (const OutputColumn& column : query.columns) query.plan->output.push_back(column.type);
  scope.in_recursive_term = true;
  NamespaceItem item;
  item.name = common.name;
  return AddQueryLeaf(scope, LeafKind::kWithQuery, std::move(query), std::move(item), node.alias, items);
}

// Aggregates and a reference of the query to itself do not go together in one SELECT.
Status Binder::CheckRecursiveTerm(const Scope& scope, const std::vector<Target>& targets, const Expr* having) const {
  if (!scope.in_recursive_term || !scope.has_aggregates) return Status();
  uint32_t position = 0;
  const auto look = [&](const Expr* expr) {
    VisitExpr(expr, [&](const Expr* part) {
      const bool aggregate = part->kind == ExprKind::kColumn && part->index >= kAggregateBase;
      if (aggregate && part->index < kWindowBase && position == 0) position = part->position;
    });
  };
  for (const Target& target : targets) look(target.expr);
  if (having != nullptr) look(having);
  return Error("42P19", "aggregate functions are not allowed in a recursive query's recursive term")
      .WithPosition(position);
}

}  // namespace sisal::sql
