// What all operators of one execution share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sisal/base/arena.h"
#include "sisal/exec/execution.h"
#include "sisal/sql/statement.h"

namespace sisal::exec {

class RowStore;

// Counts what a statement's sorts, groups and hash tables hold. Confined.
class MemoryTracker {
 public:
  explicit MemoryTracker(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  // Errors: 53200, naming the limit.
  Status Charge(uint64_t bytes);
  void Release(uint64_t bytes) { used_bytes_ -= bytes; }

 private:
  uint64_t used_bytes_ = 0;
  uint64_t limit_bytes_;
};

struct State {
  State(sql::StatementPtr running, ExecutionOptions execution_options);

  // Ok, or why the statement must stop. Called between chunks. Suspends.
  Status CheckInterrupt() const;

  sql::StatementPtr statement;
  ExecutionOptions options;
  MemoryTracker memory;
  Arena constants;                   // lives as long as the execution
  std::vector<type::Vector> params;  // constant vectors
  uint64_t rows_read = 0;
  uint64_t rows_affected = 0;
};

// One running copy of a plan: the statement's own, or a subplan's. `outer` holds the row that a correlated subplan runs
// for, as constant vectors.
struct Frame {
  State& state;
  std::vector<type::Vector> outer;
  std::map<uint32_t, const RowStore*> working_tables = {};  // of the recursions that run, by their number
  const Frame* around = nullptr;                            // of the plan that has this one as a subplan
};

}  // namespace sisal::exec
