#include "row_writer.h"

#include <algorithm>

#include "foreign_keys.h"
#include "sisal/type/datum.h"

namespace sisal::exec {

namespace {

// A value as an error's DETAIL shows it, cut as PostgreSQL does.
std::string DescribeValue(const type::Vector& column, uint32_t row) {
  if (column.IsNull(row)) return "null";
  std::string text = type::FormatText(column.type, column.ToDatum(row), {});
  constexpr size_t kShownBytesMax = 64;
  if (text.size() > kShownBytesMax) {
    size_t end = kShownBytesMax;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    text.resize(end);
    text += "...";
  }
  return text;
}

}  // namespace

std::string MakeRowNumberKey(uint64_t number) {
  std::string key(8, '\0');
  for (int i = 0; i < 8; ++i) key[i] = static_cast<char>(number >> (56 - 8 * i));
  return key;
}

std::string MakePrimaryKey(const catalog::Table& table, const RowView& row) {
  std::string key;
  for (uint32_t column : table.primary_key) {
    type::AppendKey(table.columns[column].type, row.columns[column], row.row, type::SortOrder::kAscending, false, key);
  }
  return key;
}

std::string MakeIndexKey(const catalog::Index& index, std::span<const type::Vector> columns, uint32_t row,
                         std::string_view row_key, bool& unique) {
  std::string key;
  unique = index.unique;
  for (const catalog::IndexColumn& c : index.columns) {
    if (columns[c.column].IsNull(row)) unique = false;
    type::AppendKey(columns[c.column].type, columns[c.column], row, c.order, c.nulls_first, key);
  }
  if (!unique) key.append(row_key);
  return key;
}

RowWriter::RowWriter(const catalog::Table& table, const sql::TableRules* rules, Frame& frame, ForeignKeys* foreign_keys)
    : table_(table), state_(frame.state), rules_(rules), foreign_keys_(foreign_keys) {
  if (rules != nullptr && !rules->checks.empty()) checks_ = std::make_unique<CheckConstraints>(*rules, frame);
}

bool RowWriter::CheckAhead(const type::Chunk& rows) {
  checked_ahead_ = checks_ == nullptr || checks_->AllPass(rows);
  return checked_ahead_;
}

Status RowWriter::CheckRow(const RowView& row) {
  SISAL_RETURN_IF_ERROR(CheckNotNull(row));
  if (checks_ == nullptr || checked_ahead_) return Status();
  SISAL_ASSIGN_OR_RETURN(const catalog::Check* broken, checks_->FirstBroken(row));
  if (broken == nullptr) return Status();
  return Error("23514",
               "new row for relation \"" + table_.name + "\" violates check constraint \"" + broken->name + "\"")
      .WithDetail("Failing row contains " + DescribeRow(row) + ".")
      .WithTable(table_.schema, table_.name)
      .WithConstraint(broken->name);
}

Status RowWriter::CheckNotNull(const RowView& row) const {
  for (size_t i = 0; i < table_.columns.size(); ++i) {
    if (!table_.columns[i].not_null || !row.columns[i].IsNull(row.row)) continue;
    return Error("23502", "null value in column \"" + table_.columns[i].name + "\" of relation \"" + table_.name +
                              "\" violates not-null constraint")
        .WithDetail("Failing row contains " + DescribeRow(row) + ".")
        .WithTable(table_.schema, table_.name)
        .WithColumn(table_.columns[i].name);
  }
  return Status();
}

std::string RowWriter::IndexKey(const catalog::Index& index, const RowView& row, std::string_view row_key,
                                bool& unique) const {
  return MakeIndexKey(index, row.columns, row.row, row_key, unique);
}

// The row key (or the row) that holds `key` in its newest version, once this transaction has the key's intent.
Result<std::optional<std::string>> RowWriter::Occupant(TreeId tree, const std::string& key) {
  SISAL_RETURN_IF_ERROR(
      transaction().Lock(tree, key, txn::LockMode::kExclusive, txn::LockWait::kWait, txn::Conflict::kIgnore));
  Arena arena(256);
  SISAL_ASSIGN_OR_RETURN(const auto value, transaction().GetNewest(tree, key, arena));
  if (!value.has_value()) return std::optional<std::string>();
  return std::optional<std::string>(tree == table_.tree ? key : std::string(*value));
}

Status RowWriter::PutRow(std::string_view row_key, const RowView& row) {
  row_bytes_.clear();
  SISAL_RETURN_IF_ERROR(table_.layout.Encode(row.columns, row.row, row_bytes_));
  return transaction().Put(table_.tree, row_key, row_bytes_);
}

Result<std::optional<KeyConflict>> RowWriter::Insert(const RowView& row, std::optional<uint32_t> arbiter) {
  SISAL_RETURN_IF_ERROR(CheckRow(row));
  const bool hidden_key = table_.primary_key.empty();
  const std::string row_key =
      hidden_key ? MakeRowNumberKey(state_.options.store->NextRowNumber(table_.tree)) : PrimaryKey(row);
  std::optional<KeyConflict> conflict;
  const auto meets = [&](uint32_t key, std::string other) {
    if (!conflict.has_value() || key == arbiter) conflict = KeyConflict{key, std::move(other)};
  };
  if (hidden_key) {
    SISAL_RETURN_IF_ERROR(transaction().Lock(table_.tree, row_key, txn::LockMode::kExclusive, txn::LockWait::kWait,
                                             txn::Conflict::kIgnore));
  } else {
    SISAL_ASSIGN_OR_RETURN(const auto occupant, Occupant(table_.tree, row_key));
    if (occupant.has_value()) meets(0, row_key);
  }
  std::vector<std::string> keys(table_.indexes.size());
  for (uint32_t i = 0; i < table_.indexes.size(); ++i) {
    // One conflict is enough, unless the one that counts may come yet.
    if (conflict.has_value() && (!arbiter.has_value() || *arbiter <= i)) break;
    bool unique;
    keys[i] = IndexKey(table_.indexes[i], row, row_key, unique);
    if (!unique) continue;
    SISAL_ASSIGN_OR_RETURN(auto occupant, Occupant(table_.indexes[i].tree, keys[i]));
    if (occupant.has_value()) meets(i + 1, *std::move(occupant));
  }
  if (conflict.has_value()) return conflict;
  SISAL_RETURN_IF_ERROR(PutRow(row_key, row));
  for (size_t i = 0; i < keys.size(); ++i) {
    SISAL_RETURN_IF_ERROR(transaction().Put(table_.indexes[i].tree, keys[i], row_key));
  }
  written_key_ = row_key;
  if (foreign_keys_ != nullptr) SISAL_RETURN_IF_ERROR(foreign_keys_->Inserted(*rules_, row));
  return std::optional<KeyConflict>();
}

Error RowWriter::ConflictError(const KeyConflict& conflict, const RowView& row) const {
  const std::string& name = conflict.key == 0 ? table_.primary_key_name : table_.indexes[conflict.key - 1].name;
  return Error("23505", "duplicate key value violates unique constraint \"" + name + "\"")
      .WithDetail("Key " + DescribeKey(table_, conflict.key, row) + " already exists.")
      .WithTable(table_.schema, table_.name)
      .WithConstraint(name);
}

Status RowWriter::LockRow(std::string_view row_key) {
  return transaction().Lock(table_.tree, row_key, txn::LockMode::kExclusive, txn::LockWait::kWait,
                            txn::Conflict::kCheck);
}

// A unique key that goes needs its intent too: whoever wants to enter it waits for our outcome.
Status RowWriter::Vacate(const catalog::Index& index, const std::string& key, bool unique) {
  if (unique) {
    SISAL_RETURN_IF_ERROR(
        transaction().Lock(index.tree, key, txn::LockMode::kExclusive, txn::LockWait::kWait, txn::Conflict::kIgnore));
  }
  return transaction().Delete(index.tree, key);
}

Status RowWriter::Update(std::string_view row_key, const RowView& old_row, const RowView& new_row) {
  SISAL_RETURN_IF_ERROR(CheckRow(new_row));
  const std::string new_key = table_.primary_key.empty() ? std::string(row_key) : PrimaryKey(new_row);
  const bool moves = new_key != row_key;
  if (moves) {
    SISAL_RETURN_IF_ERROR(transaction().Delete(table_.tree, row_key));
    SISAL_ASSIGN_OR_RETURN(const auto occupant, Occupant(table_.tree, new_key));
    if (occupant.has_value()) return ConflictError({0, new_key}, new_row);
  }
  for (size_t i = 0; i < table_.indexes.size(); ++i) {
    const catalog::Index& index = table_.indexes[i];
    bool old_unique, new_unique;
    const std::string old_entry = IndexKey(index, old_row, row_key, old_unique);
    const std::string new_entry = IndexKey(index, new_row, new_key, new_unique);
    if (old_entry == new_entry && !moves) continue;
    SISAL_RETURN_IF_ERROR(Vacate(index, old_entry, old_unique));
    if (new_unique) {
      SISAL_ASSIGN_OR_RETURN(const auto occupant, Occupant(index.tree, new_entry));
      if (occupant.has_value()) return ConflictError({static_cast<uint32_t>(i + 1), *occupant}, new_row);
    }
    SISAL_RETURN_IF_ERROR(transaction().Put(index.tree, new_entry, new_key));
  }
  written_key_ = new_key;
  SISAL_RETURN_IF_ERROR(PutRow(new_key, new_row));
  return foreign_keys_ == nullptr ? Status() : foreign_keys_->Updated(*rules_, old_row, new_row, moves);
}

Status RowWriter::Delete(std::string_view row_key, const RowView& row) {
  for (const catalog::Index& index : table_.indexes) {
    bool unique;
    const std::string entry = IndexKey(index, row, row_key, unique);
    SISAL_RETURN_IF_ERROR(Vacate(index, entry, unique));
  }
  SISAL_RETURN_IF_ERROR(transaction().Delete(table_.tree, row_key));
  return foreign_keys_ == nullptr ? Status() : foreign_keys_->Deleted(*rules_, row);
}

std::string DescribeKey(const catalog::Table& table, uint32_t key, const RowView& row) {
  std::vector<uint32_t> columns = table.primary_key;
  if (key > 0) {
    columns.clear();
    for (const catalog::IndexColumn& c : table.indexes[key - 1].columns) columns.push_back(c.column);
  }
  std::string names, values;
  for (uint32_t column : columns) {
    names += (names.empty() ? "" : ", ") + table.columns[column].name;
    if (column != columns.front()) values += ", ";
    values += DescribeValue(row.columns[column], row.row);
  }
  return "(" + names + ")=(" + values + ")";
}

Error DuplicatedKey(const catalog::Table& table, uint32_t key, const RowView& row) {
  const std::string& name = key == 0 ? table.primary_key_name : table.indexes[key - 1].name;
  return Error("23505", "could not create unique index \"" + name + "\"")
      .WithDetail("Key " + DescribeKey(table, key, row) + " is duplicated.")
      .WithTable(table.schema, table.name)
      .WithConstraint(name);
}

std::string RowWriter::DescribeRow(const RowView& row) const {
  std::string text = "(";
  for (const uint32_t i : table_.LiveColumns()) {
    if (text.size() > 1) text += ", ";
    text += DescribeValue(row.columns[i], row.row);
  }
  return text + ")";
}

}  // namespace sisal::exec
