// Expected values and messages are PostgreSQL 15's.
#include "sisal/type/date_time.h"

#include <gmock/gmock.h>

#include "sisal/base/random.h"
#include "sisal/testing/status_matchers.h"

namespace sisal::type {
namespace {

TextSettings Settings() {
  TextSettings settings;
  settings.now_micros = *ParseTimestamp("2026-11-30 23:30:15.5", TextSettings());
  return settings;
}

std::string Describe(const Error& error) { return std::string(error.sqlstate()) + " " + error.message(); }

std::string RoundTrip(const SqlType& type, std::string_view text, const TextSettings& settings = Settings()) {
  const Result<Datum> value = ParseText(type, text, settings);
  return value.ok() ? FormatText(type, *value, settings) : Describe(value.error());
}
std::string Date(std::string_view text) { return RoundTrip(TypeId::kDate, text); }
std::string Time(std::string_view text) { return RoundTrip(TypeId::kTime, text); }
std::string Stamp(std::string_view text) { return RoundTrip(TypeId::kTimestamp, text); }
std::string StampTz(std::string_view text) { return RoundTrip(TypeId::kTimestampTz, text); }
std::string Span(std::string_view text) { return RoundTrip(TypeId::kInterval, text); }
std::string Text(const Result<Interval>& value) {
  if (!value.ok()) return Describe(value.error());
  std::string text;
  FormatInterval(*value, text);
  return text;
}
std::string Text(const Result<int64_t>& timestamp) {
  if (!timestamp.ok()) return Describe(timestamp.error());
  std::string text;
  FormatTimestamp(*timestamp, text);
  return text;
}
int64_t StampOf(std::string_view text) { return *ParseTimestamp(text, Settings()); }
Interval SpanOf(std::string_view text) { return *ParseInterval(text); }

TEST(CalendarTest, DaysAndDatesAreInverse) {
  EXPECT_EQ(DaysFromCivil(1970, 1, 1), 0);
  EXPECT_EQ(DaysFromCivil(-4713, 11, 24), kMinDate);
  EXPECT_EQ(DaysFromCivil(5'874'897, 12, 31), kMaxDate);
  const uint64_t seed = SecureRandom64();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 100'000; ++i) {
    const int64_t days = kMinDate + static_cast<int64_t>(random.Below(static_cast<uint64_t>(kMaxDate - kMinDate + 1)));
    const CivilDate date = CivilFromDays(days);
    ASSERT_EQ(DaysFromCivil(date.year, date.month, date.day), days);
    ASSERT_LE(date.day, DaysInMonth(date.year, date.month));
    const CivilDate next = CivilFromDays(days + 1);
    ASSERT_TRUE(next.day == date.day + 1 || (next.day == 1 && date.day == DaysInMonth(date.year, date.month)));
  }
}

TEST(DateTextTest, ReadsCommonForms) {
  for (const char* text : {"1999-01-08", "January 8, 1999", "8 Jan 1999", "1/8/1999", "08-Jan-1999", "1999.008",
                           "19990108", "1999 Jan 8", "J2451187", "990108", "1999-01-08 04:05:06+02"}) {
    EXPECT_EQ(Date(text), "1999-01-08") << text;
  }
  EXPECT_EQ(Date("99-01-08 BC"), "22008 date/time field value out of range: \"99-01-08 BC\"");
  EXPECT_EQ(Date("January 8, 99 BC"), "0099-01-08 BC");
  EXPECT_EQ(Date("0044-03-15 BC"), "0044-03-15 BC");
  EXPECT_EQ(Date("epoch"), "1970-01-01");
  EXPECT_EQ(Date("-infinity"), "-infinity");
  EXPECT_EQ(Date("4714-11-24 BC"), "4714-11-24 BC");
  EXPECT_EQ(Date("5874897-12-31"), "5874897-12-31");
}

TEST(DateTextTest, RefusesWhatIsNoDate) {
  EXPECT_EQ(Date("2020-02-30"), "22008 date/time field value out of range: \"2020-02-30\"");
  EXPECT_EQ(Date("2020-13-01"), "22008 date/time field value out of range: \"2020-13-01\"");
  EXPECT_EQ(Date("0000-01-01"), "22008 date/time field value out of range: \"0000-01-01\"");
  EXPECT_EQ(Date("5874898-01-01"), "22008 date out of range: \"5874898-01-01\"");
  EXPECT_EQ(Date("4714-11-23 BC"), "22008 date out of range: \"4714-11-23 BC\"");
  for (const char* text : {"foo", "", "2020", "2020-01", "12:34:56", "+infinity", "Mon 2000-02-29"}) {
    EXPECT_EQ(Date(text), "22007 invalid input syntax for type date: \"" + std::string(text) + "\"");
  }
}

TEST(DateTextTest, NamesMeanTheTransactionsDayInTheSessionsZone) {
  EXPECT_EQ(Date("today"), "2026-11-30");
  EXPECT_EQ(Date("tomorrow"), "2026-12-01");
  EXPECT_EQ(Stamp("yesterday 10:00"), "2026-11-29 10:00:00");
  EXPECT_EQ(Stamp("now"), "2026-11-30 23:30:15.5");
  TextSettings east = Settings();
  east.time_zone_offset_seconds = 3600;
  EXPECT_EQ(RoundTrip(TypeId::kDate, "today", east), "2026-12-01");
  EXPECT_EQ(RoundTrip(TypeId::kTimestampTz, "now", east), "2026-12-01 00:30:15.5+01");
}

TEST(TimeTextTest, ReadsAndRefuses) {
  EXPECT_EQ(Time("04:05:06.789"), "04:05:06.789");
  EXPECT_EQ(Time("04:05 PM"), "16:05:00");
  EXPECT_EQ(Time("12:05 am"), "00:05:00");
  EXPECT_EQ(Time("040506"), "04:05:06");
  EXPECT_EQ(Time("24:00:00"), "24:00:00");
  EXPECT_EQ(Time("23:59:60"), "24:00:00");
  EXPECT_EQ(Time("04:05:06+02"), "04:05:06");
  EXPECT_EQ(Time("allballs"), "00:00:00");
  EXPECT_EQ(Time("24:00:01"), "22008 date/time field value out of range: \"24:00:01\"");
  EXPECT_EQ(Time("12:61"), "22008 date/time field value out of range: \"12:61\"");
  EXPECT_EQ(Time("1:2:3:4"), "22007 invalid input syntax for type time: \"1:2:3:4\"");
}

TEST(TimestampTextTest, ReadsCommonForms) {
  EXPECT_EQ(Stamp("2026-11-30"), "2026-11-30 00:00:00");
  EXPECT_EQ(Stamp("2026-11-30T16:05:00.25Z"), "2026-11-30 16:05:00.25");
  EXPECT_EQ(Stamp("20261130T160500"), "2026-11-30 16:05:00");
  EXPECT_EQ(Stamp("2026-11-30 10:11:12.9999999"), "2026-11-30 10:11:13");
  EXPECT_EQ(Stamp("2026-11-30 24:00:00"), "2026-12-01 00:00:00");
  EXPECT_EQ(Stamp("0044-03-15 12:00:00 BC"), "0044-03-15 12:00:00 BC");
  EXPECT_EQ(StampTz("Mon Feb 10 17:32:01 1997 UTC"), "1997-02-10 17:32:01+00");
  EXPECT_EQ(StampTz("1999-01-08 04:05:06 -8:00"), "1999-01-08 12:05:06+00");
  EXPECT_EQ(StampTz("2020-01-01 10:11:12+0130"), "2020-01-01 08:41:12+00");
  EXPECT_EQ(StampTz("2020-01-01 10:00 UTC+3"), "2020-01-01 13:00:00+00");
  EXPECT_EQ(StampTz("infinity"), "infinity");
}

TEST(TimestampTextTest, SessionsOffsetAppliesBothWays) {
  TextSettings settings = Settings();
  settings.time_zone_offset_seconds = -(3 * 3600 + 1800);
  EXPECT_EQ(*ParseTimestampTz("2020-01-01 00:00", settings), StampOf("2020-01-01 03:30"));
  EXPECT_EQ(RoundTrip(TypeId::kTimestampTz, "2020-01-01 00:00Z", settings), "2019-12-31 20:30:00-03:30");
}

TEST(TimestampTextTest, RefusesWhatDoesNotFit) {
  EXPECT_EQ(Stamp("294247-01-10 04:00:54.775806"), "294247-01-10 04:00:54.775806");
  EXPECT_EQ(Stamp("294247-01-10 04:00:54.775807"), "22008 timestamp out of range: \"294247-01-10 04:00:54.775807\"");
  EXPECT_EQ(Stamp("4714-11-23 BC"), "22008 timestamp out of range: \"4714-11-23 BC\"");
  EXPECT_EQ(Stamp("2020-01-01 25:00"), "22008 date/time field value out of range: \"2020-01-01 25:00\"");
  EXPECT_EQ(StampTz("2020-01-01 00:00+16"), "22009 time zone displacement out of range: \"2020-01-01 00:00+16\"");
  EXPECT_EQ(StampTz(""), "22007 invalid input syntax for type timestamp with time zone: \"\"");
}

TEST(TimeZoneTest, OnlyUtcAndFixedOffsets) {
  EXPECT_EQ(*ParseTimeZone("utc"), 0);
  EXPECT_EQ(*ParseTimeZone("Etc/UTC"), 0);
  EXPECT_EQ(*ParseTimeZone("+02"), -7200);  // POSIX: west is positive
  EXPECT_EQ(*ParseTimeZone("UTC-5:30"), 19'800);
  EXPECT_EQ(*ParseTimeZone("<+05:30>-05:30"), 19'800);
  EXPECT_EQ(Describe(ParseTimeZone("Europe/Berlin").error()), "22023 time zone \"Europe/Berlin\" not recognized");
  EXPECT_EQ(StampTz("2020-01-01 00:00 Europe/Berlin"), "22023 time zone \"europe/berlin\" not recognized");
  EXPECT_EQ(StampTz("2020-01-01 00:00 MSK"), "22023 time zone \"msk\" not recognized");
}

TEST(PrecisionTest, RoundsSeconds) {
  SqlType type(TypeId::kTimestamp);
  type.precision = 2;
  EXPECT_EQ(RoundTrip(type, "1999-12-31 23:59:59.995"), "1999-12-31 23:59:59.99");  // away from 2000
  EXPECT_EQ(RoundTrip(type, "2000-01-01 00:00:00.005"), "2000-01-01 00:00:00.01");
}

TEST(IntervalTextTest, ReadsAllForms) {
  EXPECT_EQ(Span("1 year 2 months 3 days 04:05:06"), "1 year 2 mons 3 days 04:05:06");
  EXPECT_EQ(Span("1-2 3 4:05:06.5"), "1 year 2 mons 3 days 04:05:06.5");
  EXPECT_EQ(Span("P1Y2M3W4DT5H6M7.5S"), "1 year 2 mons 25 days 05:06:07.5");
  EXPECT_EQ(Span("P0002-10-15T10:30:20.5"), "2 years 10 mons 15 days 10:30:20.5");
  EXPECT_EQ(Span("P00021015T103020"), "2 years 10 mons 15 days 10:30:20");
  EXPECT_EQ(Span("P0002-10"), "2 years 10 mons");
  EXPECT_EQ(Span("P2T10"), "2 years 10:00:00");
  EXPECT_EQ(Span("P2002101"), "2002101 years");
  EXPECT_EQ(Span("PT1030"), "1030:00:00");
  EXPECT_EQ(Span("PT10.5:30"), "11:00:00");
  EXPECT_EQ(Span("P-1-2-3"), "-10 mons +3 days");
  EXPECT_EQ(Span("P1YT10:30"), "1 year 10:30:00");
  EXPECT_EQ(Span("P10.5e4Y"), "105000 years");
  EXPECT_EQ(Span("@ 1 hour ago"), "-01:00:00");
  EXPECT_EQ(Span("-1 day +02:03"), "-1 days +02:03:00");
  EXPECT_EQ(Span("1.5 months"), "1 mon 15 days");
  EXPECT_EQ(Span("1.1 weeks"), "7 days 16:48:00");
  EXPECT_EQ(Span("90"), "00:01:30");
  EXPECT_EQ(Span("100 ms"), "00:00:00.1");
  EXPECT_EQ(Span("0"), "00:00:00");
  EXPECT_EQ(Span("178956970 years 7 mons"), "178956970 years 7 mons");
}

TEST(IntervalTextTest, RefusesWhatPostgresRefuses) {
  for (const char* text : {"P", "P1Y2", "P1Y2-3", "PT10:30:", "P1-2-3-4", "PT10:30S", "P+1Y", "", "foo", "1 foo", "15 ago", "1 day 2 days", "infinity", "1:2:3:4"}) {
    EXPECT_EQ(Span(text), "22007 invalid input syntax for type interval: \"" + std::string(text) + "\"");
  }
  EXPECT_EQ(Span("99999999999 days"), "22015 interval field value out of range: \"99999999999 days\"");
  EXPECT_EQ(Span("178956971 years"), "22008 interval out of range");
}

TEST(ArithmeticTest, IntervalsMoveTimestamps) {
  EXPECT_EQ(Text(AddInterval(StampOf("2020-01-31"), SpanOf("1 month"))), "2020-02-29 00:00:00");
  EXPECT_EQ(Text(AddInterval(StampOf("2020-02-29"), SpanOf("-1 year"))), "2019-02-28 00:00:00");
  EXPECT_EQ(Text(AddInterval(StampOf("2020-01-01"), SpanOf("1 mon 1 day -0:00:01"))), "2020-02-01 23:59:59");
  EXPECT_EQ(Text(AddInterval(kInfinite, SpanOf("1 month"))), "infinity");
  EXPECT_EQ(Text(AddInterval(StampOf("294247-01-01"), SpanOf("1 month"))), "22008 timestamp out of range");
  EXPECT_EQ(Text(AddInterval(StampOf("4714-11-24 BC"), SpanOf("-1 us"))), "22008 timestamp out of range");
}

TEST(ArithmeticTest, Differences) {
  EXPECT_EQ(Text(TimestampDifference(StampOf("2020-03-01 12:00"), StampOf("2020-02-01 13:00"))), "28 days 23:00:00");
  EXPECT_EQ(Text(TimestampDifference(StampOf("2020-02-01 13:00"), StampOf("2020-03-01 12:00"))), "-28 days -23:00:00");
  EXPECT_EQ(Text(Age(StampOf("2001-04-10"), StampOf("1957-06-13"))), "43 years 9 mons 27 days");
  EXPECT_EQ(Text(Age(StampOf("2020-03-01"), StampOf("2020-01-31"))), "1 mon 1 day");
  EXPECT_EQ(Text(TimestampDifference(kInfinite, 0)), "22008 cannot subtract infinite timestamps");
  EXPECT_SQLSTATE(DateDifference(kInfinite, 0), "22008");
}

TEST(ArithmeticTest, IntervalsCascadeAndJustify) {
  EXPECT_EQ(Text(MultiplyInterval(SpanOf("1 mon 1 day 1:00"), 1.5)), "1 mon 16 days 13:30:00");
  EXPECT_EQ(Text(DivideInterval(SpanOf("1 mon"), 7)), "4 days 06:51:25.6896");
  EXPECT_EQ(Text(DivideInterval(SpanOf("1 mon"), 0)), "22012 division by zero");
  EXPECT_EQ(Text(JustifyHours(SpanOf("1 day -25:00"))), "-01:00:00");
  EXPECT_EQ(Text(JustifyDays(SpanOf("35 days"))), "1 mon 5 days");
  EXPECT_EQ(Text(JustifyInterval(SpanOf("1 mon -1 hour"))), "29 days 23:00:00");
  EXPECT_EQ(Text(NegateInterval(Interval{0, INT32_MIN, 0})), "22008 interval out of range");
}

TEST(ArithmeticTest, IntervalComparesByItsLength) {
  EXPECT_EQ(CompareBytes(TypeId::kInterval, SpanOf("1 mon").Encode(), SpanOf("30 days").Encode()), 0);
  EXPECT_EQ(CompareBytes(TypeId::kInterval, SpanOf("1 day").Encode(), SpanOf("24:00:01").Encode()), -1);
}

std::string Extracted(TypeId type, std::string_view field, std::string_view text) {
  const Result<std::optional<Numeric>> value = ExtractField(type, field, ParseText(type, text, Settings())->as_int());
  if (!value.ok()) return Describe(value.error());
  return *value ? (*value)->ToString() : "NULL";
}

TEST(FieldTest, OfTimestamps) {
  constexpr std::string_view kText = "2001-02-16 20:38:40.12";
  const auto field = [&](std::string_view name) { return Extracted(TypeId::kTimestamp, name, kText); };
  EXPECT_EQ(field("century"), "21");
  EXPECT_EQ(field("doy"), "47");
  EXPECT_EQ(field("dow"), "5");
  EXPECT_EQ(field("week"), "7");
  EXPECT_EQ(field("SECOND"), "40.120000");
  EXPECT_EQ(field("milliseconds"), "40120.000");
  EXPECT_EQ(field("microseconds"), "40120000");
  EXPECT_EQ(field("epoch"), "982355920.120000");
  EXPECT_EQ(field("julian"), "2451957.86018657407407407407");
  EXPECT_EQ(field("timezone"), "0A000 unit \"timezone\" not supported for type timestamp without time zone");
  EXPECT_EQ(field("foo"), "22023 unit \"foo\" not recognized for type timestamp without time zone");
  EXPECT_EQ(Extracted(TypeId::kTimestamp, "year", "infinity"), "Infinity");
  EXPECT_EQ(Extracted(TypeId::kTimestamp, "hour", "infinity"), "NULL");
}

TEST(FieldTest, OfDates) {
  EXPECT_EQ(Extracted(TypeId::kDate, "isoyear", "2006-01-01"), "2005");
  EXPECT_EQ(Extracted(TypeId::kDate, "week", "2006-01-01"), "52");
  EXPECT_EQ(Extracted(TypeId::kDate, "year", "0001-01-01 BC"), "-1");
  EXPECT_EQ(Extracted(TypeId::kDate, "hour", "2006-01-01"), "0A000 unit \"hour\" not supported for type date");
  EXPECT_EQ(Extracted(TypeId::kTime, "day", "10:00"),
            "0A000 unit \"day\" not supported for type time without time zone");
}

TEST(FieldTest, OfIntervals) {
  const auto field = [](std::string_view name) {
    return (*ExtractIntervalField(name, SpanOf("15 mons 3 days -4:05:06.5")))->ToString();
  };
  EXPECT_EQ(field("year"), "1");
  EXPECT_EQ(field("quarter"), "2");
  EXPECT_EQ(field("hour"), "-4");
  EXPECT_EQ(field("second"), "-6.500000");
  EXPECT_EQ(field("epoch"), "39578093.500000");
}

TEST(FieldTest, Truncation) {
  const auto cut = [](std::string_view name, std::string_view text) {
    return Text(TruncateTimestamp(TypeId::kTimestamp, name, StampOf(text)));
  };
  EXPECT_EQ(cut("hour", "2001-02-16 20:38:40.5"), "2001-02-16 20:00:00");
  EXPECT_EQ(cut("week", "2001-02-16 20:38:40"), "2001-02-12 00:00:00");
  EXPECT_EQ(cut("quarter", "2001-06-16 20:38:40"), "2001-04-01 00:00:00");
  EXPECT_EQ(cut("century", "2000-06-16"), "1901-01-01 00:00:00");
  EXPECT_EQ(cut("century", "0055-06-16 BC"), "0100-01-01 00:00:00 BC");
  EXPECT_EQ(cut("dow", "2000-06-16"), "22023 unit \"dow\" not recognized for type timestamp without time zone");
  EXPECT_EQ(Text(TruncateInterval("month", SpanOf("1 mon 5 days 3:00"))), "1 mon");
  EXPECT_EQ(Text(TruncateInterval("week", SpanOf("1 day"))), "0A000 unit \"week\" not supported for type interval");
}

}  // namespace
}  // namespace sisal::type
