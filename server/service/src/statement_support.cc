#include "statement_support.h"

#include <algorithm>

#include "sisal/v1/request.pb.h"
#include "sisal/v1/result.pb.h"

namespace sisal::service {

using Kind = sql::StatementKind;

Result<db::PreparedPtr> PrepareStatement(const v1::Statement& statement, db::Session& session,
                                         const CallContext& context) {
  db::CallOptions options;
  options.cancel = context.cancel.get();
  options.deadline = context.deadline;
  switch (statement.body_case()) {
    case v1::Statement::kSql:
      if (statement.sql().find('\0') != std::string::npos) {
        return Error{"22021", "invalid byte sequence for encoding \"UTF8\": 0x00"};
      }
      return session.Prepare(statement.sql(), options);
    case v1::Statement::kStatementId:
      if (statement.statement_id().size() != db::StatementId().size()) {
        return Error{"08P01", "a statement_id has 16 bytes"};
      }
      return session.PrepareById(RequestedId(statement), options);
    case v1::Statement::BODY_NOT_SET:
      break;
  }
  return Error{"08P01", "the Statement has neither sql nor statement_id"};
}

db::StatementId RequestedId(const v1::Statement& statement) {
  if (statement.body_case() == v1::Statement::kSql) return db::StatementIdOf(statement.sql());
  db::StatementId id{};
  const std::string& bytes = statement.statement_id();
  std::copy_n(bytes.begin(), std::min(bytes.size(), id.size()), id.begin());
  return id;
}

Status RunControl(const std::string& sql, db::Session& session) {
  const db::CallOptions options;
  SISAL_ASSIGN_OR_RETURN(const db::PreparedPtr prepared, session.Prepare(sql, options));
  SISAL_ASSIGN_OR_RETURN(const std::unique_ptr<db::ResultSet> result, session.Execute(prepared, {}, options));
  type::Chunk chunk;
  return result->Next(chunk);
}

bool IsTransactionControl(Kind kind) {
  return kind == Kind::kBegin || kind == Kind::kCommit || kind == Kind::kRollback || kind == Kind::kSavepoint ||
         kind == Kind::kReleaseSavepoint || kind == Kind::kRollbackToSavepoint || kind == Kind::kSetTransaction;
}

Status CheckNoSessionSetting(const sql::Statement& statement) {
  if ((statement.kind != Kind::kSet || statement.setting.local) && statement.kind != Kind::kReset) return Status();
  return Error{"0A000", statement.command + " of a session setting is not supported outside a Session stream"}.WithHint(
      "Use CallOptions.settings, or SET LOCAL in a transaction.");
}

}  // namespace sisal::service
