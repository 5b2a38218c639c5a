// What PostgreSQL 15 has by name and Sisal has not: the error says "not supported" (0A000) and not "does not exist".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sisal::sql {

bool IsPostgresFunction(std::string_view name, size_t argument_count);
// `schema` may be empty: then the relation is one of pg_catalog.
bool IsPostgresRelation(std::string_view schema, std::string_view name);

}  // namespace sisal::sql
