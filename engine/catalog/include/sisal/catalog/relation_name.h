// Names of relations in strings: what regclass reads, 'public."T_id_seq"'.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sisal/base/status.h"
#include "sisal/catalog/catalog.h"

namespace sisal::catalog {

struct RelationName {
  std::string schema;  // empty: by the search path
  std::string name;
};

// Errors: 42602 no name, 42601 too many dots, 0A000 of another database, or an object identifier.
Result<RelationName> ReadRelationName(std::string_view text);

// Errors: those of ReadRelationName, 3F000, 42P01, 42809 if it is no sequence, or no table.
Result<SequencePtr> FindSequenceNamed(const Root& root, std::span<const std::string> search_path,
                                      std::string_view text);
Result<TablePtr> FindTableNamed(const Root& root, std::span<const std::string> search_path, std::string_view text);

// As it has to stand in SQL: in quotes if it is no plain lower-case identifier.
std::string QuotedName(std::string_view name);

}  // namespace sisal::catalog
