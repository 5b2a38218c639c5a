// Reads of one row by its key, which go a shorter way: which statements are such reads, and that they answer as the
// longer way does.
#include "sql_fixture.h"

namespace sisal::db {
namespace {

using type::Datum;

class PointReadTest : public SqlFixture {
 protected:
  void SetUp() override {
    SqlFixture::SetUp();
    ASSERT_EQ(Run("CREATE TABLE t (a int, b text, c numeric(8,2), d timestamptz, e bool, PRIMARY KEY (b, a))"),
              "CREATE TABLE");
    ASSERT_EQ(Run("INSERT INTO t VALUES (1, 'x', 1.50, '2026-11-30 12:00:00+00', true), (2, 'x', NULL, NULL, NULL), "
                  "(1, '', 0, NULL, false)"),
              "INSERT 3");
    ASSERT_EQ(Run("CREATE TABLE one (id bigint PRIMARY KEY, v int)"), "CREATE TABLE");
    ASSERT_EQ(Run("INSERT INTO one VALUES (1, 10), (2, NULL)"), "INSERT 2");
  }

  // What the shorter way answers without a session: "no" if it is not for it.
  std::string Alone(const std::string& sql, const std::vector<Datum>& params = {}) {
    if (!session_->Prepare(sql, {}).ok()) return "not prepared";
    const PreparedPtr prepared = database_->FindPointRead(StatementIdOf(sql));
    if (prepared == nullptr) return "no";
    PointRow row;
    const Result<bool> read = database_->ReadPoint(*prepared, params, row);
    if (!read.ok()) return "ERROR " + read.error().ToString();
    if (!*read) return "not current";
    std::string text;
    if (row.row_count == 1) AppendRow(row.chunk(), 0, text);
    return text;
  }
  // In a transaction, by operators where the statement is written as two.
  std::string InTransaction(const std::string& sql, std::vector<Datum> params = {}) {
    EXPECT_EQ(Run("BEGIN"), "BEGIN");
    std::string text = Run(sql, std::move(params));
    EXPECT_EQ(Run("ROLLBACK"), "ROLLBACK");
    return text;
  }
};

TEST_F(PointReadTest, AnswersAsTheOtherWaysDo) {
  struct Case {
    const char* sql;
    std::vector<Datum> params;
  };
  const std::vector<Case> cases = {
      {"SELECT * FROM t WHERE a = $1 AND b = $2", {Datum::Int(1), Datum::Bytes("x")}},
      {"SELECT * FROM t WHERE a = $1 AND b = $2", {Datum::Int(2), Datum::Bytes("x")}},
      {"SELECT * FROM t WHERE a = $1 AND b = $2", {Datum::Int(3), Datum::Bytes("x")}},
      {"SELECT * FROM t WHERE a = $1 AND b = $2", {Datum::Null(), Datum::Bytes("x")}},
      {"SELECT e, c, b FROM t WHERE b = '' AND a = 1", {}},
      {"SELECT c AS x, c AS y FROM t AS q WHERE q.b = $1 AND q.a = 2", {Datum::Bytes("x")}},
      {"SELECT v FROM one WHERE id = $1", {Datum::Int(1)}},
      {"SELECT v, id FROM one WHERE id = $1 LIMIT 1", {Datum::Int(2)}},
      {"SELECT v FROM one WHERE id = 3", {}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.sql);
    const std::string alone = Alone(c.sql, c.params);
    EXPECT_NE(alone, "no");
    EXPECT_EQ(Run(c.sql, c.params), alone);
    EXPECT_EQ(InTransaction(c.sql, c.params), alone);
    // The same rows by a plan that is no point read.
    const std::string longer = "SELECT q.* FROM (" + std::string(c.sql) + " OFFSET 0) AS q WHERE true OR random() < 2";
    if (std::string(c.sql).find("LIMIT") == std::string::npos) {
      EXPECT_EQ(Run(longer, c.params), alone);
    }
  }
}

TEST_F(PointReadTest, OtherStatementsAreNotForIt) {
  for (const char* sql :
       {"SELECT v FROM one", "SELECT v FROM one WHERE id > $1", "SELECT v + 1 FROM one WHERE id = $1",
        "SELECT v FROM one WHERE id = $1 AND v = 10", "SELECT v FROM one WHERE id = $1 FOR UPDATE",
        "SELECT v FROM one WHERE id IN (1, 2)", "SELECT v FROM one WHERE id = $1 LIMIT $2",
        "SELECT v FROM one WHERE id = $1 LIMIT 0", "SELECT v FROM one WHERE id = $1 OFFSET 1",
        "SELECT count(*) FROM one WHERE id = $1", "SELECT a FROM t WHERE b = $1", "UPDATE one SET v = 1 WHERE id = $1",
        "SELECT v FROM one WHERE id = (SELECT 1)", "SELECT 1", "EXPLAIN SELECT v FROM one WHERE id = 1",
        "SELECT v FROM one WHERE id = 1 UNION ALL SELECT v FROM one WHERE id = 2"}) {
    EXPECT_EQ(Alone(sql), "no") << sql;
  }
  EXPECT_EQ(Run("SELECT v FROM one WHERE id = 1 LIMIT 0"), "");
  EXPECT_EQ(Run("SELECT v FROM one WHERE id = 1 OFFSET 1"), "");
}

// They would hold up the thread that reads them, and all who share it.
TEST_F(PointReadTest, LongAnswersGoTheLongerWay) {
  ASSERT_EQ(Run("CREATE TABLE long (id int PRIMARY KEY, n int, v text)"), "CREATE TABLE");
  ASSERT_EQ(Run("INSERT INTO long VALUES (1, 1, repeat('x', 15000)), (2, 2, repeat('x', 17000))"), "INSERT 2");
  EXPECT_EQ(Alone("SELECT n, v FROM long WHERE id = 1"), "1|" + std::string(15000, 'x') + "\n");
  EXPECT_EQ(Alone("SELECT v, v FROM long WHERE id = 1"), "not current");
  EXPECT_EQ(Alone("SELECT n FROM long WHERE id = 2"), "not current");  // copying it is long
  EXPECT_EQ(Run("SELECT n FROM long WHERE id = 2"), "2\n");
  EXPECT_EQ(Run("SELECT v FROM long WHERE id = 2"), std::string(17000, 'x') + "\n");
}

TEST_F(PointReadTest, SeesCommitsAndNothingElse) {
  const std::string sql = "SELECT v FROM one WHERE id = 1";
  const auto other = database_->NewSession();
  ASSERT_EQ(Run(*other, "BEGIN"), "BEGIN");
  ASSERT_EQ(Run(*other, "UPDATE one SET v = 11 WHERE id = 1"), "UPDATE 1");
  EXPECT_EQ(Alone(sql), "10\n");
  EXPECT_EQ(Run(sql), "10\n");
  EXPECT_EQ(Run(*other, sql), "11\n");  // its own write
  ASSERT_EQ(Run(*other, "COMMIT"), "COMMIT");
  EXPECT_EQ(Alone(sql), "11\n");
  ASSERT_EQ(Run("BEGIN"), "BEGIN");
  EXPECT_EQ(Run(sql), "11\n");
  ASSERT_EQ(Run(*other, "DELETE FROM one WHERE id = 1"), "DELETE 1");
  EXPECT_EQ(Run(sql), "11\n");  // its snapshot
  ASSERT_EQ(Run("COMMIT"), "COMMIT");
  EXPECT_EQ(Run(sql), "");
  EXPECT_EQ(Alone(sql), "");
}

TEST_F(PointReadTest, FollowsTheSchema) {
  const std::string sql = "SELECT * FROM one WHERE id = 1";
  const PreparedPtr before = *session_->Prepare(sql, {});
  PointRow row;
  ASSERT_TRUE(*database_->ReadPoint(*before, {}, row));
  ASSERT_EQ(Run("CREATE INDEX ON one (v)"), "CREATE INDEX");
  EXPECT_FALSE(*database_->ReadPoint(*before, {}, row));  // its table is another object
  EXPECT_EQ(Run(sql), "1|10\n");
  EXPECT_EQ(Alone(sql), "1|10\n");
  ASSERT_EQ(Run("CREATE TABLE unrelated (a int)"), "CREATE TABLE");
  EXPECT_EQ(Alone(sql), "1|10\n");
  ASSERT_EQ(Run("DROP TABLE one"), "DROP TABLE");
  EXPECT_EQ(Alone(sql), "not prepared");
  EXPECT_FALSE(*database_->ReadPoint(*before, {}, row));
  ASSERT_EQ(Run("CREATE TABLE one (id text PRIMARY KEY)"), "CREATE TABLE");
  ASSERT_EQ(Run("INSERT INTO one VALUES ('1')"), "INSERT 1");
  EXPECT_FALSE(*database_->ReadPoint(*before, {}, row));
  EXPECT_EQ(Alone("SELECT * FROM one WHERE id = '1'"), "1\n");
}

TEST_F(PointReadTest, EndsWithItsCall) {
  const std::string sql = "SELECT v FROM one WHERE id = 1";
  const PreparedPtr prepared = *session_->Prepare(sql, {});
  io::CancelToken cancel;
  cancel.Cancel(Error{"57014", "canceling statement due to user request"});
  CallOptions options;
  options.cancel = &cancel;
  const auto result = *session_->Execute(prepared, {}, options);
  type::Chunk chunk;
  EXPECT_EQ(result->Next(chunk).sqlstate(), "57014");
  CallOptions late;
  late.deadline = Instant();
  const auto too_late = *session_->Execute(prepared, {}, late);
  EXPECT_EQ(too_late->Next(chunk).sqlstate(), "57014");
  EXPECT_EQ(Run(sql), "10\n");
}

}  // namespace
}  // namespace sisal::db
