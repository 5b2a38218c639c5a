// What the actions of one ALTER TABLE make of a table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node.h"
#include "sisal/base/status.h"
#include "sisal/catalog/schema.h"
#include "sisal/sql/plan.h"

namespace sisal::sql {

struct AlterDraft {
  explicit AlterDraft(catalog::TablePtr altered) : table(std::move(altered)), changed(*table) {}

  catalog::TablePtr table;
  catalog::Table changed;  // its layout is made at the end
  bool rewrites = false;   // rows change their place or their values
  std::vector<uint32_t> not_null;
  std::vector<std::string> new_checks;  // names of those that the rows have not been held against
  std::vector<Assignment> missing;
  std::vector<Assignment> values;
  std::vector<catalog::TablePtr> dependents;  // views that go
};

// As PostgreSQL's messages call it.
std::string_view NameOfAction(PgQuery__AlterTableType action);
Error NoSuchColumn(const catalog::Table& table, std::string_view column);
Error NoSuchConstraint(const catalog::Table& table, const std::string& constraint);
void SortChecks(catalog::Table& table);  // by name, as their order is
bool HasColumn(const catalog::Index& index, uint32_t column);

}  // namespace sisal::sql
