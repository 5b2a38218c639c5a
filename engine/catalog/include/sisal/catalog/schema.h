// Catalog objects: immutable once built; shared by whoever holds a root.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sisal/base/ids.h"
#include "sisal/base/status.h"
#include "sisal/type/row_codec.h"
#include "sisal/type/sql_type.h"

namespace sisal::catalog {

struct Column {
  std::string name;
  type::SqlType type;
  bool not_null = false;
  std::string default_sql;  // the DEFAULT expression as SQL text; empty: none. Bound again at each use.
  // DROP COLUMN keeps the slot, because rows, keys and indexes count by slots. No name finds it; new rows have NULL
  // there.
  bool dropped = false;
  // What rows give that were written before the column was added: ADD COLUMN leaves them as they are.
  type::Datum missing = {};
};

struct IndexColumn {
  uint32_t column = 0;  // position in Table::columns
  type::SortOrder order = type::SortOrder::kAscending;
  bool nulls_first = false;
};

// Tree entries: key = the index columns' keys, then (not unique, or any indexed column NULL) the row's key; value = the
// row's key. A UNIQUE index lets many NULLs in, as in PostgreSQL.
struct Index {
  ObjectId id;
  TreeId tree;
  std::string name;
  bool unique = false;
  bool is_constraint = false;  // made by UNIQUE: reported as a constraint, dropped only with it
  std::vector<IndexColumn> columns;
};

// Rows lie in `tree` under their primary key's encoding, ascending; without a primary key under a hidden row number
// (8 bytes, big-endian; Store::NextRowNumber).
struct Table {
  ObjectId id;
  TreeId tree;
  std::string schema;  // "public"
  std::string name;
  std::vector<Column> columns;        // slots, dropped ones included
  std::vector<uint32_t> primary_key;  // column positions; empty: hidden row number
  std::string primary_key_name;       // "t_pkey"
  std::vector<Index> indexes;
  type::RowLayout layout;  // of `columns`

  explicit Table(std::vector<Column> table_columns);
  // Of a definition in the making: other columns, and the layout that goes with them.
  void SetColumns(std::vector<Column> table_columns);
  // Slot of a column that is not dropped, or nullopt.
  std::optional<uint32_t> FindColumn(std::string_view column_name) const;
  // Slots that are not dropped, in order: what * means.
  std::vector<uint32_t> LiveColumns() const;
};
using TablePtr = std::shared_ptr<const Table>;

}  // namespace sisal::catalog
