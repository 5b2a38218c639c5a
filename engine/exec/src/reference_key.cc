#include "reference_key.h"

#include <algorithm>

namespace sisal::exec {

using type::Datum;
using type::TypeId;
using type::Vector;

namespace {

bool Fits(const type::SqlType& type, int64_t value) {
  switch (type.id) {
    case TypeId::kSmallint:
      return value >= INT16_MIN && value <= INT16_MAX;
    case TypeId::kInteger:
      return value >= INT32_MIN && value <= INT32_MAX;
    default:
      return true;
  }
}

}  // namespace

Result<StoredRow> StoredRow::Decode(const catalog::Table& table, const std::vector<uint32_t>& wanted,
                                    std::string_view bytes) {
  StoredRow row;
  row.arena_ = std::make_unique<Arena>(1024);
  const std::string_view stored = row.arena_->Copy(bytes);
  row.columns_.resize(table.columns.size());
  const auto decode = [&](uint32_t column) {
    row.columns_[column] = type::MakeVector(table.columns[column].type, 1, *row.arena_);
    return table.layout.Decode(stored, column, 0, row.columns_[column], *row.arena_);
  };
  for (const uint32_t column : wanted) SISAL_RETURN_IF_ERROR(decode(column));
  for (uint32_t column = 0; wanted.empty() && column < table.columns.size(); ++column) {
    SISAL_RETURN_IF_ERROR(decode(column));
  }
  return row;
}

bool SameColumns(const std::vector<uint32_t>& columns, const RowView& a, const RowView& b) {
  std::string left, right;
  for (const uint32_t column : columns) {
    const Vector& x = a.columns[column];
    const Vector& y = b.columns[column];
    if (x.ints == y.ints && x.nulls == y.nulls && x.IndexOf(a.row) == y.IndexOf(b.row)) continue;  // not assigned
    left.clear();
    right.clear();
    type::AppendKey(x.type, x, a.row, type::SortOrder::kAscending, false, left);
    type::AppendKey(y.type, y, b.row, type::SortOrder::kAscending, false, right);
    if (left != right) return false;
  }
  return true;
}

std::vector<Datum> ValuesOf(const std::vector<uint32_t>& columns, const RowView& row) {
  std::vector<Datum> values;
  values.reserve(columns.size());
  for (const uint32_t column : columns) {
    const Vector& vector = row.columns[column];
    values.push_back(vector.IsNull(row.row) ? Datum() : vector.ToDatum(row.row));
  }
  return values;
}

void AppendReferencedKey(const std::vector<sql::KeyPart>& parts, const std::vector<uint32_t>& columns,
                         const catalog::Table& parent, const std::vector<uint32_t>& referenced, const RowView& row,
                         std::string& key) {
  for (const sql::KeyPart& part : parts) {
    const Vector& values = row.columns[columns[part.column]];
    const type::SqlType& type = parent.columns[referenced[part.column]].type;
    if (type::IsIntegerType(type.id) && !Fits(type, values.Int(row.row))) return key.clear();
    type::AppendKey(type, values, row.row, part.order, part.nulls_first, key);
  }
}

Result<std::string> KeyOfChild(const sql::ChildRule& rule, const catalog::Table& parent, std::string_view bytes) {
  const std::vector<uint32_t>& columns = rule.key->columns;
  SISAL_ASSIGN_OR_RETURN(const StoredRow row, StoredRow::Decode(*rule.child, columns, bytes));
  std::string key;
  const auto is_null = [&](uint32_t column) { return row.columns()[column].IsNull(0); };
  if (std::any_of(columns.begin(), columns.end(), is_null)) return key;
  AppendReferencedKey(rule.parts, columns, parent, rule.key->referenced, row.view(), key);
  return key;
}

bool AppendAccessKey(const sql::ChildRule& rule, const std::vector<Datum>& values, std::string& key) {
  for (const sql::KeyPart& part : rule.access_parts) {
    const type::SqlType& type = rule.child->columns[rule.key->columns[part.column]].type;
    const Datum& value = values[part.column];
    if (type::IsIntegerType(type.id) && !Fits(type, value.as_int())) return false;
    type::AppendKey(type, value, part.order, part.nulls_first, key);
  }
  return true;
}

Result<Datum> ForColumn(const Datum& value, const type::SqlType& type) {
  if (value.is_null()) return value;
  if (type::IsIntegerType(type.id) && !Fits(type, value.as_int())) {
    return Error("22003", std::string(type::TypeName(type.id)) + " out of range");
  }
  Datum converted = value;
  SISAL_RETURN_IF_ERROR(type::ApplyModifiers(type, false, converted));
  return converted;
}

}  // namespace sisal::exec
