#include "state.h"

#include "sisal/io/time.h"

namespace sisal::exec {

Status MemoryTracker::Charge(uint64_t bytes) {
  if (used_bytes_ + bytes > limit_bytes_) {
    return Error("53200",
                 "out of memory: the statement needs more than its limit of " + std::to_string(limit_bytes_) + " bytes")
        .WithHint("Raise statement_memory_bytes, or make the statement sort, group or return less at once.")
        .WithLimit("statement_memory_bytes", limit_bytes_);
  }
  used_bytes_ += bytes;
  return Status();
}

State::State(sql::StatementPtr running, ExecutionOptions execution_options)
    : statement(std::move(running)), options(std::move(execution_options)), memory(options.memory_bytes_max) {
  SISAL_CHECK(options.params.size() == statement->params.size());
  for (size_t i = 0; i < options.params.size(); ++i) {
    params.push_back(type::MakeConstant(statement->params[i], options.params[i], constants));
  }
}

Status State::CheckInterrupt() const {
  io::YieldIfBudgetSpent();
  if (options.cancel != nullptr) SISAL_RETURN_IF_ERROR(options.cancel->Check());
  if (options.deadline != Instant::Max() && io::Now() >= options.deadline) {
    return Error("57014", "canceling statement due to statement timeout");
  }
  return Status();
}

}  // namespace sisal::exec
