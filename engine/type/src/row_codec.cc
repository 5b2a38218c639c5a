// A row's bytes, all numbers little-endian:
//   0       format version, 1
//   1..2    column count
//   3..     null bitmap: bit i set: column i is NULL
//   then    fixed section: the fixed-width columns in order, without padding; 0 where NULL
//   then    4 bytes for each variable-width column: where its bytes end, counted from the first of them
//   then    those bytes
#include "sisal/type/row_codec.h"

#include <algorithm>
#include <limits>

#include "sisal/base/bytes.h"
#include "sisal/type/numeric.h"
#include "stored_width.h"

namespace sisal::type {
namespace {

constexpr uint8_t kFormatVersion = 1;
constexpr size_t kHeaderBytes = 3;
constexpr uint64_t kRowBytesMax = uint64_t{1} << 30;

size_t BitmapBytes(size_t column_count) { return (column_count + 7) / 8; }

void StoreFixed(const Vector& values, uint32_t row, uint8_t width, char* to) {
  switch (values.type.storage()) {
    case Storage::kBytes:
      std::memcpy(to, values.Bytes(row).data(), width);
      return;
    case Storage::kDouble:
      if (width == sizeof(float)) return StoreLittle(to, static_cast<float>(values.Double(row)));
      return StoreLittle(to, values.Double(row));
    case Storage::kInt:
      break;
  }
  const int64_t value = values.type.id == TypeId::kDate ? NarrowDate(values.Int(row)) : values.Int(row);
  switch (width) {
    case 1:
      return StoreLittle(to, static_cast<int8_t>(value));
    case 2:
      return StoreLittle(to, static_cast<int16_t>(value));
    case 4:
      return StoreLittle(to, static_cast<int32_t>(value));
    default:
      return StoreLittle(to, value);
  }
}

void LoadFixed(const SqlType& type, uint8_t width, const char* from, uint32_t at, Vector& out) {
  switch (type.storage()) {
    case Storage::kBytes:
      out.bytes[at] = {from, width};
      return;
    case Storage::kDouble:
      out.doubles[at] =
          width == sizeof(float) ? static_cast<double>(LoadLittle<float>(from)) : LoadLittle<double>(from);
      return;
    case Storage::kInt:
      break;
  }
  switch (width) {
    case 1:
      out.ints[at] = LoadLittle<int8_t>(from);
      return;
    case 2:
      out.ints[at] = LoadLittle<int16_t>(from);
      return;
    case 4:
      out.ints[at] = LoadLittle<int32_t>(from);
      if (type.id == TypeId::kDate) out.ints[at] = WidenDate(static_cast<int32_t>(out.ints[at]));
      return;
    default:
      out.ints[at] = LoadLittle<int64_t>(from);
  }
}

Error CorruptRow() { return Error{"XX001", "row is corrupt"}; }

void PutNull(uint32_t at, Vector& out, Arena& arena) {
  EnsureNulls(out, kVectorSize, arena);
  out.SetNull(at);
  // Never uninitialised memory: kernels may read a NULL's value before they look at the bitmap.
  if (out.type.storage() == Storage::kBytes) {
    out.bytes[at] = {};
  } else {
    out.ints[at] = 0;
  }
}

}  // namespace

RowLayout::RowLayout(std::vector<SqlType> columns, std::vector<Rule> rules) : columns_(std::move(columns)) {
  SISAL_CHECK(columns_.size() <= std::numeric_limits<uint16_t>::max());
  SISAL_CHECK(rules.empty() || rules.size() == columns_.size());
  const bool plain =
      std::all_of(rules.begin(), rules.end(), [](const Rule& rule) { return rule.missing.is_null() && !rule.dropped; });
  if (!plain) rules_ = std::move(rules);
  widths_.reserve(columns_.size());
  shapes_.reserve(columns_.size() + 1);
  Shape shape;
  for (const SqlType& column : columns_) {
    const uint8_t width = StoredWidth(column.id);
    widths_.push_back(width);
    shapes_.push_back(shape);
    shape.fixed_bytes += width;
    shape.variable_count += width == 0;
  }
  shapes_.push_back(shape);
}

Status RowLayout::Encode(std::span<const Vector> columns, uint32_t row, std::string& out) const {
  SISAL_CHECK(columns.size() == columns_.size());
  const auto is_null = [&](size_t i) { return columns[i].IsNull(row) || (!rules_.empty() && rules_[i].dropped); };
  const Shape whole = shapes_.back();
  const size_t bitmap_at = kHeaderBytes;
  const size_t fixed_at = bitmap_at + BitmapBytes(columns_.size());
  const size_t ends_at = fixed_at + whole.fixed_bytes;
  const size_t variable_at = ends_at + size_t{whole.variable_count} * sizeof(uint32_t);
  uint64_t size_bytes = variable_at;
  if (whole.variable_count > 0) {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (widths_[i] == 0 && !is_null(i)) size_bytes += columns[i].Bytes(row).size();
    }
  }
  if (size_bytes > kRowBytesMax) {
    return Error{"54000", "row is too big: size " + std::to_string(size_bytes) + ", maximum size " +
                              std::to_string(kRowBytesMax)};
  }
  const size_t start = out.size();
  out.resize(start + size_bytes);
  char* const base = out.data() + start;
  std::memset(base, 0, ends_at);
  StoreLittle(base, kFormatVersion);
  StoreLittle(base + 1, static_cast<uint16_t>(columns_.size()));
  uint32_t end = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    const Vector& values = columns[i];
    const bool null = is_null(i);
    if (null) base[bitmap_at + i / 8] = static_cast<char>(base[bitmap_at + i / 8] | 1 << (i % 8));
    if (widths_[i] != 0) {
      SISAL_DCHECK(null || values.type.storage() != Storage::kBytes || values.Bytes(row).size() == widths_[i]);
      if (!null) StoreFixed(values, row, widths_[i], base + fixed_at + shapes_[i].fixed_bytes);
      continue;
    }
    if (!null && !values.Bytes(row).empty()) {
      const std::string_view bytes = values.Bytes(row);
      std::memcpy(base + variable_at + end, bytes.data(), bytes.size());
      end += static_cast<uint32_t>(bytes.size());
    }
    StoreLittle(base + ends_at + size_t{shapes_[i].variable_count} * sizeof(uint32_t), end);
  }
  return Status();
}

Status RowLayout::Decode(std::string_view row_bytes, size_t column, uint32_t at, Vector& out, Arena& arena) const {
  if (row_bytes.size() < kHeaderBytes || static_cast<uint8_t>(row_bytes[0]) != kFormatVersion) return CorruptRow();
  const size_t count = LoadLittle<uint16_t>(row_bytes.data() + 1);
  if (count > columns_.size()) return CorruptRow();
  const Shape whole = shapes_[count];
  const size_t fixed_at = kHeaderBytes + BitmapBytes(count);
  const size_t ends_at = fixed_at + whole.fixed_bytes;
  const size_t variable_at = ends_at + size_t{whole.variable_count} * sizeof(uint32_t);
  if (row_bytes.size() < variable_at) return CorruptRow();
  if (column >= count) {
    DecodeMissing(column, at, out, arena);
    return Status();
  }
  if ((row_bytes[kHeaderBytes + column / 8] >> (column % 8) & 1) != 0) {
    PutNull(at, out, arena);
    return Status();
  }
  const Shape place = shapes_[column];
  if (widths_[column] != 0) {
    LoadFixed(columns_[column], widths_[column], row_bytes.data() + fixed_at + place.fixed_bytes, at, out);
    return Status();
  }
  const char* const ends = row_bytes.data() + ends_at;
  const size_t end = LoadLittle<uint32_t>(ends + size_t{place.variable_count} * sizeof(uint32_t));
  const size_t begin =
      place.variable_count == 0 ? 0 : LoadLittle<uint32_t>(ends + size_t{place.variable_count - 1} * sizeof(uint32_t));
  if (begin > end || end > row_bytes.size() - variable_at) return CorruptRow();
  const std::string_view bytes = row_bytes.substr(variable_at + begin, end - begin);
  if (columns_[column].id == TypeId::kNumeric && !Numeric::IsValidEncoding(bytes)) return CorruptRow();
  out.bytes[at] = bytes;
  return Status();
}

void RowLayout::DecodeMissing(size_t column, uint32_t at, Vector& out, Arena& arena) const {
  if (rules_.empty() || rules_[column].missing.is_null()) return PutNull(at, out, arena);
  const Datum& value = rules_[column].missing;
  switch (columns_[column].storage()) {
    case Storage::kInt:
      out.ints[at] = value.as_int();
      break;
    case Storage::kDouble:
      out.doubles[at] = value.as_double();
      break;
    case Storage::kBytes:
      out.bytes[at] = value.as_bytes();
      break;
  }
}

}  // namespace sisal::type
