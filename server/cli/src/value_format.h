// The text of a value as PostgreSQL 15 prints it under DateStyle ISO, IntervalStyle postgres and extra_float_digits 1.
//
// A ResultChunk carries columns (type.proto says which list holds which type); the server's word is not taken for
// their lengths: CheckBatch comes first.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "sisal/base/status.h"
#include "sisal/v1/type.pb.h"

namespace sisal::cli {
struct Cell {
  bool is_null = false;
  std::string text;  // empty if is_null
};

using ColumnTypes = google::protobuf::RepeatedPtrField<v1::ColumnType>;

// 08P01 unless each column of `batch` holds one value of its type for each row; 0A000 for an array.
Status CheckBatch(const ColumnTypes& types, const v1::ColumnBatch& batch);

// Requires: CheckBatch has passed and row < row_count.
void FormatCell(const v1::ColumnType& type, const v1::Column& column, uint32_t row, Cell* cell);

// Each appends to `text`.
void AppendDate(int64_t days, std::string* text);
void AppendTime(int64_t microseconds, std::string* text);
void AppendTimestamp(int64_t microseconds, bool with_time_zone, std::string* text);
void AppendBytea(std::string_view bytes, std::string* text);
void AppendUuid(std::string_view bytes, std::string* text);
void AppendDouble(double value, std::string* text);
void AppendReal(float value, std::string* text);

// psql aligns numbers to the right.
bool IsNumber(const v1::ColumnType& type);
}  // namespace sisal::cli
