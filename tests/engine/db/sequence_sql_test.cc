// Sequences, serial and identity columns as SQL shows them; what PostgreSQL 15 answers.
#include <set>
#include <string>

#include "sql_fixture.h"

namespace sisal::db {
namespace {

class SequenceSqlTest : public SqlFixture {
 protected:
  // A second client.
  std::string Other(std::string_view sql) {
    if (other_ == nullptr) other_ = database_->NewSession();
    return Run(*other_, sql);
  }
  void TearDown() override {
    other_.reset();
    SqlFixture::TearDown();
  }
  std::unique_ptr<Session> other_;
};

TEST_F(SequenceSqlTest, ASerialColumnCounts) {
  EXPECT_EQ(Run("CREATE TABLE t (id serial PRIMARY KEY, a int)"), "CREATE TABLE");
  EXPECT_EQ(Run("INSERT INTO t (a) VALUES (5), (6)"), "INSERT 2");
  EXPECT_EQ(Run("INSERT INTO t SELECT nextval('t_id_seq'), 7"), "INSERT 1");
  EXPECT_EQ(Run("INSERT INTO t (a) VALUES (8) RETURNING id, currval('t_id_seq'), lastval()"), "4|4|4\n");
  EXPECT_EQ(Run("SELECT * FROM t ORDER BY id"), "1|5\n2|6\n3|7\n4|8\n");
  EXPECT_EQ(Run("SELECT pg_get_serial_sequence('t', 'id'), pg_get_serial_sequence('public.t', 'a')"),
            "public.t_id_seq|NULL\n");
  EXPECT_EQ(Run("SELECT last_value, log_cnt, is_called FROM t_id_seq"), "4|29|t\n");
}

TEST_F(SequenceSqlTest, ARollbackTakesNoValueBack) {
  Run("CREATE SEQUENCE s");
  Run("BEGIN");
  EXPECT_EQ(Run("SELECT nextval('s')"), "1\n");
  EXPECT_EQ(Other("SELECT nextval('s')"), "2\n");  // and waits for nobody
  Run("ROLLBACK");
  EXPECT_EQ(Run("SELECT nextval('s'), currval('s')"), "3|3\n");
}

TEST_F(SequenceSqlTest, EachRowGetsAValueOfItsOwn) {
  Run("CREATE SEQUENCE s; ");
  EXPECT_EQ(Run("SELECT nextval('s'), nextval('s') + x FROM generate_series(1, 2) AS x"), "1|4\n2|6\n");
  Run("CREATE TABLE t (a int)");
  Run("INSERT INTO t SELECT * FROM generate_series(1, 3000)");
  EXPECT_EQ(Run("UPDATE t SET a = nextval('s')"), "UPDATE 3000");
  EXPECT_EQ(Run("SELECT count(DISTINCT a), min(a), max(a) FROM t"), "3000|5|3004\n");
  EXPECT_EQ(Run("SELECT count(*) FROM t WHERE a < nextval('s') - 2999"), "3000\n");
  EXPECT_EQ(Run("SELECT CASE WHEN false THEN nextval('s') END, currval('s')"), "NULL|6004\n");
}

TEST_F(SequenceSqlTest, ValuesComeInTheOrderOfTheResultAndForItsRowsAlone) {
  Run("CREATE SEQUENCE s");
  Run("CREATE TABLE t (a int PRIMARY KEY, b int)");
  Run("INSERT INTO t SELECT x, -x FROM generate_series(1, 100) AS x");
  EXPECT_EQ(Run("SELECT nextval('s'), b FROM t LIMIT 2"), "1|-1\n2|-2\n");
  EXPECT_EQ(Run("SELECT a, nextval('s') + a FROM t ORDER BY b LIMIT 2"), "100|103\n99|103\n");
  EXPECT_EQ(Run("SELECT nextval('s') FROM t WHERE a > 98 ORDER BY b"), "5\n6\n");
  Run("CREATE TABLE u (id serial, a int)");
  Run("INSERT INTO u (a) SELECT a FROM t ORDER BY b LIMIT 2");
  EXPECT_EQ(Run("SELECT * FROM u ORDER BY id"), "1|100\n2|99\n");
}

TEST_F(SequenceSqlTest, ASequenceOfAnOpenTransactionWorksAndGoesWithIt) {
  Run("BEGIN");
  EXPECT_EQ(Run("CREATE TABLE t (id bigserial)"), "CREATE TABLE");
  EXPECT_EQ(Run("INSERT INTO t DEFAULT VALUES RETURNING id"), "1\n");
  EXPECT_EQ(Other("SELECT nextval('t_id_seq')"), "ERROR 42P01: relation \"t_id_seq\" does not exist");
  Run("ROLLBACK");
  EXPECT_EQ(Run("SELECT nextval('t_id_seq')"), "ERROR 42P01: relation \"t_id_seq\" does not exist");
  Run("BEGIN");
  Run("CREATE SEQUENCE s START 10");
  Run("SAVEPOINT a");
  EXPECT_EQ(Run("SELECT nextval('s')"), "10\n");
  EXPECT_EQ(Run("ALTER SEQUENCE s RESTART 70"), "ALTER SEQUENCE");
  EXPECT_EQ(Run("SELECT nextval('s')"), "70\n");
  Run("ROLLBACK TO a");
  EXPECT_EQ(Run("SELECT nextval('s')"), "11\n");
  Run("DROP SEQUENCE s");
  EXPECT_EQ(Run("SELECT nextval('s')"), "ERROR 42P01: relation \"s\" does not exist");
  Run("ROLLBACK TO a");
  EXPECT_EQ(Run("SELECT nextval('s')"), "12\n");
  EXPECT_EQ(Run("COMMIT"), "COMMIT");
  EXPECT_EQ(Other("SELECT nextval('s')"), "13\n");
}

TEST_F(SequenceSqlTest, ALTERWaitsForWhoeverUsesTheSequenceAndOldPlansGoOn) {
  Run("CREATE TABLE t (id serial, a int)");
  Run("INSERT INTO t (a) VALUES (1)");
  EXPECT_EQ(Other("ALTER SEQUENCE t_id_seq INCREMENT BY 10 MAXVALUE 100"), "ALTER SEQUENCE");
  EXPECT_EQ(Run("INSERT INTO t (a) VALUES (1) RETURNING id"), "11\n");
  Run("BEGIN");
  Run("SELECT nextval('t_id_seq')");
  Other("SET lock_timeout = '20ms'");
  EXPECT_EQ(Other("ALTER SEQUENCE t_id_seq RESTART"), "ERROR 55P03: canceling statement due to lock timeout");
  Run("COMMIT");
  EXPECT_EQ(Other("ALTER SEQUENCE t_id_seq RESTART"), "ALTER SEQUENCE");
  EXPECT_EQ(Run("INSERT INTO t (a) VALUES (1) RETURNING id"), "1\n");
}

TEST_F(SequenceSqlTest, PlansWithDefaultsStayCachedAndFollowTheirSequence) {
  Run("CREATE TABLE t (id serial, a int)");
  const std::string insert = "INSERT INTO t (a) VALUES (1) RETURNING id";
  EXPECT_EQ(Run(insert), "1\n");
  const auto prepared = session_->Prepare(insert, {});
  ASSERT_TRUE(prepared.ok());
  EXPECT_EQ(session_->Prepare(insert, {})->get(), prepared->get());
  EXPECT_FALSE((*prepared)->statement().read_only);
  Run("DROP TABLE t");
  Run("CREATE TABLE t (id serial, a int)");
  EXPECT_EQ(Run(insert), "1\n");
  EXPECT_FALSE((*session_->Prepare("SELECT nextval('t_id_seq')", {}))->statement().read_only);
  EXPECT_TRUE((*session_->Prepare("SELECT currval('t_id_seq')", {}))->statement().read_only);
}

TEST_F(SequenceSqlTest, OwnedSequencesGoWithTheirTable) {
  Run("CREATE TABLE t (id serial, a int GENERATED ALWAYS AS IDENTITY, b int)");
  Run("CREATE SEQUENCE s OWNED BY t.b");
  Run("CREATE SEQUENCE free");
  Run("CREATE TABLE u (x int DEFAULT nextval('s'))");
  EXPECT_EQ(Run("DROP TABLE t"),
            "ERROR 2BP01: cannot drop table t because other objects depend on it "
            "(default value for column x of table u depends on sequence s)");
  EXPECT_EQ(Run("DROP SEQUENCE t_id_seq"),
            "ERROR 2BP01: cannot drop sequence t_id_seq because other objects depend on it "
            "(default value for column id of table t depends on sequence t_id_seq)");
  EXPECT_EQ(Run("DROP SEQUENCE t_a_seq CASCADE"),
            "ERROR 2BP01: cannot drop sequence t_a_seq because column a of table t requires it");
  EXPECT_EQ(Run("DROP SEQUENCE free, s"),
            "ERROR 2BP01: cannot drop desired object(s) because other objects depend on them "
            "(default value for column x of table u depends on sequence s)");
  EXPECT_EQ(Run("DROP TABLE t CASCADE"), "DROP TABLE");
  EXPECT_EQ(Run("SELECT sequencename FROM pg_sequences"), "free\n");
  EXPECT_EQ(Run("INSERT INTO u DEFAULT VALUES RETURNING x"), "NULL\n");
  EXPECT_EQ(Run("DROP SEQUENCE free"), "DROP SEQUENCE");
  Reopen();
  EXPECT_EQ(Run("SELECT count(*) FROM pg_sequences"), "0\n");
  EXPECT_EQ(Run("CREATE TABLE t (id serial)"), "CREATE TABLE");
}

TEST_F(SequenceSqlTest, ALTERTABLEKnowsSequences) {
  Run("CREATE TABLE t (id serial, a int GENERATED ALWAYS AS IDENTITY, b int)");
  Run("INSERT INTO t DEFAULT VALUES");
  EXPECT_EQ(Run("ALTER TABLE t ADD COLUMN c serial"),
            "ERROR 0A000: ADD COLUMN of a serial or identity column is not supported");
  EXPECT_EQ(Run("ALTER TABLE t ALTER a SET DEFAULT 1"),
            "ERROR 42601: column \"a\" of relation \"t\" is an identity column");
  EXPECT_EQ(Run("ALTER TABLE t ALTER a DROP NOT NULL"),
            "ERROR 42601: column \"a\" of relation \"t\" is an identity column");
  Run("CREATE SEQUENCE s START 5");
  EXPECT_EQ(Run("ALTER TABLE t ADD COLUMN c int DEFAULT nextval('s')"), "ALTER TABLE");
  EXPECT_EQ(Run("ALTER TABLE t ALTER b SET DEFAULT nextval('t_id_seq')"), "ALTER TABLE");
  EXPECT_EQ(Run("INSERT INTO t DEFAULT VALUES RETURNING *"), "2|2|3|6\n");
  EXPECT_EQ(Run("ALTER TABLE t DROP COLUMN id"),
            "ERROR 2BP01: cannot drop column id of table t because other objects depend on it "
            "(default value for column b of table t depends on sequence t_id_seq)");
  EXPECT_EQ(Run("ALTER TABLE t DROP COLUMN id CASCADE, DROP COLUMN a"), "ALTER TABLE");
  EXPECT_EQ(Run("SELECT sequencename FROM pg_sequences"), "s\n");
  EXPECT_EQ(Run("ALTER TABLE t RENAME TO u"), "ALTER TABLE");
  EXPECT_EQ(Run("ALTER TABLE u RENAME COLUMN c TO d"), "ALTER TABLE");
  Run("ALTER SEQUENCE s OWNED BY u.b");
  EXPECT_EQ(Run("INSERT INTO u DEFAULT VALUES RETURNING *"), "NULL|7\n");
  Run("DROP TABLE u");
  EXPECT_EQ(Run("SELECT nextval('s')"), "ERROR 42P01: relation \"s\" does not exist");
}

TEST_F(SequenceSqlTest, IdentityColumnsTakeValuesOnlyWhereTheyMay) {
  Run("CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY, "
      "b int GENERATED BY DEFAULT AS IDENTITY (START 10 INCREMENT 10))");
  const std::string always = " (Column \"id\" is an identity column defined as GENERATED ALWAYS.)";
  const std::string refused = "ERROR 428C9: cannot insert a non-DEFAULT value into column \"id\"" + always;
  EXPECT_EQ(Run("INSERT INTO t VALUES (1, 2)"), refused);
  EXPECT_EQ(Run("INSERT INTO t SELECT 1"), refused);
  EXPECT_EQ(Run("INSERT INTO t VALUES (DEFAULT, 2), (7, 3)"), refused);
  EXPECT_EQ(Run("INSERT INTO t VALUES (DEFAULT, 2), (DEFAULT, 3)"), "INSERT 2");
  EXPECT_EQ(Run("INSERT INTO t OVERRIDING SYSTEM VALUE VALUES (100, 2)"), "INSERT 1");
  EXPECT_EQ(Run("INSERT INTO t OVERRIDING USER VALUE VALUES (100, 2), (101, 3)"), "INSERT 2");
  EXPECT_EQ(Run("INSERT INTO t (b) OVERRIDING USER VALUE SELECT 77"), "INSERT 1");
  EXPECT_EQ(Run("SELECT * FROM t ORDER BY id"), "1|2\n2|3\n3|10\n4|20\n5|30\n100|2\n");
  EXPECT_EQ(Run("UPDATE t SET id = 5"), "ERROR 428C9: column \"id\" can only be updated to DEFAULT" + always);
  EXPECT_EQ(Run("UPDATE t SET id = DEFAULT, b = 1 WHERE id = 100 RETURNING *"), "6|1\n");
  EXPECT_EQ(Run("SELECT identity_generation, identity_start FROM information_schema.columns WHERE table_name = 't'"),
            "ALWAYS|1\nBY DEFAULT|10\n");
}

TEST_F(SequenceSqlTest, TruncateRestartsIdentitiesWhereItIsTold) {
  Run("CREATE TABLE t (id serial, a int GENERATED ALWAYS AS IDENTITY)");
  Run("INSERT INTO t DEFAULT VALUES");
  Run("TRUNCATE t");
  EXPECT_EQ(Run("INSERT INTO t DEFAULT VALUES RETURNING *"), "2|2\n");
  EXPECT_EQ(Run("TRUNCATE t RESTART IDENTITY"), "TRUNCATE TABLE");
  EXPECT_EQ(Run("INSERT INTO t DEFAULT VALUES RETURNING *"), "1|1\n");
  Run("BEGIN");
  Run("TRUNCATE t RESTART IDENTITY");
  Run("ROLLBACK");
  EXPECT_EQ(Run("INSERT INTO t DEFAULT VALUES RETURNING *"), "2|2\n");
}

TEST_F(SequenceSqlTest, SetvalIsNotUndone) {
  Run("CREATE SEQUENCE s MAXVALUE 50");
  Run("BEGIN");
  EXPECT_EQ(Run("SELECT setval('s', 20)"), "20\n");
  Run("ROLLBACK");
  EXPECT_EQ(Run("SELECT currval('s'), nextval('s')"), "20|21\n");
  EXPECT_EQ(Run("SELECT setval('s', 20, false), currval('s'), nextval('s')"), "20|21|20\n");
  EXPECT_EQ(Run("SELECT setval('s', 51)"), "ERROR 22003: setval: value 51 is out of bounds for sequence \"s\" (1..50)");
  EXPECT_EQ(Run("SELECT setval('s', 50)"), "50\n");
  EXPECT_EQ(Run("SELECT nextval('s')"), "ERROR 2200H: nextval: reached maximum value of sequence \"s\" (50)");
}

TEST_F(SequenceSqlTest, AReadOnlyTransactionMovesNothing) {
  Run("CREATE SEQUENCE s");
  Run("SELECT nextval('s')");
  Run("BEGIN READ ONLY");
  EXPECT_EQ(Run("SELECT currval('s'), lastval(), last_value FROM s"), "1|1|1\n");
  EXPECT_EQ(Run("SELECT nextval('s') WHERE false"), "");
  EXPECT_EQ(Run("SELECT nextval('s')"), "ERROR 25006: cannot execute nextval() in a read-only transaction");
  Run("ROLLBACK");
  Run("SET default_transaction_read_only = on");
  EXPECT_EQ(Run("SELECT setval('s', 7)"), "ERROR 25006: cannot execute setval() in a read-only transaction");
  EXPECT_EQ(Run("CREATE SEQUENCE q"), "ERROR 25006: cannot execute CREATE SEQUENCE in a read-only transaction");
}

TEST_F(SequenceSqlTest, CurrvalBelongsToItsSession) {
  Run("CREATE SEQUENCE s CACHE 10");
  EXPECT_EQ(Run("SELECT lastval()"), "ERROR 55000: lastval is not yet defined in this session");
  EXPECT_EQ(Run("SELECT nextval('s'), nextval('s')"), "1|2\n");
  EXPECT_EQ(Other("SELECT currval('s')"), "ERROR 55000: currval of sequence \"s\" is not yet defined in this session");
  EXPECT_EQ(Other("SELECT nextval('s')"), "11\n");  // the first ten are the other session's
  EXPECT_EQ(Run("SELECT nextval('s'), lastval()"), "3|3\n");
  Run("DROP SEQUENCE s");
  EXPECT_EQ(Run("SELECT lastval()"), "ERROR 55000: lastval is not yet defined in this session");
}

TEST_F(SequenceSqlTest, NamesAreReadAsRegclassReadsThem) {
  Run("CREATE SEQUENCE \"Odd.Name\"");
  EXPECT_EQ(Run("SELECT nextval('\"Odd.Name\"'), nextval('public.\"Odd.Name\"'::regclass)"), "1|2\n");
  EXPECT_EQ(Run("SELECT nextval('\"Odd' || '.Name\"')"), "3\n");
  EXPECT_EQ(Run("SELECT nextval($1)", {type::Datum::Bytes(" PUBLIC . \"Odd.Name\" ")}), "4\n");
  EXPECT_EQ(Run("SELECT nextval('odd.name')"), "ERROR 3F000: schema \"odd\" does not exist");
  EXPECT_EQ(Run("SELECT nextval(NULL)"), "NULL\n");
  EXPECT_EQ(Run("SELECT nextval('a b')"), "ERROR 42602: invalid name syntax");
  Run("CREATE TABLE t (a int)");
  EXPECT_EQ(Run("SELECT nextval('t')"), "ERROR 42809: \"t\" is not a sequence");
  EXPECT_EQ(Run("INSERT INTO \"Odd.Name\" VALUES (1)"), "ERROR 42809: cannot change sequence \"Odd.Name\"");
}

TEST_F(SequenceSqlTest, AnOrderlyEndSkipsNothing) {
  Run("CREATE TABLE t (id serial)");
  Run("INSERT INTO t DEFAULT VALUES");
  Reopen();
  EXPECT_EQ(Run("INSERT INTO t DEFAULT VALUES RETURNING id"), "2\n");
}

TEST_F(SequenceSqlTest, ManySessionsNeverShareAValue) {
  Run("CREATE TABLE t (id serial PRIMARY KEY, a int)");
  constexpr int kFibers = 8, kInserts = 100;
  io::Event ended[kFibers];
  for (io::Event& end : ended) {
    runtime_->Spawn({"inserter"}, [&] {
      const std::unique_ptr<Session> session = database_->NewSession();
      for (int i = 0; i < kInserts; ++i) EXPECT_EQ(Run(*session, "INSERT INTO t (a) VALUES (1)"), "INSERT 1");
      end.Set();
    });
  }
  for (io::Event& end : ended) end.Wait();
  EXPECT_EQ(Run("SELECT count(*), max(id) FROM t"), "800|800\n");
}

}  // namespace
}  // namespace sisal::db
