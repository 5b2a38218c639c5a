// How wide a value of a type is in rows and keys.
#pragma once

#include <cstdint>

#include "sisal/type/sql_type.h"

namespace sisal::type {

// In bytes; 0: variable.
inline uint8_t StoredWidth(TypeId id) {
  switch (id) {
    case TypeId::kBoolean:
      return 1;
    case TypeId::kSmallint:
      return 2;
    case TypeId::kInteger:
    case TypeId::kReal:
    case TypeId::kDate:
      return 4;
    case TypeId::kBigint:
    case TypeId::kDouble:
    case TypeId::kTime:
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
      return 8;
    case TypeId::kInterval:
    case TypeId::kUuid:
      return 16;
    default:
      return 0;
  }
}

// Dates fit in four bytes (see kMaxDate), their infinities move with them.
inline int32_t NarrowDate(int64_t days) {
  return days == INT64_MAX ? INT32_MAX : days == INT64_MIN ? INT32_MIN : static_cast<int32_t>(days);
}
inline int64_t WidenDate(int32_t days) { return days == INT32_MAX ? INT64_MAX : days == INT32_MIN ? INT64_MIN : days; }

}  // namespace sisal::type
