// Rows read back as they were written, and keys sort as values compare.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sisal/base/random.h"
#include "sisal/testing/status_matchers.h"
#include "sisal/type/date_time.h"
#include "sisal/type/numeric.h"
#include "sisal/type/row_codec.h"

namespace sisal::type {
namespace {

constexpr TypeId kAllTypes[] = {
    TypeId::kBoolean, TypeId::kSmallint,  TypeId::kInteger,     TypeId::kBigint,   TypeId::kReal,  TypeId::kDouble,
    TypeId::kNumeric, TypeId::kText,      TypeId::kVarchar,     TypeId::kChar,     TypeId::kBytea, TypeId::kDate,
    TypeId::kTime,    TypeId::kTimestamp, TypeId::kTimestampTz, TypeId::kInterval, TypeId::kUuid,
};

// Many values are drawn from few, so that equal ones meet.
int64_t RandomInt(Random& random, int64_t low, int64_t high) {
  switch (random.Below(6)) {
    case 0:
      return low;
    case 1:
      return high;
    case 2:
      return std::clamp<int64_t>(0, low, high);
    case 3:
      return std::clamp<int64_t>(static_cast<int64_t>(random.Below(7)) - 3, low, high);
    default: {
      const uint64_t width = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
      return static_cast<int64_t>(static_cast<uint64_t>(low) +
                                  (width == UINT64_MAX ? random.Next() : random.Below(width + 1)));
    }
  }
}

std::string RandomBytes(Random& random, std::string_view alphabet) {
  std::string bytes;
  for (uint64_t left = random.Below(6); left > 0; --left) bytes.push_back(alphabet[random.Below(alphabet.size())]);
  return bytes;
}

std::string RandomNumeric(Random& random) {
  constexpr std::string_view kSpecial[] = {"NaN", "Infinity", "-Infinity", "0", "0.000", "1e30", "1.0e-20", "-1e-70"};
  if (random.OneIn(6)) return Numeric::Parse(kSpecial[random.Below(std::size(kSpecial))])->Encode();
  std::string text = random.OneIn(2) ? "-" : "";
  const uint64_t whole = random.Below(random.OneIn(8) ? 40 : 6);
  for (uint64_t i = 0; i <= whole; ++i) text.push_back(static_cast<char>('0' + random.Below(3) * random.Below(5)));
  const uint64_t fraction = random.Below(random.OneIn(8) ? 80 : 6);
  if (fraction > 0) text.push_back('.');
  for (uint64_t i = 0; i < fraction; ++i) text.push_back(static_cast<char>('0' + random.Below(2) * random.Below(10)));
  return Numeric::Parse(text)->Encode();
}

double RandomDouble(Random& random) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kSpecial[] = {0.0, -0.0, 1.5, -1.5, kInf, -kInf, std::numeric_limits<double>::quiet_NaN(), 1e-40};
  if (random.OneIn(2)) return kSpecial[random.Below(std::size(kSpecial))];
  return (random.Fraction() - 0.5) * std::pow(10, static_cast<double>(random.Below(60)) - 30);
}

Datum RandomDatum(Random& random, const SqlType& type) {
  switch (type.id) {
    case TypeId::kBoolean:
      return Datum::Int(RandomInt(random, 0, 1));
    case TypeId::kSmallint:
      return Datum::Int(RandomInt(random, INT16_MIN, INT16_MAX));
    case TypeId::kInteger:
      return Datum::Int(RandomInt(random, INT32_MIN, INT32_MAX));
    case TypeId::kDate:
      if (random.OneIn(5)) return Datum::Int(random.OneIn(2) ? kInfinite : kNegativeInfinite);
      return Datum::Int(RandomInt(random, kMinDate, kMaxDate));
    case TypeId::kTime:
      return Datum::Int(RandomInt(random, 0, kMicrosPerDay));
    case TypeId::kBigint:
      return Datum::Int(RandomInt(random, INT64_MIN, INT64_MAX));
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
      if (random.OneIn(5)) return Datum::Int(random.OneIn(2) ? kInfinite : kNegativeInfinite);
      return Datum::Int(RandomInt(random, kMinTimestamp, kMaxTimestamp));
    case TypeId::kReal:
      return Datum::Double(static_cast<double>(static_cast<float>(RandomDouble(random))));
    case TypeId::kDouble:
      return Datum::Double(RandomDouble(random));
    case TypeId::kNumeric:
      return Datum::Bytes(RandomNumeric(random));
    case TypeId::kBytea:
      return Datum::Bytes(RandomBytes(random, std::string_view("\x00\x01\xFE\xFF", 4)));
    case TypeId::kUuid: {
      std::string bytes = RandomBytes(random, std::string_view("\x00\x01\xFF", 3));
      bytes.resize(16, '\0');
      return Datum::Bytes(bytes);
    }
    case TypeId::kInterval: {
      Interval interval;
      interval.months = static_cast<int32_t>(RandomInt(random, INT32_MIN, INT32_MAX));
      interval.days = static_cast<int32_t>(RandomInt(random, INT32_MIN, INT32_MAX));
      interval.micros =
          random.OneIn(2) ? kMicrosPerDay * RandomInt(random, -60, 60) : RandomInt(random, INT64_MIN, INT64_MAX);
      return Datum::Bytes(interval.Encode());
    }
    default:
      return Datum::Bytes(RandomBytes(random, "ab  "));
  }
}

int SignOf(int order) { return (order > 0) - (order < 0); }

class CodecTest : public ::testing::TestWithParam<TypeId> {
 protected:
  uint64_t seed_ = SecureRandom64();
  Random random_{seed_};
  SqlType type_{GetParam()};
};

TEST_P(CodecTest, KeysSortAsValuesCompare) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  for (int i = 0; i < 20'000; ++i) {
    const Datum a = RandomDatum(random_, type_);
    const Datum b = RandomDatum(random_, type_);
    const int expected = Compare(type_, a, b);
    // Another column follows, so that no value's end is the key's end.
    const std::string suffix = random_.OneIn(2) ? std::string("\xFF\xFF", 2) : std::string("\x00\x00", 2);
    for (const SortOrder order : {SortOrder::kAscending, SortOrder::kDescending}) {
      std::string key_a, key_b;
      AppendKey(type_, a, order, false, key_a);
      AppendKey(type_, b, order, false, key_b);
      if (expected != 0) key_a += suffix;
      ASSERT_EQ(SignOf(key_a.compare(key_b)), order == SortOrder::kAscending ? expected : -expected)
          << FormatText(type_, a, {}) << " and " << FormatText(type_, b, {});
    }
  }
}

TEST_P(CodecTest, KeysReadBackAsEqualValues) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  for (int i = 0; i < 5'000; ++i) {
    const Datum value = RandomDatum(random_, type_);
    for (const SortOrder order : {SortOrder::kAscending, SortOrder::kDescending}) {
      std::string key;
      AppendKey(type_, value, order, true, key);
      key += "rest";
      std::string_view rest = key;
      Datum read;
      ASSERT_OK(ReadKey(type_, order, true, rest, read));
      ASSERT_EQ(rest, "rest");
      ASSERT_EQ(Compare(type_, value, read), 0) << FormatText(type_, value, {}) << ", " << FormatText(type_, read, {});
    }
  }
}

TEST_P(CodecTest, EqualValuesHaveEqualHashes) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  const auto hash = [&](const Datum& value) {
    switch (type_.storage()) {
      case Storage::kInt:
        return HashInt(value.as_int());
      case Storage::kDouble:
        return HashDouble(value.as_double());
      case Storage::kBytes:
        return HashBytes(type_.id, value.as_bytes());
    }
    return uint64_t{0};
  };
  for (int i = 0; i < 20'000; ++i) {
    const Datum a = RandomDatum(random_, type_);
    const Datum b = RandomDatum(random_, type_);
    ASSERT_EQ(hash(a) == hash(b), Compare(type_, a, b) == 0)
        << FormatText(type_, a, {}) << ", " << FormatText(type_, b, {});
  }
}

TEST_P(CodecTest, TextReadsBackAsTheSameValue) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  for (int i = 0; i < 5'000; ++i) {
    const Datum value = RandomDatum(random_, type_);
    const std::string text = FormatText(type_, value, {});
    const Result<Datum> read = ParseText(type_, text, {});
    ASSERT_OK(read);
    ASSERT_EQ(Compare(type_, value, *read), 0) << text;
    ASSERT_EQ(FormatText(type_, *read, {}), text);
  }
}

// What is accepted has a text that is accepted, too.
TEST_P(CodecTest, GarbageIsAnErrorOrAValue) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  constexpr std::string_view kAlphabets[] = {"0123456789", "0123456789-+.: ", "019-+:./ eETZPYMDHSadginfycbmotru",
                                             "01af\\x{}-", "0123456789-: .BCTZ+"};
  for (int i = 0; i < 20'000; ++i) {
    const std::string_view alphabet = kAlphabets[random_.Below(std::size(kAlphabets))];
    std::string text;
    for (uint64_t left = random_.Below(28); left > 0; --left) text.push_back(alphabet[random_.Below(alphabet.size())]);
    const Result<Datum> value = ParseText(type_, text, {});
    if (!value.ok()) continue;
    const std::string printed = FormatText(type_, *value, {});
    const Result<Datum> read = ParseText(type_, printed, {});
    ASSERT_OK(read);
    ASSERT_EQ(Compare(type_, *value, *read), 0) << text << ", " << printed;
  }
}

TEST_P(CodecTest, CutOrChangedKeysNeverCrash) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  for (int i = 0; i < 5'000; ++i) {
    std::string key;
    AppendKey(type_, RandomDatum(random_, type_), SortOrder::kAscending, false, key);
    if (random_.OneIn(2)) {
      key.resize(random_.Below(key.size()));
      std::string_view rest = key;
      Datum read;
      EXPECT_SQLSTATE(ReadKey(type_, SortOrder::kAscending, false, rest, read), "XX001");
    } else {
      key[random_.Below(key.size())] = static_cast<char>(random_.Next());
      std::string_view rest = key;
      Datum read;
      const Status status = ReadKey(type_, SortOrder::kAscending, false, rest, read);
      if (status.ok() && !read.is_null()) FormatText(type_, read, {});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, CodecTest, ::testing::ValuesIn(kAllTypes), [](const auto& info) {
  std::string name(TypeName(info.param));
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

TEST(KeyTest, NullsGoWhereTheyAreTold) {
  for (const SortOrder order : {SortOrder::kAscending, SortOrder::kDescending}) {
    std::string value, first, last;
    AppendKey(TypeId::kInteger, Datum::Int(1), order, true, value);
    AppendKey(TypeId::kInteger, Datum::Null(), order, true, first);
    AppendKey(TypeId::kInteger, Datum::Null(), order, false, last);
    EXPECT_LT(first, value);
    EXPECT_GT(last, value);
  }
}

TEST(KeyTest, CharIsPaddedAgain) {
  SqlType type(TypeId::kChar);
  type.length = 4;
  std::string key;
  AppendKey(type, Datum::Bytes("ä   "), SortOrder::kAscending, false, key);
  std::string_view rest = key;
  Datum read;
  ASSERT_OK(ReadKey(type, SortOrder::kAscending, false, rest, read));
  EXPECT_EQ(read.as_bytes(), "ä   ");
}

TEST(KeyTest, PrefixEndIsAboveAllThatBeginWithThePrefix) {
  EXPECT_EQ(PrefixEnd("ab"), "ac");
  EXPECT_EQ(PrefixEnd("a\xFF\xFF"), "b");
  EXPECT_EQ(PrefixEnd("\xFF"), "");
}

std::vector<SqlType> AllTypes() { return {std::begin(kAllTypes), std::end(kAllTypes)}; }

// One row of constants.
std::string EncodeRow(const std::vector<SqlType>& types, const std::vector<Datum>& values, Arena& arena) {
  std::vector<Vector> columns;
  for (size_t i = 0; i < types.size(); ++i) columns.push_back(MakeConstant(types[i], values[i], arena));
  std::string bytes;
  EXPECT_OK(RowLayout(types).Encode(columns, 0, bytes));
  return bytes;
}

TEST(RowTest, ReadsBackAsWritten) {
  const uint64_t seed = SecureRandom64();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const std::vector<SqlType> types = AllTypes();
  const RowLayout layout(types);
  for (int round = 0; round < 2'000; ++round) {
    Arena arena;
    std::vector<Datum> values;
    for (const SqlType& type : types) values.push_back(random.OneIn(4) ? Datum::Null() : RandomDatum(random, type));
    const std::string bytes = EncodeRow(types, values, arena);
    for (size_t i = 0; i < types.size(); ++i) {
      Vector out = MakeVector(types[i], kVectorSize, arena);
      const uint32_t at = static_cast<uint32_t>(random.Below(kVectorSize));
      ASSERT_OK(layout.Decode(bytes, i, at, out, arena));
      const Datum read = out.ToDatum(at);
      ASSERT_EQ(read.is_null(), values[i].is_null());
      if (read.is_null()) continue;
      if (types[i].storage() == Storage::kDouble) {
        ASSERT_EQ(CompareDoubles(read.as_double(), values[i].as_double()), 0);
      } else {
        ASSERT_EQ(read, values[i]) << TypeName(types[i].id);
      }
    }
  }
}

TEST(RowTest, ColumnsAddedLaterReadAsNull) {
  Arena arena;
  const std::string bytes = EncodeRow({TypeId::kText, TypeId::kInteger}, {Datum::Bytes("a"), Datum::Int(7)}, arena);
  const RowLayout wider({TypeId::kText, TypeId::kInteger, TypeId::kBigint, TypeId::kText});
  Vector text = MakeVector(TypeId::kText, 1, arena), number = MakeVector(TypeId::kInteger, 1, arena);
  Vector added = MakeVector(TypeId::kBigint, 1, arena);
  ASSERT_OK(wider.Decode(bytes, 0, 0, text, arena));
  ASSERT_OK(wider.Decode(bytes, 1, 0, number, arena));
  ASSERT_OK(wider.Decode(bytes, 2, 0, added, arena));
  EXPECT_EQ(text.Bytes(0), "a");
  EXPECT_EQ(number.Int(0), 7);
  EXPECT_TRUE(added.IsNull(0));
}

TEST(RowTest, WhatIsMissingAndWhatWasDroppedGoByTheLayout) {
  const std::vector<SqlType> types{TypeId::kInteger, TypeId::kText, TypeId::kText, TypeId::kDouble};
  const RowLayout layout(types, {{}, {Datum(), true}, {Datum::Bytes("new"), false}, {Datum::Double(0.5), false}});
  Arena arena;
  const std::vector<SqlType> old_types{TypeId::kInteger, TypeId::kText};
  const std::string old_row = EncodeRow(old_types, {Datum::Int(7), Datum::Bytes("old")}, arena);
  const auto read = [&](std::string_view row, size_t column) {
    Vector vector = MakeVector(types[column], 1, arena);
    EXPECT_OK(layout.Decode(row, column, 0, vector, arena));
    return vector.ToDatum(0);
  };
  EXPECT_EQ(read(old_row, 0), Datum::Int(7));
  EXPECT_EQ(read(old_row, 2), Datum::Bytes("new"));
  EXPECT_EQ(read(old_row, 3), Datum::Double(0.5));

  std::vector<Vector> columns;
  for (const SqlType& type : types) columns.push_back(MakeConstant(type, Datum::Null(), arena));
  columns[1] = MakeConstant(types[1], Datum::Bytes("left over"), arena);
  std::string row;
  EXPECT_OK(layout.Encode(columns, 0, row));
  for (size_t column = 0; column < types.size(); ++column) EXPECT_EQ(read(row, column), Datum::Null()) << column;
}

TEST(RowTest, DamagedBytesAreAnErrorOrAValueButNeverACrash) {
  const uint64_t seed = SecureRandom64();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const std::vector<SqlType> types = AllTypes();
  const RowLayout layout(types);
  for (int round = 0; round < 3'000; ++round) {
    Arena arena;
    std::vector<Datum> values;
    for (const SqlType& type : types) values.push_back(RandomDatum(random, type));
    std::string bytes = EncodeRow(types, values, arena);
    if (random.OneIn(2)) {
      bytes.resize(random.Below(bytes.size()));
    } else {
      bytes[random.Below(bytes.size())] = static_cast<char>(random.Next());
    }
    // Copied to its exact size, so that a sanitizer sees a read beyond it.
    const std::vector<char> exact(bytes.begin(), bytes.end());
    for (size_t i = 0; i < types.size(); ++i) {
      Vector out = MakeVector(types[i], 1, arena);
      const Status status = layout.Decode({exact.data(), exact.size()}, i, 0, out, arena);
      if (!status.ok()) {
        EXPECT_SQLSTATE(status, "XX001");
      } else if (!out.IsNull(0) && types[i].storage() == Storage::kBytes) {
        std::string text;
        FormatBytes(types[i].id, out.Bytes(0), {}, text);
      }
    }
  }
}

}  // namespace
}  // namespace sisal::type
