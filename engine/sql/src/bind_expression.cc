// Expressions except function calls and sub-selects.
#include <algorithm>
#include <charconv>

#include "binder.h"

namespace sisal::sql {

Result<const Expr*> Binder::BindExpr(Scope& scope, const Node* node) {
  const Level level(*this, 1);
  if (level.too_deep()) return NestedTooDeeply();
  switch (node->node_case) {
    case PG_QUERY__NODE__NODE_A_CONST:
      return BindAConst(*node->a_const);
    case PG_QUERY__NODE__NODE_PARAM_REF:
      return BindParameter(*node->param_ref);
    case PG_QUERY__NODE__NODE_COLUMN_REF:
      return BindColumnRef(scope, *node->column_ref);
    case PG_QUERY__NODE__NODE_TYPE_CAST:
      return BindTypeCast(scope, *node->type_cast);
    case PG_QUERY__NODE__NODE_A_EXPR:
      return BindAExpr(scope, *node->a_expr);
    case PG_QUERY__NODE__NODE_BOOL_EXPR:
      return BindBoolExpr(scope, *node->bool_expr);
    case PG_QUERY__NODE__NODE_FUNC_CALL:
      return BindFuncCall(scope, *node->func_call);
    case PG_QUERY__NODE__NODE_SUB_LINK:
      return BindSubLink(scope, *node->sub_link);
    case PG_QUERY__NODE__NODE_CASE_EXPR:
      return BindCase(scope, *node->case_expr);
    case PG_QUERY__NODE__NODE_COALESCE_EXPR:
      return BindCoalesce(scope, *node->coalesce_expr);
    case PG_QUERY__NODE__NODE_MIN_MAX_EXPR:
      return BindMinMax(scope, *node->min_max_expr);
    case PG_QUERY__NODE__NODE_NULL_TEST:
      return BindNullTest(scope, *node->null_test);
    case PG_QUERY__NODE__NODE_BOOLEAN_TEST:
      return BindBooleanTest(scope, *node->boolean_test);
    case PG_QUERY__NODE__NODE_SQLVALUE_FUNCTION:
      return BindValueFunction(*node->sqlvalue_function);
    case PG_QUERY__NODE__NODE_SET_TO_DEFAULT:
      return At(node->set_to_default->location, "42601", "DEFAULT is not allowed in this context");
    case PG_QUERY__NODE__NODE_ROW_EXPR:
      return NotSupported(node->row_expr->location, "a row as a value");
    case PG_QUERY__NODE__NODE_COLLATE_CLAUSE:
      return NotSupported(node->collate_clause->location, "COLLATE");
    case PG_QUERY__NODE__NODE_A_ARRAY_EXPR:
      return NotSupported(node->a_array_expr->location, "ARRAY");
    case PG_QUERY__NODE__NODE_A_INDIRECTION:
      return NotSupported(LocationOf(node), "a subscript or field selection");
    case PG_QUERY__NODE__NODE_GROUPING_FUNC:
      return NotSupported(node->grouping_func->location, "GROUPING");
    case PG_QUERY__NODE__NODE_XML_EXPR:
    case PG_QUERY__NODE__NODE_XML_SERIALIZE:
      return NotSupported(-1, "XML");
    case PG_QUERY__NODE__NODE_CURRENT_OF_EXPR:
      return NotSupported(-1, "WHERE CURRENT OF");
    case PG_QUERY__NODE__NODE_MULTI_ASSIGN_REF:
      return NotSupported(-1, "an assignment of a sub-select to several columns");
    default:
      return NotSupported(LocationOf(node), "this kind of expression");
  }
}

Result<std::vector<const Expr*>> Binder::BindList(Scope& scope, NodeList nodes) {
  std::vector<const Expr*> exprs;
  exprs.reserve(nodes.size());
  for (const Node* node : nodes) {
    SISAL_ASSIGN_OR_RETURN(const Expr* expr, BindExpr(scope, node));
    exprs.push_back(expr);
  }
  return exprs;
}

Result<const Expr*> Binder::BindAConst(const PgQuery__AConst& node) {
  if (node.isnull) return MakeConstant(TypeId::kUnknown, type::Datum(), node.location);
  switch (node.val_case) {
    case PG_QUERY__A__CONST__VAL_IVAL:
      return MakeConstant(TypeId::kInteger, type::Datum::Int(node.ival->ival), node.location);
    case PG_QUERY__A__CONST__VAL_BOOLVAL:
      return MakeConstant(TypeId::kBoolean, type::Datum::Bool(node.boolval->boolval != 0), node.location);
    case PG_QUERY__A__CONST__VAL_SVAL:
      return MakeConstant(TypeId::kUnknown, type::Datum::Bytes(node.sval->sval), node.location);
    case PG_QUERY__A__CONST__VAL_FVAL: {
      const std::string_view text = View(node.fval->fval);
      int64_t value = 0;
      const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (failure == std::errc() && end == text.data() + text.size()) {
        // The parser folds a minus sign into the number: -2147483648 is an integer, as in PostgreSQL.
        const TypeId id = value == INT32_MIN ? TypeId::kInteger : TypeId::kBigint;
        return MakeConstant(id, type::Datum::Int(value), node.location);
      }
      Result<type::Datum> number = type::ParseText(TypeId::kNumeric, text, *text_);
      if (!number.ok()) {
        return Error(std::move(number).error()).WithPosition(Position(node.location));
      }
      return MakeConstant(TypeId::kNumeric, std::move(number).value(), node.location);
    }
    case PG_QUERY__A__CONST__VAL_BSVAL:
      return NotSupported(node.location, "a bit string");
    default:
      return NotSupported(node.location, "this kind of literal");
  }
}

Result<const Expr*> Binder::BindParameter(const PgQuery__ParamRef& node) {
  constexpr int32_t kParameterCountMax = 65535;
  if (node.number < 1 || node.number > kParameterCountMax || !parameters_allowed_) {
    return At(node.location, "42P02", "there is no parameter $" + std::to_string(node.number));
  }
  const auto index = static_cast<uint32_t>(node.number - 1);
  if (index >= statement_.params.size()) {
    statement_.params.resize(index + 1);
    parameter_used_.resize(index + 1, false);
    parameter_location_.resize(index + 1, -1);
  }
  if (!parameter_used_[index]) parameter_location_[index] = node.location;
  parameter_used_[index] = true;
  Expr* expr = NewExpr(ExprKind::kParameter, statement_.params[index], node.location);
  expr->index = index;
  return expr;
}

Result<SqlType> Binder::ResolveType(const PgQuery__TypeName& name) {
  const NodeList names(name.names, name.n_names);
  if (name.setof) return At(name.location, "42601", "set-returning type is not allowed here");
  if (name.pct_type) return NotSupported(name.location, "%TYPE");
  if (name.n_array_bounds > 0) return NotSupported(name.location, "an array type");
  const std::string_view base = LastName(names);
  if (names.size() > 1 && StringOf(names[0]) != "pg_catalog") {
    std::string qualified;
    for (const Node* part : names) qualified += (qualified.empty() ? "" : ".") + std::string(StringOf(part));
    return At(name.location, "42704", "type \"" + qualified + "\" does not exist");
  }
  std::vector<int32_t> modifiers;
  for (const Node* node : NodeList(name.typmods, name.n_typmods)) {
    if (node->node_case != PG_QUERY__NODE__NODE_A_CONST || node->a_const->val_case != PG_QUERY__A__CONST__VAL_IVAL) {
      return At(name.location, "42601", "type modifiers must be simple constants or identifiers");
    }
    modifiers.push_back(node->a_const->ival->ival);
  }
  if (base == "interval" && !modifiers.empty()) {
    constexpr int32_t kAllFields = 0x7FFF;  // the first of {fields, precision}
    if (modifiers[0] != kAllFields) return NotSupported(name.location, "an interval restricted to some fields");
  }
  Result<SqlType> type = type::ResolveTypeName(base, modifiers.data(), modifiers.size());
  if (!type.ok()) return Error(std::move(type).error()).WithPosition(Position(name.location));
  return type;
}

Result<const Expr*> Binder::BindTypeCast(Scope& scope, const PgQuery__TypeCast& node) {
  if (IsIntervalLiteral(node)) return BindIntervalLiteral(node);
  SISAL_ASSIGN_OR_RETURN(const SqlType type, ResolveType(*node.type_name));
  SISAL_ASSIGN_OR_RETURN(const Expr* arg, BindExpr(scope, node.arg));
  const int32_t location = node.location >= 0 ? node.location : node.type_name->location;
  return CoerceTo(arg, type, CastContext::kExplicit, location);
}

Result<std::string_view> Binder::OperatorName(NodeList names, int32_t location) const {
  const std::string_view name = LastName(names);
  if (names.size() > 1 && StringOf(names[0]) != "pg_catalog") {
    return At(location, "42883",
              "operator does not exist: " + std::string(StringOf(names[0])) + "." + std::string(name));
  }
  return name == "!=" ? std::string_view("<>") : name;
}

Result<const Expr*> Binder::MakeOperator(std::string_view name, const Expr* left, const Expr* right, int32_t location) {
  TypeIds types;
  if (left != nullptr) types.push_back(left->type.id);
  types.push_back(right->type.id);
  const ResolvedFunction resolved = ResolveOperator(name, types);
  if (resolved.match != Match::kFound) {
    const std::string text = (left == nullptr ? "" : TypeList(std::span(types).first(1)) + " ") + std::string(name) +
                             " " + TypeList(std::span(types).last(1));
    if (resolved.match == Match::kAmbiguous) {
      return At(location, "42725", "operator is not unique: " + text)
          .WithHint("Could not choose a best candidate operator. You might need to add explicit type casts.");
    }
    return At(location, "42883", "operator does not exist: " + text)
        .WithHint(
            left == nullptr
                ? "No operator matches the given name and argument type. You might need to add an explicit type cast."
                : "No operator matches the given name and argument types. You might need to add explicit type casts.");
  }
  std::vector<const Expr*> args;
  if (left != nullptr) {
    SISAL_ASSIGN_OR_RETURN(left, CoerceType(left, resolved.types[0], CastContext::kImplicit, -1));
    args.push_back(left);
  }
  SISAL_ASSIGN_OR_RETURN(right, CoerceType(right, resolved.types.back(), CastContext::kImplicit, -1));
  args.push_back(right);
  return MakeCall(resolved.function, std::move(args), location);
}

Result<const function::Function*> Binder::ResolveEquality(const Expr*& left, const Expr*& right, int32_t location) {
  SISAL_ASSIGN_OR_RETURN(const Expr* call, MakeOperator("=", left, right, location));
  left = call->args[0];
  right = call->args[1];
  return call->function;
}

Result<const Expr*> Binder::BindAExpr(Scope& scope, const PgQuery__AExpr& node) {
  switch (node.kind) {
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP:
    case PG_QUERY__A__EXPR__KIND__AEXPR_LIKE:
    case PG_QUERY__A__EXPR__KIND__AEXPR_ILIKE:
    case PG_QUERY__A__EXPR__KIND__AEXPR_SIMILAR: {
      SISAL_ASSIGN_OR_RETURN(const std::string_view name,
                             OperatorName(NodeList(node.name, node.n_name), node.location));
      return BindComparison(scope, node, name);
    }
    case PG_QUERY__A__EXPR__KIND__AEXPR_DISTINCT:
      return BindDistinct(scope, node, false);
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_DISTINCT:
      return BindDistinct(scope, node, true);
    case PG_QUERY__A__EXPR__KIND__AEXPR_NULLIF:
      return BindNullIf(scope, node);
    case PG_QUERY__A__EXPR__KIND__AEXPR_IN:
      return BindIn(scope, node);
    case PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN:
    case PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN_SYM:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN_SYM:
      return BindBetween(scope, node);
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP_ANY:
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP_ALL:
      return NotSupported(node.location, "ANY or ALL over an array");
    default:
      return NotSupported(node.location, "this kind of operator");
  }
}

namespace {

const PgQuery__RowExpr* AsRow(const Node* node) {
  return node != nullptr && node->node_case == PG_QUERY__NODE__NODE_ROW_EXPR ? node->row_expr : nullptr;
}

}  // namespace

Result<std::vector<const Expr*>> Binder::BindRow(Scope& scope, const Node* node, std::vector<int32_t>& locations) {
  const PgQuery__RowExpr* row = AsRow(node);
  if (row == nullptr) {
    SISAL_ASSIGN_OR_RETURN(const Expr* expr, BindExpr(scope, node));
    locations.push_back(LocationOf(node));
    return std::vector<const Expr*>{expr};
  }
  for (const Node* arg : NodeList(row->args, row->n_args)) locations.push_back(LocationOf(arg));
  return BindList(scope, NodeList(row->args, row->n_args));
}

Result<const Expr*> Binder::BindComparison(Scope& scope, const PgQuery__AExpr& node, std::string_view op) {
  if (AsRow(node.lexpr) != nullptr && AsRow(node.rexpr) != nullptr) {
    std::vector<int32_t> locations, right_locations;
    SISAL_ASSIGN_OR_RETURN(const auto left, BindRow(scope, node.lexpr, locations));
    SISAL_ASSIGN_OR_RETURN(const auto right, BindRow(scope, node.rexpr, right_locations));
    return BindRowComparison(op, left, right, locations, node.location);
  }
  if (AsRow(node.lexpr) != nullptr && node.rexpr->node_case == PG_QUERY__NODE__NODE_SUB_LINK) {
    return NotSupported(node.location, "a row comparison with a sub-select");
  }
  const Expr* left = nullptr;
  if (node.lexpr != nullptr) {
    SISAL_ASSIGN_OR_RETURN(left, BindExpr(scope, node.lexpr));
  }
  SISAL_ASSIGN_OR_RETURN(const Expr* right, BindExpr(scope, node.rexpr));
  return MakeOperator(op, left, right, node.location);
}

// (a, b) < (c, d) means a < c OR (a = c AND b < d).
Result<const Expr*> Binder::BindRowComparison(std::string_view op, const std::vector<const Expr*>& left,
                                              const std::vector<const Expr*>& right,
                                              const std::vector<int32_t>& locations, int32_t location) {
  if (left.size() != right.size()) return At(location, "42601", "unequal number of entries in row expressions");
  if (left.empty()) return At(location, "0A000", "cannot compare rows of zero length");
  const bool equality = op == "=" || op == "<>";
  if (!equality && op != "<" && op != "<=" && op != ">" && op != ">=") {
    return At(location, "0A000", "could not determine interpretation of row comparison operator " + std::string(op))
        .WithHint("Row comparison operators must be associated with btree operator families.");
  }
  const auto combine = [&](ExprKind kind, std::vector<const Expr*> args) -> const Expr* {
    if (args.size() == 1) return args[0];
    Expr* expr = NewExpr(kind, TypeId::kBoolean, location);
    expr->args = std::move(args);
    return expr;
  };
  const auto checked = [&](std::string_view name, size_t i) -> Result<const Expr*> {
    SISAL_ASSIGN_OR_RETURN(const Expr* call, MakeOperator(name, left[i], right[i], location));
    if (call->type.id != TypeId::kBoolean) {
      return At(locations[i], "42804", "row comparison operator must yield type boolean");
    }
    return call;
  };
  std::vector<const Expr*> terms;
  if (equality) {
    for (size_t i = 0; i < left.size(); ++i) {
      SISAL_ASSIGN_OR_RETURN(const Expr* term, checked(op, i));
      terms.push_back(term);
    }
    return combine(op == "=" ? ExprKind::kAnd : ExprKind::kOr, std::move(terms));
  }
  std::vector<const Expr*> equal;
  for (size_t i = 0; i < left.size(); ++i) {
    const std::string_view here = i + 1 == left.size() ? op : op.substr(0, 1);
    SISAL_ASSIGN_OR_RETURN(const Expr* term, checked(here, i));
    std::vector<const Expr*> all = equal;
    all.push_back(term);
    terms.push_back(combine(ExprKind::kAnd, std::move(all)));
    if (i + 1 == left.size()) break;
    SISAL_ASSIGN_OR_RETURN(const Expr* same, checked("=", i));
    equal.push_back(same);
  }
  return combine(ExprKind::kOr, std::move(terms));
}

namespace {
bool IsNullLiteral(const Node* node) {
  return node != nullptr && node->node_case == PG_QUERY__NODE__NODE_A_CONST && node->a_const->isnull;
}
}  // namespace

Result<const Expr*> Binder::BindDistinct(Scope& scope, const PgQuery__AExpr& node, bool negated) {
  if (AsRow(node.lexpr) != nullptr || AsRow(node.rexpr) != nullptr) {
    return NotSupported(node.location, "IS DISTINCT FROM between rows");
  }
  if (IsNullLiteral(node.lexpr) || IsNullLiteral(node.rexpr)) {
    SISAL_ASSIGN_OR_RETURN(const Expr* arg, BindExpr(scope, IsNullLiteral(node.rexpr) ? node.lexpr : node.rexpr));
    SISAL_ASSIGN_OR_RETURN(arg, TakeAnyType(arg, node.location));
    Expr* test = NewExpr(ExprKind::kIsNull, TypeId::kBoolean, node.location);
    test->flag = !negated;
    test->args = {arg};
    return test;
  }
  SISAL_ASSIGN_OR_RETURN(const Expr* left, BindExpr(scope, node.lexpr));
  SISAL_ASSIGN_OR_RETURN(const Expr* right, BindExpr(scope, node.rexpr));
  SISAL_ASSIGN_OR_RETURN(const function::Function* equal, ResolveEquality(left, right, node.location));
  Expr* expr = NewExpr(ExprKind::kIsDistinct, TypeId::kBoolean, node.location);
  expr->function = equal;
  expr->flag = negated;
  expr->args = {left, right};
  return expr;
}

Result<const Expr*> Binder::BindNullIf(Scope& scope, const PgQuery__AExpr& node) {
  SISAL_ASSIGN_OR_RETURN(const Expr* left, BindExpr(scope, node.lexpr));
  SISAL_ASSIGN_OR_RETURN(const Expr* right, BindExpr(scope, node.rexpr));
  SISAL_ASSIGN_OR_RETURN(const function::Function* equal, ResolveEquality(left, right, node.location));
  Expr* expr = NewExpr(ExprKind::kNullIf, left->type, node.location);
  expr->function = equal;
  expr->args = {left, right};
  return expr;
}

Result<const Expr*> Binder::BindIn(Scope& scope, const PgQuery__AExpr& node) {
  const bool negated = LastName(NodeList(node.name, node.n_name)) == "<>";
  const NodeList items(node.rexpr->list->items, node.rexpr->list->n_items);
  if (AsRow(node.lexpr) != nullptr) {
    std::vector<int32_t> locations;
    SISAL_ASSIGN_OR_RETURN(const auto left, BindRow(scope, node.lexpr, locations));
    Expr* any = NewExpr(negated ? ExprKind::kAnd : ExprKind::kOr, TypeId::kBoolean, node.location);
    for (const Node* item : items) {
      std::vector<int32_t> item_locations;
      SISAL_ASSIGN_OR_RETURN(const auto right, BindRow(scope, item, item_locations));
      SISAL_ASSIGN_OR_RETURN(const Expr* term,
                             BindRowComparison(negated ? "<>" : "=", left, right, locations, node.location));
      any->args.push_back(term);
    }
    return any->args.size() == 1 ? any->args[0] : any;
  }
  SISAL_ASSIGN_OR_RETURN(const Expr* left, BindExpr(scope, node.lexpr));
  SISAL_ASSIGN_OR_RETURN(std::vector<const Expr*> list, BindList(scope, items));
  if (list.size() == 1) return MakeOperator(negated ? "<>" : "=", left, list[0], node.location);
  TypeIds types = {left->type.id};
  for (const Expr* item : list) types.push_back(item->type.id);
  size_t failed_at = 0;
  TypeId matched = TypeId::kUnknown;
  const std::optional<TypeId> common = CommonType(types, failed_at, matched);
  const bool convertible = common.has_value() && std::all_of(list.begin(), list.end(), [&](const Expr* item) {
                             return CanCoerce(item->type.id, *common, CastContext::kImplicit);
                           });
  if (!convertible) {
    Expr* any = NewExpr(negated ? ExprKind::kAnd : ExprKind::kOr, TypeId::kBoolean, node.location);
    for (const Expr* item : list) {
      SISAL_ASSIGN_OR_RETURN(const Expr* term, MakeOperator(negated ? "<>" : "=", left, item, node.location));
      any->args.push_back(term);
    }
    return any;
  }
  for (size_t i = 0; i < list.size(); ++i) {
    SISAL_ASSIGN_OR_RETURN(list[i], CoerceType(list[i], *common, CastContext::kImplicit, -1));
  }
  // All items have one type now, so the operator of the first is that of all.
  const Expr* first = list[0];
  SISAL_ASSIGN_OR_RETURN(const function::Function* equal, ResolveEquality(left, first, node.location));
  Expr* expr = NewExpr(ExprKind::kInList, TypeId::kBoolean, node.location);
  expr->function = equal;
  expr->flag = negated;
  expr->args = {left};
  for (const Expr* item : list) {
    SISAL_ASSIGN_OR_RETURN(item, CoerceType(item, equal->arguments[1], CastContext::kImplicit, -1));
    expr->args.push_back(item);
  }
  return expr;
}

Result<const Expr*> Binder::BindBetween(Scope& scope, const PgQuery__AExpr& node) {
  const bool symmetric = node.kind == PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN_SYM ||
                         node.kind == PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN_SYM;
  const bool negated = node.kind == PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN ||
                       node.kind == PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN_SYM;
  // The tested expression appears two or four times in the result.
  constexpr uint64_t kDuplicationMax = 4096;
  const uint64_t duplication_before = duplication_;
  duplication_ *= symmetric ? 4 : 2;
  if (duplication_ > kDuplicationMax) {
    return At(node.location, "54001", "stack depth limit exceeded")
        .WithHint("BETWEEN and CASE are nested too deeply in each other's first operands.");
  }
  SISAL_ASSIGN_OR_RETURN(const Expr* tested, BindExpr(scope, node.lexpr));
  duplication_ = duplication_before;
  // Two comparisons, one after the other: the first may tell the type of a parameter that the second uses too, as in
  // "id BETWEEN $1 AND $1 + 9".
  const auto compare = [&](std::string_view op, const Expr* bound) {
    return MakeOperator(op, WithKnownType(tested), WithKnownType(bound), node.location);
  };
  const auto join = [&](const Expr* lower, const Expr* upper) {
    Expr* both = NewExpr(negated ? ExprKind::kOr : ExprKind::kAnd, TypeId::kBoolean, node.location);
    both->args = {lower, upper};
    return both;
  };
  const std::string_view from = negated ? "<" : ">=", upto = negated ? ">" : "<=";
  SISAL_ASSIGN_OR_RETURN(const Expr* first, BindExpr(scope, node.rexpr->list->items[0]));
  SISAL_ASSIGN_OR_RETURN(const Expr* lower, compare(from, first));
  SISAL_ASSIGN_OR_RETURN(const Expr* second, BindExpr(scope, node.rexpr->list->items[1]));
  SISAL_ASSIGN_OR_RETURN(const Expr* upper, compare(upto, second));
  const Expr* forth = join(lower, upper);
  if (!symmetric) return forth;
  SISAL_ASSIGN_OR_RETURN(lower, compare(from, second));
  SISAL_ASSIGN_OR_RETURN(upper, compare(upto, first));
  const Expr* back = join(lower, upper);
  Expr* either = NewExpr(negated ? ExprKind::kAnd : ExprKind::kOr, TypeId::kBoolean, node.location);
  either->args = {forth, back};
  return either;
}

Result<const Expr*> Binder::BindBoolExpr(Scope& scope, const PgQuery__BoolExpr& node) {
  const bool negation = node.boolop == PG_QUERY__BOOL_EXPR_TYPE__NOT_EXPR;
  const bool conjunction = node.boolop == PG_QUERY__BOOL_EXPR_TYPE__AND_EXPR;
  const ExprKind kind = negation ? ExprKind::kNot : conjunction ? ExprKind::kAnd : ExprKind::kOr;
  const std::string_view name = negation ? "NOT" : conjunction ? "AND" : "OR";
  Expr* expr = NewExpr(kind, TypeId::kBoolean, node.location);
  for (const Node* arg : NodeList(node.args, node.n_args)) {
    SISAL_ASSIGN_OR_RETURN(const Expr* bound, BindExpr(scope, arg));
    SISAL_ASSIGN_OR_RETURN(bound, CoerceToBoolean(bound, name, LocationOf(arg)));
    expr->args.push_back(bound);
  }
  return expr;
}

Result<const Expr*> Binder::BindNullTest(Scope& scope, const PgQuery__NullTest& node) {
  if (AsRow(node.arg) != nullptr) return NotSupported(node.location, "IS NULL of a row");
  SISAL_ASSIGN_OR_RETURN(const Expr* arg, BindExpr(scope, node.arg));
  SISAL_ASSIGN_OR_RETURN(arg, TakeAnyType(arg, node.location));
  Expr* expr = NewExpr(ExprKind::kIsNull, TypeId::kBoolean, node.location);
  expr->flag = node.nulltesttype == PG_QUERY__NULL_TEST_TYPE__IS_NOT_NULL;
  expr->args = {arg};
  return expr;
}

Result<const Expr*> Binder::BindBooleanTest(Scope& scope, const PgQuery__BooleanTest& node) {
  struct Kind {
    std::string_view name;
    bool negated;
    type::Datum wanted;
  };
  const auto kind = [&]() -> Kind {
    switch (node.booltesttype) {
      case PG_QUERY__BOOL_TEST_TYPE__IS_TRUE:
        return {"IS TRUE", false, type::Datum::Bool(true)};
      case PG_QUERY__BOOL_TEST_TYPE__IS_NOT_TRUE:
        return {"IS NOT TRUE", true, type::Datum::Bool(true)};
      case PG_QUERY__BOOL_TEST_TYPE__IS_FALSE:
        return {"IS FALSE", false, type::Datum::Bool(false)};
      case PG_QUERY__BOOL_TEST_TYPE__IS_NOT_FALSE:
        return {"IS NOT FALSE", true, type::Datum::Bool(false)};
      case PG_QUERY__BOOL_TEST_TYPE__IS_NOT_UNKNOWN:
        return {"IS NOT UNKNOWN", true, type::Datum()};
      default:
        return {"IS UNKNOWN", false, type::Datum()};
    }
  }();
  SISAL_ASSIGN_OR_RETURN(const Expr* arg, BindExpr(scope, node.arg));
  SISAL_ASSIGN_OR_RETURN(arg, CoerceToBoolean(arg, kind.name, LocationOf(node.arg)));
  Expr* expr = NewExpr(ExprKind::kBooleanTest, TypeId::kBoolean, node.location);
  expr->flag = kind.negated;
  expr->constant = kind.wanted;
  expr->args = {arg};
  return expr;
}

}  // namespace sisal::sql
