#include "row_source.h"

namespace sisal::service {

RowSource::RowSource(db::PreparedPtr prepared, const type::TextSettings& settings, Options options)
    : prepared_(std::move(prepared)),
      cancel_(std::move(options.cancel)),
      encoding_(options.encoding),
      keep_first_row_(options.keep_first_row),
      encoder_(statement().output, encoding_, settings) {
  call_options_.cancel = cancel_.get();
  call_options_.deadline = options.deadline;
  call_options_.durability = options.durability;
}

Status RowSource::Start(db::Session& session, std::vector<type::Datum> params) {
  result_.reset();
  chunk_ = {};
  next_row_ = 0;
  SISAL_ASSIGN_OR_RETURN(result_, session.Execute(prepared_, std::move(params), call_options_));
  return Status();
}

// The engine makes a new plan when the tables have changed under the one that was prepared.
Status RowSource::CheckTypes() const {
  const std::vector<sql::OutputColumn>& output = statement().output;
  bool same = chunk_.columns.size() == output.size();
  for (size_t i = 0; same && i < output.size(); ++i) {
    const type::TypeId is = chunk_.columns[i].type.id, was = output[i].type.id;
    same = is == was || (type::IsTextType(is) && type::IsTextType(was));
  }
  return same ? Status()
              : Status(Error{"0A000", "cached plan must not change result type"}.WithReason(db::kPlanChanged));
}

Result<bool> RowSource::Fill(size_t budget_bytes, const Clock& clock, Duration max_wait) {
  const Instant give_up = max_wait == Duration::max() ? Instant::Max() : clock.Now() + max_wait;
  while (true) {
    if (next_row_ < chunk_.row_count) {
      const uint32_t count = encoder_.RowsThatFit(chunk_, next_row_, budget_bytes);
      encoder_.Append(chunk_, next_row_, next_row_ + count);
      next_row_ += count;
      if (encoder_.size_bytes() > kRowBytesMax && encoder_.row_count() == 1) {
        return Error{"54000", "a row of " + std::to_string(encoder_.size_bytes()) + " bytes is too large to be sent"}
            .WithLimit("row_bytes", kRowBytesMax);
      }
      if (next_row_ < chunk_.row_count) return false;
      if (encoder_.row_count() > 0 && give_up != Instant::Max() && clock.Now() >= give_up) return false;
    }
    SISAL_ASSIGN_OR_RETURN(const bool ended, Pull());
    if (ended) return true;
  }
}

// True: the statement has ended.
Result<bool> RowSource::Pull() {
  chunk_ = {};
  next_row_ = 0;
  SISAL_RETURN_IF_ERROR(result_->Next(chunk_));
  if (chunk_.row_count == 0) return true;
  SISAL_RETURN_IF_ERROR(CheckTypes());
  if (keep_first_row_ && rows_seen_ == 0) {
    first_row_.emplace();
    for (const type::Vector& column : chunk_.columns) first_row_->push_back(column.ToDatum(0));
  }
  rows_seen_ += chunk_.row_count;
  return false;
}

Status RowSource::Drain() {
  while (true) {
    SISAL_ASSIGN_OR_RETURN(const bool ended, Pull());
    if (ended) return Status();
  }
}

bool RowSource::Undo(const Error& reason) {
  cancel_->Cancel(reason);
  while (true) {
    if (!result_->Next(chunk_).ok()) return true;
    if (chunk_.row_count == 0) return false;
  }
}

}  // namespace sisal::service
