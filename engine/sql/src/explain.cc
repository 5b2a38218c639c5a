// Plans as text: a line for each node, its inputs indented below it.
#include <algorithm>

#include "big_stack.h"
#include "sisal/sql/statement.h"

namespace sisal::sql {
namespace {

using Names = std::vector<std::string>;

std::string Joined(const Names& parts, std::string_view separator = ", ") {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted.append(c == '\'' ? 2 : 1, c);
  return quoted + "'";
}

std::string ConstantText(const Expr& expr) {
  if (expr.constant.is_null()) return "NULL";
  const std::string text = type::FormatText(expr.type, expr.constant, {});
  if (expr.type.id == type::TypeId::kBoolean) return text == "t" || text == "true" ? "true" : "false";
  const bool plain = type::IsNumberType(expr.type.id);
  return plain ? text : Quoted(text);
}

std::string Text(const Expr& expr, const Names& columns);

Names Texts(const std::vector<const Expr*>& exprs, const Names& columns) {
  Names texts;
  for (const Expr* expr : exprs) texts.push_back(Text(*expr, columns));
  return texts;
}

std::string CallText(const Expr& expr, const Names& args) {
  const std::string name(expr.function->name);
  if (!expr.function->is_operator) return name + "(" + Joined(args) + ")";
  return args.size() == 1 ? "(" + name + " " + args[0] + ")" : "(" + args[0] + " " + name + " " + args[1] + ")";
}

std::string CaseText(const Expr& expr, const Names& args) {
  std::string text = "CASE";
  const size_t branches = args.size() / 2;
  for (size_t i = 0; i < branches; ++i) text += " WHEN " + args[2 * i] + " THEN " + args[2 * i + 1];
  if (expr.flag) text += " ELSE " + args.back();
  return text + " END";
}

std::string BooleanTestText(const Expr& expr, const std::string& arg) {
  const std::string wanted = expr.constant.is_null() ? "UNKNOWN" : expr.constant.as_bool() ? "TRUE" : "FALSE";
  return "(" + arg + (expr.flag ? " IS NOT " : " IS ") + wanted + ")";
}

std::string Text(const Expr& expr, const Names& columns) {
  const Names args = Texts(expr.args, columns);
  switch (expr.kind) {
    case ExprKind::kConstant:
      return ConstantText(expr);
    case ExprKind::kColumn:
      return expr.index < columns.size() ? columns[expr.index] : "#" + std::to_string(expr.index);
    case ExprKind::kParameter:
      return "$" + std::to_string(expr.index + 1);
    case ExprKind::kOuter:
      return "outer." + std::to_string(expr.index + 1);
    case ExprKind::kCall:
      return CallText(expr, args);
    case ExprKind::kCast:
    case ExprKind::kModifiers:
      return args[0] + "::" + expr.type.ToString();
    case ExprKind::kAnd:
      return "(" + Joined(args, " AND ") + ")";
    case ExprKind::kOr:
      return "(" + Joined(args, " OR ") + ")";
    case ExprKind::kNot:
      return "(NOT " + args[0] + ")";
    case ExprKind::kIsNull:
      return "(" + args[0] + (expr.flag ? " IS NOT NULL)" : " IS NULL)");
    case ExprKind::kBooleanTest:
      return BooleanTestText(expr, args[0]);
    case ExprKind::kIsDistinct:
      return "(" + args[0] + (expr.flag ? " IS NOT DISTINCT FROM " : " IS DISTINCT FROM ") + args[1] + ")";
    case ExprKind::kCase:
      return CaseText(expr, args);
    case ExprKind::kCoalesce:
      return "COALESCE(" + Joined(args) + ")";
    case ExprKind::kGreatest:
      return "GREATEST(" + Joined(args) + ")";
    case ExprKind::kLeast:
      return "LEAST(" + Joined(args) + ")";
    case ExprKind::kNullIf:
      return "NULLIF(" + Joined(args) + ")";
    case ExprKind::kInList:
      return "(" + args[0] + (expr.flag ? " NOT IN (" : " IN (") + Joined(Names(args.begin() + 1, args.end())) + "))";
    case ExprKind::kScalarSubquery:
    case ExprKind::kLateral:
    case ExprKind::kExists:
    case ExprKind::kInSubquery: {
      const Names outer = Texts(expr.outer_args, columns);
      const std::string subplan = "subplan(" + Joined(outer) + ")";
      if (expr.kind == ExprKind::kScalarSubquery || expr.kind == ExprKind::kLateral) return subplan;
      if (expr.kind == ExprKind::kExists) return (expr.flag ? "(NOT EXISTS " : "(EXISTS ") + subplan + ")";
      return "(" + args[0] + (expr.flag ? " NOT IN " : " IN ") + subplan + ")";
    }
  }
  return "?";
}

std::string SortText(const std::vector<SortKey>& keys, const Names& columns) {
  Names parts;
  for (const SortKey& key : keys) {
    const bool descending = key.order == type::SortOrder::kDescending;
    std::string part = Text(*key.expr, columns) + (descending ? " DESC" : "");
    if (key.nulls_first != descending) part += key.nulls_first ? " NULLS FIRST" : " NULLS LAST";
    parts.push_back(std::move(part));
  }
  return Joined(parts);
}

Names KeyNames(const Plan& plan) {
  Names names;
  const catalog::Table& table = *plan.table;
  if (plan.index.has_value()) {
    for (const catalog::IndexColumn& c : table.indexes[*plan.index].columns)
      names.push_back(table.columns[c.column].name);
  } else {
    for (const uint32_t c : table.primary_key) names.push_back(table.columns[c].name);
  }
  return names;
}

std::string BoundsText(const KeyBounds& bounds, const Names& key) {
  Names parts;
  for (size_t i = 0; i < bounds.equal.size(); ++i) parts.push_back(key[i] + " = " + Text(*bounds.equal[i], {}));
  const auto range = [&](const Expr* bound, std::string_view op, bool inclusive) {
    if (bound == nullptr) return;
    parts.push_back(key[bounds.equal.size()] + " " + std::string(op) + (inclusive ? "= " : " ") + Text(*bound, {}));
  };
  range(bounds.lower, ">", bounds.lower_inclusive);
  range(bounds.upper, "<", bounds.upper_inclusive);
  return "[" + Joined(parts) + "]";
}

std::string ScanText(const Plan& plan, const Names& columns) {
  std::string text = "Scan of " + plan.table->name;
  if (plan.index.has_value()) {
    text += " by " + plan.table->indexes[*plan.index].name;
  } else if (!plan.bounds.empty() || plan.backward) {
    text += " by " + (plan.table->primary_key.empty() ? std::string("row number") : plan.table->primary_key_name);
  }
  if (plan.backward) text += " backward";
  const Names key = KeyNames(plan);
  for (const KeyBounds& bounds : plan.bounds) text += " " + BoundsText(bounds, key);
  if (plan.predicate != nullptr) text += " where " + Text(*plan.predicate, columns);
  return text;
}

std::string LockText(const std::vector<RowLock>& locks) {
  Names parts;
  for (const RowLock& lock : locks) {
    std::string part = lock.table->name + (lock.mode == RowLockMode::kUpdate ? " for update" : " for share");
    if (lock.wait == RowLockWait::kNoWait) part += " nowait";
    if (lock.wait == RowLockWait::kSkipLocked) part += " skip locked";
    parts.push_back(std::move(part));
  }
  return Joined(parts);
}

std::string_view JoinName(JoinKind kind) {
  switch (kind) {
    case JoinKind::kInner:
      return "Inner join";
    case JoinKind::kLeft:
      return "Left join";
    case JoinKind::kRight:
      return "Right join";
    case JoinKind::kFull:
      return "Full join";
    case JoinKind::kCross:
      return "Cross join";
  }
  return "Join";
}

std::string JoinText(const Plan& plan, const Names& left, const Names& right, const Names& both) {
  Names parts;
  for (size_t i = 0; i < plan.hash_left.size(); ++i) {
    parts.push_back(Text(*plan.hash_left[i], left) + " = " + Text(*plan.hash_right[i], right));
  }
  std::string text(JoinName(plan.join));
  if (!parts.empty()) text += " by hash of " + Joined(parts);
  if (plan.predicate != nullptr) text += " where " + Text(*plan.predicate, both);
  return text;
}

std::string AggregateText(const AggregateCall& call, const Names& columns) {
  std::string text = std::string(call.aggregate->name) + "(" + (call.distinct ? "DISTINCT " : "");
  text += call.args.empty() ? "*" : Joined(Texts(call.args, columns));
  if (!call.order.empty()) text += " ORDER BY " + SortText(call.order, columns);
  text += ")";
  if (call.filter != nullptr) text += " FILTER (WHERE " + Text(*call.filter, columns) + ")";
  return text;
}

std::string BoundText(FrameBound bound, const Expr* offset) {
  switch (bound) {
    case FrameBound::kUnboundedPreceding:
      return "unbounded preceding";
    case FrameBound::kPreceding:
      return Text(*offset, {}) + " preceding";
    case FrameBound::kCurrentRow:
      return "current row";
    case FrameBound::kFollowing:
      return Text(*offset, {}) + " following";
    case FrameBound::kUnboundedFollowing:
      return "unbounded following";
  }
  return "?";
}

// Empty for the default frame.
std::string FrameText(const WindowFrame& frame) {
  constexpr std::string_view kModes[] = {"range", "rows", "groups"};
  constexpr std::string_view kExclusions[] = {"", " exclude current row", " exclude group", " exclude ties"};
  if (frame.mode == FrameMode::kRange && frame.start == FrameBound::kUnboundedPreceding &&
      frame.end == FrameBound::kCurrentRow && frame.exclusion == FrameExclusion::kNoOthers) {
    return "";
  }
  return " " + std::string(kModes[static_cast<size_t>(frame.mode)]) + " between " +
         BoundText(frame.start, frame.start_offset) + " and " + BoundText(frame.end, frame.end_offset) +
         std::string(kExclusions[static_cast<size_t>(frame.exclusion)]);
}

std::string WindowCallText(const WindowCall& call, const Names& columns) {
  constexpr std::string_view kNames[] = {"",      "row_number", "rank", "dense_rank",  "percent_rank", "cume_dist",
                                         "ntile", "lag",        "lead", "first_value", "last_value",   "nth_value"};
  const bool aggregate = call.function == WindowFunction::kAggregate;
  const std::string_view name = aggregate ? call.aggregate->name : kNames[static_cast<size_t>(call.function)];
  std::string text = std::string(name) + "(";
  text += aggregate && call.args.empty() ? "*" : Joined(Texts(call.args, columns));
  text += ")";
  if (call.filter != nullptr) text += " FILTER (WHERE " + Text(*call.filter, columns) + ")";
  return text;
}

std::string_view SetOperationName(SetOperationKind kind) {
  switch (kind) {
    case SetOperationKind::kUnion:
      return "Union";
    case SetOperationKind::kIntersect:
      return "Intersect";
    case SetOperationKind::kIntersectAll:
      return "Intersect all";
    case SetOperationKind::kExcept:
      return "Except";
    case SetOperationKind::kExceptAll:
      return "Except all";
  }
  return "Set operation";
}

class Printer {
 public:
  // Prints the node and what is below it; returns the names of its columns.
  Names Print(const Plan& plan, size_t depth);
  std::vector<std::string> lines;

 private:
  std::string Line(const Plan& plan, const std::vector<Names>& inputs, Names& columns);
  void PrintSubplans(const Plan& plan, size_t depth);
};

std::string Printer::Line(const Plan& plan, const std::vector<Names>& inputs, Names& columns) {
  if (!inputs.empty()) columns = inputs[0];
  switch (plan.kind) {
    case PlanKind::kValues:
      for (size_t i = 0; i < plan.output.size(); ++i) columns.push_back("column" + std::to_string(i + 1));
      return "Values: " + std::to_string(plan.rows.size()) + (plan.rows.size() == 1 ? " row" : " rows");
    case PlanKind::kTableScan:
      for (const uint32_t column : plan.columns) columns.push_back(plan.table->columns[column].name);
      if (plan.with_key) columns.push_back("<key>");
      return ScanText(plan, columns);
    case PlanKind::kFunctionScan:
      columns = {std::string(plan.set_function->name), "ordinality"};
      return "Function scan: " + std::string(plan.set_function->name) + "(" + Joined(Texts(plan.function_args, {})) +
             ")";
    case PlanKind::kSystemView:
      for (size_t i = 0; i < plan.output.size(); ++i) columns.push_back("#" + std::to_string(i));
      return (plan.sequence == ObjectId() ? "View: " : "Sequence: ") + plan.system_view;
    case PlanKind::kFilter:
      return "Filter: " + Text(*plan.predicate, columns);
    case PlanKind::kProject:
      columns = Texts(plan.exprs, inputs[0]);
      return "Project: " + Joined(columns);
    case PlanKind::kSort:
      return std::string(plan.limit != nullptr ? "Top-N sort: " : "Sort: ") + SortText(plan.sort_keys, columns);
    case PlanKind::kLockRows:
      columns.resize(plan.output.size());
      return "Lock rows: " + LockText(plan.row_locks);
    case PlanKind::kLimit:
      return std::string("Limit:") + (plan.limit != nullptr ? " " + Text(*plan.limit, {}) : "") +
             (plan.offset != nullptr ? " offset " + Text(*plan.offset, {}) : "");
    case PlanKind::kAggregate: {
      Names groups = Texts(plan.exprs, inputs[0]), calls;
      for (const AggregateCall& call : plan.aggregates) calls.push_back(AggregateText(call, inputs[0]));
      columns = groups;
      columns.insert(columns.end(), calls.begin(), calls.end());
      return "Aggregate: " + Joined(calls) + (groups.empty() ? "" : (calls.empty() ? "by " : " by ") + Joined(groups));
    }
    case PlanKind::kWindow: {
      Names calls;
      for (const WindowCall& call : plan.windows) {
        columns.push_back(WindowCallText(call, inputs[0]));
        calls.push_back(columns.back() + FrameText(call.frame));
      }
      std::string text = "Window: " + Joined(calls);
      if (!plan.partition.empty()) text += " by " + Joined(Texts(plan.partition, inputs[0]));
      if (!plan.sort_keys.empty()) text += " in order of " + SortText(plan.sort_keys, inputs[0]);
      return text;
    }
    case PlanKind::kDistinct:
      return "Distinct";
    case PlanKind::kJoin:
      columns.insert(columns.end(), inputs[1].begin(), inputs[1].end());
      return JoinText(plan, inputs[0], inputs[1], columns);
    case PlanKind::kLateralJoin: {
      const std::string text = std::string(plan.join == JoinKind::kLeft ? "Left lateral join" : "Lateral join") +
                               " with " + Text(*plan.lateral, inputs[0]);
      for (size_t i = columns.size(); i < plan.output.size(); ++i) columns.push_back("#" + std::to_string(i));
      return text + (plan.predicate != nullptr ? " where " + Text(*plan.predicate, columns) : "");
    }
    case PlanKind::kAppend:
      return "Append";
    case PlanKind::kSetOperation:
      return std::string(SetOperationName(plan.set_operation));
    case PlanKind::kRecursiveUnion:
      return plan.keeps_duplicates ? "Recursive union all" : "Recursive union";
    case PlanKind::kWorkingTable:
      for (size_t i = 0; i < plan.output.size(); ++i) columns.push_back("#" + std::to_string(i));
      return "Working table";
    case PlanKind::kInsert:
      return "Insert into " + plan.table->name +
             (plan.on_conflict ? (plan.conflict_do_update ? " on conflict do update" : " on conflict do nothing") : "");
    case PlanKind::kUpdate:
      return "Update " + plan.table->name;
    case PlanKind::kDelete:
      return "Delete from " + plan.table->name;
  }
  return "?";
}

void Printer::PrintSubplans(const Plan& plan, size_t depth) {
  std::vector<const Expr*> pending;
  const auto add = [&](const std::vector<const Expr*>& exprs) {
    pending.insert(pending.end(), exprs.begin(), exprs.end());
  };
  for (const auto& row : plan.rows) add(row);
  add(plan.exprs);
  add(plan.returning);
  add(plan.function_args);
  for (const Expr* expr : {plan.lateral, plan.predicate, plan.limit, plan.offset, plan.conflict_where}) {
    if (expr != nullptr) pending.push_back(expr);
  }
  for (const AggregateCall& call : plan.aggregates) add(call.args);
  for (const WindowCall& call : plan.windows) add(call.args);
  for (const Assignment& assignment : plan.assignments) pending.push_back(assignment.value);
  for (const Assignment& assignment : plan.conflict_update) pending.push_back(assignment.value);
  while (!pending.empty()) {
    const Expr* expr = pending.back();
    pending.pop_back();
    if (expr->subplan != nullptr) {
      lines.push_back(std::string(depth * 2, ' ') + "Subplan");
      Print(*expr->subplan, depth + 1);
    }
    add(expr->args);
    add(expr->outer_args);
  }
}

Names Printer::Print(const Plan& plan, size_t depth) {
  // Inputs are printed below, but their names are needed first.
  const size_t line = lines.size();
  lines.emplace_back();
  std::vector<Names> inputs;
  for (const Plan* input : plan.inputs) inputs.push_back(Print(*input, depth + 1));
  Names columns;
  lines[line] = std::string(depth * 2, ' ') + Line(plan, inputs, columns);
  PrintSubplans(plan, depth + 1);
  return columns;
}

}  // namespace

std::vector<std::string> Explain(const Plan& plan) {
  Printer printer;
  const Status printed = RunOnBigStack([&] {
    printer.Print(plan, 0);
    return Status();
  });
  if (!printed.ok()) return {printed.ToString()};
  return std::move(printer.lines);
}

}  // namespace sisal::sql
