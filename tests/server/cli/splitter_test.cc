#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "statement_splitter.h"

namespace sisal::cli {
namespace {
using ::testing::ElementsAre;
using Event = StatementSplitter::Event;

// Each statement and "\command" of `text`, fed as one piece; then what no semicolon has ended.
std::vector<std::string> Split(std::string_view text) {
  StatementSplitter splitter;
  splitter.Feed(text);
  std::vector<std::string> parts;
  for (Event event = splitter.Next(); event != Event::kNeedInput; event = splitter.Next()) {
    parts.push_back(event == Event::kStatement ? splitter.TakeStatement() : "\\" + splitter.TakeMetaCommand());
  }
  if (const std::string rest = splitter.TakeUnfinished(); !rest.empty()) parts.push_back(rest);
  return parts;
}

// The prompt after each line.
std::string Marks(const std::vector<std::string>& lines) {
  StatementSplitter splitter;
  std::string marks;
  for (const std::string& line : lines) {
    splitter.Feed(line + "\n");
    while (splitter.Next() != Event::kNeedInput) {
    }
    marks.push_back(splitter.prompt_mark());
  }
  return marks;
}

TEST(SplitterTest, SemicolonsPartStatements) {
  EXPECT_THAT(Split(" select 1 ; select\n 2;select 3"), ElementsAre("select 1", "select\n 2", "select 3"));
}

TEST(SplitterTest, BlankStatementsAreSkipped) {
  EXPECT_THAT(Split(";; -- no\n; /* no */ ; select 1;"), ElementsAre("select 1"));
}

TEST(SplitterTest, StringsHoldSemicolons) {
  EXPECT_THAT(Split("select 'a;''b;'; select 2;"), ElementsAre("select 'a;''b;'", "select 2"));
  EXPECT_THAT(Split("select 'a\\'; select 2;"), ElementsAre("select 'a\\'", "select 2"));
}

TEST(SplitterTest, EscapeStringsKnowBackslashes) {
  EXPECT_THAT(Split("select E'a\\';b'; select 2;"), ElementsAre("select E'a\\';b'", "select 2"));
  EXPECT_THAT(Split("select e'\\\\'; select 2;"), ElementsAre("select e'\\\\'", "select 2"));
  EXPECT_THAT(Split("select type'a\\'; select 2;"), ElementsAre("select type'a\\'", "select 2"));
}

TEST(SplitterTest, EscapeStringGoesOnAfterNewline) {
  EXPECT_THAT(Split("select E'a' -- c\n 'b\\';c'; select 2;"), ElementsAre("select E'a' -- c\n 'b\\';c'", "select 2"));
  EXPECT_THAT(Split("select E'a' 'b\\'; select 2;"), ElementsAre("select E'a' 'b\\'", "select 2"));
}

TEST(SplitterTest, IdentifiersHoldSemicolons) {
  EXPECT_THAT(Split("select \"a;\"\"b\"; select 2;"), ElementsAre("select \"a;\"\"b\"", "select 2"));
}

TEST(SplitterTest, DollarQuotesEndAtTheirOwnTag) {
  EXPECT_THAT(Split("select $$;'$$; select $a$;$b$;$$;$a$; select 2"),
              ElementsAre("select $$;'$$", "select $a$;$b$;$$;$a$", "select 2"));
}

TEST(SplitterTest, ParametersAndNamesWithDollarsAreNoQuotes) {
  EXPECT_THAT(Split("select $1;select $2;select a$b$;select c$b$"),
              ElementsAre("select $1", "select $2", "select a$b$", "select c$b$"));
}

TEST(SplitterTest, CommentsHoldSemicolonsAndNest) {
  EXPECT_THAT(Split("select 1 -- ;'\n + 1; select /* ; /* ; */ ; */ 2;"),
              ElementsAre("select 1 -- ;'\n + 1", "select /* ; /* ; */ ; */ 2"));
}

TEST(SplitterTest, ParenthesesHoldSemicolons) {
  EXPECT_THAT(Split("create rule r as (a; b); select 2;"), ElementsAre("create rule r as (a; b)", "select 2"));
  EXPECT_THAT(Split("select 1); select 2;"), ElementsAre("select 1)", "select 2"));
}

TEST(SplitterTest, MetaCommandTakesItsLine) {
  EXPECT_THAT(Split("\\d t;\nselect 1;\n  \\x on\r\nselect 2"),
              ElementsAre("\\d t;", "select 1", "\\x on", "select 2"));
}

TEST(SplitterTest, MetaCommandLeavesTheStatement) {
  StatementSplitter splitter;
  splitter.Feed("select 1 \\g\n");
  EXPECT_EQ(splitter.Next(), Event::kMetaCommand);
  EXPECT_EQ(splitter.TakeMetaCommand(), "g");
  EXPECT_EQ(splitter.TakeUnfinished(), "select 1");
  EXPECT_EQ(splitter.prompt_mark(), '=');
}

TEST(SplitterTest, BackslashInQuotesIsNoCommand) {
  EXPECT_THAT(Split("select '\\d', \"\\d\" /* \\d */;"), ElementsAre("select '\\d', \"\\d\" /* \\d */"));
}

TEST(SplitterTest, PromptTellsWhatIsOpen) {
  EXPECT_EQ(Marks({"select", "'a", "'", "\"x", "\"", "/* c", "*/", "(1", ")", "$q$", "$q$", ";"}), "-'-\"-*-(-$-=");
  EXPECT_EQ(Marks({"", "-- only a comment", "select 1; select"}), "==-");
}

TEST(SplitterTest, LinesFedOneByOneGiveTheSame) {
  StatementSplitter splitter;
  std::vector<std::string> parts;
  for (const std::string line : {"select 'a;\n", "b' ; select $x$\n", ";$x$;\n"}) {
    splitter.Feed(line);
    while (splitter.Next() == Event::kStatement) parts.push_back(splitter.TakeStatement());
  }
  EXPECT_THAT(parts, ElementsAre("select 'a;\nb'", "select $x$\n;$x$"));
}

TEST(SplitterTest, ResetForgetsAll) {
  StatementSplitter splitter;
  splitter.Feed("select '; \n");
  EXPECT_EQ(splitter.Next(), Event::kNeedInput);
  splitter.Reset();
  EXPECT_EQ(splitter.prompt_mark(), '=');
  splitter.Feed("select 1;\n");
  EXPECT_EQ(splitter.Next(), Event::kStatement);
  EXPECT_EQ(splitter.TakeStatement(), "select 1");
}
}  // namespace
}  // namespace sisal::cli
