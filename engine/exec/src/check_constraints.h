// CHECK constraints of one table, compiled for one execution.
#pragma once

#include <span>
#include <vector>

#include "program.h"
#include "sisal/sql/plan.h"
#include "sisal/type/vector.h"

namespace sisal::exec {

// A row about to be written: `columns` are all columns of the table, at `row`.
struct RowView {
  std::span<const type::Vector> columns;
  uint32_t row;
};

// Confined.
class CheckConstraints {
 public:
  CheckConstraints(const sql::TableRules& rules, Frame& frame);

  // Whether no row breaks any. An error of an expression is a false too: a row's errors come with the row, after what
  // the rows before it have to say.
  bool AllPass(const type::Chunk& rows);
  // The first by name that refuses the row; nullptr: none. NULL is no refusal. Errors: of the expressions.
  Result<const catalog::Check*> FirstBroken(const RowView& row);

 private:
  const sql::TableRules& rules_;
  std::vector<Program> conditions_;  // as rules_.checks
};

}  // namespace sisal::exec
