// Views that describe the catalog: their columns. The executor makes their rows from the catalog root.
#pragma once

#include <span>
#include <string_view>

#include "sisal/type/sql_type.h"

namespace sisal::sql {

struct SystemViewColumn {
  std::string_view name;
  type::TypeId type;
};

struct SystemView {
  std::string_view name;  // with its schema: "information_schema.tables"; Plan::system_view
  std::span<const SystemViewColumn> columns;
};

// `schema` may be empty: pg_catalog. nullptr: there is no such view.
const SystemView* FindSystemView(std::string_view schema, std::string_view name);
std::span<const SystemView> AllSystemViews();

}  // namespace sisal::sql
