// Rows of information_schema and pg_catalog views, made from the catalog root. Columns: sql/system_view.h.
#include "sisal/sql/system_view.h"

#include <algorithm>

#include "operator.h"

namespace sisal::exec {

using type::Chunk;
using type::Datum;
using type::TypeId;
using type::Vector;

namespace {

using Row = std::vector<Datum>;
using Rows = std::vector<Row>;

Datum Text(std::string_view text) { return Datum::Bytes(std::string(text)); }
Datum TextOrNull(const std::string& text) { return text.empty() ? Datum::Null() : Text(text); }

std::string Quoted(const std::string& name) {
  const bool plain = !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
                     std::all_of(name.begin(), name.end(),
                                 [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
  if (plain) return name;
  std::string quoted = "\"";
  for (char c : name) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

// One primary key or unique index of a table.
struct KeyView {
  std::string name;
  bool constraint;
  bool unique;
  std::string columns_sql;  // "a, b DESC"
  std::vector<uint32_t> columns;
};

std::vector<KeyView> KeysOf(const catalog::Table& table) {
  std::vector<KeyView> keys;
  if (!table.primary_key.empty()) {
    KeyView key{table.primary_key_name, true, true, "", table.primary_key};
    for (uint32_t c : table.primary_key) {
      key.columns_sql += (key.columns_sql.empty() ? "" : ", ") + Quoted(table.columns[c].name);
    }
    keys.push_back(std::move(key));
  }
  for (const catalog::Index& index : table.indexes) {
    KeyView key{index.name, index.is_constraint, index.unique, "", {}};
    for (const catalog::IndexColumn& c : index.columns) {
      const bool descending = c.order == type::SortOrder::kDescending;
      key.columns_sql += (key.columns_sql.empty() ? "" : ", ") + Quoted(table.columns[c.column].name);
      if (descending) key.columns_sql += " DESC";
      if (c.nulls_first != descending) key.columns_sql += c.nulls_first ? " NULLS FIRST" : " NULLS LAST";
      key.columns.push_back(c.column);
    }
    keys.push_back(std::move(key));
  }
  return keys;
}

void AddTables(const catalog::Table& table, std::string_view database, Rows& rows) {
  rows.push_back({Text(database), Text(table.schema), Text(table.name),
                  Text(table.view.has_value() ? "VIEW" : "BASE TABLE"), Text(table.view.has_value() ? "NO" : "YES")});
}

std::string_view UdtName(TypeId id) {
  switch (id) {
    case TypeId::kBoolean:
      return "bool";
    case TypeId::kSmallint:
      return "int2";
    case TypeId::kInteger:
      return "int4";
    case TypeId::kBigint:
      return "int8";
    case TypeId::kReal:
      return "float4";
    case TypeId::kDouble:
      return "float8";
    case TypeId::kChar:
      return "bpchar";
    case TypeId::kVarchar:
      return "varchar";
    case TypeId::kTimestamp:
      return "timestamp";
    case TypeId::kTimestampTz:
      return "timestamptz";
    case TypeId::kTime:
      return "time";
    default:
      return type::TypeName(id);
  }
}

// Digits of the numeric types, as information_schema counts them: binary for floats and integers.
Datum PrecisionOf(const type::SqlType& type) {
  switch (type.id) {
    case TypeId::kSmallint:
      return Datum::Int(16);
    case TypeId::kInteger:
      return Datum::Int(32);
    case TypeId::kBigint:
      return Datum::Int(64);
    case TypeId::kReal:
      return Datum::Int(24);
    case TypeId::kDouble:
      return Datum::Int(53);
    case TypeId::kNumeric:
      return type.precision < 0 ? Datum::Null() : Datum::Int(type.precision);
    default:
      return Datum::Null();
  }
}

Datum ScaleOf(const type::SqlType& type) {
  if (type::IsIntegerType(type.id)) return Datum::Int(0);
  return type.id == TypeId::kNumeric && type.precision >= 0 ? Datum::Int(type.scale) : Datum::Null();
}

Datum DateTimePrecisionOf(const type::SqlType& type) {
  switch (type.id) {
    case TypeId::kDate:
      return Datum::Int(0);
    case TypeId::kTime:
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
    case TypeId::kInterval:
      return Datum::Int(type.precision < 0 ? 6 : type.precision);
    default:
      return Datum::Null();
  }
}

Datum Number(int64_t number) { return Text(std::to_string(number)); }

// is_identity and what follows it.
Row IdentityView(const catalog::Root& root, const catalog::Column& column) {
  const catalog::SequencePtr sequence =
      column.identity == catalog::Identity::kNone ? nullptr : root.FindSequence(column.sequences.at(0));
  if (sequence == nullptr) {
    const Datum null = Datum::Null();
    return {Text("NO"), null, null, null, null, null, Text("NO")};
  }
  return {Text("YES"),
          Text(column.identity == catalog::Identity::kAlways ? "ALWAYS" : "BY DEFAULT"),
          Number(sequence->start),
          Number(sequence->increment),
          Number(sequence->max),
          Number(sequence->min),
          Text(sequence->cycle ? "YES" : "NO")};
}

void AddColumns(const catalog::Root& root, const catalog::Table& table, std::string_view database, Rows& rows) {
  for (const uint32_t i : table.LiveColumns()) {  // ordinal positions keep the gaps, as in PostgreSQL
    const catalog::Column& column = table.columns[i];
    const bool sized =
        (column.type.id == TypeId::kVarchar || column.type.id == TypeId::kChar) && column.type.length > 0;
    rows.push_back({Text(database), Text(table.schema), Text(table.name), Text(column.name),
                    Datum::Int(static_cast<int64_t>(i) + 1), TextOrNull(column.default_sql),
                    Text(column.not_null ? "NO" : "YES"), Text(type::TypeName(column.type.id)),
                    sized ? Datum::Int(column.type.length) : Datum::Null(), PrecisionOf(column.type),
                    ScaleOf(column.type), DateTimePrecisionOf(column.type), Text(UdtName(column.type.id))});
    for (Datum& value : IdentityView(root, column)) rows.back().push_back(std::move(value));
    rows.back().push_back(Text(table.view.has_value() ? "NO" : "YES"));
  }
}

bool IsOfIdentityColumn(const catalog::Root& root, const catalog::Sequence& sequence) {
  const catalog::TablePtr table = root.FindTable(sequence.owner);
  if (table == nullptr) return false;
  return std::any_of(table->columns.begin(), table->columns.end(), [&](const catalog::Column& column) {
    return column.identity != catalog::Identity::kNone && !column.sequences.empty() &&
           column.sequences[0] == sequence.id;
  });
}

void AddSequence(const catalog::Root& root, const catalog::Sequence& sequence, std::string_view database, Rows& rows) {
  if (IsOfIdentityColumn(root, sequence)) return;
  rows.push_back({Text(database), Text(sequence.schema), Text(sequence.name), Text(type::TypeName(sequence.type)),
                  PrecisionOf(sequence.type), Datum::Int(2), Datum::Int(0), Number(sequence.start),
                  Number(sequence.min), Number(sequence.max), Number(sequence.increment),
                  Text(sequence.cycle ? "YES" : "NO")});
}

void AddPgSequence(const catalog::Sequence& sequence, std::string_view owner, Rows& rows) {
  const catalog::SequenceValue value = sequence.state->Look().value;
  rows.push_back({Text(sequence.schema), Text(sequence.name), Text(owner), Text(type::TypeName(sequence.type)),
                  Datum::Int(sequence.start), Datum::Int(sequence.min), Datum::Int(sequence.max),
                  Datum::Int(sequence.increment), Datum::Bool(sequence.cycle), Datum::Int(sequence.cache),
                  value.called ? Datum::Int(value.last) : Datum::Null()});
}

void AddTableConstraints(const catalog::Table& table, std::string_view database, Rows& rows) {
  for (const KeyView& key : KeysOf(table)) {
    if (!key.constraint) continue;
    const bool primary = key.name == table.primary_key_name;
    rows.push_back({Text(database), Text(table.schema), Text(key.name), Text(database), Text(table.schema),
                    Text(table.name), Text(primary ? "PRIMARY KEY" : "UNIQUE"), Text("NO"), Text("NO")});
  }
  for (const catalog::Check& check : table.checks) {
    rows.push_back({Text(database), Text(table.schema), Text(check.name), Text(database), Text(table.schema),
                    Text(table.name), Text("CHECK"), Text("NO"), Text("NO")});
  }
  for (const catalog::ForeignKey& key : table.foreign_keys) {
    rows.push_back({Text(database), Text(table.schema), Text(key.name), Text(database), Text(table.schema),
                    Text(table.name), Text("FOREIGN KEY"), Text("NO"), Text("NO")});
  }
}

void AddCheckConstraints(const catalog::Table& table, std::string_view database, Rows& rows) {
  for (const catalog::Check& check : table.checks) {
    rows.push_back({Text(database), Text(table.schema), Text(check.name), Text(check.sql), Text(table.name)});
  }
}

std::string_view ActionName(catalog::ReferenceAction action) {
  switch (action) {
    case catalog::ReferenceAction::kNoAction:
      return "NO ACTION";
    case catalog::ReferenceAction::kRestrict:
      return "RESTRICT";
    case catalog::ReferenceAction::kCascade:
      return "CASCADE";
    case catalog::ReferenceAction::kSetNull:
      return "SET NULL";
    case catalog::ReferenceAction::kSetDefault:
      return "SET DEFAULT";
  }
  return "";
}

std::string ColumnList(const catalog::Table& table, const std::vector<uint32_t>& columns) {
  std::string list;
  for (const uint32_t column : columns) list += (list.empty() ? "" : ", ") + Quoted(table.columns[column].name);
  return "(" + list + ")";
}

// As PostgreSQL's pg_get_constraintdef has it.
std::string DefinitionOf(const catalog::ForeignKey& key, const catalog::Table& table, const catalog::Table& parent) {
  std::string text = "FOREIGN KEY " + ColumnList(table, key.columns) + " REFERENCES " + Quoted(parent.name) +
                     ColumnList(parent, key.referenced);
  if (key.match_full) text += " MATCH FULL";
  const auto add = [&](const char* event, catalog::ReferenceAction action) {
    if (action != catalog::ReferenceAction::kNoAction) text += event + std::string(ActionName(action));
  };
  add(" ON UPDATE ", key.on_update);
  add(" ON DELETE ", key.on_delete);
  if (!key.set_on_delete.empty()) text += " " + ColumnList(table, key.set_on_delete);
  return text;
}

void AddReferentialConstraints(const catalog::Table& table, const catalog::Root& root, std::string_view database,
                               Rows& rows) {
  for (const catalog::ForeignKey& key : table.foreign_keys) {
    const catalog::TablePtr parent = root.FindTable(key.table);
    if (parent == nullptr) continue;
    const std::optional<uint32_t> number = parent->FindUniqueKey(key.referenced);
    std::string unique_name;
    if (number == 0u) unique_name = parent->primary_key_name;
    if (number > 0u && parent->indexes[*number - 1].is_constraint) unique_name = parent->indexes[*number - 1].name;
    rows.push_back({Text(database), Text(table.schema), Text(key.name), Text(database), Text(parent->schema),
                    TextOrNull(unique_name), Text(key.match_full ? "FULL" : "NONE"), Text(ActionName(key.on_update)),
                    Text(ActionName(key.on_delete)), Text(table.name), Text(parent->name),
                    Text(DefinitionOf(key, table, *parent))});
  }
}

// Which column of the key that it references, from 1.
Datum PlaceInKey(const catalog::ForeignKey& key, size_t i, const catalog::Root& root) {
  const catalog::TablePtr parent = root.FindTable(key.table);
  const std::optional<uint32_t> number = parent == nullptr ? std::nullopt : parent->FindUniqueKey(key.referenced);
  if (!number.has_value()) return Datum::Null();
  std::vector<uint32_t> columns = parent->primary_key;
  if (*number > 0) {
    columns.clear();
    for (const catalog::IndexColumn& column : parent->indexes[*number - 1].columns) columns.push_back(column.column);
  }
  return Datum::Int(std::find(columns.begin(), columns.end(), key.referenced[i]) - columns.begin() + 1);
}

void AddKeyColumns(const catalog::Table& table, const catalog::Root& root, std::string_view database, Rows& rows) {
  for (const KeyView& key : KeysOf(table)) {
    if (!key.constraint) continue;
    for (size_t i = 0; i < key.columns.size(); ++i) {
      rows.push_back({Text(database), Text(table.schema), Text(key.name), Text(database), Text(table.schema),
                      Text(table.name), Text(table.columns[key.columns[i]].name),
                      Datum::Int(static_cast<int64_t>(i) + 1), Datum::Null()});
    }
  }
  for (const catalog::ForeignKey& key : table.foreign_keys) {
    for (size_t i = 0; i < key.columns.size(); ++i) {
      rows.push_back({Text(database), Text(table.schema), Text(key.name), Text(database), Text(table.schema),
                      Text(table.name), Text(table.columns[key.columns[i]].name),
                      Datum::Int(static_cast<int64_t>(i) + 1), PlaceInKey(key, i, root)});
    }
  }
}

void AddViews(const catalog::Table& table, std::string_view database, Rows& rows) {
  if (!table.view.has_value()) return;
  rows.push_back({Text(database), Text(table.schema), Text(table.name), Text(table.view->sql), Text("NONE"), Text("NO"),
                  Text("NO"), Text("NO"), Text("NO"), Text("NO")});
}

void AddPgViews(const catalog::Table& table, std::string_view owner, Rows& rows) {
  if (!table.view.has_value()) return;
  rows.push_back({Text(table.schema), Text(table.name), Text(owner), Text(table.view->sql)});
}

void AddPgTables(const catalog::Table& table, std::string_view owner, Rows& rows) {
  if (table.view.has_value()) return;
  rows.push_back({Text(table.schema), Text(table.name), Text(owner), Datum::Bool(!KeysOf(table).empty())});
}

void AddPgIndexes(const catalog::Table& table, Rows& rows) {
  for (const KeyView& key : KeysOf(table)) {
    const std::string definition = std::string("CREATE ") + (key.unique ? "UNIQUE " : "") + "INDEX " +
                                   Quoted(key.name) + " ON " + Quoted(table.schema) + "." + Quoted(table.name) +
                                   " USING btree (" + key.columns_sql + ")";
    rows.push_back({Text(table.schema), Text(table.name), Text(key.name), Text(definition)});
  }
}

// Views that a database without them still has to list, so that clients find what they can query.
void AddSystemTables(std::string_view database, Rows& rows) {
  for (const sql::SystemView& view : sql::AllSystemViews()) {
    const size_t dot = view.name.find('.');
    rows.push_back(
        {Text(database), Text(view.name.substr(0, dot)), Text(view.name.substr(dot + 1)), Text("VIEW"), Text("NO")});
  }
}

class SystemViewOperator final : public Operator {
 public:
  SystemViewOperator(const sql::Plan& plan, Frame& frame) : plan_(plan), frame_(frame) {}

  Status Next(Chunk& out) override {
    if (!made_) SISAL_RETURN_IF_ERROR(MakeRows());
    arena_.Reset();
    const uint32_t count = static_cast<uint32_t>(std::min<size_t>(type::kVectorSize, rows_.size() - next_));
    const uint32_t capacity = std::max(count, 1u);
    columns_.clear();
    for (size_t c = 0; c < plan_.output.size(); ++c) {
      Vector& column = columns_.emplace_back(type::MakeVector(plan_.output[c], capacity, arena_));
      type::EnsureNulls(column, capacity, arena_);
      for (uint32_t i = 0; i < count; ++i) {
        const Datum& value = rows_[next_ + i][c];
        if (value.is_null()) {
          column.SetNull(i);
        } else if (column.type.storage() == type::Storage::kInt) {
          column.ints[i] = value.as_int();
        } else {
          column.bytes[i] = value.as_bytes();
        }
      }
    }
    next_ += count;
    out = Chunk{count, columns_};
    return Status();
  }

  Status Rewind() override { return next_ = 0, Status(); }

 private:
  void MakeSequenceRows(std::string_view database, std::string_view owner) {
    const catalog::Root& root = *frame_.state.options.root;
    const bool standard = plan_.system_view == "information_schema.sequences";
    root.ForEachSequence([&](const catalog::SequencePtr& sequence) {
      if (standard) {
        AddSequence(root, *sequence, database, rows_);
      } else {
        AddPgSequence(*sequence, owner, rows_);
      }
    });
    made_ = true;
  }

  // The values as they are now: sequences know no snapshots.
  Status MakeSequenceRow() {
    const catalog::SequencePtr sequence = frame_.state.options.root->FindSequence(plan_.sequence);
    if (sequence == nullptr) return Error("42P01", "relation \"" + plan_.system_view + "\" does not exist");
    const catalog::SequenceState::View view = sequence->state->Look();
    rows_.push_back({Datum::Int(view.value.last), Datum::Int(static_cast<int64_t>(view.logged_ahead)),
                     Datum::Bool(view.value.called)});
    made_ = true;
    return Status();
  }

  Status MakeRows() {
    if (plan_.sequence != ObjectId()) return MakeSequenceRow();
    const std::string& view = plan_.system_view;
    const std::string_view database = frame_.state.options.function.database;
    const std::string_view owner = frame_.state.options.function.user;
    if (view == "information_schema.sequences" || view == "pg_catalog.pg_sequences") {
      return MakeSequenceRows(database, owner), Status();
    }
    bool known = true;
    frame_.state.options.root->ForEachTable([&](const catalog::TablePtr& table) {
      if (view == "information_schema.tables") {
        AddTables(*table, database, rows_);
      } else if (view == "information_schema.columns") {
        AddColumns(*frame_.state.options.root, *table, database, rows_);
      } else if (view == "information_schema.table_constraints") {
        AddTableConstraints(*table, database, rows_);
      } else if (view == "information_schema.check_constraints") {
        AddCheckConstraints(*table, database, rows_);
      } else if (view == "information_schema.referential_constraints") {
        AddReferentialConstraints(*table, *frame_.state.options.root, database, rows_);
      } else if (view == "information_schema.key_column_usage") {
        AddKeyColumns(*table, *frame_.state.options.root, database, rows_);
      } else if (view == "information_schema.views") {
        AddViews(*table, database, rows_);
      } else if (view == "pg_catalog.pg_views") {
        AddPgViews(*table, owner, rows_);
      } else if (view == "pg_catalog.pg_tables") {
        AddPgTables(*table, owner, rows_);
      } else if (view == "pg_catalog.pg_indexes") {
        AddPgIndexes(*table, rows_);
      } else {
        known = false;
      }
    });
    if (!known) return Error("0A000", "view " + view + " is not supported");
    if (view == "information_schema.tables") AddSystemTables(database, rows_);
    made_ = true;
    return Status();
  }

  const sql::Plan& plan_;
  Frame& frame_;
  bool made_ = false;
  Rows rows_;
  size_t next_ = 0;
  Arena arena_;
  std::vector<Vector> columns_;
};

}  // namespace

namespace internal {
OperatorPtr MakeSystemView(const sql::Plan& plan, Frame& frame) {
  return std::make_unique<SystemViewOperator>(plan, frame);
}
}  // namespace internal

}  // namespace sisal::exec
