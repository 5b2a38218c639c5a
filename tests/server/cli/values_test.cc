#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sisal/testing/status_matchers.h"
#include "text_width.h"
#include "value_format.h"

namespace sisal::cli {
namespace {
// What `append` makes of `arguments`.
template <typename Function, typename... Arguments>
std::string Shown(Function append, Arguments... arguments) {
  std::string text;
  append(arguments..., &text);
  return text;
}

TEST(DoubleTest, ShortestDigitsAsPostgresPrintsThem) {
  EXPECT_EQ(Shown(AppendDouble, 0.1), "0.1");
  EXPECT_EQ(Shown(AppendDouble, 0.0), "0");
  EXPECT_EQ(Shown(AppendDouble, -0.0), "-0");
  EXPECT_EQ(Shown(AppendDouble, 100.0), "100");
  EXPECT_EQ(Shown(AppendDouble, -1234.5), "-1234.5");
  EXPECT_EQ(Shown(AppendDouble, 1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(Shown(AppendDouble, 123456789012345.0), "123456789012345");
  EXPECT_EQ(Shown(AppendDouble, 1e15), "1e+15");
  EXPECT_EQ(Shown(AppendDouble, 1e20), "1e+20");
  EXPECT_EQ(Shown(AppendDouble, 1.5e300), "1.5e+300");
  EXPECT_EQ(Shown(AppendDouble, 0.0001), "0.0001");
  EXPECT_EQ(Shown(AppendDouble, 0.000012), "1.2e-05");
  EXPECT_EQ(Shown(AppendDouble, 5e-324), "5e-324");
  EXPECT_EQ(Shown(AppendDouble, 1.7976931348623157e308), "1.7976931348623157e+308");
}

TEST(DoubleTest, HalfWayDecimalsAreAvoidedAsInPostgres) {
  EXPECT_EQ(Shown(AppendDouble, 1e23), "9.999999999999999e+22");
  EXPECT_EQ(Shown(AppendDouble, 9007199254740992.0), "9.007199254740992e+15");
}

TEST(DoubleTest, SpecialValues) {
  EXPECT_EQ(Shown(AppendDouble, std::nan("")), "NaN");
  EXPECT_EQ(Shown(AppendDouble, HUGE_VAL), "Infinity");
  EXPECT_EQ(Shown(AppendDouble, -HUGE_VAL), "-Infinity");
}

TEST(RealTest, ShortestDigitsOfTheFloat) {
  EXPECT_EQ(Shown(AppendReal, 0.1f), "0.1");
  EXPECT_EQ(Shown(AppendReal, 123456.0f), "123456");
  EXPECT_EQ(Shown(AppendReal, 1234567.0f), "1.234567e+06");
  EXPECT_EQ(Shown(AppendReal, 3.4028235e38f), "3.4028235e+38");
  EXPECT_EQ(Shown(AppendReal, 1e-5f), "1e-05");
}

TEST(DateTest, CalendarAndEras) {
  EXPECT_EQ(Shown(AppendDate, 0), "1970-01-01");
  EXPECT_EQ(Shown(AppendDate, -1), "1969-12-31");
  EXPECT_EQ(Shown(AppendDate, 20787), "2026-11-30");
  EXPECT_EQ(Shown(AppendDate, 11016), "2000-02-29");
  EXPECT_EQ(Shown(AppendDate, -719162), "0001-01-01");
  EXPECT_EQ(Shown(AppendDate, -719163), "0001-12-31 BC");
  EXPECT_EQ(Shown(AppendDate, 2145042905), "5874897-12-31");
  EXPECT_EQ(Shown(AppendDate, -2440588), "4714-11-24 BC");
  EXPECT_EQ(Shown(AppendDate, std::numeric_limits<int64_t>::max()), "infinity");
  EXPECT_EQ(Shown(AppendDate, std::numeric_limits<int64_t>::min()), "-infinity");
}

TEST(TimestampTest, FractionsAndZones) {
  EXPECT_EQ(Shown(AppendTimestamp, int64_t{0}, false), "1970-01-01 00:00:00");
  EXPECT_EQ(Shown(AppendTimestamp, int64_t{-1}, false), "1969-12-31 23:59:59.999999");
  EXPECT_EQ(Shown(AppendTimestamp, int64_t{250000}, true), "1970-01-01 00:00:00.25+00");
  EXPECT_EQ(Shown(AppendTimestamp, int64_t{-62135596800000001}, true), "0001-12-31 23:59:59.999999+00 BC");
  EXPECT_EQ(Shown(AppendTimestamp, std::numeric_limits<int64_t>::max(), true), "infinity");
}

TEST(TimeTest, MidnightIsBothEnds) {
  EXPECT_EQ(Shown(AppendTime, int64_t{57900250000}), "16:05:00.25");
  EXPECT_EQ(Shown(AppendTime, int64_t{86400000000}), "24:00:00");
}

TEST(BytesTest, HexAndUuid) {
  EXPECT_EQ(Shown(AppendBytea, std::string_view("\x00\xff"
                                                "a",
                                                3)),
            "\\x00ff61");
  EXPECT_EQ(Shown(AppendBytea, std::string_view("")), "\\x");
  EXPECT_EQ(Shown(AppendUuid, std::string_view("\x12\x34\x56\x78\x9a\xbc\xde\xf0\x01\x02\x03\x04\x05\x06\x07\x08", 16)),
            "12345678-9abc-def0-0102-030405060708");
}

// One column of type `type` with `rows` rows.
struct OneColumn {
  explicit OneColumn(v1::TypeCode type, uint32_t rows) {
    types.Add()->set_type(type);
    batch.set_row_count(rows);
    column = batch.add_columns();
  }
  ColumnTypes types;
  v1::ColumnBatch batch;
  v1::Column* column;
};

TEST(CellTest, NullComesFromTheBitmap) {
  OneColumn one(v1::TYPE_CODE_INTEGER, 10);
  for (int i = 0; i < 10; ++i) one.column->add_integers(i);
  one.column->set_null_bitmap(std::string("\x02\x02", 2));
  ASSERT_OK(CheckBatch(one.types, one.batch));
  std::string shown;
  for (uint32_t row = 0; row < 10; ++row) {
    Cell cell;
    FormatCell(one.types.Get(0), *one.column, row, &cell);
    shown += cell.is_null ? "." : cell.text;
  }
  EXPECT_EQ(shown, "0.2345678.");
}

TEST(CellTest, BooleansAreLetters) {
  OneColumn one(v1::TYPE_CODE_BOOLEAN, 2);
  one.column->add_booleans(true);
  one.column->add_booleans(false);
  Cell cell;
  FormatCell(one.types.Get(0), *one.column, 0, &cell);
  EXPECT_EQ(cell.text, "t");
  FormatCell(one.types.Get(0), *one.column, 1, &cell);
  EXPECT_EQ(cell.text, "f");
}

TEST(CellTest, MalformedBatchesAreRefused) {
  OneColumn short_list(v1::TYPE_CODE_TEXT, 2);
  short_list.column->add_texts("a");
  EXPECT_SQLSTATE(CheckBatch(short_list.types, short_list.batch), "08P01");
  OneColumn wrong_list(v1::TYPE_CODE_INTEGER, 1);
  wrong_list.column->add_texts("1");
  EXPECT_SQLSTATE(CheckBatch(wrong_list.types, wrong_list.batch), "08P01");
  OneColumn short_bitmap(v1::TYPE_CODE_INTEGER, 9);
  for (int i = 0; i < 9; ++i) short_bitmap.column->add_integers(i);
  short_bitmap.column->set_null_bitmap("x");
  EXPECT_SQLSTATE(CheckBatch(short_bitmap.types, short_bitmap.batch), "08P01");
  OneColumn extra(v1::TYPE_CODE_INTEGER, 0);
  extra.batch.add_columns();
  EXPECT_SQLSTATE(CheckBatch(extra.types, extra.batch), "08P01");
}

TEST(TextWidthTest, WideAndControlCharacters) {
  UseUtf8Locale();
  EXPECT_EQ(LayOut("añb")[0].width, 3u);
  EXPECT_EQ(LayOut("日本")[0].width, 4u);
  EXPECT_EQ(LayOut("a\tb")[0].text, "a       b");
  EXPECT_EQ(LayOut("a\r\x01")[0].text, "a\\r\\x01");
  EXPECT_EQ(LayOut("a\nbc").size(), 2u);
  EXPECT_EQ(LayOut("\xff")[0].text, "\\xFF");
}

TEST(TextWidthTest, InvalidUtf8IsFound) {
  EXPECT_EQ(FindInvalidUtf8("añ日😀"), std::string::npos);
  EXPECT_EQ(FindInvalidUtf8("ab\xff"), 2u);
  EXPECT_EQ(FindInvalidUtf8("\xc0\x80"), 0u);          // overlong
  EXPECT_EQ(FindInvalidUtf8("a\xed\xa0\x80"), 1u);     // surrogate
  EXPECT_EQ(FindInvalidUtf8("\xf4\x90\x80\x80"), 0u);  // past U+10FFFF
  EXPECT_EQ(FindInvalidUtf8("a\xe6\x97"), 1u);         // cut
}
}  // namespace
}  // namespace sisal::cli
