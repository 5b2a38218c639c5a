// One SQL value with its own memory: constants, parameters, defaults. Rows on the hot path are Vectors instead.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "sisal/base/status.h"
#include "sisal/type/sql_type.h"

namespace sisal::type {

class Datum {
 public:
  Datum() = default;  // NULL
  static Datum Null() { return Datum(); }
  static Datum Int(int64_t value) { return Datum(Payload(value)); }
  static Datum Bool(bool value) { return Int(value ? 1 : 0); }
  static Datum Double(double value) { return Datum(Payload(value)); }
  static Datum Bytes(std::string value) { return Datum(Payload(std::move(value))); }

  bool is_null() const { return payload_.index() == 0; }
  // Requires: the storage class of the value's type.
  int64_t as_int() const { return std::get<int64_t>(payload_); }
  bool as_bool() const { return as_int() != 0; }
  double as_double() const { return std::get<double>(payload_); }
  const std::string& as_bytes() const { return std::get<std::string>(payload_); }
  bool operator==(const Datum&) const = default;  // bitwise: NULL equals NULL, 1.0 and 1.00 differ

 private:
  using Payload = std::variant<std::monostate, int64_t, double, std::string>;
  explicit Datum(Payload payload) : payload_(std::move(payload)) {}
  Payload payload_;
};

// What SET changes about input and output.
struct TextSettings {
  std::string time_zone = "UTC";  // only UTC and fixed offsets are supported; others are refused at SET
  int32_t time_zone_offset_seconds = 0;
  int64_t now_micros = 0;  // the transaction's start, for 'now', 'today', ...
};

// The type's input function (PostgreSQL manual, chapter 8). `text` need not be valid in any way.
// Errors: 22P02 malformed, 22003 out of range, 22007/22008 dates, 22001 too long, 22021 invalid UTF-8; messages as
// PostgreSQL's: invalid input syntax for type integer: "abc".
Result<Datum> ParseText(const SqlType& type, std::string_view text, const TextSettings& settings);

// The type's output function under DateStyle ISO and extra_float_digits 1. Requires: !value.is_null().
std::string FormatText(const SqlType& type, const Datum& value, const TextSettings& settings);
// The same for a value out of a Vector; appended to `out`.
void FormatInt(TypeId id, int64_t value, const TextSettings& settings, std::string& out);
void FormatDouble(TypeId id, double value, std::string& out);
void FormatBytes(TypeId id, std::string_view value, const TextSettings& settings, std::string& out);

// Makes `value` obey the type's modifiers, as an assignment does: numeric is rounded to its scale (22003 on overflow),
// varchar and char are checked for length (22001; trailing blanks are cut) and char is padded. `explicit_cast`: cut
// without an error, as CAST does.
Status ApplyModifiers(const SqlType& type, bool explicit_cast, Datum& value);

// -1, 0, 1 in the type's ordering (text: bytewise, collation C; NaN above all numbers). Requires: neither is NULL.
int Compare(const SqlType& type, const Datum& a, const Datum& b);
int CompareBytes(TypeId id, std::string_view a, std::string_view b);  // for types with Storage::kBytes
int CompareDoubles(double a, double b);
// Equal values have equal hashes (1.0 and 1.00, 0.0 and -0.0 too).
uint64_t HashInt(int64_t value);
uint64_t HashDouble(double value);
uint64_t HashBytes(TypeId id, std::string_view value);

}  // namespace sisal::type
