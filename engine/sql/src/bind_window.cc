// Window functions: OVER, WINDOW and frames.
#include <algorithm>
#include <iterator>

#include "binder.h"

namespace sisal::sql {
namespace {

struct WindowFunctionEntry {
  std::string_view name;
  WindowFunction function;
  size_t args_min, args_max;
  TypeId result;  // kUnknown: the first argument's
  bool hypothetical = false;
};

// With arguments, the hypothetical ones are PostgreSQL's aggregates WITHIN GROUP.
constexpr WindowFunctionEntry kWindowFunctions[] = {
    {"row_number", WindowFunction::kRowNumber, 0, 0, TypeId::kBigint},
    {"rank", WindowFunction::kRank, 0, 0, TypeId::kBigint, true},
    {"dense_rank", WindowFunction::kDenseRank, 0, 0, TypeId::kBigint, true},
    {"percent_rank", WindowFunction::kPercentRank, 0, 0, TypeId::kDouble, true},
    {"cume_dist", WindowFunction::kCumeDist, 0, 0, TypeId::kDouble, true},
    {"ntile", WindowFunction::kNtile, 1, 1, TypeId::kInteger},
    {"lag", WindowFunction::kLag, 1, 3, TypeId::kUnknown},
    {"lead", WindowFunction::kLead, 1, 3, TypeId::kUnknown},
    {"first_value", WindowFunction::kFirstValue, 1, 1, TypeId::kUnknown},
    {"last_value", WindowFunction::kLastValue, 1, 1, TypeId::kUnknown},
    {"nth_value", WindowFunction::kNthValue, 2, 2, TypeId::kUnknown},
};

const WindowFunctionEntry* FindWindowFunction(std::string_view name) {
  const auto* found = std::find_if(std::begin(kWindowFunctions), std::end(kWindowFunctions),
                                   [&](const WindowFunctionEntry& entry) { return entry.name == name; });
  return found == std::end(kWindowFunctions) ? nullptr : found;
}

std::string_view NoWindowsIn(Clause clause) {
  switch (clause) {
    case Clause::kHaving:
      return "HAVING";
    case Clause::kWindow:
    case Clause::kWindowRange:
    case Clause::kWindowRows:
    case Clause::kWindowGroups:
      return "window definitions";
    case Clause::kAggregateArgument:
      return "";  // the aggregate has a message of its own
    default:
      return NoAggregatesIn(clause);
  }
}

TypeIds TypesOf(const std::vector<const Expr*>& exprs) {
  TypeIds types;
  for (const Expr* expr : exprs) types.push_back(expr->type.id);
  return types;
}

bool SameOptional(const Expr* a, const Expr* b) { return a == b || (a != nullptr && b != nullptr && SameExpr(a, b)); }

bool SameFrame(const WindowFrame& a, const WindowFrame& b) {
  return a.mode == b.mode && a.start == b.start && a.end == b.end && a.exclusion == b.exclusion &&
         SameOptional(a.start_offset, b.start_offset) && SameOptional(a.end_offset, b.end_offset);
}

bool SameWindow(const WindowDefinition& a, const WindowDefinition& b) {
  return a.name == b.name && a.copied == b.copied && SameFrame(a.frame, b.frame) &&
         std::equal(a.partition.begin(), a.partition.end(), b.partition.begin(), b.partition.end(), SameExpr) &&
         std::equal(a.order.begin(), a.order.end(), b.order.begin(), b.order.end(),
                    [](const SortKey& x, const SortKey& y) {
                      return SameExpr(x.expr, y.expr) && x.order == y.order && x.nulls_first == y.nulls_first;
                    });
}

bool SameCall(const WindowUse& a, const WindowUse& b) {
  const WindowCall &x = a.call, &y = b.call;
  return a.definition == b.definition && x.function == y.function && x.aggregate == y.aggregate &&
         SameOptional(x.filter, y.filter) &&
         std::equal(x.args.begin(), x.args.end(), y.args.begin(), y.args.end(), SameExpr);
}

// What the grammar says about a frame, a bit each, as PostgreSQL numbers them.
enum FrameOption : int32_t {
  kFrameGiven = 0x1,
  kFrameRange = 0x2,
  kFrameRows = 0x4,
  kFrameGroups = 0x8,
  kStartUnbounded = 0x20,
  kEndUnbounded = 0x100,
  kStartCurrent = 0x200,
  kEndCurrent = 0x400,
  kStartPreceding = 0x800,
  kEndPreceding = 0x1000,
  kStartFollowing = 0x2000,
  kEndFollowing = 0x4000,
  kExcludeCurrent = 0x8000,
  kExcludeGroup = 0x10000,
  kExcludeTies = 0x20000,
};

WindowFrame FrameOf(int32_t options) {
  WindowFrame frame;
  const auto has = [options](FrameOption option) { return (options & option) != 0; };
  frame.mode = has(kFrameRows) ? FrameMode::kRows : has(kFrameGroups) ? FrameMode::kGroups : FrameMode::kRange;
  frame.start = has(kStartCurrent)     ? FrameBound::kCurrentRow
                : has(kStartPreceding) ? FrameBound::kPreceding
                : has(kStartFollowing) ? FrameBound::kFollowing
                                       : FrameBound::kUnboundedPreceding;
  frame.end = has(kEndUnbounded)   ? FrameBound::kUnboundedFollowing
              : has(kEndPreceding) ? FrameBound::kPreceding
              : has(kEndFollowing) ? FrameBound::kFollowing
                                   : FrameBound::kCurrentRow;
  frame.exclusion = has(kExcludeCurrent) ? FrameExclusion::kCurrentRow
                    : has(kExcludeGroup) ? FrameExclusion::kGroup
                    : has(kExcludeTies)  ? FrameExclusion::kTies
                                         : FrameExclusion::kNoOthers;
  return frame;
}

// The types of offsets that RANGE takes over a sort key of this type.
TypeIds RangeOffsets(TypeId sorted_by) {
  using enum TypeId;
  switch (sorted_by) {
    case kSmallint:
    case kInteger:
      return {kSmallint, kInteger, kBigint};
    case kBigint:
      return {kBigint};
    case kNumeric:
      return {kNumeric};
    case kReal:
    case kDouble:
      return {kDouble};
    case kDate:
    case kTime:
    case kTimestamp:
    case kTimestampTz:
    case kInterval:
      return {kInterval};
    default:
      return {};
  }
}

}  // namespace

bool IsWindowFunction(std::string_view name) { return FindWindowFunction(name) != nullptr; }

std::optional<uint32_t> Binder::FindWindowCall(const Expr* expr) {
  std::optional<uint32_t> found;
  VisitExpr(expr, [&](const Expr* part) {
    if (part->kind == ExprKind::kColumn && part->index >= kWindowBase && !found.has_value()) found = part->position;
  });
  return found;
}

void Binder::RewriteWindows(Scope& scope, const std::function<const Expr*(const Expr*)>& rewrite) {
  for (WindowDefinition& window : scope.windows) {
    for (const Expr*& expr : window.partition) expr = rewrite(expr);
    for (SortKey& key : window.order) key.expr = rewrite(key.expr);
  }
  for (WindowUse& use : scope.window_uses) {
    for (const Expr*& arg : use.call.args) arg = rewrite(arg);
    if (use.call.filter != nullptr) use.call.filter = rewrite(use.call.filter);
  }
}

Result<const Expr*> Binder::BindWindowCall(Scope& scope, const PgQuery__FuncCall& node, std::string_view name) {
  WindowUse use;
  SISAL_ASSIGN_OR_RETURN(use.call.args, BindList(scope, NodeList(node.args, node.n_args)));
  if (node.agg_filter != nullptr) {
    SISAL_ASSIGN_OR_RETURN(use.call.filter, BindCondition(scope, node.agg_filter, Clause::kFilter));
  }
  SISAL_RETURN_IF_ERROR(ChooseWindowFunction(node, name, use.call));
  for (const Expr* arg : use.call.args) {
    if (const auto nested = FindWindowCall(arg); nested.has_value()) {
      return Error("42P20", "window function calls cannot be nested").WithPosition(*nested);
    }
  }
  const std::string_view forbidden = NoWindowsIn(scope.clause);
  if (!forbidden.empty()) {
    return At(node.location, "42P20", "window functions are not allowed in " + std::string(forbidden));
  }
  SISAL_ASSIGN_OR_RETURN(use.definition, WindowOf(scope, *node.over));
  const auto known = std::find_if(scope.window_uses.begin(), scope.window_uses.end(),
                                  [&](const WindowUse& other) { return SameCall(other, use); });
  const auto number = static_cast<uint32_t>(known - scope.window_uses.begin());
  const SqlType type = use.call.result;
  if (known == scope.window_uses.end()) scope.window_uses.push_back(std::move(use));
  return MakeColumn(kWindowBase + number, type, node.location);
}

// Finds what the name means and gives the arguments their types, then refuses what does not go with OVER.
Status Binder::ChooseWindowFunction(const PgQuery__FuncCall& node, std::string_view name, WindowCall& call) {
  const WindowFunctionEntry* entry = FindWindowFunction(name);
  if (entry == nullptr && function::FindAggregates(name).empty()) {
    SISAL_RETURN_IF_ERROR(CallFunction(name, call.args, node.location).status());
    return At(node.location, "42809",
              "OVER specified, but " + std::string(name) + " is not a window function nor an aggregate function");
  }
  if (entry == nullptr) {
    SISAL_ASSIGN_OR_RETURN(call.aggregate, ChooseAggregate(name, call.args, node.location));
    call.result = call.aggregate->result;
  } else {
    call.function = entry->function;
    const size_t count = call.args.size();
    if (entry->hypothetical && count > 0) {
      return At(node.location, "42809", "WITHIN GROUP is required for ordered-set aggregate " + std::string(name));
    }
    SISAL_RETURN_IF_ERROR(CoerceWindowArguments(name, entry->args_min, entry->args_max, call.args, node.location));
    call.result = entry->result == TypeId::kUnknown ? SqlType(call.args[0]->type.id) : SqlType(entry->result);
    if (node.over == nullptr) {
      return At(node.location, "42809", "window function " + std::string(name) + " requires an OVER clause");
    }
  }
  if (node.agg_distinct) return At(node.location, "0A000", "DISTINCT is not implemented for window functions");
  if (entry == nullptr && call.args.empty() && !node.agg_star) {
    return At(node.location, "42809",
              std::string(name) + "(*) must be used to call a parameterless aggregate function");
  }
  if (node.n_agg_order > 0) {
    return At(node.location, "0A000", "aggregate ORDER BY is not implemented for window functions");
  }
  if (entry != nullptr && node.agg_filter != nullptr) {
    return At(node.location, "0A000", "FILTER is not implemented for non-aggregate window functions");
  }
  return Status();
}

// lag(value, offset, default) takes any type that both values have in common; elsewhere the value's type counts alone.
Status Binder::CoerceWindowArguments(std::string_view name, size_t args_min, size_t args_max,
                                     std::vector<const Expr*>& args, int32_t location) {
  const TypeIds types = TypesOf(args);
  const auto missing = [&] {
    return At(location, "42883", "function " + std::string(name) + "(" + TypeList(types) + ") does not exist")
        .WithHint("No function matches the given name and argument types. You might need to add explicit type casts.");
  };
  if (args.size() < args_min || args.size() > args_max) return missing();
  if (args.empty()) return Status();
  const size_t number = name == "ntile" ? 0 : 1;  // which of them is an integer
  if (args.size() > number && !CanCoerce(types[number], TypeId::kInteger, CastContext::kImplicit)) return missing();
  if (args.size() == 3) {
    const TypeId values[] = {types[0], types[2]};
    size_t failed_at = 0;
    TypeId matched = TypeId::kUnknown;
    if (!CommonType(values, failed_at, matched).has_value()) return missing();
    std::vector<const Expr*> both = {args[0], args[2]};
    SISAL_RETURN_IF_ERROR(CoerceToCommon(both, {-1, -1}, name).status());
    args[0] = both[0];
    args[2] = both[1];
  } else if (number == 1 && types[0] == TypeId::kUnknown) {
    return Error("42804", "could not determine polymorphic type because input has type unknown");
  }
  if (args.size() > number) {
    SISAL_ASSIGN_OR_RETURN(args[number], CoerceType(args[number], TypeId::kInteger, CastContext::kImplicit, -1));
  }
  return Status();
}

Result<size_t> Binder::WindowOf(Scope& scope, const PgQuery__WindowDef& over) {
  const std::string_view name = View(over.name);
  if (!name.empty()) {
    SISAL_RETURN_IF_ERROR(BindNamedWindows(scope, name));
    for (size_t i = 0; i < scope.windows.size(); ++i) {
      if (scope.windows[i].name == name) return i;
    }
    return At(over.location, "42704", "window \"" + std::string(name) + "\" does not exist");
  }
  SISAL_ASSIGN_OR_RETURN(WindowDefinition window, BindWindowDefinition(scope, over));
  for (size_t i = 0; i < scope.windows.size(); ++i) {
    if (SameWindow(scope.windows[i], window)) return i;
  }
  scope.windows.push_back(std::move(window));
  return scope.windows.size() - 1;
}

Status Binder::BindNamedWindows(Scope& scope, std::optional<std::string_view> name) {
  const auto is_known = [&](std::string_view wanted) {
    return std::any_of(scope.windows.begin(), scope.windows.end(),
                       [&](const WindowDefinition& window) { return window.name == wanted; });
  };
  while (scope.named_windows < scope.window_clause.size() && !(name.has_value() && is_known(*name))) {
    const PgQuery__WindowDef& node = *scope.window_clause[scope.named_windows]->window_def;
    if (is_known(View(node.name))) {
      return At(node.location, "42P20", "window \"" + std::string(View(node.name)) + "\" is already defined");
    }
    SISAL_ASSIGN_OR_RETURN(WindowDefinition window, BindWindowDefinition(scope, node));
    scope.windows.push_back(std::move(window));
    ++scope.named_windows;
  }
  return Status();
}

Result<SortKey> Binder::BindWindowKey(Scope& scope, const Node* node) {
  SortKey key;
  SISAL_ASSIGN_OR_RETURN(key.expr, BindExpr(scope, node));
  SISAL_ASSIGN_OR_RETURN(key.expr, ResolveUnknown(key.expr, LocationOf(node)));
  return key;
}

Result<WindowDefinition> Binder::BindWindowDefinition(Scope& scope, const PgQuery__WindowDef& node) {
  WindowDefinition window;
  window.name = View(node.name);
  window.copied = View(node.refname);
  // A window of the clause copies one before it, which is bound by now.
  if (window.name.empty() && !window.copied.empty()) SISAL_RETURN_IF_ERROR(BindNamedWindows(scope, window.copied));
  const Clause before = scope.clause;
  scope.clause = Clause::kWindow;
  const auto known = std::find_if(scope.windows.begin(), scope.windows.end(), [&](const WindowDefinition& other) {
    return !window.copied.empty() && other.name == window.copied;
  });
  if (!window.copied.empty() && known == scope.windows.end()) {
    return At(node.location, "42704", "window \"" + window.copied + "\" does not exist");
  }
  for (const Node* item : NodeList(node.order_clause, node.n_order_clause)) {
    SISAL_ASSIGN_OR_RETURN(SortKey key, BindWindowKey(scope, item->sort_by->node));
    OrderKey direction;
    SISAL_RETURN_IF_ERROR(BindSortDirection(*item->sort_by, direction));
    key.order = direction.order;
    key.nulls_first = direction.nulls_first;
    const bool repeated = std::any_of(window.order.begin(), window.order.end(),
                                      [&](const SortKey& other) { return SameExpr(other.expr, key.expr); });
    if (!repeated) window.order.push_back(key);
  }
  for (const Node* item : NodeList(node.partition_clause, node.n_partition_clause)) {
    SISAL_ASSIGN_OR_RETURN(const SortKey key, BindWindowKey(scope, item));
    window.partition.push_back(key.expr);
  }
  window.has_frame = (node.frame_options & kFrameGiven) != 0;
  SISAL_RETURN_IF_ERROR(CopyWindow(scope, node, window));
  SISAL_RETURN_IF_ERROR(BindFrame(scope, node, window));
  scope.clause = before;
  return window;
}

// What `window` takes from the one that it names. SQL lets it add an order to a window that has none, and a frame to
// one that has none.
Status Binder::CopyWindow(const Scope& scope, const PgQuery__WindowDef& node, WindowDefinition& window) {
  if (window.copied.empty()) return Status();
  const auto copied = std::find_if(scope.windows.begin(), scope.windows.end(),
                                   [&](const WindowDefinition& other) { return other.name == window.copied; });
  const std::string name = "\"" + window.copied + "\"";
  if (!window.partition.empty()) {
    return At(node.location, "42P20", "cannot override PARTITION BY clause of window " + name);
  }
  if (!window.order.empty() && !copied->order.empty()) {
    return At(node.location, "42P20", "cannot override ORDER BY clause of window " + name);
  }
  if (copied->has_frame) {
    Error error = At(node.location, "42P20", "cannot copy window " + name + " because it has a frame clause");
    const bool bare = window.name.empty() && window.order.empty() && !window.has_frame;
    return bare ? std::move(error).WithHint("Omit the parentheses in this OVER clause.") : error;
  }
  window.partition = copied->partition;
  if (window.order.empty()) window.order = copied->order;
  return Status();
}

Status Binder::BindFrame(Scope& scope, const PgQuery__WindowDef& node, WindowDefinition& window) {
  window.frame = FrameOf(node.frame_options);
  const bool offsets = node.start_offset != nullptr || node.end_offset != nullptr;
  if (window.frame.mode == FrameMode::kRange && offsets && window.order.size() != 1) {
    return At(node.location, "42P20", "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column");
  }
  if (window.frame.mode == FrameMode::kGroups && window.order.empty()) {
    return At(node.location, "42P20", "GROUPS mode requires an ORDER BY clause");
  }
  SISAL_ASSIGN_OR_RETURN(window.frame.start_offset, BindFrameOffset(scope, window, node.start_offset));
  SISAL_ASSIGN_OR_RETURN(window.frame.end_offset, BindFrameOffset(scope, window, node.end_offset));
  return Status();
}

Result<const Expr*> Binder::BindFrameOffset(Scope& scope, const WindowDefinition& window, const Node* node) {
  if (node == nullptr) return nullptr;
  const FrameMode mode = window.frame.mode;
  scope.clause = mode == FrameMode::kRows    ? Clause::kWindowRows
                 : mode == FrameMode::kRange ? Clause::kWindowRange
                                             : Clause::kWindowGroups;
  const std::string name = mode == FrameMode::kRows ? "ROWS" : mode == FrameMode::kRange ? "RANGE" : "GROUPS";
  SISAL_ASSIGN_OR_RETURN(const Expr* offset, BindExpr(scope, node));
  // A literal with its type is one constant by now, which stands where its text does.
  const bool typed = node->node_case == PG_QUERY__NODE__NODE_TYPE_CAST && offset->kind == ExprKind::kConstant;
  const int32_t location = LocationOf(typed ? node->type_cast->arg : node);
  if (mode == FrameMode::kRange) {
    SISAL_ASSIGN_OR_RETURN(offset, CoerceRangeOffset(offset, window.order[0].expr->type.id, location));
  } else if (CanCoerce(offset->type.id, TypeId::kBigint, CastContext::kAssignment)) {
    SISAL_ASSIGN_OR_RETURN(offset, CoerceType(offset, TypeId::kBigint, CastContext::kAssignment, location));
  } else {
    return At(location, "42804",
              "argument of " + name + " must be type bigint, not type " + TypeList(std::span(&offset->type.id, 1)));
  }
  const Expr* variable = nullptr;
  VisitExpr(offset, [&](const Expr* part) {
    if (part->kind == ExprKind::kColumn && variable == nullptr) variable = part;
  });
  if (variable == nullptr) return offset;
  return Error("42P10", "argument of " + name + " must not contain variables").WithPosition(variable->position);
}

Result<const Expr*> Binder::CoerceRangeOffset(const Expr* offset, TypeId sorted_by, int32_t location) {
  const TypeIds offsets = RangeOffsets(sorted_by);
  const TypeId column = sorted_by == TypeId::kVarchar ? TypeId::kText : sorted_by;
  const std::string refused =
      "RANGE with offset PRECEDING/FOLLOWING is not supported for column type " + std::string(type::TypeName(column));
  if (offsets.empty()) return At(location, "0A000", refused);
  TypeId chosen = TypeId::kUnknown;
  const TypeId preferred = offset->type.id != TypeId::kUnknown ? offset->type.id : sorted_by;
  for (const TypeId id : offsets) {
    if (chosen != preferred && CanCoerce(offset->type.id, id, CastContext::kImplicit)) chosen = id;
  }
  if (chosen == TypeId::kUnknown) {
    return At(location, "0A000", refused + " and offset type " + TypeList(std::span(&offset->type.id, 1)))
        .WithHint("Cast the offset value to an appropriate type.");
  }
  return CoerceType(offset, chosen, CastContext::kImplicit, location);
}

}  // namespace sisal::sql
