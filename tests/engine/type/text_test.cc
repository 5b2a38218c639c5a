// Input and output functions. Expected values and messages are PostgreSQL 15's.
#include <gmock/gmock.h>

#include <cstring>

#include "sisal/base/random.h"
#include "sisal/testing/status_matchers.h"
#include "sisal/type/datum.h"

namespace sisal::type {
namespace {

// The text after input and output, or the error as "SQLSTATE message".
std::string RoundTrip(const SqlType& type, std::string_view text) {
  const Result<Datum> value = ParseText(type, text, TextSettings());
  if (!value.ok()) return std::string(value.error().sqlstate()) + " " + value.error().message();
  return FormatText(type, *value, TextSettings());
}

SqlType WithLength(TypeId id, int32_t length) {
  SqlType type(id);
  type.length = length;
  return type;
}

TEST(IntegerTextTest, ReadsWhatPostgresReads) {
  EXPECT_EQ(RoundTrip(TypeId::kInteger, " \t-42\n"), "-42");
  EXPECT_EQ(RoundTrip(TypeId::kInteger, "+7"), "7");
  EXPECT_EQ(RoundTrip(TypeId::kInteger, "-2147483648"), "-2147483648");
  EXPECT_EQ(RoundTrip(TypeId::kSmallint, "-32768"), "-32768");
  EXPECT_EQ(RoundTrip(TypeId::kBigint, "-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(RoundTrip(TypeId::kBigint, "9223372036854775807"), "9223372036854775807");
}

TEST(IntegerTextTest, RefusesWhatPostgresRefuses) {
  EXPECT_EQ(RoundTrip(TypeId::kInteger, "abc"), "22P02 invalid input syntax for type integer: \"abc\"");
  EXPECT_EQ(RoundTrip(TypeId::kInteger, ""), "22P02 invalid input syntax for type integer: \"\"");
  EXPECT_EQ(RoundTrip(TypeId::kInteger, "1_000"), "22P02 invalid input syntax for type integer: \"1_000\"");
  EXPECT_EQ(RoundTrip(TypeId::kInteger, "0x10"), "22P02 invalid input syntax for type integer: \"0x10\"");
  EXPECT_EQ(RoundTrip(TypeId::kInteger, "1.0"), "22P02 invalid input syntax for type integer: \"1.0\"");
  EXPECT_EQ(RoundTrip(TypeId::kInteger, "- 1"), "22P02 invalid input syntax for type integer: \"- 1\"");
  EXPECT_EQ(RoundTrip(TypeId::kInteger, "2147483648"), "22003 value \"2147483648\" is out of range for type integer");
  EXPECT_EQ(RoundTrip(TypeId::kSmallint, "32768"), "22003 value \"32768\" is out of range for type smallint");
  EXPECT_EQ(RoundTrip(TypeId::kBigint, "9223372036854775808"),
            "22003 value \"9223372036854775808\" is out of range for type bigint");
}

TEST(BooleanTextTest, TakesPrefixes) {
  for (const char* text : {"t", "TRUE", "tr", "yes", "y", "on", "1", " true "}) {
    EXPECT_EQ(RoundTrip(TypeId::kBoolean, text), "t") << text;
  }
  for (const char* text : {"f", "False", "no", "n", "off", "of", "0"}) {
    EXPECT_EQ(RoundTrip(TypeId::kBoolean, text), "f") << text;
  }
  for (const char* text : {"", "o", "truex", "2", "00", "yess"}) {
    EXPECT_EQ(RoundTrip(TypeId::kBoolean, text),
              "22P02 invalid input syntax for type boolean: \"" + std::string(text) + "\"");
  }
}

TEST(FloatTextTest, PrintsTheShortestFormThatReadsBack) {
  EXPECT_EQ(RoundTrip(TypeId::kDouble, "0.1"), "0.1");
  EXPECT_EQ(RoundTrip(TypeId::kDouble, "1e15"), "1e+15");
  EXPECT_EQ(RoundTrip(TypeId::kDouble, "123456789012345"), "123456789012345");
  EXPECT_EQ(RoundTrip(TypeId::kDouble, "0.0001"), "0.0001");
  EXPECT_EQ(RoundTrip(TypeId::kDouble, "0.00001"), "1e-05");
  EXPECT_EQ(RoundTrip(TypeId::kDouble, "1e22"), "1e+22");
  EXPECT_EQ(RoundTrip(TypeId::kDouble, "5e-324"), "5e-324");
  EXPECT_EQ(RoundTrip(TypeId::kDouble, "-0"), "-0");
  EXPECT_EQ(RoundTrip(TypeId::kDouble, "1.7976931348623157e308"), "1.7976931348623157e+308");
  EXPECT_EQ(RoundTrip(TypeId::kReal, "123456"), "123456");
  EXPECT_EQ(RoundTrip(TypeId::kReal, "1234567"), "1.234567e+06");
  EXPECT_EQ(RoundTrip(TypeId::kReal, "0.1"), "0.1");
  EXPECT_EQ(RoundTrip(TypeId::kReal, "3.4028235e38"), "3.4028235e+38");
}

// Halfway between two numbers the shortest form of the standard library reads back, but PostgreSQL's leaves it out.
TEST(FloatTextTest, LeavesOutMidpoints) {
  EXPECT_EQ(RoundTrip(TypeId::kDouble, "1e23"), "9.999999999999999e+22");
  EXPECT_EQ(RoundTrip(TypeId::kReal, "8.913e+08"), "8.9129997e+08");
  EXPECT_EQ(RoundTrip(TypeId::kReal, "3e+10"), "3.0000001e+10");
  EXPECT_EQ(RoundTrip(TypeId::kReal, "125952432"), "1.2595243e+08");
  EXPECT_EQ(RoundTrip(TypeId::kDouble, "337544115507775258"), "3.3754411550777523e+17");
  EXPECT_EQ(RoundTrip(TypeId::kDouble, "691e19"), "6.910000000000001e+21");
  EXPECT_EQ(RoundTrip(TypeId::kDouble, "60e22"), "6e+23");
}

TEST(FloatTextTest, ReadsNamesAndHexadecimals) {
  EXPECT_EQ(RoundTrip(TypeId::kDouble, " inf "), "Infinity");
  EXPECT_EQ(RoundTrip(TypeId::kDouble, "-Infinity"), "-Infinity");
  EXPECT_EQ(RoundTrip(TypeId::kReal, "nan"), "NaN");
  EXPECT_EQ(RoundTrip(TypeId::kDouble, "0x1p3"), "8");
}

TEST(FloatTextTest, RefusesWhatDoesNotFit) {
  EXPECT_EQ(RoundTrip(TypeId::kDouble, "1e400"), "22003 \"1e400\" is out of range for type double precision");
  EXPECT_EQ(RoundTrip(TypeId::kDouble, "1e-400"), "22003 \"1e-400\" is out of range for type double precision");
  EXPECT_EQ(RoundTrip(TypeId::kReal, "1e39"), "22003 \"1e39\" is out of range for type real");
  EXPECT_EQ(RoundTrip(TypeId::kDouble, "1,5"), "22P02 invalid input syntax for type double precision: \"1,5\"");
  EXPECT_EQ(RoundTrip(TypeId::kReal, ""), "22P02 invalid input syntax for type real: \"\"");
  EXPECT_EQ(RoundTrip(TypeId::kDouble, "+-5"), "22P02 invalid input syntax for type double precision: \"+-5\"");
}

TEST(FloatTextTest, RandomBitsReadBack) {
  const uint64_t seed = SecureRandom64();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 50'000; ++i) {
    const uint64_t bits = random.Next();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    std::string text;
    FormatDouble(TypeId::kDouble, value, text);
    const Result<Datum> read = ParseText(TypeId::kDouble, text, TextSettings());
    ASSERT_OK(read);
    ASSERT_EQ(CompareDoubles(read->as_double(), value), 0) << text;
  }
}

TEST(CharacterTextTest, LengthCountsCharacters) {
  const SqlType varchar = WithLength(TypeId::kVarchar, 3);
  EXPECT_EQ(RoundTrip(varchar, "äöü"), "äöü");
  EXPECT_EQ(RoundTrip(varchar, "abc  "), "abc");
  EXPECT_EQ(RoundTrip(varchar, "abcd"), "22001 value too long for type character varying(3)");
  const SqlType fixed = WithLength(TypeId::kChar, 3);
  EXPECT_EQ(RoundTrip(fixed, "ä"), "ä  ");
  EXPECT_EQ(RoundTrip(fixed, "abcd"), "22001 value too long for type character(3)");
}

TEST(CharacterTextTest, ExplicitCastCuts) {
  Datum value = Datum::Bytes("äöüß");
  ASSERT_OK(ApplyModifiers(WithLength(TypeId::kVarchar, 3), true, value));
  EXPECT_EQ(value.as_bytes(), "äöü");
}

TEST(CharacterTextTest, CharComparesWithoutTrailingBlanks) {
  EXPECT_EQ(CompareBytes(TypeId::kChar, "a  ", "a"), 0);
  EXPECT_EQ(CompareBytes(TypeId::kText, "a ", "a"), 1);
  EXPECT_EQ(CompareBytes(TypeId::kText, "\xC3\xA4", "z"), 1);
}

TEST(CharacterTextTest, RefusesInvalidUtf8) {
  EXPECT_EQ(RoundTrip(TypeId::kText, "a\xFF"), "22021 invalid byte sequence for encoding \"UTF8\": 0xff");
  EXPECT_EQ(RoundTrip(TypeId::kText, "\xE2\x28\xA1"),
            "22021 invalid byte sequence for encoding \"UTF8\": 0xe2 0x28 0xa1");
  EXPECT_EQ(RoundTrip(TypeId::kText, std::string_view("a\0b", 3)),
            "22021 invalid byte sequence for encoding \"UTF8\": 0x00");
  EXPECT_EQ(RoundTrip(TypeId::kInteger, "\xC3"), "22021 invalid byte sequence for encoding \"UTF8\": 0xc3");
}

TEST(ByteaTextTest, ReadsBothForms) {
  EXPECT_EQ(RoundTrip(TypeId::kBytea, "\\xDE adBE"), "\\xdeadbe");
  EXPECT_EQ(RoundTrip(TypeId::kBytea, "a\\\\b\\001"), "\\x615c6201");
  EXPECT_EQ(RoundTrip(TypeId::kBytea, ""), "\\x");
  EXPECT_EQ(RoundTrip(TypeId::kBytea, "\\x0"), "22023 invalid hexadecimal data: odd number of digits");
  EXPECT_EQ(RoundTrip(TypeId::kBytea, "\\x0g"), "22023 invalid hexadecimal digit: \"g\"");
  EXPECT_EQ(RoundTrip(TypeId::kBytea, "a\\4"), "22P02 invalid input syntax for type bytea");
}

TEST(UuidTextTest, ReadsAllForms) {
  constexpr std::string_view kPlain = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
  EXPECT_EQ(RoundTrip(TypeId::kUuid, "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"), kPlain);
  EXPECT_EQ(RoundTrip(TypeId::kUuid, "{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a11}"), kPlain);
  EXPECT_EQ(RoundTrip(TypeId::kUuid, "a0eebc999c0b4ef8bb6d6bb9bd380a11"), kPlain);
  EXPECT_EQ(RoundTrip(TypeId::kUuid, "a0eebc99"), "22P02 invalid input syntax for type uuid: \"a0eebc99\"");
}

TEST(SqlTypeTest, NamesAsFormatTypeDoes) {
  const auto name = [](std::string_view type_name, std::vector<int32_t> modifiers) {
    const Result<SqlType> type = ResolveTypeName(type_name, modifiers.data(), modifiers.size());
    return type.ok() ? type->ToString() : std::string(type.error().sqlstate()) + " " + type.error().message();
  };
  EXPECT_EQ(name("int4", {}), "integer");
  EXPECT_EQ(name("numeric", {}), "numeric");
  EXPECT_EQ(name("numeric", {10}), "numeric(10,0)");
  EXPECT_EQ(name("numeric", {10, 2}), "numeric(10,2)");
  EXPECT_EQ(name("varchar", {20}), "character varying(20)");
  EXPECT_EQ(name("bpchar", {5}), "character(5)");
  EXPECT_EQ(name("timestamptz", {3}), "timestamp(3) with time zone");
  EXPECT_EQ(name("timestamp", {9}), "timestamp(6) without time zone");
  EXPECT_EQ(name("numeric", {0}), "22023 NUMERIC precision 0 must be between 1 and 1000");
  EXPECT_EQ(name("varchar", {0}), "22023 length for type varchar must be at least 1");
  EXPECT_EQ(name("int4", {3}), "42601 type modifier is not allowed for type \"int4\"");
  EXPECT_EQ(name("foo", {}), "42704 type \"foo\" does not exist");
  EXPECT_EQ(name("jsonb", {}), "0A000 type \"jsonb\" is not supported");
}

}  // namespace
}  // namespace sisal::type
