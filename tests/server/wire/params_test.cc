#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sisal/testing/status_matchers.h"
#include "sisal/type/numeric.h"
#include "sisal/v1/request.pb.h"
#include "sisal/v1/result.pb.h"
#include "sisal/v1/type.pb.h"
#include "sisal/wire/request.h"

namespace sisal::wire {
namespace {

using ::testing::HasSubstr;
using type::Datum;
using type::SqlType;
using type::TypeId;

v1::Value Integer(int64_t x) {
  v1::Value value;
  value.set_integer(x);
  return value;
}
v1::Value Number(double x) {
  v1::Value value;
  value.set_number(x);
  return value;
}
v1::Value Text(const std::string& x) {
  v1::Value value;
  value.set_text(x);
  return value;
}
v1::Value Blob(const std::string& x) {
  v1::Value value;
  value.set_blob(x);
  return value;
}
v1::Value Null() {
  v1::Value value;
  value.set_null(true);
  return value;
}
Result<Datum> Convert(const v1::Value& value, TypeId type) { return ToDatum(value, type, 1, {}); }

TEST(ParamsTest, IntegersFitEveryNumberType) {
  for (const TypeId id : {TypeId::kSmallint, TypeId::kInteger, TypeId::kBigint}) {
    ASSERT_OK_AND_ASSIGN(const Datum datum, Convert(Integer(-7), id));
    EXPECT_EQ(datum.as_int(), -7);
  }
  ASSERT_OK_AND_ASSIGN(const Datum real, Convert(Integer(3), TypeId::kDouble));
  EXPECT_EQ(real.as_double(), 3);
  ASSERT_OK_AND_ASSIGN(const Datum numeric, Convert(Integer(3), TypeId::kNumeric));
  EXPECT_EQ(type::Numeric::Decode(numeric.as_bytes()).ToString(), "3");
}

TEST(ParamsTest, IntegersOutOfRange) {
  EXPECT_SQLSTATE(Convert(Integer(32768), TypeId::kSmallint), "22003");
  EXPECT_SQLSTATE(Convert(Integer(int64_t{1} << 31), TypeId::kInteger), "22003");
}

TEST(ParamsTest, OtherPairsAreMismatches) {
  EXPECT_SQLSTATE(Convert(Integer(1), TypeId::kText), "42804");
  EXPECT_SQLSTATE(Convert(Integer(1), TypeId::kDate), "42804");
  EXPECT_SQLSTATE(Convert(Number(1), TypeId::kInteger), "42804");
  EXPECT_SQLSTATE(Convert(Blob("x"), TypeId::kText), "42804");
  v1::Value boolean;
  boolean.set_boolean(true);
  EXPECT_SQLSTATE(Convert(boolean, TypeId::kInteger), "42804");
}

TEST(ParamsTest, TextIsReadByTheTypesInputFunction) {
  ASSERT_OK_AND_ASSIGN(const Datum integer, Convert(Text(" 42 "), TypeId::kInteger));
  EXPECT_EQ(integer.as_int(), 42);
  ASSERT_OK_AND_ASSIGN(const Datum date, Convert(Text("1970-01-03"), TypeId::kDate));
  EXPECT_EQ(date.as_int(), 2);
  EXPECT_SQLSTATE(Convert(Text("abc"), TypeId::kInteger), "22P02");
}

TEST(ParamsTest, RealsAreRoundedOrRefused) {
  ASSERT_OK_AND_ASSIGN(const Datum real, Convert(Number(0.1), TypeId::kReal));
  EXPECT_EQ(real.as_double(), static_cast<double>(0.1f));
  EXPECT_SQLSTATE(Convert(Number(1e300), TypeId::kReal), "22003");
  EXPECT_OK(Convert(Number(INFINITY), TypeId::kReal));
}

TEST(ParamsTest, BlobsAreByteaAndUuid) {
  ASSERT_OK_AND_ASSIGN(const Datum bytea, Convert(Blob("\x01\xFF"), TypeId::kBytea));
  EXPECT_EQ(bytea.as_bytes(), "\x01\xFF");
  EXPECT_OK(Convert(Blob("0123456789abcdef"), TypeId::kUuid));
  EXPECT_SQLSTATE(Convert(Blob("short"), TypeId::kUuid), "22P03");
}

TEST(ParamsTest, NullIsNullAndNothingIsAnError) {
  ASSERT_OK_AND_ASSIGN(const Datum null, Convert(Null(), TypeId::kInteger));
  EXPECT_TRUE(null.is_null());
  EXPECT_SQLSTATE(Convert(v1::Value(), TypeId::kInteger), "08P01");
  v1::Value array;
  array.mutable_array();
  EXPECT_SQLSTATE(Convert(array, TypeId::kInteger), "0A000");
}

TEST(ParamsTest, WrongNumberOfParameters) {
  v1::Statement statement;
  *statement.add_params() = Integer(1);
  const SqlType types[] = {TypeId::kInteger, TypeId::kInteger};
  const auto params = ToParams(statement, types, {});
  EXPECT_SQLSTATE(params, "08P01");
  EXPECT_THAT(params.error().message(),
              HasSubstr("bind message supplies 1 parameters, but prepared statement \"\" requires 2"));
}

TEST(ParamRowsTest, TakesColumnsOfAllForms) {
  v1::ColumnBatch batch;
  batch.set_row_count(2);
  v1::Column& ids = *batch.add_columns();
  ids.add_integers(1), ids.add_integers(2);
  v1::Column& days = *batch.add_columns();
  days.add_integers(10), days.add_integers(0);
  days.set_null_bitmap(std::string(1, '\x02'));
  v1::Column& names = *batch.add_columns();
  names.set_packed("abc");
  names.add_lengths(1), names.add_lengths(2);
  v1::Column& amounts = *batch.add_columns();
  amounts.add_texts("1.5"), amounts.add_texts("2");
  const SqlType types[] = {TypeId::kInteger, TypeId::kDate, TypeId::kText, TypeId::kNumeric};
  const type::TextSettings settings;
  ASSERT_OK_AND_ASSIGN(const ParamRows rows, ParamRows::Make(batch, types, settings));
  ASSERT_OK_AND_ASSIGN(const auto first, rows.Row(0));
  EXPECT_EQ(first[0].as_int(), 1);
  EXPECT_EQ(first[1].as_int(), 10);
  EXPECT_EQ(first[2].as_bytes(), "a");
  EXPECT_EQ(type::Numeric::Decode(first[3].as_bytes()).ToString(), "1.5");
  ASSERT_OK_AND_ASSIGN(const auto second, rows.Row(1));
  EXPECT_TRUE(second[1].is_null());
  EXPECT_EQ(second[2].as_bytes(), "bc");
}

TEST(ParamRowsTest, ShapesThatDoNotFitAreRefused) {
  const SqlType types[] = {TypeId::kInteger};
  const type::TextSettings settings;
  v1::ColumnBatch batch;
  batch.set_row_count(2);
  EXPECT_SQLSTATE(ParamRows::Make(batch, types, settings), "08P01");  // no column
  EXPECT_SQLSTATE(ParamRows::Make(batch, {}, settings), "08P01");     // no parameter
  v1::Column& column = *batch.add_columns();
  EXPECT_SQLSTATE(ParamRows::Make(batch, types, settings), "08P01");  // no list
  column.add_integers(1);
  EXPECT_SQLSTATE(ParamRows::Make(batch, types, settings), "08P01");  // one value for two rows
  column.add_integers(2);
  EXPECT_OK(ParamRows::Make(batch, types, settings));
  for (const size_t size : {1, 2}) {  // a bitmap for up to 8 rows has one byte
    column.set_null_bitmap(std::string(size, '\x01'));
    EXPECT_EQ(ParamRows::Make(batch, types, settings).ok(), size == 1);
  }
  column.clear_null_bitmap();
  column.add_texts("1"), column.add_texts("2");
  EXPECT_SQLSTATE(ParamRows::Make(batch, types, settings), "08P01");  // two lists
}

TEST(ParamRowsTest, LengthsMustFitThePackedBytes) {
  const SqlType types[] = {TypeId::kText};
  const type::TextSettings settings;
  v1::ColumnBatch batch;
  batch.set_row_count(1);
  v1::Column& column = *batch.add_columns();
  column.set_packed("abc");
  column.add_lengths(4);
  EXPECT_SQLSTATE(ParamRows::Make(batch, types, settings), "08P01");
  column.set_lengths(0, 2);
  EXPECT_SQLSTATE(ParamRows::Make(batch, types, settings), "08P01");
}

TEST(ParseTest, MalformedBytesAndBadTextDiffer) {
  v1::ExecuteRequest request;
  EXPECT_SQLSTATE(ParseMessage("\xFF\xFF\xFF", request), "08P01");
  v1::ExecuteRequest bad;
  std::string bytes;
  bad.mutable_statement()->set_sql("SELECT 'xx'");
  bad.SerializeToString(&bytes);
  bytes[bytes.find("xx")] = '\xE4';
  const Status status = ParseMessage(bytes, request);
  EXPECT_SQLSTATE(status, "22021");
  EXPECT_EQ(status.error().message(), "invalid byte sequence for encoding \"UTF8\": 0xe4");
}

}  // namespace
}  // namespace sisal::wire
