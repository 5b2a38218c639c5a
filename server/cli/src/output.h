// Where results go: a buffer in front of a file, and the consumer that prints rows into it.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "client.h"
#include "row_writer.h"
#include "sisal/base/status.h"

namespace sisal::cli {
// Concurrency: externally synchronised. Ownership: borrows the file.
class Output {
 public:
  explicit Output(FILE* file) : file_(file) {}

  // What is appended here is written by the next Flush.
  std::string* text() { return &text_; }
  // Errors: 58030, with errno's text; final, every later call returns it again.
  Status Flush();
  Status FlushIfLarge() { return text_.size() < kLargeBytes ? Status() : Flush(); }
  // The reader of our pipe has gone: nothing to complain about.
  bool pipe_closed() const { return pipe_closed_; }

 private:
  static constexpr size_t kLargeBytes = 64 * 1024;

  FILE* const file_;
  std::string text_;
  Status failure_;
  bool pipe_closed_ = false;
};

// Writes the rows of one statement with `writer`. Concurrency: externally synchronised.
class RowPrinter final : public RowConsumer {
 public:
  RowPrinter(Output& output, std::unique_ptr<RowWriter> writer) : output_(output), writer_(std::move(writer)) {}
  Status Header(const ColumnTypes& columns) override;
  Status Rows(const ColumnTypes& columns, const v1::ColumnBatch& batch) override;
  // Requires: the statement has succeeded and returned rows.
  Status Finish();
  uint64_t row_count() const { return row_count_; }

 private:
  Output& output_;
  const std::unique_ptr<RowWriter> writer_;
  std::vector<Cell> cells_;
  uint64_t row_count_ = 0;
};
}  // namespace sisal::cli
