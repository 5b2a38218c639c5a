#include "definition.h"

#include <utility>

#include "sisal/base/bytes.h"

namespace sisal::catalog {
namespace {

constexpr uint8_t kFormatVersion = 1;
constexpr uint8_t kNotNull = 1;
constexpr uint8_t kUnique = 1, kIsConstraint = 2;
constexpr uint8_t kDescending = 1, kNullsFirst = 2;

bool ReadNumber(ByteReader& reader, uint32_t& number) {
  uint64_t value = 0;
  if (!reader.ReadVarint(value) || value > UINT32_MAX) return false;
  number = static_cast<uint32_t>(value);
  return true;
}

// A count of things that take at least a byte each, so that no count makes us allocate more than the bytes justify.
bool ReadCount(ByteReader& reader, uint32_t& count) {
  return ReadNumber(reader, count) && count <= reader.rest().size();
}

bool ReadString(ByteReader& reader, std::string& text) {
  std::string_view bytes;
  if (!reader.ReadLengthPrefixed(bytes)) return false;
  text.assign(bytes);
  return true;
}

bool ReadFlags(ByteReader& reader, uint8_t known, uint8_t& flags) {
  return reader.ReadLittle(flags) && (flags & ~known) == 0;
}

bool IsStoredType(type::TypeId id) {
  switch (id) {
    case type::TypeId::kBoolean:
    case type::TypeId::kSmallint:
    case type::TypeId::kInteger:
    case type::TypeId::kBigint:
    case type::TypeId::kReal:
    case type::TypeId::kDouble:
    case type::TypeId::kNumeric:
    case type::TypeId::kText:
    case type::TypeId::kVarchar:
    case type::TypeId::kChar:
    case type::TypeId::kBytea:
    case type::TypeId::kDate:
    case type::TypeId::kTime:
    case type::TypeId::kTimestamp:
    case type::TypeId::kTimestampTz:
    case type::TypeId::kInterval:
    case type::TypeId::kUuid:
      return true;
    case type::TypeId::kUnknown:
      return false;
  }
  return false;
}

bool ReadColumn(ByteReader& reader, Column& column) {
  uint8_t type_id = 0, flags = 0;
  if (!ReadString(reader, column.name) || !reader.ReadLittle(type_id)) return false;
  column.type.id = static_cast<type::TypeId>(type_id);
  if (!IsStoredType(column.type.id) || !reader.ReadLittle(column.type.precision) ||
      !reader.ReadLittle(column.type.scale) || !reader.ReadLittle(column.type.length) ||
      !ReadFlags(reader, kNotNull, flags) || !ReadString(reader, column.default_sql)) {
    return false;
  }
  column.not_null = (flags & kNotNull) != 0;
  return true;
}

bool ReadIndex(ByteReader& reader, size_t table_columns, Index& index) {
  uint8_t flags = 0;
  uint32_t count = 0;
  if (!ReadNumber(reader, index.id.value) || !ReadNumber(reader, index.tree.value) || !ReadString(reader, index.name) ||
      !ReadFlags(reader, kUnique | kIsConstraint, flags) || !ReadCount(reader, count)) {
    return false;
  }
  index.unique = (flags & kUnique) != 0;
  index.is_constraint = (flags & kIsConstraint) != 0;
  index.columns.resize(count);
  for (IndexColumn& column : index.columns) {
    uint8_t order = 0;
    if (!ReadNumber(reader, column.column) || column.column >= table_columns ||
        !ReadFlags(reader, kDescending | kNullsFirst, order)) {
      return false;
    }
    column.order = (order & kDescending) != 0 ? type::SortOrder::kDescending : type::SortOrder::kAscending;
    column.nulls_first = (order & kNullsFirst) != 0;
  }
  return true;
}

bool ReadPrimaryKey(ByteReader& reader, Table& table) {
  uint32_t count = 0;
  if (!ReadCount(reader, count)) return false;
  table.primary_key.resize(count);
  for (uint32_t& column : table.primary_key) {
    if (!ReadNumber(reader, column) || column >= table.columns.size()) return false;
  }
  return ReadString(reader, table.primary_key_name);
}

std::shared_ptr<Table> ReadTable(ByteReader& reader) {
  ObjectId id;
  TreeId tree;
  std::string schema, name;
  uint32_t column_count = 0, index_count = 0;
  if (!ReadNumber(reader, id.value) || !ReadNumber(reader, tree.value) || !ReadString(reader, schema) ||
      !ReadString(reader, name) || !ReadCount(reader, column_count)) {
    return nullptr;
  }
  std::vector<Column> columns(column_count);
  for (Column& column : columns) {
    if (!ReadColumn(reader, column)) return nullptr;
  }
  auto table = std::make_shared<Table>(std::move(columns));
  table->id = id;
  table->tree = tree;
  table->schema = std::move(schema);
  table->name = std::move(name);
  if (!ReadPrimaryKey(reader, *table) || !ReadCount(reader, index_count)) return nullptr;
  table->indexes.resize(index_count);
  for (Index& index : table->indexes) {
    if (!ReadIndex(reader, table->columns.size(), index)) return nullptr;
  }
  return reader.empty() ? table : nullptr;
}

void AppendIndex(const Index& index, std::string& out) {
  AppendVarint(out, index.id.value);
  AppendVarint(out, index.tree.value);
  AppendLengthPrefixed(out, index.name);
  AppendLittle(out, static_cast<uint8_t>((index.unique ? kUnique : 0) | (index.is_constraint ? kIsConstraint : 0)));
  AppendVarint(out, index.columns.size());
  for (const IndexColumn& column : index.columns) {
    const bool descending = column.order == type::SortOrder::kDescending;
    AppendVarint(out, column.column);
    AppendLittle(out, static_cast<uint8_t>((descending ? kDescending : 0) | (column.nulls_first ? kNullsFirst : 0)));
  }
}

}  // namespace

std::string EncodeDefinition(const Table& table) {
  std::string out;
  AppendLittle(out, kFormatVersion);
  AppendVarint(out, table.id.value);
  AppendVarint(out, table.tree.value);
  AppendLengthPrefixed(out, table.schema);
  AppendLengthPrefixed(out, table.name);
  AppendVarint(out, table.columns.size());
  for (const Column& column : table.columns) {
    AppendLengthPrefixed(out, column.name);
    AppendLittle(out, static_cast<uint8_t>(column.type.id));
    AppendLittle(out, column.type.precision);
    AppendLittle(out, column.type.scale);
    AppendLittle(out, column.type.length);
    AppendLittle(out, column.not_null ? kNotNull : uint8_t{0});
    AppendLengthPrefixed(out, column.default_sql);
  }
  AppendVarint(out, table.primary_key.size());
  for (const uint32_t column : table.primary_key) AppendVarint(out, column);
  AppendLengthPrefixed(out, table.primary_key_name);
  AppendVarint(out, table.indexes.size());
  for (const Index& index : table.indexes) AppendIndex(index, out);
  return out;
}

Result<TablePtr> DecodeDefinition(std::string_view bytes) {
  ByteReader reader(bytes);
  uint8_t version = 0;
  if (!reader.ReadLittle(version)) return Error("XX001", "a table's definition is empty");
  if (version != kFormatVersion) {
    return Error("XX001", "a table's definition has format version " + std::to_string(version) +
                              ", this program reads version 1");
  }
  std::shared_ptr<Table> table = ReadTable(reader);
  if (table == nullptr) return Error("XX001", "a table's definition is malformed");
  return TablePtr(std::move(table));
}

}  // namespace sisal::catalog
