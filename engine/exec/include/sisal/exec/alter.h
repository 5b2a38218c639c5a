// What ALTER TABLE does to the rows that are there.
//
// Requires of all: the transaction holds the table whole, and its snapshot has all of its rows. What is written goes
// into trees that nobody else knows, so it needs no intents; the transaction's limit (54000) bounds it. Suspend.
#pragma once

#include <span>
#include <vector>

#include "sisal/exec/execution.h"
#include "sisal/sql/statement.h"

namespace sisal::exec {

// Values of expressions without columns, each once.
Result<std::vector<type::Datum>> EvaluateOnce(const sql::StatementPtr& statement, const ExecutionOptions& options,
                                              std::span<const sql::Assignment> assignments);

// 23502 if a row of the table is NULL in one of `columns`, 23514 if it does not keep to `rules` (nullptr: none).
Status CheckRows(const sql::StatementPtr& statement, const ExecutionOptions& options, const catalog::Table& table,
                 std::span<const uint32_t> columns, const sql::TableRules* rules);

// Fills the trees of `to`, all of them new, with the rows of `from`. Columns that `values` does not compute (over the
// old row's slots) keep their values; new ones are NULL. Errors: 23502, 23505, 23514.
Status RewriteTable(const sql::StatementPtr& statement, const ExecutionOptions& options, const catalog::Table& from,
                    const catalog::Table& to, std::span<const sql::Assignment> values, const sql::TableRules* rules);

// 23503 if a row of the table breaks this foreign key of its. Requires: nobody else can write it or the table that it
// references. Suspends.
Status CheckForeignKey(const ExecutionOptions& options, const catalog::TablePtr& table, const catalog::ForeignKey& key);

}  // namespace sisal::exec
