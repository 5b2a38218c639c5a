// Casts to and from the text types, and the modifiers of a type.
#include "format_value.h"
#include "kernel.h"
#include "registry.h"
#include "sisal/type/date_time.h"
#include "sisal/type/numeric.h"
#include "utf8.h"

namespace sisal::function {

using enum type::TypeId;
using Bytes = std::string_view;

void AppendOutput(const type::Vector& vector, uint32_t row, const type::TextSettings& settings, std::string& out) {
  const type::TypeId id = vector.type.id;
  switch (vector.type.storage()) {
    case type::Storage::kInt:
      type::FormatInt(id, vector.Int(row), settings, out);
      break;
    case type::Storage::kDouble:
      type::FormatDouble(id, vector.Double(row), out);
      break;
    case type::Storage::kBytes:
      type::FormatBytes(id, vector.Bytes(row), settings, out);
      break;
  }
}

namespace {

Bytes WithoutPadding(Bytes text) { return text.substr(0, text.find_last_not_of(' ') + 1); }

}  // namespace

void AppendAsText(const type::Vector& vector, uint32_t row, const type::TextSettings& settings, std::string& out) {
  if (vector.type.id == kBoolean) {
    out.append(vector.Int(row) != 0 ? "true" : "false");
  } else if (vector.type.id == kChar) {
    out.append(WithoutPadding(vector.Bytes(row)));
  } else {
    AppendOutput(vector, row, settings, out);
  }
}

namespace {

Status FormatKernel(const Call& call, type::Vector& out) {
  std::string buffer;
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    const uint32_t row = call.rows[i];
    buffer.clear();
    AppendAsText(call.args[0], row, call.context.text, buffer);
    out.bytes[row] = call.arena.Copy(buffer);
  }
  return Status();
}

template <type::TypeId kTo>
Status ParseKernel(const Call& call, type::Vector& out) {
  const type::SqlType to(kTo);
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    const uint32_t row = call.rows[i];
    Bytes text = call.args[0].Bytes(row);
    if (call.args[0].type.id == kChar) text = WithoutPadding(text);
    SISAL_ASSIGN_OR_RETURN(const type::Datum value, ParseText(to, text, call.context.text));
    switch (to.storage()) {
      case type::Storage::kInt:
        out.ints[row] = value.as_int();
        break;
      case type::Storage::kDouble:
        out.doubles[row] = value.as_double();
        break;
      case type::Storage::kBytes:
        out.bytes[row] = call.arena.Copy(value.as_bytes());
        break;
    }
  }
  return Status();
}

// Through the text form, both ways. Text comes in explicitly only; it goes out on assignment too.
template <type::TypeId kType>
void RegisterTextForm(Registry& registry) {
  for (const type::TypeId text : {kText, kVarchar, kChar}) {
    registry.AddCast(text, kType, CastContext::kExplicit, ParseKernel<kType>).volatility = Volatility::kStable;
    registry.AddCast(kType, text, CastContext::kAssignment, FormatKernel).volatility = Volatility::kStable;
  }
}

// Bytes that `text` may keep under a length of `characters`; `blanks_only`: the rest is only blanks.
size_t OffsetOfLimit(Bytes text, int32_t characters, bool& blanks_only) {
  const size_t offset = OffsetOfCharacter(text, static_cast<uint64_t>(characters));
  blanks_only = text.find_first_not_of(' ', offset) == Bytes::npos;
  return offset;
}

Status ApplyLength(const Call& call, const type::SqlType& to, bool explicit_cast, type::Vector& out) {
  const auto limit = static_cast<size_t>(to.length);
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    const uint32_t row = call.rows[i];
    Bytes text = call.args[0].Bytes(row);
    if (text.size() > limit) {  // else it cannot have too many characters
      bool blanks_only = false;
      const size_t offset = OffsetOfLimit(text, to.length, blanks_only);
      if (offset < text.size() && !blanks_only && !explicit_cast) {
        return Error("22001", "value too long for type " + to.ToString());
      }
      text = text.substr(0, offset);
    }
    if (to.id == kChar) {
      const size_t present = CharacterCount(text);
      if (present < limit) {
        char* const place = static_cast<char*>(call.arena.Allocate(text.size() + limit - present, 1));
        std::copy(text.begin(), text.end(), place);
        std::memset(place + text.size(), ' ', limit - present);
        text = {place, text.size() + limit - present};
      }
    }
    out.bytes[row] = text;
  }
  return Status();
}

Status ApplyPrecision(const Call& call, const type::SqlType& to, type::Vector& out) {
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    const uint32_t row = call.rows[i];
    type::Numeric value = type::Numeric::Decode(call.args[0].Bytes(row));
    SISAL_RETURN_IF_ERROR(value.ApplyPrecision(to.precision, to.scale));
    out.bytes[row] = value.EncodeIn(call.arena);
  }
  return Status();
}

// The digits of the second's fraction.
Status ApplyFraction(const Call& call, const type::SqlType& to, type::Vector& out) {
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    const uint32_t row = call.rows[i];
    if (to.id == kInterval) {
      const type::Interval value = type::Interval::Decode(call.args[0].Bytes(row));
      out.bytes[row] = call.arena.Copy(type::RoundInterval(value, to.precision).Encode());
    } else if (to.id == kTime) {
      out.ints[row] = type::RoundTime(call.args[0].Int(row), to.precision);
    } else {
      SISAL_ASSIGN_OR_RETURN(out.ints[row], type::RoundTimestamp(call.args[0].Int(row), to.precision));
    }
  }
  return Status();
}

bool HasFraction(type::TypeId id) { return id == kTime || id == kTimestamp || id == kTimestampTz || id == kInterval; }

Status CopyValues(const Call& call, type::Vector& out) {
  const type::Vector& from = call.args[0];
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    const uint32_t row = call.rows[i];
    switch (out.type.storage()) {
      case type::Storage::kInt:
        out.ints[row] = from.Int(row);
        break;
      case type::Storage::kDouble:
        out.doubles[row] = from.Double(row);
        break;
      case type::Storage::kBytes:
        out.bytes[row] = from.Bytes(row);
        break;
    }
  }
  return Status();
}

}  // namespace

Status ApplyModifiersKernel(const Call& call, const type::SqlType& to, bool explicit_cast, type::Vector& out) {
  if (to.id == kNumeric && to.precision >= 0) return ApplyPrecision(call, to, out);
  if ((to.id == kVarchar || to.id == kChar) && to.length >= 0) return ApplyLength(call, to, explicit_cast, out);
  if (HasFraction(to.id) && to.precision >= 0) return ApplyFraction(call, to, out);
  return CopyValues(call, out);
}

void RegisterTextCasts(Registry& registry) {
  using enum CastContext;
  constexpr Kernel kSame = nullptr;
  constexpr Kernel kCutPadding = Map<[](Bytes text) { return WithoutPadding(text); }>;
  registry.AddCast(kVarchar, kText, kImplicit, kSame);
  registry.AddCast(kText, kVarchar, kImplicit, kSame);
  registry.AddCast(kText, kChar, kImplicit, kSame);
  registry.AddCast(kVarchar, kChar, kImplicit, kSame);
  registry.AddCast(kChar, kText, kImplicit, kCutPadding);
  registry.AddCast(kChar, kVarchar, kImplicit, kCutPadding);

  RegisterTextForm<kBoolean>(registry);
  RegisterTextForm<kSmallint>(registry);
  RegisterTextForm<kInteger>(registry);
  RegisterTextForm<kBigint>(registry);
  RegisterTextForm<kReal>(registry);
  RegisterTextForm<kDouble>(registry);
  RegisterTextForm<kNumeric>(registry);
  RegisterTextForm<kBytea>(registry);
  RegisterTextForm<kDate>(registry);
  RegisterTextForm<kTime>(registry);
  RegisterTextForm<kTimestamp>(registry);
  RegisterTextForm<kTimestampTz>(registry);
  RegisterTextForm<kInterval>(registry);
  RegisterTextForm<kUuid>(registry);
}

}  // namespace sisal::function
