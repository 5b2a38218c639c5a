// ALTER COLUMN ... SET DATA TYPE: all rows are computed anew.
#include <algorithm>

#include "alter_draft.h"
#include "binder.h"
#include "table_draft.h"

namespace sisal::sql {
namespace {

Error CannotCast(const std::string& what, const SqlType& type, std::string hint) {
  Error error("42804", what + " cannot be cast automatically to type " + type.ToString());
  return hint.empty() ? error : std::move(error).WithHint(std::move(hint));
}

bool Contains(const std::vector<uint32_t>& columns, uint32_t column) {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

}  // namespace

// The default keeps its value: it is read as before, and converted then.
Status Binder::ConvertDefault(catalog::Column& column, const SqlType& type) {
  if (column.default_sql.empty()) return Status();
  if (!CanCoerce(column.type.id, type.id, CastContext::kAssignment)) {
    return CannotCast("default for column \"" + column.name + "\"", type, "");
  }
  if (IsNumberType(column.type.id) && IsNumberType(type.id)) return Status();
  column.default_sql = "CAST((" + column.default_sql + "\n) AS " + column.type.ToString() + ")";
  return Status();
}

Status Binder::AlterColumnType(const PgQuery__AlterTableCmd& action, AlterDraft& draft) {
  const std::string name(View(action.name));
  if (IsSystemColumn(name)) return Error("0A000", "cannot alter system column \"" + name + "\"");
  const std::optional<uint32_t> slot = draft.changed.FindColumn(name);
  if (!slot.has_value()) return NoSuchColumn(*draft.table, name);
  const PgQuery__ColumnDef& definition = *action.def->column_def;
  if (definition.coll_clause != nullptr) return NotSupported(definition.coll_clause->location, "COLLATE");
  const bool again = std::any_of(draft.values.begin(), draft.values.end(),
                                 [&](const Assignment& value) { return value.column == *slot; });
  if (again) return Error("0A000", "cannot alter type of column \"" + name + "\" twice");
  // Its sequence would have to follow.
  if (draft.changed.columns[*slot].identity != catalog::Identity::kNone) {
    return NotSupported(-1, "a new type for an identity column");
  }
  SISAL_ASSIGN_OR_RETURN(const SqlType type, ResolveType(*definition.type_name));
  const auto views = catalog::ViewsUsing(*context_.root, draft.table->id, *slot);
  if (!views.empty()) {
    return Error("0A000", "cannot alter type of a column used by a view or rule")
        .WithDetail("rule _RETURN on view " + views[0]->name + " depends on column \"" + name + "\"");
  }
  for (const catalog::ForeignKey& key : draft.changed.foreign_keys) {
    if (Contains(key.columns, *slot)) return NotSupported(-1, "a new type for a column of a FOREIGN KEY");
  }
  if (!draft.table->referrers.empty()) return NotSupported(-1, "a new type for a column of a referenced table");

  // Over the row as it was.
  Scope scope;
  Frame frame;
  scope.frame = &frame;
  scope.clause = Clause::kTransform;
  NamespaceItem item;
  item.schema = draft.table->schema;
  AddTableLeaf(scope, draft.table, draft.table->name, item);
  scope.items.push_back(std::move(item));
  catalog::Column& column = draft.changed.columns[*slot];
  const Expr* value = MakeColumn(*slot, column.type, -1);
  const bool transforms = definition.raw_default != nullptr;
  if (transforms) {
    parameters_allowed_ = false;
    Result<const Expr*> bound = BindExpr(scope, definition.raw_default);
    parameters_allowed_ = true;
    if (!bound.ok()) return std::move(bound).error();
    value = *bound;
  }
  if (!CanCoerce(value->type.id, type.id, CastContext::kAssignment)) {
    if (transforms) {
      return CannotCast("result of USING clause for column \"" + name + "\"", type,
                        "You might need to add an explicit cast.");
    }
    return CannotCast("column \"" + name + "\"", type,
                      "You might need to specify \"USING " + name + "::" + type.ToString() + "\".");
  }
  SISAL_RETURN_IF_ERROR(ConvertDefault(column, type));
  column.type = type;
  SISAL_ASSIGN_OR_RETURN(const Expr* converted,
                         CoerceForColumn(value, column, transforms ? LocationOf(definition.raw_default) : -1));
  draft.values.push_back({*slot, converted});
  draft.rewrites = true;
  // The same text may mean something else for the new type.
  for (const catalog::Check& check : draft.changed.checks) draft.new_checks.push_back(check.name);
  return Status();
}

}  // namespace sisal::sql
