// INSERT, UPDATE and DELETE. Each does all its work at the first Next, then gives its RETURNING rows.
#include <algorithm>
#include <unordered_set>

#include "foreign_keys.h"
#include "operator.h"
#include "row_writer.h"
#include "rows.h"

namespace sisal::exec {

using type::Chunk;
using type::Selection;
using type::Vector;

namespace {

// What the three share: the loop over the input, and RETURNING.
class ModifyOperator : public Operator {
 public:
  ModifyOperator(const sql::Plan& plan, Frame& frame, OperatorPtr input)
      : plan_(plan),
        frame_(frame),
        input_(std::move(input)),
        foreign_keys_(HasForeignKeys(plan) ? std::make_unique<ForeignKeys>(frame) : nullptr),
        writer_(*plan.table, plan.rules, frame, foreign_keys_.get()),
        returned_(plan.output, frame.state.memory),
        returning_(Program::Compile(plan.returning, frame)),
        holds_(ReadsWhileItWrites()) {}

  Status Next(Chunk& out) override {
    if (!done_) {
      txn::Transaction& transaction = *frame_.state.options.transaction;
      if (holds_) transaction.HoldOwnWrites();
      Status status = Work();
      if (holds_) transaction.ReleaseOwnWrites();
      SISAL_RETURN_IF_ERROR(std::move(status));
      if (foreign_keys_ != nullptr) SISAL_RETURN_IF_ERROR(foreign_keys_->Finish());
      done_ = true;
      if (plan_.has_returning) reader_.Start(&returned_, {});
    }
    if (plan_.has_returning) {
      reader_.Next(out);
    } else {
      out = Chunk{0, {}};
    }
    return Status();
  }

  Status Rewind() override { return Error("XX000", "a data-modifying plan cannot start over"); }

 protected:
  virtual Status WorkOn(const Chunk& chunk) = 0;

  State& state() { return frame_.state; }
  // Subqueries do not see this statement's rows.
  bool holds() const { return holds_; }

  // Requires: `rows` are all columns of the table. Adds their RETURNING expressions.
  Status Return(const Chunk& rows) {
    frame_.state.rows_affected += rows.row_count;
    if (!plan_.has_returning || rows.row_count == 0) return Status();
    Arena arena;
    std::vector<Vector> values(plan_.returning.size());
    SISAL_RETURN_IF_ERROR(returning_.Evaluate(rows, arena, values));
    return returned_.Append(Chunk{rows.row_count, values});
  }

  // UPDATE ... FROM and DELETE ... USING may meet a row several times; the first time counts. Returns the rows of
  // `chunk` whose keys come for the first time, copied into `columns` if some do not.
  Chunk FirstTime(const Chunk& chunk, Arena& arena, std::vector<Vector>& columns) {
    if (ScanOf(plan_)->kind == sql::PlanKind::kTableScan) return chunk;
    const Vector& keys = chunk.columns[plan_.table->columns.size()];
    uint16_t* kept = arena.AllocateArray<uint16_t>(chunk.row_count);
    uint32_t count = 0;
    for (uint32_t row = 0; row < chunk.row_count; ++row) {
      if (seen_.emplace(keys.Bytes(row)).second) kept[count++] = static_cast<uint16_t>(row);
    }
    if (count == chunk.row_count) return chunk;
    columns.assign(chunk.columns.begin(), chunk.columns.end());
    Compact(columns, Selection{kept, count}, arena);
    return Chunk{count, columns};
  }

  const sql::Plan& plan_;
  Frame& frame_;
  OperatorPtr input_;
  const std::unique_ptr<ForeignKeys> foreign_keys_;  // nullptr: this statement can break none
  RowWriter writer_;

 private:
  static bool HasForeignKeys(const sql::Plan& plan) {
    return plan.rules != nullptr && !(plan.rules->parents.empty() && plan.rules->children.empty());
  }

  // What the input's filters stand on: the table's scan, unless further tables are joined to it.
  static const sql::Plan* ScanOf(const sql::Plan& plan) {
    const sql::Plan* scan = plan.inputs[0];
    while (scan->kind == sql::PlanKind::kFilter) scan = scan->inputs[0];
    return scan;
  }

  // A scan that could meet what this statement writes is read to its end first.
  Status Work() {
    if (!MeetsItsOwnWrites()) return WorkThrough(*input_);
    RowStore rows(plan_.inputs[0]->output, frame_.state.memory);
    for (;;) {
      SISAL_RETURN_IF_ERROR(frame_.state.CheckInterrupt());
      Chunk chunk;
      SISAL_RETURN_IF_ERROR(input_->Next(chunk));
      if (chunk.row_count == 0) break;
      SISAL_RETURN_IF_ERROR(rows.Append(chunk));
    }
    RowReader reader;
    reader.Start(&rows, {});
    for (;;) {
      SISAL_RETURN_IF_ERROR(frame_.state.CheckInterrupt());
      Chunk chunk;
      reader.Next(chunk);
      if (chunk.row_count == 0) return Status();
      SISAL_RETURN_IF_ERROR(WorkOn(chunk));
    }
  }

  Status WorkThrough(Operator& input) {
    for (;;) {
      SISAL_RETURN_IF_ERROR(frame_.state.CheckInterrupt());
      Chunk chunk;
      SISAL_RETURN_IF_ERROR(input.Next(chunk));
      if (chunk.row_count == 0) return Status();
      SISAL_RETURN_IF_ERROR(WorkOn(chunk));
    }
  }

  // DELETE removes only what its scan has passed. INSERT from VALUES reads nothing. An UPDATE that leaves the scanned
  // key alone puts rows back where the scan has been. All else might see its own rows.
  bool MeetsItsOwnWrites() const {
    if (plan_.kind == sql::PlanKind::kInsert) return plan_.inputs[0]->kind != sql::PlanKind::kValues;
    const sql::Plan* scan = ScanOf(plan_);
    if (scan->kind != sql::PlanKind::kTableScan) return true;
    if (plan_.kind == sql::PlanKind::kDelete) return HasSubplan(scan);
    std::vector<uint32_t> key = plan_.table->primary_key;
    if (scan->index.has_value()) {
      for (const catalog::IndexColumn& c : plan_.table->indexes[*scan->index].columns) key.push_back(c.column);
    }
    return HasSubplan(scan) || std::any_of(plan_.assignments.begin(), plan_.assignments.end(), [&](const auto& a) {
             return std::find(key.begin(), key.end(), a.column) != key.end() || ContainsSubplan(a.value);
           });
  }

  // Subqueries that run while rows are written: all but those of the input, which MeetsItsOwnWrites is about, and of
  // VALUES, of which there may be many chunks.
  bool ReadsWhileItWrites() const {
    const auto contains = [](const auto* e) { return e != nullptr && ContainsSubplan(e); };
    const auto assigns = [&](const sql::Assignment& a) { return contains(a.value); };
    const auto& values = plan_.inputs[0]->rows;
    return std::any_of(plan_.returning.begin(), plan_.returning.end(), contains) ||
           std::any_of(plan_.assignments.begin(), plan_.assignments.end(), assigns) ||
           std::any_of(plan_.conflict_update.begin(), plan_.conflict_update.end(), assigns) ||
           contains(plan_.conflict_where) || std::any_of(values.begin(), values.end(), [&](const auto& row) {
             return std::any_of(row.begin(), row.end(), contains);
           });
  }

  // A subquery that runs again and again must not see what earlier rows of the same statement did.
  bool HasSubplan(const sql::Plan* scan) const {
    for (const sql::Plan* node = plan_.inputs[0];; node = node->inputs[0]) {
      if (node->predicate != nullptr && ContainsSubplan(node->predicate)) return true;
      if (node == scan) return false;
    }
  }
  static bool ContainsSubplan(const sql::Expr* root) {
    std::vector<const sql::Expr*> pending{root};
    while (!pending.empty()) {
      const sql::Expr* e = pending.back();
      pending.pop_back();
      if (e->subplan != nullptr) return true;
      pending.insert(pending.end(), e->args.begin(), e->args.end());
    }
    return false;
  }

  RowStore returned_;
  Program returning_;
  RowReader reader_;
  const bool holds_;
  bool done_ = false;
  std::unordered_set<std::string> seen_;  // keys that FirstTime let through
};

// Assignments over rows: all columns of the table, those assigned replaced.
class Assigner {
 public:
  Assigner(const std::vector<sql::Assignment>& assignments, Frame& frame) : assignments_(assignments) {
    std::vector<const sql::Expr*> values;
    for (const sql::Assignment& a : assignments) values.push_back(a.value);
    program_ = Program::Compile(values, frame);
  }
  // `columns`: the old rows' columns, replaced by the new ones.
  Status Apply(const Chunk& input, Arena& arena, std::span<Vector> columns) {
    std::vector<Vector> values(assignments_.size());
    SISAL_RETURN_IF_ERROR(program_.Evaluate(input, arena, values));
    for (size_t i = 0; i < values.size(); ++i) columns[assignments_[i].column] = values[i];
    return Status();
  }

 private:
  const std::vector<sql::Assignment>& assignments_;
  Program program_;
};

class UpdateOperator final : public ModifyOperator {
 public:
  UpdateOperator(const sql::Plan& plan, Frame& frame, OperatorPtr input)
      : ModifyOperator(plan, frame, std::move(input)), assigner_(plan.assignments, frame) {}

 protected:
  Status WorkOn(const Chunk& all) override {
    Arena arena;
    std::vector<Vector> kept;
    const Chunk chunk = FirstTime(all, arena, kept);
    const size_t width = plan_.table->columns.size();
    const Vector& keys = chunk.columns[width];
    for (uint32_t row = 0; row < chunk.row_count; ++row) SISAL_RETURN_IF_ERROR(writer_.LockRow(keys.Bytes(row)));
    std::vector<Vector> updated(chunk.columns.begin(), chunk.columns.begin() + static_cast<ptrdiff_t>(width));
    SISAL_RETURN_IF_ERROR(assigner_.Apply(chunk, arena, updated));
    const std::span<const Vector> old_columns = chunk.columns.first(width);
    writer_.CheckAhead(Chunk{chunk.row_count, updated});
    for (uint32_t row = 0; row < chunk.row_count; ++row) {
      SISAL_RETURN_IF_ERROR(writer_.Update(keys.Bytes(row), {old_columns, row}, {updated, row}));
    }
    return Return(Chunk{chunk.row_count, updated});
  }

 private:
  Assigner assigner_;
};

class DeleteOperator final : public ModifyOperator {
 public:
  using ModifyOperator::ModifyOperator;

 protected:
  Status WorkOn(const Chunk& all) override {
    Arena arena;
    std::vector<Vector> kept;
    const Chunk chunk = FirstTime(all, arena, kept);
    const size_t width = plan_.table->columns.size();
    const Vector& keys = chunk.columns[width];
    for (uint32_t row = 0; row < chunk.row_count; ++row) {
      SISAL_RETURN_IF_ERROR(writer_.LockRow(keys.Bytes(row)));
      SISAL_RETURN_IF_ERROR(writer_.Delete(keys.Bytes(row), {chunk.columns.first(width), row}));
    }
    return Return(Chunk{chunk.row_count, chunk.columns.first(width)});
  }
};

class InsertOperator final : public ModifyOperator {
 public:
  InsertOperator(const sql::Plan& plan, Frame& frame, OperatorPtr input)
      : ModifyOperator(plan, frame, std::move(input)), conflict_assigner_(plan.conflict_update, frame) {
    if (plan.conflict_where != nullptr) conflict_where_ = Program::Compile(plan.conflict_where, frame);
  }

 protected:
  Status WorkOn(const Chunk& chunk) override {
    const bool checked = writer_.CheckAhead(chunk);
    for (uint32_t row = 0; row < chunk.row_count; ++row) {
      SISAL_ASSIGN_OR_RETURN(const auto conflict, writer_.Insert({chunk.columns, row}, plan_.conflict_target));
      if (!conflict.has_value()) {
        if (plan_.conflict_do_update || holds()) touched_.insert(writer_.written_key());
        inserted_.push_back(static_cast<uint16_t>(row));
        continue;
      }
      const bool arbiter = !plan_.conflict_target.has_value() || *plan_.conflict_target == conflict->key;
      if (!plan_.on_conflict || !arbiter) return writer_.ConflictError(*conflict, {chunk.columns, row});
      SISAL_RETURN_IF_ERROR(ReturnInserted(chunk));
      SISAL_RETURN_IF_ERROR(OnConflict(chunk, row, conflict->row_key));
      writer_.set_checked_ahead(checked);
    }
    return ReturnInserted(chunk);
  }

 private:
  Status ReturnInserted(const Chunk& chunk) {
    if (inserted_.empty()) return Status();
    Arena arena;
    std::vector<Vector> columns(chunk.columns.begin(), chunk.columns.end());
    const uint32_t count = static_cast<uint32_t>(inserted_.size());
    if (count < chunk.row_count) Compact(columns, Selection{inserted_.data(), count}, arena);
    Status status = Return(Chunk{count, columns});
    inserted_.clear();
    return status;
  }

  Status OnConflict(const Chunk& chunk, uint32_t row, const std::string& row_key) {
    const catalog::Table& table = *plan_.table;
    if (!plan_.conflict_do_update) return CheckVisible(row_key);
    SISAL_RETURN_IF_ERROR(RefuseSecondTime(row_key));
    SISAL_RETURN_IF_ERROR(writer_.LockRow(row_key));
    Arena arena;
    SISAL_ASSIGN_OR_RETURN(const auto bytes, state().options.transaction->GetNewest(table.tree, row_key, arena));
    if (!bytes.has_value()) return Error("XX001", "an index of \"" + table.name + "\" has an entry without a row");
    // The existing row, then the excluded one.
    std::vector<Vector> both;
    for (size_t c = 0; c < table.columns.size(); ++c) {
      Vector& column = both.emplace_back(type::MakeVector(table.columns[c].type, 1, arena));
      SISAL_RETURN_IF_ERROR(table.layout.Decode(*bytes, c, 0, column, arena));
    }
    const uint16_t only[] = {static_cast<uint16_t>(row)};
    std::vector<Vector> excluded(chunk.columns.begin(), chunk.columns.end());
    Compact(excluded, Selection{only, 1}, arena);
    both.insert(both.end(), excluded.begin(), excluded.end());
    const Chunk input{1, both};
    if (plan_.conflict_where != nullptr) {
      Selection selected;
      SISAL_RETURN_IF_ERROR(conflict_where_.Select(input, arena, selected));
      if (selected.count == 0) return Status();
    }
    touched_.insert(row_key);
    std::vector<Vector> updated(both.begin(), both.begin() + static_cast<ptrdiff_t>(table.columns.size()));
    SISAL_RETURN_IF_ERROR(conflict_assigner_.Apply(input, arena, updated));
    const std::span<const Vector> old_columns = std::span(both).first(table.columns.size());
    writer_.set_checked_ahead(false);
    SISAL_RETURN_IF_ERROR(writer_.Update(row_key, {old_columns, 0}, {updated, 0}));
    touched_.insert(writer_.written_key());
    return Return(Chunk{1, updated});
  }

  // DO NOTHING because of a row that the snapshot does not see would hide it: PostgreSQL refuses that above READ
  // COMMITTED.
  Status CheckVisible(const std::string& row_key) {
    txn::Transaction& transaction = *state().options.transaction;
    if (transaction.options().isolation == txn::Isolation::kReadCommitted || touched_.contains(row_key)) {
      return Status();
    }
    Arena arena;
    SISAL_ASSIGN_OR_RETURN(const auto seen, transaction.Get(plan_.table->tree, row_key, arena));
    if (seen.has_value()) return Status();
    return Error("40001", "could not serialize access due to concurrent update");
  }

  // Neither a row that this statement inserted nor one that it updated.
  Status RefuseSecondTime(const std::string& row_key) const {
    if (!touched_.contains(row_key)) return Status();
    return Error("21000", "ON CONFLICT DO UPDATE command cannot affect row a second time")
        .WithHint(
            "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.");
  }

  Assigner conflict_assigner_;
  Program conflict_where_;
  std::vector<uint16_t> inserted_;
  std::unordered_set<std::string> touched_;  // rows written, by key: for DO UPDATE, and where Get does not see them
};

}  // namespace

namespace internal {
OperatorPtr MakeInsert(const sql::Plan& plan, Frame& frame, OperatorPtr input) {
  return std::make_unique<InsertOperator>(plan, frame, std::move(input));
}
OperatorPtr MakeUpdate(const sql::Plan& plan, Frame& frame, OperatorPtr input) {
  return std::make_unique<UpdateOperator>(plan, frame, std::move(input));
}
OperatorPtr MakeDelete(const sql::Plan& plan, Frame& frame, OperatorPtr input) {
  return std::make_unique<DeleteOperator>(plan, frame, std::move(input));
}
}  // namespace internal

}  // namespace sisal::exec
