// ALTER TABLE: the binder has worked out the new definition; here the rows are made to fit it.
#include <algorithm>

#include "result.h"
#include "session.h"
#include "sisal/exec/alter.h"

namespace sisal::db {
namespace {

// A definition is in memory as long as its table is: longer values go into the rows.
constexpr size_t kMissingBytesMax = 16 << 10;

bool FitsDefinition(const type::SqlType& type, const type::Datum& value) {
  return value.is_null() || type.storage() != type::Storage::kBytes || value.as_bytes().size() <= kMissingBytesMax;
}

void MakeAllTreesNew(catalog::Table& table) {
  table.tree = TreeId();
  for (catalog::Index& index : table.indexes) index.tree = TreeId();
}

}  // namespace

Status EngineSession::AlterTable(const sql::StatementPtr& statement, const CallOptions& options,
                                 std::vector<Notice>& notices) {
  const sql::AlterTableStatement& alter = statement->alter;
  for (const sql::StatementNotice& notice : alter.notices) notices.push_back({notice.sqlstate, notice.message, ""});
  if (alter.table == nullptr) return Status();
  catalog::Table changed = *alter.changed;
  std::vector<sql::Assignment> values = alter.values;
  std::vector<uint32_t> not_null = alter.not_null;

  // Rows need not be touched for a value that all of them have alike.
  SISAL_ASSIGN_OR_RETURN(const std::vector<type::Datum> missing,
                         exec::EvaluateOnce(statement, MakeExecutionOptions(options), alter.missing));
  std::vector<catalog::Column> columns = changed.columns;
  bool fit = true;
  for (size_t i = 0; i < missing.size(); ++i) fit &= FitsDefinition(columns[alter.missing[i].column].type, missing[i]);
  if (fit) {
    for (size_t i = 0; i < missing.size(); ++i) {
      const uint32_t slot = alter.missing[i].column;
      columns[slot].missing = missing[i];
      if (!missing[i].is_null()) std::erase(not_null, slot);
    }
  } else {
    values.insert(values.end(), alter.missing.begin(), alter.missing.end());
    for (catalog::Column& column : columns) column.missing = type::Datum();
    MakeAllTreesNew(changed);
  }
  changed.SetColumns(std::move(columns));

  SISAL_RETURN_IF_ERROR(LockSequencesOf(*statement));
  const bool rewrites = changed.tree == TreeId();
  const bool builds = std::any_of(changed.indexes.begin(), changed.indexes.end(),
                                  [](const catalog::Index& index) { return index.tree == TreeId(); });
  if (rewrites || builds || !not_null.empty() || alter.rules != nullptr) {
    SISAL_RETURN_IF_ERROR(LockWhole(*alter.table, statement->command));
  } else {
    SISAL_RETURN_IF_ERROR(LockDefinition(*alter.table));
  }
  if (Root()->FindTable(alter.table->id) != alter.table) {
    return Error("40001",
                 "could not serialize access due to a concurrent change of table \"" + alter.table->name + "\"")
        .WithTable(alter.table->schema, alter.table->name);
  }
  std::vector<std::string> built;
  for (const catalog::Index& index : changed.indexes) {
    if (index.tree == TreeId()) built.push_back(index.name);
  }
  for (uint32_t slot = 0; slot < alter.table->columns.size(); ++slot) {
    const catalog::Column &before = alter.table->columns[slot], &after = changed.columns[slot];
    if (before.dropped == after.dropped && before.type == after.type) continue;
    SISAL_RETURN_IF_ERROR(
        CheckViews(catalog::ViewsUsing(*engine_.catalog->Newest(), alter.table->id, slot), alter.dependents));
  }
  if (changed.primary_key != alter.table->primary_key) {
    SISAL_RETURN_IF_ERROR(
        CheckViews(catalog::ViewsByKey(*engine_.catalog->Newest(), alter.table->id), alter.dependents));
  }
  for (const catalog::TablePtr& view : alter.dependents) {
    SISAL_RETURN_IF_ERROR(engine_.catalog->DropTable(*open_->txn, Changes(), view));
    SISAL_RETURN_IF_ERROR(CheckViews(catalog::ViewsUsing(*engine_.catalog->Newest(), view->id), alter.dependents));
  }
  SISAL_ASSIGN_OR_RETURN(const catalog::TablePtr result,
                         engine_.catalog->ChangeTable(*open_->txn, Changes(), alter.table, std::move(changed)));
  SISAL_RETURN_IF_ERROR(DropLostSequences(*alter.table, *result, statement->drop.cascade, notices));
  const exec::ExecutionOptions execution = MakeExecutionOptions(options);
  if (rewrites) {
    SISAL_RETURN_IF_ERROR(exec::RewriteTable(statement, execution, *alter.table, *result, values, alter.rules));
    return CheckNewForeignKeys(*alter.table, result, options);
  }
  for (const catalog::Index& index : result->indexes) {
    if (std::find(built.begin(), built.end(), index.name) == built.end()) continue;
    SISAL_RETURN_IF_ERROR(exec::BuildIndex(execution, *result, index));
  }
  if (!not_null.empty() || alter.rules != nullptr) {
    SISAL_RETURN_IF_ERROR(exec::CheckRows(statement, execution, *result, not_null, alter.rules));
  }
  return CheckNewForeignKeys(*alter.table, result, options);
}

// Both tables are locked by now, so the newest rows are the last ones.
Status EngineSession::CheckNewForeignKeys(const catalog::Table& before, const catalog::TablePtr& table,
                                          const CallOptions& options) {
  for (const catalog::ForeignKey& key : table->foreign_keys) {
    if (before.FindForeignKey(key.name) != nullptr) continue;
    SISAL_RETURN_IF_ERROR(exec::CheckForeignKey(MakeExecutionOptions(options), table, key));
  }
  return Status();
}

}  // namespace sisal::db
