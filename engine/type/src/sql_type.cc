#include "sisal/type/sql_type.h"

#include <array>

namespace sisal::type {
namespace {

struct TypeInfo {
  TypeId id;
  std::string_view name;
  uint32_t oid;
  Storage storage;
};
// By TypeId; unused numbers are filled with kUnknown.
constexpr std::array<TypeInfo, 19> kTypes = {{
    {TypeId::kUnknown, "unknown", 705, Storage::kBytes},
    {TypeId::kBoolean, "boolean", 16, Storage::kInt},
    {TypeId::kSmallint, "smallint", 21, Storage::kInt},
    {TypeId::kInteger, "integer", 23, Storage::kInt},
    {TypeId::kBigint, "bigint", 20, Storage::kInt},
    {TypeId::kReal, "real", 700, Storage::kDouble},
    {TypeId::kDouble, "double precision", 701, Storage::kDouble},
    {TypeId::kNumeric, "numeric", 1700, Storage::kBytes},
    {TypeId::kText, "text", 25, Storage::kBytes},
    {TypeId::kVarchar, "character varying", 1043, Storage::kBytes},
    {TypeId::kChar, "character", 1042, Storage::kBytes},
    {TypeId::kBytea, "bytea", 17, Storage::kBytes},
    {TypeId::kDate, "date", 1082, Storage::kInt},
    {TypeId::kTime, "time without time zone", 1083, Storage::kInt},
    {TypeId::kUnknown, "unknown", 705, Storage::kBytes},
    {TypeId::kTimestamp, "timestamp without time zone", 1114, Storage::kInt},
    {TypeId::kTimestampTz, "timestamp with time zone", 1184, Storage::kInt},
    {TypeId::kInterval, "interval", 1186, Storage::kBytes},
    {TypeId::kUuid, "uuid", 2950, Storage::kBytes},
}};

const TypeInfo& InfoOf(TypeId id) {
  const size_t index = static_cast<size_t>(id);
  return kTypes[index < kTypes.size() ? index : 0];
}

struct TypeAlias {
  std::string_view name;
  TypeId id;
};
constexpr TypeAlias kAliases[] = {
    {"bool", TypeId::kBoolean},
    {"boolean", TypeId::kBoolean},
    {"int2", TypeId::kSmallint},
    {"smallint", TypeId::kSmallint},
    {"int4", TypeId::kInteger},
    {"int", TypeId::kInteger},
    {"integer", TypeId::kInteger},
    {"int8", TypeId::kBigint},
    {"bigint", TypeId::kBigint},
    {"float4", TypeId::kReal},
    {"real", TypeId::kReal},
    {"float8", TypeId::kDouble},
    {"double precision", TypeId::kDouble},
    {"numeric", TypeId::kNumeric},
    {"decimal", TypeId::kNumeric},
    {"text", TypeId::kText},
    {"varchar", TypeId::kVarchar},
    {"character varying", TypeId::kVarchar},
    {"bpchar", TypeId::kChar},
    {"character", TypeId::kChar},
    {"bytea", TypeId::kBytea},
    {"date", TypeId::kDate},
    {"time", TypeId::kTime},
    {"time without time zone", TypeId::kTime},
    {"timestamp", TypeId::kTimestamp},
    {"timestamp without time zone", TypeId::kTimestamp},
    {"timestamptz", TypeId::kTimestampTz},
    {"timestamp with time zone", TypeId::kTimestampTz},
    {"interval", TypeId::kInterval},
    {"uuid", TypeId::kUuid},
    {"unknown", TypeId::kUnknown},
};

// Types of PostgreSQL that exist there, so that the error says "not supported" and not "does not exist".
constexpr std::string_view kKnownUnsupported[] = {
    "aclitem",
    "bit",
    "box",
    "char",
    "cid",
    "cidr",
    "circle",
    "cstring",
    "datemultirange",
    "daterange",
    "inet",
    "int2vector",
    "int4multirange",
    "int4range",
    "int8multirange",
    "int8range",
    "json",
    "jsonb",
    "jsonpath",
    "line",
    "lseg",
    "macaddr",
    "macaddr8",
    "money",
    "name",
    "nummultirange",
    "numrange",
    "oid",
    "oidvector",
    "path",
    "pg_lsn",
    "pg_snapshot",
    "point",
    "polygon",
    "record",
    "refcursor",
    "regclass",
    "regcollation",
    "regconfig",
    "regdictionary",
    "regnamespace",
    "regoper",
    "regoperator",
    "regproc",
    "regprocedure",
    "regrole",
    "regtype",
    "tid",
    "time with time zone",
    "timetz",
    "tsmultirange",
    "tsquery",
    "tsrange",
    "tstzmultirange",
    "tstzrange",
    "tsvector",
    "txid_snapshot",
    "varbit",
    "void",
    "xid",
    "xid8",
    "xml",
};

constexpr int32_t kNumericPrecisionMax = 1000;
constexpr int32_t kNumericScaleMin = -1000;
constexpr int32_t kNumericScaleMax = 1000;
constexpr int32_t kCharacterLengthMax = 10'485'760;
constexpr int32_t kFractionDigitsMax = 6;
constexpr int32_t kIntervalFullRange = 0x7FFF;

Status ResolveNumeric(const int32_t* modifiers, size_t count, SqlType& type) {
  if (count > 2) return Error{"22023", "invalid NUMERIC type modifier"};
  const int32_t precision = modifiers[0];
  const int32_t scale = count == 2 ? modifiers[1] : 0;
  if (precision < 1 || precision > kNumericPrecisionMax) {
    return Error{"22023", "NUMERIC precision " + std::to_string(precision) + " must be between 1 and 1000"};
  }
  if (scale < kNumericScaleMin || scale > kNumericScaleMax) {
    return Error{"22023", "NUMERIC scale " + std::to_string(scale) + " must be between -1000 and 1000"};
  }
  type.precision = precision;
  type.scale = scale;
  return Status();
}

Status ResolveLength(std::string_view name, const int32_t* modifiers, size_t count, SqlType& type) {
  if (count != 1) return Error{"22023", "invalid type modifier"};
  if (modifiers[0] < 1) return Error{"22023", "length for type " + std::string(name) + " must be at least 1"};
  if (modifiers[0] > kCharacterLengthMax) {
    return Error{"22023",
                 "length for type " + std::string(name) + " cannot exceed " + std::to_string(kCharacterLengthMax)};
  }
  type.length = modifiers[0];
  return Status();
}

// PostgreSQL lowers a precision above 6 with a warning; so do we, without one.
Status ResolveFraction(std::string_view name, const int32_t* modifiers, size_t count, SqlType& type) {
  if (count != 1) return Error{"22023", "invalid type modifier"};
  if (modifiers[0] < 0) {
    return Error{"22023", std::string(name) + "(" + std::to_string(modifiers[0]) + ")" +
                              (type.id == TypeId::kTimestampTz ? " WITH TIME ZONE" : "") +
                              " precision must not be negative"};
  }
  type.precision = std::min(modifiers[0], kFractionDigitsMax);
  return Status();
}

// The parser gives interval(p) as {range mask, p} and "interval day to second" as {mask}.
Status ResolveInterval(const int32_t* modifiers, size_t count, SqlType& type) {
  if (count > 2) return Error{"22023", "invalid INTERVAL type modifier"};
  if (modifiers[0] != kIntervalFullRange) return Error{"0A000", "interval fields are not supported"};
  if (count == 1) return Status();
  return ResolveFraction("INTERVAL", modifiers + 1, 1, type);
}

std::string FractionSuffix(std::string_view name, std::string_view rest, int32_t precision) {
  std::string text(name);
  if (precision >= 0) text += "(" + std::to_string(precision) + ")";
  return text.append(rest);
}

}  // namespace

Storage StorageOf(TypeId id) { return InfoOf(id).storage; }
uint32_t OidOf(TypeId id) { return InfoOf(id).oid; }
std::string_view TypeName(TypeId id) { return InfoOf(id).name; }

bool IsIntegerType(TypeId id) { return id >= TypeId::kSmallint && id <= TypeId::kBigint; }
bool IsNumberType(TypeId id) { return id >= TypeId::kSmallint && id <= TypeId::kNumeric; }
bool IsTextType(TypeId id) { return id >= TypeId::kText && id <= TypeId::kChar; }

std::string SqlType::ToString() const {
  switch (id) {
    case TypeId::kNumeric:
      if (precision < 0) break;
      return "numeric(" + std::to_string(precision) + "," + std::to_string(scale) + ")";
    case TypeId::kVarchar:
    case TypeId::kChar:
      if (length < 0) return id == TypeId::kChar ? "bpchar" : std::string(TypeName(id));
      return std::string(TypeName(id)) + "(" + std::to_string(length) + ")";
    case TypeId::kTime:
      return FractionSuffix("time", " without time zone", precision);
    case TypeId::kTimestamp:
      return FractionSuffix("timestamp", " without time zone", precision);
    case TypeId::kTimestampTz:
      return FractionSuffix("timestamp", " with time zone", precision);
    case TypeId::kInterval:
      return FractionSuffix("interval", "", precision);
    default:
      break;
  }
  return std::string(TypeName(id));
}

Result<SqlType> ResolveTypeName(std::string_view name, const int32_t* modifiers, size_t modifier_count) {
  const TypeAlias* found = nullptr;
  for (const TypeAlias& alias : kAliases) {
    if (alias.name == name) found = &alias;
  }
  if (found == nullptr) {
    for (std::string_view known : kKnownUnsupported) {
      if (known == name) return Error{"0A000", "type \"" + std::string(name) + "\" is not supported"};
    }
    return Error{"42704", "type \"" + std::string(name) + "\" does not exist"};
  }
  SqlType type(found->id);
  if (modifier_count == 0) {
    if (name == "character") type.length = 1;
    return type;
  }
  switch (type.id) {
    case TypeId::kNumeric:
      SISAL_RETURN_IF_ERROR(ResolveNumeric(modifiers, modifier_count, type));
      break;
    case TypeId::kVarchar:
      SISAL_RETURN_IF_ERROR(ResolveLength("varchar", modifiers, modifier_count, type));
      break;
    case TypeId::kChar:
      SISAL_RETURN_IF_ERROR(ResolveLength("char", modifiers, modifier_count, type));
      break;
    case TypeId::kTime:
      SISAL_RETURN_IF_ERROR(ResolveFraction("TIME", modifiers, modifier_count, type));
      break;
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
      SISAL_RETURN_IF_ERROR(ResolveFraction("TIMESTAMP", modifiers, modifier_count, type));
      break;
    case TypeId::kInterval:
      SISAL_RETURN_IF_ERROR(ResolveInterval(modifiers, modifier_count, type));
      break;
    default:
      return Error{"42601", "type modifier is not allowed for type \"" + std::string(name) + "\""};
  }
  return type;
}

}  // namespace sisal::type
