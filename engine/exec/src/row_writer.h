// Writes rows of one table and the entries of its indexes: constraints, intents and the write set.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "check_constraints.h"
#include "sisal/catalog/schema.h"
#include "sisal/type/vector.h"
#include "state.h"

namespace sisal::exec {

// The row's key by its primary key's columns; the key of a row without one.
std::string MakePrimaryKey(const catalog::Table& table, const RowView& row);
std::string MakeRowNumberKey(uint64_t number);

// The unique key that a new row meets: 0 the primary key, i + 1 table.indexes[i]; and the row that holds it.
struct KeyConflict {
  uint32_t key;
  std::string row_key;
};

class ForeignKeys;

// Confined.
class RowWriter {
 public:
  // `rules`: of the table, or nullptr. `foreign_keys` gets to know of each row that is written; nullptr if the rules
  // have none.
  RowWriter(const catalog::Table& table, const sql::TableRules* rules, Frame& frame, ForeignKeys* foreign_keys);

  // Looks at the CHECKs of all rows at once, so that Insert and Update need not; false: they will look.
  bool CheckAhead(const type::Chunk& rows);
  // For rows that no CheckAhead was about, or as it said.
  void set_checked_ahead(bool checked) { checked_ahead_ = checked; }

  // Not-null constraints, CHECKs, the row's key and its unique keys; takes the intents of the keys that it enters.
  // nullopt: the row was written. If it meets several keys, `arbiter` is the one that is told. Errors: 23502, 23514;
  // those of Lock and Put. Suspends.
  Result<std::optional<KeyConflict>> Insert(const RowView& row, std::optional<uint32_t> arbiter = std::nullopt);
  // Of the row that the last Insert or Update wrote.
  const std::string& written_key() const { return written_key_; }
  // As the statement reports it: 23505 with the key's values.
  Error ConflictError(const KeyConflict& conflict, const RowView& row) const;

  // Takes the row's exclusive intent; 40001 if it has changed since the snapshot. Suspends.
  Status LockRow(std::string_view row_key);
  // Requires: LockRow. Errors: 23502, 23514, 23505. Suspends.
  Status Update(std::string_view row_key, const RowView& old_row, const RowView& new_row);
  Status Delete(std::string_view row_key, const RowView& row);

 private:
  txn::Transaction& transaction() const { return *state_.options.transaction; }
  Status CheckNotNull(const RowView& row) const;
  // What a new row must keep to by itself.
  Status CheckRow(const RowView& row);
  std::string PrimaryKey(const RowView& row) const { return MakePrimaryKey(table_, row); }
  // The index entry's key. `unique`: nothing but the columns stands in it, so that it can collide.
  std::string IndexKey(const catalog::Index& index, const RowView& row, std::string_view row_key, bool& unique) const;
  Result<std::optional<std::string>> Occupant(TreeId tree, const std::string& key);
  Status Vacate(const catalog::Index& index, const std::string& key, bool unique);
  Status PutRow(std::string_view row_key, const RowView& row);
  std::string DescribeRow(const RowView& row) const;

  const catalog::Table& table_;
  State& state_;
  const sql::TableRules* rules_;
  ForeignKeys* foreign_keys_;
  std::unique_ptr<CheckConstraints> checks_;  // nullptr: the table has none
  bool checked_ahead_ = false;
  std::string row_bytes_;
  std::string written_key_;
};

// "(a, b)=(1, 2)" of a key: 0 the primary key, i + 1 table.indexes[i].
std::string DescribeKey(const catalog::Table& table, uint32_t key, const RowView& row);

// 23505 of a unique key that is made over rows that are there, "could not create unique index".
Error DuplicatedKey(const catalog::Table& table, uint32_t key, const RowView& row);

// Key of one row in one index, for BuildIndex; see RowWriter::IndexKey.
std::string MakeIndexKey(const catalog::Index& index, std::span<const type::Vector> columns, uint32_t row,
                         std::string_view row_key, bool& unique);

}  // namespace sisal::exec
