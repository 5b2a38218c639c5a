#include "sisal/catalog/schema.h"

#include <utility>

namespace sisal::catalog {
namespace {

std::vector<type::SqlType> TypesOf(const std::vector<Column>& columns) {
  std::vector<type::SqlType> types;
  types.reserve(columns.size());
  for (const Column& column : columns) types.push_back(column.type);
  return types;
}

}  // namespace

Table::Table(std::vector<Column> table_columns) : columns(std::move(table_columns)), layout(TypesOf(columns)) {}

std::optional<uint32_t> Table::FindColumn(std::string_view column_name) const {
  for (uint32_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == column_name) return i;
  }
  return std::nullopt;
}

}  // namespace sisal::catalog
