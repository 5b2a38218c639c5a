#include "sisal/service/transaction_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "sisal/io/runtime.h"
#include "sisal/testing/status_matchers.h"

namespace sisal::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

// A clock that the test moves.
class FakeClock final : public Clock {
 public:
  Instant Now() const override { return Instant{Duration(nanos.load())}; }
  int64_t WallMicros() const override { return nanos.load() / 1000; }
  void Advance(Duration duration) { nanos += duration.count(); }
  std::atomic<int64_t> nanos{1'000'000'000};
};

// A session without an engine: it is only kept.
class FakeSession final : public db::Session {
 public:
  explicit FakeSession(std::atomic<int>& alive) : alive_(alive) { ++alive_; }
  ~FakeSession() override { --alive_; }
  Status SetSetting(std::string_view, std::string_view) override { return Unused(); }
  const type::TextSettings& text_settings() const override { return text_; }
  type::TextSettings input_settings() const override { return text_; }
  db::TransactionPhase phase() const override {
    return failed ? db::TransactionPhase::kFailed : db::TransactionPhase::kActive;
  }
  txn::Transaction* transaction() override { return nullptr; }
  Status Begin(const db::BeginOptions&) override { return Unused(); }
  Result<Timestamp> Commit(const db::CallOptions&) override { return Unused(); }
  void Rollback() override {}
  Result<std::unique_ptr<db::ResultSet>> Execute(db::PreparedPtr, std::vector<type::Datum>,
                                                 const db::CallOptions&) override {
    return Unused();
  }
  Result<db::PreparedPtr> Prepare(std::string_view, const db::CallOptions&) override { return Unused(); }
  Result<db::PreparedPtr> PrepareById(const db::StatementId&, const db::CallOptions&) override { return Unused(); }
  Result<std::optional<std::string>> FindOutcome(std::string_view, std::string_view, std::string_view) override {
    return Unused();
  }
  Status StoreOutcome(std::string_view, std::string_view, std::string_view, std::string_view) override {
    return Unused();
  }
  bool failed = false;

 private:
  static Error Unused() { return Error{"XX000", "not part of this test"}; }
  std::atomic<int>& alive_;
  type::TextSettings text_;
};

class TransactionTableTest : public ::testing::Test {
 protected:
  TransactionTableTest() : codec(MakeIdentity()), table(Limits(), codec, clock) {}
  static Identity MakeIdentity() {
    Identity identity;
    identity.boot = 7;
    return identity;
  }
  static LeaseLimits Limits() {
    LeaseLimits limits;
    limits.transactions_max = 3;
    limits.queue_max = 2;
    return limits;
  }
  // Begins a transaction and lets go of it.
  std::string Create(TransactionTable::CreateOptions options = {}) {
    std::unique_ptr<db::Session> session = std::make_unique<FakeSession>(alive);
    auto lease = table.Create(session, std::move(options), nullptr);
    EXPECT_OK(lease);
    return (*lease)->handle;
  }
  // A call that leaves it failed; a FakeSession has no savepoint.
  void Fail(const std::string& handle) {
    ASSERT_OK_AND_ASSIGN(auto lease, Acquire(handle));
    static_cast<FakeSession&>(*lease->session).failed = true;
  }
  Result<TransactionTable::Lease> Acquire(const std::string& handle) { return table.Acquire(handle, "", {}); }

  FakeClock clock;
  HandleCodec codec;
  std::atomic<int> alive{0};
  TransactionTable table;
};

TEST_F(TransactionTableTest, IdleLeaseExpiresAndTheTombstoneSaysWhy) {
  const std::string handle = Create();
  clock.Advance(seconds(29));
  table.Sweep();
  EXPECT_EQ(table.open_count(), 1u);
  clock.Advance(seconds(1));
  table.Sweep();
  EXPECT_EQ(table.open_count(), 0u);
  EXPECT_EQ(alive, 0);
  const auto lost = Acquire(handle);
  EXPECT_SQLSTATE(lost, "25P03");
  EXPECT_THAT(lost.error().message(), HasSubstr("its idle lease of 30000 ms has expired"));
  ASSERT_OK_AND_ASSIGN(const auto known, table.Look(handle, ""));
  EXPECT_EQ(known.ending.phase, wire::Phase::kRolledBack);
}

TEST_F(TransactionTableTest, EveryCallRenewsTheIdleLease) {
  const std::string handle = Create();
  for (int i = 0; i < 4; ++i) {
    clock.Advance(seconds(20));
    EXPECT_OK(Acquire(handle));
    table.Sweep();
  }
  EXPECT_EQ(table.open_count(), 1u);
}

TEST_F(TransactionTableTest, LifetimeEndsEvenABusyTransaction) {
  TransactionTable::CreateOptions options;
  options.lifetime = seconds(10);
  const std::string handle = Create(std::move(options));
  io::CancelToken cancel;
  {
    ASSERT_OK_AND_ASSIGN(const auto lease, table.Acquire(handle, "", {Instant::Max(), &cancel}));
    clock.Advance(seconds(10));
    table.Sweep();
    EXPECT_SQLSTATE(cancel.Check(), "25P04");
    EXPECT_EQ(table.open_count(), 1u) << "it is still in use";
  }
  EXPECT_EQ(table.open_count(), 0u);
  EXPECT_SQLSTATE(Acquire(handle), "25P03");
}

TEST_F(TransactionTableTest, EndIsRemembered) {
  const std::string committed = Create(), rolled_back = Create(), unknown = Create();
  {
    ASSERT_OK_AND_ASSIGN(auto lease, Acquire(committed));
    table.End(lease, {wire::Phase::kCommitted, std::nullopt, Timestamp(9)});
  }
  {
    ASSERT_OK_AND_ASSIGN(auto lease, Acquire(rolled_back));
    table.End(lease, {wire::Phase::kRolledBack, std::nullopt, {}});
  }
  {
    ASSERT_OK_AND_ASSIGN(auto lease, Acquire(unknown));
    table.End(lease, {wire::Phase::kCommitting, Error{"08007", "the sync failed"}, {}});
  }
  EXPECT_SQLSTATE(Acquire(committed), "25P01");
  EXPECT_SQLSTATE(Acquire(rolled_back), "25P03");
  EXPECT_SQLSTATE(Acquire(unknown), "08007");
  ASSERT_OK_AND_ASSIGN(const auto known, table.Look(committed, ""));
  EXPECT_EQ(known.ending.commit_position, Timestamp(9));
}

TEST_F(TransactionTableTest, TombstonesGoAfterTenMinutes) {
  const std::string handle = Create();
  {
    ASSERT_OK_AND_ASSIGN(auto lease, Acquire(handle));
    table.End(lease, {wire::Phase::kRolledBack, std::nullopt, {}});
  }
  clock.Advance(std::chrono::minutes(10) - milliseconds(1));
  table.Sweep();
  EXPECT_OK(table.Look(handle, ""));
  clock.Advance(milliseconds(1));
  table.Sweep();
  EXPECT_SQLSTATE(table.Look(handle, ""), "02000");
  EXPECT_SQLSTATE(Acquire(handle), "25P03");  // never "not found", and never something else's transaction
}

TEST_F(TransactionTableTest, FullTableNamesTheLimit) {
  Create(), Create(), Create();
  std::unique_ptr<db::Session> session = std::make_unique<FakeSession>(alive);
  const auto refused = table.Create(session, {}, nullptr);
  EXPECT_SQLSTATE(refused, "53400");
  EXPECT_EQ(refused.error().limit_name(), "transactions_count");
  EXPECT_NE(session, nullptr);
}

TEST_F(TransactionTableTest, KeyFindsTheOpenTransaction) {
  TransactionTable::CreateOptions options;
  options.idempotency_key = "k", options.fingerprint = "f";
  const std::string handle = Create(std::move(options));
  std::string fingerprint;
  EXPECT_EQ(table.FindByKey("", "k", fingerprint), handle);
  EXPECT_EQ(fingerprint, "f");
  EXPECT_EQ(table.FindByKey("other", "k", fingerprint), "");
  {
    ASSERT_OK_AND_ASSIGN(auto lease, Acquire(handle));
    table.End(lease, {wire::Phase::kCommitted, std::nullopt, {}});
  }
  EXPECT_EQ(table.FindByKey("", "k", fingerprint), "");
}

TEST_F(TransactionTableTest, KilledTransactionsEnd) {
  const std::string idle = Create(), busy = Create();
  io::CancelToken cancel;
  EXPECT_OK(table.Kill(idle, ""));
  {
    ASSERT_OK_AND_ASSIGN(const auto lease, table.Acquire(busy, "", {Instant::Max(), &cancel}));
    EXPECT_OK(table.Kill(busy, ""));
    EXPECT_TRUE(cancel.cancelled());
  }
  EXPECT_EQ(table.open_count(), 0u);
  EXPECT_SQLSTATE(Acquire(busy), "25P03");
}

TEST_F(TransactionTableTest, RollbackAllEndsIdleOnesAndCancelsTheRest) {
  Create();
  const std::string busy = Create();
  io::CancelToken cancel;
  {
    ASSERT_OK_AND_ASSIGN(const auto lease, table.Acquire(busy, "", {Instant::Max(), &cancel}));
    EXPECT_FALSE(table.RollbackAll(Error{"57P01", "stop"}));
    EXPECT_SQLSTATE(cancel.Check(), "57P01");
  }
  EXPECT_TRUE(table.RollbackAll(Error{"57P01", "stop"}));
  EXPECT_EQ(alive, 0);
}

TEST_F(TransactionTableTest, RollbackFailedLeavesThoseThatMayCommit) {
  const std::string good = Create(), failed = Create(), busy = Create();
  Fail(failed);
  ASSERT_OK_AND_ASSIGN(auto lease, Acquire(busy));
  static_cast<FakeSession&>(*lease->session).failed = true;
  table.RollbackFailed(Error{"57P01", "stop"});
  EXPECT_SQLSTATE(Acquire(failed), "25P03");
  EXPECT_OK(Acquire(good));
  EXPECT_EQ(table.open_count(), 2u) << "a call still uses the third";
  lease = {};
  table.RollbackFailed(Error{"57P01", "stop"});
  EXPECT_SQLSTATE(Acquire(busy), "25P03");
  EXPECT_EQ(alive, 1);
}

TEST_F(TransactionTableTest, LookTellsOfAFailedOne) {
  const std::string handle = Create();
  ASSERT_OK_AND_ASSIGN(const auto good, table.Look(handle, ""));
  EXPECT_EQ(good.ending.phase, wire::Phase::kActive);
  Fail(handle);
  ASSERT_OK_AND_ASSIGN(const auto failed, table.Look(handle, ""));
  EXPECT_EQ(failed.ending.phase, wire::Phase::kFailed);
}

// Calls that race on one handle run one after another, in the order of their arrival.
TEST_F(TransactionTableTest, CallsOnOneHandleQueue) {
  ASSERT_OK_AND_ASSIGN(const auto runtime, io::Runtime::Start({.loop_count = 1}));
  const std::string handle = Create();
  std::string order;
  runtime->RunAndWait("test", [&] {
    io::Event first_holds, let_go;
    runtime->loop(0).Spawn({.name = "first"}, [&] {
      auto lease = Acquire(handle);
      EXPECT_OK(lease);
      first_holds.Set();
      let_go.Wait();
      order += '1';
    });
    first_holds.Wait();
    io::Event done[3];
    for (int i = 0; i < 2; ++i) {
      io::Loop* loop = io::CurrentLoop();
      loop->Spawn({.name = "waiter"}, [&, i] {
        const auto lease = Acquire(handle);
        EXPECT_OK(lease);
        order += static_cast<char>('2' + i);
        done[i].Set();
      });
      io::Yield();
      io::Yield();
    }
    EXPECT_SQLSTATE(Acquire(handle), "53400");  // the queue is full
    let_go.Set();
    done[0].Wait();
    done[1].Wait();
  });
  EXPECT_EQ(order, "123");
}

TEST_F(TransactionTableTest, AWaiterMayGiveUp) {
  ASSERT_OK_AND_ASSIGN(const auto runtime, io::Runtime::Start({.loop_count = 1}));
  const std::string handle = Create();
  runtime->RunAndWait("test", [&] {
    ASSERT_OK_AND_ASSIGN(auto lease, Acquire(handle));
    io::CancelToken cancel;
    cancel.Cancel(Error{"57014", "gone"});
    EXPECT_SQLSTATE(table.Acquire(handle, "", {Instant::Max(), &cancel}), "57014");
    lease = {};
    EXPECT_OK(Acquire(handle));
  });
}

}  // namespace
}  // namespace sisal::service
