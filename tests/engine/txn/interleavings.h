// All interleavings of two or three small transactions.
//
// One loop, one fiber for each transaction, and a driver that lets one of them take one step at a time. A step that has
// to wait for an intent stays pending; its fiber goes on when it is granted, and the driver skips it until then.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "txn_fixture.h"

namespace sisal::txn {

// What a schedule's transaction remembers between its steps.
struct Actor {
  std::unique_ptr<Transaction> transaction;
  std::optional<std::string> first, second;  // what it has read
  std::vector<std::string> seen;             // the same for scripts of any length
  Status failed;                             // of the first step that failed; rolled back then
  bool committed = false;
  int steps_done = 0;
};
using Step = std::function<Status(Actor&)>;
using Script = std::vector<Step>;

class InterleavingTest : public TxnTest {
 protected:
  explicit InterleavingTest(TransactionOptions transaction_options = {})
      : TxnTest(/*loop_count=*/1), transaction_options_(transaction_options) {}

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
      actors[i].transaction = store_->Begin(transaction_options_);
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

  const TransactionOptions transaction_options_;
};

}  // namespace sisal::txn
