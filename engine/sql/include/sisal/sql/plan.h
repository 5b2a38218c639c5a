// Plans: trees of operators, each giving chunks of columns to its parent. Column numbers in a node's expressions are
// positions in its input's output. Immutable once planned; shared by all executions of a statement.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "sisal/catalog/schema.h"
#include "sisal/function/function.h"
#include "sisal/sql/expression.h"

namespace sisal::sql {

enum class PlanKind : uint8_t {
  kValues,        // rows; one row without columns stands for a missing FROM
  kTableScan,     // a table by its rows' keys or by an index
  kFunctionScan,  // generate_series
  kSystemView,    // information_schema and pg_catalog views, made from the catalog root
  kFilter,        // rows for which `predicate` is true
  kProject,       // expressions
  kSort,          // keys; with a limit a top-N heap will do
  kLockRows,      // FOR UPDATE, FOR SHARE: locks the rows that it gives, each as it is asked for
  kLimit,
  kAggregate,  // groups, then aggregates: output = group values, then results
  kWindow,     // window functions over sorted input: output = the input's columns, then results
  kDistinct,   // of all columns
  kJoin,
  kLateralJoin,     // inner or left: the plan of `lateral` runs for each row of the input
  kAppend,          // UNION ALL: inputs one after another
  kSetOperation,    // UNION, INTERSECT [ALL], EXCEPT [ALL] of two inputs
  kRecursiveUnion,  // WITH RECURSIVE: inputs[0] once, then inputs[1] over and over, until it gives nothing
  kWorkingTable,    // below a kRecursiveUnion's inputs[1]: the rows that its last round gave
  kInsert,
  kUpdate,
  kDelete,
};

struct SortKey {
  const Expr* expr = nullptr;
  type::SortOrder order = type::SortOrder::kAscending;
  bool nulls_first = false;
};

struct AggregateCall {
  const function::Aggregate* aggregate = nullptr;
  std::vector<const Expr*> args;
  bool distinct = false;
  const Expr* filter = nullptr;  // FILTER (WHERE ...)
  std::vector<SortKey> order;    // string_agg(x ORDER BY y)
};

enum class WindowFunction : uint8_t {
  kAggregate,
  kRowNumber,
  kRank,
  kDenseRank,
  kPercentRank,
  kCumeDist,
  kNtile,
  kLag,
  kLead,
  kFirstValue,
  kLastValue,
  kNthValue,
};
enum class FrameMode : uint8_t { kRange, kRows, kGroups };
enum class FrameBound : uint8_t { kUnboundedPreceding, kPreceding, kCurrentRow, kFollowing, kUnboundedFollowing };
enum class FrameExclusion : uint8_t { kNoOthers, kCurrentRow, kGroup, kTies };

// The rows around the current one that a window function looks at.
struct WindowFrame {
  FrameMode mode = FrameMode::kRange;
  FrameBound start = FrameBound::kUnboundedPreceding;
  FrameBound end = FrameBound::kCurrentRow;
  FrameExclusion exclusion = FrameExclusion::kNoOthers;
  // Of kPreceding and kFollowing, no kColumn: a bigint; for kRange what is added to the only sort key.
  const Expr* start_offset = nullptr;
  const Expr* end_offset = nullptr;
};

struct WindowCall {
  WindowFunction function = WindowFunction::kAggregate;
  const function::Aggregate* aggregate = nullptr;
  type::SqlType result;
  std::vector<const Expr*> args;
  const Expr* filter = nullptr;  // of an aggregate
  WindowFrame frame;
};

// Which keys a scan visits: equal[i] fixes the i-th key column, then the next one may be bounded. Expressions have no
// kColumn (constants, parameters, outer values); their type is the key column's. A NULL bound: no row.
struct KeyBounds {
  std::vector<const Expr*> equal;
  const Expr* lower = nullptr;
  bool lower_inclusive = true;
  const Expr* upper = nullptr;
  bool upper_inclusive = true;
};

struct Assignment {
  uint32_t column;
  const Expr* value;  // of the column's type, modifiers applied
};

enum class JoinKind : uint8_t { kInner, kLeft, kRight, kFull, kCross };
enum class SetOperationKind : uint8_t { kUnion, kIntersect, kIntersectAll, kExcept, kExceptAll };
enum class RowLockMode : uint8_t { kNone, kShare, kUpdate };
enum class RowLockWait : uint8_t { kWait, kSkipLocked, kNoWait };  // if several clauses name a table, the last of these

// A table in FROM whose rows are locked.
struct RowLock {
  catalog::TablePtr table;
  RowLockMode mode = RowLockMode::kUpdate;
  RowLockWait wait = RowLockWait::kWait;
};

struct CheckRule {
  const catalog::Check* check;  // of the table
  const Expr* condition;        // over a row of the table; false: refused
};

// A column of a key that begins with a foreign key's columns. `column`: which of the foreign key's, from 0.
struct KeyPart {
  uint32_t column = 0;
  type::SortOrder order = type::SortOrder::kAscending;
  bool nulls_first = false;
};

// A foreign key of the table: what its new rows need.
struct ParentRule {
  const catalog::ForeignKey* key = nullptr;  // of the rules' table
  catalog::TablePtr parent;
  TreeId tree;  // of the parent's unique key: its rows, or an index
  std::vector<KeyPart> parts;
};

// Fills in how the parent's rows are found. False: it has no such key.
bool FindReferencedKey(ParentRule& rule);

struct TableRules;

// A foreign key that references the table: what becomes of the rows that have it.
struct ChildRule {
  const catalog::ForeignKey* key = nullptr;  // of `child`
  catalog::TablePtr child;
  TreeId tree;  // of the unique key that is referenced, in the rules' table
  std::vector<KeyPart> parts;
  // The child's rows or an index of it, which begins with the foreign key's columns; nullopt: all rows must be read.
  std::optional<TreeId> access;
  std::vector<KeyPart> access_parts;
  const TableRules* rules = nullptr;  // of the child, if an action writes it
  std::vector<const Expr*> defaults;  // of the key's columns, for SET DEFAULT
};

// What the rows of a table must keep to, besides NOT NULL and unique keys.
struct TableRules {
  catalog::TablePtr table;
  std::vector<CheckRule> checks;
  std::vector<ParentRule> parents;
  std::vector<ChildRule> children;
};

struct Plan {
  PlanKind kind;
  std::vector<const Plan*> inputs;
  std::vector<type::SqlType> output;  // types of the columns that it gives

  std::vector<std::vector<const Expr*>> rows;  // kValues

  // kTableScan: output = `columns` of the table in this order, then the row's key (bytea) if with_key.
  // index: position in table->indexes; nullopt: the row tree. `filter` is applied to the output.
  catalog::TablePtr table;
  std::vector<uint32_t> columns;
  bool with_key = false;
  std::optional<uint32_t> index;
  std::vector<KeyBounds> bounds;  // empty: all rows; several: one after another (IN list), distinct
  bool backward = false;
  uint32_t first_rows = 64;  // what the first step reads ahead; a LIMIT above may want fewer

  const function::SetFunction* set_function = nullptr;  // kFunctionScan
  std::vector<const Expr*> function_args;
  bool with_ordinality = false;
  std::string system_view;  // kSystemView: "information_schema.tables"
  ObjectId sequence;        // kSystemView: if not 0, the one row of this sequence

  const Expr* predicate = nullptr;  // kFilter; kTableScan: filter; kJoin: condition over left ++ right
  std::vector<const Expr*> exprs;   // kProject; kAggregate: group keys
  std::vector<SortKey> sort_keys;
  // kLockRows: inputs[0] gives the columns of the output, then the row's key for each of these.
  std::vector<RowLock> row_locks;
  const Expr* limit = nullptr;  // bigint, no kColumn; NULL: none
  const Expr* offset = nullptr;
  std::vector<AggregateCall> aggregates;
  // kWindow: the input is sorted by the partition's columns, then by sort_keys; all of them are columns.
  std::vector<const Expr*> partition;
  std::vector<WindowCall> windows;
  JoinKind join = JoinKind::kInner;
  std::vector<const Expr*> hash_left, hash_right;  // equal pairs: left over the left input, right over the right one
  const Expr* lateral = nullptr;  // kLateralJoin: outer_args over the input; predicate over its row ++ the plan's
  // The right input gives the same rows each time, whatever is around the plan: a Rewind may keep them.
  bool right_is_fixed = false;
  uint32_t recursion = 0;         // which kWorkingTable belongs to which kRecursiveUnion
  bool keeps_duplicates = false;  // kRecursiveUnion: UNION ALL
  SetOperationKind set_operation = SetOperationKind::kUnion;

  // kInsert: inputs[0] gives one column for each column of the table, converted and with defaults filled in.
  // kUpdate, kDelete: inputs[0] gives all columns of the table, then the row's key (a scan with_key); assignments over
  // its output. Anything but filters over a scan may bring further columns behind them, and a row several times: the
  // first counts.
  // returning: expressions over the new row (the old one for kDelete), columns as in the table. has_returning tells an
  // empty list from a missing clause.
  std::vector<Assignment> assignments;
  std::vector<const Expr*> returning;
  bool has_returning = false;
  // ON CONFLICT: nullopt: none. DO NOTHING: conflict_update empty. Target: nullopt any, else which unique key
  // (0: primary key, i + 1: indexes[i]). DO UPDATE's expressions: over the existing row ++ the excluded row.
  bool on_conflict = false;
  std::optional<uint32_t> conflict_target;
  std::vector<Assignment> conflict_update;
  bool conflict_do_update = false;
  const Expr* conflict_where = nullptr;
  const TableRules* rules = nullptr;  // of a plan that writes; nullptr: none
};

}  // namespace sisal::sql
