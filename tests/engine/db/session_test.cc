#include "sql_fixture.h"

namespace sisal::db {
namespace {

class SessionTest : public SqlFixture {};

TEST_F(SessionTest, RowsComeBackAsTheyWentIn) {
  EXPECT_EQ(Run("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, amount NUMERIC(8,2) DEFAULT 1.5, day DATE)"),
            "CREATE TABLE");
  EXPECT_EQ(Run("INSERT INTO t (id, name) VALUES (2, 'b'), (1, NULL) RETURNING id, amount"), "2|1.50\n1|1.50\n");
  EXPECT_EQ(Run("INSERT INTO t VALUES (3, 'c', 99.999, '2026-11-30')"), "INSERT 1");
  EXPECT_EQ(Run("SELECT * FROM t ORDER BY id"), "1|NULL|1.50|NULL\n2|b|1.50|NULL\n3|c|100.00|2026-11-30\n");
  EXPECT_EQ(Run("SELECT count(*), count(name), sum(amount), min(day), avg(id) FROM t"),
            "3|2|103.00|2026-11-30|2.0000000000000000\n");
}

TEST_F(SessionTest, UpdateAndDeleteReachRowsByKeyAndByCondition) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)");
  Run("INSERT INTO t SELECT g, g * 10 FROM generate_series(1, 100) AS s(g)");
  EXPECT_EQ(Run("UPDATE t SET n = n + 1 WHERE id = 7"), "UPDATE 1");
  EXPECT_EQ(Run("UPDATE t SET n = 0 WHERE id > 50 AND id <= 60"), "UPDATE 10");
  EXPECT_EQ(Run("DELETE FROM t WHERE n = 0 RETURNING id"), "51\n52\n53\n54\n55\n56\n57\n58\n59\n60\n");
  EXPECT_EQ(Run("SELECT n FROM t WHERE id = 7"), "71\n");
  EXPECT_EQ(Run("SELECT count(*) FROM t"), "90\n");
}

TEST_F(SessionTest, AnUpdateOfTheKeyMeetsNoRowTwice) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY)");
  Run("INSERT INTO t SELECT g FROM generate_series(1, 5000) AS s(g)");
  EXPECT_EQ(Run("UPDATE t SET id = id + 100000"), "UPDATE 5000");
  EXPECT_EQ(Run("SELECT min(id), max(id), count(*) FROM t"), "100001|105000|5000\n");
}

TEST_F(SessionTest, ConstraintsNameWhatTheyRefuse) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE)");
  Run("INSERT INTO t VALUES (1, 'a')");
  EXPECT_EQ(Run("INSERT INTO t VALUES (1, 'b')"),
            "ERROR 23505: duplicate key value violates unique constraint \"t_pkey\" (Key (id)=(1) already exists.)");
  EXPECT_EQ(
      Run("INSERT INTO t VALUES (2, 'a')"),
      "ERROR 23505: duplicate key value violates unique constraint \"t_code_key\" (Key (code)=(a) already exists.)");
  EXPECT_EQ(Run("INSERT INTO t (id) VALUES (3)"),
            "ERROR 23502: null value in column \"code\" of relation \"t\" violates not-null constraint"
            " (Failing row contains (3, null).)");
  EXPECT_EQ(Run("SELECT * FROM t"), "1|a\n");
}

TEST_F(SessionTest, AStatementThatFailsHalfWayLeavesNothing) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY)");
  Run("INSERT INTO t VALUES (5)");
  EXPECT_EQ(Run("INSERT INTO t VALUES (4), (5), (6)").substr(0, 11), "ERROR 23505");
  EXPECT_EQ(Run("SELECT * FROM t"), "5\n");
}

TEST_F(SessionTest, AFailedTransactionTakesOnlyItsEnd) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY)");
  EXPECT_EQ(Run("BEGIN"), "BEGIN");
  EXPECT_EQ(Run("INSERT INTO t VALUES (1)"), "INSERT 1");
  EXPECT_EQ(Run("SELECT 1 / 0"), "ERROR 22012: division by zero");
  EXPECT_EQ(Run("SELECT 1").substr(0, 11), "ERROR 25P02");
  EXPECT_EQ(Run("SELECT * FROM nowhere").substr(0, 11), "ERROR 25P02");
  EXPECT_EQ(Run("COMMIT"), "ROLLBACK");
  EXPECT_EQ(Run("SELECT count(*) FROM t"), "0\n");
}

TEST_F(SessionTest, AnUnknownTableFailsTheTransactionToo) {
  Run("BEGIN");
  EXPECT_EQ(Run("SELECT * FROM nowhere").substr(0, 11), "ERROR 42P01");
  EXPECT_EQ(Run("SELECT 1").substr(0, 11), "ERROR 25P02");
  EXPECT_EQ(Run("ROLLBACK"), "ROLLBACK");
  EXPECT_EQ(Run("SELECT 1"), "1\n");
}

TEST_F(SessionTest, SavepointsUndoWhatFollowsThem) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY)");
  Run("BEGIN");
  Run("INSERT INTO t VALUES (1)");
  Run("SAVEPOINT a");
  Run("INSERT INTO t VALUES (2)");
  Run("CREATE TABLE u (id INTEGER PRIMARY KEY)");
  EXPECT_EQ(Run("SELECT 1 / 0").substr(0, 11), "ERROR 22012");
  EXPECT_EQ(Run("ROLLBACK TO SAVEPOINT a"), "ROLLBACK");
  EXPECT_EQ(Run("SELECT * FROM t"), "1\n");
  EXPECT_EQ(Run("SELECT * FROM u").substr(0, 11), "ERROR 42P01");
  Run("ROLLBACK TO SAVEPOINT a");
  EXPECT_EQ(Run("COMMIT"), "COMMIT");
  EXPECT_EQ(Run("SELECT * FROM t"), "1\n");
}

TEST_F(SessionTest, DdlIsTransactional) {
  Run("BEGIN");
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY)");
  Run("INSERT INTO t VALUES (1)");
  const auto other = database_->NewSession();
  EXPECT_EQ(Run(*other, "SELECT * FROM t").substr(0, 11), "ERROR 42P01");
  Run("COMMIT");
  EXPECT_EQ(Run(*other, "SELECT * FROM t"), "1\n");
  Run("BEGIN");
  Run("DROP TABLE t");
  EXPECT_EQ(Run("SELECT * FROM t").substr(0, 11), "ERROR 42P01");
  Run("ROLLBACK");
  EXPECT_EQ(Run("SELECT * FROM t"), "1\n");
}

TEST_F(SessionTest, SnapshotsAreStableAndTheFirstCommitterWins) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)");
  Run("INSERT INTO t VALUES (1, 10)");
  const auto other = database_->NewSession();
  Run("BEGIN");
  EXPECT_EQ(Run("SELECT n FROM t"), "10\n");
  EXPECT_EQ(Run(*other, "UPDATE t SET n = 20"), "UPDATE 1");
  EXPECT_EQ(Run("SELECT n FROM t"), "10\n");
  EXPECT_EQ(Run("UPDATE t SET n = n + 1"), "ERROR 40001: could not serialize access due to concurrent update");
  Run("ROLLBACK");
  EXPECT_EQ(Run("SELECT n FROM t"), "20\n");
}

TEST_F(SessionTest, ALimitedSelectForUpdateLocksWhatItReturns) {
  Run("CREATE TABLE job (id INTEGER PRIMARY KEY, state TEXT)");
  Run("INSERT INTO job SELECT g, 'new' FROM generate_series(1, 10) AS s(g)");
  const auto other = database_->NewSession();
  Run("BEGIN");
  EXPECT_EQ(Run("SELECT id FROM job ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED"), "1\n");
  EXPECT_EQ(Run(*other, "BEGIN"), "BEGIN");
  EXPECT_EQ(Run(*other, "SELECT id FROM job ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED"), "2\n");
  EXPECT_EQ(Run(*other, "SELECT id FROM job WHERE id = 1 FOR UPDATE NOWAIT").substr(0, 11), "ERROR 55P03");
  Run(*other, "ROLLBACK");
  Run("ROLLBACK");
}

TEST_F(SessionTest, ReadCommittedSeesEachCommit) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)");
  Run("INSERT INTO t VALUES (1, 10)");
  const auto other = database_->NewSession();
  Run("BEGIN ISOLATION LEVEL READ COMMITTED");
  EXPECT_EQ(Run("SELECT n FROM t"), "10\n");
  Run(*other, "UPDATE t SET n = 20");
  EXPECT_EQ(Run("SELECT n FROM t"), "20\n");
  EXPECT_EQ(Run("UPDATE t SET n = n + 1"), "UPDATE 1");
  EXPECT_EQ(Run("COMMIT"), "COMMIT");
  EXPECT_EQ(Run("SELECT n FROM t"), "21\n");
}

TEST_F(SessionTest, SerializableRefusesWriteSkew) {
  Run("CREATE TABLE doctor (id INTEGER PRIMARY KEY, on_call BOOLEAN)");
  Run("INSERT INTO doctor VALUES (1, true), (2, true)");
  const auto other = database_->NewSession();
  const std::string count = "SELECT count(*) FROM doctor WHERE on_call";
  for (const bool serializable : {false, true}) {
    Run("UPDATE doctor SET on_call = true");
    Run(serializable ? "BEGIN ISOLATION LEVEL SERIALIZABLE" : "BEGIN");
    Run(*other, serializable ? "BEGIN ISOLATION LEVEL SERIALIZABLE" : "BEGIN");
    EXPECT_EQ(Run("SHOW transaction_isolation"), serializable ? "serializable\n" : "repeatable read\n");
    EXPECT_EQ(Run(count), "2\n");
    EXPECT_EQ(Run(*other, count), "2\n");
    EXPECT_EQ(Run("UPDATE doctor SET on_call = false WHERE id = 1"), "UPDATE 1");
    EXPECT_EQ(Run(*other, "UPDATE doctor SET on_call = false WHERE id = 2"), "UPDATE 1");
    EXPECT_EQ(Run("COMMIT"), "COMMIT");
    EXPECT_EQ(Run(*other, "COMMIT"),
              serializable
                  ? "ERROR 40001: could not serialize access due to read/write dependencies among transactions "
                    "(Reason: this transaction is the pivot of a dangerous structure.)"
                  : "COMMIT");
    EXPECT_EQ(Run(count), serializable ? "1\n" : "0\n");
  }
}

// What a failed statement has found out about a key counts as read, though its error is rolled back.
TEST_F(SessionTest, SerializableRemembersWhatFailed) {
  Run("CREATE TABLE a (id INTEGER PRIMARY KEY)");
  Run("CREATE TABLE p (id INTEGER PRIMARY KEY, k INTEGER UNIQUE)");
  Run("CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p)");
  Run("INSERT INTO p VALUES (1, 1), (2, 2)");
  const auto other = database_->NewSession();
  const std::pair<std::string, std::string> cases[] = {
      {"INSERT INTO c VALUES (1, 3)", "INSERT INTO p VALUES (3, 3)"},
      {"INSERT INTO p VALUES (9, 1)", "DELETE FROM p WHERE k = 1"},
  };
  for (const auto& [fails, writes] : cases) {
    Run("BEGIN ISOLATION LEVEL SERIALIZABLE");
    Run(*other, "BEGIN ISOLATION LEVEL SERIALIZABLE");
    Run(*other, "SELECT count(*) FROM a");
    Run("INSERT INTO a SELECT count(*) FROM a");
    Run("SAVEPOINT s");
    EXPECT_EQ(Run(fails).substr(0, 8), "ERROR 23");
    Run("ROLLBACK TO s");
    EXPECT_EQ(Run("COMMIT"), "COMMIT");
    EXPECT_NE(Run(*other, writes).substr(0, 5), "ERROR") << writes;
    EXPECT_EQ(Run(*other, "COMMIT").substr(0, 11), "ERROR 40001") << fails;
  }
}

TEST_F(SessionTest, ADeferrableReaderWaitsUntilItIsSafe) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY)");
  const auto other = database_->NewSession();
  Run(*other, "BEGIN ISOLATION LEVEL SERIALIZABLE");
  Run(*other, "SELECT * FROM t");
  Run("BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE");
  EXPECT_EQ(Run("SHOW transaction_deferrable"), "on\n");
  Run("SET LOCAL statement_timeout = 20");
  EXPECT_EQ(Run("SELECT * FROM t"), "ERROR 57014: canceling statement due to statement timeout");
  Run("ROLLBACK");
  Run(*other, "COMMIT");
  Run("BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE");
  EXPECT_EQ(Run("SELECT count(*) FROM t"), "0\n");
  EXPECT_EQ(Run("SET TRANSACTION NOT DEFERRABLE"),
            "ERROR 25001: SET TRANSACTION [NOT] DEFERRABLE must be called before any query");
  Run("ROLLBACK");
}

TEST_F(SessionTest, SerializableAsDefault) {
  EXPECT_EQ(Run("BEGIN"), "BEGIN");
  EXPECT_EQ(Run("SET LOCAL default_transaction_isolation = 'serializable'"), "SET");
  EXPECT_EQ(Run("SHOW default_transaction_isolation"), "serializable\n");
  Run("ROLLBACK");
}

// The shortcut for reads by key must not be taken where reads count.
TEST_F(SessionTest, NoShortcutWhereSerializableIsTheDefault) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY)");
  const std::string read = "SELECT id FROM t WHERE id = $1";
  for (const auto isolation : {txn::Isolation::kSnapshot, txn::Isolation::kSerializable}) {
    options_.default_isolation = isolation;
    Reopen();
    const auto prepared = session_->Prepare(read, {});
    ASSERT_TRUE(prepared.ok());
    EXPECT_EQ(database_->FindPointRead((*prepared)->id()) != nullptr, isolation == txn::Isolation::kSnapshot);
  }
}

TEST_F(SessionTest, ReadOnlyTransactionsRefuseWrites) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY)");
  Run("BEGIN READ ONLY");
  EXPECT_EQ(Run("INSERT INTO t VALUES (1)"), "ERROR 25006: cannot execute INSERT in a read-only transaction");
  Run("ROLLBACK");
}

TEST_F(SessionTest, ReadOnlyComesAtAnyTimeAndEndsWithItsSavepoint) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY)");
  Run("BEGIN");
  Run("INSERT INTO t VALUES (1)");
  Run("SAVEPOINT a");
  EXPECT_EQ(Run("SET TRANSACTION READ ONLY"), "SET");
  EXPECT_EQ(Run("SHOW transaction_read_only"), "on\n");
  EXPECT_EQ(Run("SELECT * FROM t"), "1\n");
  EXPECT_EQ(Run("INSERT INTO t VALUES (2)"), "ERROR 25006: cannot execute INSERT in a read-only transaction");
  Run("ROLLBACK TO a");
  EXPECT_EQ(Run("INSERT INTO t VALUES (3)"), "INSERT 1");
  Run("SET TRANSACTION READ ONLY");
  EXPECT_EQ(Run("SET TRANSACTION READ WRITE"),
            "ERROR 25001: cannot set transaction read-write mode inside a read-only transaction");
  Run("ROLLBACK TO a");
  Run("SET TRANSACTION READ ONLY");
  Run("RELEASE a");
  EXPECT_EQ(Run("INSERT INTO t VALUES (4)"), "INSERT 1");
  Run("SET TRANSACTION READ ONLY");
  EXPECT_EQ(Run("TRUNCATE t"), "ERROR 25006: cannot execute TRUNCATE TABLE in a read-only transaction");
  Run("ROLLBACK");
  Run("BEGIN READ ONLY");
  Run("SELECT * FROM t");
  EXPECT_EQ(Run("SET TRANSACTION READ WRITE"), "ERROR 25001: transaction read-write mode must be set before any query");
  Run("ROLLBACK");
}

TEST_F(SessionTest, FractionsOfSecondsObeyTheColumn) {
  Run("CREATE TABLE t (a TIMESTAMP(3), b TIME(1), c TIMESTAMPTZ(0), d INTERVAL(2))");
  Run("INSERT INTO t VALUES ('2024-01-01 10:00:00.1236', '10:00:00.25', '2023-12-31 23:59:59.5+00', '1.237 sec')");
  Run("INSERT INTO t (a) SELECT TIMESTAMP '2024-01-01 10:00:00.999999'");
  EXPECT_EQ(Run("SELECT * FROM t ORDER BY b"),
            "2024-01-01 10:00:00.124|10:00:00.3|2024-01-01 00:00:00+00|00:00:01.24\n"
            "2024-01-01 10:00:01|NULL|NULL|NULL\n");
  EXPECT_EQ(
      Run("SELECT datetime_precision FROM information_schema.columns WHERE table_name = 't' ORDER BY column_name"),
      "3\n1\n0\n2\n");
  EXPECT_EQ(Run("SELECT now()::TIMESTAMP(0) = date_trunc('second', now()::TIMESTAMP(0)), INTERVAL(1) '1.26'"),
            "t|00:00:01.3\n");
}

TEST_F(SessionTest, ALiteralOfItsOwnHasNoType) {
  EXPECT_EQ(Run("SELECT pg_typeof('a'), pg_typeof(NULL), pg_typeof('a' || 'b'), pg_typeof(NULL::INTEGER)"),
            "unknown|unknown|text|integer\n");
}

TEST_F(SessionTest, IntervalLiteralsObeyTheirFields) {
  EXPECT_EQ(Run("SELECT INTERVAL '1' YEAR, INTERVAL '14' MONTH, INTERVAL '1.5' DAY, INTERVAL '90' MINUTE"),
            "1 year|1 year 2 mons|1 day|01:30:00\n");
  EXPECT_EQ(Run("SELECT INTERVAL '1-2' YEAR TO MONTH, INTERVAL '1 2:03:04' DAY TO MINUTE, INTERVAL '1 2' DAY TO HOUR"),
            "1 year 2 mons|1 day 02:03:00|1 day 02:00:00\n");
  EXPECT_EQ(Run("SELECT INTERVAL '1:02' MINUTE TO SECOND, INTERVAL '25:02' HOUR TO SECOND, INTERVAL '1.256' SECOND(2)"),
            "00:01:02|25:02:00|00:00:01.26\n");
  EXPECT_EQ(Run("SELECT INTERVAL '1 day 2:03' YEAR, INTERVAL '14 mons 3 days' YEAR, INTERVAL '-1:59:59' HOUR"),
            "00:00:00|1 year|-01:00:00\n");
  EXPECT_EQ(Run("SELECT INTERVAL '1 2' DAY TO MINUTE"), "ERROR 22007: invalid input syntax for type interval: \"1 2\"");
}

TEST_F(SessionTest, ExistsComputesNoColumn) {
  EXPECT_EQ(
      Run("SELECT EXISTS (SELECT 1 / 0), EXISTS (SELECT DISTINCT 1 / 0 ORDER BY 1), EXISTS (SELECT 1 / 0 LIMIT 0)"),
      "t|t|f\n");
}

TEST_F(SessionTest, EverythingIsThereAfterARestart) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY, code TEXT UNIQUE)");
  Run("CREATE INDEX t_code_id ON t (code, id)");
  Run("INSERT INTO t SELECT g, 'code ' || g FROM generate_series(1, 1000) AS s(g)");
  Run("DELETE FROM t WHERE id % 2 = 0");
  Reopen();
  EXPECT_TRUE(database_->clean_start());
  EXPECT_EQ(Run("SELECT count(*), min(id), max(id) FROM t"), "500|1|999\n");
  EXPECT_EQ(Run("SELECT id FROM t WHERE code = 'code 77'"), "77\n");
  EXPECT_EQ(Run("INSERT INTO t VALUES (1001, 'code 77')").substr(0, 11), "ERROR 23505");
}

TEST_F(SessionTest, AnIndexHoldsRowsFromBeforeAndAfter) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)");
  Run("INSERT INTO t SELECT g, g % 7 FROM generate_series(1, 700) AS s(g)");
  EXPECT_EQ(Run("CREATE INDEX t_n ON t (n)"), "CREATE INDEX");
  Run("INSERT INTO t VALUES (701, 3)");
  Run("UPDATE t SET n = 3 WHERE id = 1");
  EXPECT_EQ(Run("SELECT count(*) FROM t WHERE n = 3"), "102\n");
  EXPECT_EQ(Run("CREATE UNIQUE INDEX t_n_unique ON t (n)").substr(0, 11), "ERROR 23505");
  EXPECT_EQ(Run("SELECT count(*) FROM t WHERE n = 3"), "102\n");
}

TEST_F(SessionTest, APlanFromBeforeAnIndexIsMadeAgain) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)");
  const auto prepared = session_->Prepare("INSERT INTO t VALUES (1, 5)", {});
  ASSERT_TRUE(prepared.ok());
  const auto other = database_->NewSession();
  Run(*other, "CREATE UNIQUE INDEX t_n ON t (n)");
  auto result = session_->Execute(*prepared, {}, {});
  ASSERT_TRUE(result.ok());
  type::Chunk chunk;
  EXPECT_TRUE((*result)->Next(chunk).ok());
  EXPECT_EQ(Run("SELECT id FROM t WHERE n = 5"), "1\n");
  EXPECT_EQ(Run("INSERT INTO t VALUES (2, 5)").substr(0, 11), "ERROR 23505");
}

TEST_F(SessionTest, AnOldSnapshotDoesNotWriteAroundANewIndex) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)");
  Run("BEGIN");
  EXPECT_EQ(Run("SELECT count(*) FROM t"), "0\n");
  const auto other = database_->NewSession();
  Run(*other, "CREATE UNIQUE INDEX t_n ON t (n)");
  EXPECT_EQ(Run("INSERT INTO t VALUES (1, 5)").substr(0, 11), "ERROR 40001");
  Run("ROLLBACK");
}

TEST_F(SessionTest, AnOrderBeyondTheKeyKeepsTheKeysDirection) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)");
  Run("INSERT INTO t VALUES (1, 5), (2, 7), (3, 2)");
  EXPECT_EQ(Run("SELECT id FROM t ORDER BY id DESC, n"), "3\n2\n1\n");
  EXPECT_EQ(Run("SELECT id FROM t ORDER BY id, n DESC"), "1\n2\n3\n");
}

TEST_F(SessionTest, ChainBeginsTheSameKindOfTransaction) {
  EXPECT_EQ(Run("COMMIT AND CHAIN").substr(0, 11), "ERROR 25P01");
  Run("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY");
  EXPECT_EQ(Run("COMMIT AND CHAIN"), "COMMIT");
  EXPECT_EQ(Run("SHOW transaction_isolation"), "read committed\n");
  EXPECT_EQ(Run("SHOW transaction_read_only"), "on\n");
  EXPECT_EQ(Run("ROLLBACK AND CHAIN"), "ROLLBACK");
  EXPECT_EQ(session_->phase(), TransactionPhase::kActive);
  Run("ROLLBACK");
}

TEST_F(SessionTest, UniqueLetsManyNullsIn) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY, code TEXT UNIQUE)");
  EXPECT_EQ(Run("INSERT INTO t VALUES (1, NULL), (2, NULL)"), "INSERT 2");
}

TEST_F(SessionTest, TablesWithoutAPrimaryKeyKeepEqualRows) {
  Run("CREATE TABLE t (n INTEGER)");
  Run("INSERT INTO t VALUES (1), (1)");
  Reopen();
  Run("INSERT INTO t VALUES (1)");
  EXPECT_EQ(Run("SELECT count(*) FROM t"), "3\n");
  EXPECT_EQ(Run("DELETE FROM t"), "DELETE 3");
}

TEST_F(SessionTest, UpsertTakesTheExistingRow) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)");
  Run("INSERT INTO t VALUES (1, 1)");
  EXPECT_EQ(
      Run("INSERT INTO t VALUES (1, 5), (2, 5) ON CONFLICT (id) DO UPDATE SET n = t.n + excluded.n RETURNING id, n"),
      "1|6\n2|5\n");
  EXPECT_EQ(Run("INSERT INTO t VALUES (1, 9), (3, 9) ON CONFLICT DO NOTHING"), "INSERT 1");
  EXPECT_EQ(Run("SELECT * FROM t ORDER BY id"), "1|6\n2|5\n3|9\n");
}

TEST_F(SessionTest, GuardedDivisionsRaiseNothing) {
  EXPECT_EQ(Run("SELECT CASE WHEN g = 0 THEN -1 ELSE 10 / g END FROM generate_series(0, 2) AS s(g)"), "-1\n10\n5\n");
  EXPECT_EQ(Run("SELECT count(*) FROM generate_series(0, 5) AS s(g) WHERE g <> 0 AND 10 / g > 2"), "3\n");
}

TEST_F(SessionTest, ParametersTakeTheirTypeFromTheStatement) {
  Run("CREATE TABLE t (id BIGINT PRIMARY KEY, name TEXT)");
  EXPECT_EQ(Run("INSERT INTO t VALUES ($1, $2)", {type::Datum::Int(7), type::Datum::Bytes("seven")}), "INSERT 1");
  EXPECT_EQ(Run("SELECT name FROM t WHERE id = $1", {type::Datum::Int(7)}), "seven\n");
}

TEST_F(SessionTest, GroupsJoinsAndSubqueries) {
  Run("CREATE TABLE a (id INTEGER PRIMARY KEY, n INTEGER)");
  Run("CREATE TABLE b (id INTEGER PRIMARY KEY, a_id INTEGER)");
  Run("INSERT INTO a VALUES (1, 10), (2, 20), (3, 30)");
  Run("INSERT INTO b VALUES (1, 1), (2, 1), (3, 2), (4, NULL)");
  EXPECT_EQ(Run("SELECT a.id, count(b.id) FROM a LEFT JOIN b ON b.a_id = a.id GROUP BY a.id ORDER BY a.id"),
            "1|2\n2|1\n3|0\n");
  EXPECT_EQ(Run("SELECT b.id, a.n FROM a RIGHT JOIN b ON b.a_id = a.id ORDER BY b.id"), "1|10\n2|10\n3|20\n4|NULL\n");
  EXPECT_EQ(Run("SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.a_id = a.id) ORDER BY id"), "1\n2\n");
  EXPECT_EQ(Run("SELECT id FROM a WHERE id NOT IN (SELECT a_id FROM b WHERE a_id IS NOT NULL)"), "3\n");
  EXPECT_EQ(Run("SELECT id FROM a WHERE id NOT IN (SELECT a_id FROM b)"), "");  // a NULL among them: never true
  EXPECT_EQ(Run("SELECT id FROM b WHERE a_id NOT IN (SELECT id FROM a WHERE id > 9) ORDER BY id"), "1\n2\n3\n4\n");
  EXPECT_EQ(Run("SELECT id, a_id IN (SELECT id FROM a WHERE id = 1) FROM b ORDER BY id"), "1|t\n2|t\n3|f\n4|NULL\n");
  EXPECT_EQ(Run("SELECT (SELECT max(n) FROM a)"), "30\n");
  EXPECT_EQ(Run("SELECT n / 20 AS k, sum(n) FROM a GROUP BY k HAVING count(*) > 1"), "1|50\n");
  EXPECT_EQ(Run("SELECT id FROM a UNION SELECT id FROM b ORDER BY id"), "1\n2\n3\n4\n");
  EXPECT_EQ(Run("SELECT id FROM b EXCEPT SELECT id FROM a"), "4\n");
}

TEST_F(SessionTest, OutcomesOfIdempotentCallsAreKept) {
  ASSERT_TRUE(session_->Begin({}).ok());
  auto found = session_->FindOutcome("user", "key", "print");
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->has_value());
  ASSERT_TRUE(session_->StoreOutcome("user", "key", "print", "answer").ok());
  ASSERT_TRUE(session_->Commit({}).ok());
  Reopen();
  ASSERT_TRUE(session_->Begin({}).ok());
  found = session_->FindOutcome("user", "key", "print");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->value_or(""), "answer");
  EXPECT_EQ(session_->FindOutcome("user", "key", "other").sqlstate(), "22023");
  session_->Rollback();
}

TEST_F(SessionTest, SettingsEndAsTheyShould) {
  EXPECT_EQ(Run("SET statement_timeout = '2s'"), "SET");
  Run("BEGIN");
  Run("SET LOCAL statement_timeout = '5s'");
  EXPECT_EQ(Run("SHOW statement_timeout"), "5s\n");
  Run("COMMIT");
  EXPECT_EQ(Run("SHOW statement_timeout"), "2s\n");
  Run("BEGIN");
  Run("SET statement_timeout = '9s'");
  Run("ROLLBACK");
  EXPECT_EQ(Run("SHOW statement_timeout"), "2s\n");
  EXPECT_EQ(Run("SET nonsense = 1").substr(0, 11), "ERROR 42704");
}

TEST_F(SessionTest, MemoryIsBounded) {
  options_.statement_memory_bytes_max = 1 << 20;
  Reopen();
  EXPECT_EQ(Run("SELECT g FROM generate_series(1, 1000000) AS s(g) ORDER BY g DESC").substr(0, 11), "ERROR 53200");
  EXPECT_EQ(Run("SELECT count(*) FROM generate_series(1, 1000000) AS s(g)"), "1000000\n");
}

TEST_F(SessionTest, UpdateAndDeleteJoin) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)");
  Run("CREATE TABLE u (t_id INTEGER, m INTEGER)");
  Run("INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)");
  Run("INSERT INTO u VALUES (1, 5), (3, 7), (3, 7), (4, 9)");
  EXPECT_EQ(Run("UPDATE t SET n = n + m FROM u WHERE id = t_id AND m > 5 RETURNING id, n"), "3|37\n");
  EXPECT_EQ(Run("DELETE FROM t USING u x JOIN u y ON x.m = y.m WHERE t.id = x.t_id"), "DELETE 2");
  EXPECT_EQ(Run("SELECT * FROM t"), "2|20\n");
}

TEST_F(SessionTest, AssignedSubqueriesSeeTheRowsAsTheyWere) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)");
  Run("INSERT INTO t SELECT g, g FROM generate_series(1, 5000) AS s(g)");
  EXPECT_EQ(Run("UPDATE t SET n = (SELECT max(x.n) FROM t x WHERE x.id = t.id - 1) + 1 WHERE id > 1"), "UPDATE 4999");
  EXPECT_EQ(Run("SELECT count(*) FROM t WHERE n = id"), "5000\n");
}

TEST_F(SessionTest, UpsertRefusesARowOfItsOwn) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY, code TEXT UNIQUE, n INTEGER)");
  const std::string upsert = " ON CONFLICT (code) DO UPDATE SET n = excluded.n";
  EXPECT_EQ(Run("INSERT INTO t VALUES (1, 'a', 1), (2, 'a', 2)" + upsert).substr(0, 11), "ERROR 21000");
  EXPECT_EQ(Run("INSERT INTO t VALUES (1, 'a', 1)"), "INSERT 1");
  // It meets both keys; the named one counts.
  EXPECT_EQ(Run("INSERT INTO t VALUES (1, 'a', 7)" + upsert), "INSERT 1");
  EXPECT_EQ(Run("INSERT INTO t VALUES (1, 'b', 7)" + upsert).substr(0, 11), "ERROR 23505");
  EXPECT_EQ(Run("SELECT * FROM t"), "1|a|7\n");
}

TEST_F(SessionTest, DefinitionsLookAgainEachTime) {
  EXPECT_EQ(Run("DROP TABLE IF EXISTS a"), "DROP TABLE");
  Run("CREATE TABLE a (b_c INTEGER UNIQUE)");
  EXPECT_EQ(Run("DROP TABLE IF EXISTS a"), "DROP TABLE");
  Run("CREATE TABLE a_b (c INTEGER UNIQUE)");
  EXPECT_EQ(Run("CREATE TABLE a (b_c INTEGER UNIQUE)"), "CREATE TABLE");
}

}  // namespace
}  // namespace sisal::db
