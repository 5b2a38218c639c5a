#include "sisal/type/vector.h"

#include <algorithm>

namespace sisal::type {

Datum Vector::ToDatum(uint32_t row) const {
  if (IsNull(row)) return Datum::Null();
  switch (type.storage()) {
    case Storage::kInt:
      return Datum::Int(Int(row));
    case Storage::kDouble:
      return Datum::Double(Double(row));
    case Storage::kBytes:
      return Datum::Bytes(std::string(Bytes(row)));
  }
  return Datum::Null();
}

Vector MakeVector(const SqlType& type, uint32_t capacity, Arena& arena) {
  Vector vector;
  vector.type = type;
  switch (type.storage()) {
    case Storage::kInt:
      vector.ints = arena.AllocateArray<int64_t>(capacity);
      break;
    case Storage::kDouble:
      vector.doubles = arena.AllocateArray<double>(capacity);
      break;
    case Storage::kBytes:
      vector.bytes = arena.AllocateArray<std::string_view>(capacity);
      break;
  }
  return vector;
}

void EnsureNulls(Vector& vector, uint32_t capacity, Arena& arena) {
  if (vector.nulls != nullptr) return;
  const size_t words = (static_cast<size_t>(capacity) + 63) / 64;
  vector.nulls = arena.AllocateArray<uint64_t>(words);
  std::fill_n(vector.nulls, words, 0);
}

Vector MakeConstant(const SqlType& type, const Datum& value, Arena& arena) {
  Vector vector = MakeVector(type, 1, arena);
  vector.constant = true;
  if (value.is_null()) {
    EnsureNulls(vector, 1, arena);
    vector.nulls[0] = 1;
    vector.ints[0] = 0;  // unspecified, but never uninitialised memory
    if (type.storage() == Storage::kBytes) vector.bytes[0] = {};
    return vector;
  }
  switch (type.storage()) {
    case Storage::kInt:
      vector.ints[0] = value.as_int();
      break;
    case Storage::kDouble:
      vector.doubles[0] = value.as_double();
      break;
    case Storage::kBytes:
      vector.bytes[0] = arena.Copy(value.as_bytes());
      break;
  }
  return vector;
}

}  // namespace sisal::type
