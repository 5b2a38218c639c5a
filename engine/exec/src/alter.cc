#include "sisal/exec/alter.h"

#include <optional>
#include <string>

#include "program.h"
#include "row_writer.h"
#include "state.h"

namespace sisal::exec {
namespace {

using type::Vector;

Error ContainsNulls(const catalog::Table& table, uint32_t column) {
  const std::string& name = table.columns[column].name;
  return Error("23502", "column \"" + name + "\" of relation \"" + table.name + "\" contains null values")
      .WithTable(table.schema, table.name)
      .WithColumn(name);
}

Result<Vector> DecodeColumn(const catalog::Table& table, uint32_t column, const txn::EntryBatch& batch, Arena& arena) {
  const auto count = static_cast<uint32_t>(batch.values.size());
  Vector vector = type::MakeVector(table.columns[column].type, count, arena);
  for (uint32_t row = 0; row < count; ++row) {
    SISAL_RETURN_IF_ERROR(table.layout.Decode(batch.values[row], column, row, vector, arena));
  }
  return vector;
}

std::vector<const sql::Expr*> ExpressionsOf(std::span<const sql::Assignment> assignments) {
  std::vector<const sql::Expr*> expressions;
  for (const sql::Assignment& assignment : assignments) expressions.push_back(assignment.value);
  return expressions;
}

// CHECKs over rows that are there.
class RuleCheck {
 public:
  RuleCheck(const sql::TableRules* rules, Frame& frame) {
    if (rules == nullptr) return;
    table_ = rules->table.get();
    checks_.emplace(*rules, frame);
  }
  bool empty() const { return !checks_.has_value(); }

  Status Pass(const type::Chunk& rows) {
    if (!checks_.has_value() || checks_->AllPass(rows)) return Status();
    for (uint32_t row = 0; row < rows.row_count; ++row) {
      SISAL_ASSIGN_OR_RETURN(const catalog::Check* broken, checks_->FirstBroken({rows.columns, row}));
      if (broken == nullptr) continue;
      return Error("23514", "check constraint \"" + broken->name + "\" of relation \"" + table_->name +
                                "\" is violated by some row")
          .WithTable(table_->schema, table_->name)
          .WithConstraint(broken->name);
    }
    return Status();
  }

 private:
  const catalog::Table* table_ = nullptr;
  std::optional<CheckConstraints> checks_;
};

// Writes rows into the new trees of a table.
class Filler {
 public:
  Filler(const catalog::Table& table, const ExecutionOptions& options) : table_(table), options_(options) {}

  Status Add(const RowView& row) {
    for (uint32_t column = 0; column < table_.columns.size(); ++column) {
      if (table_.columns[column].not_null && row.columns[column].IsNull(row.row)) return ContainsNulls(table_, column);
    }
    std::string key;
    if (table_.primary_key.empty()) {
      key = MakeRowNumberKey(options_.store->NextRowNumber(table_.tree));
    } else {
      key = MakePrimaryKey(table_, row);
      SISAL_RETURN_IF_ERROR(CheckFree(table_.tree, key, 0, row));
    }
    bytes_.clear();
    SISAL_RETURN_IF_ERROR(table_.layout.Encode(row.columns, row.row, bytes_));
    SISAL_RETURN_IF_ERROR(options_.transaction->Put(table_.tree, key, bytes_));
    for (uint32_t i = 0; i < table_.indexes.size(); ++i) {
      const catalog::Index& index = table_.indexes[i];
      bool unique;
      const std::string entry = MakeIndexKey(index, row.columns, row.row, key, unique);
      if (unique) SISAL_RETURN_IF_ERROR(CheckFree(index.tree, entry, i + 1, row));
      SISAL_RETURN_IF_ERROR(options_.transaction->Put(index.tree, entry, key));
    }
    return Status();
  }

 private:
  Status CheckFree(TreeId tree, const std::string& key, uint32_t number, const RowView& row) {
    Arena arena(256);
    SISAL_ASSIGN_OR_RETURN(const auto taken, options_.transaction->Get(tree, key, arena));
    return taken.has_value() ? Status(DuplicatedKey(table_, number, row)) : Status();
  }

  const catalog::Table& table_;
  const ExecutionOptions& options_;
  std::string bytes_;
};

// Calls `visit` with each batch of the table's rows, and an arena that is empty again at the next.
template <typename Visit>
Status ForEachBatch(State& state, const ExecutionOptions& options, const catalog::Table& table, Visit visit) {
  const auto cursor = options.transaction->Scan(table.tree, {}, txn::Direction::kForward);
  txn::EntryBatch batch;
  Arena arena;
  for (;;) {
    SISAL_RETURN_IF_ERROR(state.CheckInterrupt());
    SISAL_RETURN_IF_ERROR(cursor->Next(type::kVectorSize, batch));
    if (batch.keys.empty()) return Status();
    arena.Reset();
    SISAL_RETURN_IF_ERROR(visit(batch, arena));
  }
}

Result<std::vector<Vector>> DecodeColumns(const catalog::Table& table, const txn::EntryBatch& batch, Arena& arena) {
  std::vector<Vector> columns;
  for (uint32_t i = 0; i < table.columns.size(); ++i) {
    SISAL_ASSIGN_OR_RETURN(columns.emplace_back(), DecodeColumn(table, i, batch, arena));
  }
  return columns;
}

}  // namespace

Result<std::vector<type::Datum>> EvaluateOnce(const sql::StatementPtr& statement, const ExecutionOptions& options,
                                              std::span<const sql::Assignment> assignments) {
  State state(statement, options);
  Frame frame{state, {}};
  std::vector<type::Datum> values;
  for (const sql::Assignment& assignment : assignments) {
    Program program = Program::Compile(assignment.value, frame);
    SISAL_ASSIGN_OR_RETURN(type::Datum value, program.EvaluateScalar());
    values.push_back(std::move(value));
  }
  return values;
}

Status CheckRows(const sql::StatementPtr& statement, const ExecutionOptions& options, const catalog::Table& table,
                 std::span<const uint32_t> columns, const sql::TableRules* rules) {
  State state(statement, options);
  Frame frame{state, {}};
  RuleCheck check(rules, frame);
  return ForEachBatch(state, options, table, [&](const txn::EntryBatch& batch, Arena& arena) -> Status {
    const auto count = static_cast<uint32_t>(batch.keys.size());
    for (const uint32_t column : columns) {
      SISAL_ASSIGN_OR_RETURN(const Vector values, DecodeColumn(table, column, batch, arena));
      for (uint32_t row = 0; row < count; ++row) {
        if (values.IsNull(row)) return ContainsNulls(table, column);
      }
    }
    if (check.empty()) return Status();
    SISAL_ASSIGN_OR_RETURN(std::vector<Vector> rows, DecodeColumns(table, batch, arena));
    return check.Pass({count, rows});
  });
}

Status RewriteTable(const sql::StatementPtr& statement, const ExecutionOptions& options, const catalog::Table& from,
                    const catalog::Table& to, std::span<const sql::Assignment> values, const sql::TableRules* rules) {
  State state(statement, options);
  Frame frame{state, {}};
  Program program = Program::Compile(ExpressionsOf(values), frame);
  Filler filler(to, options);
  RuleCheck check(rules, frame);
  return ForEachBatch(state, options, from, [&](const txn::EntryBatch& batch, Arena& arena) -> Status {
    const auto count = static_cast<uint32_t>(batch.keys.size());
    SISAL_ASSIGN_OR_RETURN(std::vector<Vector> columns, DecodeColumns(from, batch, arena));
    std::vector<Vector> computed(values.size());
    SISAL_RETURN_IF_ERROR(program.Evaluate(type::Chunk{count, columns}, arena, computed));
    for (size_t i = from.columns.size(); i < to.columns.size(); ++i) {
      columns.push_back(type::MakeConstant(to.columns[i].type, type::Datum::Null(), arena));
    }
    for (size_t i = 0; i < values.size(); ++i) columns[values[i].column] = computed[i];
    SISAL_RETURN_IF_ERROR(check.Pass({count, columns}));
    for (uint32_t row = 0; row < count; ++row) SISAL_RETURN_IF_ERROR(filler.Add({columns, row}));
    return Status();
  });
}

}  // namespace sisal::exec
