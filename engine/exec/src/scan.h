// Key ranges out of a plan's bounds.
#pragma once

#include <optional>
#include <string>

#include "operator.h"
#include "sisal/txn/transaction.h"

namespace sisal::exec {

struct ScanRange {
  txn::KeyRange range;
  bool point = false;  // range.lower is the whole key of at most one entry
};

// The key columns of a scan: of the index, or of the primary key (none: hidden row number).
struct KeyColumn {
  type::SqlType type;
  type::SortOrder order;
  bool nulls_first;
};
std::vector<KeyColumn> KeyColumnsOf(const catalog::Table& table, std::optional<uint32_t> index);

// nullopt: no row can lie there (a bound is NULL).
Result<std::optional<ScanRange>> RangeOf(const sql::Plan& plan, const sql::KeyBounds& bounds, Frame& frame);

}  // namespace sisal::exec
