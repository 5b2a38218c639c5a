// ALTER TABLE and ALTER INDEX: finding what they name, renaming, and the order of the actions.
#include <algorithm>

#include "alter_draft.h"
#include "binder.h"
#include "postgres_names.h"
#include "table_draft.h"

namespace sisal::sql {
namespace {

// Actions run in passes, so that a column's name is free before another takes it, and there before a key uses it.
int PassOf(const PgQuery__AlterTableCmd& action) {
  switch (action.subtype) {
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DropColumn:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DropConstraint:
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DropNotNull:
      return 0;
    case PG_QUERY__ALTER_TABLE_TYPE__AT_AlterColumnType:
      return 1;
    case PG_QUERY__ALTER_TABLE_TYPE__AT_AddColumn:
      return 2;
    case PG_QUERY__ALTER_TABLE_TYPE__AT_SetNotNull:
      return 3;
    case PG_QUERY__ALTER_TABLE_TYPE__AT_ColumnDefault:
      return action.def == nullptr ? 0 : 5;
    default:
      return 4;
  }
}

Status CheckNewColumnName(const catalog::Table& table, const std::string& name) {
  if (IsSystemColumn(name)) {
    return Error("42701", "column name \"" + name + "\" conflicts with a system column name");
  }
  if (!table.FindColumn(name).has_value()) return Status();
  return Error("42701", "column \"" + name + "\" of relation \"" + table.name + "\" already exists");
}

}  // namespace

Error NoSuchConstraint(const catalog::Table& table, const std::string& constraint) {
  return Error("42704", "constraint \"" + constraint + "\" of relation \"" + table.name + "\" does not exist");
}

Result<Binder::AlteredRelation> Binder::FindAltered(const PgQuery__RangeVar& relation, bool missing_ok) {
  const std::string schema(View(relation.schemaname)), name(View(relation.relname));
  if (schema == "pg_catalog" || schema == "information_schema") {
    return Error("42501", "permission denied: \"" + name + "\" is a system catalog");
  }
  const std::span<const std::string> path = schema.empty() ? context_.search_path : std::span(&schema, 1);
  for (const std::string& in : path) {
    if (catalog::TablePtr table = context_.root->FindTable(in, name); table != nullptr) {
      UseTable(table);
      return AlteredRelation{std::move(table), false};
    }
    if (catalog::TablePtr table = context_.root->FindTableOfIndex(in, name); table != nullptr) {
      UseTable(table);
      return AlteredRelation{std::move(table), true};
    }
    if (context_.root->FindSequence(in, name) != nullptr) return NotSupported(-1, "ALTER TABLE of a sequence");
  }
  const std::string qualified = (schema.empty() ? "" : schema + ".") + name;
  if (!missing_ok) {
    if (IsPostgresRelation(schema, name)) return NotSupported(-1, "relation \"" + qualified + "\"");
    return Error("42P01", "relation \"" + qualified + "\" does not exist");
  }
  Notice("00000", "relation \"" + name + "\" does not exist, skipping");
  return AlteredRelation{};
}

Status Binder::FinishAlter(AlterDraft draft) {
  AlterTableStatement& alter = statement_.alter;
  std::vector<catalog::Column> columns = draft.changed.columns;
  if (draft.rewrites) {
    draft.changed.tree = TreeId();
    for (catalog::Index& index : draft.changed.indexes) index.tree = TreeId();
    for (catalog::Column& column : columns) column.missing = type::Datum();
    draft.values.insert(draft.values.end(), draft.missing.begin(), draft.missing.end());
    draft.missing.clear();
  }
  draft.changed.SetColumns(std::move(columns));
  alter.table = draft.table;
  alter.changed = std::make_shared<const catalog::Table>(std::move(draft.changed));
  alter.not_null = std::move(draft.not_null);
  alter.missing = std::move(draft.missing);
  alter.values = std::move(draft.values);
  alter.dependents = draft.dependents;
  return BindNewChecks(draft, alter.changed);
}

Status Binder::BindAlterTable(const PgQuery__AlterTableStmt& node) {
  const bool index = node.objtype == PG_QUERY__OBJECT_TYPE__OBJECT_INDEX;
  if (node.objtype == PG_QUERY__OBJECT_TYPE__OBJECT_VIEW) return NotSupported(-1, "this action of ALTER VIEW");
  if (!index && node.objtype != PG_QUERY__OBJECT_TYPE__OBJECT_TABLE) {
    return NotSupported(-1, "ALTER of this kind of object");
  }
  UtilityCommand(StatementKind::kAlterTable, index ? "ALTER INDEX" : "ALTER TABLE");
  statement_.depends_on_catalog = true;
  if (index) return NotSupported(-1, "this action of ALTER INDEX");
  SISAL_ASSIGN_OR_RETURN(const AlteredRelation found, FindAltered(*node.relation, node.missing_ok));
  if (found.table == nullptr) return Status();
  if (found.is_index || found.table->view.has_value()) {
    const PgQuery__AlterTableCmd& action = *node.cmds[0]->alter_table_cmd;
    return Error("42809", "ALTER action " + std::string(NameOfAction(action.subtype)) +
                              " cannot be performed on relation \"" + std::string(View(node.relation->relname)) + "\"")
        .WithDetail(std::string("This operation is not supported for ") + (found.is_index ? "indexes." : "views."));
  }
  AlterDraft draft(found.table);
  const NodeList actions(node.cmds, node.n_cmds);
  std::vector<size_t> order;
  for (size_t i = 0; i < actions.size(); ++i) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return PassOf(*actions[a]->alter_table_cmd) < PassOf(*actions[b]->alter_table_cmd);
  });
  for (const size_t i : order) SISAL_RETURN_IF_ERROR(AlterAction(*actions[i]->alter_table_cmd, i, draft));
  return FinishAlter(std::move(draft));
}

Status Binder::BindRename(const PgQuery__RenameStmt& node) {
  const auto kind = node.rename_type;
  const bool index = kind == PG_QUERY__OBJECT_TYPE__OBJECT_INDEX;
  const bool of_view = node.relation_type == PG_QUERY__OBJECT_TYPE__OBJECT_VIEW;
  const bool view = kind == PG_QUERY__OBJECT_TYPE__OBJECT_VIEW;
  const bool relation = index || view || kind == PG_QUERY__OBJECT_TYPE__OBJECT_TABLE;
  const bool column = kind == PG_QUERY__OBJECT_TYPE__OBJECT_COLUMN &&
                      (of_view || node.relation_type == PG_QUERY__OBJECT_TYPE__OBJECT_TABLE);
  const bool constraint = kind == PG_QUERY__OBJECT_TYPE__OBJECT_TABCONSTRAINT;
  if (!relation && !column && !constraint) return NotSupported(-1, "RENAME of this kind of object");
  UtilityCommand(StatementKind::kAlterTable, index                         ? "ALTER INDEX"
                                             : view || (column && of_view) ? "ALTER VIEW"
                                                                           : "ALTER TABLE");
  statement_.depends_on_catalog = true;
  SISAL_ASSIGN_OR_RETURN(const AlteredRelation found, FindAltered(*node.relation, node.missing_ok));
  if (found.table == nullptr) return Status();
  if ((view || (column && of_view)) && (found.is_index || !found.table->view.has_value())) {
    return Error("42809", "\"" + std::string(View(node.relation->relname)) + "\" is not a view");
  }
  AlterDraft draft(found.table);
  const std::string name(View(node.relation->relname)), new_name(View(node.newname));
  if (column && found.is_index) return NotSupported(-1, "RENAME COLUMN of an index");
  if (constraint && found.is_index) {
    return Error("42704",
                 "constraint \"" + std::string(View(node.subname)) + "\" for table \"" + name + "\" does not exist");
  }
  if (column) {
    SISAL_RETURN_IF_ERROR(RenameColumn(node, draft));
  } else if (constraint) {
    SISAL_RETURN_IF_ERROR(RenameConstraint(node, draft));
  } else if (found.is_index) {
    SISAL_RETURN_IF_ERROR(RenameIndex(name, new_name, draft));
  } else if (context_.root->RelationExists(found.table->schema, new_name)) {
    return Error("42P07", "relation \"" + new_name + "\" already exists");
  } else {
    draft.changed.name = new_name;
  }
  return FinishAlter(std::move(draft));
}

Status Binder::RenameColumn(const PgQuery__RenameStmt& node, AlterDraft& draft) {
  const std::string name(View(node.subname)), new_name(View(node.newname));
  if (IsSystemColumn(name)) return Error("0A000", "cannot rename system column \"" + name + "\"");
  const std::optional<uint32_t> column = draft.changed.FindColumn(name);
  if (!column.has_value()) return Error("42703", "column \"" + name + "\" does not exist");
  SISAL_RETURN_IF_ERROR(CheckNewColumnName(draft.changed, new_name));
  draft.changed.columns[*column].name = new_name;
  return RenameInChecks(*column, new_name, draft);
}

Status Binder::RenameConstraint(const PgQuery__RenameStmt& node, AlterDraft& draft) {
  const std::string name(View(node.subname)), new_name(View(node.newname));
  const std::vector<std::string> names = ConstraintNames(draft.changed);
  const auto is_there = [&](const std::string& wanted) {
    return std::find(names.begin(), names.end(), wanted) != names.end();
  };
  if (!is_there(name)) {
    return Error("42704", "constraint \"" + name + "\" for table \"" + draft.table->name + "\" does not exist");
  }
  for (catalog::Check& check : draft.changed.checks) {
    if (check.name != name) continue;
    if (is_there(new_name)) {
      return Error("42710",
                   "constraint \"" + new_name + "\" for relation \"" + draft.table->name + "\" already exists");
    }
    check.name = new_name;
    SortChecks(draft.changed);
    return Status();
  }
  if (draft.changed.FindForeignKey(name) != nullptr) return NotSupported(-1, "RENAME of a FOREIGN KEY");
  return RenameIndex(name, new_name, draft);
}

// The index of a constraint has the constraint's name.
Status Binder::RenameIndex(const std::string& name, const std::string& new_name, AlterDraft& draft) {
  if (context_.root->RelationExists(draft.table->schema, new_name)) {
    return Error("42P07", "relation \"" + new_name + "\" already exists");
  }
  if (!draft.changed.primary_key.empty() && draft.changed.primary_key_name == name) {
    draft.changed.primary_key_name = new_name;
    return Status();
  }
  for (catalog::Index& index : draft.changed.indexes) {
    if (index.name == name) index.name = new_name;
  }
  return Status();
}

}  // namespace sisal::sql
