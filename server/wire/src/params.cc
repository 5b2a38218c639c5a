// Values and columns of a request into parameters of the statement's types.
#include <cmath>
#include <limits>

#include "sisal/type/date_time.h"
#include "sisal/type/numeric.h"
#include "sisal/v1/request.pb.h"
#include "sisal/v1/result.pb.h"
#include "sisal/v1/type.pb.h"
#include "sisal/wire/request.h"

namespace sisal::wire {
namespace {

using type::Datum;
using type::SqlType;
using type::TypeId;

Error Mismatch(size_t number, const SqlType& type, std::string_view kind) {
  return Error{"42804", "parameter $" + std::to_string(number) + " is of type " + type.ToString() +
                            " but the value sent is of kind " + std::string(kind)};
}

Result<Datum> FromInteger(int64_t value, const SqlType& type, size_t number) {
  switch (type.id) {
    case TypeId::kSmallint:
      if (value < INT16_MIN || value > INT16_MAX) return Error{"22003", "smallint out of range"};
      return Datum::Int(value);
    case TypeId::kInteger:
      if (value < INT32_MIN || value > INT32_MAX) return Error{"22003", "integer out of range"};
      return Datum::Int(value);
    case TypeId::kBigint:
      return Datum::Int(value);
    case TypeId::kReal:
      return Datum::Double(static_cast<float>(value));
    case TypeId::kDouble:
      return Datum::Double(static_cast<double>(value));
    case TypeId::kNumeric:
      return Datum::Bytes(type::Numeric::FromInt(value).Encode());
    default:
      return Mismatch(number, type, "integer");
  }
}

Result<Datum> FromNumber(double value, const SqlType& type, size_t number) {
  switch (type.id) {
    case TypeId::kReal: {
      const float narrow = static_cast<float>(value);
      if (std::isinf(narrow) && !std::isinf(value)) return Error{"22003", "value out of range: overflow"};
      if (narrow == 0 && value != 0) return Error{"22003", "value out of range: underflow"};
      return Datum::Double(narrow);
    }
    case TypeId::kDouble:
      return Datum::Double(value);
    case TypeId::kNumeric:
      return Datum::Bytes(type::Numeric::FromDouble(value).Encode());
    default:
      return Mismatch(number, type, "number");
  }
}

Result<Datum> FromBlob(std::string_view value, const SqlType& type, size_t number) {
  if (type.id == TypeId::kBytea) return Datum::Bytes(std::string(value));
  if (type.id != TypeId::kUuid) return Mismatch(number, type, "blob");
  if (value.size() == 16) return Datum::Bytes(std::string(value));
  return Error{"22P03",
               "a uuid has 16 bytes, parameter $" + std::to_string(number) + " has " + std::to_string(value.size())};
}

// A column's integers carry dates and times too, by number.
Result<Datum> FromColumnInteger(int64_t value, const SqlType& type, size_t number) {
  const auto check = [&](int64_t low, int64_t high, bool infinities, std::string_view name) -> Result<Datum> {
    if (infinities && type::IsInfinite(value)) return Datum::Int(value);
    if (value < low || value > high) return Error{"22008", std::string(name) + " out of range"};
    return Datum::Int(value);
  };
  switch (type.id) {
    case TypeId::kDate:
      return check(type::kMinDate, type::kMaxDate, true, "date");
    case TypeId::kTime:
      return check(0, type::kMicrosPerDay, false, "time");
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
      return check(type::kMinTimestamp, type::kMaxTimestamp, true, "timestamp");
    default:
      return FromInteger(value, type, number);
  }
}

}  // namespace

Result<Datum> ToDatum(const v1::Value& value, const SqlType& type, size_t number, const type::TextSettings& settings) {
  switch (value.kind_case()) {
    case v1::Value::kNull:
      if (!value.null()) return Error{"22023", "Value.null is false for parameter $" + std::to_string(number)};
      return Datum::Null();
    case v1::Value::kBoolean:
      if (type.id != TypeId::kBoolean) return Mismatch(number, type, "boolean");
      return Datum::Bool(value.boolean());
    case v1::Value::kInteger:
      return FromInteger(value.integer(), type, number);
    case v1::Value::kNumber:
      return FromNumber(value.number(), type, number);
    case v1::Value::kText:
      return type::ParseText(type, value.text(), settings);
    case v1::Value::kBlob:
      return FromBlob(value.blob(), type, number);
    case v1::Value::kArray:
      return Error{"0A000", "arrays (Value.array) are not supported"};
    case v1::Value::KIND_NOT_SET:
      break;
  }
  return Error{"08P01", "the Value of parameter $" + std::to_string(number) + " has no kind set"};
}

Result<std::vector<Datum>> ToParams(const v1::Statement& statement, std::span<const SqlType> types,
                                    const type::TextSettings& settings) {
  const size_t count = static_cast<size_t>(statement.params_size());
  if (count != types.size()) {
    return Error{"08P01", "bind message supplies " + std::to_string(count) +
                              " parameters, but prepared statement \"\" requires " + std::to_string(types.size())};
  }
  std::vector<Datum> params;
  params.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    SISAL_ASSIGN_OR_RETURN(Datum datum, ToDatum(statement.params(static_cast<int>(i)), types[i], i + 1, settings));
    params.push_back(std::move(datum));
  }
  return params;
}

Result<ParamRows> ParamRows::Make(const v1::ColumnBatch& batch, std::span<const SqlType> types,
                                  const type::TextSettings& settings) {
  // Nothing would bound the rows: each costs the client no byte.
  if (types.empty()) return Error{"08P01", "param_rows needs a statement with parameters"};
  if (static_cast<size_t>(batch.columns_size()) != types.size()) {
    return Error{"08P01", "param_rows supplies " + std::to_string(batch.columns_size()) +
                              " columns, but the statement requires " + std::to_string(types.size()) + " parameters"};
  }
  ParamRows rows(batch, types, settings);
  rows.packed_.resize(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    const v1::Column& column = batch.columns(static_cast<int>(i));
    const std::string name = "column " + std::to_string(i + 1) + " of param_rows";
    if (column.has_lists()) return Error{"0A000", "arrays (Column.lists) are not supported"};
    const size_t lists[] = {static_cast<size_t>(column.integers_size()), static_cast<size_t>(column.numbers_size()),
                            static_cast<size_t>(column.texts_size()),    static_cast<size_t>(column.blobs_size()),
                            static_cast<size_t>(column.booleans_size()), static_cast<size_t>(column.lengths_size())};
    size_t filled = 0;
    for (const size_t size : lists) {
      if (size == 0) continue;
      ++filled;
      if (size != batch.row_count()) {
        return Error{"08P01", name + " has " + std::to_string(size) + " values for " +
                                  std::to_string(batch.row_count()) + " rows"};
      }
    }
    const size_t nulls = column.null_bitmap().size();
    if (nulls != 0 && nulls != (size_t{batch.row_count()} + 7) / 8) {
      return Error{"08P01", name + " has " + std::to_string(nulls) + " bytes of null_bitmap for " +
                                std::to_string(batch.row_count()) + " rows"};
    }
    if (batch.row_count() > 0 && filled != 1) {
      return Error{"08P01", name + " fills " + std::to_string(filled) + " lists; it must fill one"};
    }
    SISAL_RETURN_IF_ERROR(rows.PlacePacked(i));
  }
  return rows;
}

Status ParamRows::PlacePacked(size_t index) {
  const v1::Column& column = batch_->columns(static_cast<int>(index));
  std::string_view rest = column.packed();
  for (const uint32_t length : column.lengths()) {
    if (length > rest.size()) return Error{"08P01", "Column.lengths pass the end of Column.packed"};
    packed_[index].push_back(rest.substr(0, length));
    rest.remove_prefix(length);
  }
  if (!rest.empty()) return Error{"08P01", "Column.packed goes on after the last of Column.lengths"};
  return Status();
}

uint32_t ParamRows::row_count() const { return batch_->row_count(); }

Result<std::vector<Datum>> ParamRows::Row(uint32_t row) const {
  std::vector<Datum> params;
  params.reserve(types_.size());
  for (size_t i = 0; i < types_.size(); ++i) {
    const v1::Column& column = batch_->columns(static_cast<int>(i));
    const SqlType& type = types_[i];
    const std::string& nulls = column.null_bitmap();
    const int at = static_cast<int>(row);
    if (row / 8 < nulls.size() && (nulls[row / 8] >> row % 8 & 1) != 0) {
      params.emplace_back();
      continue;
    }
    Result<Datum> datum = Datum::Null();
    if (column.integers_size() > 0) {
      datum = FromColumnInteger(column.integers(at), type, i + 1);
    } else if (column.numbers_size() > 0) {
      datum = FromNumber(column.numbers(at), type, i + 1);
    } else if (column.booleans_size() > 0) {
      if (type.id != TypeId::kBoolean) return Mismatch(i + 1, type, "booleans");
      datum = Datum::Bool(column.booleans(at));
    } else if (column.blobs_size() > 0) {
      datum = FromBlob(column.blobs(at), type, i + 1);
    } else {
      const std::string_view value = column.texts_size() > 0 ? std::string_view(column.texts(at)) : packed_[i][row];
      const bool blob = type.id == TypeId::kBytea || type.id == TypeId::kUuid;
      datum =
          blob && column.texts_size() == 0 ? FromBlob(value, type, i + 1) : type::ParseText(type, value, *settings_);
    }
    if (!datum.ok()) return std::move(datum).error();
    params.push_back(*std::move(datum));
  }
  return params;
}

}  // namespace sisal::wire
