// Frames: which rows around the current one a window function sees.
#include <algorithm>

#include "window.h"

namespace sisal::exec {

using sql::FrameBound;
using sql::FrameExclusion;
using sql::FrameMode;

void GroupCursor::Start(const WindowRows& rows, uint32_t row) {
  rows_ = &rows;
  const auto after = std::upper_bound(rows.groups.begin(), rows.groups.end(), row);
  number_ = static_cast<uint32_t>(after - rows.groups.begin()) - 1;
  begin_ = rows.groups[number_];
  end_ = rows.GroupEnd(number_);
}

void GroupCursor::Advance() {
  ++number_;
  begin_ = end_;
  end_ = rows_->GroupEnd(number_);
}

FrameCursor::FrameCursor(const sql::WindowFrame& frame, std::span<const sql::SortKey> order, Frame& execution)
    : frame_(frame),
      order_(order),
      execution_(execution),
      needs_groups_(frame.mode != FrameMode::kRows || frame.exclusion == FrameExclusion::kGroup ||
                    frame.exclusion == FrameExclusion::kTies) {}

FrameCursor::~FrameCursor() = default;

Status FrameCursor::Open() {
  SISAL_RETURN_IF_ERROR(OpenOffset(frame_.start_offset, "starting", start_rows_, start_bound_, false));
  return OpenOffset(frame_.end_offset, "ending", end_rows_, end_bound_, true);
}

Status FrameCursor::OpenOffset(const sql::Expr* expr, std::string_view which, uint64_t& rows,
                               std::unique_ptr<RangeBound>& bound, bool is_end) {
  if (expr == nullptr) return Status();
  Program program = Program::Compile(expr, execution_);
  SISAL_ASSIGN_OR_RETURN(type::Datum value, program.EvaluateScalar());
  const std::string name = "frame " + std::string(which) + " offset must not be ";
  if (value.is_null()) return Error("22004", name + "null");
  if (frame_.mode == FrameMode::kRange) {
    const bool preceding = (is_end ? frame_.end : frame_.start) == FrameBound::kPreceding;
    bound = std::make_unique<RangeBound>(order_[0], expr->type, std::move(value), is_end, preceding, execution_);
    return Status();
  }
  if (value.as_int() < 0) return Error("22013", name + "negative");
  rows = static_cast<uint64_t>(value.as_int());
  return Status();
}

void FrameCursor::StartPartition(const WindowRows& rows, RowRange partition) {
  rows_ = &rows;
  partition_ = partition;
  group_known_ = false;
  if (start_bound_ != nullptr) start_bound_->StartPartition(partition);
  if (end_bound_ != nullptr) end_bound_->StartPartition(partition);
  if (!needs_groups_) return;
  group_.Start(rows, partition.begin);
  first_group_ = group_.number();
  const auto after = std::lower_bound(rows.groups.begin() + first_group_, rows.groups.end(), partition.end);
  last_group_ = static_cast<uint32_t>(after - rows.groups.begin()) - 1;
}

uint32_t FrameCursor::RowsBegin(uint32_t row) const {
  switch (frame_.start) {
    case FrameBound::kPreceding:
      return start_rows_ >= row - partition_.begin ? partition_.begin : row - static_cast<uint32_t>(start_rows_);
    case FrameBound::kCurrentRow:
      return row;
    case FrameBound::kFollowing:
      return start_rows_ >= partition_.end - row ? partition_.end : row + static_cast<uint32_t>(start_rows_);
    default:
      return partition_.begin;
  }
}

uint32_t FrameCursor::RowsEnd(uint32_t row) const {
  switch (frame_.end) {
    case FrameBound::kPreceding:
      return end_rows_ > row - partition_.begin ? partition_.begin : row + 1 - static_cast<uint32_t>(end_rows_);
    case FrameBound::kCurrentRow:
      return row + 1;
    case FrameBound::kFollowing:
      return end_rows_ >= partition_.end - row - 1 ? partition_.end : row + 1 + static_cast<uint32_t>(end_rows_);
    default:
      return partition_.end;
  }
}

// RANGE and GROUPS: all rows of a group have the same frame.
Status FrameCursor::FindGroupFrame(uint32_t row) {
  const uint32_t before = group_.number() - first_group_, after = last_group_ - group_.number();
  const bool range = frame_.mode == FrameMode::kRange;
  RowRange& frame = frame_of_group_;
  frame = partition_;
  if (range && start_bound_ != nullptr) {
    SISAL_ASSIGN_OR_RETURN(frame.begin, start_bound_->Find(*rows_, row));
  } else if (frame_.start == FrameBound::kCurrentRow) {
    frame.begin = group_.begin();
  } else if (frame_.start == FrameBound::kPreceding && start_rows_ <= before) {
    frame.begin = rows_->groups[group_.number() - start_rows_];
  } else if (frame_.start == FrameBound::kFollowing) {
    frame.begin = start_rows_ > after ? partition_.end : rows_->groups[group_.number() + start_rows_];
  }
  if (range && end_bound_ != nullptr) {
    SISAL_ASSIGN_OR_RETURN(frame.end, end_bound_->Find(*rows_, row));
  } else if (frame_.end == FrameBound::kCurrentRow) {
    frame.end = group_.end();
  } else if (frame_.end == FrameBound::kPreceding) {
    frame.end = end_rows_ > before ? partition_.begin : rows_->GroupEnd(group_.number() - end_rows_);
  } else if (frame_.end == FrameBound::kFollowing && end_rows_ <= after) {
    frame.end = rows_->GroupEnd(group_.number() + end_rows_);
  }
  known_group_ = group_.begin();
  group_known_ = true;
  return Status();
}

void FrameCursor::AddPiece(uint32_t begin, uint32_t end) {
  if (begin < end) pieces_[piece_count_++] = {begin, end};
}

// Leaves out what EXCLUDE names.
void FrameCursor::Cut(uint32_t row) {
  const RowRange frame = pieces_[0];
  const bool current_only = frame_.exclusion == FrameExclusion::kCurrentRow;
  const RowRange out = current_only ? RowRange{row, row + 1} : RowRange{group_.begin(), group_.end()};
  piece_count_ = 0;
  AddPiece(frame.begin, std::min(frame.end, out.begin));
  if (frame_.exclusion == FrameExclusion::kTies && frame.begin <= row && row < frame.end) AddPiece(row, row + 1);
  AddPiece(std::max(frame.begin, out.end), frame.end);
}

Status FrameCursor::MoveTo(uint32_t row) {
  if (needs_groups_) group_.MoveTo(row);
  RowRange frame;
  if (frame_.mode == FrameMode::kRows) {
    frame = {RowsBegin(row), RowsEnd(row)};
  } else {
    if (!group_known_ || known_group_ != group_.begin()) SISAL_RETURN_IF_ERROR(FindGroupFrame(row));
    frame = frame_of_group_;
  }
  piece_count_ = 0;
  AddPiece(frame.begin, frame.end);
  if (frame_.exclusion != FrameExclusion::kNoOthers && piece_count_ > 0) Cut(row);
  return Status();
}

}  // namespace sisal::exec
