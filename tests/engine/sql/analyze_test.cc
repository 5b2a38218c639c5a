// Runs statement_cases.txt and plan_cases.txt, and checks what those tables cannot hold.
#include <fstream>

#include "analyze_fixture.h"

namespace sisal::sql {
namespace {

class CasesTest : public AnalyzeTest {
 protected:
  CasesTest() {
    Define(
        "CREATE TABLE t (id integer PRIMARY KEY, a integer NOT NULL, b bigint, s text, v varchar(10), n numeric(10,2),"
        " f boolean, d double precision, ts timestamptz)");
    Define("CREATE TABLE u (w smallint, k bigint, x integer, y text DEFAULT 'none', PRIMARY KEY (w, k))");
    Define("CREATE INDEX u_x ON u (x, y DESC)");
    Define(
        "CREATE TABLE h (p integer, q text UNIQUE, c char(3), dt date, tm time, tsn timestamp, r real, by bytea,"
        " uu uuid, iv interval)");
  }

  // Calls `check` with each statement and the indented lines below it, their indentation of two taken off.
  static void ForEachCase(const std::string& file,
                          const std::function<void(const std::string&, const std::string&)>& check) {
    std::ifstream in(std::string(SISAL_SQL_CASES) + "/" + file);
    ASSERT_TRUE(in.good()) << file;
    std::string line, sql, expected;
    size_t count = 0;
    const auto finish = [&] {
      if (sql.empty()) return;
      check(sql, expected);
      ++count;
      sql.clear();
      expected.clear();
    };
    while (std::getline(in, line)) {
      if (line.empty() || line[0] == '#') continue;
      if (line.starts_with("  ")) {
        expected += (expected.empty() ? "" : "\n") + line.substr(2);
        continue;
      }
      finish();
      sql = line;
    }
    finish();
    EXPECT_GT(count, 0u) << file;
  }
};

TEST_F(CasesTest, Statements) {
  ForEachCase("statement_cases.txt", [&](const std::string& sql, const std::string& expected) {
    const bool fails = !Analyze(sql, context_).ok();
    EXPECT_EQ("=> " + (fails ? Outcome(sql) : Signature(sql)), expected) << sql;
  });
}

TEST_F(CasesTest, Plans) {
  ForEachCase("plan_cases.txt",
              [&](const std::string& sql, const std::string& expected) { EXPECT_EQ(Outcome(sql), expected) << sql; });
}

TEST_F(CasesTest, CountsPositionsInCharacters) {
  EXPECT_EQ(Outcome("SELECT 'äöü€😀', nope"), "42703@17 column \"nope\" does not exist");
  EXPECT_EQ(Outcome("SELECT 'äöü€😀' FROM WHERE"), "42601@21 syntax error at or near \"WHERE\"");
}

TEST_F(CasesTest, QuotesWholeCharacters) {
  EXPECT_EQ(Outcome("SELECT 'ä', $1Ð"), "42601@13 trailing junk after parameter at or near \"$1Ð\"");
  EXPECT_EQ(Outcome("SELECT 1日本"), "42601@8 trailing junk after numeric literal at or near \"1日\"");
  EXPECT_EQ(Outcome("SELECT '😀', 1.5😀"), "42601@13 trailing junk after numeric literal at or near \"1.5😀\"");
  EXPECT_EQ(Outcome("SELECT 1eé"), "42601@8 trailing junk after numeric literal at or near \"1e\"");
}

TEST_F(CasesTest, RefusesWhatIsNoText) {
  EXPECT_EQ(Outcome("SELECT 'a\xff'"), "22021@10 invalid byte sequence for encoding \"UTF8\": 0xff");
  EXPECT_EQ(Outcome(std::string_view("SELECT '\0'", 10)), "22021@9 invalid byte sequence for encoding \"UTF8\": 0x00");
  EXPECT_EQ(Analyze(std::string(kStatementBytesMax + 1, ' '), context_).sqlstate(), "54000");
  EXPECT_EQ(Analyze("SELECT " + std::string(kStatementBytesMax - 8, ' ') + "1", context_).sqlstate(), "00000");
}

TEST_F(CasesTest, TellsWhatAStatementNeeds) {
  const auto analyze = [&](std::string_view sql) {
    Result<StatementPtr> statement = Analyze(sql, context_);
    EXPECT_OK(statement);
    return statement.ok() ? *statement : std::make_shared<const Statement>();
  };
  EXPECT_EQ(analyze("  -- nothing\n")->kind, StatementKind::kEmpty);
  EXPECT_TRUE(analyze("SELECT a FROM t")->read_only);
  EXPECT_FALSE(analyze("SELECT a FROM t FOR SHARE")->read_only);
  EXPECT_FALSE(analyze("SELECT (SELECT a FROM t LIMIT 1 FOR UPDATE)")->read_only);
  EXPECT_FALSE(analyze("INSERT INTO t (id, a) VALUES (1, 2)")->read_only);
  EXPECT_FALSE(analyze("INSERT INTO t (id, a) VALUES (1, 2)")->returns_rows);
  EXPECT_TRUE(analyze("DELETE FROM t RETURNING id")->returns_rows);
  EXPECT_FALSE(analyze("SELECT 1")->depends_on_catalog);
  EXPECT_TRUE(analyze("SELECT a FROM t")->depends_on_catalog);
  EXPECT_EQ(analyze("SELECT t.a FROM t, u, t AS x WHERE EXISTS (SELECT 1 FROM h)")->tables.size(), 3u);
  EXPECT_TRUE(analyze("EXPLAIN DELETE FROM t")->read_only);
  EXPECT_FALSE(analyze("EXPLAIN ANALYZE DELETE FROM t")->read_only);
  const StatementPtr columns = analyze("SELECT id, b, u.k FROM t LEFT JOIN u ON u.x = t.id");
  EXPECT_TRUE(columns->output[0].not_null);
  EXPECT_FALSE(columns->output[1].not_null);
  EXPECT_FALSE(columns->output[2].not_null);
}

TEST_F(CasesTest, KeepsTheMomentOutOfPlans) {
  // A cached plan must not freeze 'now'.
  const std::string plan = Outcome("SELECT a FROM t WHERE ts > 'now'");
  EXPECT_NE(plan.find("'now'::timestamp with time zone"), std::string::npos) << plan;
}

}  // namespace
}  // namespace sisal::sql
