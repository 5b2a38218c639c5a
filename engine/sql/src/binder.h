// Turns libpg_query's tree into a bound and planned Statement.
//
// One Binder works on one statement, on the big stack (big_stack.h). Its parts: expressions (bind_expression.cc,
// bind_function.cc, coerce.cc), queries (bind_from.cc, bind_select.cc, bind_group.cc, bind_window.cc,
// bind_set_operation.cc), writes (bind_insert.cc, bind_dml.cc, bind_constraint.cc, bind_foreign_key.cc) and the rest (bind_ddl.cc,
// bind_utility.cc).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node.h"
#include "parse.h"
#include "resolve.h"
#include "scope.h"
#include "sisal/sql/statement.h"

namespace sisal::sql {

using function::CastContext;
using type::SqlType;
using type::TypeId;

struct AlterDraft;  // bind_alter.cc
struct TableDraft;  // table_draft.h

// A query level, planned: what it gives.
struct BoundQuery {
  Plan* plan = nullptr;
  std::vector<OutputColumn> columns;
  // Of each column: where its expression stands in the text, for errors of whoever converts it; -1: not known.
  std::vector<int32_t> locations;
};

// One entry of a select list, its stars expanded.
struct Target {
  const Expr* expr = nullptr;
  std::string name;
  int32_t location = -1;
  bool junk = false;             // only sorted by, or the key of a row to be locked
  const Leaf* locked = nullptr;  // whose row's key it is
  bool not_null = false;
};

class Binder {
 public:
  Binder(const AnalyzeContext& context, const TextPositions& positions, std::string_view sql, Statement& statement)
      : context_(context), text_(&context.text), positions_(&positions), sql_(sql), statement_(statement) {}

  Status BindStatement(const Node& node);
  std::vector<ObjectId> SequencesOfDefault(const catalog::Column& column);

 private:
  struct Planned {
    Plan* plan = nullptr;
    std::vector<uint32_t> ids;  // of the columns that it gives, in order
  };
  using IdMap = std::vector<uint32_t>;  // id -> position; kNoColumn: not there
  static constexpr uint32_t kNoColumn = ~0u;
  struct WantedOrder {
    std::vector<SortKey> keys;  // over ids
    bool satisfied = false;
  };

  // --- Errors -------------------------------------------------------------------------------------------------------
  Error At(int32_t location, std::string_view sqlstate, std::string message) const {
    return Error(sqlstate, std::move(message))
        .WithPosition(positions_ == nullptr ? 0 : positions_->PositionOf(location));
  }
  Error NotSupported(int32_t location, std::string_view what) const {
    return At(location, "0A000", std::string(what) + " is not supported");
  }
  uint32_t Position(int32_t location) const { return positions_ == nullptr ? 0 : positions_->PositionOf(location); }

  // Counts levels while it lives. The text's own nesting is bounded before it is parsed; a chain of WITH queries nests
  // without showing it.
  class Level {
   public:
    Level(Binder& binder, uint32_t levels) : binder_(binder), levels_(levels) { binder_.depth_ += levels; }
    ~Level() { binder_.depth_ -= levels_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    bool too_deep() const { return binder_.depth_ > kNestingMax; }

   private:
    Binder& binder_;
    uint32_t levels_;
  };

  // --- Making expressions (coerce.cc) -------------------------------------------------------------------------------
  Expr* NewExpr(ExprKind kind, const SqlType& type, int32_t location);
  const Expr* MakeConstant(const SqlType& type, type::Datum value, int32_t location);
  const Expr* MakeColumn(uint32_t id, const SqlType& type, int32_t location);
  const Expr* MakeAnd(const std::vector<const Expr*>& conjuncts);  // nullptr if empty
  const Expr* MakeCall(const function::Function* function, std::vector<const Expr*> args, int32_t location);
  Plan* NewPlan(PlanKind kind);

  // Converts to a type and its modifiers. Errors: 42846, or none_code_ of the caller's making if `what` is empty.
  Result<const Expr*> CoerceTo(const Expr* expr, const SqlType& type, CastContext context, int32_t location);
  // Only the type: no modifiers.
  Result<const Expr*> CoerceType(const Expr* expr, TypeId id, CastContext context, int32_t location);
  Result<const Expr*> ReadLiteral(const Expr* literal, const SqlType& type, int32_t location);
  // A parameter whose type has become known since it was bound, with that type; anything else as it is.
  const Expr* WithKnownType(const Expr* expr);
  const Expr* FoldCast(const Expr* cast);
  Result<const Expr*> CoerceToBoolean(const Expr* expr, std::string_view clause, int32_t location);
  // For uses that take any type: text for a literal; a parameter's type must be known already.
  Result<const Expr*> TakeAnyType(const Expr* expr, int32_t location);
  // Text for what is still unknown: literals and parameters.
  Result<const Expr*> ResolveUnknown(const Expr* expr, int32_t location);
  // The common type of CASE, COALESCE, ...; converts all. `what` begins the error message.
  Result<SqlType> CoerceToCommon(std::vector<const Expr*>& exprs, const std::vector<int32_t>& locations,
                                 std::string_view what);
  // For an assignment to a column: 42804 if there is no such conversion.
  Result<const Expr*> CoerceForColumn(const Expr* expr, const catalog::Column& column, int32_t location);

  // --- Expressions --------------------------------------------------------------------------------------------------
  Result<const Expr*> BindExpr(Scope& scope, const Node* node);
  Result<const Expr*> BindCondition(Scope& scope, const Node* node, Clause clause);
  Result<const Expr*> BindAConst(const PgQuery__AConst& node);
  Result<const Expr*> BindParameter(const PgQuery__ParamRef& node);
  Result<const Expr*> BindColumnRef(Scope& scope, const PgQuery__ColumnRef& node);
  static bool IsIntervalLiteral(const PgQuery__TypeCast& node);  // bind_interval.cc
  Result<const Expr*> BindIntervalLiteral(const PgQuery__TypeCast& node);
  Result<const Expr*> BindTypeCast(Scope& scope, const PgQuery__TypeCast& node);
  Result<const Expr*> BindAExpr(Scope& scope, const PgQuery__AExpr& node);
  Result<const Expr*> BindComparison(Scope& scope, const PgQuery__AExpr& node, std::string_view op);
  Result<const Expr*> BindRowComparison(std::string_view op, const std::vector<const Expr*>& left,
                                        const std::vector<const Expr*>& right, const std::vector<int32_t>& locations,
                                        int32_t location);
  Result<const Expr*> BindDistinct(Scope& scope, const PgQuery__AExpr& node, bool negated);
  Result<const Expr*> BindNullIf(Scope& scope, const PgQuery__AExpr& node);
  Result<const Expr*> BindIn(Scope& scope, const PgQuery__AExpr& node);
  Result<const Expr*> BindBetween(Scope& scope, const PgQuery__AExpr& node);
  Result<const Expr*> BindBoolExpr(Scope& scope, const PgQuery__BoolExpr& node);
  Result<const Expr*> BindCase(Scope& scope, const PgQuery__CaseExpr& node);
  Result<const Expr*> BindCoalesce(Scope& scope, const PgQuery__CoalesceExpr& node);
  Result<const Expr*> BindMinMax(Scope& scope, const PgQuery__MinMaxExpr& node);
  Result<const Expr*> BindNullTest(Scope& scope, const PgQuery__NullTest& node);
  Result<const Expr*> BindBooleanTest(Scope& scope, const PgQuery__BooleanTest& node);
  Result<const Expr*> BindValueFunction(const PgQuery__SQLValueFunction& node);
  Result<const Expr*> BindFuncCall(Scope& scope, const PgQuery__FuncCall& node);
  Result<const Expr*> BindAggregate(Scope& scope, const PgQuery__FuncCall& node, std::string_view name);
  // Chooses the aggregate for `args` and converts them.
  Result<const function::Aggregate*> ChooseAggregate(std::string_view name, std::vector<const Expr*>& args,
                                                     int32_t location);
  Result<const Expr*> BindSubLink(Scope& scope, const PgQuery__SubLink& node);
  Result<std::vector<const Expr*>> BindList(Scope& scope, NodeList nodes);
  // Columns of a row constructor, or the one expression.
  Result<std::vector<const Expr*>> BindRow(Scope& scope, const Node* node, std::vector<int32_t>& locations);
  // `schema`: "pg_catalog." if the text has it, for the error message.
  Result<const Expr*> CallFunction(std::string_view name, std::vector<const Expr*> args, int32_t location,
                                   std::string_view schema = "");
  Result<const Expr*> MakeOperator(std::string_view name, const Expr* left, const Expr* right, int32_t location);
  // The "=" of two expressions, which it converts to its operand types.
  Result<const function::Function*> ResolveEquality(const Expr*& left, const Expr*& right, int32_t location);
  Result<SqlType> ResolveType(const PgQuery__TypeName& name);
  // Name of an operator without its schema. Errors: 42883 for one outside of pg_catalog.
  Result<std::string_view> OperatorName(NodeList names, int32_t location) const;

  // --- Names (bind_column.cc) ---------------------------------------------------------------------------------------
  // Found in `scope` or around it; nullptr: nowhere. Errors: 42702.
  Result<const Expr*> FindColumn(Scope& scope, std::string_view name, int32_t location);
  Result<const Expr*> FindQualifiedColumn(Scope& scope, std::string_view schema, std::string_view relation,
                                          std::string_view name, int32_t location);
  const Expr* ThroughFrames(Scope& scope, Scope& found_in, const Expr* expr, int32_t location);
  Error NoLateral(std::string_view relation, int32_t location) const;
  Error HiddenRelation(std::string_view relation, int32_t location) const;
  const Expr* AddOuter(Frame& frame, const Expr* meaning);
  const Expr* NoteUse(const PgQuery__ColumnRef& node, const Expr* column);
  Result<std::vector<Target>> ExpandStar(Scope& scope, const PgQuery__ColumnRef& node);
  const Expr* WithPosition(const Expr* expr, int32_t location);

  // --- FROM (bind_from.cc) ------------------------------------------------------------------------------------------
  Result<std::unique_ptr<FromTree>> BindFrom(Scope& scope, NodeList from);
  Result<std::unique_ptr<FromTree>> BindFromItem(Scope& scope, const Node* node, std::vector<NamespaceItem>& items);
  Result<std::unique_ptr<FromTree>> BindRangeVar(Scope& scope, const PgQuery__RangeVar& node,
                                                 std::vector<NamespaceItem>& items);
  Result<std::unique_ptr<FromTree>> BindCommonTable(Scope& scope, const CommonTable& common,
                                                    const PgQuery__RangeVar& node, std::vector<NamespaceItem>& items);
  Result<std::unique_ptr<FromTree>> AddQueryLeaf(Scope& scope, LeafKind kind, BoundQuery query, NamespaceItem item,
                                                 const PgQuery__Alias* alias, std::vector<NamespaceItem>& items);
  static std::vector<std::string> CommonNames(const std::vector<NamespaceItem>& left,
                                              const std::vector<NamespaceItem>& right);
  Result<std::unique_ptr<FromTree>> BindRangeSubselect(Scope& scope, const PgQuery__RangeSubselect& node,
                                                       std::vector<NamespaceItem>& items);
  Result<std::unique_ptr<FromTree>> BindRangeFunction(Scope& scope, const PgQuery__RangeFunction& node,
                                                      std::vector<NamespaceItem>& items);
  Result<std::unique_ptr<FromTree>> BindJoin(Scope& scope, const PgQuery__JoinExpr& node,
                                             std::vector<NamespaceItem>& items);
  // LATERAL (bind_lateral.cc).
  Scope LateralScope(const Scope& scope) const;
  static bool HasLeftColumns(const std::vector<const Expr*>& lateral_args);
  const Expr* WithoutFrame(const Expr* expr, const std::vector<const Expr*>& lateral_args);
  // Joins `left` with `right`. A lateral item at right's left end moves next to what it refers to.
  static std::unique_ptr<FromTree> JoinLeft(Scope& scope, std::unique_ptr<FromTree> left,
                                            std::unique_ptr<FromTree> right);
  // That the items to the left of each lateral one are in the tree that it is joined with.
  Status CheckLateral(const Scope& scope, const FromTree& tree) const;
  Plan* AddLateralJoin(Plan* left, const Leaf& leaf, JoinKind join, const std::vector<const Expr*>& args);
  Status MergeUsing(const Scope& scope, const std::vector<std::string>& names, const std::vector<NamespaceItem>& left,
                    const std::vector<NamespaceItem>& right, FromTree& tree, NamespaceItem& joined);
  Result<catalog::TablePtr> FindTable(const PgQuery__RangeVar& node);
  std::unique_ptr<FromTree> AddLeaf(Scope& scope, Leaf leaf, NamespaceItem item,
                                    const std::vector<OutputColumn>& columns, std::vector<NamespaceItem>& items);
  std::unique_ptr<FromTree> AddTableLeaf(Scope& scope, const catalog::TablePtr& table, std::string alias,
                                         NamespaceItem& item);
  static void AddKeyColumn(Scope& scope, uint32_t leaf);
  Status ApplyAlias(const PgQuery__Alias* alias, NamespaceItem& item);
  Status AddItems(std::vector<NamespaceItem>& to, std::vector<NamespaceItem> from);
  void UseTable(const catalog::TablePtr& table);
  // Views (bind_view.cc).
  Result<catalog::TablePtr> FindViewSource(const PgQuery__RangeVar& node);
  void NameAsInView(const PgQuery__RangeVar& node, const catalog::TablePtr& relation, const Scope& scope,
                    NamespaceItem& item);
  void NoteViewUse(const Scope& scope, const Expr* expr);
  void NoteKeyUse(const catalog::Table& table);
  Result<BoundQuery> BindViewQuery(const catalog::TablePtr& view, Frame* frame);
  Result<std::unique_ptr<FromTree>> BindViewLeaf(Scope& scope, const catalog::TablePtr& view,
                                                 const PgQuery__RangeVar& node, std::vector<NamespaceItem>& items);

  // --- Queries ------------------------------------------------------------------------------------------------------
  // `around`: scope in which names go on that the query does not know; nullptr: none. keep_unknown: the caller gives
  // undetermined literals their types (INSERT ... SELECT, UNION).
  struct QueryOptions {
    Scope* around = nullptr;
    Scope* lateral = nullptr;
    Frame* frame = nullptr;
    const CommonTable* common_tables = nullptr;
    bool keep_unknown = false;
    bool exists = false;  // only whether there is a row counts
  };
  Result<BoundQuery> BindQuery(const PgQuery__SelectStmt& node, const QueryOptions& options);
  Result<BoundQuery> BindSimpleSelect(const PgQuery__SelectStmt& node, const QueryOptions& options);
  Result<BoundQuery> BindValues(const PgQuery__SelectStmt& node, const QueryOptions& options);
  Result<BoundQuery> BindSetOperation(const PgQuery__SelectStmt& node, const QueryOptions& options);
  Status ConvertBranch(BoundQuery& branch, const std::vector<SqlType>& types, CastContext context);
  Plan* MakeSetOperation(PgQuery__SetOperation op, bool all, Plan* left, Plan* right);
  // What each column of a set operation's two branches has in common. Errors: 42601, 42804.
  Result<std::vector<SqlType>> CommonTypes(const std::string& operation, const BoundQuery& left,
                                           const BoundQuery& right) const;

  // --- WITH RECURSIVE (bind_recursive.cc) ---------------------------------------------------------------------------
  Status LinkRecursiveWith(std::span<CommonTable* const> items);
  Status CheckRecursion(const CommonTable& common);
  Result<BoundQuery> BindCommonQuery(const CommonTable& common, Frame* frame);
  Status NameCommonColumns(const CommonTable& common, std::vector<OutputColumn>& columns) const;
  Result<BoundQuery> BindRecursiveQuery(const CommonTable& common, QueryOptions options);
  Result<std::unique_ptr<FromTree>> BindWorkingTable(Scope& scope, const CommonTable& common,
                                                     const PgQuery__RangeVar& node, std::vector<NamespaceItem>& items);
  Status CheckRecursiveTerm(const Scope& scope, const std::vector<Target>& targets, const Expr* having) const;
  Result<const CommonTable*> BindWith(const PgQuery__WithClause* with, const CommonTable* outer, Scope* around);
  Result<std::vector<Target>> BindTargets(Scope& scope, NodeList list);
  Status CheckUnusedCommonTables(const CommonTable* from, const CommonTable* until, Frame* frame);
  struct OrderKey {
    size_t target = 0;  // position in the targets
    type::SortOrder order = type::SortOrder::kAscending;
    bool nulls_first = false;
  };
  struct SortTarget {
    const Expr* expr = nullptr;
    std::optional<size_t> target;  // which of the targets it is, if it is one
  };
  struct Limits {
    const Expr* limit = nullptr;
    const Expr* offset = nullptr;
  };
  Result<std::vector<OrderKey>> BindOrderBy(Scope& scope, NodeList list, std::vector<Target>& targets, bool distinct);
  Result<SortTarget> FindSortTarget(Scope& scope, const Node* node, const std::vector<Target>& targets,
                                    std::string_view clause);
  Status BindSortDirection(const PgQuery__SortBy& sort, OrderKey& key);
  Status BindLimits(Scope& scope, const PgQuery__SelectStmt& node, Limits& limits);
  Result<const Expr*> BindLimit(Scope& scope, const Node* node, Clause clause, const char* name);
  BoundQuery FinishQuery(Plan* plan, std::vector<Target> targets, const std::vector<OrderKey>& order, bool distinct,
                         const Limits& limits);
  BoundQuery FinishWindows(Scope& scope, Plan* plan, std::vector<Target> targets, std::vector<OrderKey> order,
                           bool distinct, const Limits& limits, uint32_t group_count, std::vector<SortKey> sorted);
  static void NameOutput(Scope& scope, const std::vector<Target>& targets);
  Result<BoundQuery> FinishNamed(Plan* plan, std::vector<Target> targets, Scope& scope,
                                 const PgQuery__SelectStmt& node);
  Plan* AddSort(Plan* plan, const std::vector<Target>& targets, const std::vector<OrderKey>& order,
                const std::vector<uint32_t>& place, const Limits& limits);
  Plan* AddLimit(Plan* plan, const Limits& limits);
  BoundQuery Describe(Plan* plan, const std::vector<Target>& targets) const;
  void MarkUsed(const Expr* expr, std::vector<bool>& used) const;

  // --- Row locks (bind_row_lock.cc) ---------------------------------------------------------------------------------
  // Adds the keys of the rows that are to be locked to the targets, behind all others.
  Status BindRowLocks(Scope& scope, const PgQuery__SelectStmt& node, std::vector<Target>& targets);
  Status LockLeaf(Leaf& leaf, const PgQuery__LockingClause& clause);
  Status LockRelation(Scope& scope, const PgQuery__RangeVar& relation, const PgQuery__LockingClause& clause);
  Plan* AddLockRows(Plan* plan, const std::vector<Target>& targets);

  // --- Windows (bind_window.cc, plan_window.cc) ---------------------------------------------------------------------
  Result<const Expr*> BindWindowCall(Scope& scope, const PgQuery__FuncCall& node, std::string_view name);
  Status ChooseWindowFunction(const PgQuery__FuncCall& node, std::string_view name, WindowCall& call);
  Status CoerceWindowArguments(std::string_view name, size_t args_min, size_t args_max, std::vector<const Expr*>& args,
                               int32_t location);
  static Status CheckNoWindow(const Expr* expr);  // in an aggregate's arguments
  Result<size_t> WindowOf(Scope& scope, const PgQuery__WindowDef& over);
  // Binds WINDOW up to the window `name`; all of it if there is no such one.
  Status BindNamedWindows(Scope& scope, std::optional<std::string_view> name);
  Result<WindowDefinition> BindWindowDefinition(Scope& scope, const PgQuery__WindowDef& node);
  Status CopyWindow(const Scope& scope, const PgQuery__WindowDef& node, WindowDefinition& window);
  Result<SortKey> BindWindowKey(Scope& scope, const Node* node);
  Status BindFrame(Scope& scope, const PgQuery__WindowDef& node, WindowDefinition& window);
  Result<const Expr*> BindFrameOffset(Scope& scope, const WindowDefinition& window, const Node* node);
  Result<const Expr*> CoerceRangeOffset(const Expr* offset, TypeId sorted_by, int32_t location);
  // Where the window function stands that the expression has; nullopt: it has none.
  static std::optional<uint32_t> FindWindowCall(const Expr* expr);
  static void RewriteWindows(Scope& scope, const std::function<const Expr*(const Expr*)>& rewrite);
  // Adds sorts and window nodes over `plan`, whose output the targets and windows are expressions over. `sorted`: the
  // order of the input, then that of the result. `group_count`: how many of the input's columns are grouped by.
  Plan* PlanWindows(Scope& scope, Plan* plan, std::vector<Target>& targets, const std::vector<OrderKey>& order,
                    uint32_t group_count, std::vector<SortKey>& sorted);
  // The order that the first window node wants; empty: none that an input could have.
  static std::vector<SortKey> FirstWindowOrder(const Scope& scope, const std::vector<Target>& targets,
                                               const std::vector<OrderKey>& order);
  struct WindowStage {  // a window node: its calls share partitions and their order
    std::vector<const Expr*> partition;
    std::vector<SortKey> order;
    std::vector<SortKey> keys;  // to sort by
    std::vector<uint32_t> uses;
  };
  static std::vector<WindowStage> MakeStages(const Scope& scope, const std::vector<Target>& targets,
                                             const std::vector<OrderKey>& order, std::span<const Expr* const> groups);
  Plan* AddStage(const Scope& scope, Plan* plan, const WindowStage& stage);
  static bool IsSortedBy(const std::vector<SortKey>& sorted, const std::vector<SortKey>& wanted);

  // --- Grouping (bind_group.cc) -------------------------------------------------------------------------------------
  Result<std::vector<const Expr*>> BindGroupBy(Scope& scope, NodeList list, std::vector<Target>& targets);
  // FROM, WHERE, grouping and HAVING; makes the targets expressions over the result.
  Result<Plan*> PlanGroups(Scope& scope, FromTree* tree, const std::vector<const Expr*>& conjuncts,
                           std::vector<const Expr*> groups, const Expr* having, std::vector<Target>& targets,
                           uint32_t& group_count);
  // Rewrites an expression over FROM's columns into one over the aggregate node's output. Errors: 42803.
  Result<const Expr*> OverGroups(const Scope& scope, const std::vector<const Expr*>& groups, const Expr* expr);
  // min(column) and max(column) of one table need only the edge of a key that has it: a scan in order and LIMIT 1.
  bool EdgeOrder(const Scope& scope, const FromTree* tree, const std::vector<const Expr*>& groups,
                 std::vector<const Expr*>& conjuncts, WantedOrder& order);
  void AddDependentGroups(const Scope& scope, std::vector<const Expr*>& groups, const std::vector<const Expr*>& uses);
  std::string ColumnText(const Scope& scope, uint32_t id) const;

  // --- Planning (plan_from.cc, plan_scan.cc, plan_rewrite.cc) -------------------------------------------------------
  Planned PlanFrom(Scope& scope, FromTree* tree, std::vector<const Expr*> conjuncts, const std::vector<bool>& used,
                   WantedOrder* order);
  Planned PlanTree(Scope& scope, FromTree& tree, std::vector<const Expr*> conjuncts, const std::vector<bool>& used,
                   WantedOrder* order);
  Planned PlanLeaf(Scope& scope, uint32_t number, std::vector<const Expr*> conjuncts, const std::vector<bool>& used,
                   WantedOrder* order);
  Planned PlanLateral(Scope& scope, FromTree& tree, std::vector<const Expr*> conjuncts, std::vector<bool> used);
  Planned PlanJoin(Scope& scope, FromTree& tree, std::vector<const Expr*> conjuncts, std::vector<bool> used);
  const Expr* Widened(const Expr* expr, TypeId type);
  void AddImpliedConstants(std::vector<const Expr*>& conjuncts);
  // Chooses tree or index, bounds and direction. Takes the conditions that the bounds make certain out of `conjuncts`.
  void ChooseAccessPath(const Leaf& leaf, std::vector<const Expr*>& conjuncts, Plan& scan, WantedOrder* order);
  const Expr* BoundOf(const Expr* value, TypeId column);
  static std::vector<KeyBounds> BoundsOf(const std::vector<std::vector<const Expr*>>& equal);
  Plan* AddFilter(Plan* input, const Expr* predicate);
  Plan* AddProject(Plan* input, std::vector<const Expr*> exprs);
  IdMap MapOf(const Scope& scope, const std::vector<uint32_t>& ids) const;
  const Expr* Remap(const Expr* expr, const IdMap& map);
  // Copies `expr` with each node that `replace` gives another for; nullptr from it: keep and go below.
  const Expr* Rewrite(const Expr* expr, const std::function<const Expr*(const Expr*)>& replace);

  // --- Writes -------------------------------------------------------------------------------------------------------
  Status BindSelectStatement(const PgQuery__SelectStmt& node);
  Status BindInsert(const PgQuery__InsertStmt& node);
  Result<std::vector<uint32_t>> InsertColumns(const catalog::Table& table, NodeList cols);
  Result<Plan*> InsertFromValues(Scope& scope, const catalog::TablePtr& table, const std::vector<uint32_t>& columns,
                                 NodeList cols, NodeList rows);
  Result<Plan*> InsertFromQuery(const catalog::TablePtr& table, const std::vector<uint32_t>& columns, NodeList cols,
                                const PgQuery__SelectStmt& query, const CommonTable* common_tables);
  Status BindOnConflict(const PgQuery__OnConflictClause& node, const catalog::TablePtr& table, const std::string& alias,
                        const CommonTable* common_tables, Plan& insert);
  Result<std::optional<uint32_t>> ConflictTarget(const PgQuery__InferClause* infer, const catalog::Table& table);
  Status BindUpdate(const PgQuery__UpdateStmt& node);
  Status BindDelete(const PgQuery__DeleteStmt& node);
  struct RowWrite {  // the clauses of UPDATE or DELETE
    const PgQuery__RangeVar& relation;
    const PgQuery__WithClause* with;
    NodeList assignments;  // none: DELETE
    NodeList from;         // or USING
    const Node* where;
    NodeList returning;
  };
  Status BindRowWrite(PlanKind kind, const RowWrite& clauses);
  Result<Plan*> PlanWriteInput(Scope& scope, FromTree* tree, const Node* where, std::vector<Assignment>& assignments);
  Result<std::unique_ptr<FromTree>> BindWriteFrom(Scope& scope, NodeList from);
  Result<std::vector<Assignment>> BindAssignments(Scope& scope, const catalog::TablePtr& table, NodeList targets);
  Status BindReturning(Scope& scope, NodeList list, Plan& write);
  Result<catalog::TablePtr> OpenWriteScope(PlanKind kind, const PgQuery__RangeVar& relation,
                                           const CommonTable* common_tables, Frame& frame, Scope& scope);
  Result<catalog::TablePtr> FindWritableTable(const PgQuery__RangeVar& node);  // or a view
  // `verb`: what is done with rows there, "insert into".
  Result<catalog::TablePtr> FindWriteTarget(const PgQuery__RangeVar& node, std::string_view verb);
  // The column's DEFAULT (NULL if none), converted. Bound once for each column.
  Result<const Expr*> DefaultOf(const catalog::TablePtr& table, uint32_t column);
  Result<const Expr*> BindDefaultText(const std::string& sql, const catalog::Column& column);
  // Calls `bind` with the expression that a text of the catalog is: no parameters, no positions.
  Result<const Expr*> BindStoredText(const std::string& sql, std::string_view what,
                                     const std::function<Result<const Expr*>(const Node*)>& bind);
  Status CheckDefault(const Node* node, const catalog::Column& column);

  // --- Constraints (bind_constraint.cc) -----------------------------------------------------------------------------
  struct ColumnUse {
    int32_t location;
    uint32_t fields;  // of its name: 1 for "a", 2 for "t.a"
    uint32_t column;
  };
  // A CHECK of `table`; `taken`: what the statement has called others. Errors: as PostgreSQL's.
  Result<catalog::Check> BindCheck(const PgQuery__Constraint& node, const catalog::TablePtr& table,
                                   const std::vector<std::string>& taken);
  Result<const Expr*> BindCheckExpr(const Node* node, const catalog::TablePtr& table);
  Result<const Expr*> BindCheckText(const catalog::Check& check, const catalog::TablePtr& table);
  Result<std::string> CheckText(const PgQuery__Constraint& node, const std::vector<ColumnUse>& uses) const;
  bool ConstraintExists(const std::string& schema, std::string_view name) const;
  // "table_columns_label", numbered if a constraint has this name already.
  std::string ChooseConstraintName(const catalog::Table& table, std::string_view columns, std::string_view label,
                                   const std::vector<std::string>& taken) const;

  // --- Foreign keys (bind_foreign_key.cc) ---------------------------------------------------------------------------
  // FOREIGN KEY (names) of `table`, whose other constraints it has already; a key of its own to itself has its id.
  Result<catalog::ForeignKey> BindForeignKey(const PgQuery__Constraint& node, const std::vector<std::string>& names,
                                             const catalog::TablePtr& table);
  Result<catalog::TablePtr> FindReferenced(const PgQuery__RangeVar& relation, const catalog::TablePtr& table);
  Result<std::vector<uint32_t>> ForeignKeyColumns(const catalog::Table& table,
                                                  const std::vector<std::string>& names) const;
  Result<std::vector<uint32_t>> ReferencedColumns(const PgQuery__Constraint& node, const catalog::Table& parent) const;
  Status CheckForeignKeyTypes(const catalog::ForeignKey& key, const catalog::Table& table,
                              const catalog::Table& parent) const;
  // For a statement that writes `table`, whose plan assigns these columns; nullptr: nothing has to be looked at.
  Result<const TableRules*> RulesOf(const catalog::TablePtr& table, PlanKind kind,
                                    const std::vector<Assignment>& assignments);
  // For whatever a foreign key's action does to it.
  Result<const TableRules*> AllRulesOf(const catalog::TablePtr& table);
  Status AddForeignKeys(const TableDraft& added, AlterDraft& draft);
  Status CheckReferrers(const AlterDraft& draft, const std::string& dropped, const std::string& on);
  Result<catalog::TablePtr> FindRelated(const catalog::TablePtr& table, ObjectId id);
  Status AddCheckRules(TableRules& rules);
  Status AddParentRule(const catalog::ForeignKey& key, TableRules& rules);
  Status AddChildRule(const catalog::Referrer& referrer, TableRules& rules);

  // --- Definitions and the rest -------------------------------------------------------------------------------------
  Status BindCreateTable(const PgQuery__CreateStmt& node);
  Status BindColumnDef(const PgQuery__ColumnDef& node, TableDraft& draft);
  Status BindConstraint(const PgQuery__Constraint& node, const PgQuery__ColumnDef* column, TableDraft& draft);
  Status BindChecks(TableDraft& draft);
  Status BindForeignKeys(const TableDraft& draft, catalog::Table& table);
  Status BindAttribute(const PgQuery__Constraint& node, const PgQuery__Constraint* of);
  Status AddKey(const PgQuery__Constraint& node, const std::vector<std::string>& names, TableDraft& draft);
  std::unique_ptr<catalog::Table> FinishTable(TableDraft draft);
  Result<std::string> DefaultText(const PgQuery__ColumnDef& column, const PgQuery__Constraint& constraint) const;
  Result<std::string> TargetSchema(const PgQuery__RangeVar& relation) const;
  std::string ChooseName(const std::string& schema, std::string_view table, std::string_view columns,
                         std::string_view label, const std::vector<std::string>& taken) const;
  Status BindCreateIndex(const PgQuery__IndexStmt& node);
  Status BindDrop(const PgQuery__DropStmt& node);
  struct QualifiedName {
    std::string schema;  // empty: by the search path
    std::string name;
    std::string text;  // as the statement has it
  };
  static QualifiedName NameOf(const Node* object);
  enum class DropKind : uint8_t { kTable, kView, kIndex };
  // The relation, or the table of the index, that DROP names; nullptr: it is not there, which IF EXISTS has noted.
  Result<catalog::TablePtr> FindDropped(const QualifiedName& name, DropKind kind, bool missing_ok);
  void AddDropped(const catalog::TablePtr& table);
  Status BindDropTable(const PgQuery__DropStmt& node);
  Status BindDropIndex(const PgQuery__DropStmt& node);
  Status BindTruncate(const PgQuery__TruncateStmt& node);
  // ALTER TABLE (bind_alter.cc). Each action changes the draft; IF EXISTS leaves a notice.
  Status BindAlterTable(const PgQuery__AlterTableStmt& node);
  Status BindRename(const PgQuery__RenameStmt& node);
  struct AlteredRelation {
    catalog::TablePtr table;  // nullptr: it is not there, which IF EXISTS allows
    bool is_index = false;    // the name is that of an index of the table
  };
  Result<AlteredRelation> FindAltered(const PgQuery__RangeVar& relation, bool missing_ok);
  Status RenameColumn(const PgQuery__RenameStmt& node, AlterDraft& draft);
  Status RenameConstraint(const PgQuery__RenameStmt& node, AlterDraft& draft);
  Status RenameIndex(const std::string& name, const std::string& new_name, AlterDraft& draft);
  Status AlterAction(const PgQuery__AlterTableCmd& action, size_t number, AlterDraft& draft);
  Status AddColumn(const PgQuery__AlterTableCmd& action, AlterDraft& draft);
  Status DropColumn(const PgQuery__AlterTableCmd& action, AlterDraft& draft);
  Status AddConstraint(const PgQuery__Constraint& node, AlterDraft& draft);
  Status DropConstraint(const PgQuery__AlterTableCmd& action, AlterDraft& draft);
  Status SetDefault(const PgQuery__AlterTableCmd& action, size_t number, AlterDraft& draft);
  Status AlterColumnType(const PgQuery__AlterTableCmd& action, AlterDraft& draft);
  Status ConvertDefault(catalog::Column& column, const SqlType& type);
  Status SetNotNull(std::string_view name, bool not_null, AlterDraft& draft);
  Status TakeDraft(TableDraft added, AlterDraft& draft);
  // bind_alter_check.cc
  Result<std::vector<ColumnUse>> UsesOf(const catalog::Check& check, const catalog::TablePtr& table);
  Status DropChecksOf(uint32_t slot, AlterDraft& draft);
  Status RenameInChecks(uint32_t slot, std::string_view new_name, AlterDraft& draft);
  Status AddChecks(const TableDraft& added, AlterDraft& draft);
  Status BindNewChecks(const AlterDraft& draft, const catalog::TablePtr& changed);
  void Notice(std::string_view sqlstate, std::string message) {
    statement_.alter.notices.push_back({std::string(sqlstate), std::move(message)});
  }
  Status FinishAlter(AlterDraft draft);
  // The text behind SET DEFAULT in the `number`th action of the statement, from 0.
  Result<std::string> SetDefaultText(size_t number) const;
  Result<std::string> ViewText() const;
  Result<std::vector<catalog::Column>> ViewColumns(const PgQuery__ViewStmt& node, const BoundQuery& query) const;
  Status BindCreateView(const PgQuery__ViewStmt& node);
  Status BindDropView(const PgQuery__DropStmt& node);
  // What a view cannot do: 55000 as PostgreSQL says it, 0A000 where it could.
  Error NotUpdatable(const PgQuery__RangeVar& node, const catalog::TablePtr& view, std::string_view verb);
  // Views that use what is being dropped (bind_dependent.cc).
  struct Dependent {
    catalog::TablePtr view;
    std::string reason;  // "view v depends on table t"
  };
  void AddViewsUsing(const catalog::Table& used, std::optional<uint32_t> slot, const std::string& description,
                     std::vector<Dependent>& found) const;
  // Errors: 2BP01 unless `cascade`. `dropped`: what the statement names itself.
  Result<std::vector<catalog::TablePtr>> TakeDependents(const std::vector<Dependent>& found, bool cascade,
                                                        const std::string& description,
                                                        const std::vector<catalog::TablePtr>& dropped);
  Status DropDependents(PgQuery__DropBehavior behavior);

  // --- Sequences (bind_sequence.cc) ---------------------------------------------------------------------------------
  Status BindCreateSequence(const PgQuery__CreateSeqStmt& node);
  Status BindAlterSequence(const PgQuery__AlterSeqStmt& node);
  Status BindDropSequence(const PgQuery__DropStmt& node);
  Status BindSequenceOptions(NodeList nodes, bool for_identity, SequenceStatement& statement);
  Status BindSequenceOwner(const PgQuery__DefElem& option, SequenceStatement::Owner& owner);
  catalog::SequencePtr FindSequence(std::string_view schema, std::string_view name) const;  // nullptr: none
  void UseSequence(const catalog::SequencePtr& sequence);
  // False: it is no serial type.
  Result<bool> BindSerialType(const PgQuery__TypeName& name, catalog::Column& column);
  Status FinishSerial(TableDraft& draft);
  Status BindIdentity(const PgQuery__Constraint& node, TableDraft& draft);
  Result<std::string> AddOwnedSequence(const SequenceStatement& options, TableDraft& draft);
  Result<const Expr*> NextIdentity(const catalog::Table& table, uint32_t column);
  // Whether INSERT puts a value that is no DEFAULT into the column, or its next one in place of that. Errors: 428C9.
  Result<bool> TakesInsertedValue(const catalog::Column& column) const;
  Status CheckIdentityUpdate(const catalog::Column& column) const;
  static bool IsSequenceFunction(std::string_view name, size_t argument_count);
  const Expr* MakeSequenceId(const catalog::Sequence& sequence, int32_t location);
  Result<const Expr*> CallSequenceFunction(std::string_view name, std::vector<const Expr*> args, int32_t location);
  Result<const Expr*> BindSequenceName(Scope& scope, const Node* node);
  Result<const Expr*> BindSequenceCall(Scope& scope, std::string_view name, NodeList arg_nodes, int32_t location,
                                       std::string_view schema);
  Result<std::unique_ptr<FromTree>> BindSequenceItem(Scope& scope, const catalog::SequencePtr& sequence,
                                                     const PgQuery__RangeVar& node, std::vector<NamespaceItem>& items);

  Status BindTransaction(const PgQuery__TransactionStmt& node);
  Status BindTransactionModes(NodeList options);
  Status BindSet(const PgQuery__VariableSetStmt& node);
  Status BindSetSeveral(const PgQuery__VariableSetStmt& node);
  Status BindShow(const PgQuery__VariableShowStmt& node);
  Status BindExplain(const PgQuery__ExplainStmt& node);
  Status FinishParameters();
  void SetOutput(const std::vector<OutputColumn>& columns);
  static std::string_view StatementName(const Node& node);
  void UtilityCommand(StatementKind kind, std::string_view command);

  const AnalyzeContext& context_;
  const type::TextSettings* text_;  // for literals
  const TextPositions* positions_;  // nullptr while a stored DEFAULT is bound: its text is not the statement's
  std::string_view sql_;
  Statement& statement_;
  std::vector<bool> parameter_used_;
  std::vector<int32_t> parameter_location_;
  std::vector<const Expr*> untyped_parameters_;  // where the use does not tell the type: $1 IS NULL
  bool parameters_allowed_ = true;
  const catalog::View* in_view_ = nullptr;                        // whose stored text is being bound
  std::vector<catalog::ViewSource>* recorded_sources_ = nullptr;  // of the view that is being made
  uint32_t view_uses_ = 0;
  PgQuery__OverridingKind overriding_ = PG_QUERY__OVERRIDING_KIND__OVERRIDING_NOT_SET;
  uint32_t depth_ = 0;  // levels of expressions and queries around what is being bound
  uint32_t recursion_count_ = 0;
  uint32_t recursion_depth_ = 0;                   // recursive terms around what is being bound
  uint64_t duplication_ = 1;                       // how often the expression that is being bound appears in the result
  std::vector<ColumnUse>* column_uses_ = nullptr;  // while a CHECK is defined
  std::map<const catalog::Table*, const TableRules*> all_rules_;
  std::deque<CommonTable> common_tables_;
  std::map<std::pair<const catalog::Table*, uint32_t>, const Expr*> defaults_;
};

// Calls `visit` for each node of the tree, outer arguments of subplans included.
void VisitExpr(const Expr* expr, const std::function<void(const Expr*)>& visit);
bool IsVolatile(const Expr* expr);
bool IsVolatile(const Plan& plan);
// The plan gives the same rows at each run of the statement's: it takes nothing from outside and nothing by chance.
bool IsFixed(const Plan& plan);
// Calls `visit` for each expression of the node itself.
void ForEachExpr(const Plan& plan, const std::function<void(const Expr*)>& visit);
bool HasSubplan(const Expr* expr);
// The same operation on the same operands; positions do not count.
bool SameExpr(const Expr* a, const Expr* b);
void MarkLeaves(const Scope& scope, const FromTree& tree, std::vector<bool>& ids);  // columns of a subtree, by id
void AddConjuncts(const Expr* predicate, std::vector<const Expr*>& conjuncts);
// Of all kinds; those of keys are relations' names too.
std::vector<std::string> ConstraintNames(const catalog::Table& table);
// "FOR UPDATE" or what the statement has in its place.
std::string LockName(const PgQuery__LockingClause& clause);
// What a clause is called in "aggregate functions are not allowed in ..."; empty: they are allowed.
std::string_view NoAggregatesIn(Clause clause);
bool IsWindowFunction(std::string_view name);  // row_number and its like: not aggregates
// The name that PostgreSQL gives a select list's column without AS.
std::string ColumnNameOf(const Node* node);

}  // namespace sisal::sql
