#include "sisal/type/datum.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "characters.h"
#include "hash.h"
#include "sisal/type/date_time.h"
#include "sisal/type/numeric.h"

namespace sisal::type {
namespace {

Status ApplyLength(const SqlType& type, bool explicit_cast, Datum& value) {
  if (type.length < 0) return Status();
  const std::string& text = value.as_bytes();
  const size_t length = static_cast<size_t>(type.length);
  if (type.id == TypeId::kVarchar && text.size() <= length) return Status();
  size_t characters = 0;
  const size_t kept = BytesOfCharacters(text, length, characters);
  if (kept == std::string_view::npos) {
    if (type.id != TypeId::kChar) return Status();
    std::string padded = text;
    padded.append(length - characters, ' ');
    value = Datum::Bytes(std::move(padded));
    return Status();
  }
  if (kept == text.size()) return Status();
  if (!explicit_cast && text.find_first_not_of(' ', kept) != std::string::npos) {
    return Error{"22001", "value too long for type " + type.ToString()};
  }
  value = Datum::Bytes(text.substr(0, kept));
  return Status();
}

}  // namespace

Status ApplyModifiers(const SqlType& type, bool explicit_cast, Datum& value) {
  if (value.is_null()) return Status();
  switch (type.id) {
    case TypeId::kVarchar:
    case TypeId::kChar:
      return ApplyLength(type, explicit_cast, value);
    case TypeId::kNumeric: {
      if (type.precision < 0) return Status();
      Numeric number = Numeric::Decode(value.as_bytes());
      SISAL_RETURN_IF_ERROR(number.ApplyPrecision(type.precision, type.scale));
      value = Datum::Bytes(number.Encode());
      return Status();
    }
    case TypeId::kTime:
      if (type.precision >= 0) value = Datum::Int(RoundTime(value.as_int(), type.precision));
      return Status();
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz: {
      if (type.precision < 0) return Status();
      SISAL_ASSIGN_OR_RETURN(const int64_t rounded, RoundTimestamp(value.as_int(), type.precision));
      value = Datum::Int(rounded);
      return Status();
    }
    case TypeId::kInterval:
      if (type.precision >= 0) {
        value = Datum::Bytes(RoundInterval(Interval::Decode(value.as_bytes()), type.precision).Encode());
      }
      return Status();
    default:
      return Status();
  }
}

int CompareDoubles(double a, double b) {
  if (a < b) return -1;
  if (a > b) return 1;
  if (a == b) return 0;
  return static_cast<int>(std::isnan(a)) - static_cast<int>(std::isnan(b));
}

int CompareBytes(TypeId id, std::string_view a, std::string_view b) {
  switch (id) {
    case TypeId::kNumeric:
      return CompareEncodedNumerics(a, b);
    case TypeId::kInterval: {
      const __int128 span_a = Interval::Decode(a).Span();
      const __int128 span_b = Interval::Decode(b).Span();
      return (span_a > span_b) - (span_a < span_b);
    }
    case TypeId::kChar:
      a = TrimChar(a);
      b = TrimChar(b);
      break;
    default:
      break;
  }
  const int order = a.compare(b);
  return (order > 0) - (order < 0);
}

int Compare(const SqlType& type, const Datum& a, const Datum& b) {
  switch (type.storage()) {
    case Storage::kInt:
      return (a.as_int() > b.as_int()) - (a.as_int() < b.as_int());
    case Storage::kDouble:
      return CompareDoubles(a.as_double(), b.as_double());
    case Storage::kBytes:
      return CompareBytes(type.id, a.as_bytes(), b.as_bytes());
  }
  return 0;
}

uint64_t HashInt(int64_t value) { return MixHash(static_cast<uint64_t>(value)); }

uint64_t HashDouble(double value) {
  if (value == 0) value = 0;  // -0.0
  if (std::isnan(value)) return MixHash(1);
  return MixHash(std::bit_cast<uint64_t>(value) + 2);
}

uint64_t HashBytes(TypeId id, std::string_view value) {
  switch (id) {
    case TypeId::kNumeric:
      return HashEncodedNumeric(value);
    case TypeId::kInterval: {
      const __int128 span = Interval::Decode(value).Span();
      return MixHash(static_cast<uint64_t>(span) + MixHash(static_cast<uint64_t>(span >> 64)));
    }
    case TypeId::kChar:
      return HashSpan(TrimChar(value));
    default:
      return HashSpan(value);
  }
}

}  // namespace sisal::type
