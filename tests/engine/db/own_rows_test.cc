// A statement never reads what it has written itself.
#include "sql_fixture.h"

namespace sisal::db {
namespace {

class OwnRowsTest : public SqlFixture {};

TEST_F(OwnRowsTest, AssignedSubqueriesSeeNoChunkWrittenBefore) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)");
  Run("CREATE INDEX t_n ON t (n)");
  Run("INSERT INTO t SELECT g, 0 FROM generate_series(1, 5000) AS s(g)");
  EXPECT_EQ(Run("UPDATE t SET n = (SELECT count(*) FROM t AS u WHERE u.n = 0 AND u.id + t.id > 0) WHERE id % 1000 = 0"),
            "UPDATE 5");
  EXPECT_EQ(Run("SELECT DISTINCT n FROM t WHERE id % 1000 = 0"), "5000\n");
  EXPECT_EQ(Run("UPDATE t SET n = (SELECT max(u.n) FROM t AS u WHERE u.id >= t.id - 1 AND u.id <= t.id)"),
            "UPDATE 5000");
  EXPECT_EQ(Run("SELECT count(*) FROM t WHERE n = 5000"), "9\n");
  EXPECT_EQ(Run("SELECT count(*) FROM t WHERE n + 0 = 5000"), "9\n");
}

TEST_F(OwnRowsTest, ReturningSeesTheTableAsItWas) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)");
  for (const std::string begin : {"", "BEGIN"}) {
    if (!begin.empty()) Run(begin);
    EXPECT_EQ(Run("INSERT INTO t VALUES (1, 10), (2, 20) RETURNING id, (SELECT count(*) FROM t)"), "1|0\n2|0\n");
    EXPECT_EQ(Run("UPDATE t SET n = n + 1 RETURNING n, (SELECT u.n FROM t AS u WHERE u.id = t.id)"), "11|10\n21|20\n");
    EXPECT_EQ(Run("UPDATE t SET id = id + 10 RETURNING id, (SELECT sum(id) FROM t)"), "11|3\n12|3\n");
    EXPECT_EQ(Run("DELETE FROM t RETURNING id, (SELECT count(*) FROM t)"), "11|2\n12|2\n");
    EXPECT_EQ(Run("SELECT count(*) FROM t"), "0\n");
  }
}

TEST_F(OwnRowsTest, UpsertReadsTheTableAsItWas) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)");
  Run("INSERT INTO t VALUES (1, 1), (2, 2)");
  EXPECT_EQ(
      Run("INSERT INTO t VALUES (1, 0), (2, 0), (3, 0) ON CONFLICT (id) DO UPDATE SET n = (SELECT sum(n) FROM t)"),
      "INSERT 3");
  EXPECT_EQ(Run("SELECT * FROM t"), "1|3\n2|3\n3|0\n");
  EXPECT_EQ(Run("INSERT INTO t VALUES (7, 1), (7, 2) ON CONFLICT DO NOTHING RETURNING (SELECT count(*) FROM t)"),
            "3\n");
}

TEST_F(OwnRowsTest, AJoinThatMeetsARowOftenWritesItOnce) {
  Run("CREATE TABLE t (a INTEGER, b INTEGER)");
  Run("INSERT INTO t VALUES (1, 1), (2, 2)");
  EXPECT_EQ(Run("UPDATE t SET a = t.a + 1, b = 0 FROM t AS u"), "UPDATE 2");
  EXPECT_EQ(Run("UPDATE t SET b = t.b + 1 FROM t AS u WHERE t.a < 9 OR u.a < 9"), "UPDATE 2");
  EXPECT_EQ(Run("SELECT * FROM t ORDER BY a"), "2|1\n3|1\n");
  EXPECT_EQ(Run("DELETE FROM t USING t AS u RETURNING t.a"), "2\n3\n");
}

TEST_F(OwnRowsTest, UpsertRefusesARowWhoseKeyItHasChanged) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY, code TEXT UNIQUE)");
  Run("INSERT INTO t VALUES (1, 'a')");
  EXPECT_EQ(Run("INSERT INTO t VALUES (2, 'a'), (3, 'a') ON CONFLICT (code) DO UPDATE SET id = 9").substr(0, 11),
            "ERROR 21000");
  EXPECT_EQ(Run("SELECT * FROM t"), "1|a\n");
}

}  // namespace
}  // namespace sisal::db
