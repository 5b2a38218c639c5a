// Loops in parallel: money moves between accounts, some appear and vanish, and every reader sees the same sum.
#include <atomic>
#include <random>

#include "sisal/base/random.h"
#include "txn_fixture.h"

namespace sisal::txn {
namespace {

constexpr int kAccounts = 20;
constexpr int kTotal = kAccounts * 100;

class ConcurrencyTest : public TxnTest {
 protected:
  static std::string Account(uint64_t number) { return "account" + std::to_string(100 + number); }

  // Moves money from one account to another; an account without money has no row.
  Status Transfer(Random& random) {
    const auto transaction = store_->Begin({});
    const std::string from = Account(random.Below(kAccounts)), to = Account(random.Below(kAccounts));
    if (random.OneIn(2)) SISAL_RETURN_IF_ERROR(transaction->TakeSnapshot());
    for (const std::string& key : {from, to}) {
      SISAL_RETURN_IF_ERROR(transaction->Lock(kTree, key, LockMode::kExclusive, LockWait::kWait, Conflict::kCheck));
    }
    if (!transaction->has_snapshot()) SISAL_RETURN_IF_ERROR(transaction->TakeSnapshot());
    const int amount = static_cast<int>(random.Below(60));
    SISAL_RETURN_IF_ERROR(Add(*transaction, from, -amount));
    SISAL_RETURN_IF_ERROR(Add(*transaction, to, amount));
    if (random.OneIn(8)) return Status();  // rolls back
    return transaction->Commit({}).status();
  }
  static Status Add(Transaction& transaction, const std::string& key, int amount) {
    const int balance = std::stoi(Read(transaction, key).value_or("0")) + amount;
    return balance == 0 ? transaction.Delete(kTree, key) : transaction.Put(kTree, key, std::to_string(balance));
  }
  int Sum(TransactionOptions options, Direction direction) {
    const auto transaction = Begin(options);
    const auto cursor = transaction->Scan(kTree, {}, direction);
    int sum = 0;
    EntryBatch batch;
    while (true) {
      EXPECT_OK(cursor->Next(7, batch));
      if (batch.keys.empty()) return sum;
      for (const std::string_view value : batch.values) sum += std::stoi(std::string(value));
      io::Yield();
    }
  }
};

TEST_F(ConcurrencyTest, EveryReaderSeesTheSameSum) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Run([&] {
    Open();
    const auto load = Begin();
    for (int i = 0; i < kAccounts; ++i) ASSERT_OK(Write(*load, Account(static_cast<uint64_t>(i)), "100"));
    ASSERT_OK(load->Commit({}));

    constexpr int kWriters = 6, kReaders = 3, kTransfers = 300;
    std::atomic<int> writers{kWriters}, running{kWriters + kReaders}, committed{0};
    io::Event done;
    for (int i = 0; i < kWriters; ++i) {
      runtime_->loop(static_cast<size_t>(i) % 2).Spawn({}, [&, i] {
        Random random(seed + static_cast<uint64_t>(i));
        for (int n = 0; n < kTransfers; ++n) {
          const Status status = Transfer(random);
          EXPECT_TRUE(status.ok() || status.sqlstate() == "40001" || status.sqlstate() == "40P01") << status.ToString();
          if (status.ok()) ++committed;
        }
        --writers;
        if (--running == 0) done.Set();
      });
    }
    for (int i = 0; i < kReaders; ++i) {
      runtime_->loop(static_cast<size_t>(i) % 2).Spawn({}, [&, i] {
        while (writers > 0) {
          EXPECT_EQ(Sum({.read_only = i == 0}, i == 1 ? Direction::kBackward : Direction::kForward), kTotal);
          if (i == 2) Sweeper::Sweep(store_->core());
        }
        if (--running == 0) done.Set();
      });
    }
    done.Wait();
    EXPECT_GT(committed, 0);
    EXPECT_EQ(Sum({}, Direction::kForward), kTotal);
    Sweeper::Sweep(store_->core());
    EXPECT_EQ(store_->Stats().versions, 0u);
    EXPECT_TRUE(store_->core().intents.empty());
  });
  Run([&] {
    Reopen();
    EXPECT_EQ(Sum({}, Direction::kForward), kTotal);
  });
}

}  // namespace
}  // namespace sisal::txn
