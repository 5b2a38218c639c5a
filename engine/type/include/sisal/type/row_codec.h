// Rows and keys as bytes.
//
// Row format: O(1) access to each column: {schema version, null bitmap, fixed section at constant offsets, 4-byte ends
// of the variable-width columns, their bytes}. Key format: bytes that compare with memcmp in the columns' SQL order,
// and from which the values can be read back.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sisal/base/arena.h"
#include "sisal/base/status.h"
#include "sisal/type/datum.h"
#include "sisal/type/vector.h"

namespace sisal::type {

// Immutable; built once per table shape and shared.
class RowLayout {
 public:
  // What a column is besides its type.
  struct Rule {
    Datum missing;         // what rows give that end before the column
    bool dropped = false;  // NULL in every new row
  };

  // `rules`: one for each column, or none at all.
  explicit RowLayout(std::vector<SqlType> columns, std::vector<Rule> rules = {});
  size_t column_count() const { return columns_.size(); }
  const SqlType& column(size_t i) const { return columns_[i]; }

  // One row out of `columns` at `row`. Requires: columns.size() == column_count(), storage classes match.
  // Errors: 54000 if the row passes the row size limit (1 GiB).
  Status Encode(std::span<const Vector> columns, uint32_t row, std::string& out) const;

  // Puts column `column` of `row_bytes` at index `at` of `out` (made by MakeVector). Bytes point into row_bytes or,
  // like those of a row that was written before the column was added, into this layout.
  // Errors: XX001 if the bytes are not a row of this layout (disk bytes are never trusted).
  Status Decode(std::string_view row_bytes, size_t column, uint32_t at, Vector& out, Arena& arena) const;

 private:
  void DecodeMissing(size_t column, uint32_t at, Vector& out, Arena& arena) const;

  // The sizes of the sections of a row of the first `count` columns.
  struct Shape {
    uint32_t fixed_bytes = 0;
    uint32_t variable_count = 0;
  };

  std::vector<SqlType> columns_;
  std::vector<Rule> rules_;      // empty: nothing dropped, NULL for what is missing
  std::vector<uint8_t> widths_;  // of a fixed-width column in bytes; 0: variable width
  std::vector<Shape> shapes_;    // [i]: of the columns before i, so also column i's place in its section
};

enum class SortOrder : uint8_t { kAscending, kDescending };

// Appends one column's order-preserving encoding: a marker byte (NULL sorts last ascending, first descending, as in
// PostgreSQL; nulls_first turns that round), then the value; inverted when descending. numeric 1.0 and 1.00 have one
// key.
void AppendKey(const SqlType& type, const Vector& values, uint32_t row, SortOrder order, bool nulls_first,
               std::string& out);
void AppendKey(const SqlType& type, const Datum& value, SortOrder order, bool nulls_first, std::string& out);
// Reads one column from the front of `key`. Requires: nothing; errors: XX001. Values that have several spellings
// (numeric's trailing zeros, -0.0) come back in one of them.
Status ReadKey(const SqlType& type, SortOrder order, bool nulls_first, std::string_view& key, Datum& value);

// The smallest byte string above all that begin with `prefix`; empty: there is none.
std::string PrefixEnd(std::string_view prefix);

}  // namespace sisal::type
