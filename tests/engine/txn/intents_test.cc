// Queues of intents: order, compatibility, what a cancel leaves behind, and a storm of deadlocks.
#include <algorithm>
#include <atomic>
#include <random>
#include <vector>

#include "sisal/base/random.h"
#include "txn_fixture.h"

namespace sisal::txn {
namespace {

const RowKeyView kRow{kTree, "row"};

class IntentsTest : public TxnTest {
 protected:
  IntentsTest() : TxnTest(/*loop_count=*/1) {}

  // Starts a fiber that asks for `row` and writes down its number when it is granted.
  void Ask(IntentOwner& owner, LockMode mode, const io::Interrupt& interrupt = {}) {
    runtime_->loop(0).Spawn({}, [this, &owner, mode, interrupt] {
      const IntentResult result = table_.Acquire(owner, kRow, mode, LockWait::kWait, interrupt);
      if (result == IntentResult::kGranted) {
        granted_.push_back(owner.id.value);
      } else {
        ended_.push_back(owner.id.value);
      }
    });
    Settle();
  }
  static void Settle() {
    for (int i = 0; i < 10; ++i) io::Yield();
  }
  void Release(IntentOwner& owner) {
    table_.ReleaseAll(owner);
    Settle();
  }

  IntentTable table_{SystemClock()};
  std::vector<uint64_t> granted_, ended_;
};

using Numbers = std::vector<uint64_t>;

TEST_F(IntentsTest, RequestsAreGrantedInOrderAndSharedOnesTogether) {
  Run([&] {
    IntentOwner a{TxnId{1}}, b{TxnId{2}}, c{TxnId{3}}, d{TxnId{4}}, e{TxnId{5}};
    Ask(a, LockMode::kShared);
    Ask(b, LockMode::kExclusive);
    Ask(c, LockMode::kShared);  // behind b, although a's is shared
    Ask(d, LockMode::kShared);
    Ask(e, LockMode::kExclusive);
    EXPECT_EQ(granted_, (Numbers{1}));
    EXPECT_GT(a.contended, 0u);
    Release(a);
    EXPECT_EQ(granted_, (Numbers{1, 2}));
    Release(b);
    EXPECT_EQ(granted_, (Numbers{1, 2, 3, 4}));
    Release(c);
    EXPECT_EQ(granted_, (Numbers{1, 2, 3, 4}));
    EXPECT_GT(d.contended, 0u);
    Release(d);
    EXPECT_EQ(granted_, (Numbers{1, 2, 3, 4, 5}));
    EXPECT_EQ(e.contended, 0u);
    Release(e);
    EXPECT_TRUE(table_.empty());
  });
}

TEST_F(IntentsTest, AnUpgradeGoesToTheFront) {
  Run([&] {
    IntentOwner a{TxnId{1}}, b{TxnId{2}}, c{TxnId{3}};
    Ask(a, LockMode::kShared);
    Ask(b, LockMode::kShared);
    Ask(c, LockMode::kExclusive);
    Ask(a, LockMode::kExclusive);
    EXPECT_EQ(granted_, (Numbers{1, 2}));
    Release(b);
    EXPECT_EQ(granted_, (Numbers{1, 2, 1}));
    EXPECT_TRUE(table_.Holds(a, kRow, LockMode::kExclusive));
    Release(a);
    EXPECT_EQ(granted_, (Numbers{1, 2, 1, 3}));
    Release(c);
    EXPECT_TRUE(table_.empty());
  });
}

TEST_F(IntentsTest, ACancelledWaiterLetsThoseBehindItPass) {
  Run([&] {
    IntentOwner a{TxnId{1}}, b{TxnId{2}}, c{TxnId{3}};
    io::CancelToken token;
    Ask(a, LockMode::kShared);
    Ask(b, LockMode::kExclusive, {.cancel = &token});
    Ask(c, LockMode::kShared);
    token.Cancel(Error("57014", "cancelled"));
    Settle();
    EXPECT_EQ(ended_, (Numbers{2}));
    EXPECT_EQ(granted_, (Numbers{1, 3}));
    EXPECT_EQ(a.contended, 0u);
    Release(a);
    Release(c);
    EXPECT_TRUE(table_.empty());
  });
}

// Many fibers on two loops take a few of a few rows in random order. Each either gets all or is a victim; none hangs.
TEST(IntentsStormTest, EveryTransactionEnds) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const auto runtime = io::Runtime::Start({.loop_count = 2}).value();
  runtime->RunAndWait("storm", [&] {
    constexpr int kFibers = 16, kRounds = 200;
    IntentTable table(SystemClock());
    std::atomic<uint64_t> next_id{1}, victims{0};
    std::atomic<int> inside[8] = {};
    std::atomic<int> running{kFibers};
    io::Event done;
    for (int fiber = 0; fiber < kFibers; ++fiber) {
      runtime->loop(fiber % 2).Spawn({}, [&, fiber] {
        Random random(seed + static_cast<uint64_t>(fiber));
        for (int round = 0; round < kRounds; ++round) {
          IntentOwner owner{TxnId{next_id++}};
          std::vector<uint64_t> exclusive;
          for (int i = 0; i < 4; ++i) {
            const uint64_t row = random.Below(8);
            const LockMode mode = random.OneIn(3) ? LockMode::kShared : LockMode::kExclusive;
            const std::string key = std::to_string(row);
            const IntentResult result = table.Acquire(owner, {kTree, key}, mode, LockWait::kWait, {});
            if (result == IntentResult::kDeadlock) {
              ++victims;
              break;
            }
            EXPECT_EQ(result, IntentResult::kGranted);
            const bool known = std::find(exclusive.begin(), exclusive.end(), row) != exclusive.end();
            if (mode == LockMode::kExclusive && !known) {
              EXPECT_EQ(inside[row]++, 0) << "two exclusive holders";
              exclusive.push_back(row);
            }
            if (random.OneIn(4)) io::Yield();
          }
          for (const uint64_t row : exclusive) --inside[row];
          table.ReleaseAll(owner);
          EXPECT_EQ(owner.contended, 0u);
        }
        if (--running == 0) done.Set();
      });
    }
    done.Wait();
    EXPECT_TRUE(table.empty());
    EXPECT_EQ(table.Stats().deadlocks, victims);
    EXPECT_GT(victims, 0u);
  });
}

}  // namespace
}  // namespace sisal::txn
