// CHECK constraints: where they are defined, and in each statement that writes their table. What stands in the catalog
// is SQL text.
#include <algorithm>

#include "binder.h"

namespace sisal::sql {

namespace {

bool IsComment(const PgQuery__ScanToken& token) {
  return token.token == PG_QUERY__TOKEN__SQL_COMMENT || token.token == PG_QUERY__TOKEN__C_COMMENT;
}

bool Contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::vector<std::string> ConstraintNames(const catalog::Table& table) {
  std::vector<std::string> names;
  if (!table.primary_key_name.empty()) names.push_back(table.primary_key_name);
  for (const catalog::Index& index : table.indexes) {
    if (index.is_constraint) names.push_back(index.name);
  }
  for (const catalog::Check& check : table.checks) names.push_back(check.name);
  for (const catalog::ForeignKey& key : table.foreign_keys) names.push_back(key.name);
  return names;
}

bool Binder::ConstraintExists(const std::string& schema, std::string_view name) const {
  bool exists = false;
  context_.root->ForEachTable([&](const catalog::TablePtr& table) {
    exists = exists || (table->schema == schema && Contains(ConstraintNames(*table), name));
  });
  return exists;
}

Result<const Expr*> Binder::BindStoredText(const std::string& sql, std::string_view what,
                                           const std::function<Result<const Expr*>(const Node*)>& bind) {
  const TextPositions* positions = positions_;
  const bool parameters_allowed = parameters_allowed_;
  positions_ = nullptr;
  parameters_allowed_ = false;
  const auto bind_tree = [&]() -> Result<const Expr*> {
    SISAL_ASSIGN_OR_RETURN(const ParseTree tree, sql::ParseText("SELECT (" + sql + "\n)"));
    const Node* statement = tree->n_stmts == 1 ? tree->stmts[0]->stmt : nullptr;
    if (statement == nullptr || statement->node_case != PG_QUERY__NODE__NODE_SELECT_STMT ||
        statement->select_stmt->n_target_list != 1) {
      return Error("XX001", "the stored " + std::string(what) + " is not an expression");
    }
    return bind(statement->select_stmt->target_list[0]->res_target->val);
  };
  Result<const Expr*> expr = bind_tree();
  positions_ = positions;
  parameters_allowed_ = parameters_allowed;
  return expr;
}

Result<const Expr*> Binder::BindCheckExpr(const Node* node, const catalog::TablePtr& table) {
  Frame frame;
  Scope scope;
  scope.frame = &frame;
  scope.clause = Clause::kCheck;
  NamespaceItem item;
  item.schema = table->schema;
  AddTableLeaf(scope, table, table->name, item);
  scope.items.push_back(std::move(item));
  const bool parameters_allowed = parameters_allowed_;
  parameters_allowed_ = false;
  Result<const Expr*> expr = BindExpr(scope, node);
  parameters_allowed_ = parameters_allowed;
  if (!expr.ok()) return expr;
  return CoerceToBoolean(*expr, "CHECK", LocationOf(node));
}

Result<const Expr*> Binder::BindCheckText(const catalog::Check& check, const catalog::TablePtr& table) {
  return BindStoredText(check.sql, "CHECK constraint \"" + check.name + "\"",
                        [&](const Node* node) { return BindCheckExpr(node, table); });
}

// The text between the parentheses of a CHECK, its columns without their table's name: that may change.
Result<std::string> Binder::CheckText(const PgQuery__Constraint& node, const std::vector<ColumnUse>& uses) const {
  const std::string rest(sql_.substr(static_cast<size_t>(node.location)));
  const Tokens scanned = ScanText(rest);
  if (scanned == nullptr) return Error("XX000", "the text of a CHECK constraint could not be scanned");
  const std::span<PgQuery__ScanToken*> tokens(scanned->tokens, scanned->n_tokens);
  size_t at = 0;
  while (at < tokens.size() && tokens[at]->token != PG_QUERY__TOKEN__CHECK) ++at;
  while (at < tokens.size() && tokens[at]->token != '(') ++at;
  std::string text;
  int32_t copied = at < tokens.size() ? tokens[at]->end : 0;  // up to here `rest` is in `text`, or left out
  int depth = 0;
  for (; at < tokens.size(); ++at) {
    const PgQuery__ScanToken& token = *tokens[at];
    depth += token.token == '(' ? 1 : token.token == ')' ? -1 : 0;
    if (depth == 0) {
      text.append(rest, copied, token.start - copied);
      break;
    }
    if (IsComment(token)) {
      text.append(rest, copied, token.start - copied).append(" ");
      copied = token.end;
    }
    const auto use = std::find_if(uses.begin(), uses.end(), [&](const ColumnUse& other) {
      return other.fields > 1 && other.location == node.location + token.start;
    });
    if (use == uses.end()) continue;
    text.append(rest, copied, token.start - copied);
    for (uint32_t dots = 1; dots < use->fields && at + 1 < tokens.size(); ++at) {
      if (tokens[at]->token == '.') ++dots;
    }
    while (at < tokens.size() && IsComment(*tokens[at])) ++at;
    copied = tokens[at]->start;
  }
  const size_t begin = text.find_first_not_of(" \t\r\n\f"), end = text.find_last_not_of(" \t\r\n\f");
  if (begin == std::string::npos) return Error("XX000", "the text of a CHECK constraint was not found");
  return text.substr(begin, end - begin + 1);
}

Result<catalog::Check> Binder::BindCheck(const PgQuery__Constraint& node, const catalog::TablePtr& table,
                                         const std::vector<std::string>& taken) {
  catalog::Check check;
  check.name = View(node.conname);
  check.no_inherit = node.is_no_inherit;
  std::vector<ColumnUse> uses;
  column_uses_ = &uses;
  const Result<const Expr*> expr = BindCheckExpr(node.raw_expr, table);
  column_uses_ = nullptr;
  if (!expr.ok()) return expr.error();
  if (check.name.empty()) {
    // PostgreSQL names it after its column, if it has one only.
    const bool one = !uses.empty() && std::all_of(uses.begin(), uses.end(), [&](const ColumnUse& use) {
      return use.column == uses.front().column;
    });
    const std::string column = one ? table->columns[uses.front().column].name : std::string();
    check.name = ChooseConstraintName(*table, column, "check", taken);
  } else if (Contains(taken, check.name)) {
    return Error("42710", "check constraint \"" + check.name + "\" already exists");
  } else if (Contains(ConstraintNames(*table), check.name)) {
    return Error("42710", "constraint \"" + check.name + "\" for relation \"" + table->name + "\" already exists");
  }
  SISAL_ASSIGN_OR_RETURN(check.sql, CheckText(node, uses));
  SISAL_RETURN_IF_ERROR(BindCheckText(check, table).status());
  return check;
}

}  // namespace sisal::sql
