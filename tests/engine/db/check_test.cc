// CHECK constraints, end to end. What PostgreSQL 15 says to the same statements is written out.
#include "sql_fixture.h"

namespace sisal::db {
namespace {

class CheckTest : public SqlFixture {
 protected:
  // The error's fields, "sqlstate: message | detail | schema.table constraint".
  std::string Fields(std::string_view sql) {
    auto prepared = session_->Prepare(sql, {});
    if (!prepared.ok()) return Describe(prepared.error());
    auto result = session_->Execute(*prepared, {}, {});
    if (!result.ok()) return Describe(result.error());
    type::Chunk chunk;
    const Status status = (*result)->Next(chunk);
    return status.ok() ? "ok" : Describe(status.error());
  }
  static std::string Describe(const Error& error) {
    return std::string(error.sqlstate()) + ": " + error.message() + " | " + error.detail() + " | " + error.schema() +
           "." + error.table() + " " + error.constraint();
  }
  static std::string Broken(const std::string& name, const std::string& row) {
    return "ERROR 23514: new row for relation \"t\" violates check constraint \"" + name +
           "\" (Failing row contains (" + row + ").)";
  }
};

TEST_F(CheckTest, TellsTheFirstByNameAndTheRow) {
  EXPECT_EQ(Run("CREATE TABLE t (a INT CHECK (a > 0), b INT CHECK (b > a), CHECK (a < 100), CHECK (1 = 1), "
                "CONSTRAINT zz CHECK (a <> 7))"),
            "CREATE TABLE");
  EXPECT_EQ(Fields("INSERT INTO t VALUES (-5, -10)"),
            "23514: new row for relation \"t\" violates check constraint \"t_a_check\" | Failing row contains (-5, "
            "-10). | public.t t_a_check");
  EXPECT_EQ(Run("INSERT INTO t VALUES (NULL, 5)"), "INSERT 1");
  EXPECT_EQ(Run("INSERT INTO t VALUES (200, 100)"), Broken("t_a_check1", "200, 100"));
  EXPECT_EQ(Run("INSERT INTO t VALUES (1, 2), (7, 8)"), Broken("zz", "7, 8"));
  EXPECT_EQ(Run("INSERT INTO t VALUES (3, 2)"), Broken("t_check", "3, 2"));
  EXPECT_EQ(Run("SELECT * FROM t"), "NULL|5\n");
}

TEST_F(CheckTest, HoldsOnEveryPath) {
  Run("CREATE TABLE t (id INT PRIMARY KEY, n INT CONSTRAINT positive CHECK (n > 0))");
  const auto broken = [](const std::string& row) { return Broken("positive", row); };
  EXPECT_EQ(Run("INSERT INTO t VALUES (1, 1), (2, 2)"), "INSERT 2");
  EXPECT_EQ(Run("INSERT INTO t VALUES (1, -1) ON CONFLICT DO NOTHING"), broken("1, -1"));  // before the conflict
  EXPECT_EQ(Run("INSERT INTO t VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET n = -t.n"), broken("1, -1"));
  EXPECT_EQ(Run("INSERT INTO t VALUES (1, 5), (3, -1) ON CONFLICT (id) DO UPDATE SET n = excluded.n"), broken("3, -1"));
  EXPECT_EQ(Run("INSERT INTO t SELECT g, 3 - g FROM generate_series(3, 9) AS s(g)"), broken("3, 0"));
  EXPECT_EQ(Run("UPDATE t SET n = n - 1"), broken("1, 0"));
  EXPECT_EQ(Run("UPDATE t SET n = t.n - u.n FROM t AS u WHERE u.id = t.id"), broken("1, 0"));
  EXPECT_EQ(Run("UPDATE t SET n = NULL WHERE id = 2"), "UPDATE 1");
  EXPECT_EQ(Run("INSERT INTO t VALUES ($1, $2)", {type::Datum::Int(4), type::Datum::Int(0)}), broken("4, 0"));
  EXPECT_EQ(Run("INSERT INTO t VALUES ($1, $2)", {type::Datum::Int(4), type::Datum::Int(1)}), "INSERT 1");
  EXPECT_EQ(Run("INSERT INTO t VALUES (5, $1) RETURNING id", {type::Datum::Int(-1)}), broken("5, -1"));
  EXPECT_EQ(Run("SELECT * FROM t ORDER BY id"), "1|1\n2|NULL\n4|1\n");
}

// A row's faults come with the row: after the unique keys of the rows before it, and NOT NULL first.
TEST_F(CheckTest, ComesInThePlaceOfItsRow) {
  Run("CREATE TABLE t (a INT NOT NULL, CHECK (1 / a > 0), b INT UNIQUE CHECK (b > 0))");
  EXPECT_EQ(Run("INSERT INTO t VALUES (1, 1), (1, 1), (0, 2)").substr(0, 11), "ERROR 23505");
  EXPECT_EQ(Run("INSERT INTO t VALUES (1, 1), (0, 2)"), "ERROR 22012: division by zero");
  EXPECT_EQ(Run("INSERT INTO t VALUES (1, 1), (1, -2), (0, 2)"), Broken("t_b_check", "1, -2"));
  EXPECT_EQ(Run("INSERT INTO t VALUES (NULL, -1)").substr(0, 11), "ERROR 23502");
}

TEST_F(CheckTest, SurvivesARestartAndItsTextHasNoTableName) {
  EXPECT_EQ(Run("CREATE TABLE t (\"a b\" INT, c TEXT, CHECK (t.\"a b\" /* ) */ > 0 AND public.t.c <> ')'))"),
            "CREATE TABLE");
  Reopen();
  EXPECT_EQ(Run("INSERT INTO t VALUES (1, ')')"), Broken("t_check", "1, )"));
  EXPECT_EQ(Run("INSERT INTO t VALUES (1, '(')"), "INSERT 1");
  EXPECT_EQ(Run("SELECT constraint_name, check_clause FROM information_schema.check_constraints"),
            "t_check|\"a b\"   > 0 AND c <> ')'\n");
  EXPECT_EQ(Run("SELECT constraint_name, constraint_type FROM information_schema.table_constraints"),
            "t_check|CHECK\n");
}

TEST_F(CheckTest, IsRolledBackWithItsStatement) {
  Run("CREATE TABLE t (id INT PRIMARY KEY, n INT CHECK (n < 3000))");
  EXPECT_EQ(Run("INSERT INTO t SELECT g, g FROM generate_series(1, 4000) AS s(g)"), Broken("t_n_check", "3000, 3000"));
  EXPECT_EQ(Run("SELECT count(*) FROM t"), "0\n");
  EXPECT_EQ(Run("INSERT INTO t SELECT g, g % 3000 FROM generate_series(1, 4000) AS s(g)"), "INSERT 4000");
}

}  // namespace
}  // namespace sisal::db
