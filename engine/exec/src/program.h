// Expressions compiled to a flat list of steps over registers, so that a deep expression needs no stack to run.
//
// A register holds one Vector. Steps that depend on a condition (AND, OR, CASE, COALESCE) run under a narrower
// selection: a row that the condition excludes is never computed, so it cannot raise an error.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sisal/sql/expression.h"
#include "state.h"

namespace sisal::exec {

class Subplan;

class Program {
 public:
  Program();
  ~Program();
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;

  // Frame outlives the program.
  static Program Compile(std::span<const sql::Expr* const> expressions, Frame& frame);
  static Program Compile(const sql::Expr* expression, Frame& frame) { return Compile({&expression, 1}, frame); }

  // Computes all expressions at all rows of `input`; out[i] stays valid as long as `input` and `arena`. A result may be
  // a constant vector or one of the input's own. May suspend (subqueries).
  Status Evaluate(const type::Chunk& input, Arena& arena, std::span<type::Vector> out);

  // Rows of `input` for which the only expression is true, in the arena. Requires: one boolean expression.
  Status Select(const type::Chunk& input, Arena& arena, type::Selection& selected);

  // For expressions without kColumn: the only expression's value. Requires: one expression.
  Result<type::Datum> EvaluateScalar();

 private:
  friend class Compiler;
  enum class Op : uint8_t;
  struct Step;
  struct Leaf {  // a register that no step fills
    sql::ExprKind kind;
    uint32_t source;
    uint32_t reg;
  };

  Status Run(const Step& step, const type::Chunk& input, Arena& arena);
  Status RunEquality(const Step& step, std::span<const type::Vector> args, const type::Selection& rows, Arena& arena);
  Status RunInSet(const Step& step, const type::Vector& value, const type::Selection& rows, Arena& arena);
  Status RunSubquery(const Step& step, std::span<const type::Vector> args, const type::Selection& rows, Arena& arena);
  Status RunInMembers(const Step& step, Subplan& subplan, const type::Vector& value, const type::Selection& rows,
                      Arena& arena);
  Result<type::Datum> SubqueryValue(const Step& step, Subplan& subplan, std::span<const type::Vector> args,
                                    uint32_t row);

  Frame* frame_ = nullptr;
  std::vector<Step> steps_;
  std::vector<Leaf> leaves_;
  std::vector<type::Vector> registers_;
  std::vector<type::Selection> selections_;  // selections_[0]: all rows
  std::vector<uint32_t> results_;            // register of each expression
  std::vector<std::unique_ptr<Subplan>> subplans_;
  uint32_t capacity_ = 1;
};

// Copies the rows of `selection` to the front: vectors[i] becomes dense with selection.count rows.
void Compact(std::span<type::Vector> vectors, const type::Selection& selection, Arena& arena);
// vectors[i] as a vector with one value per row (constants are spread).
void Flatten(type::Vector& vector, uint32_t row_count, Arena& arena);

// Calls a kernel under SQL's rules for strict functions; all-constant arguments give a constant result.
Status CallKernel(function::Kernel kernel, bool strict, bool foldable, const type::SqlType& result,
                  std::span<const type::Vector> args, const type::Selection& rows, uint32_t capacity, Arena& arena,
                  function::Context& context, type::Vector& out);

}  // namespace sisal::exec
