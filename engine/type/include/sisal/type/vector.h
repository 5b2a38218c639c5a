// Columns of values: what the executor's operators and the function kernels work on.
//
// Memory belongs to an Arena of whoever made the vector; a Vector is a view and is copied freely.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sisal/base/arena.h"
#include "sisal/type/datum.h"
#include "sisal/type/sql_type.h"

namespace sisal::type {

// Rows in a vector at most. First chunks of a scan are smaller, so that LIMIT and point reads do not pay.
inline constexpr uint32_t kVectorSize = 2048;

struct Vector {
  SqlType type;
  bool constant = false;      // one value, at index 0, stands for all rows
  uint64_t* nulls = nullptr;  // bit i set: row i is NULL (its value is unspecified); nullptr: no NULLs
  union {
    int64_t* ints = nullptr;
    double* doubles;
    std::string_view* bytes;
  };

  uint32_t IndexOf(uint32_t row) const { return constant ? 0 : row; }
  bool IsNull(uint32_t row) const {
    const uint32_t i = IndexOf(row);
    return nulls != nullptr && (nulls[i / 64] >> (i % 64) & 1) != 0;
  }
  int64_t Int(uint32_t row) const { return ints[IndexOf(row)]; }
  double Double(uint32_t row) const { return doubles[IndexOf(row)]; }
  std::string_view Bytes(uint32_t row) const { return bytes[IndexOf(row)]; }
  // Requires: not constant; nulls allocated (see EnsureNulls) when `null` can be true.
  void SetNull(uint32_t row) { nulls[row / 64] |= uint64_t{1} << (row % 64); }
  Datum ToDatum(uint32_t row) const;
};

// A vector of `capacity` uninitialised values without NULLs.
Vector MakeVector(const SqlType& type, uint32_t capacity, Arena& arena);
// Gives `vector` an all-clear bitmap of `capacity` bits if it has none.
void EnsureNulls(Vector& vector, uint32_t capacity, Arena& arena);
Vector MakeConstant(const SqlType& type, const Datum& value, Arena& arena);

// Ascending positions of the rows that count; data == nullptr: all of [0, count).
struct Selection {
  const uint16_t* data = nullptr;
  uint32_t count = 0;
  uint32_t operator[](uint32_t i) const { return data == nullptr ? i : data[i]; }
};

// Equally long vectors.
struct Chunk {
  uint32_t row_count = 0;
  std::span<Vector> columns;
};

}  // namespace sisal::type
