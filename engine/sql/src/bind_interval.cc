// INTERVAL '...' with fields: INTERVAL '1-2' YEAR TO MONTH.
#include <algorithm>

#include "binder.h"
#include "sisal/type/date_time.h"

namespace sisal::sql {
namespace {

// The fields of INTERVAL YEAR TO MONTH and its like as the parser's bits name them.
type::IntervalFields FieldsOf(int32_t mask) {
  using enum type::DateField;
  constexpr std::pair<int, type::DateField> kBits[] = {{2, kYear},  {1, kMonth},   {3, kDay},
                                                       {10, kHour}, {11, kMinute}, {12, kSecond}};
  type::IntervalFields fields;
  bool found = false;
  for (const auto& [bit, field] : kBits) {
    if ((mask >> bit & 1) == 0) continue;
    if (!found) fields.first = field;
    fields.last = field;
    found = true;
  }
  return fields;
}

}  // namespace

// The modifiers are the fields' bits and perhaps a precision.
bool Binder::IsIntervalLiteral(const PgQuery__TypeCast& node) {
  constexpr int32_t kAllFields = 0x7FFF;
  if (node.arg->node_case != PG_QUERY__NODE__NODE_A_CONST || node.arg->a_const->isnull ||
      node.arg->a_const->val_case != PG_QUERY__A__CONST__VAL_SVAL) {
    return false;
  }
  const PgQuery__TypeName& name = *node.type_name;
  if (LastName(NodeList(name.names, name.n_names)) != "interval" || name.n_typmods == 0) return false;
  const Node& mask = *name.typmods[0];
  return mask.node_case == PG_QUERY__NODE__NODE_A_CONST && mask.a_const->val_case == PG_QUERY__A__CONST__VAL_IVAL &&
         mask.a_const->ival->ival != kAllFields;
}

Result<const Expr*> Binder::BindIntervalLiteral(const PgQuery__TypeCast& node) {
  const PgQuery__TypeName& name = *node.type_name;
  const PgQuery__AConst& literal = *node.arg->a_const;
  const type::IntervalFields fields = FieldsOf(name.typmods[0]->a_const->ival->ival);
  Result<type::Interval> value = type::ParseInterval(View(literal.sval->sval), fields);
  if (!value.ok()) return Error(std::move(value).error()).WithPosition(Position(literal.location));
  if (name.n_typmods > 1 && name.typmods[1]->node_case == PG_QUERY__NODE__NODE_A_CONST) {
    *value = type::RoundInterval(*value, std::min(name.typmods[1]->a_const->ival->ival, 6));
  }
  return MakeConstant(TypeId::kInterval, type::Datum::Bytes(value->Encode()), literal.location);
}

}  // namespace sisal::sql
