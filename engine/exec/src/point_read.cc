#include "sisal/exec/point_read.h"

#include "sisal/type/row_codec.h"

namespace sisal::exec {
namespace {

using sql::ExprKind;
using sql::PlanKind;

// A limit that lets one row through.
bool LetsRowThrough(const sql::Plan& plan) {
  const auto constant = [](const sql::Expr* e) { return e == nullptr || e->kind == ExprKind::kConstant; };
  if (!constant(plan.limit) || !constant(plan.offset)) return false;
  if (plan.offset != nullptr && !plan.offset->constant.is_null() && plan.offset->constant.as_int() != 0) return false;
  return plan.limit == nullptr || plan.limit->constant.is_null() || plan.limit->constant.as_int() > 0;
}

bool ReadsOneRow(const sql::Plan& scan) {
  return !scan.index.has_value() && scan.predicate == nullptr && !scan.with_key && scan.bounds.size() == 1 &&
         scan.bounds[0].equal.size() == scan.table->primary_key.size() && !scan.table->primary_key.empty();
}

}  // namespace

std::optional<PointRead> PointRead::Compile(const sql::Statement& statement) {
  if (statement.kind != sql::StatementKind::kQuery || !statement.read_only) return std::nullopt;
  // From the top down: what each output column is a column of.
  std::vector<uint32_t> columns(statement.output.size());
  for (uint32_t i = 0; i < columns.size(); ++i) columns[i] = i;
  const sql::Plan* plan = statement.plan;
  while (plan->kind == PlanKind::kLimit || plan->kind == PlanKind::kProject) {
    if (plan->kind == PlanKind::kLimit && !LetsRowThrough(*plan)) return std::nullopt;
    if (plan->kind == PlanKind::kProject) {
      for (uint32_t& column : columns) {
        const sql::Expr& expr = *plan->exprs[column];
        if (expr.kind != ExprKind::kColumn) return std::nullopt;
        column = expr.index;
      }
    }
    plan = plan->inputs[0];
  }
  if (plan->kind != PlanKind::kTableScan || !ReadsOneRow(*plan)) return std::nullopt;

  PointRead program;
  program.table_ = plan->table;
  for (uint32_t column : columns) program.columns_.push_back(plan->columns[column]);
  for (size_t i = 0; i < plan->bounds[0].equal.size(); ++i) {
    const sql::Expr& expr = *plan->bounds[0].equal[i];
    KeyPart part{plan->table->columns[plan->table->primary_key[i]].type, std::nullopt, {}};
    if (expr.kind == ExprKind::kParameter && statement.params[expr.index].storage() == part.type.storage()) {
      part.parameter = expr.index;
    } else if (expr.kind == ExprKind::kConstant) {
      part.constant = expr.constant;
    } else {
      return std::nullopt;
    }
    program.key_.push_back(std::move(part));
  }
  return program;
}

bool PointRead::AppendKey(std::span<const type::Datum> params, std::string& key) const {
  for (const KeyPart& part : key_) {
    const type::Datum& value = part.parameter.has_value() ? params[*part.parameter] : part.constant;
    if (value.is_null()) return false;
    type::AppendKey(part.type, value, type::SortOrder::kAscending, false, key);
  }
  return true;
}

Status PointRead::Decode(std::string_view row, Arena& arena, std::vector<type::Vector>& columns) const {
  columns.clear();
  for (uint32_t column : columns_) {
    type::Vector& vector = columns.emplace_back(type::MakeVector(table_->columns[column].type, 1, arena));
    SISAL_RETURN_IF_ERROR(table_->layout.Decode(row, column, 0, vector, arena));
  }
  return Status();
}

}  // namespace sisal::exec
