#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client.h"
#include "completion.h"
#include "copy_command.h"
#include "describe.h"
#include "line_editor.h"
#include "meta_commands.h"
#include "progress.h"
#include "shell.h"
#include "sisal/testing/status_matchers.h"
#include "sql_help.h"

namespace sisal::cli {
namespace {
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(TransactionWordsTest, StatementsThatEndIt) {
  EXPECT_TRUE(EndsTransaction("COMMIT"));
  EXPECT_TRUE(EndsTransaction("/* x /* y */ */ -- z\n end work"));
  EXPECT_TRUE(EndsTransaction("rollback;"));
  EXPECT_TRUE(EndsTransaction("ABORT TRANSACTION"));
  EXPECT_FALSE(EndsTransaction("rollback to s"));
  EXPECT_FALSE(EndsTransaction("ROLLBACK WORK TO SAVEPOINT s"));
  EXPECT_FALSE(EndsTransaction("committed"));
  EXPECT_FALSE(EndsTransaction("select 'commit'"));
}

TEST(TransactionWordsTest, StatementsThatRollBack) {
  EXPECT_TRUE(RollsBack("ROLLBACK"));
  EXPECT_TRUE(RollsBack("abort work -- x"));
  EXPECT_FALSE(RollsBack("commit"));
  EXPECT_FALSE(RollsBack("rollback to s"));
  EXPECT_FALSE(RollsBack("ROLLBACK AND CHAIN"));
}

TEST(TransactionWordsTest, StatementsThatBeginIt) {
  EXPECT_EQ(ParseBegin("begin")->modes, "");
  EXPECT_EQ(ParseBegin("/* x */ BEGIN work")->modes, "");
  EXPECT_EQ(ParseBegin("begin read only")->modes, "read only");
  EXPECT_EQ(ParseBegin("Start  Transaction isolation level serializable")->modes, "isolation level serializable");
  EXPECT_EQ(ParseBegin("start transaction")->command, "START TRANSACTION");
  EXPECT_FALSE(ParseBegin("start").has_value());
  EXPECT_FALSE(ParseBegin("beginning").has_value());
}

TEST(MetaCommandTest, NameArgumentsAndRest) {
  const MetaCommand command = ParseMetaCommand("pset  null '(a  ''b)' \"X y\" ;");
  EXPECT_EQ(command.name, "pset");
  EXPECT_THAT(command.arguments, ElementsAre("null", "(a  'b)", "\"X y\""));
  EXPECT_EQ(command.rest, "null '(a  ''b)' \"X y\"");
  EXPECT_EQ(ParseMetaCommand("d").rest, "");
}

TEST(CopyParseTest, Import) {
  ASSERT_OK_AND_ASSIGN(const CopyCommand command,
                       ParseCopy("s.\"T b\" (a, \"c)\") from 'x''y.csv' with (format csv, header, delimiter ';')"));
  EXPECT_TRUE(command.from_file);
  EXPECT_EQ(command.table, "s.\"T b\"");
  EXPECT_EQ(command.columns, "a, \"c)\"");
  EXPECT_EQ(command.path, "x'y.csv");
  EXPECT_EQ(command.header, CopyCommand::Header::kPresent);
  EXPECT_EQ(command.csv.delimiter, ';');
}

TEST(CopyParseTest, Export) {
  ASSERT_OK_AND_ASSIGN(const CopyCommand command,
                       ParseCopy("(select ')', count(*) from t) TO stdout csv header null 'N'"));
  EXPECT_FALSE(command.from_file);
  EXPECT_EQ(command.query, "select ')', count(*) from t");
  EXPECT_EQ(command.path, "");
  EXPECT_EQ(command.csv.null_text, "N");
  ASSERT_OK_AND_ASSIGN(const CopyCommand other, ParseCopy("t to out.csv header match"));
  EXPECT_EQ(other.path, "out.csv");
  EXPECT_EQ(other.header, CopyCommand::Header::kMatch);
}

TEST(CopyParseTest, ErrorsNameWhatIsWrong) {
  EXPECT_SQLSTATE(ParseCopy(""), "42601");
  EXPECT_SQLSTATE(ParseCopy("t"), "42601");
  EXPECT_SQLSTATE(ParseCopy("t from"), "42601");
  EXPECT_SQLSTATE(ParseCopy("t from 'x"), "42601");
  EXPECT_SQLSTATE(ParseCopy("(select 1 from 'x'"), "42601");
  EXPECT_SQLSTATE(ParseCopy("(select 1) from 'x'"), "42601");
  EXPECT_SQLSTATE(ParseCopy("t from program 'x'"), "0A000");
  EXPECT_SQLSTATE(ParseCopy("t from 'x' binary"), "0A000");
  EXPECT_SQLSTATE(ParseCopy("t from 'x' (format text)"), "0A000");
  EXPECT_SQLSTATE(ParseCopy("t from 'x' delimiter 'ab'"), "22023");
}

TEST(PatternTest, GlobsAndSchemas) {
  EXPECT_TRUE(GlobMatches("a*c?", "abbcd"));
  EXPECT_TRUE(GlobMatches("*", ""));
  EXPECT_FALSE(GlobMatches("a?", "a"));
  EXPECT_TRUE(GlobMatches("*ab", "aab"));
  EXPECT_TRUE(NamePattern("T*").Matches("public", "test"));
  EXPECT_FALSE(NamePattern("\"T\"").Matches("public", "t"));
  EXPECT_FALSE(NamePattern("").Matches("pg_catalog", "pg_tables"));
  EXPECT_TRUE(NamePattern("pg_catalog.pg_*").Matches("pg_catalog", "pg_tables"));
  EXPECT_FALSE(NamePattern("s.t").Matches("public", "t"));
}

TEST(PatternTest, IdentifiersAreQuoted) { EXPECT_EQ(QuoteIdentifier("a\"b"), "\"a\"\"b\""); }

class CompletionTest : public ::testing::Test {
 protected:
  const SchemaNames names_ = {{"orders", "Odd", "s.t"},
                              {{"orders", {"id", "item"}}, {"Odd", {"x"}}, {"s.t", {"inner_id"}}}};
};

TEST_F(CompletionTest, TablesFollowFrom) {
  EXPECT_THAT(Candidates("select * from ", "o", names_), ElementsAre("orders"));
  EXPECT_THAT(Candidates("insert into ", "", names_), ElementsAre("\"Odd\"", "orders", "s.t"));
  EXPECT_THAT(Candidates("\\d ", "s.", names_), ElementsAre("s.t"));
}

TEST_F(CompletionTest, ColumnsOfTheTablesThatAreNamed) {
  EXPECT_THAT(Candidates("select * from orders where ", "i", names_), Contains("item"));
  EXPECT_THAT(Candidates("select * from orders where ", "i", names_), Not(Contains("inner_id")));
  EXPECT_THAT(Candidates("select ", "inn", names_), ElementsAre("inner_id"));
  EXPECT_THAT(Candidates("select * from orders where ", "orders.i", names_), ElementsAre("orders.id", "orders.item"));
}

TEST_F(CompletionTest, KeywordsInTheCaseThatWasBegun) {
  EXPECT_THAT(Candidates("", "sel", names_), ElementsAre("select"));
  EXPECT_THAT(Candidates("", "SEL", names_), ElementsAre("SELECT"));
  EXPECT_THAT(Candidates("create ", "ta", names_), ElementsAre("table"));
}

TEST_F(CompletionTest, MetaCommands) { EXPECT_THAT(Candidates("", "\\t", names_), ElementsAre("\\timing")); }

TEST(HistoryTest, EntriesOfSeveralLinesTakeOne) {
  const std::string entry = "select '\\n\\'\n  ,2;";
  EXPECT_EQ(EncodeHistoryLine(entry).find('\n'), std::string::npos);
  EXPECT_EQ(DecodeHistoryLine(EncodeHistoryLine(entry)), entry);
  EXPECT_EQ(DecodeHistoryLine("plain\\"), "plain\\");
}

TEST(HelpTest, StatementsByPrefix) {
  EXPECT_THAT(SqlHelpText(""), HasSubstr("CREATE TABLE"));
  EXPECT_THAT(SqlHelpText("create  table"), HasSubstr("Syntax:"));
  EXPECT_THAT(SqlHelpText("foo"), IsEmpty());
}

TEST(CommandTagTest, AsPsqlPrintsThem) {
  EXPECT_EQ(CommandTag({false, "INSERT", 3, {}}), "INSERT 0 3");
  EXPECT_EQ(CommandTag({false, "UPDATE", 0, {}}), "UPDATE 0");
  EXPECT_EQ(CommandTag({false, "CREATE TABLE", 0, {}}), "CREATE TABLE");
}

TEST(TimingTest, LongTimesAreSpeltOut) {
  EXPECT_EQ(TimingText(std::chrono::microseconds(1234)), "Time: 1.234 ms");
  EXPECT_EQ(TimingText(std::chrono::microseconds(1234567)), "Time: 1234.567 ms (00:01.235)");
  EXPECT_EQ(TimingText(std::chrono::seconds(3723)), "Time: 3723000.000 ms (01:02:03.000)");
}

TEST(ProgressTest, BarWhereTheTotalIsKnown) {
  EXPECT_EQ(ProgressText(10, 500000, 1000000, 1.0), "[===============>              ]  50%  10 rows  0.5 MB  0.5 MB/s");
  EXPECT_EQ(ProgressText(10, 500000, 0, 0.5), "10 rows  0.5 MB  1.0 MB/s");
}
}  // namespace
}  // namespace sisal::cli
