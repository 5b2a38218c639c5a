#include "sisal/catalog/schema.h"

#include <algorithm>
#include <utility>

namespace sisal::catalog {
namespace {

type::RowLayout LayoutOf(const std::vector<Column>& columns) {
  std::vector<type::SqlType> types;
  std::vector<type::RowLayout::Rule> rules;
  types.reserve(columns.size());
  rules.reserve(columns.size());
  for (const Column& column : columns) {
    types.push_back(column.type);
    rules.push_back({column.missing, column.dropped});
  }
  return type::RowLayout(std::move(types), std::move(rules));
}

}  // namespace

Table::Table(std::vector<Column> table_columns) : columns(std::move(table_columns)), layout(LayoutOf(columns)) {}

void Table::SetColumns(std::vector<Column> table_columns) {
  columns = std::move(table_columns);
  layout = LayoutOf(columns);
}

std::optional<uint32_t> Table::FindColumn(std::string_view column_name) const {
  for (uint32_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == column_name && !columns[i].dropped) return i;
  }
  return std::nullopt;
}

std::vector<uint32_t> Table::LiveColumns() const {
  std::vector<uint32_t> live;
  live.reserve(columns.size());
  for (uint32_t i = 0; i < columns.size(); ++i) {
    if (!columns[i].dropped) live.push_back(i);
  }
  return live;
}

const ForeignKey* Table::FindForeignKey(std::string_view key_name) const {
  for (const ForeignKey& key : foreign_keys) {
    if (key.name == key_name) return &key;
  }
  return nullptr;
}

std::optional<uint32_t> Table::FindUniqueKey(std::vector<uint32_t> key_columns) const {
  std::sort(key_columns.begin(), key_columns.end());
  std::vector<uint32_t> key = primary_key;
  std::sort(key.begin(), key.end());
  if (!key.empty() && key == key_columns) return 0;
  for (uint32_t i = 0; i < indexes.size(); ++i) {
    if (!indexes[i].unique) continue;
    key.clear();
    for (const IndexColumn& column : indexes[i].columns) key.push_back(column.column);
    std::sort(key.begin(), key.end());
    if (key == key_columns) return i + 1;
  }
  return std::nullopt;
}

}  // namespace sisal::catalog
