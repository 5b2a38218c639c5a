// Function calls, aggregates, CURRENT_DATE and its like, and sub-selects as expressions.
#include <algorithm>

#include "binder.h"
#include "postgres_names.h"

namespace sisal::sql {

Result<const Expr*> Binder::CallFunction(std::string_view name, std::vector<const Expr*> args, int32_t location,
                                         std::string_view schema) {
  TypeIds types;
  for (const Expr* arg : args) types.push_back(arg->type.id);
  if (name == "pg_typeof" && args.size() == 1 && args[0]->kind == ExprKind::kConstant && types[0] == TypeId::kUnknown) {
    return MakeConstant(TypeId::kText, type::Datum::Bytes("unknown"), location);
  }
  const ResolvedFunction resolved = ResolveFunction(name, types);
  if (resolved.match != Match::kFound) {
    // date(x), int4(x): a call with a type's name converts.
    if (args.size() == 1) {
      const Result<SqlType> type = type::ResolveTypeName(name, nullptr, 0);
      if (type.ok() && CanCoerce(types[0], type->id, CastContext::kExplicit)) {
        return CoerceTo(args[0], *type, CastContext::kExplicit, location);
      }
    }
    const std::string signature = std::string(schema) + std::string(name) + "(" + TypeList(types) + ")";
    if (resolved.match == Match::kAmbiguous) {
      return At(location, "42725", "function " + signature + " is not unique")
          .WithHint("Could not choose a best candidate function. You might need to add explicit type casts.");
    }
    if (!function::FindSetFunctions(name).empty()) {
      return NotSupported(location, "a set-returning function outside of FROM");
    }
    if (IsPostgresFunction(name, types.size())) return NotSupported(location, "function " + signature);
    return At(location, "42883", "function " + signature + " does not exist")
        .WithHint("No function matches the given name and argument types. You might need to add explicit type casts.");
  }
  for (size_t i = 0; i < args.size(); ++i) {
    SISAL_ASSIGN_OR_RETURN(args[i], CoerceType(args[i], resolved.types[i], CastContext::kImplicit, -1));
  }
  return MakeCall(resolved.function, std::move(args), location);
}

namespace {

bool IsNamedArgument(const Node* node) { return node->node_case == PG_QUERY__NODE__NODE_NAMED_ARG_EXPR; }

}  // namespace

std::string_view NoAggregatesIn(Clause clause) {
  switch (clause) {
    case Clause::kSelect:
    case Clause::kHaving:
    case Clause::kOrderBy:
    case Clause::kWindow:
      return "";
    case Clause::kJoinOn:
      return "JOIN conditions";
    case Clause::kFrom:
    case Clause::kFunctionInFrom:
      return "functions in FROM";
    case Clause::kWhere:
      return "WHERE";
    case Clause::kGroupBy:
      return "GROUP BY";
    case Clause::kLimit:
      return "LIMIT";
    case Clause::kOffset:
      return "OFFSET";
    case Clause::kValues:
    case Clause::kInsertValues:
      return "VALUES";
    case Clause::kUpdateSet:
    case Clause::kConflict:
      return "UPDATE";
    case Clause::kReturning:
      return "RETURNING";
    case Clause::kDefault:
      return "DEFAULT expressions";
    case Clause::kCheck:
      return "check constraints";
    case Clause::kTransform:
      return "transform expressions";
    case Clause::kFilter:
      return "FILTER";
    case Clause::kAggregateArgument:
      return "aggregates";
    case Clause::kWindowRange:
      return "window RANGE";
    case Clause::kWindowRows:
      return "window ROWS";
    case Clause::kWindowGroups:
      return "window GROUPS";
  }
  return "";
}

Status Binder::CheckNoWindow(const Expr* expr) {
  const auto window = FindWindowCall(expr);
  if (!window.has_value()) return Status();
  return Error("42803", "aggregate function calls cannot contain window function calls").WithPosition(*window);
}

Result<const Expr*> Binder::BindFuncCall(Scope& scope, const PgQuery__FuncCall& node) {
  const NodeList names(node.funcname, node.n_funcname);
  const std::string name(LastName(names));
  if (names.size() > 1 && StringOf(names[0]) != "pg_catalog") {
    const std::string schema(StringOf(names[0]));
    if (schema != "public") return At(node.location, "3F000", "schema \"" + schema + "\" does not exist");
    return At(node.location, "42883", "function public." + name + " does not exist");
  }
  const NodeList arg_nodes(node.args, node.n_args);
  if (node.agg_within_group) return NotSupported(node.location, "WITHIN GROUP");
  if (node.func_variadic) return NotSupported(node.location, "VARIADIC");
  if (std::any_of(arg_nodes.begin(), arg_nodes.end(), IsNamedArgument)) {
    return NotSupported(node.location, "a named argument");
  }
  if (node.over != nullptr || IsWindowFunction(name)) return BindWindowCall(scope, node, name);
  if (scope.clause == Clause::kCheck && !function::FindSetFunctions(name).empty()) {
    return At(node.location, "0A000", "set-returning functions are not allowed in check constraints");
  }
  if (!function::FindAggregates(name).empty()) return BindAggregate(scope, node, name);
  const bool known = !function::FindFunctions(name).empty();
  const auto no_aggregate = [&](std::string_view what) {
    if (!known && IsPostgresFunction(name, arg_nodes.size())) return NotSupported(node.location, "function " + name);
    return At(node.location, known ? "42809" : "42883",
              known ? std::string(what) + " specified, but " + name + " is not an aggregate function"
                    : "function " + name + " does not exist");
  };
  if (node.agg_star) {
    SISAL_RETURN_IF_ERROR(CallFunction(name, {}, node.location).status());
    return At(node.location, "42809", name + "(*) specified, but " + name + " is not an aggregate function");
  }
  if (node.agg_distinct) return no_aggregate("DISTINCT");
  if (node.n_agg_order > 0) return no_aggregate("ORDER BY");
  if (node.agg_filter != nullptr) return no_aggregate("FILTER");
  if (IsSequenceFunction(name, arg_nodes.size())) {
    return BindSequenceCall(scope, name, arg_nodes, node.location, names.size() > 1 ? "pg_catalog." : "");
  }
  SISAL_ASSIGN_OR_RETURN(std::vector<const Expr*> args, BindList(scope, arg_nodes));
  return CallFunction(name, std::move(args), node.location, names.size() > 1 ? "pg_catalog." : "");
}

Result<const function::Aggregate*> Binder::ChooseAggregate(std::string_view name, std::vector<const Expr*>& args,
                                                           int32_t location) {
  TypeIds types;
  for (const Expr* arg : args) types.push_back(arg->type.id);
  const ResolvedAggregate resolved = ResolveAggregate(name, types);
  if (resolved.match != Match::kFound) {
    const std::string signature = std::string(name) + "(" + TypeList(types) + ")";
    if (resolved.match == Match::kAmbiguous) {
      return At(location, "42725", "function " + signature + " is not unique")
          .WithHint("Could not choose a best candidate function. You might need to add explicit type casts.");
    }
    if (IsPostgresFunction(name, types.size())) return NotSupported(location, "function " + signature);
    return At(location, "42883", "function " + signature + " does not exist")
        .WithHint("No function matches the given name and argument types. You might need to add explicit type casts.");
  }
  for (size_t i = 0; i < args.size(); ++i) {
    SISAL_ASSIGN_OR_RETURN(args[i], CoerceType(args[i], resolved.types[i], CastContext::kImplicit, -1));
  }
  return resolved.aggregate;
}

Result<const Expr*> Binder::BindAggregate(Scope& scope, const PgQuery__FuncCall& node, std::string_view name) {
  const Clause clause = scope.clause;
  if (clause == Clause::kAggregateArgument) {
    return At(node.location, "42803", "aggregate function calls cannot be nested");
  }
  if (node.n_args == 0 && !node.agg_star) {
    return At(node.location, "42809",
              std::string(name) + "(*) must be used to call a parameterless aggregate function");
  }
  AggregateCall call;
  call.distinct = node.agg_distinct;
  scope.clause = Clause::kAggregateArgument;
  SISAL_ASSIGN_OR_RETURN(call.args, BindList(scope, NodeList(node.args, node.n_args)));
  for (const Node* item : NodeList(node.agg_order, node.n_agg_order)) {
    SortKey key;
    SISAL_ASSIGN_OR_RETURN(key.expr, BindExpr(scope, item->sort_by->node));
    SISAL_ASSIGN_OR_RETURN(key.expr, ResolveUnknown(key.expr, LocationOf(item->sort_by->node)));
    OrderKey direction;
    SISAL_RETURN_IF_ERROR(BindSortDirection(*item->sort_by, direction));
    key.order = direction.order;
    key.nulls_first = direction.nulls_first;
    call.order.push_back(key);
  }
  if (node.agg_filter != nullptr) {
    scope.clause = Clause::kFilter;
    SISAL_ASSIGN_OR_RETURN(call.filter, BindExpr(scope, node.agg_filter));
    SISAL_ASSIGN_OR_RETURN(call.filter, CoerceToBoolean(call.filter, "FILTER", LocationOf(node.agg_filter)));
  }
  scope.clause = clause;
  for (const Expr* arg : call.args) SISAL_RETURN_IF_ERROR(CheckNoWindow(arg));
  for (const SortKey& key : call.order) SISAL_RETURN_IF_ERROR(CheckNoWindow(key.expr));

  // It belongs to the level of its columns, so one over outer columns alone is not ours.
  bool local = false, outer = false;
  const auto look = [&](const Expr* expr) {
    local |= expr->kind == ExprKind::kColumn;
    outer |= expr->kind == ExprKind::kOuter;
  };
  for (const Expr* arg : call.args) VisitExpr(arg, look);
  if (outer && !local) return NotSupported(node.location, "an aggregate of an outer query's columns in a sub-select");
  const std::string_view forbidden = NoAggregatesIn(clause);
  if (!forbidden.empty()) {
    return At(node.location, "42803", "aggregate functions are not allowed in " + std::string(forbidden));
  }

  SISAL_ASSIGN_OR_RETURN(call.aggregate, ChooseAggregate(name, call.args, node.location));
  for (size_t i = 0; i < call.order.size(); ++i) {
    const SortKey& key = call.order[i];
    const bool listed =
        std::any_of(call.args.begin(), call.args.end(), [&](const Expr* arg) { return SameExpr(arg, key.expr); });
    if (call.distinct && !listed) {
      return At(LocationOf(node.agg_order[i]), "42P10",
                "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list");
    }
  }
  if (!call.aggregate->ordered_input) call.order.clear();  // sum(x ORDER BY y) is sum(x)
  scope.has_aggregates = true;
  const auto same = [&](const AggregateCall& other) {
    if (other.aggregate != call.aggregate || other.distinct != call.distinct || other.args.size() != call.args.size() ||
        other.order.size() != call.order.size() || (other.filter == nullptr) != (call.filter == nullptr)) {
      return false;
    }
    for (size_t i = 0; i < call.args.size(); ++i) {
      if (!SameExpr(other.args[i], call.args[i])) return false;
    }
    for (size_t i = 0; i < call.order.size(); ++i) {
      if (!SameExpr(other.order[i].expr, call.order[i].expr) || other.order[i].order != call.order[i].order ||
          other.order[i].nulls_first != call.order[i].nulls_first) {
        return false;
      }
    }
    return call.filter == nullptr || SameExpr(other.filter, call.filter);
  };
  const auto known = std::find_if(scope.aggregates.begin(), scope.aggregates.end(), same);
  const auto number = static_cast<uint32_t>(known - scope.aggregates.begin());
  const SqlType type = call.aggregate->result;
  if (known == scope.aggregates.end()) scope.aggregates.push_back(std::move(call));
  return MakeColumn(kAggregateBase + number, type, node.location);
}

Result<const Expr*> Binder::BindValueFunction(const PgQuery__SQLValueFunction& node) {
  const auto now_as = [&](TypeId id, bool with_precision) -> Result<const Expr*> {
    SISAL_ASSIGN_OR_RETURN(const Expr* now, CallFunction("now", {}, node.location));
    SqlType type = id;
    if (with_precision) type.precision = std::clamp(node.typmod, 0, 6);
    return CoerceTo(now, type, CastContext::kExplicit, node.location);
  };
  switch (node.op) {
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_DATE:
      return now_as(TypeId::kDate, false);
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIMESTAMP:
      return now_as(TypeId::kTimestampTz, false);
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIMESTAMP_N:
      return now_as(TypeId::kTimestampTz, true);
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIMESTAMP:
      return now_as(TypeId::kTimestamp, false);
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIMESTAMP_N:
      return now_as(TypeId::kTimestamp, true);
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIME:
      return now_as(TypeId::kTime, false);
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIME_N:
      return now_as(TypeId::kTime, true);
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIME:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIME_N:
      return NotSupported(node.location, "the type time with time zone");
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_CATALOG:
      return CallFunction("current_database", {}, node.location);
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_SCHEMA:
      return CallFunction("current_schema", {}, node.location);
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_SESSION_USER:
      return CallFunction("session_user", {}, node.location);
    default:
      return CallFunction("current_user", {}, node.location);
  }
}

Result<const Expr*> Binder::BindSubLink(Scope& scope, const PgQuery__SubLink& node) {
  if (scope.clause == Clause::kDefault) {
    return At(node.location, "0A000", "cannot use subquery in DEFAULT expression");
  }
  if (scope.clause == Clause::kCheck) {
    return At(node.location, "0A000", "cannot use subquery in check constraint");
  }
  if (scope.clause == Clause::kTransform) {
    return At(node.location, "0A000", "cannot use subquery in transform expression");
  }
  if (node.subselect->node_case != PG_QUERY__NODE__NODE_SELECT_STMT) {
    return NotSupported(node.location, "this kind of sub-select");
  }
  const std::string_view op = LastName(NodeList(node.oper_name, node.n_oper_name));
  const bool any = node.sub_link_type == PG_QUERY__SUB_LINK_TYPE__ANY_SUBLINK && (op.empty() || op == "=");
  const bool none = node.sub_link_type == PG_QUERY__SUB_LINK_TYPE__ALL_SUBLINK && (op == "<>" || op == "!=");
  const bool exists = node.sub_link_type == PG_QUERY__SUB_LINK_TYPE__EXISTS_SUBLINK;
  if (!any && !none && !exists && node.sub_link_type != PG_QUERY__SUB_LINK_TYPE__EXPR_SUBLINK) {
    switch (node.sub_link_type) {
      case PG_QUERY__SUB_LINK_TYPE__ANY_SUBLINK:
        return NotSupported(node.location, std::string(op) + " ANY (SELECT ...)");
      case PG_QUERY__SUB_LINK_TYPE__ALL_SUBLINK:
        return NotSupported(node.location, std::string(op) + " ALL (SELECT ...)");
      case PG_QUERY__SUB_LINK_TYPE__ARRAY_SUBLINK:
        return NotSupported(node.location, "ARRAY (SELECT ...)");
      default:
        return NotSupported(node.location, "a row comparison with a sub-select");
    }
  }
  if ((any || none) && node.testexpr->node_case == PG_QUERY__NODE__NODE_ROW_EXPR) {
    return NotSupported(node.location, "a row comparison with a sub-select");
  }
  const Expr* tested = nullptr;
  if (any || none) {
    SISAL_ASSIGN_OR_RETURN(tested, BindExpr(scope, node.testexpr));
  }
  Frame frame;
  frame.parent = scope.frame;
  QueryOptions options;
  options.around = &scope;
  options.frame = &frame;
  options.common_tables = scope.common_tables;
  options.exists = exists;
  SISAL_ASSIGN_OR_RETURN(BoundQuery query, BindQuery(*node.subselect->select_stmt, options));
  if (!exists && query.columns.size() != 1) {
    if ((any || none) && query.columns.empty()) return At(node.location, "42601", "subquery has too few columns");
    return At(node.location, "42601",
              any || none ? "subquery has too many columns" : "subquery must return only one column");
  }
  const ExprKind kind = exists              ? ExprKind::kExists
                        : tested != nullptr ? ExprKind::kInSubquery
                                            : ExprKind::kScalarSubquery;
  Expr* expr = NewExpr(kind, kind == ExprKind::kScalarSubquery ? query.columns[0].type : SqlType(TypeId::kBoolean),
                       node.location);
  expr->flag = none;
  if (tested != nullptr) {
    const Expr* column = MakeColumn(0, query.columns[0].type, node.location);
    const Expr* compared = column;
    SISAL_ASSIGN_OR_RETURN(expr->function, ResolveEquality(tested, compared, node.location));
    if (compared != column) query.plan = AddProject(query.plan, {compared});
    expr->args = {tested};
  }
  expr->subplan = query.plan;
  expr->outer_args = std::move(frame.outer_args);
  return expr;
}

}  // namespace sisal::sql
