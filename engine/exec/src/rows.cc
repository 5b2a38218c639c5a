#include "rows.h"

#include <algorithm>

namespace sisal::exec {

using type::Chunk;
using type::Selection;
using type::Storage;
using type::Vector;

RowStore::RowStore(std::vector<type::SqlType> types, MemoryTracker& memory)
    : types_(std::move(types)), memory_(memory) {}

RowStore::~RowStore() { memory_.Release(charged_bytes_); }

void RowStore::Clear() {
  blocks_.clear();
  arena_.Reset();
  row_count_ = 0;
  const uint64_t kept = std::min<uint64_t>(charged_bytes_, arena_.footprint_bytes());
  memory_.Release(charged_bytes_ - kept);
  charged_bytes_ = kept;
}

Status RowStore::Grow() {
  std::vector<Vector>& block = blocks_.emplace_back();
  for (const type::SqlType& type : types_) {
    block.push_back(type::MakeVector(type, kBlockRows, arena_));
    type::EnsureNulls(block.back(), kBlockRows, arena_);
  }
  return Status();
}

Status RowStore::Append(const Chunk& chunk, const Selection& selection) {
  for (uint32_t i = 0; i < selection.count; ++i) {
    const uint32_t row = selection[i];
    const uint32_t at = row_count_ % kBlockRows;
    if (at == 0) SISAL_RETURN_IF_ERROR(Grow());
    for (size_t c = 0; c < types_.size(); ++c) {
      const Vector& from = chunk.columns[c];
      Vector& to = blocks_.back()[c];
      if (from.IsNull(row)) {
        to.SetNull(at);
        continue;
      }
      switch (types_[c].storage()) {
        case Storage::kInt:
          to.ints[at] = from.Int(row);
          break;
        case Storage::kDouble:
          to.doubles[at] = from.Double(row);
          break;
        case Storage::kBytes:
          to.bytes[at] = arena_.Copy(from.Bytes(row));
          break;
      }
    }
    ++row_count_;
  }
  const uint64_t footprint = arena_.footprint_bytes();
  if (footprint > charged_bytes_) {
    SISAL_RETURN_IF_ERROR(memory_.Charge(footprint - charged_bytes_));
    charged_bytes_ = footprint;
  }
  return Status();
}

void RowStore::Copy(uint32_t row, size_t column, uint32_t at, Vector& out) const {
  if (row == kNoRow) {
    out.SetNull(at);
    if (out.type.storage() == Storage::kBytes) out.bytes[at] = {};
    return;
  }
  const Vector& from = blocks_[row / kBlockRows][column];
  const uint32_t i = row % kBlockRows;
  if (from.IsNull(i)) out.SetNull(at);
  switch (out.type.storage()) {
    case Storage::kInt:
      out.ints[at] = from.ints[i];
      break;
    case Storage::kDouble:
      out.doubles[at] = from.doubles[i];
      break;
    case Storage::kBytes:
      out.bytes[at] = from.IsNull(i) ? std::string_view() : from.bytes[i];
      break;
  }
}

void RowStore::Gather(std::span<const uint32_t> rows, Arena& arena, std::span<Vector> out) const {
  const uint32_t capacity = std::max<uint32_t>(static_cast<uint32_t>(rows.size()), 1);
  for (size_t c = 0; c < types_.size(); ++c) {
    out[c] = type::MakeVector(types_[c], capacity, arena);
    type::EnsureNulls(out[c], capacity, arena);
    for (size_t i = 0; i < rows.size(); ++i) Copy(rows[i], c, static_cast<uint32_t>(i), out[c]);
  }
}

void RowReader::Start(const RowStore* rows, std::vector<uint32_t> order) {
  rows_ = rows;
  in_order_ = order.empty();
  order_ = std::move(order);
  next_ = 0;
  columns_.resize(rows->types().size());
}

void RowReader::Next(Chunk& out) {
  arena_.Reset();
  const uint32_t total = in_order_ ? rows_->row_count() : static_cast<uint32_t>(order_.size());
  const uint32_t count = std::min(type::kVectorSize, total - next_);
  if (in_order_) {
    std::vector<uint32_t> numbers(count);
    for (uint32_t i = 0; i < count; ++i) numbers[i] = next_ + i;
    rows_->Gather(numbers, arena_, columns_);
  } else {
    rows_->Gather(std::span(order_).subspan(next_, count), arena_, columns_);
  }
  next_ += count;
  out = Chunk{count, columns_};
}

void AppendGroupKey(std::span<const Vector> columns, uint32_t row, std::string& key) {
  for (const Vector& column : columns) {
    type::AppendKey(column.type, column, row, type::SortOrder::kAscending, false, key);
  }
}

}  // namespace sisal::exec
