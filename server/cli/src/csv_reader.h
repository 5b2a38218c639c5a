// Reads CSV as PostgreSQL's COPY does: quotes may hold delimiters and newlines, "" is a quote, and an empty field is
// NULL unless it is quoted. A line of \. alone ends the data.
//
// Concurrency: externally synchronised. Memory is bounded by kRecordBytesMax.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sisal/base/status.h"
#include "value_format.h"

namespace sisal::cli {
struct CsvOptions {
  char delimiter = ',';
  std::string null_text;  // an unquoted field of this text is NULL
};

class CsvReader {
 public:
  // No row of this size fits in a request: an unclosed quote must not swallow the rest of a large file.
  static constexpr size_t kRecordBytesMax = size_t{32} << 20;

  // Fills `buffer` and returns how much it holds now; 0 at the end of the data.
  using Source = std::function<Result<size_t>(char* buffer, size_t size)>;

  CsvReader(Source source, CsvOptions options) : source_(std::move(source)), options_(std::move(options)) {}

  // False at the end of the data.
  // Errors: 22P04 for a quote that is not closed or a bare carriage return, 22021 for what is no UTF-8, 54000 for a
  //         record that is too long; and the source's own.
  Result<bool> ReadRecord(std::vector<Cell>* record);

  // Line on which the record that was read last begins, from 1.
  uint64_t record_line() const { return record_line_; }
  uint64_t bytes_read() const { return bytes_read_; }

 private:
  static constexpr int kEnd = -1;

  // The next byte, or kEnd. Leaves it unread.
  Result<int> Peek();
  Status Fill();
  Result<bool> ReadField(Cell* field);  // true if another follows in this record
  Status ReadQuoted(std::string* text);
  void Skip();
  // Moves bytes from the buffer to `text` up to one that `stops`.
  template <typename Predicate>
  void TakeRun(std::string* text, Predicate stops);

  const Source source_;
  const CsvOptions options_;
  std::string buffer_;
  size_t at_ = 0;
  bool at_end_ = false;
  bool data_ended_ = false;  // by \.
  uint64_t line_ = 1;
  uint64_t record_line_ = 1;
  uint64_t record_start_ = 0;  // bytes_consumed_ where the record begins
  uint64_t bytes_consumed_ = 0;
  uint64_t bytes_read_ = 0;
};
}  // namespace sisal::cli
