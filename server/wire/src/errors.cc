#include "sisal/wire/errors.h"

#include <algorithm>
#include <array>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "sisal/base/bytes.h"
#include "sisal/v1/sql_error.pb.h"

namespace sisal::wire {
namespace {

constexpr size_t kMessageBytesMax = 1024;
constexpr size_t kFieldBytesMax = 512;  // detail and hint
constexpr size_t kNameBytesMax = 128;   // schema, table, column, constraint: PostgreSQL's names have 63 at most
constexpr size_t kDetailsBytesMax = 4096;

struct Condition {
  std::string_view sqlstate, name;
};
// Sorted. The codes that the engine and the server give.
constexpr Condition kConditions[] = {
    {"08006", "CONNECTION_FAILURE"},
    {"08007", "TRANSACTION_RESOLUTION_UNKNOWN"},
    {"08P01", "PROTOCOL_VIOLATION"},
    {"0A000", "FEATURE_NOT_SUPPORTED"},
    {"21000", "CARDINALITY_VIOLATION"},
    {"22001", "STRING_DATA_RIGHT_TRUNCATION"},
    {"22003", "NUMERIC_VALUE_OUT_OF_RANGE"},
    {"22007", "INVALID_DATETIME_FORMAT"},
    {"22008", "DATETIME_FIELD_OVERFLOW"},
    {"2200H", "SEQUENCE_GENERATOR_LIMIT_EXCEEDED"},
    {"22012", "DIVISION_BY_ZERO"},
    {"22021", "CHARACTER_NOT_IN_REPERTOIRE"},
    {"22023", "INVALID_PARAMETER_VALUE"},
    {"22P02", "INVALID_TEXT_REPRESENTATION"},
    {"22P03", "INVALID_BINARY_REPRESENTATION"},
    {"23502", "NOT_NULL_VIOLATION"},
    {"23503", "FOREIGN_KEY_VIOLATION"},
    {"23505", "UNIQUE_VIOLATION"},
    {"23514", "CHECK_VIOLATION"},
    {"25001", "ACTIVE_SQL_TRANSACTION"},
    {"25006", "READ_ONLY_SQL_TRANSACTION"},
    {"25P01", "NO_ACTIVE_SQL_TRANSACTION"},
    {"25P02", "IN_FAILED_SQL_TRANSACTION"},
    {"25P03", "IDLE_IN_TRANSACTION_SESSION_TIMEOUT"},
    {"25P04", "TRANSACTION_TIMEOUT"},
    {"26000", "STATEMENT_UNKNOWN"},
    {"28000", "INVALID_AUTHORIZATION_SPECIFICATION"},
    {"3B001", "INVALID_SAVEPOINT_SPECIFICATION"},
    {"40001", "SERIALIZATION_FAILURE"},
    {"40P01", "DEADLOCK_DETECTED"},
    {"42501", "INSUFFICIENT_PRIVILEGE"},
    {"42601", "SYNTAX_ERROR"},
    {"42701", "DUPLICATE_COLUMN"},
    {"42702", "AMBIGUOUS_COLUMN"},
    {"42703", "UNDEFINED_COLUMN"},
    {"42704", "UNDEFINED_OBJECT"},
    {"42710", "DUPLICATE_OBJECT"},
    {"42712", "DUPLICATE_ALIAS"},
    {"42725", "AMBIGUOUS_FUNCTION"},
    {"42803", "GROUPING_ERROR"},
    {"42804", "DATATYPE_MISMATCH"},
    {"42846", "CANNOT_COERCE"},
    {"42883", "UNDEFINED_FUNCTION"},
    {"42P01", "UNDEFINED_TABLE"},
    {"42P02", "UNDEFINED_PARAMETER"},
    {"42P07", "DUPLICATE_TABLE"},
    {"42P10", "INVALID_COLUMN_REFERENCE"},
    {"42P16", "INVALID_TABLE_DEFINITION"},
    {"42P18", "INDETERMINATE_DATATYPE"},
    {"53000", "INSUFFICIENT_RESOURCES"},
    {"53100", "DISK_FULL"},
    {"53200", "OUT_OF_MEMORY"},
    {"53300", "TOO_MANY_CONNECTIONS"},
    {"53400", "CONFIGURATION_LIMIT_EXCEEDED"},
    {"54000", "PROGRAM_LIMIT_EXCEEDED"},
    {"54001", "STATEMENT_TOO_COMPLEX"},
    {"54011", "TOO_MANY_COLUMNS"},
    {"55000", "OBJECT_NOT_IN_PREREQUISITE_STATE"},
    {"55006", "OBJECT_IN_USE"},
    {"55P03", "LOCK_NOT_AVAILABLE"},
    {"57014", "QUERY_CANCELED"},
    {"57P01", "ADMIN_SHUTDOWN"},
    {"57P03", "CANNOT_CONNECT_NOW"},
    {"58030", "IO_ERROR"},
    {"P0002", "NO_DATA_FOUND"},
    {"P0003", "TOO_MANY_ROWS"},
    {"XX000", "INTERNAL_ERROR"},
    {"XX001", "DATA_CORRUPTED"},
};

// The exact codes come before their classes.
Code CodeOfClass(std::string_view sqlstate) {
  const std::string_view sql_class = sqlstate.substr(0, 2);
  if (sql_class == "22" || sql_class == "42" || sql_class == "21" || sql_class == "08") return Code::kInvalidArgument;
  if (sql_class == "0A") return Code::kUnimplemented;
  if (sql_class == "28") return Code::kUnauthenticated;
  if (sql_class == "40") return Code::kAborted;
  if (sql_class == "53" || sql_class == "54") return Code::kResourceExhausted;
  if (sql_class == "57") return Code::kUnavailable;
  if (sql_class == "23" || sql_class == "25" || sql_class == "26" || sql_class == "55" || sql_class == "3B" ||
      sql_class == "P0" || sql_class == "24" || sql_class == "2B") {
    return Code::kFailedPrecondition;
  }
  return Code::kInternal;  // 58, XX and whatever has no business here
}

void FillSqlError(const CallError& call, v1::SqlError& out) {
  const Error& error = call.error;
  out.set_sqlstate(std::string(error.sqlstate()));
  out.set_position(error.position());
  out.set_schema(FieldText(error.schema(), kNameBytesMax));
  out.set_table(FieldText(error.table(), kNameBytesMax));
  out.set_column(FieldText(error.column(), kNameBytesMax));
  out.set_constraint(FieldText(error.constraint(), kNameBytesMax));
  out.set_detail(FieldText(error.detail(), kFieldBytesMax));
  out.set_hint(FieldText(error.hint(), kFieldBytesMax));
  if (call.step.has_value()) out.set_step(*call.step);
  out.set_transaction_usable(call.transaction_usable);
  out.set_outcome_unknown(error.sqlstate() == "08007");
}

template <typename Message>
void AddDetail(const Message& message, google::rpc::Status& status) {
  status.add_details()->PackFrom(message);
}

}  // namespace

Code CodeOf(std::string_view sqlstate, bool deadline_passed) {
  if (sqlstate == "00000") return Code::kOk;
  if (sqlstate == "25P03" || sqlstate == "25P04" || sqlstate == "55P03") return Code::kAborted;
  if (sqlstate == "23505") return Code::kAlreadyExists;
  if (sqlstate == "22003") return Code::kOutOfRange;
  if (sqlstate == "42P01" || sqlstate == "42703") return Code::kNotFound;
  if (sqlstate == "42501") return Code::kPermissionDenied;
  if (sqlstate == "57014") return deadline_passed ? Code::kDeadlineExceeded : Code::kCancelled;
  if (sqlstate == "08007") return Code::kUnknown;
  if (sqlstate == "02000") return Code::kNotFound;  // GetTransaction: nothing is known
  if (sqlstate == "XX001") return Code::kDataLoss;
  return CodeOfClass(sqlstate);
}

std::string ReasonOf(const Error& error) {
  if (!error.reason().empty()) return error.reason();
  const auto found = std::lower_bound(std::begin(kConditions), std::end(kConditions), error.sqlstate(),
                                      [](const Condition& a, std::string_view b) { return a.sqlstate < b; });
  if (found != std::end(kConditions) && found->sqlstate == error.sqlstate()) return std::string(found->name);
  return "SQLSTATE_" + std::string(error.sqlstate());
}

std::chrono::milliseconds RetryDelayOf(std::string_view sqlstate) {
  if (sqlstate == "40001" || sqlstate == "40P01") return std::chrono::milliseconds(10);
  if (sqlstate == "25P03" || sqlstate == "25P04") return std::chrono::milliseconds(100);
  if (sqlstate.substr(0, 2) == "53") return std::chrono::milliseconds(1000);
  if (sqlstate == "57P01" || sqlstate == "57P03") return std::chrono::milliseconds(1000);
  return std::chrono::milliseconds(0);
}

std::string FieldText(std::string_view text, size_t bytes_max) {
  std::string out;
  const bool is_cut = text.size() > bytes_max;
  if (is_cut) {
    size_t end = bytes_max - 3;
    while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) --end;
    text = text.substr(0, end);
  }
  for (size_t bad; (bad = FindInvalidUtf8(text)) != std::string_view::npos; text.remove_prefix(bad + 1)) {
    out.append(text.substr(0, bad)) += '?';
  }
  return out.append(text).append(is_cut ? "..." : "");
}

WireStatus ToWireStatus(const CallError& call) {
  const Error& error = call.error;
  WireStatus out;
  out.code = CodeOf(error.sqlstate(), call.deadline_passed);
  out.message = FieldText(error.message(), kMessageBytesMax);

  google::rpc::Status status;
  status.set_code(static_cast<int>(out.code));
  status.set_message(out.message);
  google::rpc::ErrorInfo info;
  info.set_reason(FieldText(ReasonOf(error), kNameBytesMax));
  info.set_domain("sisal.v1");
  AddDetail(info, status);
  v1::SqlError sql_error;
  FillSqlError(call, sql_error);
  AddDetail(sql_error, status);
  if (const auto delay = RetryDelayOf(error.sqlstate()); delay.count() > 0) {
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(delay.count() / 1000);
    retry.mutable_retry_delay()->set_nanos(static_cast<int32_t>(delay.count() % 1000 * 1'000'000));
    AddDetail(retry, status);
  }
  const std::string_view sql_class = error.sqlstate().substr(0, 2);
  if (sql_class == "53" || sql_class == "54") {
    google::rpc::QuotaFailure quota;
    google::rpc::QuotaFailure::Violation& violation = *quota.add_violations();
    violation.set_subject(error.limit_name().empty() ? "server" : FieldText(error.limit_name(), kNameBytesMax));
    violation.set_description(error.limit_name().empty() ? out.message
                                                         : "the limit is " + std::to_string(error.limit_value()));
    AddDetail(quota, status);
  }
  // Fields are cut so that this cannot happen; a detail that does not arrive is better than an error that does not.
  if (status.ByteSizeLong() > kDetailsBytesMax) status.mutable_details()->DeleteSubrange(2, status.details_size() - 2);
  status.SerializeToString(&out.details);
  return out;
}

void FillFailure(const CallError& call, v1::Failure& failure) {
  failure.set_code(static_cast<int>(CodeOf(call.error.sqlstate(), call.deadline_passed)));
  failure.set_message(FieldText(call.error.message(), kMessageBytesMax));
  failure.set_reason(FieldText(ReasonOf(call.error), kNameBytesMax));
  FillSqlError(call, *failure.mutable_error());
  failure.set_retry_after_ms(static_cast<uint32_t>(RetryDelayOf(call.error.sqlstate()).count()));
}

}  // namespace sisal::wire
