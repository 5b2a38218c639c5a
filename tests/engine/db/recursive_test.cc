// WITH RECURSIVE and LATERAL end to end.
#include "sql_fixture.h"

namespace sisal::db {
namespace {

class RecursiveTest : public SqlFixture {};

TEST_F(RecursiveTest, RoundsSeeTheRowsOfTheLastRound) {
  EXPECT_EQ(Run("WITH RECURSIVE r(n) AS (VALUES (1), (5) UNION ALL SELECT n + 1 FROM r WHERE n < 6) SELECT n FROM r"),
            "1\n5\n2\n6\n3\n4\n5\n6\n");
  EXPECT_EQ(Run("WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT n % 4 + 1 FROM r) SELECT n FROM r"), "1\n2\n3\n4\n");
  EXPECT_EQ(Run("WITH RECURSIVE r(n) AS (SELECT 1 WHERE false UNION ALL SELECT n FROM r) SELECT n FROM r"), "");
}

TEST_F(RecursiveTest, GraphsAreWalkedFromEitherSideOfAJoin) {
  Run("CREATE TABLE e (a INTEGER, b INTEGER)");
  Run("INSERT INTO e SELECT g, g % 100 + 1 FROM generate_series(1, 100) g");
  Run("INSERT INTO e SELECT 200 + g, 1 FROM generate_series(1, 10) g");
  for (const std::string from : {"p JOIN e ON a = x", "e JOIN p ON a = x", "e, p WHERE a = x", "p, e WHERE a = x"}) {
    EXPECT_EQ(Run("WITH RECURSIVE p(x) AS (SELECT 7 UNION SELECT b FROM " + from + ") SELECT count(*), max(x) FROM p"),
              "100|100\n")
        << from;
  }
}

// A join keeps its right side from round to round, but not one that reads the working table further down.
TEST_F(RecursiveTest, TheWorkingTableMayLieWithinALateralItem) {
  EXPECT_EQ(
      Run("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT s.m FROM (VALUES (1)) v JOIN (generate_series(0, 1) g"
          " CROSS JOIN LATERAL (SELECT n + 1 AS m FROM r WHERE n < 4 AND g = 0) s) ON true) SELECT n FROM r"),
      "1\n2\n3\n4\n");
}

TEST_F(RecursiveTest, RunsAnewForEachOuterRow) {
  EXPECT_EQ(Run("SELECT g, (WITH RECURSIVE r(n) AS (SELECT g UNION ALL SELECT n * 2 FROM r WHERE n < 20)"
                " SELECT max(n) FROM r) FROM generate_series(1, 3) g"),
            "1|32\n2|32\n3|24\n");
}

TEST_F(RecursiveTest, RecursionsNest) {
  EXPECT_EQ(Run("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + k FROM r, (WITH RECURSIVE s(k) AS"
                " (SELECT 1 UNION ALL SELECT k + 1 FROM s WHERE k < 2) SELECT k FROM s) s WHERE n < 3)"
                " SELECT n FROM r ORDER BY n"),
            "1\n2\n3\n3\n4\n");
}

TEST_F(RecursiveTest, EndlessOnesEndByLimitMemoryAndCancel) {
  const std::string endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r";
  EXPECT_EQ(Run(endless + " LIMIT 2 OFFSET 5000"), "5001\n5002\n");
  options_.statement_memory_bytes_max = 2 << 20;
  Reopen();
  EXPECT_EQ(
      Run("WITH RECURSIVE r(n) AS (SELECT 1::bigint UNION SELECT n + 1 FROM r) SELECT count(*) FROM r").substr(0, 11),
      "ERROR 53200");
  EXPECT_EQ(Run("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + g FROM r, generate_series(1, 9) g) SELECT"
                " count(*) FROM r")
                .substr(0, 11),
            "ERROR 53200");
  auto prepared = session_->Prepare(endless, {});
  ASSERT_TRUE(prepared.ok());
  io::CancelToken cancel;
  CallOptions options;
  options.cancel = &cancel;
  auto result = session_->Execute(*prepared, {}, options);
  ASSERT_TRUE(result.ok());
  type::Chunk chunk;
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE((*result)->Next(chunk).ok());
  cancel.Cancel(Error("57014", "asked"));
  EXPECT_EQ((*result)->Next(chunk).sqlstate(), "57014");
}

TEST_F(RecursiveTest, LateralItemsRunForEachRow) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)");
  Run("INSERT INTO t VALUES (1, 2), (2, 0), (3, NULL), (4, 3)");
  EXPECT_EQ(Run("SELECT id, g FROM t, generate_series(1, n) g"), "1|1\n1|2\n4|1\n4|2\n4|3\n");
  EXPECT_EQ(Run("SELECT id, g FROM t LEFT JOIN generate_series(1, n) g ON g > 1"), "1|2\n2|NULL\n3|NULL\n4|2\n4|3\n");
  EXPECT_EQ(Run("SELECT t.id, s.id FROM t LEFT JOIN LATERAL (SELECT id FROM t u WHERE u.n < t.n ORDER BY n DESC"
                " LIMIT 1) s ON true"),
            "1|2\n2|NULL\n3|NULL\n4|1\n");
  EXPECT_EQ(Run("SELECT t.id, a.x, b.y FROM t, LATERAL (SELECT t.n + 1 AS x) a LEFT JOIN LATERAL (SELECT a.x * 10 AS y"
                " WHERE a.x > 1) b ON true"),
            "1|3|30\n2|1|NULL\n3|NULL|NULL\n4|4|40\n");
}

// Its conditions are checked on the pairs, where the outer row has the query's names.
TEST_F(RecursiveTest, LateralItemsWithinCorrelatedQueries) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)");
  Run("INSERT INTO t VALUES (1, 2), (2, 0), (4, 3)");
  EXPECT_EQ(Run("SELECT o.id, (SELECT string_agg(g::text, ',') FROM t i, generate_series(i.id, i.id + o.n) g"
                " WHERE g > o.id AND i.n = o.n) FROM t o"),
            "1|2,3\n2|NULL\n4|5,6,7\n");
}

}  // namespace
}  // namespace sisal::db
