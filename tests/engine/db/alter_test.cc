// ALTER TABLE: rows that are older than their table's shape, roll back, other sessions, restarts. Messages are
// PostgreSQL 15's.
#include "sql_fixture.h"

namespace sisal::db {
namespace {

class AlterTest : public SqlFixture {
 protected:
  std::string Refused(const char* sql) {
    const std::string answer = Run(sql);
    EXPECT_TRUE(answer.starts_with("ERROR ")) << sql << ": " << answer;
    return answer.starts_with("ERROR ") ? answer.substr(6, answer.find(" (") - 6) : answer;  // without detail
  }
};

TEST_F(AlterTest, AddedColumnsReadAsTheirDefaultInOldRows) {
  Do({"CREATE TABLE t (a int PRIMARY KEY, b text)", "INSERT INTO t VALUES (1, 'x'), (2, NULL)",
      "ALTER TABLE t ADD COLUMN c numeric(6,2) DEFAULT 1.5 NOT NULL, ADD COLUMN d text DEFAULT 'new', ADD e date",
      "INSERT INTO t (a, d) VALUES (3, NULL)", "UPDATE t SET b = 'y' WHERE a = 2", "CREATE INDEX ON t (d, c)"});
  const std::string rows = "1|x|1.50|new|NULL\n2|y|1.50|new|NULL\n3|NULL|1.50|NULL|NULL\n";
  EXPECT_EQ(Run("SELECT * FROM t ORDER BY a"), rows);
  EXPECT_EQ(Run("SELECT d, e, c FROM t WHERE a = 1"), "new|NULL|1.50\n");  // the point read's way
  EXPECT_EQ(Run("SELECT a FROM t WHERE d = 'new' ORDER BY a"), "1\n2\n");  // the index's
  EXPECT_EQ(Run("SELECT sum(c), count(e), count(d) FROM t"), "4.50|0|2\n");
  Do({"ALTER TABLE t ALTER c SET DEFAULT 9, ALTER d DROP DEFAULT", "INSERT INTO t (a) VALUES (4)"});
  Reopen();
  EXPECT_EQ(Run("SELECT * FROM t ORDER BY a"), rows + "4|NULL|9.00|NULL|NULL\n");
  EXPECT_EQ(Refused("UPDATE t SET c = NULL WHERE a = 1"),
            "23502: null value in column \"c\" of relation \"t\" violates not-null constraint");
}

TEST_F(AlterTest, VolatileAndLongDefaultsAreWrittenIntoTheRows) {
  Do({"CREATE TABLE t (a int UNIQUE)", "INSERT INTO t SELECT * FROM generate_series(1, 3000)",
      "ALTER TABLE t ADD r double precision DEFAULT random() UNIQUE, ADD s text DEFAULT repeat('x', 20000) NOT NULL"});
  EXPECT_EQ(Run("SELECT count(DISTINCT r), count(*), min(length(s)) FROM t"), "3000|3000|20000\n");
  Do({"ALTER TABLE t ADD p int DEFAULT 5, ADD q text DEFAULT repeat('y', 20000)", "ALTER TABLE t DROP q"});
  EXPECT_EQ(Run("SELECT min(p), count(p) FROM t"), "5|3000\n");
  const std::string before = Run("SELECT a, r FROM t WHERE a < 5 ORDER BY a");
  Reopen();
  EXPECT_EQ(Run("SELECT a, r FROM t WHERE a < 5 ORDER BY a"), before);
  EXPECT_EQ(Run("ALTER TABLE t ADD u timestamptz DEFAULT now()"), "ALTER TABLE");  // once for all rows
  EXPECT_EQ(Run("SELECT count(DISTINCT u), count(u) FROM t"), "1|3000\n");
}

TEST_F(AlterTest, DroppedColumnsAreGoneEverywhere) {
  Do({"CREATE TABLE t (a int PRIMARY KEY, b text UNIQUE, c int NOT NULL, d int DEFAULT 4, UNIQUE (c, d))",
      "CREATE INDEX i ON t (d, b)", "INSERT INTO t VALUES (1, 'x', 10), (2, 'y', 20)",
      "ALTER TABLE t DROP COLUMN b, DROP COLUMN c"});
  EXPECT_EQ(Run("SELECT * FROM t ORDER BY 1"), "1|4\n2|4\n");
  EXPECT_EQ(Refused("SELECT b FROM t"), "42703: column \"b\" does not exist");
  EXPECT_EQ(Refused("SELECT t.c FROM t"), "42703: column t.c does not exist");
  EXPECT_EQ(Run("INSERT INTO t VALUES (3, 5) RETURNING *"), "3|5\n");
  EXPECT_EQ(Refused("INSERT INTO t VALUES (3, 5, 6)"), "42601: INSERT has more expressions than target columns");
  EXPECT_EQ(Run("INSERT INTO t VALUES (3, 0) ON CONFLICT (a) DO UPDATE SET d = t.d + excluded.a RETURNING *"), "3|8\n");
  EXPECT_EQ(Run("UPDATE t SET d = 7 WHERE a = 1 RETURNING *"), "1|7\n");
  EXPECT_EQ(Run("DELETE FROM t USING t u WHERE t.a = u.a AND u.a = 2 RETURNING t.*"), "2|4\n");
  EXPECT_EQ(Refused("INSERT INTO t VALUES (NULL, 5)"),
            "23502: null value in column \"a\" of relation \"t\" violates not-null constraint");
  EXPECT_EQ(Run("SELECT * FROM t NATURAL JOIN t u (a, d) ORDER BY 1"), "1|7\n3|8\n");
  EXPECT_EQ(Run("SELECT column_name, ordinal_position FROM information_schema.columns WHERE table_name = 't'"),
            "a|1\nd|4\n");
  EXPECT_EQ(Run("SELECT indexname FROM pg_indexes WHERE tablename = 't'"), "t_pkey\n");
  Do({"ALTER TABLE t ADD b int DEFAULT 1", "INSERT INTO t VALUES (9, 9, 9)"});
  Reopen();
  EXPECT_EQ(Run("SELECT * FROM t WHERE a IN (1, 9) ORDER BY a"), "1|7|1\n9|9|9\n");
  EXPECT_EQ(Run("SELECT *, d FROM t WHERE a = 9"), "9|9|9|9\n");
}

TEST_F(AlterTest, ATableMayLoseAllOfItsColumns) {
  Do({"CREATE TABLE t (a int PRIMARY KEY, b int)", "INSERT INTO t VALUES (1, 1), (2, 2)",
      "ALTER TABLE t DROP a, DROP b"});
  EXPECT_EQ(Run("SELECT count(*) FROM t"), "2\n");
  EXPECT_EQ(Run("INSERT INTO t DEFAULT VALUES"), "INSERT 1");
  Do({"ALTER TABLE t ADD c int DEFAULT 5"});
  EXPECT_EQ(Run("SELECT * FROM t"), "5\n5\n5\n");
}

TEST_F(AlterTest, APrimaryKeyComesAndGoes) {
  Do({"CREATE TABLE t (a int PRIMARY KEY, b int, c text)", "CREATE UNIQUE INDEX i ON t (c)",
      "INSERT INTO t SELECT g, 5000 - g, 'c' || g FROM generate_series(1, 5000) g",
      "ALTER TABLE t DROP CONSTRAINT t_pkey"});
  EXPECT_EQ(Run("INSERT INTO t VALUES (7, 1, 'again')"), "INSERT 1");
  EXPECT_EQ(Run("SELECT b FROM t WHERE a = 7 ORDER BY b"), "1\n4993\n");
  EXPECT_EQ(Run("SELECT a FROM t WHERE c = 'c77'"), "77\n");
  EXPECT_EQ(Refused("ALTER TABLE t ADD PRIMARY KEY (a)"), "23505: could not create unique index \"t_pkey\"");
  EXPECT_EQ(Refused("INSERT INTO t VALUES (NULL, 1, NULL)"),
            "23502: null value in column \"a\" of relation \"t\" violates not-null constraint");
  Do({"DELETE FROM t WHERE c = 'again'", "ALTER TABLE t ADD CONSTRAINT pk PRIMARY KEY (b, a)"});
  EXPECT_EQ(Run("SELECT a FROM t WHERE b = 4900 AND a = 100"), "100\n");
  EXPECT_EQ(Refused("INSERT INTO t VALUES (100, 4900)"),
            "23505: duplicate key value violates unique constraint \"pk\"");
  Reopen();
  EXPECT_EQ(Run("SELECT a, b FROM t ORDER BY b LIMIT 2"), "5000|0\n4999|1\n");
  Do({"ALTER TABLE t DROP COLUMN a"});
  EXPECT_EQ(Run("SELECT count(*), min(b), max(c) FROM t"), "5000|0|c999\n");
  EXPECT_EQ(Run("SELECT b FROM t WHERE c = 'c5'"), "4995\n");
}

TEST_F(AlterTest, RefusesAsPostgres) {
  Do({"CREATE TABLE t (a int PRIMARY KEY, b text, c int UNIQUE)", "INSERT INTO t VALUES (1, 'x', 1), (2, NULL, 2)"});
  const std::pair<const char*, const char*> cases[] = {
      {"ALTER TABLE t RENAME TO t", "42P07: relation \"t\" already exists"},
      {"ALTER TABLE t RENAME TO t_pkey", "42P07: relation \"t_pkey\" already exists"},
      {"ALTER TABLE nope RENAME TO x", "42P01: relation \"nope\" does not exist"},
      {"ALTER TABLE t RENAME COLUMN zz TO y", "42703: column \"zz\" does not exist"},
      {"ALTER TABLE t RENAME COLUMN a TO b", "42701: column \"b\" of relation \"t\" already exists"},
      {"ALTER TABLE t RENAME a TO xmin", "42701: column name \"xmin\" conflicts with a system column name"},
      {"ALTER TABLE t RENAME xmin TO q", "0A000: cannot rename system column \"xmin\""},
      {"ALTER TABLE t RENAME CONSTRAINT zz TO q", "42704: constraint \"zz\" for table \"t\" does not exist"},
      {"ALTER TABLE t RENAME CONSTRAINT t_pkey TO t_c_key", "42P07: relation \"t_c_key\" already exists"},
      {"ALTER TABLE t_pkey ADD COLUMN z int",
       "42809: ALTER action ADD COLUMN cannot be performed on relation \"t_pkey\""},
      {"ALTER TABLE t ALTER b SET NOT NULL", "23502: column \"b\" of relation \"t\" contains null values"},
      {"ALTER TABLE t ALTER zz SET NOT NULL", "42703: column \"zz\" of relation \"t\" does not exist"},
      {"ALTER TABLE t ALTER a DROP NOT NULL", "42P16: column \"a\" is in a primary key"},
      {"ALTER TABLE t ALTER c SET DEFAULT 'x'", "22P02: invalid input syntax for type integer: \"x\""},
      {"ALTER TABLE t ALTER c SET DEFAULT b", "0A000: cannot use column reference in DEFAULT expression"},
      {"ALTER TABLE t ADD COLUMN a int", "42701: column \"a\" of relation \"t\" already exists"},
      {"ALTER TABLE t ADD COLUMN d int NOT NULL", "23502: column \"d\" of relation \"t\" contains null values"},
      {"ALTER TABLE t ADD COLUMN d int NOT NULL DEFAULT NULL",
       "23502: column \"d\" of relation \"t\" contains null values"},
      {"ALTER TABLE t ADD COLUMN d int PRIMARY KEY", "42P16: multiple primary keys for table \"t\" are not allowed"},
      {"ALTER TABLE t ADD d int DEFAULT 7 UNIQUE", "23505: could not create unique index \"t_d_key\""},
      {"ALTER TABLE t DROP COLUMN zz", "42703: column \"zz\" of relation \"t\" does not exist"},
      {"ALTER TABLE t DROP COLUMN ctid", "0A000: cannot drop system column \"ctid\""},
      {"ALTER TABLE t DROP CONSTRAINT zz", "42704: constraint \"zz\" of relation \"t\" does not exist"},
      {"ALTER TABLE t ADD UNIQUE (zz)", "42703: column \"zz\" named in key does not exist"},
      {"ALTER TABLE t ADD CONSTRAINT t_pkey UNIQUE (c)", "42P07: relation \"t_pkey\" already exists"},
      {"ALTER TABLE t OWNER TO me", "0A000: OWNER TO is not supported"},
      {"ALTER TABLE t SET SCHEMA s", "0A000: SET SCHEMA is not supported"},
  };
  for (const auto& [sql, message] : cases) EXPECT_EQ(Refused(sql), message) << sql;
  EXPECT_EQ(Run("SELECT * FROM t ORDER BY a"), "1|x|1\n2|NULL|2\n");  // nothing of them stays
  EXPECT_EQ(Run("ALTER TABLE IF EXISTS nope ADD x int"), "ALTER TABLE");
  EXPECT_EQ(Run("ALTER TABLE t ADD COLUMN IF NOT EXISTS a int, DROP COLUMN IF EXISTS zz, "
                "DROP CONSTRAINT IF EXISTS zz"),
            "ALTER TABLE");
}

TEST_F(AlterTest, ChecksComeGoAndFollowTheirColumns) {
  Do({"CREATE TABLE t (a int, b int CHECK (b > 0), CONSTRAINT pair CHECK (t.a < b OR a = 100))",
      "INSERT INTO t VALUES (1, 2), (100, 1)"});
  EXPECT_EQ(Refused("ALTER TABLE t ADD CHECK (a < 50)"),
            "23514: check constraint \"t_a_check\" of relation \"t\" is violated by some row");
  EXPECT_EQ(Refused("ALTER TABLE t ADD c int DEFAULT 3 CHECK (c > a)"),
            "23514: check constraint \"t_check\" of relation \"t\" is violated by some row");
  EXPECT_EQ(Refused("ALTER TABLE t ADD r double precision DEFAULT random() CHECK (r < 0)"),
            "23514: check constraint \"t_r_check\" of relation \"t\" is violated by some row");
  EXPECT_EQ(Refused("ALTER TABLE t ADD CONSTRAINT pair UNIQUE (a)"),
            "42710: constraint \"pair\" for relation \"t\" already exists");
  Do({"ALTER TABLE t ADD CONSTRAINT big CHECK (a <= 100)", "ALTER TABLE t RENAME a TO \"order\"",
      "ALTER TABLE t RENAME CONSTRAINT pair TO two", "ALTER TABLE t RENAME TO u"});
  EXPECT_EQ(Refused("INSERT INTO u VALUES (101, 500)"),
            "23514: new row for relation \"u\" violates check constraint \"big\"");
  EXPECT_EQ(Refused("INSERT INTO u VALUES (5, 1)"),
            "23514: new row for relation \"u\" violates check constraint \"two\"");
  Reopen();
  EXPECT_EQ(Refused("UPDATE u SET b = 0 WHERE \"order\" = 1"),
            "23514: new row for relation \"u\" violates check constraint \"t_b_check\"");
  Do({"ALTER TABLE u DROP COLUMN \"order\"", "ALTER TABLE u DROP CONSTRAINT t_b_check", "INSERT INTO u VALUES (-1)"});
  EXPECT_EQ(Run("SELECT * FROM u ORDER BY b"), "-1\n1\n2\n");
}

TEST_F(AlterTest, TypesChangeWithTheirRows) {
  Do({"CREATE TABLE t (a int PRIMARY KEY, b text DEFAULT '7', c numeric(6,2) CHECK (c > 1))",
      "CREATE INDEX ON t (b, c)", "INSERT INTO t VALUES (1, '10', 2.25), (2, '9', 2.5)"});
  EXPECT_EQ(Refused("ALTER TABLE t ALTER b TYPE int USING b::int"),
            "42804: default for column \"b\" cannot be cast automatically to type integer");
  EXPECT_EQ(Refused("ALTER TABLE t ALTER b TYPE date"),
            "42804: column \"b\" cannot be cast automatically to type date");
  EXPECT_EQ(Refused("ALTER TABLE t ALTER b TYPE date USING a"),
            "42804: result of USING clause for column \"b\" cannot be cast automatically to type date");
  EXPECT_EQ(Refused("ALTER TABLE t ALTER c TYPE int USING c - 1"),
            "23514: check constraint \"t_c_check\" of relation \"t\" is violated by some row");
  EXPECT_EQ(Refused("ALTER TABLE t ALTER a TYPE int USING 5"), "23505: could not create unique index \"t_pkey\"");
  Do({"ALTER TABLE t ALTER a TYPE bigint, ALTER b DROP DEFAULT, ALTER b TYPE int USING b::int * 2, "
      "ALTER b SET DEFAULT 3, ALTER c TYPE int",
      "INSERT INTO t (a, c) VALUES (3000000000, 4)"});
  Reopen();
  EXPECT_EQ(Run("SELECT * FROM t ORDER BY b, a"), "3000000000|3|4\n2|18|3\n1|20|2\n");
  EXPECT_EQ(Run("SELECT a FROM t WHERE a = 2"), "2\n");
}

TEST_F(AlterTest, RenamesKeepTheRows) {
  Do({"CREATE TABLE t (a int PRIMARY KEY, b int UNIQUE)", "INSERT INTO t VALUES (1, 2)", "ALTER TABLE t RENAME TO u",
      "ALTER TABLE u RENAME a TO z", "ALTER TABLE u RENAME CONSTRAINT t_pkey TO pk", "ALTER INDEX t_b_key RENAME TO bk",
      "CREATE TABLE t (a int PRIMARY KEY)"});
  EXPECT_EQ(Run("SELECT z, b FROM u"), "1|2\n");
  EXPECT_EQ(Refused("INSERT INTO u VALUES (1, 3)"), "23505: duplicate key value violates unique constraint \"pk\"");
  EXPECT_EQ(Refused("INSERT INTO u VALUES (3, 2)"), "23505: duplicate key value violates unique constraint \"bk\"");
  Reopen();
  EXPECT_EQ(Run("SELECT z FROM u WHERE b = 2"), "1\n");
  EXPECT_EQ(Run("SELECT count(*) FROM t"), "0\n");
}

TEST_F(AlterTest, IsUndoneByRollbackAndSavepoint) {
  Do({"CREATE TABLE t (a int PRIMARY KEY, b int DEFAULT 2)", "INSERT INTO t VALUES (1)", "BEGIN",
      "ALTER TABLE t ADD c int DEFAULT 3", "INSERT INTO t VALUES (2, 2, 9)", "SAVEPOINT s",
      "ALTER TABLE t DROP b, DROP CONSTRAINT t_pkey", "INSERT INTO t VALUES (1, 8)"});
  EXPECT_EQ(Run("SELECT * FROM t ORDER BY a, c"), "1|3\n1|8\n2|9\n");
  Do({"ROLLBACK TO s"});
  EXPECT_EQ(Run("SELECT * FROM t ORDER BY a"), "1|2|3\n2|2|9\n");
  EXPECT_EQ(Refused("INSERT INTO t VALUES (1, 8)"), "23505: duplicate key value violates unique constraint \"t_pkey\"");
  Do({"ROLLBACK TO s", "ALTER TABLE t RENAME TO u", "COMMIT"});
  EXPECT_EQ(Run("SELECT * FROM u ORDER BY a"), "1|2|3\n2|2|9\n");
  Do({"BEGIN", "ALTER TABLE u DROP c", "ALTER TABLE u RENAME TO v", "ROLLBACK"});
  EXPECT_EQ(Run("SELECT * FROM u ORDER BY a"), "1|2|3\n2|2|9\n");
  Reopen();
  EXPECT_EQ(Run("SELECT * FROM u ORDER BY a"), "1|2|3\n2|2|9\n");
}

TEST_F(AlterTest, ATransactionOfDefinitionsChangesManyTables) {
  Do({"CREATE TABLE t (a int, b int)", "CREATE TABLE u (a int, b int)", "INSERT INTO t VALUES (1, 1)",
      "INSERT INTO u VALUES (2, 2)", "BEGIN", "ALTER TABLE t ADD c int DEFAULT 1", "ALTER TABLE u ALTER a SET NOT NULL",
      "CREATE INDEX ON t (c)", "ALTER TABLE u ADD PRIMARY KEY (a)", "ALTER TABLE t ADD PRIMARY KEY (a)",
      "ALTER TABLE t ALTER c SET NOT NULL", "COMMIT"});
  EXPECT_EQ(Run("SELECT * FROM t, u WHERE t.a = 1 AND u.a = 2"), "1|1|1|2|2\n");
  // Once a query has answered, rows of other sessions may be missing under the snapshot.
  Do({"BEGIN", "SELECT * FROM u"});
  EXPECT_TRUE(Refused("ALTER TABLE t ALTER b SET NOT NULL").starts_with("0A000: ALTER TABLE of a table that others"));
  Do({"ROLLBACK", "BEGIN", "SELECT * FROM u", "ALTER TABLE t ADD d int DEFAULT 4", "INSERT INTO t VALUES (5)"});
  EXPECT_EQ(Run("SELECT a, d FROM t ORDER BY a"), "1|4\n5|4\n");
  Do({"COMMIT"});
}

TEST_F(AlterTest, OldSnapshotsKeepTheOldShape) {
  Do({"CREATE TABLE t (a int PRIMARY KEY, b int)", "INSERT INTO t VALUES (1, 2)"});
  const auto reader = database_->NewSession();
  Check(*reader, "BEGIN");
  EXPECT_EQ(Run(*reader, "SELECT * FROM t"), "1|2\n");
  Do({"ALTER TABLE t ADD c int DEFAULT 7, DROP b", "INSERT INTO t VALUES (2, 8)",
      "ALTER TABLE t DROP CONSTRAINT t_pkey", "UPDATE t SET c = 9 WHERE a = 1"});
  EXPECT_EQ(Run(*reader, "SELECT * FROM t"), "1|2\n");
  EXPECT_EQ(Run(*reader, "SELECT b FROM t WHERE a = 1"), "2\n");
  EXPECT_TRUE(Run(*reader, "UPDATE t SET b = 3 WHERE a = 1").starts_with("ERROR 40001"));
  Check(*reader, "ROLLBACK");
  EXPECT_EQ(Run(*reader, "SELECT * FROM t ORDER BY a"), "1|9\n2|8\n");
  Check(*reader, "BEGIN ISOLATION LEVEL READ COMMITTED");
  EXPECT_EQ(Run(*reader, "SELECT * FROM t ORDER BY a"), "1|9\n2|8\n");
  Check(*reader, "CREATE TABLE own (x int)");
  Do({"ALTER TABLE t ADD d int DEFAULT 0", "INSERT INTO t VALUES (3, 3, 3)"});
  EXPECT_EQ(Run(*reader, "SELECT * FROM t, (SELECT count(*) FROM own) o ORDER BY a"), "1|9|0|0\n2|8|0|0\n3|3|3|0\n");
  Check(*reader, "COMMIT");
}

TEST_F(AlterTest, PreparedStatementsAreBoundAgain) {
  Do({"CREATE TABLE t (a int PRIMARY KEY, b int)", "INSERT INTO t VALUES (1, 2)"});
  const auto run = [&](const PreparedPtr& prepared) {
    auto result = session_->Execute(prepared, {type::Datum::Int(1)}, {});
    type::Chunk chunk;
    const Status status = result.ok() ? (*result)->Next(chunk) : std::move(result).status();
    if (!status.ok()) return status.ToString();
    std::string text;
    for (uint32_t row = 0; row < chunk.row_count; ++row) AppendRow(chunk, row, text);
    return text;
  };
  const PreparedPtr named = session_->Prepare("SELECT b FROM t WHERE a = $1", {}).value();
  const PreparedPtr all = session_->Prepare("SELECT * FROM t WHERE a = $1", {}).value();
  const PreparedPtr insert = session_->Prepare("INSERT INTO t VALUES ($1 + (SELECT count(*) FROM t), 5)", {}).value();
  EXPECT_EQ(run(named), "2\n");
  EXPECT_EQ(run(all), "1|2\n");
  Do({"ALTER TABLE t ADD c int DEFAULT 3"});
  EXPECT_EQ(run(named), "2\n");
  EXPECT_EQ(run(all), "1|2|3\n");
  EXPECT_EQ(run(insert), "");
  EXPECT_EQ(Run("SELECT * FROM t ORDER BY a"), "1|2|3\n2|5|3\n");
  Do({"ALTER TABLE t DROP b"});
  EXPECT_TRUE(run(named).starts_with("42703"));
}

TEST_F(AlterTest, WritersAndDefinitionsWaitForEachOther) {
  Do({"CREATE TABLE t (a int PRIMARY KEY, b int)", "INSERT INTO t VALUES (1, 1)", "BEGIN",
      "UPDATE t SET b = 5 WHERE a = 1"});
  const auto other = database_->NewSession();
  Check(*other, "SET lock_timeout = '10ms'");
  EXPECT_TRUE(Run(*other, "ALTER TABLE t ADD c int").starts_with("ERROR 55P03"));
  EXPECT_TRUE(Run(*other, "ALTER TABLE t RENAME TO u").starts_with("ERROR 55P03"));
  Do({"COMMIT", "BEGIN", "ALTER TABLE t ADD c int DEFAULT 6"});
  EXPECT_EQ(Run(*other, "SELECT * FROM t"), "1|5\n");  // readers do not wait
  EXPECT_TRUE(Run(*other, "INSERT INTO t VALUES (2, 2)").starts_with("ERROR 55P03"));
  EXPECT_TRUE(Run(*other, "ALTER TABLE t DROP b").starts_with("ERROR 55P03"));
  Do({"COMMIT"});
  EXPECT_EQ(Run(*other, "INSERT INTO t VALUES (2, 2)"), "INSERT 1");
  EXPECT_EQ(Run("SELECT * FROM t ORDER BY a"), "1|5|6\n2|2|6\n");
}

TEST_F(AlterTest, ALargeRewriteStopsAtTheLimit) {
  options_.store.transaction_bytes_max = 1 << 20;
  Reopen();
  Do({"CREATE TABLE t (a int PRIMARY KEY, b text)"});
  for (int i = 0; i < 4; ++i) {
    const std::string from = std::to_string(i * 1000);
    Check(*session_,
          ("INSERT INTO t SELECT g + " + from + ", repeat('x', 300) FROM generate_series(1, 1000) g").c_str());
  }
  EXPECT_TRUE(Refused("ALTER TABLE t DROP CONSTRAINT t_pkey").starts_with("54000: the transaction's changes exceed"));
  EXPECT_EQ(Run("ALTER TABLE t ADD c int DEFAULT 1 NOT NULL"), "ALTER TABLE");
  EXPECT_EQ(Run("SELECT count(*), sum(c) FROM t"), "4000|4000\n");
}

}  // namespace
}  // namespace sisal::db
