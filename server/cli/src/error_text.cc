#include "error_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "google/rpc/status.pb.h"
#include "sisal/v1/sql_error.pb.h"
#include "text_width.h"

namespace sisal::cli {
namespace {
// A long line is cut to this width around the position, which keeps some columns to its right.
constexpr size_t kLineWidthMax = 60;
constexpr size_t kRightWidthMin = 10;

Error FromBareStatus(const grpc::Status& status) {
  const std::string& message = status.error_message();
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
      return Error("08006", "the server cannot be reached: " + ShortReason(message));
    case grpc::StatusCode::CANCELLED:
      return Error("57014", "canceling statement due to user request");
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return Error("57014", "canceling statement: the server did not answer in time");
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return Error("54000", "the message is larger than its receiver accepts: " + message);
    case grpc::StatusCode::UNIMPLEMENTED:
      return Error("0A000", "the server does not offer this call: " + message);
    default:
      return Error("08P01", "gRPC error " + std::to_string(status.error_code()) + ": " + message);
  }
}

// The characters of one line, each as it is shown; tabs are blanks, so that the caret stays in step.
std::vector<DisplayLine> Characters(std::string_view line) {
  std::vector<DisplayLine> characters;
  while (!line.empty()) {
    const std::string_view character = line.substr(0, CharacterBytes(line));
    characters.push_back(LayOut(character == "\t" ? " " : character)[0]);
    line.remove_prefix(character.size());
  }
  return characters;
}

size_t WidthOf(const std::vector<DisplayLine>& characters, size_t from, size_t to) {
  size_t width = 0;
  for (size_t i = from; i < to; ++i) width += characters[i].width;
  return width;
}
}  // namespace

bool IsConnectionLoss(const Error& error) { return error.sqlstate() == "08006"; }

std::string ShortReason(const std::string& message) {
  constexpr std::string_view kMark = "remote host: ";
  const size_t at = message.rfind(kMark);
  return at == std::string::npos ? message : message.substr(at + kMark.size());
}

RemoteError FromStatus(const grpc::Status& status) {
  google::rpc::Status rich;
  if (!status.error_details().empty() && rich.ParseFromString(status.error_details())) {
    for (const google::protobuf::Any& detail : rich.details()) {
      v1::SqlError sql;
      if (!detail.UnpackTo(&sql) || sql.sqlstate().size() != 5) continue;
      Error error = Error(sql.sqlstate(), rich.message().empty() ? status.error_message() : rich.message())
                        .WithDetail(sql.detail())
                        .WithHint(sql.hint())
                        .WithPosition(sql.position())
                        .WithTable(sql.schema(), sql.table())
                        .WithColumn(sql.column())
                        .WithConstraint(sql.constraint());
      return RemoteError{std::move(error), sql.transaction_usable()};
    }
  }
  return RemoteError{FromBareStatus(status)};
}

std::string RenderError(const Error& error, std::string_view statement) {
  std::string text = "ERROR:  " + std::string(error.sqlstate()) + ": " + error.message() + "\n";
  if (error.position() > 0) text += RenderPosition(statement, error.position());
  if (!error.detail().empty()) text += "DETAIL:  " + error.detail() + "\n";
  if (!error.hint().empty()) text += "HINT:  " + error.hint() + "\n";
  return text;
}

std::string RenderWarning(std::string_view sqlstate, std::string_view message, std::string_view hint) {
  // Warnings are of class 01, or about the transaction's state (25); all else PostgreSQL calls a notice ("skipping").
  const bool notice = !sqlstate.starts_with("01") && !sqlstate.starts_with("25");
  std::string text = notice ? "NOTICE:  " : "WARNING:  " + std::string(sqlstate) + ": ";
  text.append(message).append("\n");
  if (!hint.empty()) text.append("HINT:  ").append(hint).append("\n");
  return text;
}

std::string RenderPosition(std::string_view statement, uint32_t position) {
  size_t line_number = 1;
  size_t line_start = 0;
  size_t at = 0;
  for (uint32_t i = 1; i < position; ++i) {
    if (at >= statement.size()) return std::string();
    const size_t bytes = CharacterBytes(statement.substr(at));
    if (statement[at] == '\n') {
      ++line_number;
      line_start = at + bytes;
    }
    at += bytes;
  }
  size_t line_end = std::min(statement.find('\n', at), statement.size());
  if (line_end > at && statement[line_end - 1] == '\r') --line_end;

  // A line can have megabytes: no more of it is looked at than can be shown.
  size_t window_start = at;
  for (size_t i = 0; i < kLineWidthMax && window_start > line_start; ++i) {
    --window_start;
    while (window_start > line_start && (statement[window_start] & 0xc0) == 0x80) --window_start;
  }
  size_t window_end = at;
  for (size_t i = 0; i <= kLineWidthMax && window_end < line_end; ++i) {
    window_end = std::min(window_end + CharacterBytes(statement.substr(window_end)), line_end);
  }
  const size_t mark = Characters(statement.substr(window_start, at - window_start)).size();
  const std::vector<DisplayLine> characters = Characters(statement.substr(window_start, window_end - window_start));

  size_t from = 0;
  size_t to = characters.size();
  if (window_start > line_start || window_end < line_end || WidthOf(characters, from, to) > kLineWidthMax) {
    size_t right = mark;
    while (right < to && WidthOf(characters, mark, right) < kRightWidthMin) ++right;
    while (WidthOf(characters, from, right) > kLineWidthMax && from < mark) ++from;
    while (WidthOf(characters, from, to) > kLineWidthMax && to > right) --to;
  }
  std::string text = "LINE " + std::to_string(line_number) + ": ";
  if (from > 0 || window_start > line_start) text += "...";
  const size_t indent = text.size() + WidthOf(characters, from, mark);
  for (size_t i = from; i < to; ++i) text += characters[i].text;
  if (to < characters.size() || window_end < line_end) text += "...";
  return text + "\n" + std::string(indent, ' ') + "^\n";
}
}  // namespace sisal::cli
