// A table that CREATE TABLE or ALTER TABLE is about to make, as its clauses add to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node.h"
#include "sisal/sql/statement.h"

namespace sisal::sql {

struct DraftKey {
  std::string name;  // empty: to be chosen
  std::vector<uint32_t> columns;
};

struct TableDraft {
  std::string schema;
  std::string name;
  std::vector<catalog::Column> columns;
  std::vector<std::optional<bool>> null_allowed;  // of each column, where the text says so
  std::optional<DraftKey> primary_key;
  std::vector<DraftKey> unique_keys;
  std::vector<const PgQuery__Constraint*> check_nodes;
  struct ForeignKeyNode {
    const PgQuery__Constraint* node;
    std::vector<std::string> names;  // of its columns
  };
  std::vector<ForeignKeyNode> foreign_keys;
  std::vector<catalog::Check> checks;    // in the text's order, named
  std::vector<OwnedSequence> sequences;  // of serial and identity columns
};

// Not among the dropped ones.
std::optional<uint32_t> FindDraftColumn(const TableDraft& draft, std::string_view name);
// "a_b" of the columns a and b: the middle of a key's name.
std::string JoinedColumnNames(const std::vector<catalog::Column>& columns, const std::vector<uint32_t>& key);
bool IsSystemColumn(std::string_view name);
catalog::Index MakeUniqueConstraint(std::string name, const std::vector<uint32_t>& columns);

}  // namespace sisal::sql
