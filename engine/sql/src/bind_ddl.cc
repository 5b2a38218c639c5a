// CREATE TABLE.
#include <algorithm>

#include "binder.h"
#include "table_draft.h"

namespace sisal::sql {

std::optional<uint32_t> FindDraftColumn(const TableDraft& draft, std::string_view name) {
  for (uint32_t i = 0; i < draft.columns.size(); ++i) {
    if (draft.columns[i].name == name && !draft.columns[i].dropped) return i;
  }
  return std::nullopt;
}

std::string JoinedColumnNames(const std::vector<catalog::Column>& columns, const std::vector<uint32_t>& key) {
  std::string names;
  for (const uint32_t column : key) names += (names.empty() ? "" : "_") + columns[column].name;
  return names;
}

bool IsSystemColumn(std::string_view name) {
  for (const std::string_view system : {"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"}) {
    if (name == system) return true;
  }
  return false;
}

catalog::Index MakeUniqueConstraint(std::string name, const std::vector<uint32_t>& columns) {
  catalog::Index index;
  index.name = std::move(name);
  index.unique = true;
  index.is_constraint = true;
  for (const uint32_t column : columns) index.columns.push_back({column, type::SortOrder::kAscending, false});
  return index;
}

namespace {

// The longest prefix of at most `size_bytes` that does not cut a character.
std::string_view ClipUtf8(std::string_view text, size_t size_bytes) {
  if (text.size() <= size_bytes) return text;
  while (size_bytes > 0 && (text[size_bytes] & 0xC0) == 0x80) --size_bytes;
  return text.substr(0, size_bytes);
}

constexpr size_t kNameBytesMax = 63;

// "table_columns_label", its first two parts cut to fit, the longer one first.
std::string ObjectName(std::string_view table, std::string_view columns, std::string_view label) {
  const size_t overhead = label.size() + 1 + (columns.empty() ? 0 : 1);
  size_t table_bytes = table.size(), columns_bytes = columns.size();
  while (table_bytes + columns_bytes + overhead > kNameBytesMax)
    --(table_bytes > columns_bytes ? table_bytes : columns_bytes);
  std::string name(ClipUtf8(table, table_bytes));
  if (!columns.empty()) name += "_" + std::string(ClipUtf8(columns, columns_bytes));
  return name + "_" + std::string(label);
}

// DEFERRABLE and its like arrive as constraints of their own behind the one that they are about.
bool IsAttribute(const PgQuery__Constraint& node) {
  return node.contype == PG_QUERY__CONSTR_TYPE__CONSTR_ATTR_DEFERRABLE ||
         node.contype == PG_QUERY__CONSTR_TYPE__CONSTR_ATTR_NOT_DEFERRABLE ||
         node.contype == PG_QUERY__CONSTR_TYPE__CONSTR_ATTR_DEFERRED ||
         node.contype == PG_QUERY__CONSTR_TYPE__CONSTR_ATTR_IMMEDIATE;
}

// The keys' names, where the text has them, against those of the CHECKs.
Status CheckKeyNames(const TableDraft& draft) {
  const auto is_taken = [&](const std::string& name) {
    return std::any_of(draft.checks.begin(), draft.checks.end(), [&](const auto& check) { return check.name == name; });
  };
  std::vector<std::string> names;
  if (draft.primary_key.has_value()) names.push_back(draft.primary_key->name);
  for (const DraftKey& key : draft.unique_keys) names.push_back(key.name);
  for (const std::string& name : names) {
    if (!is_taken(name)) continue;
    return Error("42710", "constraint \"" + name + "\" for relation \"" + draft.name + "\" already exists");
  }
  return Status();
}

}  // namespace

std::string Binder::ChooseConstraintName(const catalog::Table& table, std::string_view columns, std::string_view label,
                                         const std::vector<std::string>& taken) const {
  for (uint32_t pass = 0;; ++pass) {
    std::string name = ObjectName(table.name, columns, std::string(label) + (pass == 0 ? "" : std::to_string(pass)));
    const bool known = std::find(taken.begin(), taken.end(), name) != taken.end();
    if (!known && !ConstraintExists(table.schema, name)) return name;
  }
}

std::string Binder::ChooseName(const std::string& schema, std::string_view table, std::string_view columns,
                               std::string_view label, const std::vector<std::string>& taken) const {
  for (uint32_t pass = 0;; ++pass) {
    const std::string numbered = std::string(label) + (pass == 0 ? "" : std::to_string(pass));
    std::string name = ObjectName(table, columns, numbered);
    const bool known = std::find(taken.begin(), taken.end(), name) != taken.end();
    if (known || context_.root->RelationExists(schema, name)) continue;
    if (label == "idx" || !ConstraintExists(schema, name)) return name;
  }
}

Result<std::string> Binder::TargetSchema(const PgQuery__RangeVar& relation) const {
  const std::string schema(View(relation.schemaname));
  if (!View(relation.catalogname).empty()) {
    return At(relation.location, "0A000", "cross-database references are not implemented");
  }
  if (View(relation.relpersistence) == "t") return NotSupported(relation.location, "a temporary table");
  if (View(relation.relpersistence) == "u") return NotSupported(relation.location, "an unlogged table");
  if (schema.empty()) return context_.search_path.empty() ? std::string("public") : context_.search_path[0];
  if (schema == "pg_catalog" || schema == "information_schema") {
    return At(relation.location, "42501", "permission denied for schema " + schema);
  }
  if (schema != "public") return At(relation.location, "3F000", "schema \"" + schema + "\" does not exist");
  return schema;
}

// The text of a DEFAULT expression: from its keyword to the next constraint of the column, or to its end.
Result<std::string> Binder::DefaultText(const PgQuery__ColumnDef& column, const PgQuery__Constraint& constraint) const {
  int32_t limit = static_cast<int32_t>(sql_.size());
  for (const Node* node : NodeList(column.constraints, column.n_constraints)) {
    const int32_t location = node->constraint->location;
    if (location > constraint.location) limit = std::min(limit, location);
  }
  if (column.coll_clause != nullptr && column.coll_clause->location > constraint.location) {
    limit = std::min(limit, column.coll_clause->location);
  }
  const std::string rest(sql_.substr(static_cast<size_t>(constraint.location)));
  const Tokens tokens = ScanText(rest);
  if (tokens == nullptr) return Error("XX000", "the text of a DEFAULT expression could not be scanned");
  size_t at = 0;
  while (at < tokens->n_tokens && tokens->tokens[at]->token != PG_QUERY__TOKEN__DEFAULT) ++at;
  size_t begin = 0, end = 0;
  int depth = 0;
  for (++at; at < tokens->n_tokens; ++at) {
    const PgQuery__ScanToken& token = *tokens->tokens[at];
    if (token.token == PG_QUERY__TOKEN__SQL_COMMENT || token.token == PG_QUERY__TOKEN__C_COMMENT) continue;
    if (token.start + constraint.location >= limit) break;
    const bool opens = token.token == '(' || token.token == '[', closes = token.token == ')' || token.token == ']';
    if (depth == 0 && (closes || token.token == ',')) break;
    depth += opens ? 1 : closes ? -1 : 0;
    if (end == 0) begin = static_cast<size_t>(token.start);
    end = static_cast<size_t>(token.end);
  }
  return rest.substr(begin, end - begin);
}

Status Binder::CheckDefault(const Node* node, const catalog::Column& column) {
  Scope scope;
  Frame frame;
  scope.frame = &frame;
  scope.clause = Clause::kDefault;
  parameters_allowed_ = false;
  Result<const Expr*> expr = BindExpr(scope, node);
  parameters_allowed_ = true;
  if (!expr.ok()) return std::move(expr).error();
  if (!CanCoerce((*expr)->type.id, column.type.id, CastContext::kAssignment)) {
    return Error("42804", "column \"" + column.name + "\" is of type " + std::string(type::TypeName(column.type.id)) +
                              " but default expression is of type " + TypeList(std::span(&(*expr)->type.id, 1)))
        .WithHint("You will need to rewrite or cast the expression.");
  }
  return CoerceForColumn(*expr, column, LocationOf(node)).status();
}

Status Binder::BindColumnDef(const PgQuery__ColumnDef& node, TableDraft& draft) {
  catalog::Column column;
  column.name = View(node.colname);
  constexpr size_t kColumnsMax = 1600;
  if (draft.columns.size() >= kColumnsMax) {
    return Error("54011", "tables can have at most " + std::to_string(kColumnsMax) + " columns");
  }
  if (IsSystemColumn(column.name)) {
    return Error("42701", "column name \"" + column.name + "\" conflicts with a system column name");
  }
  if (FindDraftColumn(draft, column.name).has_value()) {
    return Error("42701", "column \"" + column.name + "\" specified more than once");
  }
  if (node.coll_clause != nullptr) return NotSupported(node.coll_clause->location, "COLLATE");
  if (!View(node.compression).empty()) return NotSupported(node.location, "COMPRESSION");
  if (node.n_fdwoptions > 0) return NotSupported(node.location, "OPTIONS of a column");
  SISAL_ASSIGN_OR_RETURN(const bool serial, BindSerialType(*node.type_name, column));
  if (!serial) {
    SISAL_ASSIGN_OR_RETURN(column.type, ResolveType(*node.type_name));
  }
  draft.columns.push_back(std::move(column));
  draft.null_allowed.emplace_back();
  const PgQuery__Constraint* last = nullptr;
  for (const Node* element : NodeList(node.constraints, node.n_constraints)) {
    const PgQuery__Constraint& constraint = *element->constraint;
    if (IsAttribute(constraint)) {
      SISAL_RETURN_IF_ERROR(BindAttribute(constraint, last));
      continue;
    }
    last = &constraint;
    SISAL_RETURN_IF_ERROR(BindConstraint(constraint, &node, draft));
  }
  return serial ? FinishSerial(draft) : Status();
}

// `column`: the definition that the constraint belongs to, the draft's last; nullptr: a constraint of the table.
Status Binder::BindConstraint(const PgQuery__Constraint& node, const PgQuery__ColumnDef* column, TableDraft& draft) {
  std::vector<std::string> names;
  for (const Node* key : NodeList(node.keys, node.n_keys)) names.emplace_back(StringOf(key));
  if (column != nullptr) names = {draft.columns.back().name};
  switch (node.contype) {
    case PG_QUERY__CONSTR_TYPE__CONSTR_NULL:
    case PG_QUERY__CONSTR_TYPE__CONSTR_NOTNULL: {
      const bool allowed = node.contype == PG_QUERY__CONSTR_TYPE__CONSTR_NULL;
      std::optional<bool>& stated = draft.null_allowed.back();
      if (stated.has_value() && *stated != allowed) {
        return At(
            node.location, "42601",
            "conflicting NULL/NOT NULL declarations for column \"" + names[0] + "\" of table \"" + draft.name + "\"");
      }
      stated = allowed;
      draft.columns.back().not_null = !allowed;
      return Status();
    }
    case PG_QUERY__CONSTR_TYPE__CONSTR_DEFAULT: {
      catalog::Column& target = draft.columns.back();
      if (!target.default_sql.empty()) {
        return At(node.location, "42601",
                  "multiple default values specified for column \"" + names[0] + "\" of table \"" + draft.name + "\"");
      }
      if (target.identity != catalog::Identity::kNone) {
        return At(
            node.location, "42601",
            "both default and identity specified for column \"" + names[0] + "\" of table \"" + draft.name + "\"");
      }
      SISAL_RETURN_IF_ERROR(CheckDefault(node.raw_expr, target));
      SISAL_ASSIGN_OR_RETURN(target.default_sql, DefaultText(*column, node));
      return BindDefaultText(target.default_sql, target).status();
    }
    case PG_QUERY__CONSTR_TYPE__CONSTR_PRIMARY:
    case PG_QUERY__CONSTR_TYPE__CONSTR_UNIQUE:
      return AddKey(node, names, draft);
    case PG_QUERY__CONSTR_TYPE__CONSTR_CHECK:
      draft.check_nodes.push_back(&node);  // it may use columns that come later
      return Status();
    case PG_QUERY__CONSTR_TYPE__CONSTR_FOREIGN:
      if (column == nullptr) {
        for (const Node* key : NodeList(node.fk_attrs, node.n_fk_attrs)) names.emplace_back(StringOf(key));
      }
      draft.foreign_keys.push_back({&node, std::move(names)});
      return Status();
    case PG_QUERY__CONSTR_TYPE__CONSTR_GENERATED:
      return NotSupported(node.location, "GENERATED");
    case PG_QUERY__CONSTR_TYPE__CONSTR_IDENTITY:
      return BindIdentity(node, draft);
    case PG_QUERY__CONSTR_TYPE__CONSTR_EXCLUSION:
      return NotSupported(node.location, "EXCLUDE");
    default:
      return NotSupported(node.location, "DEFERRABLE");
  }
}

Status Binder::AddKey(const PgQuery__Constraint& node, const std::vector<std::string>& names, TableDraft& draft) {
  const bool primary = node.contype == PG_QUERY__CONSTR_TYPE__CONSTR_PRIMARY;
  if (node.deferrable || node.initdeferred) return NotSupported(node.location, "DEFERRABLE");
  if (node.nulls_not_distinct) return NotSupported(node.location, "NULLS NOT DISTINCT");
  if (node.n_including > 0) return NotSupported(node.location, "INCLUDE");
  if (node.n_options > 0) return NotSupported(node.location, "WITH options of a constraint");
  if (!View(node.indexname).empty()) return NotSupported(node.location, "USING INDEX");
  if (!View(node.indexspace).empty()) return NotSupported(node.location, "USING INDEX TABLESPACE");
  if (primary && draft.primary_key.has_value()) {
    return At(node.location, "42P16", "multiple primary keys for table \"" + draft.name + "\" are not allowed");
  }
  DraftKey key;
  key.name = View(node.conname);
  for (const std::string& name : names) {
    const std::optional<uint32_t> column = FindDraftColumn(draft, name);
    if (!column.has_value()) return At(node.location, "42703", "column \"" + name + "\" named in key does not exist");
    if (std::find(key.columns.begin(), key.columns.end(), *column) != key.columns.end()) {
      return At(node.location, "42701",
                "column \"" + name + "\" appears twice in " + (primary ? "primary key" : "unique") + " constraint");
    }
    key.columns.push_back(*column);
    if (!primary) continue;
    draft.null_allowed[*column] = false;
    draft.columns[*column].not_null = true;
  }
  if (primary) {
    draft.primary_key = std::move(key);
  } else {
    draft.unique_keys.push_back(std::move(key));
  }
  return Status();
}

Status Binder::BindAttribute(const PgQuery__Constraint& node, const PgQuery__Constraint* of) {
  const bool deferrable = node.contype == PG_QUERY__CONSTR_TYPE__CONSTR_ATTR_DEFERRABLE;
  const bool deferred = node.contype == PG_QUERY__CONSTR_TYPE__CONSTR_ATTR_DEFERRED;
  const bool has_attributes = of != nullptr && (of->contype == PG_QUERY__CONSTR_TYPE__CONSTR_PRIMARY ||
                                                of->contype == PG_QUERY__CONSTR_TYPE__CONSTR_UNIQUE ||
                                                of->contype == PG_QUERY__CONSTR_TYPE__CONSTR_FOREIGN);
  if (!has_attributes) {
    const bool initially = deferred || node.contype == PG_QUERY__CONSTR_TYPE__CONSTR_ATTR_IMMEDIATE;
    const std::string name = deferrable  ? "DEFERRABLE"
                             : deferred  ? "INITIALLY DEFERRED"
                             : initially ? "INITIALLY IMMEDIATE"
                                         : "NOT DEFERRABLE";
    return At(node.location, "42601", "misplaced " + name + " clause");
  }
  if (deferrable || deferred) return NotSupported(node.location, "DEFERRABLE");
  return Status();
}

// After the table's keys have their names, one after another, as PostgreSQL adds them.
Status Binder::BindForeignKeys(const TableDraft& draft, catalog::Table& table) {
  for (const TableDraft::ForeignKeyNode& node : draft.foreign_keys) {
    const auto so_far = std::make_shared<const catalog::Table>(table);
    SISAL_ASSIGN_OR_RETURN(catalog::ForeignKey key, BindForeignKey(*node.node, node.names, so_far));
    table.foreign_keys.push_back(std::move(key));
  }
  return Status();
}

Status Binder::BindChecks(TableDraft& draft) {
  if (draft.check_nodes.empty()) return Status();
  const auto table = std::make_shared<catalog::Table>(draft.columns);
  table->schema = draft.schema;
  table->name = draft.name;
  std::vector<std::string> taken;
  for (const PgQuery__Constraint* node : draft.check_nodes) {
    SISAL_ASSIGN_OR_RETURN(catalog::Check check, BindCheck(*node, table, taken));
    taken.push_back(check.name);
    draft.checks.push_back(std::move(check));
  }
  return Status();
}

std::unique_ptr<catalog::Table> Binder::FinishTable(TableDraft draft) {
  // A key that repeats another one is the same key.
  std::vector<DraftKey> unique_keys;
  for (DraftKey& key : draft.unique_keys) {
    DraftKey* same = nullptr;
    if (draft.primary_key.has_value() && draft.primary_key->columns == key.columns) same = &*draft.primary_key;
    for (DraftKey& other : unique_keys) {
      if (other.columns == key.columns) same = &other;
    }
    if (same != nullptr && (key.name.empty() || same->name.empty() || key.name == same->name)) {
      if (same->name.empty()) same->name = key.name;
      continue;
    }
    unique_keys.push_back(std::move(key));
  }
  auto table = std::make_unique<catalog::Table>(draft.columns);
  table->schema = draft.schema;
  table->name = draft.name;
  table->checks = draft.checks;
  std::sort(table->checks.begin(), table->checks.end(),
            [](const catalog::Check& a, const catalog::Check& b) { return a.name < b.name; });
  std::vector<std::string> taken = {draft.name};
  for (const catalog::Check& check : draft.checks) taken.push_back(check.name);
  for (const OwnedSequence& owned : draft.sequences) taken.push_back(owned.sequence.name);
  for (const DraftKey& key : unique_keys) taken.push_back(key.name);
  if (draft.primary_key.has_value()) {
    table->primary_key = draft.primary_key->columns;
    table->primary_key_name = draft.primary_key->name;
    if (table->primary_key_name.empty()) {
      table->primary_key_name = ChooseName(draft.schema, draft.name, "", "pkey", taken);
    }
    taken.push_back(table->primary_key_name);
  }
  for (const DraftKey& key : unique_keys) {
    std::string name = key.name;
    if (name.empty()) {
      name = ChooseName(draft.schema, draft.name, JoinedColumnNames(draft.columns, key.columns), "key", taken);
    }
    taken.push_back(name);
    table->indexes.push_back(MakeUniqueConstraint(std::move(name), key.columns));
  }
  return table;
}

Status Binder::BindCreateTable(const PgQuery__CreateStmt& node) {
  UtilityCommand(StatementKind::kCreateTable, "CREATE TABLE");
  statement_.depends_on_catalog = true;
  TableDraft draft;
  SISAL_ASSIGN_OR_RETURN(draft.schema, TargetSchema(*node.relation));
  draft.name = View(node.relation->relname);
  if (node.n_inh_relations > 0) return NotSupported(-1, "INHERITS");
  if (node.partbound != nullptr || node.partspec != nullptr) return NotSupported(-1, "PARTITION BY");
  if (node.of_typename != nullptr) return NotSupported(-1, "CREATE TABLE OF");
  if (node.n_options > 0) return NotSupported(-1, "WITH options of a table");
  if (!View(node.tablespacename).empty()) return NotSupported(-1, "TABLESPACE");
  if (!View(node.access_method).empty()) return NotSupported(-1, "USING a table access method");
  if (node.oncommit != PG_QUERY__ON_COMMIT_ACTION__ONCOMMIT_NOOP) return NotSupported(-1, "ON COMMIT");
  const NodeList elements(node.table_elts, node.n_table_elts);
  for (const Node* element : elements) {
    if (element->node_case == PG_QUERY__NODE__NODE_TABLE_LIKE_CLAUSE) return NotSupported(-1, "LIKE in CREATE TABLE");
    if (element->node_case != PG_QUERY__NODE__NODE_COLUMN_DEF) continue;
    SISAL_RETURN_IF_ERROR(BindColumnDef(*element->column_def, draft));
  }
  for (const Node* element : elements) {
    if (element->node_case != PG_QUERY__NODE__NODE_CONSTRAINT) continue;
    SISAL_RETURN_IF_ERROR(BindConstraint(*element->constraint, nullptr, draft));
  }
  SISAL_RETURN_IF_ERROR(BindChecks(draft));
  SISAL_RETURN_IF_ERROR(CheckKeyNames(draft));
  statement_.create_table.sequences = draft.sequences;
  statement_.create_table.table = FinishTable(draft);
  SISAL_RETURN_IF_ERROR(BindForeignKeys(draft, *statement_.create_table.table));
  statement_.create_table.if_not_exists = node.if_not_exists;
  return Status();
}

}  // namespace sisal::sql
