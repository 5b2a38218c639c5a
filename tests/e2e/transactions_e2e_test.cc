// Transactions over gRPC: handles, leases, idempotency keys, restarts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "server_process.h"

namespace sisal::e2e {
namespace {

using ::testing::HasSubstr;

class TransactionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server.Start({"--blocking-timeout-ms", "300"}));
    ASSERT_STATE(Execute(server, "CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL DEFAULT 0)"), "00000");
  }
  int64_t Count() { return FirstInteger(Execute(server, "SELECT count(*) FROM t").response); }
  std::string BeginHandle() { return Begin(server).response.transaction().handle(); }
  ServerProcess server;
};

TEST_F(TransactionsTest, CommitMakesWritesVisible) {
  const auto begun = Begin(server);
  ASSERT_STATE(begun, "00000");
  const std::string handle = begun->transaction().handle();
  EXPECT_LE(handle.size(), 64u);
  EXPECT_EQ(begun->transaction().phase(), v1::TRANSACTION_PHASE_ACTIVE);
  EXPECT_GT(begun->transaction().expires_in_ms(), 29'000u);
  EXPECT_STATE(ExecuteIn(server, handle, "INSERT INTO t VALUES (1)"), "00000");
  EXPECT_EQ(Count(), 0);
  const auto committed = Commit(server, handle);
  ASSERT_STATE(committed, "00000");
  EXPECT_EQ(committed->transaction().phase(), v1::TRANSACTION_PHASE_COMMITTED);
  EXPECT_EQ(committed->transaction().commit_position().size(), 8u);
  EXPECT_EQ(Count(), 1);
}

TEST_F(TransactionsTest, RollbackUndoesAndStaysKnown) {
  const std::string handle = BeginHandle();
  EXPECT_STATE(ExecuteIn(server, handle, "INSERT INTO t VALUES (1)"), "00000");
  EXPECT_STATE(Rollback(server, handle), "00000");
  EXPECT_STATE(Rollback(server, handle), "00000");  // asked again after a lost answer
  EXPECT_EQ(Count(), 0);
  const auto after = ExecuteIn(server, handle, "INSERT INTO t VALUES (2)");
  EXPECT_STATE(after, "25P03");
  EXPECT_EQ(after.status.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_TRUE(HasRetryInfo(after.status));
  EXPECT_EQ(Count(), 0);
  const auto known = GetByHandle(server, handle);
  EXPECT_EQ(known->transaction().phase(), v1::TRANSACTION_PHASE_ROLLED_BACK);
}

TEST_F(TransactionsTest, CommitAskedAgainAnswersTheSame) {
  const std::string handle = BeginHandle();
  EXPECT_STATE(ExecuteIn(server, handle, "INSERT INTO t VALUES (1)"), "00000");
  const auto first = Commit(server, handle), second = Commit(server, handle);
  ASSERT_STATE(second, "00000");
  EXPECT_EQ(first->transaction().commit_position(), second->transaction().commit_position());
  EXPECT_STATE(ExecuteIn(server, handle, "SELECT 1"), "25P01");
  EXPECT_EQ(GetByHandle(server, handle)->transaction().phase(), v1::TRANSACTION_PHASE_COMMITTED);
}

TEST_F(TransactionsTest, SqlBeginGivesAHandleAndSqlCommitEndsIt) {
  const auto begun = Execute(server, "BEGIN");
  ASSERT_STATE(begun, "00000");
  const std::string handle = begun->trailer().transaction().handle();
  ASSERT_FALSE(handle.empty());
  EXPECT_EQ(begun->trailer().command(), "BEGIN");
  EXPECT_STATE(ExecuteIn(server, handle, "INSERT INTO t VALUES (1)"), "00000");
  const auto committed = ExecuteIn(server, handle, "COMMIT");
  ASSERT_STATE(committed, "00000");
  EXPECT_EQ(committed->trailer().command(), "COMMIT");
  EXPECT_EQ(committed->trailer().transaction().phase(), v1::TRANSACTION_PHASE_COMMITTED);
  EXPECT_EQ(Count(), 1);
}

TEST_F(TransactionsTest, BeginAndCommitInline) {
  v1::ExecuteRequest request = Request("INSERT INTO t VALUES (1)");
  request.mutable_transaction()->mutable_begin();
  const auto first = Execute(server, request);
  ASSERT_STATE(first, "00000");
  const std::string handle = first->trailer().transaction().handle();
  ASSERT_FALSE(handle.empty());
  request = Request("INSERT INTO t VALUES (2)");
  request.mutable_transaction()->set_handle(handle);
  request.mutable_transaction()->set_commit(true);
  const auto second = Execute(server, request);
  ASSERT_STATE(second, "00000");
  EXPECT_EQ(second->trailer().transaction().phase(), v1::TRANSACTION_PHASE_COMMITTED);
  EXPECT_EQ(Count(), 2);
}

TEST_F(TransactionsTest, FailedInlineBeginLeavesNothing) {
  v1::ExecuteRequest request = Request("INSERT INTO nowhere VALUES (1)");
  request.mutable_transaction()->mutable_begin();
  EXPECT_STATE(Execute(server, request), "42P01");
  grpc::ClientContext context;
  v1::ListTransactionsResponse list;
  ASSERT_TRUE(server.admin().ListTransactions(&context, {}, &list).ok());
  EXPECT_EQ(list.transactions_size(), 0);
}

TEST_F(TransactionsTest, FailedStatementAbortsTheTransaction) {
  const std::string handle = BeginHandle();
  const auto failed = ExecuteIn(server, handle, "SELECT 1/0");
  EXPECT_STATE(failed, "22012");
  EXPECT_FALSE(SqlErrorOf(failed.status).transaction_usable());
  EXPECT_STATE(ExecuteIn(server, handle, "SELECT 1"), "25P02");
  EXPECT_STATE(Commit(server, handle), "25P02");
  EXPECT_STATE(ExecuteIn(server, handle, "SELECT 1"), "25P03");
}

TEST_F(TransactionsTest, SqlCommitOfAFailedTransactionAnswersRollback) {
  const std::string handle = BeginHandle();
  EXPECT_STATE(ExecuteIn(server, handle, "SELECT 1/0"), "22012");
  const auto ended = ExecuteIn(server, handle, "COMMIT");
  ASSERT_STATE(ended, "00000");
  EXPECT_EQ(ended->trailer().command(), "ROLLBACK");
  EXPECT_EQ(ended->trailer().transaction().phase(), v1::TRANSACTION_PHASE_ROLLED_BACK);
}

TEST_F(TransactionsTest, StatementRollbackKeepsTheTransaction) {
  v1::BeginTransactionRequest request;
  request.mutable_transaction()->set_on_error(v1::ON_ERROR_ROLLBACK_STATEMENT);
  const std::string handle = Begin(server, request)->transaction().handle();
  EXPECT_STATE(ExecuteIn(server, handle, "INSERT INTO t VALUES (1)"), "00000");
  const auto failed = ExecuteIn(server, handle, "INSERT INTO t VALUES (2), (1)");
  EXPECT_STATE(failed, "23505");
  EXPECT_TRUE(SqlErrorOf(failed.status).transaction_usable());
  EXPECT_STATE(Commit(server, handle), "00000");
  EXPECT_EQ(Count(), 1);
}

TEST_F(TransactionsTest, ExpiredHandleSaysSoAndNothingCommitsAlone) {
  v1::BeginTransactionRequest request;
  request.mutable_transaction()->mutable_idle_timeout()->set_seconds(1);
  const auto begun = Begin(server, request);
  const std::string handle = begun->transaction().handle();
  EXPECT_LE(begun->transaction().expires_in_ms(), 1000u);
  EXPECT_STATE(ExecuteIn(server, handle, "INSERT INTO t VALUES (1)"), "00000");
  while (GetByHandle(server, handle)->transaction().phase() == v1::TRANSACTION_PHASE_ACTIVE) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const auto expired = ExecuteIn(server, handle, "INSERT INTO t VALUES (2)");
  EXPECT_STATE(expired, "25P03");
  EXPECT_THAT(expired.status.error_message(), HasSubstr("idle lease"));
  EXPECT_EQ(Count(), 0);
  EXPECT_EQ(GetByHandle(server, handle)->cause().error().sqlstate(), "25P03");
}

TEST_F(TransactionsTest, IdleTransactionThatBlocksOthersIsRolledBack) {
  const std::string handle = BeginHandle();
  EXPECT_STATE(Execute(server, "INSERT INTO t VALUES (1, 0)"), "00000");
  EXPECT_STATE(ExecuteIn(server, handle, "UPDATE t SET n = 1 WHERE id = 1"), "00000");
  EXPECT_STATE(Execute(server, "UPDATE t SET n = 2 WHERE id = 1"), "00000");  // waits for the rule
  const auto lost = Commit(server, handle);
  EXPECT_STATE(lost, "25P03");
  EXPECT_THAT(lost.status.error_message(), HasSubstr("while others waited"));
}

TEST_F(TransactionsTest, ForgedHandlesAreRefused) {
  std::string handle = BeginHandle();
  handle[10] ^= 1;
  EXPECT_STATE(ExecuteIn(server, handle, "SELECT 1"), "22023");
  EXPECT_STATE(ExecuteIn(server, "x", "SELECT 1"), "22023");
  EXPECT_STATE(Commit(server, ""), "22023");
}

TEST_F(TransactionsTest, CallsOnOneHandleQueue) {
  const std::string handle = BeginHandle();
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&, i] {
      if (ExecuteIn(server, handle, "INSERT INTO t VALUES (" + std::to_string(i) + ")").ok()) ++good;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 16);
  EXPECT_STATE(Commit(server, handle), "00000");
  EXPECT_EQ(Count(), 16);
}

v1::ExecuteRequest Keyed(const std::string& sql, const std::string& key) {
  v1::ExecuteRequest request = Request(sql);
  request.mutable_options()->set_idempotency_key(key);
  return request;
}

TEST_F(TransactionsTest, KeyMakesARetryHarmless) {
  const auto request = Keyed("INSERT INTO t VALUES (1, 5) RETURNING id, n", "k1");
  const auto first = Execute(server, request), second = Execute(server, request);
  ASSERT_STATE(second, "00000");
  EXPECT_EQ(Count(), 1);
  EXPECT_EQ(first->header().SerializeAsString(), second->header().SerializeAsString());
  EXPECT_EQ(first->chunk().SerializeAsString(), second->chunk().SerializeAsString());
  EXPECT_EQ(second->trailer().rows_affected(), 1u);
  EXPECT_EQ(second->trailer().command(), "INSERT");
  EXPECT_GE(second->trailer().transaction().commit_position(), first->trailer().transaction().commit_position());
  const auto known = GetByKey(server, "k1");
  ASSERT_STATE(known, "00000");
  EXPECT_EQ(known->transaction().phase(), v1::TRANSACTION_PHASE_COMMITTED);
  EXPECT_EQ(known->rows_affected(), 1u);
}

TEST_F(TransactionsTest, KeySurvivesAKill) {
  const auto request = Keyed("INSERT INTO t VALUES (1, 5) RETURNING n", "k1");
  ASSERT_STATE(Execute(server, request), "00000");
  server.Kill();
  ASSERT_TRUE(server.Start());
  const auto again = Execute(server, request);
  ASSERT_STATE(again, "00000");
  EXPECT_EQ(FirstInteger(again.response), 5);
  EXPECT_EQ(Count(), 1);
}

TEST_F(TransactionsTest, KeyOfAnotherRequestIsRefused) {
  ASSERT_STATE(Execute(server, Keyed("INSERT INTO t VALUES (1)", "k1")), "00000");
  const auto reused = Execute(server, Keyed("INSERT INTO t VALUES (2)", "k1"));
  EXPECT_STATE(reused, "22023");
  EXPECT_EQ(ErrorInfoOf(reused.status).reason(), "IDEMPOTENCY_KEY_REUSED");
}

TEST_F(TransactionsTest, FailureIsNotStored) {
  EXPECT_STATE(Execute(server, Keyed("INSERT INTO t VALUES (1/0)", "k1")), "22012");
  EXPECT_STATE(GetByKey(server, "k1"), "02000");
  EXPECT_STATE(Execute(server, Keyed("INSERT INTO t VALUES (1)", "k1")), "00000");
}

TEST_F(TransactionsTest, TwinsHaveOneEffect) {
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      if (Execute(server, Keyed("INSERT INTO t VALUES (1)", "k1")).ok()) ++good;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 8);
  EXPECT_EQ(Count(), 1);
}

TEST_F(TransactionsTest, RetriedBeginGetsTheLiveHandleAndThenTheOutcome) {
  v1::BeginTransactionRequest request;
  request.mutable_options()->set_idempotency_key("k1");
  const std::string handle = Begin(server, request)->transaction().handle();
  EXPECT_EQ(Begin(server, request)->transaction().handle(), handle);
  EXPECT_EQ(GetByKey(server, "k1")->transaction().phase(), v1::TRANSACTION_PHASE_ACTIVE);
  EXPECT_STATE(ExecuteIn(server, handle, "INSERT INTO t VALUES (1)"), "00000");
  ASSERT_STATE(Commit(server, handle), "00000");
  const auto after = Begin(server, request);
  ASSERT_STATE(after, "00000");
  EXPECT_EQ(after->transaction().phase(), v1::TRANSACTION_PHASE_COMMITTED);
  server.Kill();
  ASSERT_TRUE(server.Start());
  EXPECT_EQ(GetByKey(server, "k1")->transaction().phase(), v1::TRANSACTION_PHASE_COMMITTED);
  EXPECT_STATE(ExecuteIn(server, handle, "SELECT 1"), "08007");
}

TEST_F(TransactionsTest, HandleOfAnEarlierStartIsUnknown) {
  const std::string handle = BeginHandle();
  server.Kill();  // a stop in order would wait for the open transaction
  ASSERT_TRUE(server.Start());
  const auto lost = ExecuteIn(server, handle, "SELECT 1");
  EXPECT_STATE(lost, "08007");
  EXPECT_EQ(lost.status.error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_TRUE(SqlErrorOf(lost.status).outcome_unknown());
}

TEST_F(TransactionsTest, ConflictIsAborted) {
  ASSERT_STATE(Execute(server, "INSERT INTO t VALUES (1, 0)"), "00000");
  const std::string handle = BeginHandle();
  ASSERT_STATE(ExecuteIn(server, handle, "SELECT n FROM t"), "00000");
  ASSERT_STATE(Execute(server, "UPDATE t SET n = 1"), "00000");
  const auto conflict = ExecuteIn(server, handle, "UPDATE t SET n = 2");
  EXPECT_STATE(conflict, "40001");
  EXPECT_EQ(conflict.status.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_TRUE(HasRetryInfo(conflict.status));
}

TEST_F(TransactionsTest, SingleUseWritesRetryConflictsThemselves) {
  ASSERT_STATE(Execute(server, "INSERT INTO t VALUES (1, 0)"), "00000");
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 20; ++k) {
        v1::ExecuteRequest request = Request("UPDATE t SET n = n + 1 WHERE id = 1");
        if (k % 2 == 0) {
          request.mutable_transaction()->mutable_single_use()->set_isolation(v1::ISOLATION_LEVEL_SNAPSHOT);
        }
        if (Execute(server, request).ok()) ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 160);
  EXPECT_EQ(FirstInteger(Execute(server, "SELECT n FROM t").response), 160);
}

TEST_F(TransactionsTest, ParamRowsRunInOneTransaction) {
  v1::ExecuteRequest request = Request("INSERT INTO t VALUES ($1, $2)");
  v1::ColumnBatch& rows = *request.mutable_statement()->mutable_param_rows();
  rows.set_row_count(1000);
  v1::Column& ids = *rows.add_columns();
  v1::Column& numbers = *rows.add_columns();
  for (int i = 0; i < 1000; ++i) ids.add_integers(i), numbers.add_texts(std::to_string(i));
  const auto inserted = Execute(server, request);
  ASSERT_STATE(inserted, "00000");
  EXPECT_EQ(inserted->trailer().rows_affected(), 1000u);
  EXPECT_EQ(Count(), 1000);
  EXPECT_STATE(Execute(server, request), "23505");
  ids.set_integers(0, 5000);  // the rows after it are duplicates: nothing of this call stays
  EXPECT_STATE(Execute(server, request), "23505");
  EXPECT_EQ(Count(), 1000);
}

TEST_F(TransactionsTest, ReadOnlyTransactionsRefuseWrites) {
  v1::ExecuteRequest request = Request("INSERT INTO t VALUES (1)");
  request.mutable_transaction()->mutable_single_use()->set_read_only(true);
  const auto refused = Execute(server, request);
  EXPECT_STATE(refused, "25006");
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(TransactionsTest, SerializableTransactionsFailAtCommit) {
  ASSERT_STATE(Execute(server, "INSERT INTO t VALUES (1), (2)"), "00000");
  v1::BeginTransactionRequest request;
  request.mutable_transaction()->set_isolation(v1::ISOLATION_LEVEL_SERIALIZABLE);
  const std::string first = Begin(server, request)->transaction().handle();
  const std::string second = Begin(server, request)->transaction().handle();
  for (const std::string& handle : {first, second}) {
    EXPECT_EQ(FirstInteger(ExecuteIn(server, handle, "SELECT count(*) FROM t").response), 2);
  }
  ASSERT_STATE(ExecuteIn(server, first, "DELETE FROM t WHERE id = 1"), "00000");
  ASSERT_STATE(ExecuteIn(server, second, "DELETE FROM t WHERE id = 2"), "00000");
  EXPECT_STATE(Commit(server, first), "00000");
  const auto failed = Commit(server, second);
  EXPECT_STATE(failed, "40001");
  EXPECT_EQ(failed.status.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_TRUE(HasRetryInfo(failed.status));
  EXPECT_EQ(GetByHandle(server, second)->transaction().phase(), v1::TRANSACTION_PHASE_ROLLED_BACK);
}

TEST_F(TransactionsTest, OptionsThatAreNotBuiltAreRefusedByName) {
  v1::BeginTransactionRequest request;
  request.mutable_transaction()->mutable_read_bound()->set_min_position("x");
  const auto refused = Begin(server, request);
  EXPECT_STATE(refused, "0A000");
  EXPECT_THAT(refused.status.error_message(), HasSubstr("TransactionOptions.read_bound"));
  request.mutable_transaction()->Clear();
  request.mutable_transaction()->mutable_idle_timeout()->set_seconds(0);
  EXPECT_STATE(Begin(server, request), "22023");
  EXPECT_STATE(Execute(server, "SET search_path = public"), "0A000");
}

TEST_F(TransactionsTest, KilledTransactionEnds) {
  const std::string handle = BeginHandle();
  grpc::ClientContext context;
  v1::KillTransactionRequest request;
  request.set_handle(handle);
  v1::KillTransactionResponse response;
  ASSERT_TRUE(server.admin().KillTransaction(&context, request, &response).ok());
  EXPECT_STATE(ExecuteIn(server, handle, "SELECT 1"), "25P03");
}

}  // namespace
}  // namespace sisal::e2e
