#include "check_constraints.h"

namespace sisal::exec {

using type::Chunk;
using type::Vector;

namespace {

bool Refuses(const Vector& condition, uint32_t row) { return !condition.IsNull(row) && condition.Int(row) == 0; }

}  // namespace

CheckConstraints::CheckConstraints(const sql::TableRules& rules, Frame& frame) : rules_(rules) {
  conditions_.reserve(rules.checks.size());
  for (const sql::CheckRule& check : rules.checks) conditions_.push_back(Program::Compile(check.condition, frame));
}

bool CheckConstraints::AllPass(const Chunk& rows) {
  for (Program& condition : conditions_) {
    Arena arena;
    Vector result;
    if (!condition.Evaluate(rows, arena, {&result, 1}).ok()) return false;
    const uint32_t count = result.constant ? 1 : rows.row_count;
    for (uint32_t row = 0; row < count; ++row) {
      if (Refuses(result, row)) return false;
    }
  }
  return true;
}

Result<const catalog::Check*> CheckConstraints::FirstBroken(const RowView& row) {
  Arena arena;
  std::vector<Vector> columns(row.columns.begin(), row.columns.end());
  const uint16_t only[] = {static_cast<uint16_t>(row.row)};
  Compact(columns, type::Selection{only, 1}, arena);
  for (size_t i = 0; i < conditions_.size(); ++i) {
    Vector result;
    SISAL_RETURN_IF_ERROR(conditions_[i].Evaluate(Chunk{1, columns}, arena, {&result, 1}));
    if (Refuses(result, 0)) return rules_.checks[i].check;
  }
  return nullptr;
}

}  // namespace sisal::exec
