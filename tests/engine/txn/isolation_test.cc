// All interleavings of two or three small transactions: which anomalies SNAPSHOT lets happen, and which it does not.
#include "interleavings.h"

namespace sisal::txn {
namespace {

using IsolationTest = InterleavingTest;

int Committed(const std::vector<Actor>& actors) {
  return static_cast<int>(std::count_if(actors.begin(), actors.end(), [](const Actor& a) { return a.committed; }));
}

TEST_F(IsolationTest, NoUpdateIsLost) {
  const Step increment = [](Actor& actor) {
    const std::string next = std::to_string(std::stoi(*actor.first) + 1);
    return Write(*actor.transaction, "x", next);
  };
  const Script script = {Snapshot(), ReadFirst("x"), increment, Commit()};
  Run([&] {
    Open();
    bool one_failed = false, both_committed = false;
    RunAll(
        {script, script}, [&] { Set("x", "0"); },
        [&](std::vector<Actor>& actors) {
          EXPECT_EQ(Get("x"), std::to_string(Committed(actors)));
          EXPECT_GE(Committed(actors), 1);
          for (const Actor& actor : actors) {
            if (!actor.committed) EXPECT_SQLSTATE(actor.failed, "40001");
          }
          (Committed(actors) == 2 ? both_committed : one_failed) = true;
        });
    EXPECT_TRUE(one_failed && both_committed);
  });
}

TEST_F(IsolationTest, WriteSkewIsAllowed) {
  const auto script = [](const std::string& read, const std::string& write) {
    return Script{Snapshot(), ReadFirst(read), WriteStep(write, "1"), Commit()};
  };
  Run([&] {
    Open();
    bool skewed = false;
    RunAll(
        {script("x", "y"), script("y", "x")},
        [&] {
          Set("x", "0");
          Set("y", "0");
        },
        [&](std::vector<Actor>& actors) {
          EXPECT_EQ(Committed(actors), 2);
          skewed |= actors[0].first == "0" && actors[1].first == "0";
        });
    EXPECT_TRUE(skewed);
  });
}

TEST_F(IsolationTest, NoDirtyReadAndReadsRepeat) {
  const Script reader = {Snapshot(), ReadFirst("x"), ReadSecond("x"), Commit()};
  for (const bool commits : {false, true}) {
    const Script writer = {Snapshot(), WriteStep("x", "1"), commits ? Commit() : Rollback()};
    Run([&] {
      if (store_ == nullptr) Open();
      RunAll(
          {reader, writer}, [&] { Set("x", "0"); },
          [&](std::vector<Actor>& actors) {
            EXPECT_EQ(actors[0].first, actors[0].second);
            if (!commits) {
              EXPECT_EQ(actors[0].first, "0");
            }
          });
    });
  }
}

TEST_F(IsolationTest, AReaderSeesAllOfACommitOrNothing) {
  const Script reader = {Snapshot(), ReadFirst("x"), ReadSecond("y"), Commit()};
  const Script writer = {Snapshot(), WriteStep("x", "1"), WriteStep("y", "1"), Commit()};
  Run([&] {
    Open();
    RunAll(
        {reader, writer},
        [&] {
          Set("x", "0");
          Set("y", "0");
        },
        [](std::vector<Actor>& actors) { EXPECT_EQ(actors[0].first, actors[0].second); });
  });
}

TEST_F(IsolationTest, ATransactionReadsItsOwnWrites) {
  const Script script = {Snapshot(), WriteStep("x", "own"), ReadFirst("x"), Rollback()};
  const Script other = {Snapshot(), WriteStep("x", "other"), Commit()};
  Run([&] {
    Open();
    RunAll(
        {script, other}, [&] { Set("x", "0"); },
        [](std::vector<Actor>& actors) {
          if (actors[0].failed.ok()) {
            EXPECT_EQ(actors[0].first, "own");
          }
        });
  });
}

TEST_F(IsolationTest, OneOfTwoInsertersWins) {
  const Step insert_if_absent = [](Actor& actor) -> Status {
    Arena arena;
    SISAL_ASSIGN_OR_RETURN(const auto present, actor.transaction->GetNewest(kTree, "u", arena));
    if (present) return Error("23505", "duplicate key");
    return actor.transaction->Put(kTree, "u", "1");
  };
  const Script script = {Snapshot(), LockStep("u"), insert_if_absent, Commit()};
  Run([&] {
    Open();
    RunAll(
        {script, script}, [&] { Set("u", std::nullopt); },
        [](std::vector<Actor>& actors) {
          EXPECT_EQ(Committed(actors), 1);
          for (const Actor& actor : actors) {
            if (!actor.committed) EXPECT_SQLSTATE(actor.failed, "23505");
          }
        });
  });
}

TEST_F(IsolationTest, FirstIntentThenSnapshotNeverConflicts) {
  const Step increment = [](Actor& actor) {
    return actor.transaction->Put(kTree, "x", std::to_string(std::stoi(*actor.first) + 1));
  };
  const Script script = {LockStep("x"), Snapshot(), ReadFirst("x"), increment, Commit()};
  Run([&] {
    Open();
    RunAll(
        {script, script}, [&] { Set("x", "0"); }, [&](std::vector<Actor>&) { EXPECT_EQ(Get("x"), "2"); });
  });
}

TEST_F(IsolationTest, ADeadlockOfTwoHasOneVictimTheYounger) {
  const auto script = [](const std::string& first, const std::string& second) {
    return Script{LockStep(first), LockStep(second), Rollback()};
  };
  Run([&] {
    Open();
    bool deadlocked = false;
    RunAll(
        {script("a", "b"), script("b", "a")}, [] {},
        [&](std::vector<Actor>& actors) {
          EXPECT_OK(actors[0].failed);  // begun first
          if (actors[1].failed.ok()) return;
          EXPECT_SQLSTATE(actors[1].failed, "40P01");
          deadlocked = true;
        });
    EXPECT_TRUE(deadlocked);
  });
}

TEST_F(IsolationTest, ADeadlockOfThreeHasOneVictimTheYoungest) {
  const auto script = [](const std::string& first, const std::string& second) {
    return Script{LockStep(first), LockStep(second), Rollback()};
  };
  Run([&] {
    Open();
    uint64_t deadlocks = 0;
    RunAll(
        {script("a", "b"), script("b", "c"), script("c", "a")}, [&] { deadlocks = store_->Stats().deadlocks; },
        [&](std::vector<Actor>& actors) {
          EXPECT_OK(actors[0].failed);
          EXPECT_OK(actors[1].failed);
          EXPECT_EQ(store_->Stats().deadlocks - deadlocks, actors[2].failed.ok() ? 0u : 1u);
        });
    EXPECT_GT(store_->Stats().deadlocks, 0u);
  });
}

TEST_F(IsolationTest, TwoUpgradesOfOneRowHaveOneVictim) {
  const Script script = {LockStep("a", LockMode::kShared), LockStep("a", LockMode::kExclusive), Rollback()};
  Run([&] {
    Open();
    RunAll(
        {script, script}, [] {},
        [](std::vector<Actor>& actors) {
          EXPECT_OK(actors[0].failed);
          if (!actors[1].failed.ok()) EXPECT_SQLSTATE(actors[1].failed, "40P01");
        });
  });
}

}  // namespace
}  // namespace sisal::txn
