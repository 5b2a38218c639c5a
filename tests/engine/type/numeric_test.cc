// Expected values are PostgreSQL 15's.
#include "sisal/type/numeric.h"

#include <gmock/gmock.h>

#include <vector>

#include "sisal/base/random.h"
#include "sisal/testing/status_matchers.h"

namespace sisal::type {
namespace {

Numeric Of(std::string_view text) {
  Result<Numeric> value = Numeric::Parse(text);
  EXPECT_OK(value);
  return value.ok() ? *value : Numeric();
}

std::string Text(const Result<Numeric>& value) {
  if (!value.ok()) return std::string(value.error().sqlstate()) + " " + value.error().message();
  EXPECT_TRUE(Numeric::IsValidEncoding(value->Encode()));
  EXPECT_EQ(Numeric::Decode(value->Encode()).ToString(), value->ToString());
  return value->ToString();
}
std::string Parsed(std::string_view text) { return Text(Numeric::Parse(text)); }

TEST(NumericTextTest, KeepsTheDisplayScale) {
  EXPECT_EQ(Parsed("  12.500 "), "12.500");
  EXPECT_EQ(Parsed("-0.00"), "0.00");
  EXPECT_EQ(Parsed(".5"), "0.5");
  EXPECT_EQ(Parsed("5."), "5");
  EXPECT_EQ(Parsed("1e5"), "100000");
  EXPECT_EQ(Parsed("1.5e-3"), "0.0015");
  EXPECT_EQ(Parsed("12345678901234567890.123456789"), "12345678901234567890.123456789");
  EXPECT_EQ(Parsed("0.00000000000000000000000000000000000000000000000000000000000000000000000000000001e-1"),
            "0.000000000000000000000000000000000000000000000000000000000000000000000000000000001");
}

TEST(NumericTextTest, ReadsSpecialValues) {
  EXPECT_EQ(Parsed("nan"), "NaN");
  EXPECT_EQ(Parsed("-INF"), "-Infinity");
  EXPECT_EQ(Parsed("+infinity"), "Infinity");
}

TEST(NumericTextTest, RefusesWhatPostgresRefuses) {
  for (const char* text : {"", "abc", "1e", "1.2.3", "+nan", "- 5", "1_000", "0x10"}) {
    EXPECT_EQ(Parsed(text), "22P02 invalid input syntax for type numeric: \"" + std::string(text) + "\"");
  }
}

TEST(NumericTextTest, EndsAtTheLimits) {
  EXPECT_OK(Numeric::Parse("1e131071"));
  EXPECT_EQ(Parsed("1e131072"), "22003 value overflows numeric format");
  EXPECT_OK(Numeric::Parse("1e-16383"));
  EXPECT_EQ(Parsed("1e-16384"), "22003 value overflows numeric format");
  EXPECT_EQ(Parsed("1e99999999999"), "22003 value overflows numeric format");
  EXPECT_EQ(Text(Multiply(Of("1e131071"), Of("10"))), "22003 value overflows numeric format");
}

TEST(NumericEncodingTest, IsAFunctionOfValueAndScale) {
  // By different ways, through small and big forms, to the same value.
  const std::string direct = Of("1.50").Encode();
  EXPECT_EQ(Subtract(Of("100000000000000000000000001.50"), Of("100000000000000000000000000.00"))->Encode(), direct);
  EXPECT_EQ(Numeric::FromScaled(150, 2).Encode(), direct);
  EXPECT_NE(Of("1.5").Encode(), direct);
  EXPECT_EQ(Of("999999999999999999").Encode().size(), 9u);
  EXPECT_EQ(Of("0").Encode().size(), 1u);
}

TEST(NumericEncodingTest, RefusesWhatIsNotCanonical) {
  EXPECT_FALSE(Numeric::IsValidEncoding(""));
  EXPECT_FALSE(Numeric::IsValidEncoding(std::string_view("\x00\x00", 2)));      // 0 with a byte too many
  EXPECT_FALSE(Numeric::IsValidEncoding(std::string_view("\x00\x01\x00", 3)));  // 1 with a byte too many
  EXPECT_FALSE(Numeric::IsValidEncoding(std::string_view("\x80\x00\x00\x00\x00\x10\x27", 7)));  // digit 10000
  EXPECT_FALSE(Numeric::IsValidEncoding(std::string_view("\x80\x00\x00\x00\x00", 5)));          // 0 as a big value
  EXPECT_FALSE(Numeric::IsValidEncoding("\xC0\x01"));
  EXPECT_TRUE(Numeric::IsValidEncoding("\xC0"));
}

TEST(NumericArithmeticTest, ScalesAreThoseOfPostgres) {
  EXPECT_EQ(Text(Add(Of("1.5"), Of("2.25"))), "3.75");
  EXPECT_EQ(Text(Subtract(Of("1.50"), Of("1.5"))), "0.00");
  EXPECT_EQ(Text(Multiply(Of("1.50"), Of("-2.0"))), "-3.000");
  EXPECT_EQ(Text(Divide(Of("1"), Of("3.0"))), "0.33333333333333333333");
  EXPECT_EQ(Text(Divide(Of("2"), Of("3"))), "0.66666666666666666667");
  EXPECT_EQ(Text(Divide(Of("10.0"), Of("3"))), "3.3333333333333333");
  EXPECT_EQ(Text(Divide(Of("1e20"), Of("7"))), "14285714285714285714");
  EXPECT_EQ(Text(Divide(Of("1e-10"), Of("3"))), "0.0000000000333333333333333333");
  EXPECT_EQ(Text(Divide(Of("0.00"), Of("5"))), "0.00000000000000000000");
  EXPECT_EQ(Text(Divide(Of("100"), Of("0.3"))), "333.3333333333333333");
  EXPECT_EQ(Text(Modulo(Of("-5.5"), Of("2"))), "-1.5");
  EXPECT_EQ(Text(Modulo(Of("1e30"), Of("7"))), "1");
  EXPECT_EQ(Text(DivideTruncated(Of("-7.9"), Of("2"))), "-3");
}

TEST(NumericArithmeticTest, SpecialValues) {
  EXPECT_EQ(Text(Divide(Of("1"), Of("0.00"))), "22012 division by zero");
  EXPECT_EQ(Text(Modulo(Of("inf"), Of("0"))), "22012 division by zero");
  EXPECT_EQ(Text(Divide(Of("nan"), Of("0"))), "NaN");
  EXPECT_EQ(Text(Add(Of("inf"), Of("-inf"))), "NaN");
  EXPECT_EQ(Text(Multiply(Of("inf"), Of("0"))), "NaN");
  EXPECT_EQ(Text(Multiply(Of("inf"), Of("-2"))), "-Infinity");
  EXPECT_EQ(Text(Divide(Of("5"), Of("-inf"))), "0");
}

TEST(NumericArithmeticTest, RoundingIsAwayFromZero) {
  EXPECT_EQ(Text(Round(Of("2.5"), 0)), "3");
  EXPECT_EQ(Text(Round(Of("-2.5"), 0)), "-3");
  EXPECT_EQ(Text(Round(Of("1250"), -2)), "1300");
  EXPECT_EQ(Text(Round(Of("1.2"), 4)), "1.2000");
  EXPECT_EQ(Text(Round(Of("99999999999999999999.995"), 2)), "100000000000000000000.00");
  EXPECT_EQ(Text(Truncate(Of("-2.59"), 1)), "-2.5");
  EXPECT_EQ(Text(Floor(Of("-2.5"))), "-3");
  EXPECT_EQ(Text(Ceil(Of("-2.5"))), "-2");
  EXPECT_EQ(Text(TrimScale(Of("1.5000"))), "1.5");
}

TEST(NumericArithmeticTest, PrecisionIsEnforced) {
  const auto applied = [](std::string_view text, int32_t precision, int32_t scale) {
    Numeric value = Of(text);
    const Status status = value.ApplyPrecision(precision, scale);
    return status.ok() ? value.ToString() : std::string(status.sqlstate()) + " " + status.error().detail();
  };
  EXPECT_EQ(applied("12.345", 5, 2), "12.35");
  EXPECT_EQ(applied("1234", 3, -2), "1200");
  EXPECT_EQ(applied("999.995", 5, 2),
            "22003 A field with precision 5, scale 2 must round to an absolute value less than 10^3.");
  EXPECT_EQ(applied("0.99", 1, 1),
            "22003 A field with precision 1, scale 1 must round to an absolute value less than 1.");
  EXPECT_EQ(applied("inf", 5, 2), "22003 A field with precision 5, scale 2 cannot hold an infinite value.");
  EXPECT_EQ(applied("nan", 5, 2), "NaN");
}

TEST(NumericConversionTest, ToIntegers) {
  const auto converted = [](std::string_view text, TypeId to) {
    const Result<int64_t> value = Of(text).ToInt(to);
    return value.ok() ? std::to_string(*value) : std::string(value.error().sqlstate()) + " " + value.error().message();
  };
  EXPECT_EQ(converted("2.5", TypeId::kInteger), "3");
  EXPECT_EQ(converted("-2.5", TypeId::kInteger), "-3");
  EXPECT_EQ(converted("0.49999999999999999999999", TypeId::kInteger), "0");
  EXPECT_EQ(converted("-9223372036854775808", TypeId::kBigint), "-9223372036854775808");
  EXPECT_EQ(converted("9223372036854775807.5", TypeId::kBigint), "22003 bigint out of range");
  EXPECT_EQ(converted("32767.5", TypeId::kSmallint), "22003 smallint out of range");
  EXPECT_EQ(converted("1e1000", TypeId::kInteger), "22003 integer out of range");
  EXPECT_EQ(converted("nan", TypeId::kInteger), "0A000 cannot convert NaN to integer");
  EXPECT_EQ(converted("-inf", TypeId::kBigint), "0A000 cannot convert infinity to bigint");
}

TEST(NumericConversionTest, ToAndFromFloats) {
  EXPECT_EQ(*Of("0.1").ToDouble(), 0.1);
  EXPECT_EQ(*Of("123456789012345678901234567890").ToDouble(), 123456789012345678901234567890.0);
  EXPECT_EQ(*Of("16777217").ToReal(), 16777216.0);
  EXPECT_SQLSTATE(Of("1e400").ToDouble(), "22003");
  EXPECT_SQLSTATE(Of("1e39").ToReal(), "22003");
  EXPECT_EQ(Numeric::FromDouble(0.1 + 0.2).ToString(), "0.3");
  EXPECT_EQ(Numeric::FromDouble(1e20).ToString(), "100000000000000000000");
  EXPECT_EQ(Numeric::FromReal(static_cast<double>(1.1f)).ToString(), "1.1");
}

TEST(NumericFunctionTest, RootsAndLogarithms) {
  EXPECT_EQ(Text(SquareRoot(Of("2"))), "1.414213562373095");
  EXPECT_EQ(Text(SquareRoot(Of("152877087.07595"))), "12364.34741811916");
  EXPECT_EQ(Text(SquareRoot(Of("1775.58081e46"))), "4213764124865083142851737");
  EXPECT_EQ(Text(Ln(Of("10"))), "2.3025850929940457");
  EXPECT_EQ(Text(Ln(Of("0.9999238e-53"))), "-122.037086131587788744958747312021559609815050851113345863811314");
  EXPECT_EQ(Text(Exp(Of("1"))), "2.7182818284590452");
  EXPECT_EQ(Text(Log(Of("2.0"), Of("64.0"))), "6.0000000000000000");
  EXPECT_EQ(Text(SquareRoot(Of("-1"))), "2201F cannot take square root of a negative number");
  EXPECT_EQ(Text(Ln(Of("0"))), "2201E cannot take logarithm of zero");
  EXPECT_EQ(Text(Ln(Of("-inf"))), "2201E cannot take logarithm of a negative number");
  EXPECT_EQ(Text(Log(Of("1"), Of("2"))), "22012 division by zero");
  EXPECT_EQ(Text(Exp(Of("6001"))), "22003 value overflows numeric format");
}

TEST(NumericFunctionTest, Powers) {
  EXPECT_EQ(Text(Power(Of("2"), Of("0.5"))), "1.4142135623730950");
  EXPECT_EQ(Text(Power(Of("2"), Of("100"))), "1267650600228229401496703205376.0000000000000000");
  EXPECT_EQ(Text(Power(Of("-2"), Of("3"))), "-8.0000000000000000");
  EXPECT_EQ(Text(Power(Of("10"), Of("-2"))), "0.0100000000000000");
  EXPECT_EQ(Text(Power(Of("nan"), Of("0"))), "1");
  EXPECT_EQ(Text(Power(Of("0"), Of("-1"))), "2201F zero raised to a negative power is undefined");
  EXPECT_EQ(Text(Power(Of("-1"), Of("0.5"))),
            "2201F a negative number raised to a non-integer power yields a complex result");
  EXPECT_EQ(Text(Power(Of("10"), Of("1000000"))), "22003 value overflows numeric format");
}

TEST(NumericSumTest, IsExactAcrossScalesAndSizes) {
  Arena arena;
  NumericSum sum{};
  for (const char* text :
       {"1.5", "2.25", "1e20", "-0.000000000000000000000000000001", "1e-60", "9e37", "9e37", "9e37"}) {
    sum.Add(Of(text).Encode(), arena);
  }
  sum.AddInt(INT64_MAX, arena);
  EXPECT_EQ(Text(sum.Total()),
            "270000000000000000109223372036854775810.749999999999999999999999999999000000000000000000000000000001");
}

TEST(NumericSumTest, RandomSumsEqualAddition) {
  const uint64_t seed = SecureRandom64();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int round = 0; round < 200; ++round) {
    Arena arena;
    NumericSum parts[2] = {};
    Numeric expected;
    for (int i = 0; i < 50; ++i) {
      const int32_t scale = static_cast<int32_t>(random.Below(random.OneIn(10) ? 70 : 6));
      const __int128 high = random.OneIn(4) ? static_cast<__int128>(random.Next()) << 60 : 0;
      const Numeric value = Numeric::FromScaled(high + static_cast<int64_t>(random.Next()), scale);
      parts[random.Below(2)].Add(value.Encode(), arena);
      expected = *Add(expected, value);
    }
    parts[0].Merge(parts[1], arena);
    ASSERT_EQ(parts[0].Total()->Encode(), expected.Encode());
  }
}

// The sum that is spilled was widened to the other one's scale just before.
TEST(NumericSumTest, MergesAcrossScalesAtTheEdgeOfItsWord) {
  Arena arena;
  const auto doubled = [&](const char* text, int times) {
    NumericSum sum{};
    sum.Add(Of(text).Encode(), arena);
    for (int i = 0; i < times; ++i) sum.Merge(NumericSum(sum), arena);
    return sum;
  };
  for (const bool coarse_first : {true, false}) {
    NumericSum coarse = doubled("1", 123), fine = doubled("0.1", 126);
    const Numeric expected = *Add(*coarse.Total(), *fine.Total());
    (coarse_first ? coarse : fine).Merge(coarse_first ? fine : coarse, arena);
    EXPECT_EQ(Text((coarse_first ? coarse : fine).Total()), Text(expected));
  }
}

TEST(NumericSumTest, SpecialValues) {
  Arena arena;
  NumericSum sum{};
  EXPECT_EQ(Text(sum.Total()), "0");
  sum.Add(Of("1").Encode(), arena);
  sum.Add(Of("inf").Encode(), arena);
  EXPECT_EQ(Text(sum.Total()), "Infinity");
  sum.Add(Of("-inf").Encode(), arena);
  EXPECT_EQ(Text(sum.Total()), "NaN");
}

// Division against its inverse: |a - q b| <= |b| / 2 units of q's last place.
TEST(NumericArithmeticTest, QuotientsAreRoundedRight) {
  const uint64_t seed = SecureRandom64();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const auto draw = [&] {
    Numeric value = Numeric::FromScaled(static_cast<int64_t>(random.Next()), static_cast<int32_t>(random.Below(20)));
    for (uint64_t more = random.Below(4); more > 0; --more) {
      value = *Add(*Multiply(value, Of("1e19")), Numeric::FromInt(static_cast<int64_t>(random.Next())));
    }
    return value;
  };
  for (int i = 0; i < 5'000; ++i) {
    const Numeric a = draw(), b = draw();
    if (b.sign() == 0) continue;
    const Numeric quotient = *Divide(a, b);
    const Numeric rest = Abs(*Subtract(a, *Multiply(quotient, b)));
    const Numeric half_unit = Numeric::FromScaled(5, quotient.scale() + 1);
    ASSERT_LE(CompareNumerics(rest, *Multiply(Abs(b), half_unit)), 0) << a.ToString() << " / " << b.ToString();
  }
}

}  // namespace
}  // namespace sisal::type
