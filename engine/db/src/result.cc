#include "result.h"

#include <algorithm>

#include "point_read.h"
#include "sisal/io/time.h"

namespace sisal::db {

PlanResult::~PlanResult() {
  execution_.reset();
  if (done_ || !began_) return;
  // Left in the middle. Reads of an open transaction go on as if nothing had been; a write was not finished.
  if (single_use_) {
    session_.Rollback();
  } else if (!plan_->statement().read_only && !plan_->statement().only_moves_sequences) {
    session_.Fail(false);
  } else if (session_.open() != nullptr) {
    session_.open()->answered = true;
  }
}

Status PlanResult::CheckReadOnly() const {
  if (plan_->statement().read_only || plan_->statement().only_moves_sequences) return Status();
  const bool read_only = single_use_ ? session_.settings().default_read_only() : session_.open()->options.read_only;
  if (!read_only) return Status();
  return Error("25006", "cannot execute " + plan_->statement().command + " in a read-only transaction");
}

Status PlanResult::Next(type::Chunk& chunk) {
  chunk = {};
  if (done_) return Status();
  if (!began_ && point_ == nullptr) start_ = session_.engine().runtime.clock().Now();
  if (single_use_ && !began_ && plan_->point_read() != nullptr) {
    SISAL_ASSIGN_OR_RETURN(const bool given, NextPoint(chunk));
    if (given) return Status();
  }
  // A statement that gives rows from memory would not notice.
  if (began_ && options_.cancel != nullptr && options_.cancel->cancelled()) return Abandon(options_.cancel->Check());
  for (;;) {
    Status status = Pull(chunk);
    if (status.ok() && chunk.row_count > 0) {
      rows_left_ = true;
      return Status();
    }
    if (status.ok()) status = Finish();
    if (status.ok()) return Status();
    if (!MayRetry(status)) return Abandon(std::move(status));
    ++stats_.attempts;
  }
}

Result<bool> PlanResult::NextPoint(type::Chunk& chunk) {
  if (point_ == nullptr) {
    if (options_.cancel != nullptr) SISAL_RETURN_IF_ERROR(options_.cancel->Check());
    if (options_.deadline != Instant::Max() && start_ >= options_.deadline) return false;  // fails with its reason
    point_ = std::make_unique<PointRow>();
    SISAL_ASSIGN_OR_RETURN(const bool read, ReadPoint(session_.engine(), *plan_, params_, *point_));
    if (!read) return point_.reset(), false;
    stats_.rows_read = point_->row_count;
    if (point_->row_count > 0) return chunk = point_->chunk(), true;
  }
  stats_.execute_us = static_cast<uint64_t>((session_.engine().runtime.clock().Now() - start_).count() / 1000);
  done_ = true;
  return true;
}

Status PlanResult::Pull(type::Chunk& chunk) {
  if (execution_ == nullptr) SISAL_RETURN_IF_ERROR(StartExecution());
  return execution_->Next(chunk);
}

// Makes the plan again if a table that it uses is another one under the root that the statement now has. True: it did.
Result<bool> PlanResult::RenewPlan() {
  if (plan_->ValidUnder(*session_.Root())) return false;
  bool cached;
  SISAL_ASSIGN_OR_RETURN(CachedPlanPtr renewed, session_.FindPlan(plan_->sql(), plan_->id(), cached));
  const sql::Statement& before = plan_->statement();
  const sql::Statement& after = renewed->statement();
  const auto same_type = [](const sql::OutputColumn& a, const sql::OutputColumn& b) { return a.type == b.type; };
  if (after.params != before.params ||
      !std::equal(after.output.begin(), after.output.end(), before.output.begin(), before.output.end(), same_type)) {
    return Error("0A000", "cached plan must not change result type").WithReason(kPlanChanged);
  }
  plan_ = std::move(renewed);
  return true;
}

Status PlanResult::StartExecution() {
  if (session_.open() == nullptr) {
    const bool refuses = plan_->statement().only_moves_sequences && session_.settings().default_read_only();
    session_.BeginSingleUse(plan_->statement().read_only || refuses);
    session_.Interrupt(options_);
  }
  OpenTransaction& open = *session_.open();
  if (!began_) {
    first_statement_ = !open.answered;
    mark_ = open.txn->SetMark();
    began_ = true;
  }
  SISAL_RETURN_IF_ERROR(session_.PrepareSnapshot());
  SISAL_RETURN_IF_ERROR(RenewPlan().status());
  const sql::Statement& statement = plan_->statement();
  if (!statement.read_only) {
    for (const catalog::TablePtr& table : statement.tables) {
      SISAL_RETURN_IF_ERROR(session_.engine().catalog->LockTable(*open.txn, *table, txn::LockMode::kShared));
    }
  }
  exec::ExecutionOptions options;
  options.store = session_.engine().store.get();
  options.transaction = open.txn.get();
  options.catalog = session_.engine().catalog.get();
  options.root = session_.Root();
  options.params = params_;
  options.point_read = plan_->point_read();
  options.function = session_.MakeFunctionContext();
  options.cancel = options_.cancel;
  options.deadline = options_.deadline;
  options.memory_bytes_max = session_.engine().options.statement_memory_bytes_max;
  SISAL_ASSIGN_OR_RETURN(execution_, exec::Execution::Start(plan_->statement_ptr(), std::move(options)));
  // The snapshot may be younger than the plan: a table that was dropped in between is gone.
  if (open.root == nullptr) session_.PinRoot();
  SISAL_ASSIGN_OR_RETURN(const bool renewed, RenewPlan());
  if (!renewed) return Status();
  execution_.reset();
  return StartExecution();
}

Status PlanResult::Finish() {
  rows_affected_ = execution_->rows_affected();
  stats_.rows_read = execution_->rows_read();
  execution_.reset();
  const Clock& clock = session_.engine().runtime.clock();
  stats_.execute_us = static_cast<uint64_t>((clock.Now() - start_).count() / 1000);
  if (single_use_) {
    const Instant commit_start = clock.Now();
    SISAL_ASSIGN_OR_RETURN(commit_position_, session_.Commit(options_));
    stats_.sync_wait_us = static_cast<uint64_t>((clock.Now() - commit_start).count() / 1000);
  } else {
    session_.open()->answered = true;
  }
  done_ = true;
  return Status();
}

// A conflict is repaired by running the statement again at a newer snapshot, as long as nothing that was computed under
// the old one has left: in a single use, in the first statement of a transaction, and at READ COMMITTED. The intents
// stay, so each attempt gets further. A deadlock's victim must give them up, which only a single use can.
bool PlanResult::MayRetry(const Status& error) {
  if (rows_left_ || stats_.attempts >= kAttemptsMax) return false;
  if (options_.cancel != nullptr && options_.cancel->cancelled()) return false;
  if (options_.deadline != Instant::Max() && io::Now() >= options_.deadline) return false;
  const bool conflict = error.sqlstate() == "40001";
  const bool deadlock = error.sqlstate() == "40P01";
  if (!conflict && !deadlock) return false;
  execution_.reset();
  OpenTransaction* open = session_.open();
  if (single_use_ && (deadlock || open == nullptr)) {
    session_.Rollback();
    began_ = false;
    io::Yield();
    return true;
  }
  if (deadlock || open == nullptr || open->txn == nullptr) return false;
  const bool moves =
      single_use_ || first_statement_ || open->txn->options().isolation == txn::Isolation::kReadCommitted;
  if (!moves) return false;
  open->txn->RollbackTo(mark_);
  if (!open->txn->TakeSnapshot().ok()) return false;
  session_.PinRoot();
  return true;
}

Status PlanResult::Abandon(Status error) {
  execution_.reset();
  done_ = true;
  OpenTransaction* open = session_.open();
  if (open == nullptr) return error;
  const bool statement_only = !single_use_ && open->on_error == OnError::kRollbackStatement && open->txn != nullptr &&
                              error.sqlstate() != "40P01" && error.sqlstate() != "40001";
  if (statement_only) {
    open->txn->RollbackTo(mark_);
    open->answered = true;
  } else {
    session_.Fail(single_use_);
  }
  return error;
}

Status FinishedResult::Next(type::Chunk& chunk) {
  arena_.Reset();
  const uint32_t count = static_cast<uint32_t>(std::min<size_t>(type::kVectorSize, lines.size() - next_));
  columns_.clear();
  if (count > 0) {
    columns_.push_back(type::MakeVector(type::TypeId::kText, count, arena_));
    for (uint32_t i = 0; i < count; ++i) columns_[0].bytes[i] = lines[next_ + i];
  }
  next_ += count;
  chunk = {count, columns_};
  return Status();
}

}  // namespace sisal::db
