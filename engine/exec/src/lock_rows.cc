// FOR UPDATE and FOR SHARE: the locks, and what keeps a statement repeatable that takes them.
#include <algorithm>

#include "foreign_keys.h"
#include "operator.h"
#include "rows.h"

namespace sisal::exec {

using type::Chunk;
using type::Selection;
using type::Vector;

namespace {

// Gives one row at a time, so that whoever stands above decides how many are locked: a LIMIT, EXISTS, a sub-select's
// reader. A row that has changed since the snapshot is a conflict, which runs the statement again or ends it; so what
// leaves is what is locked, in the order of the sort below.
class LockRowsOperator final : public Operator {
 public:
  LockRowsOperator(const sql::Plan& plan, Frame& frame, OperatorPtr input)
      : plan_(plan), frame_(frame), input_(std::move(input)) {}

  Status Next(Chunk& out) override {
    for (;;) {
      if (next_ == rows_.row_count) {
        SISAL_RETURN_IF_ERROR(frame_.state.CheckInterrupt());
        next_ = 0;
        SISAL_RETURN_IF_ERROR(input_->Next(rows_));
        if (rows_.row_count == 0) {
          out = Chunk{0, {}};
          return Status();
        }
      }
      const uint32_t row = next_++;
      SISAL_ASSIGN_OR_RETURN(const bool locked, Lock(row));
      if (!locked) continue;
      Give(row, out);
      return Status();
    }
  }

  Status Rewind() override {
    rows_ = {};
    next_ = 0;
    return input_->Rewind();
  }

 private:
  // Locks the row in each table. False: one of them is to be skipped.
  Result<bool> Lock(uint32_t row) {
    txn::Transaction& transaction = *frame_.state.options.transaction;
    const std::span<const Vector> keys = rows_.columns.subspan(plan_.output.size());
    for (size_t i = 0; i < plan_.row_locks.size(); ++i) {
      const sql::RowLock& lock = plan_.row_locks[i];
      const bool share = lock.mode == sql::RowLockMode::kShare;
      const bool waits = lock.wait == sql::RowLockWait::kWait;
      Status status = transaction.Lock(lock.table->tree, keys[i].Bytes(row),
                                       share ? txn::LockMode::kShared : txn::LockMode::kExclusive,
                                       waits ? txn::LockWait::kWait : txn::LockWait::kNoWait, txn::Conflict::kCheck);
      if (status.ok()) {
        SISAL_RETURN_IF_ERROR(LockKey(lock, keys[i].Bytes(row)));
        continue;
      }
      if (waits || status.sqlstate() != "55P03") return std::move(status).error();
      if (lock.wait == sql::RowLockWait::kSkipLocked) return false;
      return Error("55P03", "could not obtain lock on row in relation \"" + lock.table->name + "\"");
    }
    return true;
  }

  // FOR UPDATE keeps away rows that would reference this one, as a DELETE does.
  Status LockKey(const sql::RowLock& lock, std::string_view key) {
    if (lock.mode != sql::RowLockMode::kUpdate || lock.table->referrers.empty()) return Status();
    return frame_.state.options.transaction->Lock(KeyLockTree(lock.table->tree), key, txn::LockMode::kExclusive,
                                                  txn::LockWait::kWait, txn::Conflict::kIgnore);
  }

  void Give(uint32_t row, Chunk& out) {
    std::span<Vector> columns = rows_.columns.first(plan_.output.size());
    if (rows_.row_count > 1) {
      arena_.Reset();
      columns_.assign(columns.begin(), columns.end());
      const uint16_t only[] = {static_cast<uint16_t>(row)};
      Compact(columns_, Selection{only, 1}, arena_);
      columns = columns_;
    }
    out = Chunk{1, columns};
  }

  const sql::Plan& plan_;
  Frame& frame_;
  OperatorPtr input_;
  Chunk rows_;  // of the input, the keys last; those before next_ are done
  uint32_t next_ = 0;
  Arena arena_;
  std::vector<Vector> columns_;
};

class HoldOperator final : public Operator {
 public:
  HoldOperator(const sql::Plan& plan, Frame& frame, OperatorPtr input)
      : frame_(frame), input_(std::move(input)), rows_(plan.output, frame.state.memory) {}

  Status Next(Chunk& out) override {
    while (!reader_.started()) {
      SISAL_RETURN_IF_ERROR(frame_.state.CheckInterrupt());
      Chunk chunk;
      SISAL_RETURN_IF_ERROR(input_->Next(chunk));
      if (chunk.row_count == 0) reader_.Start(&rows_, {});
      SISAL_RETURN_IF_ERROR(rows_.Append(chunk));
    }
    reader_.Next(out);
    return Status();
  }

  Status Rewind() override {
    reader_.Reset();
    rows_.Clear();
    return input_->Rewind();
  }

 private:
  Frame& frame_;
  OperatorPtr input_;
  RowStore rows_;
  RowReader reader_;
};

// The plan's shape alone tells that there is no second row.
bool GivesOneRow(const sql::Plan& plan) {
  using sql::PlanKind;
  const sql::Plan* node = &plan;
  for (;; node = node->inputs[0]) {
    if (node->kind == PlanKind::kLimit) {
      const sql::Expr* limit = node->limit;
      const bool known = limit != nullptr && limit->kind == sql::ExprKind::kConstant && !limit->constant.is_null();
      if (known && limit->constant.as_int() <= 1) return true;
      continue;
    }
    const bool passes = node->kind == PlanKind::kProject || node->kind == PlanKind::kFilter ||
                        node->kind == PlanKind::kSort || node->kind == PlanKind::kLockRows;
    if (!passes) break;
  }
  return node->kind == PlanKind::kTableScan && !node->index.has_value() && node->bounds.size() == 1 &&
         !node->table->primary_key.empty() && node->bounds[0].equal.size() == node->table->primary_key.size();
}

}  // namespace

namespace internal {
OperatorPtr MakeHold(const sql::Plan& plan, Frame& frame, OperatorPtr input) {
  if (GivesOneRow(plan)) return input;
  return std::make_unique<HoldOperator>(plan, frame, std::move(input));
}
OperatorPtr MakeLockRows(const sql::Plan& plan, Frame& frame, OperatorPtr input) {
  return std::make_unique<LockRowsOperator>(plan, frame, std::move(input));
}
}  // namespace internal

}  // namespace sisal::exec
