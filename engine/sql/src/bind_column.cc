// Column references: which FROM item of which query level a name means.
#include "binder.h"

namespace sisal::sql {

const Expr* Binder::AddOuter(Frame& frame, const Expr* meaning) {
  uint32_t index = 0;
  while (index < frame.outer_args.size() && !SameExpr(frame.outer_args[index], meaning)) ++index;
  if (index == frame.outer_args.size()) frame.outer_args.push_back(meaning);
  Expr* expr = NewExpr(ExprKind::kOuter, meaning->type, -1);
  expr->index = index;
  return expr;
}

// `expr` is in terms of found_in's columns; each frame between takes it from the one around it.
const Expr* Binder::ThroughFrames(Scope& scope, Scope& found_in, const Expr* expr, int32_t location) {
  expr = WithPosition(expr, location);
  std::vector<Frame*> path;
  for (Frame* frame = scope.frame; frame != found_in.frame; frame = frame->parent) path.push_back(frame);
  for (auto frame = path.rbegin(); frame != path.rend(); ++frame) expr = AddOuter(**frame, expr);
  return expr;
}

Result<const Expr*> Binder::FindColumn(Scope& scope, std::string_view name, int32_t location) {
  for (Scope* at = &scope; at != nullptr; at = at->outer) {
    const Expr* found = nullptr;
    for (const NamespaceItem& item : at->items) {
      if (!item.columns_visible) continue;
      for (const NamedColumn& column : item.columns) {
        if (column.name != name) continue;
        if (found != nullptr) {
          return At(location, "42702", "column reference \"" + std::string(name) + "\" is ambiguous");
        }
        found = column.expr;
        if (!item.lateral_allowed) return NoLateral(item.name, location);
      }
    }
    if (found != nullptr) NoteViewUse(*at, found);
    if (found != nullptr) return WithPosition(ThroughFrames(scope, *at, found, location), location);
  }
  return nullptr;
}

Result<const Expr*> Binder::FindQualifiedColumn(Scope& scope, std::string_view schema, std::string_view relation,
                                                std::string_view name, int32_t location) {
  for (Scope* at = &scope; at != nullptr; at = at->outer) {
    for (const NamespaceItem& item : at->items) {
      if (!item.relation_visible || item.name != relation || (!schema.empty() && item.schema != schema)) continue;
      const Expr* found = nullptr;
      for (const NamedColumn& column : item.columns) {
        if (column.name != name) continue;
        if (found != nullptr) {
          return At(location, "42702", "column reference \"" + std::string(name) + "\" is ambiguous");
        }
        found = column.expr;
      }
      if (found == nullptr) {
        return At(location, "42703", "column " + std::string(relation) + "." + std::string(name) + " does not exist");
      }
      if (!item.lateral_allowed) return NoLateral(item.name, location);
      NoteViewUse(*at, found);
      return WithPosition(ThroughFrames(scope, *at, found, location), location);
    }
  }
  return nullptr;
}

namespace {

bool HasRelation(const Scope* scope, std::string_view relation) {
  if (scope == nullptr) return false;
  for (const NamespaceItem& item : scope->items) {
    if (item.name == relation) return true;
  }
  return false;
}

bool HasColumn(const Scope* scope, std::string_view name) {
  if (scope == nullptr) return false;
  for (const NamespaceItem& item : scope->items) {
    for (const NamedColumn& column : item.columns) {
      if (column.name == name) return true;
    }
  }
  return false;
}

}  // namespace

Error Binder::NoLateral(std::string_view relation, int32_t location) const {
  return At(location, "42P10", "invalid reference to FROM-clause entry for table \"" + std::string(relation) + "\"")
      .WithDetail("The combining JOIN type must be INNER or LEFT for a LATERAL reference.");
}

Error Binder::HiddenRelation(std::string_view relation, int32_t location) const {
  const std::string name = "\"" + std::string(relation) + "\"";
  return At(location, "42P01", "invalid reference to FROM-clause entry for table " + name)
      .WithDetail("There is an entry for table " + name + ", but it cannot be referenced from this part of the query.");
}

const Expr* Binder::NoteUse(const PgQuery__ColumnRef& node, const Expr* column) {
  if (column_uses_ != nullptr) {
    column_uses_->push_back({node.location, static_cast<uint32_t>(node.n_fields), column->index});
  }
  return column;
}

Result<const Expr*> Binder::BindColumnRef(Scope& scope, const PgQuery__ColumnRef& node) {
  const NodeList fields(node.fields, node.n_fields);
  if (IsStar(fields.back())) return At(node.location, "0A000", "row expansion via \"*\" is not supported here");
  const std::string_view name = StringOf(fields.back());
  if (scope.clause == Clause::kDefault) {
    return At(node.location, "0A000", "cannot use column reference in DEFAULT expression");
  }
  if (fields.size() == 1) {
    SISAL_ASSIGN_OR_RETURN(const Expr* found, FindColumn(scope, name, node.location));
    if (found != nullptr) return NoteUse(node, found);
    for (Scope* at = &scope; at != nullptr; at = at->outer) {
      if (at->clause == Clause::kFunctionInFrom && HasColumn(at->lateral, name)) {
        return NotSupported(node.location, "LATERAL");
      }
      if (HasRelation(at, name)) return NotSupported(node.location, "a row of a table as a value");
    }
    for (const std::string_view system : {"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"}) {
      if (name == system && !scope.leaves.empty()) return NotSupported(node.location, "a system column");
    }
    return At(node.location, "42703", "column \"" + std::string(name) + "\" does not exist");
  }
  if (fields.size() > 3) {
    std::string dotted;
    for (const Node* field : fields) dotted += (dotted.empty() ? "" : ".") + std::string(StringOf(field));
    return At(node.location, "42601", "improper qualified name (too many dotted names): " + dotted);
  }
  const std::string_view relation = StringOf(fields[fields.size() - 2]);
  const std::string_view schema = fields.size() == 3 ? StringOf(fields[0]) : std::string_view();
  SISAL_ASSIGN_OR_RETURN(const Expr* found, FindQualifiedColumn(scope, schema, relation, name, node.location));
  if (found != nullptr) return NoteUse(node, found);
  for (Scope* at = &scope; at != nullptr; at = at->outer) {
    const bool lateral = HasRelation(at->lateral, relation);
    if (lateral && at->clause == Clause::kFunctionInFrom) return NotSupported(node.location, "LATERAL");
    if (lateral) return HiddenRelation(relation, node.location);
    for (const Leaf& leaf : at->leaves) {
      const bool hidden = leaf.alias == relation;
      if (!hidden && (leaf.table == nullptr || leaf.table->name != relation)) continue;
      if (hidden) return HiddenRelation(relation, node.location);
      return At(node.location, "42P01",
                "invalid reference to FROM-clause entry for table \"" + std::string(relation) + "\"")
          .WithHint("Perhaps you meant to reference the table alias \"" + leaf.alias + "\".");
    }
  }
  return At(node.location, "42P01", "missing FROM-clause entry for table \"" + std::string(relation) + "\"");
}

Result<std::vector<Target>> Binder::ExpandStar(Scope& scope, const PgQuery__ColumnRef& node) {
  const NodeList fields(node.fields, node.n_fields);
  std::vector<Target> targets;
  const auto add = [&](const NamedColumn& column) {
    Target target;
    NoteViewUse(scope, column.expr);
    target.expr = WithPosition(column.expr, node.location);
    target.name = column.name;
    target.location = node.location;
    targets.push_back(std::move(target));
  };
  if (fields.size() == 1) {
    bool any = false;
    for (const NamespaceItem& item : scope.items) {
      if (!item.columns_visible) continue;
      any = true;
      for (const NamedColumn& column : item.columns) add(column);
    }
    if (!any) return At(node.location, "42601", "SELECT * with no tables specified is not valid");
    return targets;
  }
  const std::string_view relation = StringOf(fields[fields.size() - 2]);
  const std::string_view schema = fields.size() == 3 ? StringOf(fields[0]) : std::string_view();
  for (Scope* at = &scope; at != nullptr; at = at->outer) {
    for (const NamespaceItem& item : at->items) {
      if (!item.relation_visible || item.name != relation || (!schema.empty() && item.schema != schema)) continue;
      for (const NamedColumn& column : item.columns) {
        NoteViewUse(*at, column.expr);
        add({column.name, ThroughFrames(scope, *at, column.expr, node.location)});
      }
      return targets;
    }
  }
  return At(node.location, "42P01", "missing FROM-clause entry for table \"" + std::string(relation) + "\"");
}

}  // namespace sisal::sql
