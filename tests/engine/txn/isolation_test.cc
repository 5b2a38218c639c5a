// All interleavings of two or three small transactions: which anomalies SNAPSHOT lets happen, and which it does not.
//
// One loop, one fiber for each transaction, and a driver that lets one of them take one step at a time. A step that has
// to wait for an intent stays pending; its fiber goes on when it is granted, and the driver skips it until then.
#include <algorithm>
#include <vector>

#include "txn_fixture.h"

namespace sisal::txn {
namespace {

// What a schedule's transaction remembers between its steps.
struct Actor {
  std::unique_ptr<Transaction> transaction;
  std::optional<std::string> first, second;  // what it has read
  Status failed;                             // of the first step that failed; rolled back then
  bool committed = false;
  int steps_done = 0;
};
using Step = std::function<Status(Actor&)>;
using Script = std::vector<Step>;

class IsolationTest : public TxnTest {
 protected:
  IsolationTest() : TxnTest(/*loop_count=*/1) {}

  // Runs every interleaving of the scripts: `prepare`, the steps, `check`.
  void RunAll(const std::vector<Script>& scripts, const std::function<void()>& prepare,
              const std::function<void(std::vector<Actor>&)>& check) {
    std::vector<size_t> order;
    for (size_t i = 0; i < scripts.size(); ++i) order.insert(order.end(), scripts[i].size(), i);
    do {
      std::string name;
      for (const size_t actor : order) name += std::to_string(actor + 1);
      SCOPED_TRACE("interleaving " + name);
      prepare();
      std::vector<Actor> actors(scripts.size());
      RunOne(scripts, order, actors);
      check(actors);
      EXPECT_TRUE(store_->core().intents.empty());
    } while (!HasFailure() && std::next_permutation(order.begin(), order.end()));
  }

  static Step Snapshot() {
    return [](Actor& actor) { return actor.transaction->TakeSnapshot(); };
  }
  static Step ReadFirst(std::string key) {
    return [key](Actor& actor) {
      actor.first = Read(*actor.transaction, key);
      return Status();
    };
  }
  static Step ReadSecond(std::string key) {
    return [key](Actor& actor) {
      actor.second = Read(*actor.transaction, key);
      return Status();
    };
  }
  static Step WriteStep(std::string key, std::string value) {
    return [=](Actor& actor) { return Write(*actor.transaction, key, value); };
  }
  static Step LockStep(std::string key, LockMode mode = LockMode::kExclusive) {
    return [=](Actor& actor) { return actor.transaction->Lock(kTree, key, mode, LockWait::kWait, Conflict::kIgnore); };
  }
  static Step Commit() {
    return [](Actor& actor) {
      const auto result = actor.transaction->Commit({});
      actor.committed = result.ok();
      return result.status();
    };
  }
  static Step Rollback() {
    return [](Actor& actor) {
      actor.transaction->Rollback();
      return Status();
    };
  }

 private:
  struct Turn {
    int allowed = 0;  // steps that the fiber may take
    bool committing = false;
  };

  void RunOne(const std::vector<Script>& scripts, const std::vector<size_t>& order, std::vector<Actor>& actors) {
    std::vector<Turn> turns(scripts.size());
    size_t running = scripts.size();
    for (size_t i = 0; i < scripts.size(); ++i) {
      actors[i].transaction = store_->Begin({});
      runtime_->loop(0).Spawn({}, [&, i] {
        Play(scripts[i], actors[i], turns[i]);
        --running;
      });
    }
    for (const size_t i : order) {
      ++turns[i].allowed;
      Settle(actors[i], turns[i]);
    }
    while (running > 0) io::Yield();
  }

  static void Play(const Script& script, Actor& actor, Turn& turn) {
    for (size_t step = 0; step < script.size(); ++step) {
      while (turn.allowed <= actor.steps_done) io::Yield();
      if (actor.failed.ok()) {
        turn.committing = step + 1 == script.size();
        actor.failed = script[step](actor);
        if (!actor.failed.ok()) actor.transaction->Rollback();
      }
      ++actor.steps_done;
    }
  }

  // Until the step is done, or its fiber waits for an intent: nothing else parks it, but for a commit.
  static void Settle(const Actor& actor, const Turn& turn) {
    constexpr int kTurnsMax = 20;
    for (int i = 0; actor.steps_done < turn.allowed && (i < kTurnsMax || turn.committing); ++i) io::Yield();
  }
};

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
