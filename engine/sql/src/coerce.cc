// Conversions: implicit casts, literals of unknown type, parameters whose type their use tells.
#include <algorithm>

#include "binder.h"

namespace sisal::sql {
namespace {

bool HasModifiers(const SqlType& type) { return type.precision >= 0 || type.length >= 0; }

// 'now', 'today', ... mean the time of execution, not the time at which a cached plan was made.
bool NamesCurrentTime(TypeId id, std::string_view text) {
  if (CategoryOf(id) != 'D') return false;
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const std::string_view word : {"now", "today", "tomorrow", "yesterday"}) {
    if (lower.find(word) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

Expr* Binder::NewExpr(ExprKind kind, const SqlType& type, int32_t location) {
  Expr& expr = statement_.exprs.emplace_back();
  expr.kind = kind;
  expr.type = type;
  expr.position = Position(location);
  return &expr;
}

const Expr* Binder::MakeConstant(const SqlType& type, type::Datum value, int32_t location) {
  Expr* expr = NewExpr(ExprKind::kConstant, type, location);
  expr->constant = std::move(value);
  return expr;
}

const Expr* Binder::MakeColumn(uint32_t id, const SqlType& type, int32_t location) {
  Expr* expr = NewExpr(ExprKind::kColumn, type, location);
  expr->index = id;
  return expr;
}

const Expr* Binder::MakeAnd(const std::vector<const Expr*>& conjuncts) {
  if (conjuncts.empty()) return nullptr;
  if (conjuncts.size() == 1) return conjuncts[0];
  Expr* expr = NewExpr(ExprKind::kAnd, TypeId::kBoolean, -1);
  expr->position = conjuncts[0]->position;
  expr->args = conjuncts;
  return expr;
}

const Expr* Binder::MakeCall(const function::Function* function, std::vector<const Expr*> args, int32_t location) {
  Expr* expr = NewExpr(ExprKind::kCall, function->result, location);
  expr->function = function;
  expr->args = std::move(args);
  return expr;
}

Plan* Binder::NewPlan(PlanKind kind) {
  Plan& plan = statement_.plans.emplace_back();
  plan.kind = kind;
  return &plan;
}

const Expr* Binder::WithPosition(const Expr* expr, int32_t location) {
  const uint32_t position = Position(location);
  if (expr->position == position) return expr;
  Expr& copy = statement_.exprs.emplace_back(*expr);
  copy.position = position;
  return &copy;
}

Result<const Expr*> Binder::ReadLiteral(const Expr* literal, const SqlType& type, int32_t location) {
  if (literal->constant.is_null()) return MakeConstant(type.id, type::Datum(), location);
  const std::string& text = literal->constant.as_bytes();
  if (NamesCurrentTime(type.id, text)) {
    const function::Cast* cast = function::FindCast(TypeId::kText, type.id);
    if (cast != nullptr) {
      Expr* expr = NewExpr(ExprKind::kCast, type.id, location);
      expr->cast = cast;
      expr->args = {MakeConstant(TypeId::kText, literal->constant, location)};
      expr->position = literal->position;
      return expr;
    }
  }
  Result<type::Datum> value = type::ParseText(SqlType(type.id), text, *text_);
  if (!value.ok()) {
    Error error = std::move(value).error();
    error.set_position(literal->position);
    return error;
  }
  Expr* expr = NewExpr(ExprKind::kConstant, type.id, location);
  expr->position = literal->position;
  expr->constant = std::move(value).value();
  return expr;
}

const Expr* Binder::WithKnownType(const Expr* expr) {
  if (expr->kind != ExprKind::kParameter || expr->type.id != TypeId::kUnknown) return expr;
  Expr& typed = statement_.exprs.emplace_back(*expr);
  typed.type = statement_.params[expr->index];
  return &typed;
}

// Number casts of constants are done here, so that `bigint_column = 1` compares and binds keys with a plain constant.
// What fails (out of range) is left for the execution to report.
const Expr* Binder::FoldCast(const Expr* cast) {
  const Expr* arg = cast->args[0];
  if (arg->kind != ExprKind::kConstant || !type::IsNumberType(cast->type.id) || !type::IsNumberType(arg->type.id) ||
      cast->cast->volatility != function::Volatility::kImmutable) {
    return cast;
  }
  if (arg->constant.is_null() || cast->cast->kernel == nullptr) {
    Expr* folded = NewExpr(ExprKind::kConstant, cast->type, -1);
    folded->position = cast->position;
    folded->constant = arg->constant;
    return folded;
  }
  Arena arena;
  function::Context context;
  context.text = *text_;
  const type::Vector input = type::MakeConstant(arg->type, arg->constant, arena);
  type::Vector output = type::MakeVector(cast->type, 1, arena);
  const function::Call call{std::span(&input, 1), type::Selection{nullptr, 1}, 1, arena, context};
  if (!cast->cast->kernel(call, output).ok()) return cast;
  Expr* folded = NewExpr(ExprKind::kConstant, cast->type, -1);
  folded->position = cast->position;
  folded->constant = output.ToDatum(0);
  return folded;
}

Result<const Expr*> Binder::CoerceType(const Expr* expr, TypeId id, CastContext context, int32_t location) {
  if (expr->type.id == id) return expr;
  if (expr->type.id == TypeId::kUnknown) {
    if (expr->kind == ExprKind::kConstant) return ReadLiteral(expr, id, location);
    if (expr->kind == ExprKind::kParameter) {
      SqlType& known = statement_.params[expr->index];
      if (known.id != TypeId::kUnknown && known.id != id) {
        return Error("42P08", "inconsistent types deduced for parameter $" + std::to_string(expr->index + 1))
            .WithDetail(std::string(type::TypeName(known.id)) + " versus " + std::string(type::TypeName(id)))
            .WithPosition(expr->position);
      }
      known = id;
      Expr& typed = statement_.exprs.emplace_back(*expr);
      typed.type = id;
      return &typed;
    }
  }
  const TypeId from = expr->type.id == TypeId::kUnknown ? TypeId::kText : expr->type.id;
  const function::Cast* cast = function::FindCast(from, id);
  if (cast == nullptr || cast->context > context) {
    return At(location, "42846",
              "cannot cast type " + TypeList(std::span(&expr->type.id, 1)) + " to " + std::string(type::TypeName(id)));
  }
  Expr* converted = NewExpr(ExprKind::kCast, id, location);
  converted->cast = cast;
  converted->args = {expr};
  return FoldCast(converted);
}

Result<const Expr*> Binder::CoerceTo(const Expr* expr, const SqlType& type, CastContext context, int32_t location) {
  SISAL_ASSIGN_OR_RETURN(const Expr* converted, CoerceType(expr, type.id, context, location));
  if (converted->type == type) return converted;
  // A cast to the bare type takes modifiers off.
  if (!HasModifiers(type) && context != CastContext::kExplicit) return converted;
  Expr* limited = NewExpr(ExprKind::kModifiers, type, location);
  if (limited->position == 0) limited->position = converted->position;
  limited->flag = context == CastContext::kExplicit;
  limited->args = {converted};
  return limited;
}

Result<const Expr*> Binder::CoerceToBoolean(const Expr* expr, std::string_view clause, int32_t location) {
  if (expr->type.id != TypeId::kBoolean && !CanCoerce(expr->type.id, TypeId::kBoolean, CastContext::kAssignment)) {
    return At(location, "42804",
              "argument of " + std::string(clause) + " must be type boolean, not type " +
                  TypeList(std::span(&expr->type.id, 1)));
  }
  return CoerceType(expr, TypeId::kBoolean, CastContext::kAssignment, location);
}

Result<const Expr*> Binder::ResolveUnknown(const Expr* expr, int32_t location) {
  if (expr->type.id != TypeId::kUnknown) return expr;
  return CoerceType(expr, TypeId::kText, CastContext::kImplicit, location);
}

Result<const Expr*> Binder::TakeAnyType(const Expr* expr, int32_t location) {
  if (expr->type.id == TypeId::kUnknown && expr->kind == ExprKind::kParameter) {
    untyped_parameters_.push_back(expr);
    return expr;
  }
  return ResolveUnknown(expr, location);
}

Result<SqlType> Binder::CoerceToCommon(std::vector<const Expr*>& exprs, const std::vector<int32_t>& locations,
                                       std::string_view what) {
  TypeIds types;
  for (const Expr* expr : exprs) types.push_back(expr->type.id);
  size_t failed_at = 0;
  TypeId matched = TypeId::kUnknown;
  const std::optional<TypeId> common = CommonType(types, failed_at, matched);
  if (!common.has_value()) {
    return At(locations[failed_at], "42804",
              std::string(what) + " types " + TypeList(std::span(&matched, 1)) + " and " +
                  TypeList(std::span(&types[failed_at], 1)) + " cannot be matched");
  }
  // Modifiers survive if all agree on them.
  SqlType type = *common;
  const bool same = std::all_of(exprs.begin(), exprs.end(), [&](const Expr* expr) {
    return expr->type.id == *common && expr->type == exprs[0]->type;
  });
  if (same) type = exprs[0]->type;
  for (size_t i = 0; i < exprs.size(); ++i) {
    if (!CanCoerce(types[i], *common, CastContext::kImplicit)) {
      return At(locations[i], "42846",
                std::string(what) + " could not convert type " + TypeList(std::span(&types[i], 1)) + " to " +
                    std::string(type::TypeName(*common)));
    }
    SISAL_ASSIGN_OR_RETURN(exprs[i], CoerceType(exprs[i], *common, CastContext::kImplicit, locations[i]));
  }
  return type;
}

Result<const Expr*> Binder::CoerceForColumn(const Expr* expr, const catalog::Column& column, int32_t location) {
  if (!CanCoerce(expr->type.id, column.type.id, CastContext::kAssignment)) {
    return At(location, "42804",
              "column \"" + column.name + "\" is of type " + std::string(type::TypeName(column.type.id)) +
                  " but expression is of type " + TypeList(std::span(&expr->type.id, 1)))
        .WithHint("You will need to rewrite or cast the expression.");
  }
  return CoerceTo(expr, column.type, CastContext::kAssignment, location);
}

}  // namespace sisal::sql
