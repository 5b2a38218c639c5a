#include "output.h"

#include <cerrno>
#include <cstring>

namespace sisal::cli {
Status Output::Flush() {
  if (!failure_.ok()) return failure_;
  const size_t written = std::fwrite(text_.data(), 1, text_.size(), file_);
  if (written < text_.size() || std::fflush(file_) != 0) {
    pipe_closed_ = errno == EPIPE;
    failure_ = Error("58030", std::string("could not write the output: ") + std::strerror(errno));
  }
  text_.clear();
  return failure_;
}

Status RowPrinter::Header(const ColumnTypes& columns) {
  cells_.resize(static_cast<size_t>(columns.size()));
  writer_->Begin(columns, output_.text());
  return Status();
}

Status RowPrinter::Rows(const ColumnTypes& columns, const v1::ColumnBatch& batch) {
  for (uint32_t row = 0; row < batch.row_count(); ++row) {
    for (int i = 0; i < columns.size(); ++i) {
      FormatCell(columns.Get(i), batch.columns(i), row, &cells_[static_cast<size_t>(i)]);
    }
    writer_->Row(cells_, output_.text());
    ++row_count_;
    SISAL_RETURN_IF_ERROR(output_.FlushIfLarge());
  }
  return Status();
}

Status RowPrinter::Finish() {
  writer_->End(output_.text());
  return output_.Flush();
}
}  // namespace sisal::cli
