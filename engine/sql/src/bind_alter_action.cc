// The actions of ALTER TABLE.
#include <algorithm>

#include "alter_draft.h"
#include "binder.h"
#include "table_draft.h"

namespace sisal::sql {
namespace {

TableDraft DraftOf(const catalog::Table& table) {
  TableDraft draft;
  draft.schema = table.schema;
  draft.name = table.name;
  draft.columns = table.columns;
  draft.null_allowed.resize(table.columns.size());
  if (!table.primary_key.empty()) draft.primary_key = DraftKey{table.primary_key_name, table.primary_key};
  return draft;
}

Error IsIdentity(const catalog::Table& table, std::string_view column) {
  return Error("42601",
               "column \"" + std::string(column) + "\" of relation \"" + table.name + "\" is an identity column");
}

// Rows lie under the primary key: without it they move under hidden numbers.
void DropPrimaryKey(AlterDraft& draft) {
  draft.changed.primary_key.clear();
  draft.changed.primary_key_name.clear();
  draft.rewrites = true;
}

}  // namespace

std::string_view NameOfAction(PgQuery__AlterTableType subtype) {
  switch (subtype) {
    case PG_QUERY__ALTER_TABLE_TYPE__AT_AddColumn:
      return "ADD COLUMN";
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DropColumn:
      return "DROP COLUMN";
    case PG_QUERY__ALTER_TABLE_TYPE__AT_ColumnDefault:
      return "ALTER COLUMN ... SET DEFAULT";
    case PG_QUERY__ALTER_TABLE_TYPE__AT_SetNotNull:
      return "ALTER COLUMN ... SET NOT NULL";
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DropNotNull:
      return "ALTER COLUMN ... DROP NOT NULL";
    case PG_QUERY__ALTER_TABLE_TYPE__AT_AddConstraint:
      return "ADD CONSTRAINT";
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DropConstraint:
      return "DROP CONSTRAINT";
    case PG_QUERY__ALTER_TABLE_TYPE__AT_SetStatistics:
      return "ALTER COLUMN ... SET STATISTICS";
    case PG_QUERY__ALTER_TABLE_TYPE__AT_SetStorage:
      return "ALTER COLUMN ... SET STORAGE";
    case PG_QUERY__ALTER_TABLE_TYPE__AT_SetCompression:
      return "ALTER COLUMN ... SET COMPRESSION";
    case PG_QUERY__ALTER_TABLE_TYPE__AT_AddIdentity:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_SetIdentity:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DropIdentity:
      return "ALTER COLUMN ... IDENTITY";
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DropExpression:
      return "ALTER COLUMN ... DROP EXPRESSION";
    case PG_QUERY__ALTER_TABLE_TYPE__AT_AlterColumnType:
      return "ALTER COLUMN ... SET DATA TYPE";
    case PG_QUERY__ALTER_TABLE_TYPE__AT_AlterConstraint:
      return "ALTER CONSTRAINT";
    case PG_QUERY__ALTER_TABLE_TYPE__AT_ValidateConstraint:
      return "VALIDATE CONSTRAINT";
    case PG_QUERY__ALTER_TABLE_TYPE__AT_ChangeOwner:
      return "OWNER TO";
    case PG_QUERY__ALTER_TABLE_TYPE__AT_ClusterOn:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DropCluster:
      return "CLUSTER";
    case PG_QUERY__ALTER_TABLE_TYPE__AT_SetLogged:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_SetUnLogged:
      return "SET LOGGED or UNLOGGED";
    case PG_QUERY__ALTER_TABLE_TYPE__AT_SetTableSpace:
      return "SET TABLESPACE";
    case PG_QUERY__ALTER_TABLE_TYPE__AT_SetAccessMethod:
      return "SET ACCESS METHOD";
    case PG_QUERY__ALTER_TABLE_TYPE__AT_SetRelOptions:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_ResetRelOptions:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_SetOptions:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_ResetOptions:
      return "SET or RESET of options";
    case PG_QUERY__ALTER_TABLE_TYPE__AT_AddInherit:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DropInherit:
      return "INHERIT";
    case PG_QUERY__ALTER_TABLE_TYPE__AT_AttachPartition:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DetachPartition:
      return "a partition";
    case PG_QUERY__ALTER_TABLE_TYPE__AT_EnableRowSecurity:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DisableRowSecurity:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_ForceRowSecurity:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_NoForceRowSecurity:
      return "ROW LEVEL SECURITY";
    case PG_QUERY__ALTER_TABLE_TYPE__AT_ReplicaIdentity:
      return "REPLICA IDENTITY";
    default:
      return "this action of ALTER TABLE";
  }
}

Error NoSuchColumn(const catalog::Table& table, std::string_view column) {
  return Error("42703", "column \"" + std::string(column) + "\" of relation \"" + table.name + "\" does not exist");
}

bool HasColumn(const catalog::Index& index, uint32_t column) {
  return std::any_of(index.columns.begin(), index.columns.end(),
                     [&](const catalog::IndexColumn& c) { return c.column == column; });
}

Status Binder::AlterAction(const PgQuery__AlterTableCmd& action, size_t number, AlterDraft& draft) {
  switch (action.subtype) {
    case PG_QUERY__ALTER_TABLE_TYPE__AT_AddColumn:
      return AddColumn(action, draft);
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DropColumn:
      return DropColumn(action, draft);
    case PG_QUERY__ALTER_TABLE_TYPE__AT_ColumnDefault:
      return SetDefault(action, number, draft);
    case PG_QUERY__ALTER_TABLE_TYPE__AT_AlterColumnType:
      return AlterColumnType(action, draft);
    case PG_QUERY__ALTER_TABLE_TYPE__AT_SetNotNull:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DropNotNull:
      return SetNotNull(View(action.name), action.subtype == PG_QUERY__ALTER_TABLE_TYPE__AT_SetNotNull, draft);
    case PG_QUERY__ALTER_TABLE_TYPE__AT_AddConstraint:
      return AddConstraint(*action.def->constraint, draft);
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DropConstraint:
      return DropConstraint(action, draft);
    default:
      return NotSupported(-1, NameOfAction(action.subtype));
  }
}

// Keys that the draft has and the table has not become the table's. The rows are there already: what must not be NULL
// is to be looked at.
Status Binder::TakeDraft(TableDraft added, AlterDraft& draft) {
  catalog::Table& changed = draft.changed;
  for (uint32_t i = 0; i < added.columns.size(); ++i) {
    const bool was = i < changed.columns.size() && changed.columns[i].not_null;
    if (added.columns[i].not_null && !was) draft.not_null.push_back(i);
  }
  changed.columns = std::move(added.columns);
  std::vector<std::string> taken = ConstraintNames(changed);
  const auto check_name = [&](const std::string& name) {
    const bool is_check = std::any_of(changed.checks.begin(), changed.checks.end(),
                                      [&](const catalog::Check& check) { return check.name == name; });
    if (!is_check && changed.FindForeignKey(name) == nullptr) return Status();
    return Status(Error("42710", "constraint \"" + name + "\" for relation \"" + changed.name + "\" already exists"));
  };
  if (added.primary_key.has_value() && changed.primary_key.empty()) {
    changed.primary_key = added.primary_key->columns;
    changed.primary_key_name = added.primary_key->name;
    SISAL_RETURN_IF_ERROR(check_name(changed.primary_key_name));
    if (changed.primary_key_name.empty()) {
      changed.primary_key_name = ChooseName(changed.schema, changed.name, "", "pkey", taken);
    }
    draft.rewrites = true;
  }
  taken.push_back(changed.primary_key_name);
  for (DraftKey& key : added.unique_keys) {
    if (key.name.empty()) {
      const std::string columns = JoinedColumnNames(changed.columns, key.columns);
      key.name = ChooseName(changed.schema, changed.name, columns, "key", taken);
    }
    SISAL_RETURN_IF_ERROR(check_name(key.name));
    taken.push_back(key.name);
    changed.indexes.push_back(MakeUniqueConstraint(key.name, key.columns));
  }
  SISAL_RETURN_IF_ERROR(AddChecks(added, draft));
  return AddForeignKeys(added, draft);
}

Status Binder::AddColumn(const PgQuery__AlterTableCmd& action, AlterDraft& draft) {
  const PgQuery__ColumnDef& definition = *action.def->column_def;
  const std::string name(View(definition.colname));
  if (draft.changed.FindColumn(name).has_value()) {
    const std::string message = "column \"" + name + "\" of relation \"" + draft.table->name + "\" already exists";
    if (!action.missing_ok) return Error("42701", message);
    Notice("42701", message + ", skipping");
    return Status();
  }
  TableDraft added = DraftOf(draft.changed);
  SISAL_RETURN_IF_ERROR(BindColumnDef(definition, added));
  // The rows that are there would need values of a sequence that is not there yet.
  if (!added.sequences.empty()) return NotSupported(-1, "ADD COLUMN of a serial or identity column");
  SISAL_RETURN_IF_ERROR(TakeDraft(std::move(added), draft));
  const auto slot = static_cast<uint32_t>(draft.changed.columns.size() - 1);
  const catalog::Column& column = draft.changed.columns[slot];
  if (column.default_sql.empty()) return Status();
  SISAL_ASSIGN_OR_RETURN(const Expr* value, BindDefaultText(column.default_sql, column));
  if (IsVolatile(value)) {
    draft.rewrites = true;  // each row has a value of its own
    draft.values.push_back({slot, value});
  } else {
    draft.missing.push_back({slot, value});
  }
  return Status();
}

Status Binder::DropColumn(const PgQuery__AlterTableCmd& action, AlterDraft& draft) {
  const std::string name(View(action.name));
  if (IsSystemColumn(name)) return Error("0A000", "cannot drop system column \"" + name + "\"");
  catalog::Table& changed = draft.changed;
  const std::optional<uint32_t> slot = changed.FindColumn(name);
  if (!slot.has_value()) {
    Error error = NoSuchColumn(*draft.table, name);
    if (!action.missing_ok) return error;
    Notice("00000", error.message() + ", skipping");
    return Status();
  }
  SISAL_RETURN_IF_ERROR(DropChecksOf(*slot, draft));
  const std::string description = "column " + name + " of table " + draft.table->name;
  std::vector<Dependent> found;
  AddViewsUsing(*draft.table, *slot, description, found);
  const bool cascade = action.behavior == PG_QUERY__DROP_BEHAVIOR__DROP_CASCADE;
  SISAL_ASSIGN_OR_RETURN(const auto views, TakeDependents(found, cascade, description, draft.dependents));
  draft.dependents.insert(draft.dependents.end(), views.begin(), views.end());
  statement_.drop.cascade |= action.behavior == PG_QUERY__DROP_BEHAVIOR__DROP_CASCADE;  // for its sequences
  std::erase_if(changed.foreign_keys, [&](const catalog::ForeignKey& foreign_key) {
    return std::find(foreign_key.columns.begin(), foreign_key.columns.end(), *slot) != foreign_key.columns.end();
  });
  const type::SqlType type = changed.columns[*slot].type;
  changed.columns[*slot] = catalog::Column();
  changed.columns[*slot].type = type;
  changed.columns[*slot].dropped = true;
  std::erase_if(changed.indexes, [&](const catalog::Index& index) { return HasColumn(index, *slot); });
  const auto& key = changed.primary_key;
  if (std::find(key.begin(), key.end(), *slot) != key.end()) DropPrimaryKey(draft);
  const std::string column = "column " + name + " of table " + changed.name;
  return CheckReferrers(draft, column, column);
}

Status Binder::AddConstraint(const PgQuery__Constraint& node, AlterDraft& draft) {
  TableDraft added = DraftOf(draft.changed);
  SISAL_RETURN_IF_ERROR(BindConstraint(node, nullptr, added));
  return TakeDraft(std::move(added), draft);
}

Status Binder::DropConstraint(const PgQuery__AlterTableCmd& action, AlterDraft& draft) {
  const std::string name(View(action.name));
  catalog::Table& changed = draft.changed;
  if (!changed.primary_key.empty() && changed.primary_key_name == name) {
    const std::string description = "constraint " + name + " on table " + draft.table->name;
    std::vector<Dependent> found;
    for (const catalog::TablePtr& view : catalog::ViewsByKey(*context_.root, draft.table->id)) {
      found.push_back({view, "view " + view->name + " depends on " + description});
      AddViewsUsing(*view, std::nullopt, "view " + view->name, found);
    }
    const bool cascade = action.behavior == PG_QUERY__DROP_BEHAVIOR__DROP_CASCADE;
    SISAL_ASSIGN_OR_RETURN(const auto views, TakeDependents(found, cascade, description, draft.dependents));
    draft.dependents.insert(draft.dependents.end(), views.begin(), views.end());
    DropPrimaryKey(draft);
    return CheckReferrers(draft, "constraint " + name + " on table " + changed.name, "index " + name);
  }
  const auto is_constraint = [&](const catalog::Index& index) { return index.is_constraint && index.name == name; };
  if (std::erase_if(changed.indexes, is_constraint) > 0) {
    return CheckReferrers(draft, "constraint " + name + " on table " + changed.name, "index " + name);
  }
  if (std::erase_if(changed.foreign_keys, [&](const catalog::ForeignKey& key) { return key.name == name; }) > 0) {
    return Status();
  }
  if (std::erase_if(changed.checks, [&](const catalog::Check& check) { return check.name == name; }) > 0) {
    return Status();
  }
  Error error = NoSuchConstraint(*draft.table, name);
  if (!action.missing_ok) return error;
  Notice("00000", error.message() + ", skipping");
  return Status();
}

Status Binder::SetNotNull(std::string_view name, bool not_null, AlterDraft& draft) {
  catalog::Table& changed = draft.changed;
  if (IsSystemColumn(name)) return Error("0A000", "cannot alter system column \"" + std::string(name) + "\"");
  const std::optional<uint32_t> slot = changed.FindColumn(name);
  if (!slot.has_value()) return NoSuchColumn(*draft.table, name);
  const auto& key = changed.primary_key;
  if (!not_null && std::find(key.begin(), key.end(), *slot) != key.end()) {
    return Error("42P16", "column \"" + std::string(name) + "\" is in a primary key");
  }
  if (!not_null && changed.columns[*slot].identity != catalog::Identity::kNone) {
    return IsIdentity(*draft.table, name);
  }
  if (not_null && !changed.columns[*slot].not_null) draft.not_null.push_back(*slot);
  changed.columns[*slot].not_null = not_null;
  return Status();
}

Status Binder::SetDefault(const PgQuery__AlterTableCmd& action, size_t number, AlterDraft& draft) {
  const std::string_view name = View(action.name);
  if (IsSystemColumn(name)) return Error("0A000", "cannot alter system column \"" + std::string(name) + "\"");
  const std::optional<uint32_t> slot = draft.changed.FindColumn(name);
  if (!slot.has_value()) return NoSuchColumn(*draft.table, name);
  catalog::Column& column = draft.changed.columns[*slot];
  if (column.identity != catalog::Identity::kNone) {
    if (action.def != nullptr) return IsIdentity(*draft.table, name);
    return IsIdentity(*draft.table, name).WithHint("Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead.");
  }
  if (action.def == nullptr) {
    column.default_sql.clear();
    return Status();
  }
  SISAL_RETURN_IF_ERROR(CheckDefault(action.def, column));
  SISAL_ASSIGN_OR_RETURN(column.default_sql, SetDefaultText(number));
  return BindDefaultText(column.default_sql, column).status();
}

Result<std::string> Binder::SetDefaultText(size_t number) const {
  const Tokens tokens = ScanText(std::string(sql_));
  if (tokens == nullptr) return Error("XX000", "the text of a DEFAULT expression could not be scanned");
  size_t begin = 0, end = 0, commas = 0;
  bool found = false;
  int depth = 0;
  auto previous = PG_QUERY__TOKEN__NUL;
  for (size_t i = 0; i < tokens->n_tokens; ++i) {
    const PgQuery__ScanToken& token = *tokens->tokens[i];
    if (token.token == PG_QUERY__TOKEN__SQL_COMMENT || token.token == PG_QUERY__TOKEN__C_COMMENT) continue;
    const bool opens = token.token == '(' || token.token == '[', closes = token.token == ')' || token.token == ']';
    depth += opens ? 1 : closes ? -1 : 0;
    const bool ends = depth == 0 && (token.token == ',' || token.token == ';');
    if (ends && commas == number) break;
    commas += ends ? 1 : 0;
    if (found) {
      if (end == 0) begin = static_cast<size_t>(token.start);
      end = static_cast<size_t>(token.end);
    }
    found |= commas == number && previous == PG_QUERY__TOKEN__SET && token.token == PG_QUERY__TOKEN__DEFAULT;
    previous = token.token;
  }
  return std::string(sql_.substr(begin, end - begin));
}

}  // namespace sisal::sql
