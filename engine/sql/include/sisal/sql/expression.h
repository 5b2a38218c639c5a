// Bound expressions: every name resolved, every type known, every conversion explicit.
//
// Nodes lie in an ExprPool, so that a tree of any depth is freed without recursion. Immutable once bound.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sisal/function/function.h"
#include "sisal/type/datum.h"
#include "sisal/type/sql_type.h"

namespace sisal::sql {

struct Plan;

enum class ExprKind : uint8_t {
  kConstant,   // constant
  kColumn,     // index: position in the input chunk
  kParameter,  // index: from 0 ($1 is 0)
  kOuter,      // index: position in the outer row that a correlated subplan runs for
  kCall,       // function(args)
  kCast,       // cast(args[0]) to `type`, modifiers not applied
  kModifiers,  // args[0] made to obey precision, scale or length of `type`; flag: explicit cast
  kAnd,
  kOr,  // two or more args; three-valued
  kNot,
  kIsNull,       // flag: IS NOT NULL
  kBooleanTest,  // args[0] IS [NOT] TRUE/FALSE/UNKNOWN: constant is the wanted boolean (NULL: UNKNOWN), flag: NOT
  kIsDistinct,   // function is the "=" of both; flag: IS NOT DISTINCT
  kCase,         // args: condition, value, condition, value, ..., [else]; flag: has else
  kCoalesce,
  kGreatest,
  kLeast,
  kNullIf,          // function is the "=" of args[0] and args[1]
  kInList,          // args[0] IN (args[1...]); function is the "=" of args[0] and each; flag: NOT IN
  kScalarSubquery,  // subplan gives one column, at most one row (21000)
  kExists,          // subplan; flag: NOT EXISTS
  kLateral,         // of a kLateralJoin alone: subplan gives the right rows for one left row
  kInSubquery,      // args[0] <function, "="> any row of subplan's one column; flag: NOT IN
};

struct Expr {
  ExprKind kind;
  type::SqlType type;
  uint32_t position = 0;  // character in the SQL text, from 1; 0: none
  uint32_t index = 0;
  bool flag = false;
  type::Datum constant;
  const function::Function* function = nullptr;
  const function::Cast* cast = nullptr;
  const Plan* subplan = nullptr;
  std::vector<const Expr*> outer_args;  // of a correlated subplan: what its kOuter i means here
  std::vector<const Expr*> args;
};

using ExprPool = std::deque<Expr>;

}  // namespace sisal::sql
