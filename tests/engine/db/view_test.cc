// Views: what they mean when relations and columns change around them, and what may be dropped. Messages are PostgreSQL
// 15's.
#include "sql_fixture.h"

namespace sisal::db {
namespace {

class ViewTest : public SqlFixture {
 protected:
  std::string Refused(const char* sql) {
    const std::string answer = Run(sql);
    EXPECT_TRUE(answer.starts_with("ERROR ")) << sql << ": " << answer;
    return answer.starts_with("ERROR ") ? answer.substr(6) : answer;
  }
};

TEST_F(ViewTest, IsReadAsASubselect) {
  Do({"CREATE TABLE t (a int PRIMARY KEY, b text)", "INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, NULL)",
      "CREATE VIEW v AS SELECT a AS id, b FROM t WHERE a > 1",
      "CREATE VIEW w (n, m) AS SELECT count(*), max(id) FROM v",
      "CREATE VIEW u AS (WITH c AS (SELECT * FROM v) SELECT c.id, t.b FROM c JOIN t ON t.a = c.id)"});
  EXPECT_EQ(Run("SELECT * FROM v ORDER BY id"), "2|y\n3|NULL\n");
  EXPECT_EQ(Run("SELECT v.b FROM v WHERE id = 2"), "y\n");
  EXPECT_EQ(Run("SELECT * FROM w"), "2|3\n");
  EXPECT_EQ(Run("SELECT x, v.b FROM v JOIN u AS z (x, y) ON x = v.id ORDER BY x DESC"), "3|NULL\n2|y\n");
  EXPECT_EQ(Run("SELECT (SELECT m FROM w) - a FROM t ORDER BY a"), "2\n1\n0\n");
  EXPECT_EQ(Run("INSERT INTO t SELECT id + 10, 'v' FROM v RETURNING a"), "12\n13\n");
  EXPECT_EQ(
      Run("SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1"),
      "t|BASE TABLE\nu|VIEW\nv|VIEW\nw|VIEW\n");
  EXPECT_EQ(Run("SELECT viewname, definition FROM pg_views WHERE viewname = 'v'"),
            "v|SELECT a AS id, b FROM t WHERE a > 1\n");
  EXPECT_EQ(
      Run("SELECT column_name, ordinal_position, data_type FROM information_schema.columns WHERE table_name = 'w'"),
      "n|1|bigint\nm|2|integer\n");
  Reopen();
  EXPECT_EQ(Run("SELECT * FROM w"), "4|13\n");
}

TEST_F(ViewTest, KeepsItsMeaningWhenNamesChange) {
  Do({"CREATE TABLE t (a int, b int)", "CREATE TABLE s (b int, c int)", "INSERT INTO t VALUES (1, 2)",
      "INSERT INTO s VALUES (2, 3)", "CREATE VIEW star AS SELECT * FROM t",
      "CREATE VIEW joined AS SELECT * FROM t NATURAL JOIN s", "CREATE VIEW top AS SELECT a + 1 AS n FROM star",
      "ALTER TABLE t ADD c int DEFAULT 9", "ALTER TABLE t RENAME a TO z", "ALTER TABLE t RENAME TO moved",
      "CREATE TABLE t (a text)", "INSERT INTO t VALUES ('other')"});
  EXPECT_EQ(Run("SELECT * FROM star"), "1|2\n");
  EXPECT_EQ(Run("SELECT a FROM star"), "1\n");
  EXPECT_EQ(Run("SELECT * FROM joined"), "2|1|3\n");
  EXPECT_EQ(Run("SELECT * FROM top"), "2\n");
  Do({"ALTER VIEW star RENAME TO comet", "ALTER VIEW comet RENAME COLUMN a TO q"});
  EXPECT_EQ(Run("SELECT q FROM comet"), "1\n");
  EXPECT_EQ(Run("SELECT * FROM top"), "2\n");
  Do({"CREATE OR REPLACE VIEW comet AS SELECT z AS q, b, z + b AS sum FROM moved"});
  EXPECT_EQ(Run("SELECT * FROM comet"), "1|2|3\n");
  EXPECT_EQ(Run("SELECT * FROM top"), "2\n");
  Reopen();
  EXPECT_EQ(Run("SELECT * FROM top, joined"), "2|2|1|3\n");
}

TEST_F(ViewTest, WhatItUsesIsNotDropped) {
  Do({"CREATE TABLE t (a int, b int, c int, d int)", "CREATE VIEW v AS SELECT a FROM t WHERE b > 0 ORDER BY c",
      "CREATE VIEW w AS SELECT * FROM v"});
  EXPECT_EQ(
      Refused("DROP TABLE t"),
      "2BP01: cannot drop table t because other objects depend on it (view v depends on table t\nview w depends on "
      "view v)");
  EXPECT_EQ(Refused("DROP VIEW v"),
            "2BP01: cannot drop view v because other objects depend on it (view w depends on view v)");
  EXPECT_EQ(Refused("ALTER TABLE t DROP b"),
            "2BP01: cannot drop column b of table t because other objects depend on it (view v depends on column b of "
            "table t\nview w depends on view v)");
  EXPECT_TRUE(Refused("ALTER TABLE t DROP c").starts_with("2BP01"));
  EXPECT_EQ(
      Refused("ALTER TABLE t ALTER a TYPE bigint"),
      "0A000: cannot alter type of a column used by a view or rule (rule _RETURN on view v depends on column \"a\")");
  Do({"ALTER TABLE t DROP d", "ALTER TABLE t DROP c CASCADE"});
  EXPECT_EQ(Refused("SELECT * FROM w"), "42P01: relation \"w\" does not exist");
  Do({"CREATE VIEW v AS SELECT a FROM t", "CREATE VIEW w AS SELECT * FROM v", "DROP VIEW w, v",
      "CREATE VIEW v AS SELECT 1 AS x", "DROP TABLE t", "CREATE TABLE t (a int)",
      "CREATE VIEW w AS SELECT t.a, x FROM t, v", "DROP TABLE t CASCADE"});
  EXPECT_EQ(Run("SELECT table_name FROM information_schema.views"), "v\n");
  Reopen();
  EXPECT_EQ(Run("SELECT * FROM v"), "1\n");
  EXPECT_EQ(Run("SELECT table_name FROM information_schema.views"), "v\n");
}

TEST_F(ViewTest, AGroupByMayNeedThePrimaryKey) {
  Do({"CREATE TABLE t (a int PRIMARY KEY, b int)", "INSERT INTO t VALUES (1, 2)",
      "CREATE VIEW v AS SELECT a, b, count(*) FROM t GROUP BY a",
      "CREATE VIEW w AS SELECT a, count(b) FROM t GROUP BY a"});
  EXPECT_EQ(Refused("ALTER TABLE t DROP CONSTRAINT t_pkey"),
            "2BP01: cannot drop constraint t_pkey on table t because other objects depend on it (view v depends on "
            "constraint t_pkey on table t)");
  Do({"ALTER TABLE t RENAME TO u"});
  Reopen();
  EXPECT_EQ(Run("SELECT * FROM v"), "1|2|1\n");
  Do({"ALTER TABLE u DROP CONSTRAINT t_pkey CASCADE"});
  EXPECT_TRUE(Refused("SELECT * FROM v").starts_with("42P01"));
  EXPECT_EQ(Run("SELECT * FROM w"), "1|1\n");
}

TEST_F(ViewTest, RefusesAsPostgres) {
  Do({"CREATE TABLE t (a int PRIMARY KEY, b text)", "CREATE VIEW v AS SELECT a, b FROM t",
      "CREATE VIEW g AS SELECT a FROM t GROUP BY a", "CREATE VIEW n AS SELECT count(*) FROM t",
      "CREATE VIEW over_n AS SELECT * FROM n"});
  const std::pair<const char*, const char*> cases[] = {
      {"CREATE VIEW v AS SELECT 1", "42P07: relation \"v\" already exists"},
      {"CREATE VIEW x (a, b) AS SELECT 1", "42601: CREATE VIEW specifies more column names than columns"},
      {"CREATE VIEW x AS SELECT 1 AS a, 2 AS a", "42701: column \"a\" specified more than once"},
      {"CREATE VIEW x AS SELECT $1", "42P02: there is no parameter $1"},
      {"CREATE VIEW x AS SELECT * FROM nope", "42P01: relation \"nope\" does not exist"},
      {"CREATE OR REPLACE VIEW t AS SELECT 1", "42809: \"t\" is not a view"},
      {"CREATE OR REPLACE VIEW v AS SELECT a FROM t", "42P16: cannot drop columns from view"},
      {"CREATE OR REPLACE VIEW v AS SELECT a, b AS c FROM t",
       "42P16: cannot change name of view column \"b\" to \"c\""},
      {"CREATE OR REPLACE VIEW v AS SELECT a, 5 AS b FROM t",
       "42P16: cannot change data type of view column \"b\" from text to integer"},
      {"CREATE OR REPLACE VIEW v AS SELECT * FROM v", "42P17: infinite recursion detected in rules for relation \"v\""},
      {"CREATE TEMP VIEW x AS SELECT 1", "0A000: a temporary view is not supported"},
      {"CREATE MATERIALIZED VIEW x AS SELECT 1", "0A000: CREATE TABLE AS is not supported"},
      {"CREATE VIEW x AS SELECT a FROM t WITH CHECK OPTION", "0A000: WITH CHECK OPTION is not supported"},
      {"CREATE VIEW x AS SELECT a FROM t FOR UPDATE", "0A000: FOR UPDATE or FOR SHARE in a view is not supported"},
      {"DROP TABLE v", "42809: \"v\" is not a table"},
      {"DROP VIEW t", "42809: \"t\" is not a view"},
      {"DROP VIEW t_pkey", "42809: \"t_pkey\" is not a view"},
      {"DROP INDEX v", "42809: \"v\" is not an index"},
      {"DROP VIEW nope", "42P01: view \"nope\" does not exist"},
      {"TRUNCATE v", "42809: \"v\" is not a table"},
      {"CREATE INDEX ON v (a)",
       "42809: cannot create index on relation \"v\" (This operation is not supported for views.)"},
      {"ALTER TABLE v ADD c int",
       "42809: ALTER action ADD COLUMN cannot be performed on relation \"v\" (This operation is not supported for "
       "views.)"},
      {"ALTER VIEW t RENAME TO x", "42809: \"t\" is not a view"},
      {"INSERT INTO v VALUES (1, 'x')", "0A000: insert into a view is not supported"},
      {"INSERT INTO g VALUES (1)",
       "55000: cannot insert into view \"g\" (Views containing GROUP BY are not automatically updatable.)"},
      {"UPDATE n SET count = 1",
       "55000: cannot update view \"n\" (Views that return aggregate functions are not automatically updatable.)"},
      {"DELETE FROM over_n",
       "55000: cannot delete from view \"n\" (Views that return aggregate functions are not automatically updatable.)"},
      {"SELECT * FROM v FOR UPDATE", "0A000: FOR UPDATE of a sub-select in FROM is not supported"},
  };
  for (const auto& [sql, message] : cases) EXPECT_EQ(Refused(sql), message) << sql;
  EXPECT_EQ(Run("DROP VIEW IF EXISTS nope"), "DROP VIEW");
  EXPECT_EQ(Run("SELECT * FROM v"), "");
}

TEST_F(ViewTest, IsUndoneAndSeenBySnapshots) {
  Do({"CREATE TABLE t (a int)", "INSERT INTO t VALUES (1)", "BEGIN", "CREATE VIEW v AS SELECT a FROM t"});
  EXPECT_EQ(Run("SELECT * FROM v"), "1\n");
  Do({"ROLLBACK"});
  EXPECT_TRUE(Refused("SELECT * FROM v").starts_with("42P01"));
  Do({"CREATE VIEW v AS SELECT a FROM t"});
  const auto reader = database_->NewSession();
  Check(*reader, "BEGIN");
  EXPECT_EQ(Run(*reader, "SELECT * FROM v"), "1\n");
  Do({"CREATE OR REPLACE VIEW v AS SELECT a + 5 AS a FROM t", "INSERT INTO t VALUES (2)"});
  EXPECT_EQ(Run(*reader, "SELECT * FROM v"), "1\n");
  Check(*reader, "COMMIT");
  EXPECT_EQ(Run(*reader, "SELECT * FROM v ORDER BY a"), "6\n7\n");
  Do({"BEGIN", "CREATE VIEW w AS SELECT * FROM v"});
  Check(*reader, "SET lock_timeout = '10ms'");
  EXPECT_TRUE(Run(*reader, "DROP TABLE t CASCADE").starts_with("ERROR 55P03"));  // what it uses is held
  Do({"COMMIT", "DROP VIEW v CASCADE"});
  EXPECT_EQ(Run("DROP TABLE t"), "DROP TABLE");
}

TEST_F(ViewTest, ManyViewsOfViewsAreRefused) {
  Do({"CREATE TABLE t (a int)", "CREATE VIEW v0 AS SELECT a FROM t"});
  for (int i = 1; i < 12; ++i) {
    const std::string below = "v" + std::to_string(i - 1);
    const std::string answer =
        Run("CREATE VIEW v" + std::to_string(i) + " AS SELECT x.a FROM " + below + " x, " + below + " y");
    if (!answer.starts_with("ERROR")) continue;
    EXPECT_TRUE(answer.starts_with("ERROR 54")) << answer;
    return;
  }
  FAIL() << "2,000 uses of views were allowed";
}

TEST_F(ViewTest, MayHoldARecursionButNotBeOne) {
  EXPECT_EQ(Run("CREATE VIEW v AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3)"
                " SELECT n FROM r"),
            "CREATE VIEW");
  EXPECT_EQ(Run("SELECT * FROM v"), "1\n2\n3\n");
  EXPECT_EQ(Run("CREATE RECURSIVE VIEW w (n) AS SELECT 1 UNION ALL SELECT n + 1 FROM w WHERE n < 3").substr(0, 11),
            "ERROR 0A000");
}

}  // namespace
}  // namespace sisal::db
