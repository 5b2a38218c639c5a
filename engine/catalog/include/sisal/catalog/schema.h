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

enum class Identity : uint8_t { kNone, kAlways, kByDefault };  // GENERATED ... AS IDENTITY

struct Column {
  std::string name;
  type::SqlType type;
  bool not_null = false;
  std::string default_sql = {};  // the DEFAULT expression as SQL text; empty: none. Bound again at each use.
  // DROP COLUMN keeps the slot, because rows, keys and indexes count by slots. No name finds it; new rows have NULL
  // there.
  bool dropped = false;
  // What rows give that were written before the column was added: ADD COLUMN leaves them as they are.
  type::Datum missing = {};
  Identity identity = Identity::kNone;
  std::vector<ObjectId> sequences = {};  // owned: they go with the column. That of an identity column comes first.
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

// CHECK (sql). Bound again at each use, as a DEFAULT is; its columns stand there without their table's name.
struct Check {
  std::string name;
  std::string sql;
  bool no_inherit = false;
};

enum class ReferenceAction : uint8_t { kNoAction, kRestrict, kCascade, kSetNull, kSetDefault };

// FOREIGN KEY (columns) REFERENCES table (referenced), which are the columns of one of that table's keys.
struct ForeignKey {
  std::string name;
  std::vector<uint32_t> columns;
  ObjectId table;                    // may be the table itself
  std::vector<uint32_t> referenced;  // of `table`, in the order of `columns`
  bool match_full = false;           // MATCH FULL; else SIMPLE
  ReferenceAction on_delete = ReferenceAction::kNoAction;
  ReferenceAction on_update = ReferenceAction::kNoAction;
  std::vector<uint32_t> set_on_delete;  // ON DELETE SET NULL or DEFAULT (columns); empty: all
};

// A foreign key of another table, or of this one, that references this one.
struct Referrer {
  ObjectId table;
  std::string foreign_key;
  bool operator==(const Referrer&) const = default;
};

// A relation that a view's text names: which one that is, and how its columns were called when the view was made.
struct ViewColumn {
  std::string name;
  uint32_t slot = 0;
  bool used = false;  // the view depends on it
  bool key = false;   // and, being of the primary key, on that: a GROUP BY stands for the columns that the key fixes
};
struct ViewSource {
  std::string schema, name;
  ObjectId relation;
  std::vector<ViewColumn> columns;  // what * means
};
struct View {
  std::string sql;  // of the query
  std::vector<ViewSource> sources;
  type::TextSettings settings;  // under which its literals are read
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
  std::vector<Check> checks;  // by name: the order in which they are looked at
  std::vector<ForeignKey> foreign_keys;
  std::vector<Referrer> referrers;  // so a plan that writes this table is made anew when one comes or goes
  std::optional<View> view;         // this is a view: it has columns and nothing of the rest
  type::RowLayout layout;           // of `columns`

  explicit Table(std::vector<Column> table_columns);
  // Of a definition in the making: other columns, and the layout that goes with them.
  void SetColumns(std::vector<Column> table_columns);
  // Slot of a column that is not dropped, or nullopt.
  std::optional<uint32_t> FindColumn(std::string_view column_name) const;
  // Slots that are not dropped, in order: what * means.
  std::vector<uint32_t> LiveColumns() const;
  const ForeignKey* FindForeignKey(std::string_view key_name) const;  // nullptr: none
  // Which unique key has just these columns, in any order: 0 the primary key, i + 1 indexes[i]; nullopt: none. It is
  // the one that foreign keys with these columns go by.
  std::optional<uint32_t> FindUniqueKey(std::vector<uint32_t> key_columns) const;
};
using TablePtr = std::shared_ptr<const Table>;

}  // namespace sisal::catalog
