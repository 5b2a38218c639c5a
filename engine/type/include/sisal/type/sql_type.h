// SQL's types as values carry them, and how each is stored in memory, in a row and in a key.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "sisal/base/status.h"

namespace sisal::type {

// Stored in the catalog and in plans: numbers are never reused.
enum class TypeId : uint8_t {
  kUnknown = 0,  // an untyped literal or parameter; a bound plan holds none
  kBoolean = 1,
  kSmallint = 2,
  kInteger = 3,
  kBigint = 4,
  kReal = 5,
  kDouble = 6,
  kNumeric = 7,
  kText = 8,
  kVarchar = 9,
  kChar = 10,
  kBytea = 11,
  kDate = 12,
  kTime = 13,
  kTimestamp = 15,
  kTimestampTz = 16,
  kInterval = 17,
  kUuid = 18,
};

// How a value of the type lies in a Vector, a Datum and a row.
//   kInt     int64_t: boolean (0, 1), the integers, date (days since 1970-01-01), time (microseconds since midnight),
//            timestamp and timestamptz (microseconds since 1970-01-01 00:00, UTC). INT64_MAX and INT64_MIN are infinity
//            and -infinity of date and both timestamps.
//   kDouble  double: double precision; real holds the float's exact value.
//   kBytes   bytes: text, varchar, char (UTF-8), bytea, uuid (16 bytes), numeric and interval (their own encodings, see
//            numeric.h).
enum class Storage : uint8_t { kInt, kDouble, kBytes };
Storage StorageOf(TypeId id);

struct SqlType {
  TypeId id = TypeId::kUnknown;
  int32_t precision =
      -1;             // numeric: digits; time, timestamps, interval: digits of the second's fraction; -1: unconstrained
  int32_t scale = 0;  // numeric with precision
  int32_t length = -1;  // varchar, char: characters, -1: unconstrained

  constexpr SqlType() = default;
  constexpr SqlType(TypeId type_id) : id(type_id) {}  // NOLINT: a TypeId is an unconstrained SqlType
  bool operator==(const SqlType&) const = default;
  Storage storage() const { return StorageOf(id); }
  // As format_type() of PostgreSQL names it: "numeric(10,2)", "character varying(20)", "timestamp with time zone".
  std::string ToString() const;
};

bool IsIntegerType(TypeId id);  // smallint, integer, bigint
bool IsNumberType(TypeId id);   // those, numeric, real, double precision
bool IsTextType(TypeId id);     // text, varchar, char

// PostgreSQL's OID of the built-in type (pg_type.oid).
uint32_t OidOf(TypeId id);
// The name without modifiers: "integer", "character varying".
std::string_view TypeName(TypeId id);

// `name` as the parser gives it, canonical or alias, without schema ("int4", "varchar", "timestamptz"), and the integer
// modifiers in parentheses. Errors: 42704 unknown type, 22023 modifiers out of range, 0A000 a PostgreSQL type that is
// not supported yet (the message names it).
Result<SqlType> ResolveTypeName(std::string_view name, const int32_t* modifiers, size_t modifier_count);

}  // namespace sisal::type
