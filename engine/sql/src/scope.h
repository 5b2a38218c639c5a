// What names mean at one place of a statement.
//
// Bound expressions of a query level first use column *ids*: the columns of all FROM items of the level, numbered one
// after another. The planner turns ids into positions of a node's input. An aggregate of the level is a column too,
// with an id from kAggregateBase on, until the level's aggregate node is built; so is a window function's result, from
// kWindowBase on.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node.h"
#include "sisal/sql/plan.h"
#include "sisal/sql/statement.h"

namespace sisal::sql {

inline constexpr uint32_t kAggregateBase = 1u << 30;
inline constexpr uint32_t kWindowBase = 1u << 31;

struct Scope;

// What one subplan takes from around it. All scopes of one plan tree share a frame: a sub-select in FROM is part of its
// parent's tree, one in an expression is a tree of its own.
struct Frame {
  Frame* parent = nullptr;
  std::vector<const Expr*> outer_args;  // meaning of kOuter i, in the parent frame's terms
};

struct NamedColumn {
  std::string name;
  const Expr* expr;  // kColumn; merged columns of a join may be COALESCE or a cast
};

// A relation name with its columns, as ColumnRef and * see them.
struct NamespaceItem {
  std::string name;    // alias or table; empty: a join without alias
  std::string schema;  // of a table without alias
  std::vector<NamedColumn> columns;
  bool relation_visible = true;  // t.a and t.* find it
  bool columns_visible = true;   // a and * find it
  bool lateral_allowed = true;   // seen by LATERAL: it is not on the other side of a RIGHT or FULL JOIN
};

enum class LeafKind : uint8_t { kTable, kPlan, kWithQuery, kFunction, kSystemView };

struct Leaf {
  LeafKind kind = LeafKind::kTable;
  std::string alias;
  uint32_t first_id = 0;
  uint32_t column_count = 0;
  catalog::TablePtr table;
  catalog::TablePtr view;      // whose text it was
  const Plan* plan = nullptr;  // of all kinds but kTable: ready, gives all columns
  RowLockMode row_lock = RowLockMode::kNone;
  RowLockWait lock_wait = RowLockWait::kWait;
  // Of the row's key, a further column that no name reaches: for UPDATE, DELETE and row locks.
  std::optional<uint32_t> key_id;
  // LATERAL: the plan has a frame of its own, whose kOuter i is lateral_args[i], over the columns to the left.
  bool lateral = false;
  std::vector<const Expr*> lateral_args;
  bool nullable = false;  // on the inner side of an outer join
};

// The FROM clause as a tree: a leaf, or a join of two trees. Trees of a comma list are joined with kCross.
struct FromTree {
  uint32_t leaf = 0;  // if left is null
  JoinKind join = JoinKind::kCross;
  std::unique_ptr<FromTree> left, right;
  std::vector<const Expr*> conjuncts;  // of ON or USING
};

struct ColumnInfo {
  type::SqlType type;
  uint32_t leaf = 0;
  uint32_t leaf_column = 0;
  bool not_null = false;
};

// A WITH RECURSIVE query whose recursive term is being bound.
struct Recursion {
  uint32_t number = 0;
  std::vector<OutputColumn> columns;  // as the term sees them
};

// A WITH query. Bound anew at each reference.
struct CommonTable {
  std::string name;
  const PgQuery__CommonTableExpr* node = nullptr;
  const CommonTable* previous = nullptr;  // where the search for a name goes on
  const CommonTable* sees = nullptr;      // where it begins for its own query
  bool recursive = false;                 // it refers to itself
  Scope* around = nullptr;                // where names go on that its query does not know
  mutable uint32_t uses = 0;
  mutable const Recursion* recursion = nullptr;  // while its recursive term is bound
};

// Which clause is being bound: what is allowed there, and what its errors call it.
enum class Clause : uint8_t {
  kSelect,
  kFrom,
  kJoinOn,
  kWhere,
  kGroupBy,
  kHaving,
  kOrderBy,
  kLimit,
  kOffset,
  kValues,
  kInsertValues,
  kUpdateSet,
  kReturning,
  kDefault,
  kCheck,
  kTransform,  // USING of ALTER COLUMN TYPE
  kFilter,
  kAggregateArgument,
  kFunctionInFrom,
  kConflict,
  kWindow,
  kWindowRange,
  kWindowRows,
  kWindowGroups,
};

// A window of a query level, of the clause WINDOW or of an OVER (...).
struct WindowDefinition {
  std::string name;    // empty: of an OVER
  std::string copied;  // the window that it names and extends
  std::vector<const Expr*> partition;
  std::vector<SortKey> order;
  WindowFrame frame;
  bool has_frame = false;  // it says so, be it the default
};

// A call of a window function. Its frame stands in the definition until the level's window nodes are built.
struct WindowUse {
  size_t definition = 0;
  WindowCall call;
};

struct Scope {
  Scope* outer = nullptr;    // where a name goes that is not found here
  Scope* lateral = nullptr;  // siblings in FROM that only LATERAL would see
  Frame* frame = nullptr;
  const CommonTable* common_tables = nullptr;
  std::vector<NamespaceItem> items;
  std::vector<ColumnInfo> columns;  // by id
  std::vector<Leaf> leaves;
  Clause clause = Clause::kSelect;
  std::vector<AggregateCall> aggregates;
  bool has_aggregates = false;
  bool in_recursive_term = false;  // FROM has the working table
  // What LATERAL sees: `items` from lateral_begin on, and the left sides of the joins around it.
  size_t lateral_begin = 0;
  std::vector<NamespaceItem> lateral_items;
  NodeList window_clause;    // WINDOW
  size_t named_windows = 0;  // how many of its windows are bound
  std::vector<WindowDefinition> windows;
  std::vector<WindowUse> window_uses;  // by id
};

}  // namespace sisal::sql
