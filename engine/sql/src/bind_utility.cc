// Transactions, settings, EXPLAIN; and which of all binders a statement goes to.
#include <algorithm>

#include "binder.h"

namespace sisal::sql {

void Binder::SetOutput(const std::vector<OutputColumn>& columns) { statement_.output = columns; }

// Statements without a plan: valid under any catalog, unless the caller says otherwise.
void Binder::UtilityCommand(StatementKind kind, std::string_view command) {
  statement_.kind = kind;
  statement_.command = command;
  statement_.depends_on_catalog = false;
  statement_.read_only = kind != StatementKind::kCreateTable && kind != StatementKind::kDropTable &&
                         kind != StatementKind::kCreateIndex && kind != StatementKind::kDropIndex &&
                         kind != StatementKind::kTruncate && kind != StatementKind::kAlterTable &&
                         kind != StatementKind::kCreateView && kind != StatementKind::kDropView;
}

Status Binder::BindSelectStatement(const PgQuery__SelectStmt& node) {
  statement_.kind = StatementKind::kQuery;
  statement_.command = "SELECT";
  Frame frame;
  QueryOptions options;
  options.frame = &frame;
  SISAL_ASSIGN_OR_RETURN(const BoundQuery query, BindQuery(node, options));
  statement_.plan = query.plan;
  statement_.returns_rows = true;
  SetOutput(query.columns);
  return Status();
}

namespace {

// "transaction_isolation" and its like come as strings or integers.
std::string ConstantText(const Node* node) {
  if (node == nullptr || node->node_case != PG_QUERY__NODE__NODE_A_CONST) return "";
  const PgQuery__AConst& constant = *node->a_const;
  switch (constant.val_case) {
    case PG_QUERY__A__CONST__VAL_IVAL:
      return std::to_string(constant.ival->ival);
    case PG_QUERY__A__CONST__VAL_FVAL:
      return std::string(View(constant.fval->fval));
    case PG_QUERY__A__CONST__VAL_SVAL:
      return std::string(View(constant.sval->sval));
    case PG_QUERY__A__CONST__VAL_BOOLVAL:
      return constant.boolval->boolval ? "true" : "false";
    default:
      return "";
  }
}

bool IsConstant(const Node* node) { return node->node_case == PG_QUERY__NODE__NODE_A_CONST && !node->a_const->isnull; }

}  // namespace

Status Binder::BindTransactionModes(NodeList options) {
  for (const Node* node : options) {
    const PgQuery__DefElem& option = *node->def_elem;
    const std::string_view name = View(option.defname);
    const std::string value = ConstantText(option.arg);
    if (name == "transaction_isolation") {
      statement_.transaction.isolation = value == "serializable"      ? txn::Isolation::kSerializable
                                         : value == "repeatable read" ? txn::Isolation::kSnapshot
                                                                      : txn::Isolation::kReadCommitted;
    } else if (name == "transaction_read_only") {
      statement_.transaction.read_only = value != "0";
    } else if (name == "transaction_deferrable") {
      statement_.transaction.deferrable = value != "0";
    } else {
      return NotSupported(option.location, "the transaction mode \"" + std::string(name) + "\"");
    }
  }
  return Status();
}

Status Binder::BindTransaction(const PgQuery__TransactionStmt& node) {
  statement_.transaction.savepoint = View(node.savepoint_name);
  statement_.transaction.chain = node.chain;
  switch (node.kind) {
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_BEGIN:
      UtilityCommand(StatementKind::kBegin, "BEGIN");
      break;
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_START:
      UtilityCommand(StatementKind::kBegin, "START TRANSACTION");
      break;
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_COMMIT:
      UtilityCommand(StatementKind::kCommit, "COMMIT");
      break;
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_ROLLBACK:
      UtilityCommand(StatementKind::kRollback, "ROLLBACK");
      break;
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_SAVEPOINT:
      UtilityCommand(StatementKind::kSavepoint, "SAVEPOINT");
      break;
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_RELEASE:
      UtilityCommand(StatementKind::kReleaseSavepoint, "RELEASE");
      break;
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_ROLLBACK_TO:
      UtilityCommand(StatementKind::kRollbackToSavepoint, "ROLLBACK");
      break;
    default:
      return NotSupported(-1, "two-phase commit");
  }
  return BindTransactionModes(NodeList(node.options, node.n_options));
}

Status Binder::BindSetSeveral(const PgQuery__VariableSetStmt& node) {
  const std::string_view name = View(node.name);
  const NodeList args(node.args, node.n_args);
  if (name == "TRANSACTION") {
    UtilityCommand(StatementKind::kSetTransaction, "SET");
    return BindTransactionModes(args);
  }
  if (name != "SESSION CHARACTERISTICS" || args.size() != 1) {
    return NotSupported(-1, name == "TRANSACTION SNAPSHOT" ? "SET TRANSACTION SNAPSHOT" : "SET of several values");
  }
  const PgQuery__DefElem& option = *args[0]->def_elem;
  statement_.setting.name = "default_" + std::string(View(option.defname));
  statement_.setting.value = ConstantText(option.arg);
  if (statement_.setting.name != "default_transaction_isolation") {
    statement_.setting.value = statement_.setting.value == "0" ? "off" : "on";
  }
  return Status();
}

Status Binder::BindSet(const PgQuery__VariableSetStmt& node) {
  UtilityCommand(StatementKind::kSet, "SET");
  SettingStatement& setting = statement_.setting;
  setting.name = View(node.name);
  std::transform(setting.name.begin(), setting.name.end(), setting.name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  setting.local = node.is_local;
  switch (node.kind) {
    case PG_QUERY__VARIABLE_SET_KIND__VAR_SET_VALUE:
      for (const Node* arg : NodeList(node.args, node.n_args)) {
        if (!IsConstant(arg)) return NotSupported(LocationOf(arg), "this kind of value in SET");
        setting.value += (arg == node.args[0] ? "" : ", ") + ConstantText(arg);
      }
      return Status();
    case PG_QUERY__VARIABLE_SET_KIND__VAR_SET_DEFAULT:
      setting.is_default = true;
      return Status();
    case PG_QUERY__VARIABLE_SET_KIND__VAR_RESET:
      UtilityCommand(StatementKind::kReset, "RESET");
      return Status();
    case PG_QUERY__VARIABLE_SET_KIND__VAR_RESET_ALL:
      UtilityCommand(StatementKind::kReset, "RESET");
      setting.name = "all";
      return Status();
    case PG_QUERY__VARIABLE_SET_KIND__VAR_SET_MULTI:
      return BindSetSeveral(node);
    default:
      return NotSupported(-1, "SET ... FROM CURRENT");
  }
}

Status Binder::BindShow(const PgQuery__VariableShowStmt& node) {
  UtilityCommand(StatementKind::kShow, "SHOW");
  std::string& name = statement_.setting.name;
  name = View(node.name);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  statement_.returns_rows = true;
  if (name == "all") {
    SetOutput(
        {{"name", TypeId::kText, false}, {"setting", TypeId::kText, false}, {"description", TypeId::kText, false}});
  } else {
    SetOutput({{name == "timezone" ? "TimeZone" : name, TypeId::kText, false}});
  }
  return Status();
}

Status Binder::BindExplain(const PgQuery__ExplainStmt& node) {
  bool analyze = false;
  for (const Node* item : NodeList(node.options, node.n_options)) {
    const PgQuery__DefElem& option = *item->def_elem;
    const std::string_view name = View(option.defname);
    std::string value;
    if (option.arg != nullptr)
      value = IsString(option.arg) ? std::string(StringOf(option.arg)) : ConstantText(option.arg);
    const bool off = value == "off" || value == "false" || value == "0";
    if (name == "analyze") {
      analyze = !off;
    } else if (name == "format" && value != "text") {
      return NotSupported(option.location, "EXPLAIN (FORMAT " + value + ")");
    } else if (!off && name != "format" && name != "costs") {
      return NotSupported(option.location, "the EXPLAIN option \"" + std::string(name) + "\"");
    }
  }
  SISAL_RETURN_IF_ERROR(BindStatement(*node.query));
  if (statement_.plan == nullptr) return NotSupported(-1, "EXPLAIN of this statement");
  statement_.kind = StatementKind::kExplain;
  statement_.command = "EXPLAIN";
  statement_.explain_analyze = analyze;
  statement_.read_only = statement_.read_only || !analyze;
  statement_.returns_rows = true;
  SetOutput({{"QUERY PLAN", TypeId::kText, false}});
  return Status();
}

Status Binder::FinishParameters() {
  for (uint32_t i = 0; i < statement_.params.size(); ++i) {
    if (statement_.params[i].id != TypeId::kUnknown) continue;
    return At(parameter_location_[i], "42P18", "could not determine data type of parameter $" + std::to_string(i + 1));
  }
  for (const Expr* parameter : untyped_parameters_) {
    return Error("42P08", "could not determine data type of parameter $" + std::to_string(parameter->index + 1))
        .WithPosition(parameter->position);
  }
  return Status();
}

Status Binder::BindStatement(const Node& node) {
  switch (node.node_case) {
    case PG_QUERY__NODE__NODE_SELECT_STMT:
      SISAL_RETURN_IF_ERROR(BindSelectStatement(*node.select_stmt));
      break;
    case PG_QUERY__NODE__NODE_INSERT_STMT:
      SISAL_RETURN_IF_ERROR(BindInsert(*node.insert_stmt));
      break;
    case PG_QUERY__NODE__NODE_UPDATE_STMT:
      SISAL_RETURN_IF_ERROR(BindUpdate(*node.update_stmt));
      break;
    case PG_QUERY__NODE__NODE_DELETE_STMT:
      SISAL_RETURN_IF_ERROR(BindDelete(*node.delete_stmt));
      break;
    case PG_QUERY__NODE__NODE_EXPLAIN_STMT:
      return BindExplain(*node.explain_stmt);
    case PG_QUERY__NODE__NODE_CREATE_STMT:
      return BindCreateTable(*node.create_stmt);
    case PG_QUERY__NODE__NODE_INDEX_STMT:
      return BindCreateIndex(*node.index_stmt);
    case PG_QUERY__NODE__NODE_CREATE_SEQ_STMT:
      return BindCreateSequence(*node.create_seq_stmt);
    case PG_QUERY__NODE__NODE_ALTER_SEQ_STMT:
      return BindAlterSequence(*node.alter_seq_stmt);
    case PG_QUERY__NODE__NODE_DROP_STMT:
      return BindDrop(*node.drop_stmt);
    case PG_QUERY__NODE__NODE_VIEW_STMT:
      return BindCreateView(*node.view_stmt);
    case PG_QUERY__NODE__NODE_ALTER_TABLE_STMT:
      return BindAlterTable(*node.alter_table_stmt);
    case PG_QUERY__NODE__NODE_RENAME_STMT:
      return BindRename(*node.rename_stmt);
    case PG_QUERY__NODE__NODE_TRUNCATE_STMT:
      return BindTruncate(*node.truncate_stmt);
    case PG_QUERY__NODE__NODE_TRANSACTION_STMT:
      return BindTransaction(*node.transaction_stmt);
    case PG_QUERY__NODE__NODE_VARIABLE_SET_STMT:
      return BindSet(*node.variable_set_stmt);
    case PG_QUERY__NODE__NODE_VARIABLE_SHOW_STMT:
      return BindShow(*node.variable_show_stmt);
    default:
      return NotSupported(-1, StatementName(node));
  }
  statement_.depends_on_catalog = !statement_.tables.empty() || !statement_.sequences.empty();
  statement_.only_moves_sequences = statement_.read_only && statement_.calls_nextval;
  if (statement_.calls_nextval) statement_.read_only = false;
  return FinishParameters();
}

// What an unsupported statement is called in the message.
std::string_view Binder::StatementName(const Node& node) {
  switch (node.node_case) {
    case PG_QUERY__NODE__NODE_MERGE_STMT:
      return "MERGE";
    case PG_QUERY__NODE__NODE_ALTER_OBJECT_SCHEMA_STMT:
      return "SET SCHEMA";
    case PG_QUERY__NODE__NODE_ALTER_OWNER_STMT:
      return "OWNER TO";
    case PG_QUERY__NODE__NODE_CREATE_TABLE_AS_STMT:
      return "CREATE TABLE AS";
    case PG_QUERY__NODE__NODE_CREATE_SCHEMA_STMT:
      return "CREATE SCHEMA";
    case PG_QUERY__NODE__NODE_CREATE_FUNCTION_STMT:
      return "CREATE FUNCTION";
    case PG_QUERY__NODE__NODE_CREATE_TRIG_STMT:
      return "CREATE TRIGGER";
    case PG_QUERY__NODE__NODE_CREATE_ENUM_STMT:
    case PG_QUERY__NODE__NODE_COMPOSITE_TYPE_STMT:
      return "CREATE TYPE";
    case PG_QUERY__NODE__NODE_CREATE_DOMAIN_STMT:
      return "CREATE DOMAIN";
    case PG_QUERY__NODE__NODE_CREATE_EXTENSION_STMT:
      return "CREATE EXTENSION";
    case PG_QUERY__NODE__NODE_CREATE_ROLE_STMT:
      return "CREATE ROLE";
    case PG_QUERY__NODE__NODE_CREATEDB_STMT:
      return "CREATE DATABASE";
    case PG_QUERY__NODE__NODE_GRANT_STMT:
    case PG_QUERY__NODE__NODE_GRANT_ROLE_STMT:
      return "GRANT or REVOKE";
    case PG_QUERY__NODE__NODE_COPY_STMT:
      return "COPY";
    case PG_QUERY__NODE__NODE_VACUUM_STMT:
      return "VACUUM or ANALYZE";
    case PG_QUERY__NODE__NODE_REINDEX_STMT:
      return "REINDEX";
    case PG_QUERY__NODE__NODE_CLUSTER_STMT:
      return "CLUSTER";
    case PG_QUERY__NODE__NODE_COMMENT_STMT:
      return "COMMENT";
    case PG_QUERY__NODE__NODE_PREPARE_STMT:
      return "PREPARE";
    case PG_QUERY__NODE__NODE_EXECUTE_STMT:
      return "EXECUTE";
    case PG_QUERY__NODE__NODE_DEALLOCATE_STMT:
      return "DEALLOCATE";
    case PG_QUERY__NODE__NODE_DECLARE_CURSOR_STMT:
    case PG_QUERY__NODE__NODE_FETCH_STMT:
    case PG_QUERY__NODE__NODE_CLOSE_PORTAL_STMT:
      return "a cursor";
    case PG_QUERY__NODE__NODE_LISTEN_STMT:
    case PG_QUERY__NODE__NODE_NOTIFY_STMT:
    case PG_QUERY__NODE__NODE_UNLISTEN_STMT:
      return "LISTEN or NOTIFY";
    case PG_QUERY__NODE__NODE_LOCK_STMT:
      return "LOCK TABLE";
    case PG_QUERY__NODE__NODE_DISCARD_STMT:
      return "DISCARD";
    case PG_QUERY__NODE__NODE_DO_STMT:
      return "DO";
    case PG_QUERY__NODE__NODE_CALL_STMT:
      return "CALL";
    case PG_QUERY__NODE__NODE_CHECK_POINT_STMT:
      return "CHECKPOINT";
    case PG_QUERY__NODE__NODE_CONSTRAINTS_SET_STMT:
      return "SET CONSTRAINTS";
    default:
      return "this statement";
  }
}

}  // namespace sisal::sql
