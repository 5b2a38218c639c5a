// FROM: tables, sub-selects, functions and joins, and the names that they bring into scope.
#include <algorithm>

#include "binder.h"
#include "postgres_names.h"
#include "sisal/sql/system_view.h"

namespace sisal::sql {
namespace {

// Each adds a level to the plan, and the executor recurses through it on a fiber's stack.
constexpr size_t kFromItemsMax = 100;

void MarkNullable(Scope& scope, const FromTree& tree) {
  if (tree.left != nullptr) {
    MarkNullable(scope, *tree.left);
    MarkNullable(scope, *tree.right);
    return;
  }
  Leaf& leaf = scope.leaves[tree.leaf];
  leaf.nullable = true;
  for (uint32_t i = 0; i < leaf.column_count; ++i) scope.columns[leaf.first_id + i].not_null = false;
}

}  // namespace

void Binder::UseTable(const catalog::TablePtr& table) {
  auto& tables = statement_.tables;
  if (std::find(tables.begin(), tables.end(), table) == tables.end()) tables.push_back(table);
}

Result<catalog::TablePtr> Binder::FindTable(const PgQuery__RangeVar& node) {
  const std::string_view schema = View(node.schemaname), name = View(node.relname);
  if (in_view_ != nullptr) return FindViewSource(node);
  if (!View(node.catalogname).empty()) {
    return At(node.location, "0A000",
              "cross-database references are not implemented: \"" + std::string(View(node.catalogname)) + "." +
                  std::string(schema) + "." + std::string(name) + "\"");
  }
  catalog::TablePtr table;
  if (!schema.empty()) {
    table = context_.root->FindTable(schema, name);
  } else {
    for (const std::string& path : context_.search_path) {
      table = context_.root->FindTable(path, name);
      if (table != nullptr) break;
    }
  }
  if (table == nullptr) {
    const std::string qualified = (schema.empty() ? "" : std::string(schema) + ".") + std::string(name);
    if (IsPostgresRelation(schema, name)) return NotSupported(node.location, "relation \"" + qualified + "\"");
    return At(node.location, "42P01", "relation \"" + qualified + "\" does not exist");
  }
  UseTable(table);
  return table;
}

std::unique_ptr<FromTree> Binder::AddLeaf(Scope& scope, Leaf leaf, NamespaceItem item,
                                          const std::vector<OutputColumn>& columns, std::vector<NamespaceItem>& items) {
  leaf.first_id = static_cast<uint32_t>(scope.columns.size());
  leaf.column_count = static_cast<uint32_t>(columns.size());
  const auto number = static_cast<uint32_t>(scope.leaves.size());
  const bool named = !item.columns.empty();  // an alias has renamed the columns already
  for (uint32_t i = 0; i < columns.size(); ++i) {
    const uint32_t id = leaf.first_id + i;
    scope.columns.push_back({columns[i].type, number, i, columns[i].not_null});
    const Expr* column = MakeColumn(id, columns[i].type, -1);
    if (named) {
      item.columns[i].expr = column;
    } else {
      item.columns.push_back({columns[i].name, column});
    }
  }
  scope.leaves.push_back(std::move(leaf));
  items.push_back(std::move(item));
  auto tree = std::make_unique<FromTree>();
  tree->leaf = number;
  return tree;
}

std::unique_ptr<FromTree> Binder::AddTableLeaf(Scope& scope, const catalog::TablePtr& table, std::string alias,
                                               NamespaceItem& item) {
  std::vector<OutputColumn> columns;
  for (const catalog::Column& column : table->columns) columns.push_back({column.name, column.type, column.not_null});
  for (const uint32_t key : table->primary_key) columns[key].not_null = true;
  Leaf leaf;
  leaf.kind = LeafKind::kTable;
  leaf.table = table;
  leaf.alias = alias;
  item.name = std::move(alias);
  std::vector<NamespaceItem> items;
  auto tree = AddLeaf(scope, std::move(leaf), std::move(item), columns, items);
  item = std::move(items.back());
  // A dropped column has an id like any other, so that ids count by slots, but no name.
  const auto dropped = [&](const NamedColumn& column) {
    return table->columns[scope.columns[column.expr->index].leaf_column].dropped;
  };
  std::erase_if(item.columns, dropped);
  return tree;
}

void Binder::AddKeyColumn(Scope& scope, uint32_t leaf) {
  scope.leaves[leaf].key_id = static_cast<uint32_t>(scope.columns.size());
  scope.columns.push_back({TypeId::kBytea, leaf, scope.leaves[leaf].column_count, true});
}

Status Binder::ApplyAlias(const PgQuery__Alias* alias, NamespaceItem& item) {
  if (alias == nullptr) return Status();
  item.name = View(alias->aliasname);
  item.schema.clear();
  const NodeList names(alias->colnames, alias->n_colnames);
  if (names.size() > item.columns.size()) {
    return Error("42P10", "table \"" + item.name + "\" has " + std::to_string(item.columns.size()) +
                              " columns available but " + std::to_string(names.size()) + " columns specified");
  }
  for (size_t i = 0; i < names.size(); ++i) item.columns[i].name = StringOf(names[i]);
  return Status();
}

Status Binder::AddItems(std::vector<NamespaceItem>& to, std::vector<NamespaceItem> from) {
  for (NamespaceItem& item : from) {
    for (const NamespaceItem& other : to) {
      if (item.relation_visible && other.relation_visible && !item.name.empty() && item.name == other.name &&
          (item.schema == other.schema || item.schema.empty() || other.schema.empty())) {
        return Error("42712", "table name \"" + item.name + "\" specified more than once");
      }
    }
    to.push_back(std::move(item));
  }
  return Status();
}

Result<std::unique_ptr<FromTree>> Binder::BindFrom(Scope& scope, NodeList from) {
  std::unique_ptr<FromTree> tree;
  for (const Node* node : from) {
    std::vector<NamespaceItem> items;
    SISAL_ASSIGN_OR_RETURN(std::unique_ptr<FromTree> next, BindFromItem(scope, node, items));
    SISAL_RETURN_IF_ERROR(AddItems(scope.items, std::move(items)));
    if (tree == nullptr) {
      tree = std::move(next);
      continue;
    }
    tree = JoinLeft(scope, std::move(tree), std::move(next));
  }
  if (tree != nullptr) SISAL_RETURN_IF_ERROR(CheckLateral(scope, *tree));
  return tree;
}

Result<std::unique_ptr<FromTree>> Binder::BindFromItem(Scope& scope, const Node* node,
                                                       std::vector<NamespaceItem>& items) {
  if (scope.leaves.size() >= kFromItemsMax) {
    return Error("54000", "a query can have at most " + std::to_string(kFromItemsMax) + " tables in FROM")
        .WithLimit("from_items_max", kFromItemsMax);
  }
  switch (node->node_case) {
    case PG_QUERY__NODE__NODE_RANGE_VAR:
      return BindRangeVar(scope, *node->range_var, items);
    case PG_QUERY__NODE__NODE_RANGE_SUBSELECT:
      return BindRangeSubselect(scope, *node->range_subselect, items);
    case PG_QUERY__NODE__NODE_RANGE_FUNCTION:
      return BindRangeFunction(scope, *node->range_function, items);
    case PG_QUERY__NODE__NODE_JOIN_EXPR:
      return BindJoin(scope, *node->join_expr, items);
    case PG_QUERY__NODE__NODE_RANGE_TABLE_SAMPLE:
      return NotSupported(node->range_table_sample->location, "TABLESAMPLE");
    default:
      return NotSupported(LocationOf(node), "this kind of FROM item");
  }
}

Result<std::unique_ptr<FromTree>> Binder::BindRangeVar(Scope& scope, const PgQuery__RangeVar& node,
                                                       std::vector<NamespaceItem>& items) {
  const std::string_view schema = View(node.schemaname), name = View(node.relname);
  NamespaceItem item;
  item.name = name;
  if (schema.empty()) {
    for (const CommonTable* common = scope.common_tables; common != nullptr; common = common->previous) {
      if (common->name == name) return BindCommonTable(scope, *common, node, items);
    }
  }
  if (const SystemView* view = FindSystemView(schema, name); view != nullptr) {
    Plan* plan = NewPlan(PlanKind::kSystemView);
    plan->system_view = view->name;
    std::vector<OutputColumn> columns;
    for (const SystemViewColumn& column : view->columns) {
      columns.push_back({std::string(column.name), column.type, false});
      plan->output.push_back(column.type);
      item.columns.push_back({std::string(column.name), nullptr});
    }
    item.schema = view->name.substr(0, view->name.find('.'));
    SISAL_RETURN_IF_ERROR(ApplyAlias(node.alias, item));
    Leaf leaf;
    leaf.kind = LeafKind::kSystemView;
    leaf.alias = item.name;
    leaf.plan = plan;
    return AddLeaf(scope, std::move(leaf), std::move(item), columns, items);
  }
  // A view's text names none: what it names may be called otherwise now.
  if (const catalog::SequencePtr sequence = in_view_ == nullptr ? FindSequence(schema, name) : nullptr) {
    if (recorded_sources_ != nullptr) return NotSupported(node.location, "a sequence in the FROM of a view");
    return BindSequenceItem(scope, sequence, node, items);
  }
  SISAL_ASSIGN_OR_RETURN(const catalog::TablePtr table, FindTable(node));
  if (table->view.has_value()) return BindViewLeaf(scope, table, node, items);
  item.schema = table->schema;
  auto tree = AddTableLeaf(scope, table, std::string(name), item);
  NameAsInView(node, table, scope, item);
  SISAL_RETURN_IF_ERROR(ApplyAlias(node.alias, item));
  scope.leaves.back().alias = item.name;
  items.push_back(std::move(item));
  return tree;
}

Result<std::unique_ptr<FromTree>> Binder::AddQueryLeaf(Scope& scope, LeafKind kind, BoundQuery query,
                                                       NamespaceItem item, const PgQuery__Alias* alias,
                                                       std::vector<NamespaceItem>& items) {
  for (const OutputColumn& column : query.columns) item.columns.push_back({column.name, nullptr});
  SISAL_RETURN_IF_ERROR(ApplyAlias(alias, item));
  Leaf leaf;
  leaf.kind = kind;
  leaf.alias = item.name;
  leaf.plan = query.plan;
  return AddLeaf(scope, std::move(leaf), std::move(item), query.columns, items);
}

Result<std::unique_ptr<FromTree>> Binder::BindCommonTable(Scope& scope, const CommonTable& common,
                                                          const PgQuery__RangeVar& node,
                                                          std::vector<NamespaceItem>& items) {
  if (common.recursion != nullptr) return BindWorkingTable(scope, common, node, items);
  SISAL_ASSIGN_OR_RETURN(BoundQuery query, BindCommonQuery(common, scope.frame));
  // It is bound at each use; a volatile one would give different rows each time.
  ++common.uses;
  if (recursion_depth_ > 0 && IsVolatile(*query.plan)) {
    return NotSupported(node.location, "a WITH query that calls volatile functions or locks rows, in a recursive term");
  }
  if (common.uses > 1 && IsVolatile(*query.plan)) {
    return NotSupported(node.location,
                        "a second reference to a WITH query that calls volatile functions or locks rows");
  }
  NamespaceItem item;
  item.name = common.name;
  return AddQueryLeaf(scope, LeafKind::kWithQuery, std::move(query), std::move(item), node.alias, items);
}

Result<std::unique_ptr<FromTree>> Binder::BindRangeSubselect(Scope& scope, const PgQuery__RangeSubselect& node,
                                                             std::vector<NamespaceItem>& items) {
  QueryOptions options;
  options.around = scope.outer;
  options.lateral = &scope;
  options.frame = scope.frame;
  options.common_tables = scope.common_tables;
  Scope left;
  Frame frame;
  if (node.lateral) {
    left = LateralScope(scope);
    frame.parent = scope.frame;
    options.around = &left;
    options.lateral = nullptr;
    options.frame = &frame;
  }
  SISAL_ASSIGN_OR_RETURN(BoundQuery query, BindQuery(*node.subquery->select_stmt, options));
  SISAL_ASSIGN_OR_RETURN(auto tree,
                         AddQueryLeaf(scope, LeafKind::kPlan, std::move(query), NamespaceItem(), node.alias, items));
  scope.leaves.back().lateral = node.lateral;
  scope.leaves.back().lateral_args = std::move(frame.outer_args);
  return tree;
}

Result<std::unique_ptr<FromTree>> Binder::BindRangeFunction(Scope& scope, const PgQuery__RangeFunction& node,
                                                            std::vector<NamespaceItem>& items) {
  const Node* first = node.functions[0]->list->items[0];
  if (node.is_rowsfrom || node.n_functions != 1) return NotSupported(LocationOf(first), "ROWS FROM");
  if (node.n_coldeflist > 0) return NotSupported(LocationOf(first), "a column definition list");
  if (first->node_case != PG_QUERY__NODE__NODE_FUNC_CALL)
    return NotSupported(LocationOf(first), "this function in FROM");
  const PgQuery__FuncCall& call = *first->func_call;
  const std::string name(LastName(NodeList(call.funcname, call.n_funcname)));
  // A function sees what is to its left, with or without LATERAL.
  Scope left = LateralScope(scope);
  Frame frame;
  frame.parent = scope.frame;
  Scope arguments;
  arguments.outer = &left;
  arguments.frame = &frame;
  arguments.common_tables = scope.common_tables;
  arguments.clause = Clause::kFunctionInFrom;
  Plan* plan = nullptr;
  if (function::FindSetFunctions(name).empty()) {
    // An ordinary function gives one row.
    SISAL_ASSIGN_OR_RETURN(const Expr* value, BindExpr(arguments, first));
    plan = NewPlan(PlanKind::kValues);
    plan->rows = {{value}};
    plan->output = {value->type};
    if (node.ordinality) {
      plan->rows[0].push_back(MakeConstant(TypeId::kBigint, type::Datum::Int(1), -1));
      plan->output.push_back(TypeId::kBigint);
    }
  } else {
    SISAL_ASSIGN_OR_RETURN(std::vector<const Expr*> args, BindList(arguments, NodeList(call.args, call.n_args)));
    TypeIds types;
    for (const Expr* arg : args) types.push_back(arg->type.id);
    const ResolvedSetFunction resolved = ResolveSetFunction(name, types);
    if (resolved.match != Match::kFound) {
      const std::string signature = name + "(" + TypeList(types) + ")";
      const bool ambiguous = resolved.match == Match::kAmbiguous;
      if (!ambiguous && IsPostgresFunction(name, types.size()))
        return NotSupported(call.location, "function " + signature);
      return At(call.location, ambiguous ? "42725" : "42883",
                "function " + signature + (ambiguous ? " is not unique" : " does not exist"))
          .WithHint(ambiguous ? "Could not choose a best candidate function. You might need to add explicit type casts."
                              : "No function matches the given name and argument types. You might need to add explicit "
                                "type casts.");
    }
    for (size_t i = 0; i < args.size(); ++i) {
      SISAL_ASSIGN_OR_RETURN(args[i], CoerceType(args[i], resolved.types[i], CastContext::kImplicit, -1));
    }
    plan = NewPlan(PlanKind::kFunctionScan);
    plan->set_function = resolved.function;
    plan->function_args = std::move(args);
    plan->with_ordinality = node.ordinality;
    plan->output = {resolved.function->result};
    if (node.ordinality) plan->output.push_back(TypeId::kBigint);
  }
  const bool lateral = HasLeftColumns(frame.outer_args);
  if (!lateral) {
    for (const Expr*& arg : plan->function_args) arg = WithoutFrame(arg, frame.outer_args);
    for (auto& row : plan->rows) {
      for (const Expr*& value : row) value = WithoutFrame(value, frame.outer_args);
    }
  }
  // The only column is named as the table alias, unless the alias names columns.
  NamespaceItem item;
  item.name = name;
  const std::string column_name = node.alias != nullptr ? std::string(View(node.alias->aliasname)) : name;
  std::vector<OutputColumn> columns = {{column_name, plan->output[0], false}};
  if (node.ordinality) columns.push_back({"ordinality", TypeId::kBigint, true});
  for (const OutputColumn& column : columns) item.columns.push_back({column.name, nullptr});
  SISAL_RETURN_IF_ERROR(ApplyAlias(node.alias, item));
  Leaf leaf;
  leaf.kind = LeafKind::kFunction;
  leaf.alias = item.name;
  leaf.plan = plan;
  leaf.lateral = lateral;
  if (lateral) leaf.lateral_args = std::move(frame.outer_args);
  return AddLeaf(scope, std::move(leaf), std::move(item), columns, items);
}

Result<std::unique_ptr<FromTree>> Binder::BindJoin(Scope& scope, const PgQuery__JoinExpr& node,
                                                   std::vector<NamespaceItem>& items) {
  auto tree = std::make_unique<FromTree>();
  std::vector<NamespaceItem> left, right;
  SISAL_ASSIGN_OR_RETURN(tree->left, BindFromItem(scope, node.larg, left));
  const size_t seen = scope.lateral_items.size();
  const bool keeps_right =
      node.jointype == PG_QUERY__JOIN_TYPE__JOIN_RIGHT || node.jointype == PG_QUERY__JOIN_TYPE__JOIN_FULL;
  for (NamespaceItem item : left) {
    item.lateral_allowed &= !keeps_right;
    scope.lateral_items.push_back(std::move(item));
  }
  SISAL_ASSIGN_OR_RETURN(tree->right, BindFromItem(scope, node.rarg, right));
  scope.lateral_items.resize(seen);
  switch (node.jointype) {
    case PG_QUERY__JOIN_TYPE__JOIN_LEFT:
      tree->join = JoinKind::kLeft;
      break;
    case PG_QUERY__JOIN_TYPE__JOIN_RIGHT:
      tree->join = JoinKind::kRight;
      break;
    case PG_QUERY__JOIN_TYPE__JOIN_FULL:
      tree->join = JoinKind::kFull;
      break;
    default:
      tree->join =
          node.quals != nullptr || node.n_using_clause > 0 || node.is_natural ? JoinKind::kInner : JoinKind::kCross;
  }
  if (node.join_using_alias != nullptr) return NotSupported(-1, "an alias of JOIN USING");
  std::vector<std::string> names;
  for (const Node* name : NodeList(node.using_clause, node.n_using_clause)) names.emplace_back(StringOf(name));
  if (node.is_natural) names = CommonNames(left, right);
  NamespaceItem joined;
  const bool merges = !names.empty();
  if (merges) {
    SISAL_RETURN_IF_ERROR(MergeUsing(scope, names, left, right, *tree, joined));
  } else if (node.alias != nullptr) {
    for (const auto* side : {&left, &right}) {
      for (const NamespaceItem& item : *side) {
        if (item.columns_visible) joined.columns.insert(joined.columns.end(), item.columns.begin(), item.columns.end());
      }
    }
  }
  std::vector<NamespaceItem> both = std::move(left);
  SISAL_RETURN_IF_ERROR(AddItems(both, std::move(right)));
  if (node.quals != nullptr) {
    // ON sees the two sides, not the rest of FROM.
    std::swap(scope.items, both);
    Result<const Expr*> condition = BindCondition(scope, node.quals, Clause::kJoinOn);
    std::swap(scope.items, both);
    if (!condition.ok()) return Error(std::move(condition).error());
    AddConjuncts(*condition, tree->conjuncts);
  }
  if (tree->join == JoinKind::kLeft || tree->join == JoinKind::kFull) MarkNullable(scope, *tree->right);
  if (tree->join == JoinKind::kRight || tree->join == JoinKind::kFull) MarkNullable(scope, *tree->left);
  if (node.alias != nullptr) {
    SISAL_RETURN_IF_ERROR(ApplyAlias(node.alias, joined));
    items.push_back(std::move(joined));
    return tree;
  }
  if (merges) {
    for (NamespaceItem& item : both) item.columns_visible = false;
    joined.relation_visible = false;
    items.push_back(std::move(joined));
  }
  items.insert(items.end(), std::make_move_iterator(both.begin()), std::make_move_iterator(both.end()));
  return tree;
}

namespace {

const NamedColumn* FindVisible(const std::vector<NamespaceItem>& items, std::string_view name, bool& twice) {
  const NamedColumn* found = nullptr;
  for (const NamespaceItem& item : items) {
    if (!item.columns_visible) continue;
    for (const NamedColumn& column : item.columns) {
      if (column.name != name) continue;
      twice |= found != nullptr;
      found = &column;
    }
  }
  return found;
}

}  // namespace

std::vector<std::string> Binder::CommonNames(const std::vector<NamespaceItem>& left,
                                             const std::vector<NamespaceItem>& right) {
  std::vector<std::string> names;
  bool twice = false;
  for (const NamespaceItem& item : left) {
    if (!item.columns_visible) continue;
    for (const NamedColumn& column : item.columns) {
      if (FindVisible(right, column.name, twice) != nullptr &&
          std::find(names.begin(), names.end(), column.name) == names.end()) {
        names.push_back(column.name);
      }
    }
  }
  return names;
}

Status Binder::MergeUsing(const Scope& scope, const std::vector<std::string>& names,
                          const std::vector<NamespaceItem>& left, const std::vector<NamespaceItem>& right,
                          FromTree& tree, NamespaceItem& joined) {
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    if (std::find(names.begin(), names.begin() + static_cast<ptrdiff_t>(i), name) !=
        names.begin() + static_cast<ptrdiff_t>(i)) {
      return Error("42701", "column name \"" + name + "\" appears more than once in USING clause");
    }
    const Expr* sides[2];
    for (const bool is_left : {true, false}) {
      bool twice = false;
      const NamedColumn* column = FindVisible(is_left ? left : right, name, twice);
      const std::string side = is_left ? "left" : "right";
      if (twice)
        return Error("42702", "common column name \"" + name + "\" appears more than once in " + side + " table");
      if (column == nullptr) {
        return Error("42703", "column \"" + name + "\" specified in USING clause does not exist in " + side + " table");
      }
      sides[is_left ? 0 : 1] = column->expr;
      NoteViewUse(scope, column->expr);
    }
    SISAL_ASSIGN_OR_RETURN(const Expr* equal, MakeOperator("=", sides[0], sides[1], -1));
    tree.conjuncts.push_back(equal);
    std::vector<const Expr*> both = {sides[0], sides[1]};
    SISAL_ASSIGN_OR_RETURN(const SqlType type, CoerceToCommon(both, {-1, -1}, "JOIN/USING"));
    const Expr* merged = tree.join == JoinKind::kRight ? both[1] : both[0];
    if (tree.join == JoinKind::kFull) {
      Expr* either = NewExpr(ExprKind::kCoalesce, type, -1);
      either->args = both;
      merged = either;
    }
    joined.columns.push_back({name, merged});
  }
  for (const auto* side : {&left, &right}) {
    for (const NamespaceItem& item : *side) {
      if (!item.columns_visible) continue;
      for (const NamedColumn& column : item.columns) {
        if (std::find(names.begin(), names.end(), column.name) == names.end()) joined.columns.push_back(column);
      }
    }
  }
  return Status();
}

}  // namespace sisal::sql
