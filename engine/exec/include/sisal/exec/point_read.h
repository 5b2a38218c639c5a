// Reads of at most one row by its whole primary key, as a program made once per plan: key from parameters, columns from
// the row's bytes. No operators and no expressions; the design's "tier P" (engine.md, (h)) begins here.
//
// Immutable: any number of threads run one program at a time.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sisal/base/arena.h"
#include "sisal/base/status.h"
#include "sisal/sql/statement.h"
#include "sisal/type/vector.h"

namespace sisal::exec {

class PointRead {
 public:
  // nullopt: the statement is another kind of read, or a write.
  static std::optional<PointRead> Compile(const sql::Statement& statement);

  TreeId tree() const { return table_->tree; }
  // Appends the row's key. False: a part of it is NULL, so there is no such row.
  bool AppendKey(std::span<const type::Datum> params, std::string& key) const;
  // Fills `columns` with the result's columns, each of one row, out of the row's bytes. Values point into `row`.
  // Errors: XX001.
  Status Decode(std::string_view row, Arena& arena, std::vector<type::Vector>& columns) const;

 private:
  struct KeyPart {
    type::SqlType type;
    std::optional<uint32_t> parameter;  // its position; nullopt: a constant
    type::Datum constant;
  };

  catalog::TablePtr table_;
  std::vector<KeyPart> key_;
  std::vector<uint32_t> columns_;  // of the table, in the order of the result
};

}  // namespace sisal::exec
