// CREATE VIEW, and views in FROM.
//
// A view is kept as its text and, for each relation that the text names, which one that was and how its columns were
// called. So the text means the same when relations and columns are renamed, added or put in another one's place.
#include <algorithm>
#include <utility>

#include "binder.h"

namespace sisal::sql {
namespace {

// Views of views of views: each use of one binds its text.
constexpr uint32_t kViewUsesMax = 1000;

const catalog::ViewSource* FindSource(const catalog::View& view, std::string_view schema, std::string_view name) {
  for (const catalog::ViewSource& source : view.sources) {
    if (source.name == name && (schema.empty() || source.schema == schema)) return &source;
  }
  return nullptr;
}

bool UsesItself(const catalog::Root& root, ObjectId view, const std::vector<catalog::ViewSource>& sources) {
  return std::any_of(sources.begin(), sources.end(), [&](const catalog::ViewSource& source) {
    if (source.relation == view) return true;
    const catalog::TablePtr table = root.FindTable(source.relation);
    return table != nullptr && table->view.has_value() && UsesItself(root, view, table->view->sources);
  });
}

Error InfiniteRecursion(const std::string& view) {
  return Error("42P17", "infinite recursion detected in rules for relation \"" + view + "\"");
}

}  // namespace

Result<catalog::TablePtr> Binder::FindViewSource(const PgQuery__RangeVar& node) {
  const catalog::ViewSource* source = FindSource(*in_view_, View(node.schemaname), View(node.relname));
  catalog::TablePtr table = source == nullptr ? nullptr : context_.root->FindTable(source->relation);
  if (table == nullptr) {
    return Error("XX001", "a view uses \"" + std::string(View(node.relname)) + "\", which is not there");
  }
  UseTable(table);
  return table;
}

// In a view's text the columns of `relation` are those that there were, under the names that they had.
void Binder::NameAsInView(const PgQuery__RangeVar& node, const catalog::TablePtr& relation, const Scope& scope,
                          NamespaceItem& item) {
  if (in_view_ == nullptr) {
    if (recorded_sources_ == nullptr) return;
    const auto known = std::any_of(recorded_sources_->begin(), recorded_sources_->end(),
                                   [&](const catalog::ViewSource& source) { return source.relation == relation->id; });
    if (known) return;
    catalog::ViewSource source;
    source.schema = relation->schema;
    source.name = relation->name;
    source.relation = relation->id;
    for (const uint32_t slot : relation->LiveColumns()) {
      source.columns.push_back({relation->columns[slot].name, slot, false});
    }
    recorded_sources_->push_back(std::move(source));
    return;
  }
  const catalog::ViewSource* source = FindSource(*in_view_, View(node.schemaname), View(node.relname));
  const Leaf& leaf = scope.leaves.back();
  item.columns.clear();
  for (const catalog::ViewColumn& column : source->columns) {
    if (relation->columns[column.slot].dropped) continue;
    const uint32_t id = leaf.first_id + column.slot;
    item.columns.push_back({column.name, MakeColumn(id, scope.columns[id].type, -1)});
  }
}

void Binder::NoteViewUse(const Scope& scope, const Expr* expr) {
  if (recorded_sources_ == nullptr || in_view_ != nullptr) return;
  VisitExpr(expr, [&](const Expr* part) {
    if (part->kind != ExprKind::kColumn || part->index >= scope.columns.size()) return;
    const ColumnInfo& column = scope.columns[part->index];
    const Leaf& leaf = scope.leaves[column.leaf];
    const catalog::TablePtr& relation = leaf.view != nullptr ? leaf.view : leaf.table;
    if (relation == nullptr) return;
    for (catalog::ViewSource& source : *recorded_sources_) {
      if (source.relation != relation->id) continue;
      for (catalog::ViewColumn& known : source.columns) known.used |= known.slot == column.leaf_column;
    }
  });
}

void Binder::NoteKeyUse(const catalog::Table& table) {
  if (recorded_sources_ == nullptr || in_view_ != nullptr) return;
  for (catalog::ViewSource& source : *recorded_sources_) {
    if (source.relation != table.id) continue;
    for (catalog::ViewColumn& column : source.columns) {
      column.key |=
          std::find(table.primary_key.begin(), table.primary_key.end(), column.slot) != table.primary_key.end();
    }
  }
}

// The view's text as a sub-select, in which nothing of the statement around it can be seen.
Result<BoundQuery> Binder::BindViewQuery(const catalog::TablePtr& view, Frame* frame) {
  if (++view_uses_ > kViewUsesMax) {
    return Error("54000", "a statement can use views at most " + std::to_string(kViewUsesMax) + " times")
        .WithLimit("view_uses_max", kViewUsesMax);
  }
  uint32_t depth = 0;
  SISAL_RETURN_IF_ERROR(sql::CheckText(view->view->sql, depth));
  const Level level(*this, depth);
  if (level.too_deep()) return NestedTooDeeply();
  SISAL_ASSIGN_OR_RETURN(const ParseTree tree, sql::ParseText(view->view->sql));
  const Node* statement = tree->n_stmts == 1 ? tree->stmts[0]->stmt : nullptr;
  if (statement == nullptr || statement->node_case != PG_QUERY__NODE__NODE_SELECT_STMT) {
    return Error("XX001", "the stored text of view \"" + view->name + "\" is not a query");
  }
  const catalog::View* around = std::exchange(in_view_, &*view->view);
  const TextPositions* positions = std::exchange(positions_, nullptr);
  const bool parameters_allowed = std::exchange(parameters_allowed_, false);
  const type::TextSettings settings = view->view->settings;
  const type::TextSettings* text = std::exchange(text_, &settings);
  QueryOptions options;
  options.frame = frame;
  Result<BoundQuery> query = BindQuery(*statement->select_stmt, options);
  in_view_ = around;
  positions_ = positions;
  parameters_allowed_ = parameters_allowed;
  text_ = text;
  if (query.ok() && query->columns.size() != view->columns.size()) {
    return Error("XX001", "the stored text of view \"" + view->name + "\" gives other columns than the view");
  }
  return query;
}

Result<std::unique_ptr<FromTree>> Binder::BindViewLeaf(Scope& scope, const catalog::TablePtr& view,
                                                       const PgQuery__RangeVar& node,
                                                       std::vector<NamespaceItem>& items) {
  SISAL_ASSIGN_OR_RETURN(BoundQuery query, BindViewQuery(view, scope.frame));
  NamespaceItem item;
  item.name = View(node.relname);
  item.schema = view->schema;
  Leaf leaf;
  leaf.kind = LeafKind::kPlan;
  leaf.view = view;
  leaf.alias = item.name;
  leaf.plan = query.plan;
  for (size_t i = 0; i < query.columns.size(); ++i) query.columns[i].name = view->columns[i].name;
  std::vector<NamespaceItem> added;
  auto tree = AddLeaf(scope, std::move(leaf), std::move(item), query.columns, added);
  NameAsInView(node, view, scope, added.back());
  SISAL_RETURN_IF_ERROR(ApplyAlias(node.alias, added.back()));
  scope.leaves.back().alias = added.back().name;
  items.push_back(std::move(added.back()));
  return tree;
}

// --- CREATE VIEW -----------------------------------------------------------------------------------------------------

// The text of the query: what stands behind the first AS that no parenthesis holds.
Result<std::string> Binder::ViewText() const {
  const Tokens tokens = ScanText(std::string(sql_));
  if (tokens == nullptr) return Error("XX000", "the text of a view could not be scanned");
  size_t begin = 0, end = 0;
  int depth = 0;
  bool found = false;
  for (size_t i = 0; i < tokens->n_tokens; ++i) {
    const PgQuery__ScanToken& token = *tokens->tokens[i];
    if (token.token == PG_QUERY__TOKEN__SQL_COMMENT || token.token == PG_QUERY__TOKEN__C_COMMENT) continue;
    // The grammar has wrapped the query into a WITH that the text lacks.
    const bool recursive = !found && token.token == PG_QUERY__TOKEN__RECURSIVE;
    if (recursive && i + 1 < tokens->n_tokens && tokens->tokens[i + 1]->token == PG_QUERY__TOKEN__VIEW) {
      return NotSupported(-1, "a recursive view");
    }
    depth += token.token == '(' ? 1 : token.token == ')' ? -1 : 0;
    if (found && token.token != ';') {
      if (end == 0) begin = static_cast<size_t>(token.start);
      end = static_cast<size_t>(token.end);
    }
    found |= depth == 0 && token.token == PG_QUERY__TOKEN__AS;
  }
  return std::string(sql_.substr(begin, end - begin));
}

Result<std::vector<catalog::Column>> Binder::ViewColumns(const PgQuery__ViewStmt& node, const BoundQuery& query) const {
  const NodeList names(node.aliases, node.n_aliases);
  if (names.size() > query.columns.size()) {
    return Error("42601", "CREATE VIEW specifies more column names than columns");
  }
  std::vector<catalog::Column> columns;
  for (size_t i = 0; i < query.columns.size(); ++i) {
    catalog::Column column;
    column.name = i < names.size() ? std::string(StringOf(names[i])) : query.columns[i].name;
    column.type = query.columns[i].type;
    for (const catalog::Column& other : columns) {
      if (other.name == column.name) {
        return Error("42701", "column \"" + column.name + "\" specified more than once");
      }
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

namespace {

// CREATE OR REPLACE VIEW may only add columns behind those that are there.
Status CheckReplacement(const catalog::Table& view, const std::vector<catalog::Column>& columns) {
  if (columns.size() < view.columns.size()) return Error("42P16", "cannot drop columns from view");
  for (size_t i = 0; i < view.columns.size(); ++i) {
    const catalog::Column &before = view.columns[i], &after = columns[i];
    if (before.name != after.name) {
      return Error("42P16", "cannot change name of view column \"" + before.name + "\" to \"" + after.name + "\"")
          .WithHint("Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.");
    }
    if (before.type != after.type) {
      return Error("42P16", "cannot change data type of view column \"" + before.name + "\" from " +
                                before.type.ToString() + " to " + after.type.ToString());
    }
  }
  return Status();
}

}  // namespace

Status Binder::BindCreateView(const PgQuery__ViewStmt& node) {
  UtilityCommand(StatementKind::kCreateView, "CREATE VIEW");
  statement_.depends_on_catalog = true;
  const auto option = node.with_check_option;
  if (option == PG_QUERY__VIEW_CHECK_OPTION__LOCAL_CHECK_OPTION ||
      option == PG_QUERY__VIEW_CHECK_OPTION__CASCADED_CHECK_OPTION) {
    return NotSupported(-1, "WITH CHECK OPTION");
  }
  if (node.n_options > 0) return NotSupported(-1, "WITH options of a view");
  if (View(node.view->relpersistence) == "t") return NotSupported(-1, "a temporary view");
  if (View(node.view->relpersistence) == "u")
    return Error("0A000", "views cannot be unlogged because they do not have storage");
  CreateViewStatement& create = statement_.create_view;
  SISAL_ASSIGN_OR_RETURN(const std::string schema, TargetSchema(*node.view));
  const std::string name(View(node.view->relname));
  if (node.query->node_case != PG_QUERY__NODE__NODE_SELECT_STMT) return NotSupported(-1, "this kind of view");
  const PgQuery__SelectStmt& select = *node.query->select_stmt;
  if (select.into_clause != nullptr) return Error("0A000", "views must not contain SELECT INTO");
  if (select.n_locking_clause > 0) return NotSupported(-1, "FOR UPDATE or FOR SHARE in a view");

  catalog::View view;
  view.settings = context_.text;
  SISAL_ASSIGN_OR_RETURN(view.sql, ViewText());
  Frame frame;
  QueryOptions options;
  options.frame = &frame;
  recorded_sources_ = &view.sources;
  parameters_allowed_ = false;
  Result<BoundQuery> query = BindQuery(select, options);
  recorded_sources_ = nullptr;
  parameters_allowed_ = true;
  if (!query.ok()) return std::move(query).error();
  SISAL_ASSIGN_OR_RETURN(std::vector<catalog::Column> columns, ViewColumns(node, *query));
  if (columns.empty()) return NotSupported(-1, "a view without columns");

  create.replaced = context_.root->FindTable(schema, name);
  if (create.replaced != nullptr || context_.root->FindTableOfIndex(schema, name) != nullptr) {
    if (!node.replace) return Error("42P07", "relation \"" + name + "\" already exists");
    if (create.replaced == nullptr || !create.replaced->view.has_value()) {
      return Error("42809", "\"" + name + "\" is not a view");
    }
    SISAL_RETURN_IF_ERROR(CheckReplacement(*create.replaced, columns));
    if (UsesItself(*context_.root, create.replaced->id, view.sources)) return InfiniteRecursion(name);
  }
  create.view = std::make_unique<catalog::Table>(std::move(columns));
  create.view->schema = schema;
  create.view->name = name;
  create.view->view = std::move(view);
  return Status();
}

// --- Writes through a view -------------------------------------------------------------------------------------------

namespace {

// Why PostgreSQL refuses to write through a view of this query; empty: it would do it.
std::string_view WhyNotUpdatable(const PgQuery__SelectStmt& select) {
  if (select.n_distinct_clause > 0) return "Views containing DISTINCT are not automatically updatable.";
  if (select.n_group_clause > 0) return "Views containing GROUP BY are not automatically updatable.";
  if (select.having_clause != nullptr) return "Views containing HAVING are not automatically updatable.";
  if (select.op != PG_QUERY__SET_OPERATION__SETOP_NONE) {
    return "Views containing UNION, INTERSECT, or EXCEPT are not automatically updatable.";
  }
  if (select.with_clause != nullptr) return "Views containing WITH are not automatically updatable.";
  if (select.limit_count != nullptr || select.limit_offset != nullptr) {
    return "Views containing LIMIT or OFFSET are not automatically updatable.";
  }
  return "";
}

// Of the query and of the views that it stands on.
size_t CountNodes(const Plan& plan, PlanKind kind) {
  size_t count = 0;
  for (const Plan* node = &plan;; node = node->inputs[0]) {
    count += node->kind == kind ? 1 : 0;
    if (node->inputs.size() != 1) return count;
  }
}

}  // namespace

Error Binder::NotUpdatable(const PgQuery__RangeVar& node, const catalog::TablePtr& view, std::string_view verb) {
  const Result<ParseTree> tree = sql::ParseText(view->view->sql);
  if (!tree.ok()) return tree.error();
  const PgQuery__SelectStmt& select = *(*tree)->stmts[0]->stmt->select_stmt;
  std::string why(WhyNotUpdatable(select));
  if (why.empty()) {
    Frame frame;
    const Result<BoundQuery> query = BindViewQuery(view, &frame);
    if (!query.ok()) return query.error();
    const bool one = select.n_from_clause == 1 && select.from_clause[0]->node_case == PG_QUERY__NODE__NODE_RANGE_VAR;
    size_t aggregations = CountNodes(*query->plan, PlanKind::kAggregate);
    size_t windows = CountNodes(*query->plan, PlanKind::kWindow);
    if (one) {
      const PgQuery__RangeVar& from = *select.from_clause[0]->range_var;
      const catalog::ViewSource* source = FindSource(*view->view, View(from.schemaname), View(from.relname));
      const catalog::TablePtr base = source == nullptr ? nullptr : context_.root->FindTable(source->relation);
      const bool on_view = base != nullptr && base->view.has_value();
      if (on_view) {
        const Result<BoundQuery> below = BindViewQuery(base, &frame);
        if (!below.ok()) return below.error();
        aggregations -= CountNodes(*below->plan, PlanKind::kAggregate);
        windows -= CountNodes(*below->plan, PlanKind::kWindow);
      }
      if (aggregations + windows == 0 && on_view) return NotUpdatable(node, base, verb);
      if (aggregations + windows == 0) return NotSupported(node.location, std::string(verb) + " a view");
    }
    why = !one               ? "Views that do not select from a single table or view are not automatically updatable."
          : aggregations > 0 ? "Views that return aggregate functions are not automatically updatable."
                             : "Views that return window functions are not automatically updatable.";
  }
  const std::string doing(verb == "insert into" ? "inserting into" : verb == "update" ? "updating" : "deleting from");
  const std::string event(verb == "insert into" ? "INSERT" : verb == "update" ? "UPDATE" : "DELETE");
  return Error("55000", "cannot " + std::string(verb) + " view \"" + view->name + "\"")
      .WithDetail(why)
      .WithHint("To enable " + doing + " the view, provide an INSTEAD OF " + event +
                " trigger or an unconditional ON " + event + " DO INSTEAD rule.");
}

}  // namespace sisal::sql
