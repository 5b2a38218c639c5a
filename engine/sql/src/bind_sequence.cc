// Sequences: CREATE, ALTER and DROP SEQUENCE, serial and identity columns, nextval() and its like.
#include <algorithm>
#include <charconv>

#include "binder.h"
#include "sisal/catalog/relation_name.h"
#include "table_draft.h"

namespace sisal::sql {
namespace {

Result<int64_t> NumberOf(const PgQuery__DefElem& option) {
  if (option.arg->node_case == PG_QUERY__NODE__NODE_INTEGER) return option.arg->integer->ival;
  const std::string_view text = View(option.arg->float_->fval);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range) {
    return Error("22003", "value \"" + std::string(text) + "\" is out of range for type bigint");
  }
  if (error != std::errc() || end != text.data() + text.size()) {
    return Error("22P02", "invalid input syntax for type bigint: \"" + std::string(text) + "\"");
  }
  return number;
}

// smallserial, serial, bigserial and their other names; kUnknown: none of them.
TypeId SerialTypeOf(const PgQuery__TypeName& name) {
  if (name.n_names != 1) return TypeId::kUnknown;
  const std::string_view text = StringOf(name.names[0]);
  if (text == "serial" || text == "serial4") return TypeId::kInteger;
  if (text == "bigserial" || text == "serial8") return TypeId::kBigint;
  if (text == "smallserial" || text == "serial2") return TypeId::kSmallint;
  return TypeId::kUnknown;
}

Error Conflicting(std::string_view what, const std::string& column, const std::string& table) {
  return Error("42601", std::string(what) + " for column \"" + column + "\" of table \"" + table + "\"");
}

bool IsRegclass(const PgQuery__TypeName& name) {
  const NodeList names(name.names, name.n_names);
  return LastName(names) == "regclass" && name.n_array_bounds == 0 &&
         (names.size() == 1 || (names.size() == 2 && StringOf(names[0]) == "pg_catalog"));
}

}  // namespace

Status Binder::BindSequenceOwner(const PgQuery__DefElem& option, SequenceStatement::Owner& owner) {
  const NodeList names(option.arg->list->items, option.arg->list->n_items);
  if (names.size() == 1) {
    if (StringOf(names[0]) == "none") return Status();
    return Error("42601", "invalid OWNED BY option").WithHint("Specify OWNED BY table.column or OWNED BY NONE.");
  }
  const std::string column(StringOf(names.back())), table(StringOf(names[names.size() - 2]));
  const std::string schema(names.size() > 2 ? StringOf(names[names.size() - 3]) : std::string_view());
  if (names.size() > 3) return NotSupported(-1, "OWNED BY a table of another database");
  const std::span<const std::string> path = schema.empty() ? context_.search_path : std::span(&schema, 1);
  bool other = false;
  for (const std::string& in : path) {
    owner.table = context_.root->FindTable(in, table);
    if (owner.table != nullptr) break;
    other = other || context_.root->RelationExists(in, table);
  }
  if (other) {
    return Error("42809", "sequence cannot be owned by relation \"" + table + "\"")
        .WithDetail("This operation is not supported for sequences.");
  }
  if (owner.table == nullptr) {
    return Error("42P01", "relation \"" + (schema.empty() ? "" : schema + ".") + table + "\" does not exist");
  }
  if (owner.table->view.has_value()) return NotSupported(-1, "a sequence owned by a view");
  const std::optional<uint32_t> found = owner.table->FindColumn(column);
  if (!found.has_value()) {
    return Error("42703", "column \"" + column + "\" of relation \"" + table + "\" does not exist");
  }
  owner.column = *found;
  return Status();
}

Status Binder::BindSequenceOptions(NodeList nodes, bool for_identity, SequenceStatement& statement) {
  catalog::SequenceOptions& options = statement.options;
  std::vector<std::string_view> seen;
  if (for_identity) seen.push_back("as");  // the column's type
  for (const Node* node : nodes) {
    const PgQuery__DefElem& option = *node->def_elem;
    const std::string_view name = View(option.defname);
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      return At(option.location, "42601", "conflicting or redundant options");
    }
    seen.push_back(name);
    const auto bound = [&](std::optional<catalog::SequenceOptions::Bound>& to) -> Status {
      to.emplace();
      if (option.arg == nullptr) return Status();
      SISAL_ASSIGN_OR_RETURN(to->value, NumberOf(option));
      return Status();
    };
    if (name == "as") {
      SISAL_ASSIGN_OR_RETURN(const SqlType type, ResolveType(*option.arg->type_name));
      options.type = type.id;
      if (!type::IsIntegerType(type.id)) return Error("22023", "sequence type must be smallint, integer, or bigint");
    } else if (name == "increment") {
      SISAL_ASSIGN_OR_RETURN(options.increment, NumberOf(option));
    } else if (name == "start") {
      SISAL_ASSIGN_OR_RETURN(options.start, NumberOf(option));
    } else if (name == "cache") {
      SISAL_ASSIGN_OR_RETURN(options.cache, NumberOf(option));
    } else if (name == "minvalue") {
      SISAL_RETURN_IF_ERROR(bound(options.min));
    } else if (name == "maxvalue") {
      SISAL_RETURN_IF_ERROR(bound(options.max));
    } else if (name == "restart") {
      SISAL_RETURN_IF_ERROR(bound(options.restart));
    } else if (name == "cycle") {
      options.cycle = option.arg->boolean->boolval;
    } else if (name == "owned_by") {
      SISAL_RETURN_IF_ERROR(BindSequenceOwner(option, statement.owner.emplace()));
    } else if (name == "sequence_name" && for_identity) {
      const NodeList parts(option.arg->list->items, option.arg->list->n_items);
      if (parts.size() > 1) return NotSupported(option.location, "SEQUENCE NAME with a schema");
      statement.name = LastName(parts);
    } else if (name == "sequence_name") {
      return At(option.location, "42601", "invalid sequence option SEQUENCE NAME");
    } else {
      return NotSupported(option.location, "the sequence option " + std::string(name));
    }
  }
  return Status();
}

Status Binder::BindCreateSequence(const PgQuery__CreateSeqStmt& node) {
  UtilityCommand(StatementKind::kCreateSequence, "CREATE SEQUENCE");
  statement_.read_only = false;
  statement_.depends_on_catalog = true;
  SequenceStatement& create = statement_.sequence;
  if (View(node.sequence->relpersistence) != "p") return NotSupported(-1, "a temporary or unlogged sequence");
  Result<std::string> schema = TargetSchema(*node.sequence);
  if (!schema.ok()) return std::move(schema).error().WithPosition(0);
  create.schema = *std::move(schema);
  create.name = View(node.sequence->relname);
  create.if_exists_or_not = node.if_not_exists;
  // A sequence that is there is left as it is, whatever the options say.
  if (node.if_not_exists && context_.root->RelationExists(create.schema, create.name)) return Status();
  return BindSequenceOptions(NodeList(node.options, node.n_options), false, create);
}

catalog::SequencePtr Binder::FindSequence(std::string_view schema, std::string_view name) const {
  if (!schema.empty()) return context_.root->FindSequence(schema, name);
  for (const std::string& path : context_.search_path) {
    if (catalog::SequencePtr sequence = context_.root->FindSequence(path, name)) return sequence;
  }
  return nullptr;
}

void Binder::UseSequence(const catalog::SequencePtr& sequence) {
  auto& sequences = statement_.sequences;
  if (std::find(sequences.begin(), sequences.end(), sequence) == sequences.end()) sequences.push_back(sequence);
}

Status Binder::BindAlterSequence(const PgQuery__AlterSeqStmt& node) {
  UtilityCommand(StatementKind::kAlterSequence, "ALTER SEQUENCE");
  statement_.read_only = false;
  statement_.depends_on_catalog = true;
  SequenceStatement& alter = statement_.sequence;
  const std::string_view schema = View(node.sequence->schemaname);
  alter.schema = schema;
  alter.name = View(node.sequence->relname);
  alter.if_exists_or_not = node.missing_ok;
  alter.altered = FindSequence(schema, alter.name);
  if (alter.altered == nullptr) {
    const std::string& named = alter.schema;
    const std::span<const std::string> path = named.empty() ? context_.search_path : std::span(&named, 1);
    for (const std::string& in : path) {
      if (context_.root->RelationExists(in, alter.name)) {
        return Error("42809", "\"" + alter.name + "\" is not a sequence");
      }
    }
    if (node.missing_ok) return Status();
    return Error("42P01",
                 "relation \"" + (schema.empty() ? "" : alter.schema + ".") + alter.name + "\" does not exist");
  }
  return BindSequenceOptions(NodeList(node.options, node.n_options), false, alter);
}

Status Binder::BindDropSequence(const PgQuery__DropStmt& node) {
  UtilityCommand(StatementKind::kDropSequence, "DROP SEQUENCE");
  statement_.read_only = false;
  statement_.depends_on_catalog = true;
  statement_.drop.cascade = node.behavior == PG_QUERY__DROP_BEHAVIOR__DROP_CASCADE;
  for (const Node* object : NodeList(node.objects, node.n_objects)) {
    const QualifiedName name = NameOf(object);
    const catalog::SequencePtr sequence = FindSequence(name.schema, name.name);
    if (sequence != nullptr) {
      auto& sequences = statement_.drop.sequences;
      if (std::find(sequences.begin(), sequences.end(), sequence) == sequences.end()) sequences.push_back(sequence);
      continue;
    }
    const std::span<const std::string> path = name.schema.empty() ? context_.search_path : std::span(&name.schema, 1);
    for (const std::string& schema : path) {
      if (!context_.root->RelationExists(schema, name.name)) continue;
      const catalog::TablePtr table = context_.root->FindTable(schema, name.name);
      const bool view = table != nullptr && table->view.has_value();
      return Error("42809", "\"" + name.name + "\" is not a sequence")
          .WithHint(view               ? "Use DROP VIEW to remove a view."
                    : table != nullptr ? "Use DROP TABLE to remove a table."
                                       : "Use DROP INDEX to remove an index.");
    }
    if (!node.missing_ok) return Error("42P01", "sequence \"" + name.text + "\" does not exist");
    statement_.drop.missing.push_back(name.text);
  }
  return Status();
}

// --- Columns --------------------------------------------------------------------------------------------------------

Result<bool> Binder::BindSerialType(const PgQuery__TypeName& name, catalog::Column& column) {
  const TypeId type = SerialTypeOf(name);
  if (type == TypeId::kUnknown) return false;
  if (name.n_array_bounds > 0) return At(name.location, "0A000", "array of serial is not implemented");
  column.type = type;
  return true;
}

// Behind the column's constraints.
Status Binder::FinishSerial(TableDraft& draft) {
  catalog::Column& column = draft.columns.back();
  if (draft.null_allowed.back() == true)
    return Conflicting("conflicting NULL/NOT NULL declarations", column.name, draft.name);
  if (!column.default_sql.empty()) return Conflicting("multiple default values specified", column.name, draft.name);
  if (column.identity != catalog::Identity::kNone) {
    return Conflicting("both default and identity specified", column.name, draft.name);
  }
  draft.null_allowed.back() = false;
  column.not_null = true;
  SISAL_ASSIGN_OR_RETURN(const std::string name, AddOwnedSequence({}, draft));
  std::string quoted = catalog::QuotedName(name), literal;
  for (const char c : quoted) literal.append(c == '\'' ? 2 : 1, c);
  column.default_sql = "nextval('" + literal + "'::regclass)";
  return Status();
}

Status Binder::BindIdentity(const PgQuery__Constraint& node, TableDraft& draft) {
  catalog::Column& column = draft.columns.back();
  if (column.identity != catalog::Identity::kNone) {
    return Error(Conflicting("multiple identity specifications", column.name, draft.name))
        .WithPosition(Position(node.location));
  }
  SequenceStatement options;
  SISAL_RETURN_IF_ERROR(BindSequenceOptions(NodeList(node.options, node.n_options), true, options));
  column.identity = View(node.generated_when) == "a" ? catalog::Identity::kAlways : catalog::Identity::kByDefault;
  if (draft.null_allowed.back() == true) {
    return Error(Conflicting("conflicting NULL/NOT NULL declarations", column.name, draft.name))
        .WithPosition(Position(node.location));
  }
  draft.null_allowed.back() = false;
  column.not_null = true;
  if (!column.default_sql.empty()) {
    return Error(Conflicting("both default and identity specified", column.name, draft.name))
        .WithPosition(Position(node.location));
  }
  if (!type::IsIntegerType(column.type.id)) {
    return Error("22023", "identity column type must be smallint, integer, or bigint");
  }
  return AddOwnedSequence(options, draft).status();
}

// A sequence that goes with the draft's last column.
Result<std::string> Binder::AddOwnedSequence(const SequenceStatement& options, TableDraft& draft) {
  OwnedSequence owned;
  owned.column = static_cast<uint32_t>(draft.columns.size() - 1);
  const catalog::Column& column = draft.columns.back();
  owned.sequence.schema = draft.schema;
  owned.sequence.name = options.name;
  if (options.name.empty()) {
    std::vector<std::string> taken;
    for (const OwnedSequence& other : draft.sequences) taken.push_back(other.sequence.name);
    owned.sequence.name = ChooseName(draft.schema, draft.name, column.name, "seq", taken);
  }
  catalog::SequenceOptions typed = options.options;
  typed.type = column.type.id;
  SISAL_RETURN_IF_ERROR(catalog::ApplySequenceOptions(typed, true, owned.sequence));
  draft.sequences.push_back(owned);
  return owned.sequence.name;
}

Result<const Expr*> Binder::NextIdentity(const catalog::Table& table, uint32_t column) {
  const catalog::Column& definition = table.columns[column];
  const catalog::SequencePtr sequence =
      definition.sequences.empty() ? nullptr : context_.root->FindSequence(definition.sequences[0]);
  if (sequence == nullptr) {
    return Error("XX001", "identity column \"" + definition.name + "\" has no sequence");
  }
  UseSequence(sequence);
  SISAL_ASSIGN_OR_RETURN(const Expr* value, CallSequenceFunction("nextval", {MakeSequenceId(*sequence, -1)}, -1));
  return CoerceForColumn(value, definition, -1);
}

Result<bool> Binder::TakesInsertedValue(const catalog::Column& column) const {
  if (column.identity == catalog::Identity::kNone) return true;
  if (overriding_ == PG_QUERY__OVERRIDING_KIND__OVERRIDING_USER_VALUE) return false;
  if (column.identity == catalog::Identity::kByDefault) return true;
  if (overriding_ == PG_QUERY__OVERRIDING_KIND__OVERRIDING_SYSTEM_VALUE) return true;
  return Error("428C9", "cannot insert a non-DEFAULT value into column \"" + column.name + "\"")
      .WithDetail("Column \"" + column.name + "\" is an identity column defined as GENERATED ALWAYS.")
      .WithHint("Use OVERRIDING SYSTEM VALUE to override.");
}

Status Binder::CheckIdentityUpdate(const catalog::Column& column) const {
  if (column.identity != catalog::Identity::kAlways) return Status();
  return Error("428C9", "column \"" + column.name + "\" can only be updated to DEFAULT")
      .WithDetail("Column \"" + column.name + "\" is an identity column defined as GENERATED ALWAYS.");
}

// --- Functions ------------------------------------------------------------------------------------------------------

bool Binder::IsSequenceFunction(std::string_view name, size_t argument_count) {
  if (name == "nextval" || name == "currval") return argument_count == 1;
  return name == "setval" && (argument_count == 2 || argument_count == 3);
}

const Expr* Binder::MakeSequenceId(const catalog::Sequence& sequence, int32_t location) {
  return MakeConstant(TypeId::kBigint, type::Datum::Int(sequence.id.value), location);
}

// The overload for the type of the first argument: an id, or a name that is looked up when the call runs.
Result<const Expr*> Binder::CallSequenceFunction(std::string_view name, std::vector<const Expr*> args,
                                                 int32_t location) {
  statement_.calls_nextval = statement_.calls_nextval || name != "currval";
  for (const function::Function* entry : function::FindFunctions(name)) {
    if (entry->arguments.size() != args.size() || entry->arguments[0] != args[0]->type.id) continue;
    for (size_t i = 1; i < args.size(); ++i) {
      SISAL_ASSIGN_OR_RETURN(args[i], CoerceType(args[i], entry->arguments[i], CastContext::kImplicit, -1));
    }
    return MakeCall(entry, std::move(args), location);
  }
  return Error("XX000", "no entry of function " + std::string(name));
}

// A literal name is looked up now, as a constant of type regclass.
Result<const Expr*> Binder::BindSequenceName(Scope& scope, const Node* node) {
  while (node->node_case == PG_QUERY__NODE__NODE_TYPE_CAST && IsRegclass(*node->type_cast->type_name)) {
    node = node->type_cast->arg;
  }
  SISAL_ASSIGN_OR_RETURN(const Expr* name, BindExpr(scope, node));
  if (name->kind != ExprKind::kConstant || name->type.id != TypeId::kUnknown) {
    const TypeId id = name->type.id;
    if (type::IsIntegerType(id)) return NotSupported(LocationOf(node), "a sequence given by its object identifier");
    if (id != TypeId::kUnknown && !CanCoerce(id, TypeId::kText, CastContext::kImplicit)) return name;
    return CoerceType(name, TypeId::kText, CastContext::kImplicit, -1);
  }
  if (name->constant.is_null()) return MakeConstant(TypeId::kBigint, type::Datum(), LocationOf(node));
  Result<catalog::SequencePtr> sequence =
      catalog::FindSequenceNamed(*context_.root, context_.search_path, name->constant.as_bytes());
  if (!sequence.ok()) {
    Error error = std::move(sequence).error();
    if (error.sqlstate() != "42809") error.set_position(name->position);
    return error;
  }
  if (recorded_sources_ != nullptr) return NotSupported(LocationOf(node), "a sequence in a view");
  UseSequence(*sequence);
  return MakeSequenceId(**sequence, LocationOf(node));
}

Result<const Expr*> Binder::BindSequenceCall(Scope& scope, std::string_view name, NodeList arg_nodes, int32_t location,
                                             std::string_view schema) {
  SISAL_ASSIGN_OR_RETURN(const Expr* sequence, BindSequenceName(scope, arg_nodes[0]));
  SISAL_ASSIGN_OR_RETURN(std::vector<const Expr*> args, BindList(scope, arg_nodes.subspan(1)));
  args.insert(args.begin(), sequence);
  bool fits = sequence->type.id == TypeId::kBigint || sequence->type.id == TypeId::kText;
  for (size_t i = 1; i < args.size(); ++i) {
    fits = fits && CanCoerce(args[i]->type.id, i == 1 ? TypeId::kBigint : TypeId::kBoolean, CastContext::kImplicit);
  }
  if (fits) return CallSequenceFunction(name, std::move(args), location);
  TypeIds types;
  for (const Expr* arg : args) types.push_back(arg->type.id);
  if (sequence->kind == ExprKind::kConstant) types[0] = TypeId::kUnknown;  // as it was written
  return At(location, "42883",
            "function " + std::string(schema) + std::string(name) + "(" + TypeList(types) + ") does not exist")
      .WithHint("No function matches the given name and argument types. You might need to add explicit type casts.");
}

// --- FROM -----------------------------------------------------------------------------------------------------------

Result<std::unique_ptr<FromTree>> Binder::BindSequenceItem(Scope& scope, const catalog::SequencePtr& sequence,
                                                           const PgQuery__RangeVar& node,
                                                           std::vector<NamespaceItem>& items) {
  if (recorded_sources_ != nullptr) return NotSupported(node.location, "a view of a sequence");
  UseSequence(sequence);
  Plan* plan = NewPlan(PlanKind::kSystemView);
  plan->system_view = sequence->name;
  plan->sequence = sequence->id;
  const std::vector<OutputColumn> columns = {
      {"last_value", TypeId::kBigint, true}, {"log_cnt", TypeId::kBigint, true}, {"is_called", TypeId::kBoolean, true}};
  NamespaceItem item;
  item.name = sequence->name;
  item.schema = sequence->schema;
  for (const OutputColumn& column : columns) {
    plan->output.push_back(column.type);
    item.columns.push_back({column.name, nullptr});
  }
  SISAL_RETURN_IF_ERROR(ApplyAlias(node.alias, item));
  Leaf leaf;
  leaf.kind = LeafKind::kSystemView;
  leaf.alias = item.name;
  leaf.plan = plan;
  return AddLeaf(scope, std::move(leaf), std::move(item), columns, items);
}

// --- Dependencies ---------------------------------------------------------------------------------------------------

// Ids of the sequences that a stored DEFAULT names. One that cannot be bound any more names none.
std::vector<ObjectId> Binder::SequencesOfDefault(const catalog::Column& column) {
  statement_.sequences.clear();
  if (!BindDefaultText(column.default_sql, column).ok()) return {};
  std::vector<ObjectId> ids;
  for (const catalog::SequencePtr& sequence : statement_.sequences) ids.push_back(sequence->id);
  return ids;
}

}  // namespace sisal::sql
