// The aligned and expanded forms below were printed by psql 15.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "row_writer.h"
#include "text_width.h"

namespace sisal::cli {
namespace {
struct TestColumn {
  std::string name;
  v1::TypeCode type = v1::TYPE_CODE_TEXT;
};

Cell Text(std::string text) { return Cell{false, std::move(text)}; }
Cell Null() { return Cell{true, ""}; }

std::string Write(RowWriter& writer, const std::vector<TestColumn>& columns,
                  const std::vector<std::vector<Cell>>& rows) {
  UseUtf8Locale();
  ColumnTypes types;
  for (const TestColumn& column : columns) {
    types.Add()->set_name(column.name);
    types.rbegin()->set_type(column.type);
  }
  std::string out;
  writer.Begin(types, &out);
  for (const std::vector<Cell>& row : rows) writer.Row(row, &out);
  writer.End(&out);
  return out;
}

std::string Aligned(const std::vector<TestColumn>& columns, const std::vector<std::vector<Cell>>& rows,
                    DisplayOptions options = {}) {
  AlignedWriter writer(options);
  return Write(writer, columns, rows);
}

TEST(AlignedWriterTest, NumbersStandRight) {
  EXPECT_EQ(Aligned({{"id", v1::TYPE_CODE_INTEGER}, {"name"}}, {{Text("1"), Text("abc")}, {Text("1000"), Null()}}),
            "  id  | name \n"
            "------+------\n"
            "    1 | abc\n"
            " 1000 | \n"
            "(2 rows)\n\n");
}

TEST(AlignedWriterTest, LinesInsideValues) {
  EXPECT_EQ(
      Aligned({{"x"}, {"num", v1::TYPE_CODE_NUMERIC}, {"last"}}, {{Text("a\nbcd"), Text("1.5"), Text("z\ny\nx")}}),
      "  x  | num | last \n"
      "-----+-----+------\n"
      " a  +| 1.5 | z   +\n"
      " bcd |     | y   +\n"
      "     |     | x\n"
      "(1 row)\n\n");
}

TEST(AlignedWriterTest, LinesInsideNamesAndWideCharacters) {
  EXPECT_EQ(Aligned({{"very long\nname", v1::TYPE_CODE_INTEGER}, {"b"}}, {{Text("1"), Text("é日本")}}),
            " very long+|   b   \n"
            "   name    |       \n"
            "-----------+-------\n"
            "         1 | é日本\n"
            "(1 row)\n\n");
}

TEST(AlignedWriterTest, NoRowsAndNoColumns) {
  EXPECT_EQ(Aligned({{"?column?", v1::TYPE_CODE_INTEGER}}, {}), " ?column? \n----------\n(0 rows)\n\n");
  EXPECT_EQ(Aligned({}, {{}}), "--\n(1 row)\n\n");
}

TEST(AlignedWriterTest, NullText) {
  DisplayOptions options;
  options.null_text = "(null)";
  EXPECT_EQ(Aligned({{"a"}}, {{Null()}, {Text("")}}, options), "   a    \n--------\n (null)\n \n(2 rows)\n\n");
}

TEST(AlignedWriterTest, TitleIsCentred) {
  DisplayOptions options;
  options.title = "T";
  options.row_count = false;
  EXPECT_EQ(Aligned({{"abc"}, {"de"}}, {}, options), "    T\n abc | de \n-----+----\n\n");
}

TEST(AlignedWriterTest, RowsAreWrittenOnceEnoughAreMeasured) {
  AlignedWriter writer(DisplayOptions{});
  ColumnTypes types;
  types.Add()->set_name("a");
  std::string out;
  writer.Begin(types, &out);
  for (size_t i = 0; i + 1 < AlignedWriter::kMeasuredRowsMax; ++i) writer.Row({Text("x")}, &out);
  EXPECT_EQ(out, "");
  writer.Row({Text("y")}, &out);
  EXPECT_TRUE(out.ends_with(" y\n"));
  writer.Row({Text("wider than measured")}, &out);
  EXPECT_TRUE(out.ends_with(" wider than measured\n"));
  writer.End(&out);
  EXPECT_TRUE(out.ends_with("(1001 rows)\n\n"));
}

TEST(AlignedWriterTest, LargeValuesAreNotHeldBack) {
  AlignedWriter writer(DisplayOptions{});
  ColumnTypes types;
  types.Add()->set_name("a");
  std::string out;
  writer.Begin(types, &out);
  writer.Row({Text(std::string(AlignedWriter::kMeasuredBytesMax, 'x'))}, &out);
  EXPECT_FALSE(out.empty());
}

DisplayOptions ExpandedOptions() {
  DisplayOptions options;
  options.expanded = true;
  return options;
}

TEST(ExpandedTest, OneLineForEachValue) {
  EXPECT_EQ(Aligned({{"id"}, {"name"}}, {{Text("1"), Text("abc\nd")}, {Text("1000"), Null()}}, ExpandedOptions()),
            "-[ RECORD 1 ]\n"
            "id   | 1\n"
            "name | abc +\n"
            "     | d\n"
            "-[ RECORD 2 ]\n"
            "id   | 1000\n"
            "name | \n"
            "\n");
}

TEST(ExpandedTest, RuleIsAsWideAsTheRecord) {
  EXPECT_EQ(Aligned({{"two\nlines"}, {"c"}, {"d"}},
                    {{Text("1"), Text("a\nb"), Text("longer than the record label by far")}}, ExpandedOptions()),
            "-[ RECORD 1 ]------------------------------\n"
            "two  +| 1\n"
            "lines |\n"
            "c     | a                                  +\n"
            "      | b\n"
            "d     | longer than the record label by far\n"
            "\n");
}

TEST(ExpandedTest, NoRows) { EXPECT_EQ(Aligned({{"a"}}, {}, ExpandedOptions()), "(0 rows)\n\n"); }

TEST(CsvWriterTest, QuotesOnlyWhereNeeded) {
  CsvWriter writer;
  EXPECT_EQ(Write(writer, {{"a"}, {"b,c"}, {"d"}},
                  {{Text("x"), Text("say \"hi\""), Text("two\nlines")}, {Null(), Text(""), Text(" y ")}}),
            "a,\"b,c\",d\n"
            "x,\"say \"\"hi\"\"\",\"two\nlines\"\n"
            ",\"\", y \n");
}

TEST(CsvWriterTest, TextThatLooksLikeNullOrTheEndIsQuoted) {
  CsvWriter writer(/*header=*/false, ';', "NIL");
  EXPECT_EQ(Write(writer, {{"a"}, {"b"}}, {{Text("NIL"), Null()}, {Text("a,b"), Text("a;b")}}),
            "\"NIL\";NIL\na,b;\"a;b\"\n");
  CsvWriter alone(/*header=*/false);
  EXPECT_EQ(Write(alone, {{"a"}}, {{Text("\\.")}}), "\"\\.\"\n");
}

nlohmann::json ReadBack(const std::vector<TestColumn>& columns, const std::vector<std::vector<Cell>>& rows) {
  JsonWriter writer;
  return nlohmann::json::parse(Write(writer, columns, rows));
}

TEST(JsonWriterTest, OneLineForEachRow) {
  JsonWriter writer;
  EXPECT_EQ(Write(writer, {{"a", v1::TYPE_CODE_INTEGER}, {"b"}}, {{Text("1"), Text("x")}, {Text("2"), Null()}}),
            "[\n{\"a\":1,\"b\":\"x\"},\n{\"a\":2,\"b\":null}\n]\n");
  JsonWriter empty;
  EXPECT_EQ(Write(empty, {{"a"}}, {}), "[]\n");
}

TEST(JsonWriterTest, NumbersOnlyWhereExact) {
  const nlohmann::json row = ReadBack({{"small", v1::TYPE_CODE_BIGINT},
                                       {"large", v1::TYPE_CODE_BIGINT},
                                       {"numeric", v1::TYPE_CODE_NUMERIC},
                                       {"double", v1::TYPE_CODE_DOUBLE},
                                       {"nan", v1::TYPE_CODE_DOUBLE},
                                       {"boolean", v1::TYPE_CODE_BOOLEAN},
                                       {"json", v1::TYPE_CODE_JSONB}},
                                      {{Text("9007199254740992"), Text("-9007199254740993"), Text("1.10"),
                                        Text("1.5e+300"), Text("NaN"), Text("t"), Text("{\"k\": [1]}")}})[0];
  EXPECT_EQ(row["small"], 9007199254740992);
  EXPECT_EQ(row["large"], "-9007199254740993");
  EXPECT_EQ(row["numeric"], "1.10");
  EXPECT_EQ(row["double"], 1.5e300);
  EXPECT_EQ(row["nan"], "NaN");
  EXPECT_EQ(row["boolean"], true);
  EXPECT_EQ(row["json"]["k"][0], 1);
}

TEST(JsonWriterTest, StringsReadBackUnchanged) {
  const std::string text = "\"\\/\b\f\n\r\t\x01\x7f é日😀";
  EXPECT_EQ(ReadBack({{text}}, {{Text(text)}})[0][text], text);
}

TEST(JsonWriterTest, RepeatedNamesStayApart) {
  const nlohmann::json row =
      ReadBack({{"a"}, {"a"}, {"a_2"}, {"a"}}, {{Text("1"), Text("2"), Text("3"), Text("4")}})[0];
  EXPECT_EQ(row.size(), 4u);
  EXPECT_EQ(row["a_2"], "3");
  EXPECT_EQ(row["a_3"], "2");
  EXPECT_EQ(row["a_4"], "4");
}
}  // namespace
}  // namespace sisal::cli
