#include "point_call.h"

#include "parsed_request.h"
#include "request_options.h"
#include "row_source.h"
#include "sisal/v1/request.pb.h"
#include "sisal/v1/transaction.pb.h"
#include "statement_support.h"

namespace sisal::service {
namespace {

// The transport's threads are few: a larger request is parsed, and its text hashed, on a fiber.
constexpr size_t kRequestBytesMax = 4096;

bool HasStatementId(const v1::Statement& statement) {
  return statement.body_case() == v1::Statement::kSql || statement.statement_id().size() == sizeof(db::StatementId);
}

// The encoding that is asked for; nullopt: the request asks for more than rows.
std::optional<wire::Encoding> EncodingOf(const v1::ExecuteRequest& request) {
  if (request.has_transaction() || request.statement().has_param_rows()) return std::nullopt;
  if (!request.has_options()) return wire::Encoding::kColumns;
  const Result<CallRequest> options = CheckCallOptions(request.options(), {.key = true, .result = true});
  if (!options.ok() || !options->idempotency_key.empty() || options->stats || request.options().settings_size() > 0) {
    return std::nullopt;
  }
  return options->encoding;
}

}  // namespace

bool ReadPointAtOnce(Core& core, std::string_view bytes, wire::Buffer& response) {
  if (bytes.size() > kRequestBytesMax) return false;
  ParsedRequest<v1::ExecuteRequest> request;
  if (core.draining.load(std::memory_order_relaxed) || !request.Parse(bytes).ok()) return false;
  const v1::Statement& statement = request->statement();
  const std::optional<wire::Encoding> encoding = EncodingOf(*request);
  if (!encoding.has_value() || !HasStatementId(statement)) return false;
  const db::StatementId id = RequestedId(statement);
  const db::PreparedPtr prepared = core.database.FindPointRead(id);
  if (prepared == nullptr) return false;

  const type::TextSettings& settings = core.database.default_text_settings();
  const Result<std::vector<type::Datum>> params =
      wire::ToParams(statement, prepared->statement().params, core.database.default_input_settings());
  if (!params.ok()) return false;
  db::PointRow row;
  const Result<bool> read = core.database.ReadPoint(*prepared, *params, row);
  if (!read.ok() || !*read) return false;

  wire::HeaderOptions header;
  if (statement.body_case() == v1::Statement::kSql) header.statement_id = {id.data(), id.size()};
  header.known_shape = statement.known_shape();
  const std::vector<sql::OutputColumn>& output = prepared->statement().output;
  wire::WriteHeader(kHeader, output, header, response);
  wire::ChunkEncoder encoder(output, *encoding, settings);
  if (row.row_count > 0) encoder.Append(row.chunk(), 0, row.row_count);
  if (encoder.size_bytes() > kRowBytesMax) return false;
  encoder.Finish(kChunk, response);
  wire::Trailer trailer;
  trailer.command = prepared->statement().command;
  wire::WriteTrailer(kTrailer, trailer, response);
  return true;
}

}  // namespace sisal::service
