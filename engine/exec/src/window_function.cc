// row_number() and its like: window functions that are not aggregates.
#include <algorithm>

#include "window.h"

namespace sisal::exec {

using sql::WindowFunction;
using type::Storage;
using type::Vector;

void SetNullAt(uint32_t at, Vector& out) {
  out.SetNull(at);
  if (out.type.storage() == Storage::kBytes) out.bytes[at] = {};
}

void WindowArgument::Copy(const WindowRows& rows, uint32_t row, uint32_t at, Vector& out) const {
  const Vector from = In(rows, row / RowStore::kBlockRows);
  const uint32_t i = row % RowStore::kBlockRows;
  if (from.IsNull(i)) return SetNullAt(at, out);
  switch (out.type.storage()) {
    case Storage::kInt:
      out.ints[at] = from.Int(i);
      break;
    case Storage::kDouble:
      out.doubles[at] = from.Double(i);
      break;
    case Storage::kBytes:
      out.bytes[at] = from.Bytes(i);
      break;
  }
}

namespace {

// row_number(), rank(), dense_rank(), percent_rank() and cume_dist(): of a row's place among the groups.
class RankRunner final : public WindowFunctionRunner {
 public:
  explicit RankRunner(WindowFunction function) : function_(function) {}

  void StartPartition(const WindowRows& rows, RowRange partition) override {
    partition_ = partition;
    if (function_ == WindowFunction::kRowNumber) return;
    group_.Start(rows, partition.begin);
    first_group_ = group_.number();
  }

  Status Compute(RowRange rows, uint32_t at, Vector& out) override {
    for (uint32_t row = rows.begin; row < rows.end; ++row, ++at) {
      if (function_ != WindowFunction::kRowNumber) group_.MoveTo(row);
      switch (function_) {
        case WindowFunction::kRowNumber:
          out.ints[at] = row - partition_.begin + 1;
          break;
        case WindowFunction::kRank:
          out.ints[at] = group_.begin() - partition_.begin + 1;
          break;
        case WindowFunction::kDenseRank:
          out.ints[at] = group_.number() - first_group_ + 1;
          break;
        case WindowFunction::kPercentRank:
          out.doubles[at] = partition_.count() <= 1 ? 0
                                                    : static_cast<double>(group_.begin() - partition_.begin) /
                                                          static_cast<double>(partition_.count() - 1);
          break;
        default:  // cume_dist()
          out.doubles[at] =
              static_cast<double>(group_.end() - partition_.begin) / static_cast<double>(partition_.count());
      }
    }
    return Status();
  }

 private:
  WindowFunction function_;
  RowRange partition_;
  GroupCursor group_;
  uint32_t first_group_ = 0;
};

// The first row whose argument is not NULL tells the number of buckets.
class NtileRunner final : public WindowFunctionRunner {
 public:
  explicit NtileRunner(WindowArgument buckets) : buckets_(buckets) {}

  void StartPartition(const WindowRows& rows, RowRange partition) override {
    rows_ = &rows;
    partition_ = partition;
    bucket_ = 0;
  }

  Status Compute(RowRange rows, uint32_t at, Vector& out) override {
    for (uint32_t row = rows.begin; row < rows.end; ++row, ++at) {
      if (bucket_ == 0) {
        if (buckets_.IsNull(*rows_, row)) {
          out.SetNull(at);
          continue;
        }
        SISAL_RETURN_IF_ERROR(Start(buckets_.Int(*rows_, row)));
      } else if (left_ == 0) {
        // The first `longer_` buckets have one row more.
        left_ = size_ + (bucket_ < longer_ ? 1 : 0);
        ++bucket_;
      }
      --left_;
      out.ints[at] = bucket_;
    }
    return Status();
  }

 private:
  Status Start(int64_t buckets) {
    if (buckets <= 0) return Error("22014", "argument of ntile must be greater than zero");
    size_ = partition_.count() / buckets;
    longer_ = size_ == 0 ? 0 : partition_.count() % buckets;
    if (size_ == 0) size_ = 1;
    left_ = size_ + (longer_ > 0 ? 1 : 0);
    bucket_ = 1;
    return Status();
  }

  WindowArgument buckets_;
  const WindowRows* rows_ = nullptr;
  RowRange partition_;
  int64_t bucket_ = 0;  // from 1; 0: not known yet
  int64_t size_ = 0, longer_ = 0, left_ = 0;
};

// lag() and lead(): the row that lies a number of rows before or behind.
class ShiftRunner final : public WindowFunctionRunner {
 public:
  ShiftRunner(bool forward, std::vector<WindowArgument> arguments)
      : forward_(forward), arguments_(std::move(arguments)) {}

  void StartPartition(const WindowRows& rows, RowRange partition) override {
    rows_ = &rows;
    partition_ = partition;
  }

  Status Compute(RowRange rows, uint32_t at, Vector& out) override {
    for (uint32_t row = rows.begin; row < rows.end; ++row, ++at) {
      int64_t distance = 1;
      if (arguments_.size() > 1) {
        if (arguments_[1].IsNull(*rows_, row)) {
          SetNullAt(at, out);
          continue;
        }
        distance = arguments_[1].Int(*rows_, row);
      }
      const int64_t target = row + (forward_ ? distance : -distance);
      if (target >= partition_.begin && target < partition_.end) {
        arguments_[0].Copy(*rows_, static_cast<uint32_t>(target), at, out);
      } else if (arguments_.size() > 2) {
        arguments_[2].Copy(*rows_, row, at, out);
      } else {
        SetNullAt(at, out);
      }
    }
    return Status();
  }

 private:
  bool forward_;
  std::vector<WindowArgument> arguments_;
  const WindowRows* rows_ = nullptr;
  RowRange partition_;
};

// first_value(), last_value() and nth_value(): rows of the frame.
class FrameValueRunner final : public WindowFunctionRunner {
 public:
  FrameValueRunner(const sql::WindowCall& call, std::vector<WindowArgument> arguments,
                   std::span<const sql::SortKey> order, Frame& frame)
      : function_(call.function), arguments_(std::move(arguments)), frame_(call.frame, order, frame) {}

  Status Open() override { return frame_.Open(); }

  void StartPartition(const WindowRows& rows, RowRange partition) override {
    rows_ = &rows;
    frame_.StartPartition(rows, partition);
  }

  Status Compute(RowRange rows, uint32_t at, Vector& out) override {
    for (uint32_t row = rows.begin; row < rows.end; ++row, ++at) {
      SISAL_RETURN_IF_ERROR(frame_.MoveTo(row));
      const std::span<const RowRange> pieces = frame_.pieces();
      uint32_t chosen = RowStore::kNoRow;
      if (function_ == WindowFunction::kNthValue) {
        SISAL_ASSIGN_OR_RETURN(chosen, Nth(row, pieces));
      } else if (!pieces.empty()) {
        chosen = function_ == WindowFunction::kFirstValue ? pieces.front().begin : pieces.back().end - 1;
      }
      if (chosen == RowStore::kNoRow) {
        SetNullAt(at, out);
      } else {
        arguments_[0].Copy(*rows_, chosen, at, out);
      }
    }
    return Status();
  }

 private:
  Result<uint32_t> Nth(uint32_t row, std::span<const RowRange> pieces) const {
    if (arguments_[1].IsNull(*rows_, row)) return RowStore::kNoRow;
    int64_t left = arguments_[1].Int(*rows_, row) - 1;
    if (left < 0) return Error("22016", "argument of nth_value must be greater than zero");
    for (const RowRange& piece : pieces) {
      if (left < piece.count()) return piece.begin + static_cast<uint32_t>(left);
      left -= piece.count();
    }
    return RowStore::kNoRow;
  }

  WindowFunction function_;
  std::vector<WindowArgument> arguments_;
  const WindowRows* rows_ = nullptr;
  FrameCursor frame_;
};

}  // namespace

namespace internal {

std::unique_ptr<WindowFunctionRunner> MakeWindowFunction(const sql::WindowCall& call,
                                                         std::vector<WindowArgument> arguments,
                                                         std::span<const sql::SortKey> order, Frame& frame) {
  switch (call.function) {
    case WindowFunction::kNtile:
      return std::make_unique<NtileRunner>(arguments[0]);
    case WindowFunction::kLag:
    case WindowFunction::kLead:
      return std::make_unique<ShiftRunner>(call.function == WindowFunction::kLead, std::move(arguments));
    case WindowFunction::kFirstValue:
    case WindowFunction::kLastValue:
    case WindowFunction::kNthValue:
      return std::make_unique<FrameValueRunner>(call, std::move(arguments), order, frame);
    default:
      return std::make_unique<RankRunner>(call.function);
  }
}

}  // namespace internal

}  // namespace sisal::exec
