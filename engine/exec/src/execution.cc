#include "sisal/exec/execution.h"

#include <utility>

#include "operator.h"
#include "row_writer.h"
#include "scan.h"
#include "sisal/exec/point_read.h"

namespace sisal::exec {

using type::Chunk;

namespace {

class PlanExecution final : public Execution {
 public:
  PlanExecution(sql::StatementPtr statement, ExecutionOptions options)
      : state_(std::move(statement), std::move(options)), frame_{state_, {}} {}

  Status Start() {
    SISAL_RETURN_IF_ERROR(TakeSnapshot());
    const sql::Plan& plan = *state_.statement->plan;
    SISAL_ASSIGN_OR_RETURN(root_, MakeOperator(plan, frame_));
    // A query that locks rows waits for all of them before the first one leaves, so that it can run again after a
    // conflict. Writes do so themselves.
    const bool writes = plan.kind == sql::PlanKind::kInsert || plan.kind == sql::PlanKind::kUpdate ||
                        plan.kind == sql::PlanKind::kDelete;
    const bool holds = !state_.statement->read_only && !state_.statement->only_moves_sequences && !writes;
    if (holds) root_ = internal::MakeHold(plan, frame_, std::move(root_));
    return Status();
  }

  Status Next(Chunk& chunk) override { return root_->Next(chunk); }
  uint64_t rows_affected() const override { return state_.rows_affected; }
  uint64_t rows_read() const override { return state_.rows_read; }

 private:
  // The first intent of a transaction comes before its snapshot (design (d) 1): a single UPDATE of one row waits for
  // the row's writer and then sees its outcome, instead of failing because of it.
  Status TakeSnapshot() {
    txn::Transaction& transaction = *state_.options.transaction;
    if (transaction.has_snapshot()) return Status();
    const sql::Plan& plan = *state_.statement->plan;
    if (plan.kind == sql::PlanKind::kUpdate || plan.kind == sql::PlanKind::kDelete) {
      const sql::Plan* scan = plan.inputs[0];
      while (scan->kind == sql::PlanKind::kFilter) scan = scan->inputs[0];
      if (scan->kind == sql::PlanKind::kTableScan && !scan->index.has_value() && scan->bounds.size() == 1) {
        SISAL_ASSIGN_OR_RETURN(const auto range, RangeOf(*scan, scan->bounds[0], frame_));
        if (range.has_value() && range->point) {
          SISAL_RETURN_IF_ERROR(transaction.Lock(plan.table->tree, range->range.lower, txn::LockMode::kExclusive,
                                                 txn::LockWait::kWait, txn::Conflict::kIgnore));
        }
      }
    }
    return transaction.TakeSnapshot();
  }

  State state_;
  Frame frame_;
  OperatorPtr root_;
};

// A point read in an open transaction.
class PointExecution final : public Execution {
 public:
  PointExecution(sql::StatementPtr statement, ExecutionOptions options)
      : state_(std::move(statement), std::move(options)) {}

  Status Next(Chunk& chunk) override {
    chunk = Chunk{0, {}};
    if (std::exchange(done_, true)) return Status();
    SISAL_RETURN_IF_ERROR(state_.CheckInterrupt());
    const PointRead& program = *state_.options.point_read;
    std::string key;
    if (!program.AppendKey(state_.options.params, key)) return Status();
    SISAL_ASSIGN_OR_RETURN(const auto row, state_.options.transaction->Get(program.tree(), key, arena_));
    if (!row.has_value()) return Status();
    state_.rows_read = 1;
    SISAL_RETURN_IF_ERROR(program.Decode(*row, arena_, columns_));
    chunk = Chunk{1, columns_};
    return Status();
  }
  uint64_t rows_affected() const override { return 0; }
  uint64_t rows_read() const override { return state_.rows_read; }

 private:
  State state_;
  bool done_ = false;
  Arena arena_{1024};
  std::vector<type::Vector> columns_;
};

}  // namespace

Result<std::unique_ptr<Execution>> Execution::Start(sql::StatementPtr statement, ExecutionOptions options) {
  SISAL_CHECK(statement->plan != nullptr);
  if (options.point_read != nullptr) {
    if (!options.transaction->has_snapshot()) SISAL_RETURN_IF_ERROR(options.transaction->TakeSnapshot());
    return std::unique_ptr<Execution>(std::make_unique<PointExecution>(std::move(statement), std::move(options)));
  }
  auto execution = std::make_unique<PlanExecution>(std::move(statement), std::move(options));
  SISAL_RETURN_IF_ERROR(execution->Start());
  return std::unique_ptr<Execution>(std::move(execution));
}

Status BuildIndex(const ExecutionOptions& options, const catalog::Table& table, const catalog::Index& index) {
  txn::Transaction& transaction = *options.transaction;
  const auto cursor = transaction.Scan(table.tree, {}, txn::Direction::kForward);
  txn::EntryBatch batch;
  Arena arena;
  for (;;) {
    if (options.cancel != nullptr) SISAL_RETURN_IF_ERROR(options.cancel->Check());
    SISAL_RETURN_IF_ERROR(cursor->Next(type::kVectorSize, batch));
    if (batch.keys.empty()) return Status();
    arena.Reset();
    const uint32_t count = static_cast<uint32_t>(batch.keys.size());
    std::vector<type::Vector> columns(table.columns.size());
    for (const catalog::IndexColumn& c : index.columns) {
      columns[c.column] = type::MakeVector(table.columns[c.column].type, count, arena);
      for (uint32_t row = 0; row < count; ++row) {
        SISAL_RETURN_IF_ERROR(table.layout.Decode(batch.values[row], c.column, row, columns[c.column], arena));
      }
    }
    for (uint32_t row = 0; row < count; ++row) {
      bool unique;
      const std::string key = MakeIndexKey(index, columns, row, batch.keys[row], unique);
      // Nobody else knows the tree, so it holds our own entries alone and needs no intents.
      SISAL_ASSIGN_OR_RETURN(const auto taken, transaction.Get(index.tree, key, arena));
      if (taken.has_value()) {
        return DuplicatedKey(table, static_cast<uint32_t>(&index - table.indexes.data()) + 1, {columns, row});
      }
      SISAL_RETURN_IF_ERROR(transaction.Put(index.tree, key, batch.keys[row]));
    }
  }
}

}  // namespace sisal::exec
