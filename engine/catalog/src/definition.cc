#include "definition.h"

#include <span>
#include <utility>

#include "sisal/base/bytes.h"
#include "sisal/base/check.h"
#include "sisal/type/vector.h"

namespace sisal::catalog {
namespace {

constexpr uint8_t kPlainVersion = 1;     // without extras: as it was before there were any
constexpr uint8_t kExtendedVersion = 2;  // with a list of extras behind each column and behind the table
constexpr uint8_t kNotNull = 1;
constexpr uint8_t kUnique = 1, kIsConstraint = 2;
constexpr uint8_t kDescending = 1, kNullsFirst = 2;
constexpr uint8_t kNoInherit = 1;
constexpr uint8_t kUsed = 1, kByKey = 2;
constexpr uint8_t kMatchFull = 1;

// What a definition may hold besides, by tag. Numbers are part of the file format.
enum class ColumnExtra : uint8_t { kDropped = 1, kMissing = 2, kIdentity = 3, kSequences = 4 };
enum class TableExtra : uint8_t { kChecks = 1, kForeignKeys = 2, kReferrers = 3, kView = 4 };

// A list of extras: their count, then for each its tag and its length-prefixed bytes.
template <typename Tag>
class ExtrasWriter {
 public:
  void Add(Tag tag, std::string_view bytes) {
    ++count_;
    AppendLittle(bytes_, static_cast<uint8_t>(tag));
    AppendLengthPrefixed(bytes_, bytes);
  }
  bool empty() const { return count_ == 0; }
  void AppendTo(std::string& out) const {
    AppendVarint(out, count_);
    out.append(bytes_);
  }

 private:
  uint32_t count_ = 0;
  std::string bytes_;
};

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

// Calls `read` (tag, bytes) for each extra of a list, until it returns false.
template <typename Tag, typename Read>
bool ReadExtras(ByteReader& reader, Read read) {
  uint32_t count = 0;
  if (!ReadCount(reader, count)) return false;
  for (; count > 0; --count) {
    uint8_t tag = 0;
    std::string_view bytes;
    if (!reader.ReadLittle(tag) || !reader.ReadLengthPrefixed(bytes) || !read(static_cast<Tag>(tag), bytes)) {
      return false;
    }
  }
  return true;
}

// A value as a row of this one column.
std::string EncodeValue(const type::SqlType& type, const type::Datum& value) {
  Arena arena(256);
  const type::Vector vector = type::MakeConstant(type, value, arena);
  std::string bytes;
  const Status status = type::RowLayout({type}).Encode(std::span(&vector, 1), 0, bytes);
  SISAL_CHECK(status.ok());  // what has been bound as a constant is far below the row size limit
  return bytes;
}

bool ReadValue(const type::SqlType& type, std::string_view bytes, type::Datum& value) {
  Arena arena(256);
  type::Vector vector = type::MakeVector(type, 1, arena);
  if (!type::RowLayout({type}).Decode(bytes, 0, 0, vector, arena).ok()) return false;
  value = vector.ToDatum(0);
  return true;
}

std::string EncodeSequences(const std::vector<ObjectId>& sequences) {
  std::string content;
  AppendVarint(content, sequences.size());
  for (const ObjectId id : sequences) AppendVarint(content, id.value);
  return content;
}

bool ReadSequences(std::string_view bytes, std::vector<ObjectId>& sequences) {
  ByteReader reader(bytes);
  uint32_t count = 0;
  if (!ReadCount(reader, count)) return false;
  sequences.resize(count);
  for (ObjectId& id : sequences) {
    if (!ReadNumber(reader, id.value)) return false;
  }
  return reader.empty();
}

ExtrasWriter<ColumnExtra> ExtrasOf(const Column& column) {
  ExtrasWriter<ColumnExtra> extras;
  if (column.dropped) extras.Add(ColumnExtra::kDropped, {});
  if (!column.missing.is_null()) extras.Add(ColumnExtra::kMissing, EncodeValue(column.type, column.missing));
  if (column.identity != Identity::kNone) {
    extras.Add(ColumnExtra::kIdentity, std::string(1, static_cast<char>(column.identity)));
  }
  if (!column.sequences.empty()) extras.Add(ColumnExtra::kSequences, EncodeSequences(column.sequences));
  return extras;
}

bool ReadColumnExtra(ColumnExtra tag, std::string_view bytes, Column& column) {
  switch (tag) {
    case ColumnExtra::kDropped:
      column.dropped = true;
      return bytes.empty();
    case ColumnExtra::kMissing:
      return ReadValue(column.type, bytes, column.missing);
    case ColumnExtra::kIdentity:
      if (bytes.size() != 1 || bytes[0] < 1 || bytes[0] > 2) return false;
      column.identity = static_cast<Identity>(bytes[0]);
      return true;
    case ColumnExtra::kSequences:
      return ReadSequences(bytes, column.sequences);
  }
  return false;
}

std::string EncodeChecks(const std::vector<Check>& checks) {
  std::string content;
  AppendVarint(content, checks.size());
  for (const Check& check : checks) {
    AppendLengthPrefixed(content, check.name);
    AppendLengthPrefixed(content, check.sql);
    AppendLittle(content, check.no_inherit ? kNoInherit : uint8_t{0});
  }
  return content;
}

std::string EncodeForeignKeys(const std::vector<ForeignKey>& keys) {
  std::string content;
  AppendVarint(content, keys.size());
  for (const ForeignKey& key : keys) {
    AppendLengthPrefixed(content, key.name);
    AppendLittle(content, key.match_full ? kMatchFull : uint8_t{0});
    AppendLittle(content, static_cast<uint8_t>(key.on_delete));
    AppendLittle(content, static_cast<uint8_t>(key.on_update));
    AppendVarint(content, key.table.value);
    AppendVarint(content, key.columns.size());
    for (const uint32_t column : key.columns) AppendVarint(content, column);
    for (const uint32_t column : key.referenced) AppendVarint(content, column);
    AppendVarint(content, key.set_on_delete.size());
    for (const uint32_t column : key.set_on_delete) AppendVarint(content, column);
  }
  return content;
}

std::string EncodeReferrers(const std::vector<Referrer>& referrers) {
  std::string content;
  AppendVarint(content, referrers.size());
  for (const Referrer& referrer : referrers) {
    AppendVarint(content, referrer.table.value);
    AppendLengthPrefixed(content, referrer.foreign_key);
  }
  return content;
}

std::string EncodeView(const View& view) {
  std::string content;
  AppendLengthPrefixed(content, view.sql);
  AppendLengthPrefixed(content, view.settings.time_zone);
  AppendLittle(content, view.settings.time_zone_offset_seconds);
  AppendLittle(content, view.settings.now_micros);
  AppendVarint(content, view.sources.size());
  for (const ViewSource& source : view.sources) {
    AppendLengthPrefixed(content, source.schema);
    AppendLengthPrefixed(content, source.name);
    AppendVarint(content, source.relation.value);
    AppendVarint(content, source.columns.size());
    for (const ViewColumn& column : source.columns) {
      AppendLengthPrefixed(content, column.name);
      AppendVarint(content, column.slot);
      AppendLittle(content, static_cast<uint8_t>((column.used ? kUsed : 0) | (column.key ? kByKey : 0)));
    }
  }
  return content;
}

ExtrasWriter<TableExtra> ExtrasOf(const Table& table) {
  ExtrasWriter<TableExtra> extras;
  if (!table.checks.empty()) extras.Add(TableExtra::kChecks, EncodeChecks(table.checks));
  if (!table.foreign_keys.empty()) extras.Add(TableExtra::kForeignKeys, EncodeForeignKeys(table.foreign_keys));
  if (!table.referrers.empty()) extras.Add(TableExtra::kReferrers, EncodeReferrers(table.referrers));
  if (table.view.has_value()) extras.Add(TableExtra::kView, EncodeView(*table.view));
  return extras;
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

bool ReadChecks(ByteReader& reader, Table& table) {
  uint32_t count = 0;
  if (!ReadCount(reader, count)) return false;
  table.checks.resize(count);
  for (Check& check : table.checks) {
    uint8_t flags = 0;
    if (!ReadString(reader, check.name) || !ReadString(reader, check.sql) || !ReadFlags(reader, kNoInherit, flags)) {
      return false;
    }
    check.no_inherit = (flags & kNoInherit) != 0;
  }
  return true;
}

bool ReadAction(ByteReader& reader, ReferenceAction& action) {
  uint8_t value = 0;
  if (!reader.ReadLittle(value) || value > static_cast<uint8_t>(ReferenceAction::kSetDefault)) return false;
  action = static_cast<ReferenceAction>(value);
  return true;
}

// `columns_max`: of the table that they are positions in; UINT32_MAX: not known here.
bool ReadColumns(ByteReader& reader, size_t columns_max, std::vector<uint32_t>& columns) {
  for (uint32_t& column : columns) {
    if (!ReadNumber(reader, column) || column >= columns_max) return false;
  }
  return true;
}

bool ReadForeignKey(ByteReader& reader, size_t table_columns, ForeignKey& key) {
  uint8_t flags = 0;
  uint32_t count = 0;
  if (!ReadString(reader, key.name) || !ReadFlags(reader, kMatchFull, flags) || !ReadAction(reader, key.on_delete) ||
      !ReadAction(reader, key.on_update) || !ReadNumber(reader, key.table.value)) {
    return false;
  }
  key.match_full = (flags & kMatchFull) != 0;
  if (!ReadCount(reader, count) || count == 0) return false;
  key.columns.resize(count);
  key.referenced.resize(count);
  if (!ReadColumns(reader, table_columns, key.columns) || !ReadColumns(reader, UINT32_MAX, key.referenced))
    return false;
  if (!ReadCount(reader, count)) return false;
  key.set_on_delete.resize(count);
  return ReadColumns(reader, table_columns, key.set_on_delete);
}

bool ReadForeignKeys(ByteReader& reader, Table& table) {
  uint32_t count = 0;
  if (!ReadCount(reader, count)) return false;
  table.foreign_keys.resize(count);
  for (ForeignKey& key : table.foreign_keys) {
    if (!ReadForeignKey(reader, table.columns.size(), key)) return false;
  }
  return true;
}

bool ReadReferrers(ByteReader& reader, Table& table) {
  uint32_t count = 0;
  if (!ReadCount(reader, count)) return false;
  table.referrers.resize(count);
  for (Referrer& referrer : table.referrers) {
    if (!ReadNumber(reader, referrer.table.value) || !ReadString(reader, referrer.foreign_key)) return false;
  }
  return true;
}

bool ReadSource(ByteReader& reader, ViewSource& source) {
  uint32_t count = 0;
  if (!ReadString(reader, source.schema) || !ReadString(reader, source.name) ||
      !ReadNumber(reader, source.relation.value) || !ReadCount(reader, count)) {
    return false;
  }
  source.columns.resize(count);
  for (ViewColumn& column : source.columns) {
    uint8_t flags = 0;
    if (!ReadString(reader, column.name) || !ReadNumber(reader, column.slot) ||
        !ReadFlags(reader, kUsed | kByKey, flags)) {
      return false;
    }
    column.used = (flags & kUsed) != 0;
    column.key = (flags & kByKey) != 0;
  }
  return true;
}

bool ReadView(ByteReader& reader, Table& table) {
  View& view = table.view.emplace();
  uint32_t count = 0;
  if (!ReadString(reader, view.sql) || !ReadString(reader, view.settings.time_zone) ||
      !reader.ReadLittle(view.settings.time_zone_offset_seconds) || !reader.ReadLittle(view.settings.now_micros) ||
      !ReadCount(reader, count)) {
    return false;
  }
  view.sources.resize(count);
  for (ViewSource& source : view.sources) {
    if (!ReadSource(reader, source)) return false;
  }
  return true;
}

bool ReadTableExtra(TableExtra tag, std::string_view bytes, Table& table) {
  ByteReader reader(bytes);
  switch (tag) {
    case TableExtra::kChecks:
      return ReadChecks(reader, table) && reader.empty();
    case TableExtra::kForeignKeys:
      return ReadForeignKeys(reader, table) && reader.empty();
    case TableExtra::kReferrers:
      return ReadReferrers(reader, table) && reader.empty();
    case TableExtra::kView:
      return ReadView(reader, table) && reader.empty();
  }
  return false;
}

std::shared_ptr<Table> ReadTable(ByteReader& reader, bool extended) {
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
    const auto read_extra = [&](ColumnExtra tag, std::string_view bytes) {
      return ReadColumnExtra(tag, bytes, column);
    };
    if (extended && !ReadExtras<ColumnExtra>(reader, read_extra)) return nullptr;
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
  const auto read_extra = [&](TableExtra tag, std::string_view bytes) { return ReadTableExtra(tag, bytes, *table); };
  if (extended && !ReadExtras<TableExtra>(reader, read_extra)) return nullptr;
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
  const ExtrasWriter<TableExtra> table_extras = ExtrasOf(table);
  bool extended = !table_extras.empty();
  std::vector<ExtrasWriter<ColumnExtra>> column_extras;
  for (const Column& column : table.columns) {
    column_extras.push_back(ExtrasOf(column));
    extended |= !column_extras.back().empty();
  }
  std::string out;
  AppendLittle(out, extended ? kExtendedVersion : kPlainVersion);
  AppendVarint(out, table.id.value);
  AppendVarint(out, table.tree.value);
  AppendLengthPrefixed(out, table.schema);
  AppendLengthPrefixed(out, table.name);
  AppendVarint(out, table.columns.size());
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    AppendLengthPrefixed(out, column.name);
    AppendLittle(out, static_cast<uint8_t>(column.type.id));
    AppendLittle(out, column.type.precision);
    AppendLittle(out, column.type.scale);
    AppendLittle(out, column.type.length);
    AppendLittle(out, column.not_null ? kNotNull : uint8_t{0});
    AppendLengthPrefixed(out, column.default_sql);
    if (extended) column_extras[i].AppendTo(out);
  }
  AppendVarint(out, table.primary_key.size());
  for (const uint32_t column : table.primary_key) AppendVarint(out, column);
  AppendLengthPrefixed(out, table.primary_key_name);
  AppendVarint(out, table.indexes.size());
  for (const Index& index : table.indexes) AppendIndex(index, out);
  if (extended) table_extras.AppendTo(out);
  return out;
}

Result<TablePtr> DecodeDefinition(std::string_view bytes) {
  ByteReader reader(bytes);
  uint8_t version = 0;
  if (!reader.ReadLittle(version)) return Error("XX001", "a table's definition is empty");
  if (version != kPlainVersion && version != kExtendedVersion) {
    return Error("XX001", "a table's definition has format version " + std::to_string(version) +
                              ", this program reads versions 1 and 2");
  }
  std::shared_ptr<Table> table = ReadTable(reader, version == kExtendedVersion);
  if (table == nullptr) return Error("XX001", "a table's definition is malformed");
  return TablePtr(std::move(table));
}

}  // namespace sisal::catalog
