// FOR UPDATE and FOR SHARE: which rows are locked, and what a statement gives that had to wait.
#include <functional>

#include "sisal/io/sync.h"
#include "sisal/io/time.h"
#include "sql_fixture.h"

namespace sisal::db {
namespace {

constexpr const char* kNextJob = "SELECT id FROM job WHERE state = 'new' ORDER BY prio LIMIT 1 FOR UPDATE SKIP LOCKED";

class RowLockTest : public SqlFixture {
 protected:
  // Ten jobs; the order of `prio`, which no index gives, is that of the keys turned round.
  void MakeJobs() {
    Run("CREATE TABLE job (id INTEGER PRIMARY KEY, state TEXT, prio INTEGER)");
    Run("INSERT INTO job SELECT g, 'new', 100 - g FROM generate_series(1, 10) AS s(g)");
  }
  // The keys of the rows of `table` that nobody has locked.
  std::string Free(const std::string& table) {
    return Run("SELECT id FROM " + table + " ORDER BY id FOR UPDATE SKIP LOCKED");
  }
};

TEST_F(RowLockTest, WorkersTakeDifferentJobsAndLeaveTheOthersFree) {
  MakeJobs();
  const auto first = database_->NewSession(), second = database_->NewSession();
  for (const auto* worker : {&first, &second}) Run(**worker, "BEGIN ISOLATION LEVEL READ COMMITTED");
  EXPECT_EQ(Run(*first, kNextJob), "10\n");
  EXPECT_EQ(Run(*second, kNextJob), "9\n");
  EXPECT_EQ(Free("job"), "1\n2\n3\n4\n5\n6\n7\n8\n");
  Run(*first, "UPDATE job SET state = 'done' WHERE id = 10");
  EXPECT_EQ(Run(*first, "COMMIT"), "COMMIT");
  EXPECT_EQ(Run(*first, kNextJob), "8\n");
  Run(*second, "ROLLBACK");
  EXPECT_EQ(Run(*first, kNextJob), "9\n");
}

TEST_F(RowLockTest, LimitCountsTheRowsThatWereGranted) {
  MakeJobs();
  const auto other = database_->NewSession();
  Run(*other, "BEGIN");
  Run(*other, "SELECT 1 FROM job WHERE id IN (10, 8) FOR UPDATE");
  Run("BEGIN");
  EXPECT_EQ(Run("SELECT id FROM job ORDER BY prio LIMIT 3 FOR UPDATE SKIP LOCKED"), "9\n7\n6\n");
  EXPECT_EQ(Run(*other, "SELECT id FROM job ORDER BY id FOR UPDATE SKIP LOCKED"), "1\n2\n3\n4\n5\n8\n10\n");
}

TEST_F(RowLockTest, OffsetLocksWhatItSkips) {
  MakeJobs();
  const auto other = database_->NewSession();
  Run(*other, "BEGIN");
  EXPECT_EQ(Run(*other, "SELECT id FROM job ORDER BY prio LIMIT 1 OFFSET 2 FOR UPDATE"), "8\n");
  EXPECT_EQ(Free("job"), "1\n2\n3\n4\n5\n6\n7\n");
}

TEST_F(RowLockTest, NowaitFailsAtTheFirstRowThatIsTaken) {
  MakeJobs();
  const auto other = database_->NewSession();
  Run(*other, "BEGIN");
  Run(*other, "SELECT 1 FROM job WHERE id = 9 FOR SHARE");
  EXPECT_EQ(Run("SELECT id FROM job ORDER BY prio LIMIT 1 FOR UPDATE NOWAIT"), "10\n");
  EXPECT_EQ(Run("SELECT id FROM job ORDER BY prio LIMIT 2 FOR SHARE NOWAIT"), "10\n9\n");
  EXPECT_EQ(Run("SELECT id FROM job ORDER BY prio LIMIT 2 FOR UPDATE NOWAIT"),
            "ERROR 55P03: could not obtain lock on row in relation \"job\"");
  // Of several clauses the strictest counts.
  EXPECT_EQ(Run("SELECT id FROM job WHERE id = 9 FOR SHARE SKIP LOCKED FOR UPDATE NOWAIT").substr(0, 11),
            "ERROR 55P03");
  EXPECT_EQ(Run("SELECT id FROM job WHERE id = 9 FOR UPDATE SKIP LOCKED FOR SHARE"), "");
}

TEST_F(RowLockTest, JoinsLockOnlyRowsOfTheirResultAndOnlyTheTablesNamed) {
  for (const char* table : {"a", "b"}) {
    Run(std::string("CREATE TABLE ") + table + " (id INTEGER PRIMARY KEY, n INTEGER)");
    Run(std::string("INSERT INTO ") + table + " SELECT g, -g FROM generate_series(1, 4) AS s(g)");
  }
  const auto other = database_->NewSession();
  Run(*other, "BEGIN");
  EXPECT_EQ(Run(*other,
                "SELECT a.id, b.n FROM a JOIN b ON a.id = b.id WHERE a.n < -1 AND b.n > -4 "
                "ORDER BY b.n + a.n DESC LIMIT 1 FOR UPDATE OF b"),
            "2|-2\n");
  EXPECT_EQ(Free("a"), "1\n2\n3\n4\n");
  EXPECT_EQ(Free("b"), "1\n3\n4\n");
  EXPECT_EQ(Run(*other, "SELECT x.id, y.id FROM a AS x JOIN a AS y ON y.id = x.id + 2 WHERE x.id = 1 FOR UPDATE"),
            "1|3\n");
  EXPECT_EQ(Free("a"), "2\n4\n");
  // A result row goes if either of its rows is taken.
  EXPECT_EQ(Run("SELECT a.id FROM a JOIN b ON a.id = b.id ORDER BY a.n FOR SHARE SKIP LOCKED"), "4\n");
}

TEST_F(RowLockTest, TheKeyComesThroughIndexesAndHiddenRowNumbers) {
  Run("CREATE TABLE plain (id INTEGER, n INTEGER)");
  Run("CREATE INDEX ON plain (n)");
  Run("INSERT INTO plain SELECT g, g % 3 FROM generate_series(1, 9) AS s(g)");
  const auto other = database_->NewSession();
  Run(*other, "BEGIN");
  EXPECT_EQ(Run(*other, "SELECT 'x', id + 1 FROM plain WHERE n = 2 ORDER BY -id LIMIT 2 FOR UPDATE"), "x|9\nx|6\n");
  EXPECT_EQ(Free("plain"), "1\n2\n3\n4\n6\n7\n9\n");
}

TEST_F(RowLockTest, SubSelectsLockTheRowsThatTheirReaderTakes) {
  MakeJobs();
  const auto other = database_->NewSession();
  Run(*other, "BEGIN");
  EXPECT_EQ(Run(*other, "SELECT EXISTS (SELECT 1 FROM job ORDER BY prio FOR UPDATE)"), "t\n");
  EXPECT_EQ(Free("job"), "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  EXPECT_EQ(Run(*other, "SELECT id FROM (SELECT id FROM job WHERE id < 10 ORDER BY prio FOR UPDATE) AS s LIMIT 1"),
            "9\n");
  EXPECT_EQ(Free("job"), "1\n2\n3\n4\n5\n6\n7\n8\n");
  EXPECT_EQ(Run("UPDATE job SET state = 'mine' WHERE id = (" + std::string(kNextJob) + ") RETURNING id"), "8\n");
  EXPECT_EQ(Run("WITH next AS (SELECT id FROM job WHERE state = 'new' ORDER BY prio LIMIT 2 FOR UPDATE SKIP LOCKED) "
                "UPDATE job SET state = 'ours' FROM next WHERE job.id = next.id RETURNING prio"),
            "94\n93\n");
  EXPECT_EQ(Run("INSERT INTO job SELECT id + 100, state, prio FROM job ORDER BY prio LIMIT 1 FOR UPDATE SKIP LOCKED "
                "RETURNING id"),
            "108\n");
}

TEST_F(RowLockTest, AWithQueryThatLocksIsReadOnce) {
  MakeJobs();
  EXPECT_EQ(Run("WITH w AS (SELECT id FROM job FOR UPDATE) SELECT 1 FROM w AS x, w AS y").substr(0, 11), "ERROR 0A000");
}

TEST_F(RowLockTest, ARowThatChangedSinceTheSnapshotIsAConflict) {
  MakeJobs();
  const auto other = database_->NewSession();
  for (const char* sql : {"SELECT id FROM job ORDER BY prio LIMIT 2 FOR UPDATE",
                          "SELECT id FROM job ORDER BY prio LIMIT 2 FOR SHARE SKIP LOCKED"}) {
    Run("BEGIN ISOLATION LEVEL REPEATABLE READ");
    EXPECT_EQ(Run("SELECT count(*) FROM job"), "10\n");
    Run(*other, "UPDATE job SET state = 'seen' WHERE id = 9");
    EXPECT_EQ(Run("SELECT id FROM job ORDER BY prio LIMIT 1 FOR UPDATE"), "10\n");
    EXPECT_EQ(Run(sql), "ERROR 40001: could not serialize access due to concurrent update");
    Run("ROLLBACK");
  }
}

TEST_F(RowLockTest, ReadCommittedRunsTheStatementAgainAfterItHasWaited) {
  MakeJobs();
  const auto holder = database_->NewSession();
  Run("BEGIN ISOLATION LEVEL READ COMMITTED");
  EXPECT_EQ(Run("SELECT count(*) FROM job"), "10\n");
  Run(*holder, "BEGIN");
  Run(*holder, "UPDATE job SET prio = 1000 WHERE id = 10");
  // PostgreSQL would give 10, in the place that its old prio had.
  EXPECT_EQ(RunBlocked(*session_, "SELECT id, prio FROM job ORDER BY prio LIMIT 2 FOR UPDATE", *holder,
                       [&] { Run(*holder, "COMMIT"); }),
            "9|91\n8|92\n");
}

TEST_F(RowLockTest, ReadCommittedHasNoConflictAfterManyRows) {
  Run("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)");
  Run("INSERT INTO t SELECT g, 0 FROM generate_series(1, 3000) AS s(g)");
  const auto holder = database_->NewSession();
  Run("BEGIN ISOLATION LEVEL READ COMMITTED");
  EXPECT_EQ(Run("SELECT count(*) FROM t"), "3000\n");
  Run(*holder, "BEGIN");
  Run(*holder, "UPDATE t SET n = 1 WHERE id = 3000");
  const std::string rows =
      RunBlocked(*session_, "SELECT n FROM t FOR UPDATE", *holder, [&] { Run(*holder, "COMMIT"); });
  EXPECT_EQ(rows.size(), 6000u);
  EXPECT_EQ(rows.substr(5994), "0\n0\n1\n");
}

}  // namespace
}  // namespace sisal::db
