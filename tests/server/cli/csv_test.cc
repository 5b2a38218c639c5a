#include <gtest/gtest.h>

#include <algorithm>

#include "csv_reader.h"
#include "sisal/testing/status_matchers.h"

namespace sisal::cli {
namespace {
// Gives `text` in pieces of `piece` bytes, so that every token is torn somewhere.
CsvReader::Source FromText(std::string text, size_t piece) {
  return [text = std::move(text), piece, at = size_t{0}](char* buffer, size_t size) mutable -> Result<size_t> {
    const size_t count = std::min({piece, size, text.size() - at});
    std::copy_n(text.data() + at, count, buffer);
    at += count;
    return count;
  };
}

// Records as "[a][NULL]" lines; an error as its SQLSTATE.
std::string ReadAll(const std::string& text, CsvOptions options = {}, size_t piece = 1) {
  CsvReader reader(FromText(text, piece), std::move(options));
  std::string all;
  std::vector<Cell> record;
  while (true) {
    const Result<bool> found = reader.ReadRecord(&record);
    if (!found.ok()) return all + std::string(found.sqlstate());
    if (!*found) return all;
    for (const Cell& cell : record) all += "[" + (cell.is_null ? "NULL" : cell.text) + "]";
    all += "\n";
  }
}

TEST(CsvReaderTest, FieldsAndLines) {
  EXPECT_EQ(ReadAll("a,b\n1,2\r\n3,4"), "[a][b]\n[1][2]\n[3][4]\n");
  EXPECT_EQ(ReadAll(""), "");
  EXPECT_EQ(ReadAll("a\n"), "[a]\n");
}

TEST(CsvReaderTest, EmptyIsNullUnlessQuoted) { EXPECT_EQ(ReadAll(",\"\",x,\n"), "[NULL][][x][NULL]\n"); }

TEST(CsvReaderTest, NullTextIsOptional) {
  EXPECT_EQ(ReadAll("NIL,\"NIL\",\n", {.null_text = "NIL"}), "[NULL][NIL][]\n");
}

TEST(CsvReaderTest, QuotesHoldAnything) {
  EXPECT_EQ(ReadAll("\"a,b\",\"c\"\"d\",\"e\nf\r\ng\"\n"), "[a,b][c\"d][e\nf\r\ng]\n");
  EXPECT_EQ(ReadAll("x\"y,z\"w\n"), "[xy,zw]\n");
}

TEST(CsvReaderTest, OtherDelimiter) {
  EXPECT_EQ(ReadAll("a,b;c\n", {.delimiter = ';', .null_text = ""}), "[a,b][c]\n");
}

TEST(CsvReaderTest, EndMarkEndsTheData) {
  EXPECT_EQ(ReadAll("a\n\\.\nb\n"), "[a]\n");
  EXPECT_EQ(ReadAll("\"\\.\"\nb\n"), "[\\.]\n[b]\n");
}

TEST(CsvReaderTest, ByteOrderMarkIsSkipped) {
  EXPECT_EQ(ReadAll("\xef\xbb\xbf"
                    "a,b\n",
                    {}, 1000),
            "[a][b]\n");
}

TEST(CsvReaderTest, BadDataIsRefused) {
  EXPECT_EQ(ReadAll("a\n\"b\n"), "[a]\n22P04");
  EXPECT_EQ(ReadAll("a\rb\n"), "22P04");
  EXPECT_EQ(ReadAll("a\xff\n"), "22021");
}

TEST(CsvReaderTest, EndlessRecordIsRefused) {
  std::string text = "\"";
  text.append(CsvReader::kRecordBytesMax + 1000000, 'x');
  EXPECT_EQ(ReadAll(text, {}, 1 << 20), "54000");
}

TEST(CsvReaderTest, RecordsKnowTheirLine) {
  CsvReader reader(FromText("a\n\"b\nc\"\nd\n", 3), {});
  std::vector<Cell> record;
  std::vector<uint64_t> lines;
  while (true) {
    ASSERT_OK_AND_ASSIGN(const bool found, reader.ReadRecord(&record));
    if (!found) break;
    lines.push_back(reader.record_line());
  }
  EXPECT_EQ(lines, (std::vector<uint64_t>{1, 2, 4}));
}

TEST(CsvReaderTest, SourceErrorsReachTheCaller) {
  CsvReader reader([](char*, size_t) -> Result<size_t> { return Error("58030", "disk"); }, {});
  std::vector<Cell> record;
  EXPECT_SQLSTATE(reader.ReadRecord(&record), "58030");
}
}  // namespace
}  // namespace sisal::cli
