// Vectors into ColumnBatch and RowList.
#include <algorithm>

#include "sisal/base/check.h"
#include "sisal/wire/result.h"

namespace sisal::wire {
namespace {

using type::TypeId;
using type::Vector;

// Which list of sisal.v1.Column a type travels in (TypeCode's comments): its field number.
enum List : uint32_t { kIntegers = 2, kNumbers = 3, kTexts = 4, kBlobs = 5, kBooleans = 6 };
List ListOf(TypeId id) {
  switch (id) {
    case TypeId::kBoolean:
      return kBooleans;
    case TypeId::kSmallint:
    case TypeId::kInteger:
    case TypeId::kBigint:
    case TypeId::kDate:
    case TypeId::kTime:
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
      return kIntegers;
    case TypeId::kReal:
    case TypeId::kDouble:
      return kNumbers;
    case TypeId::kBytea:
    case TypeId::kUuid:
      return kBlobs;
    default:
      return kTexts;
  }
}

// Bytes types whose value is its own text.
bool IsPlain(TypeId id) { return type::IsTextType(id) || id == TypeId::kBytea || id == TypeId::kUuid; }

constexpr uint32_t kNullBitmapField = 1, kPackedField = 8, kLengthsField = 9;

}  // namespace

ChunkEncoder::ChunkEncoder(std::span<const sql::OutputColumn> columns, Encoding encoding,
                           const type::TextSettings& settings)
    : encoding_(encoding), settings_(settings), columns_(columns.size()) {
  for (size_t i = 0; i < columns.size(); ++i) columns_[i].type = columns[i].type;
}

uint32_t ChunkEncoder::RowsThatFit(const type::Chunk& chunk, uint32_t from, size_t budget_bytes) const {
  size_t used = size_bytes_;
  const size_t fixed_bytes = 6 * columns_.size();
  for (uint32_t row = from; row < chunk.row_count; ++row) {
    size_t size = fixed_bytes;
    for (const Vector& vector : chunk.columns) {
      if (vector.type.storage() == type::Storage::kBytes && !vector.IsNull(row)) size += vector.Bytes(row).size();
    }
    if (used + size > budget_bytes) return row > from || row_count_ > 0 ? row - from : 1;
    used += size;
  }
  return chunk.row_count - from;
}

void ChunkEncoder::Append(const type::Chunk& chunk, uint32_t from, uint32_t upto) {
  SISAL_CHECK(chunk.columns.size() == columns_.size());
  SISAL_CHECK(from <= upto && upto <= chunk.row_count);
  if (encoding_ == Encoding::kValues) {
    AppendRows(chunk, from, upto);
    size_bytes_ = rows_.size();
  } else {
    size_t size = 0;
    for (size_t i = 0; i < columns_.size(); ++i) {
      AppendColumn(columns_[i], chunk.columns[i], from, upto);
      size += columns_[i].values.size() + columns_[i].lengths.size() + columns_[i].nulls.size();
    }
    size_bytes_ = size;
  }
  row_count_ += upto - from;
}

void ChunkEncoder::AppendNulls(Column& column, const Vector& vector, uint32_t from, uint32_t upto) {
  if (vector.nulls == nullptr) return;
  for (uint32_t row = from; row < upto; ++row) {
    if (!vector.IsNull(row)) continue;
    const uint32_t at = row_count_ + (row - from);
    if (column.nulls.size() <= at / 8) column.nulls.AppendZeros(at / 8 + 1 - column.nulls.size());
    column.nulls.data()[at / 8] |= static_cast<char>(1 << at % 8);
  }
}

void ChunkEncoder::AppendColumn(Column& column, const Vector& vector, uint32_t from, uint32_t upto) {
  AppendNulls(column, vector, from, upto);
  const uint32_t count = upto - from;
  switch (ListOf(column.type.id)) {
    case kBooleans: {
      char* to = column.values.Reserve(count);
      for (uint32_t row = from; row < upto; ++row) *to++ = !vector.IsNull(row) && vector.Int(row) != 0 ? 1 : 0;
      column.values.CommitTo(to);
      return;
    }
    case kIntegers: {
      char* to = column.values.Reserve(count * kVarintBytesMax);
      for (uint32_t row = from; row < upto; ++row) {
        to = WriteVarint(to, vector.IsNull(row) ? 0 : ZigZag(vector.Int(row)));
      }
      column.values.CommitTo(to);
      return;
    }
    case kNumbers: {
      char* to = column.values.Reserve(count * sizeof(double));
      for (uint32_t row = from; row < upto; ++row, to += sizeof(double)) {
        const double value = vector.IsNull(row) ? 0 : vector.Double(row);
        std::memcpy(to, &value, sizeof(value));
      }
      column.values.CommitTo(to);
      return;
    }
    case kTexts:
    case kBlobs:
      AppendBytes(column, vector, from, upto);
      return;
  }
}

void ChunkEncoder::AppendBytes(Column& column, const Vector& vector, uint32_t from, uint32_t upto) {
  const uint32_t field = ListOf(column.type.id);
  const bool plain = IsPlain(column.type.id);
  Writer values(column.values);
  for (uint32_t row = from; row < upto; ++row) {
    std::string_view bytes;
    if (!vector.IsNull(row)) {
      bytes = vector.Bytes(row);
      if (!plain) {
        text_.clear();
        type::FormatBytes(column.type.id, bytes, settings_, text_);
        bytes = text_;
      }
    }
    if (encoding_ == Encoding::kPacked) {
      column.values.Append(bytes);
      column.lengths.CommitTo(WriteVarint(column.lengths.Reserve(kVarintBytesMax), bytes.size()));
    } else {
      values.Bytes(field, bytes);
    }
  }
}

// RowList: field 1 = Row { repeated Value values = 1 }.
void ChunkEncoder::AppendRows(const type::Chunk& chunk, uint32_t from, uint32_t upto) {
  Writer writer(rows_);
  for (uint32_t row = from; row < upto; ++row) {
    const size_t opened_row = writer.Open(1);
    for (const Vector& vector : chunk.columns) {
      const size_t opened_value = writer.Open(1);
      WriteValue(vector, row, rows_);
      writer.Close(opened_value);
    }
    writer.Close(opened_row);
  }
}

// The oneof of a Value: written even when it is zero, because nothing set is not a value.
void ChunkEncoder::WriteValue(const Vector& vector, uint32_t row, Buffer& out) {
  constexpr uint32_t kNull = 1, kBoolean = 2, kInteger = 3, kNumber = 4, kText = 5, kBlob = 6;
  Writer writer(out);
  if (vector.IsNull(row)) return writer.Varint(kNull, 1);
  const TypeId id = vector.type.id;
  switch (id) {
    case TypeId::kBoolean:
      return writer.Varint(kBoolean, vector.Int(row) != 0 ? 1 : 0);
    case TypeId::kSmallint:
    case TypeId::kInteger:
    case TypeId::kBigint:
      return writer.Varint(kInteger, ZigZag(vector.Int(row)));
    case TypeId::kReal:
    case TypeId::kDouble:
      return writer.Fixed64(kNumber, std::bit_cast<uint64_t>(vector.Double(row)));
    case TypeId::kBytea:
      return writer.Bytes(kBlob, vector.Bytes(row));
    default:
      break;
  }
  if (type::IsTextType(id)) return writer.Bytes(kText, vector.Bytes(row));
  text_.clear();
  if (vector.type.storage() == type::Storage::kInt) {
    type::FormatInt(id, vector.Int(row), settings_, text_);
  } else {
    type::FormatBytes(id, vector.Bytes(row), settings_, text_);
  }
  writer.Bytes(kText, text_);
}

size_t ChunkEncoder::ColumnSize(const Column& column) const {
  const auto field_size = [](const Buffer& bytes) {
    return bytes.empty() ? 0 : 1 + VarintSize(bytes.size()) + bytes.size();
  };
  size_t size = field_size(column.nulls) + field_size(column.lengths);
  const List list = ListOf(column.type.id);
  const bool whole_fields = (list == kTexts || list == kBlobs) && encoding_ == Encoding::kColumns;
  return size + (whole_fields ? column.values.size() : field_size(column.values));
}

void ChunkEncoder::WriteColumn(const Column& column, Buffer& out) const {
  Writer writer(out);
  writer.BytesField(kNullBitmapField, column.nulls.view());
  const List list = ListOf(column.type.id);
  if (list != kTexts && list != kBlobs) {
    writer.BytesField(list, column.values.view());
  } else if (encoding_ == Encoding::kColumns) {
    out.Append(column.values.view());
  } else {
    writer.BytesField(kPackedField, column.values.view());
    writer.BytesField(kLengthsField, column.lengths.view());
  }
}

// ResultChunk: batch = 1 { row_count = 1, columns = 2 }, or values = 2.
void ChunkEncoder::Finish(uint32_t field, Buffer& out) {
  Writer writer(out);
  if (encoding_ == Encoding::kValues) {
    writer.Length(field, 1 + VarintSize(rows_.size()) + rows_.size());
    writer.Bytes(2, rows_.view());
  } else {
    // A bitmap reaches to the last row: clients index it by row without asking for its length.
    for (Column& column : columns_) {
      const size_t whole = (row_count_ + 7) / 8;
      if (!column.nulls.empty() && column.nulls.size() < whole) column.nulls.AppendZeros(whole - column.nulls.size());
    }
    size_t batch_size = row_count_ == 0 ? 0 : 1 + VarintSize(row_count_);
    for (const Column& column : columns_) {
      const size_t size = ColumnSize(column);
      batch_size += 1 + VarintSize(size) + size;
    }
    out.Reserve(batch_size + 4 * kVarintBytesMax);
    writer.Length(field, 1 + VarintSize(batch_size) + batch_size);
    writer.Length(1, batch_size);
    writer.VarintField(1, row_count_);
    for (const Column& column : columns_) {
      writer.Length(2, ColumnSize(column));
      WriteColumn(column, out);
    }
  }
  for (Column& column : columns_) column.values.Clear(), column.lengths.Clear(), column.nulls.Clear();
  rows_.Clear();
  row_count_ = 0;
  size_bytes_ = 0;
}

}  // namespace sisal::wire
