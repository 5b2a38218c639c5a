// CHECK constraints under ALTER TABLE: their texts name the table's columns.
#include <algorithm>

#include "alter_draft.h"
#include "binder.h"
#include "table_draft.h"

namespace sisal::sql {
namespace {

std::string Quoted(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

// What BindStoredText puts in front of a text.
constexpr int32_t kTextOffset = 8;

}  // namespace

Result<std::vector<Binder::ColumnUse>> Binder::UsesOf(const catalog::Check& check, const catalog::TablePtr& table) {
  std::vector<ColumnUse> uses;
  column_uses_ = &uses;
  const Status bound = BindCheckText(check, table).status();
  column_uses_ = nullptr;
  if (!bound.ok()) return bound.error();
  return uses;
}

Status Binder::DropChecksOf(uint32_t slot, AlterDraft& draft) {
  std::vector<catalog::Check> kept;
  for (catalog::Check& check : draft.changed.checks) {
    SISAL_ASSIGN_OR_RETURN(const std::vector<ColumnUse> uses, UsesOf(check, draft.table));
    const bool uses_it =
        std::any_of(uses.begin(), uses.end(), [&](const ColumnUse& use) { return use.column == slot; });
    if (!uses_it) kept.push_back(std::move(check));
  }
  draft.changed.checks = std::move(kept);
  return Status();
}

Status Binder::RenameInChecks(uint32_t slot, std::string_view new_name, AlterDraft& draft) {
  for (catalog::Check& check : draft.changed.checks) {
    SISAL_ASSIGN_OR_RETURN(const std::vector<ColumnUse> uses, UsesOf(check, draft.table));
    const Tokens tokens = ScanText(check.sql);
    if (tokens == nullptr)
      return Error("XX001", "the stored CHECK constraint \"" + check.name + "\" cannot be scanned");
    std::string text;
    size_t copied = 0;
    for (size_t i = 0; i < tokens->n_tokens; ++i) {
      const PgQuery__ScanToken& token = *tokens->tokens[i];
      const bool names_it = std::any_of(uses.begin(), uses.end(), [&](const ColumnUse& use) {
        return use.column == slot && use.location == token.start + kTextOffset;
      });
      if (!names_it) continue;
      text.append(check.sql, copied, static_cast<size_t>(token.start) - copied).append(Quoted(new_name));
      copied = static_cast<size_t>(token.end);
    }
    check.sql = text.append(check.sql, copied);
  }
  return Status();
}

Status Binder::AddChecks(const TableDraft& added, AlterDraft& draft) {
  if (added.check_nodes.empty()) return Status();
  const auto table = std::make_shared<catalog::Table>(draft.changed);
  table->SetColumns(draft.changed.columns);
  for (const PgQuery__Constraint* node : added.check_nodes) {
    if (node->skip_validation) return NotSupported(-1, "NOT VALID");
    SISAL_ASSIGN_OR_RETURN(catalog::Check check, BindCheck(*node, table, draft.new_checks));
    draft.new_checks.push_back(check.name);
    draft.changed.checks.push_back(std::move(check));
  }
  SortChecks(draft.changed);
  return Status();
}

// What rows that are there have to pass.
Status Binder::BindNewChecks(const AlterDraft& draft, const catalog::TablePtr& changed) {
  if (draft.new_checks.empty()) return Status();
  TableRules& rules = statement_.rules.emplace_back();
  rules.table = changed;
  for (const catalog::Check& check : changed->checks) {
    const auto& fresh = draft.new_checks;
    if (std::find(fresh.begin(), fresh.end(), check.name) == fresh.end()) continue;
    SISAL_ASSIGN_OR_RETURN(const Expr* condition, BindCheckText(check, changed));
    rules.checks.push_back({&check, condition});
  }
  statement_.alter.rules = &rules;
  return Status();
}

void SortChecks(catalog::Table& table) {
  std::sort(table.checks.begin(), table.checks.end(),
            [](const catalog::Check& a, const catalog::Check& b) { return a.name < b.name; });
}

}  // namespace sisal::sql
