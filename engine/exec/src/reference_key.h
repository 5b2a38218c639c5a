// Values of foreign keys as the bytes of the keys by which either side is found.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "check_constraints.h"
#include "sisal/catalog/schema.h"
#include "sisal/sql/plan.h"

namespace sisal::exec {

// A row out of the store, with its own memory.
class StoredRow {
 public:
  // Only these columns; none given: all. Errors: XX001.
  static Result<StoredRow> Decode(const catalog::Table& table, const std::vector<uint32_t>& wanted,
                                  std::string_view bytes);
  const std::vector<type::Vector>& columns() const { return columns_; }
  RowView view() const { return {columns_, 0}; }

 private:
  std::unique_ptr<Arena> arena_;
  std::vector<type::Vector> columns_;
};

// The values of these columns in both rows are the same, or so alike that their keys are. A false "no" costs a look.
bool SameColumns(const std::vector<uint32_t>& columns, const RowView& a, const RowView& b);

std::vector<type::Datum> ValuesOf(const std::vector<uint32_t>& columns, const RowView& row);

// The referenced key that a row has: `columns` of the row are those of the foreign key or the referenced ones; the
// parent's types say how it is written. Empty: an integer that the parent's type does not have, so there is no such
// key. Requires: none of the values is NULL.
void AppendReferencedKey(const std::vector<sql::KeyPart>& parts, const std::vector<uint32_t>& columns,
                         const catalog::Table& parent, const std::vector<uint32_t>& referenced, const RowView& row,
                         std::string& key);

// The same of a child's stored row; empty too if one of its values is NULL. Errors: XX001.
Result<std::string> KeyOfChild(const sql::ChildRule& rule, const catalog::Table& parent, std::string_view bytes);

// The beginning of the keys in rule.access of the children with these values. False: their types have none of them.
bool AppendAccessKey(const sql::ChildRule& rule, const std::vector<type::Datum>& values, std::string& key);

// A parent's value as a child's column takes it. Errors: 22003, 22001.
Result<type::Datum> ForColumn(const type::Datum& value, const type::SqlType& type);

}  // namespace sisal::exec
