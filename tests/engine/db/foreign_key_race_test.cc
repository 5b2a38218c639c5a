// Foreign keys between sessions: who waits for whom, and that no committed state has an orphan.
#include <array>
#include <atomic>
#include <functional>
#include <random>

#include "sisal/io/sync.h"
#include "sisal/io/time.h"
#include "sql_fixture.h"

namespace sisal::db {
namespace {

constexpr char kGone[] = "ERROR 23503: insert or update on table \"c\" violates foreign key constraint";
constexpr char kUsed[] = "ERROR 23503: update or delete on table \"p\" violates foreign key constraint";

class ForeignKeyRaceTest : public SqlFixture {
 protected:
  void SetUp() override {
    SqlFixture::SetUp();
    Run("CREATE TABLE p (id INT PRIMARY KEY, u INT UNIQUE, n INT)");
    Run("INSERT INTO p VALUES (1, 1, 0), (2, 2, 0)");
    one_ = database_->NewSession();
    two_ = database_->NewSession();
  }
  void TearDown() override {
    one_.reset();
    two_.reset();
    SqlFixture::TearDown();
  }
  void MakeChild(const std::string& options) {
    Run("CREATE TABLE c (id INT PRIMARY KEY, a INT REFERENCES p " + options + ", n INT)");
  }
  std::string Orphans() {
    return Run("SELECT count(*) FROM c WHERE a IS NOT NULL AND NOT EXISTS (SELECT 1 FROM p WHERE p.id = c.a)");
  }
  static std::string Head(const std::string& text, const char* head) {
    return text.substr(0, std::string(head).size());
  }

  std::unique_ptr<Session> one_, two_;
};

TEST_F(ForeignKeyRaceTest, AChildWaitsForItsParentsDeleter) {
  MakeChild("");
  for (const char* end : {"ROLLBACK", "COMMIT"}) {
    Run(*one_, "BEGIN");
    EXPECT_EQ(Run(*one_, "DELETE FROM p WHERE id = 1"), "DELETE 1");
    const std::string inserted =
        RunBlocked(*two_, "INSERT INTO c VALUES (1, 1)", *one_, [&] { EXPECT_EQ(Run(*one_, end), end); });
    if (std::string(end) == "COMMIT") {
      EXPECT_EQ(Head(inserted, kGone), kGone);
    } else {
      EXPECT_EQ(inserted, "INSERT 1");
      EXPECT_EQ(Run("DELETE FROM c"), "DELETE 1");
    }
  }
  EXPECT_EQ(Orphans(), "0\n");
}

TEST_F(ForeignKeyRaceTest, ADeleterWaitsForChildrenAndFindsThoseThatItsSnapshotDoesNotShow) {
  MakeChild("");
  for (const char* index : {"", "CREATE INDEX ON c (a)"}) {
    if (*index != '\0') Run(index);
    Run(*one_, "BEGIN");
    EXPECT_EQ(Run(*one_, "SELECT count(*) FROM c"), "0\n");  // its snapshot
    Run(*two_, "BEGIN");
    EXPECT_EQ(Run(*two_, "INSERT INTO c VALUES (1, 1)"), "INSERT 1");
    const std::string deleted =
        RunBlocked(*one_, "DELETE FROM p WHERE id = 1", *two_, [&] { EXPECT_EQ(Run(*two_, "COMMIT"), "COMMIT"); });
    EXPECT_EQ(Head(deleted, kUsed), kUsed);
    Run(*one_, "ROLLBACK");
    EXPECT_EQ(Orphans(), "0\n");
    Run("DELETE FROM c");
  }
}

TEST_F(ForeignKeyRaceTest, ACascadeOverARowThatTheSnapshotDoesNotShowIsAConflict) {
  MakeChild("ON DELETE CASCADE");
  Run(*one_, "BEGIN");
  EXPECT_EQ(Run(*one_, "SELECT count(*) FROM c"), "0\n");
  EXPECT_EQ(Run("INSERT INTO c VALUES (1, 1)"), "INSERT 1");
  EXPECT_EQ(Run(*one_, "DELETE FROM p WHERE id = 1"),
            "ERROR 40001: could not serialize access due to concurrent update");
  Run(*one_, "ROLLBACK");
  EXPECT_EQ(Run("DELETE FROM p WHERE id = 1"), "DELETE 1");
  EXPECT_EQ(Run("SELECT count(*) FROM c"), "0\n");
}

TEST_F(ForeignKeyRaceTest, ChildrenWaitNeitherForEachOtherNorForOtherColumnsOfTheParent) {
  MakeChild("");
  Run(*one_, "BEGIN");
  EXPECT_EQ(Run(*one_, "UPDATE p SET n = n + 1, u = 7 WHERE id = 1"), "UPDATE 1");
  EXPECT_EQ(Run(*one_, "INSERT INTO c VALUES (1, 1)"), "INSERT 1");
  Run(*two_, "BEGIN");
  EXPECT_EQ(Run(*two_, "INSERT INTO c VALUES (2, 1)"), "INSERT 1");
  EXPECT_EQ(Run(*one_, "COMMIT"), "COMMIT");
  EXPECT_EQ(Run(*two_, "COMMIT"), "COMMIT");
  EXPECT_EQ(Run("SELECT count(*) FROM c"), "2\n");
  // FOR UPDATE keeps them away, as a DELETE does.
  Run(*one_, "BEGIN");
  EXPECT_EQ(Run(*one_, "SELECT id FROM p WHERE id = 1 FOR UPDATE"), "1\n");
  EXPECT_EQ(RunBlocked(*two_, "INSERT INTO c VALUES (3, 1)", *one_, [&] { Run(*one_, "COMMIT"); }), "INSERT 1");
}

// A child that another transaction is about to take away, or to move, does not count before that has ended.
TEST_F(ForeignKeyRaceTest, ADeleterWaitsForTheChildrensDeleter) {
  MakeChild("");
  for (const char* change : {"DELETE FROM c", "UPDATE c SET a = 2", "UPDATE c SET id = 5"}) {
    Run("DELETE FROM c");
    Run("INSERT INTO p VALUES (1, 1, 0) ON CONFLICT DO NOTHING");
    EXPECT_EQ(Run("INSERT INTO c VALUES (1, 1)"), "INSERT 1");
    Run(*two_, "BEGIN");
    Run(*two_, change);
    const std::string deleted =
        RunBlocked(*one_, "DELETE FROM p WHERE id = 1", *two_, [&] { EXPECT_EQ(Run(*two_, "COMMIT"), "COMMIT"); });
    if (std::string(change).ends_with("id = 5")) {
      EXPECT_EQ(Head(deleted, kUsed), kUsed);
    } else {
      EXPECT_EQ(deleted, "DELETE 1");
    }
    EXPECT_EQ(Orphans(), "0\n");
  }
}

TEST_F(ForeignKeyRaceTest, TwoThatTakeEachOthersParentsAwayAreADeadlock) {
  MakeChild("");
  Run(*one_, "BEGIN");
  Run(*two_, "BEGIN");
  Run(*one_, "INSERT INTO c VALUES (1, 1)");
  Run(*two_, "INSERT INTO c VALUES (2, 2)");
  const std::string first = RunBlocked(*one_, "DELETE FROM p WHERE id = 2", *two_, [&] {
    EXPECT_EQ(Run(*two_, "DELETE FROM p WHERE id = 1"), "ERROR 40P01: deadlock detected");
    Run(*two_, "ROLLBACK");
  });
  EXPECT_EQ(first, "DELETE 1");
  EXPECT_EQ(Run(*one_, "COMMIT"), "COMMIT");
  EXPECT_EQ(Orphans(), "0\n");
}

TEST_F(ForeignKeyRaceTest, ADefinitionWaitsForThoseWhoWriteTheParent) {
  Run(*one_, "BEGIN");
  EXPECT_EQ(Run(*one_, "DELETE FROM p WHERE id = 1"), "DELETE 1");
  EXPECT_EQ(RunBlocked(*two_, "CREATE TABLE c (id INT PRIMARY KEY, a INT REFERENCES p)", *one_,
                       [&] { EXPECT_EQ(Run(*one_, "COMMIT"), "COMMIT"); }),
            "CREATE TABLE");
  EXPECT_EQ(Head(Run("INSERT INTO c VALUES (1, 1)"), kGone), kGone);
}

// Random writes of both sides on several threads; a reader looks for orphans all the time.
TEST_F(ForeignKeyRaceTest, NoCommittedStateHasAnOrphan) {
  constexpr int kWriters = 4, kStatements = 250;
  for (const std::string options :
       {"", "ON DELETE CASCADE ON UPDATE CASCADE", "ON DELETE SET NULL ON UPDATE RESTRICT"}) {
    Run("DROP TABLE IF EXISTS c");
    Run("DELETE FROM p");
    Run("INSERT INTO p SELECT g, g, 0 FROM generate_series(1, 8) AS s(g)");
    MakeChild(options);
    if (options.empty()) Run("CREATE INDEX ON c (a, n)");
    std::array<io::Event, kWriters> ended;
    std::atomic<int> running{kWriters};
    for (int writer = 0; writer < kWriters; ++writer) {
      runtime_->Spawn({}, [&, writer] {
        const auto session = database_->NewSession();
        std::minstd_rand random(static_cast<uint32_t>(writer + 1));
        const auto number = [&](uint32_t below) { return std::to_string(random() % below + 1); };
        bool open = false;
        for (int i = 0; i < kStatements; ++i) {
          if (!open && random() % 3 == 0)
            Run(*session, random() % 2 == 0 ? "BEGIN" : "BEGIN ISOLATION LEVEL READ COMMITTED");
          open = session->phase() != TransactionPhase::kNone;
          std::string sql;
          switch (random() % 8) {
            case 0:
              sql = "DELETE FROM p WHERE id = " + number(8);
              break;
            case 1:
              sql = "INSERT INTO p VALUES (" + number(8) + ", NULL, 0) ON CONFLICT DO NOTHING";
              break;
            case 2:
              sql = "UPDATE p SET id = " + number(8) + " WHERE id = " + number(8);
              break;
            case 3:
              sql = "UPDATE c SET a = " + number(8) + " WHERE id = " + number(20);
              break;
            case 4:
              sql = "UPDATE c SET id = " + number(20) + ", n = 1 - n WHERE id = " + number(20);
              break;
            case 5:
              sql = "DELETE FROM c WHERE id = " + number(20);
              break;
            default:
              sql = "INSERT INTO c VALUES (" + number(20) + ", " + number(8) + ", 0) ON CONFLICT DO NOTHING";
          }
          const std::string outcome = Run(*session, sql);
          const bool known =
              outcome.substr(0, 5) != "ERROR" || outcome.substr(6, 2) == "23" || outcome.substr(6, 2) == "40";
          EXPECT_TRUE(known) << sql << ": " << outcome;
          if (open && (session->phase() == TransactionPhase::kFailed || random() % 3 == 0)) Run(*session, "COMMIT");
          open = session->phase() != TransactionPhase::kNone;
        }
        if (open) Run(*session, "COMMIT");
        running.fetch_sub(1);
        ended[static_cast<size_t>(writer)].Set();
      });
    }
    while (running.load() > 0) {
      EXPECT_EQ(Orphans(), "0\n") << options;
      io::Yield();
    }
    for (io::Event& event : ended) event.Wait();
    EXPECT_EQ(Orphans(), "0\n") << options;
  }
}

}  // namespace
}  // namespace sisal::db
