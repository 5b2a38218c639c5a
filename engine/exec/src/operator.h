// Operators: one per plan node, each pulls chunks from its inputs.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "hash_index.h"
#include "program.h"
#include "sisal/sql/plan.h"
#include "state.h"

namespace sisal::exec {

class Operator {
 public:
  virtual ~Operator() = default;
  // Points `out` at up to kVectorSize further rows, valid until the next call of this operator; row_count 0: the end,
  // again and again. Suspends.
  virtual Status Next(type::Chunk& out) = 0;
  // Starts over, reading frame.outer anew.
  virtual Status Rewind() = 0;
};
using OperatorPtr = std::unique_ptr<Operator>;

// Plans nest at most this deep at run time, so that the chain of Next calls fits a fiber's stack.
inline constexpr int kPlanDepthMax = 256;

// Errors: 54001 if the plan is too deep.
Result<OperatorPtr> MakeOperator(const sql::Plan& plan, Frame& frame, int depth = 0);

// One running copy of a subquery's plan; made when it is first needed.
class Subplan {
 public:
  // `around` outlives it.
  Subplan(const sql::Plan& plan, Frame& around) : plan_(plan), frame_{around.state, {}, {}, &around} {}
  // Starts with the given outer row (constant vectors).
  Status Start(std::vector<type::Vector> outer);
  Status Next(type::Chunk& out) { return root_->Next(out); }
  // Of an uncorrelated IN: reads all rows of the only column once, as keys.
  Status CollectMembers(State& state);
  bool collected() const { return members_ != nullptr; }
  bool empty() const { return members_->size() == 0 && !has_null_; }
  bool has_null() const { return has_null_; }
  bool Contains(std::string_view key) const { return members_->Find(key) != HashIndex::kNone; }

  bool cached = false;  // an uncorrelated subquery's outcome, kept for all rows
  type::Vector cached_value;

 private:
  const sql::Plan& plan_;
  Frame frame_;
  OperatorPtr root_;
  std::unique_ptr<HashIndex> members_;
  bool has_null_ = false;
};

namespace internal {
// One maker per group of nodes; each takes its inputs already made.
OperatorPtr MakeValues(const sql::Plan& plan, Frame& frame);
OperatorPtr MakeFunctionScan(const sql::Plan& plan, Frame& frame);
OperatorPtr MakeSystemView(const sql::Plan& plan, Frame& frame);
OperatorPtr MakeTableScan(const sql::Plan& plan, Frame& frame);
OperatorPtr MakeFilter(const sql::Plan& plan, Frame& frame, OperatorPtr input);
OperatorPtr MakeProject(const sql::Plan& plan, Frame& frame, OperatorPtr input);
OperatorPtr MakeLimit(const sql::Plan& plan, Frame& frame, OperatorPtr input);
OperatorPtr MakeSort(const sql::Plan& plan, Frame& frame, OperatorPtr input);
// Gives `input`'s rows once all of them are there. Not for a plan that gives one row only: its work ends with it.
OperatorPtr MakeHold(const sql::Plan& plan, Frame& frame, OperatorPtr input);
OperatorPtr MakeLockRows(const sql::Plan& plan, Frame& frame, OperatorPtr input);
OperatorPtr MakeAggregate(const sql::Plan& plan, Frame& frame, OperatorPtr input);
OperatorPtr MakeWindow(const sql::Plan& plan, Frame& frame, OperatorPtr input);
OperatorPtr MakeDistinct(const sql::Plan& plan, Frame& frame, OperatorPtr input);
OperatorPtr MakeAppend(const sql::Plan& plan, Frame& frame, std::vector<OperatorPtr> inputs);
OperatorPtr MakeRecursiveUnion(const sql::Plan& plan, Frame& frame, OperatorPtr start, OperatorPtr next);
OperatorPtr MakeWorkingTable(const sql::Plan& plan, Frame& frame);
OperatorPtr MakeSetOperation(const sql::Plan& plan, Frame& frame, OperatorPtr left, OperatorPtr right);
OperatorPtr MakeJoin(const sql::Plan& plan, Frame& frame, OperatorPtr left, OperatorPtr right);
OperatorPtr MakeLateralJoin(const sql::Plan& plan, Frame& frame, OperatorPtr left);
OperatorPtr MakeInsert(const sql::Plan& plan, Frame& frame, OperatorPtr input);
OperatorPtr MakeUpdate(const sql::Plan& plan, Frame& frame, OperatorPtr input);
OperatorPtr MakeDelete(const sql::Plan& plan, Frame& frame, OperatorPtr input);
}  // namespace internal

}  // namespace sisal::exec
