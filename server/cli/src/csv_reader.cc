#include "csv_reader.h"

#include <cstdio>
#include <string_view>

#include "text_width.h"

namespace sisal::cli {
namespace {
constexpr size_t kReadBytes = 256 * 1024;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

Error At(uint64_t line, Error error) { return std::move(error).WithDetail("Line " + std::to_string(line) + "."); }
}  // namespace

Result<bool> CsvReader::ReadRecord(std::vector<Cell>* record) {
  record->clear();
  record_line_ = line_;
  record_start_ = bytes_consumed_;
  SISAL_ASSIGN_OR_RETURN(const int first, Peek());
  if (first == kEnd || data_ended_) return false;
  bool another = true;
  while (another) {
    record->emplace_back();
    SISAL_ASSIGN_OR_RETURN(another, ReadField(&record->back()));
  }
  if (data_ended_) return false;
  for (const Cell& cell : *record) {
    const size_t wrong = FindInvalidUtf8(cell.text);
    if (wrong == std::string::npos) continue;
    char byte[8];
    std::snprintf(byte, sizeof byte, "0x%02x", static_cast<unsigned char>(cell.text[wrong]));
    return At(record_line_, Error("22021", std::string("invalid byte sequence for encoding \"UTF8\": ") + byte));
  }
  return true;
}

Result<int> CsvReader::Peek() {
  if (at_ == buffer_.size() && !at_end_) SISAL_RETURN_IF_ERROR(Fill());
  if (at_ == buffer_.size()) return kEnd;
  return static_cast<int>(static_cast<unsigned char>(buffer_[at_]));
}

Status CsvReader::Fill() {
  const bool first = bytes_read_ == 0;
  buffer_.resize(kReadBytes);
  at_ = 0;
  Result<size_t> filled = source_(buffer_.data(), buffer_.size());
  if (!filled.ok()) {
    buffer_.clear();
    at_end_ = true;
    return std::move(filled).status();
  }
  buffer_.resize(*filled);
  bytes_read_ += *filled;
  at_end_ = *filled == 0;
  if (first && buffer_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  return Status();
}

void CsvReader::Skip() {
  if (buffer_[at_] == '\n') ++line_;
  ++at_;
  ++bytes_consumed_;
}

template <typename Predicate>
void CsvReader::TakeRun(std::string* text, Predicate stops) {
  size_t end = at_;
  for (; end < buffer_.size() && !stops(buffer_[end]); ++end) line_ += buffer_[end] == '\n' ? 1 : 0;
  text->append(buffer_, at_, end - at_);
  bytes_consumed_ += end - at_;
  at_ = end;
}

Result<bool> CsvReader::ReadField(Cell* field) {
  bool quoted = false;
  const bool begins_record = bytes_consumed_ == record_start_;
  while (true) {
    SISAL_ASSIGN_OR_RETURN(const int next, Peek());
    if (bytes_consumed_ - record_start_ > kRecordBytesMax) {
      return At(record_line_,
                Error("54000", "a CSV record is longer than " + std::to_string(kRecordBytesMax) + " bytes"));
    }
    const bool ends_line = next == kEnd || next == '\n' || next == '\r';
    if (!ends_line && next != static_cast<unsigned char>(options_.delimiter)) {
      if (next == '"') {
        Skip();
        quoted = true;
        SISAL_RETURN_IF_ERROR(ReadQuoted(&field->text));
      } else {
        TakeRun(&field->text, [this](char c) { return c == options_.delimiter || c == '"' || c == '\n' || c == '\r'; });
      }
      continue;
    }
    if (next != kEnd) Skip();
    if (next == '\r') {
      SISAL_ASSIGN_OR_RETURN(const int after, Peek());
      if (after == '\n') {
        Skip();
      } else if (after != kEnd) {
        return At(record_line_, Error("22P04", "unquoted carriage return found in data")
                                    .WithHint("Use quoted CSV field to represent carriage return."));
      }
    }
    if (begins_record && ends_line && !quoted && field->text == "\\.") data_ended_ = true;
    field->is_null = !quoted && field->text == options_.null_text;
    if (field->is_null) field->text.clear();
    return !ends_line;
  }
}

// Reads up to the closing quote; the opening one has been read.
Status CsvReader::ReadQuoted(std::string* text) {
  while (true) {
    SISAL_ASSIGN_OR_RETURN(const int next, Peek());
    if (next == kEnd) return At(record_line_, Error("22P04", "unterminated CSV quoted field"));
    if (bytes_consumed_ - record_start_ > kRecordBytesMax) {
      return At(record_line_,
                Error("54000", "a CSV record is longer than " + std::to_string(kRecordBytesMax) + " bytes")
                    .WithHint("A quote may be missing."));
    }
    if (next != '"') {
      TakeRun(text, [](char c) { return c == '"'; });
      continue;
    }
    Skip();
    SISAL_ASSIGN_OR_RETURN(const int after, Peek());
    if (after != '"') return Status();
    Skip();
    text->push_back('"');
  }
}
}  // namespace sisal::cli
