// ExecuteBatch: a whole transaction as data.
#include <gtest/gtest.h>

#include "server_process.h"

namespace sisal::e2e {
namespace {

class BatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server.Start());
    ASSERT_STATE(Execute(server, "CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL)"), "00000");
    ASSERT_STATE(Execute(server, "INSERT INTO t VALUES (1, 10), (2, 20)"), "00000");
  }
  static v1::Step& Add(v1::ExecuteBatchRequest& request, const std::string& sql) {
    v1::Step& step = *request.add_steps();
    step.mutable_statement()->set_sql(sql);
    return step;
  }
  Answer<v1::ExecuteBatchResponse> Run(const v1::ExecuteBatchRequest& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    Answer<v1::ExecuteBatchResponse> answer;
    answer.status = server.sql().ExecuteBatch(&context, request, &answer.response);
    return answer;
  }
  int64_t Sum() { return FirstInteger(Execute(server, "SELECT sum(n)::int FROM t").response); }
  ServerProcess server;
};

TEST_F(BatchTest, AtomicCommitsAllSteps) {
  v1::ExecuteBatchRequest request;
  Add(request, "UPDATE t SET n = n + 1 RETURNING n");
  Add(request, "SELECT count(*) FROM t");
  const auto answer = Run(request);
  ASSERT_STATE(answer, "00000");
  ASSERT_EQ(answer->results_size(), 2);
  EXPECT_EQ(answer->results(0).ok().rows_affected(), 2u);
  EXPECT_EQ(answer->results(0).ok().chunk().batch().row_count(), 2u);
  EXPECT_EQ(answer->results(1).ok().chunk().batch().columns(0).integers(0), 2);
  EXPECT_EQ(answer->transaction().phase(), v1::TRANSACTION_PHASE_COMMITTED);
  EXPECT_EQ(Sum(), 32);
}

TEST_F(BatchTest, AtomicFailureLeavesNothingAndNamesTheStep) {
  v1::ExecuteBatchRequest request;
  Add(request, "UPDATE t SET n = 0");
  Add(request, "INSERT INTO t VALUES (1, 1)");
  const auto answer = Run(request);
  EXPECT_STATE(answer, "23505");
  EXPECT_EQ(SqlErrorOf(answer.status).step(), 1u);
  EXPECT_EQ(Sum(), 30);
}

TEST_F(BatchTest, ValuesFlowBetweenSteps) {
  v1::ExecuteBatchRequest request;
  Add(request, "SELECT n, id FROM t WHERE id = 2").set_discard_rows(true);
  v1::Step& insert = Add(request, "INSERT INTO t VALUES ($1, $2)");
  insert.mutable_statement()->add_params()->set_integer(3);
  v1::ParamRef& ref = *insert.add_refs();
  ref.set_param(2), ref.set_step(0), ref.set_column(0);
  const auto answer = Run(request);
  ASSERT_STATE(answer, "00000");
  EXPECT_FALSE(answer->results(0).ok().has_header());
  EXPECT_EQ(Sum(), 50);
  request.mutable_steps(0)->mutable_statement()->set_sql("SELECT n, id FROM t WHERE id = 99");
  EXPECT_STATE(Run(request), "P0002");
}

TEST_F(BatchTest, ConditionsChooseSteps) {
  v1::ExecuteBatchRequest request;
  Add(request, "UPDATE t SET n = n + 1 WHERE id = 7");
  Add(request, "INSERT INTO t VALUES (7, 70)").mutable_when()->set_step_empty(0);
  Add(request, "UPDATE t SET n = 0").mutable_when()->mutable_negate()->set_step_empty(0);
  const auto answer = Run(request);
  ASSERT_STATE(answer, "00000");
  EXPECT_TRUE(answer->results(1).has_ok());
  EXPECT_TRUE(answer->results(2).skipped());
  EXPECT_EQ(Sum(), 100);
}

TEST_F(BatchTest, CompareAndSet) {
  v1::ExecuteBatchRequest request;
  v1::Step& step = Add(request, "UPDATE t SET n = 11 WHERE id = 1 AND n = 10");
  step.mutable_expect()->set_min(1), step.mutable_expect()->set_max(1);
  EXPECT_STATE(Run(request), "00000");
  EXPECT_STATE(Run(request), "P0002");
  step.mutable_statement()->set_sql("UPDATE t SET n = n + 1");
  EXPECT_STATE(Run(request), "P0003");
  EXPECT_EQ(Sum(), 31);
}

TEST_F(BatchTest, ContinueTellsEachStep) {
  v1::ExecuteBatchRequest request;
  request.set_mode(v1::BATCH_MODE_CONTINUE);
  Add(request, "SELECT 1/0");
  EXPECT_STATE(Run(request), "22023");  // it needs a transaction
  request.mutable_transaction()->mutable_begin()->set_on_error(v1::ON_ERROR_ROLLBACK_STATEMENT);
  request.mutable_transaction()->set_commit(true);
  Add(request, "UPDATE t SET n = 100 WHERE id = 1");
  v1::Step& expected = Add(request, "UPDATE t SET n = 0");
  expected.mutable_expect()->set_max(1);
  const auto answer = Run(request);
  ASSERT_STATE(answer, "00000");
  EXPECT_EQ(answer->results(0).error().error().sqlstate(), "22012");
  EXPECT_TRUE(answer->results(1).has_ok());
  EXPECT_EQ(answer->results(2).error().error().sqlstate(), "P0003");
  EXPECT_EQ(Sum(), 120);
}

TEST_F(BatchTest, IndependentStepsCommitAlone) {
  v1::ExecuteBatchRequest request;
  request.set_mode(v1::BATCH_MODE_INDEPENDENT);
  Add(request, "UPDATE t SET n = 11 WHERE id = 1");
  Add(request, "INSERT INTO t VALUES (1, 1)");
  Add(request, "INSERT INTO t VALUES (3, 3)");
  const auto answer = Run(request);
  ASSERT_STATE(answer, "00000");
  EXPECT_EQ(answer->results(1).error().error().sqlstate(), "23505");
  EXPECT_EQ(Sum(), 34);
}

TEST_F(BatchTest, InAHandleAFailedBatchLeavesTheEarlierWorkAlone) {
  v1::BeginTransactionRequest begin;
  begin.mutable_transaction()->set_on_error(v1::ON_ERROR_ROLLBACK_STATEMENT);
  const std::string handle = Begin(server, begin)->transaction().handle();
  ASSERT_STATE(ExecuteIn(server, handle, "UPDATE t SET n = 11 WHERE id = 1"), "00000");
  v1::ExecuteBatchRequest request;
  request.mutable_transaction()->set_handle(handle);
  Add(request, "UPDATE t SET n = 0");
  Add(request, "SELECT 1/0");
  const auto failed = Run(request);
  EXPECT_STATE(failed, "22012");
  EXPECT_TRUE(SqlErrorOf(failed.status).transaction_usable());
  request.mutable_steps()->RemoveLast();
  request.mutable_steps(0)->mutable_statement()->set_sql("UPDATE t SET n = 22 WHERE id = 2");
  request.mutable_transaction()->set_commit(true);
  EXPECT_STATE(Run(request), "00000");
  EXPECT_EQ(Sum(), 33);
}

TEST_F(BatchTest, SavepointsAreSteps) {
  v1::ExecuteBatchRequest request;
  request.add_steps()->mutable_savepoint()->set_create("a \"b\"");
  Add(request, "UPDATE t SET n = 0");
  request.add_steps()->mutable_savepoint()->set_rollback_to("a \"b\"");
  EXPECT_STATE(Run(request), "00000");
  EXPECT_EQ(Sum(), 30);
}

TEST_F(BatchTest, KeyMakesARetryHarmless) {
  v1::ExecuteBatchRequest request;
  request.mutable_options()->set_idempotency_key("b1");
  Add(request, "UPDATE t SET n = n + 1 RETURNING n");
  const auto first = Run(request), second = Run(request);
  ASSERT_STATE(second, "00000");
  EXPECT_EQ(first->results(0).SerializeAsString(), second->results(0).SerializeAsString());
  EXPECT_EQ(Sum(), 32);
}

TEST_F(BatchTest, TenThousandStepsAreTaken) {
  v1::ExecuteBatchRequest request;
  for (int i = 10; i < 10'010; ++i) {
    v1::Step& step = Add(request, "INSERT INTO t VALUES ($1, 0)");
    step.mutable_statement()->add_params()->set_integer(i);
  }
  EXPECT_STATE(Run(request), "00000");
  EXPECT_EQ(FirstInteger(Execute(server, "SELECT count(*) FROM t").response), 10'002);
}

TEST_F(BatchTest, StepsMayOnlyLookBack) {
  v1::ExecuteBatchRequest request;
  Add(request, "SELECT 1").mutable_when()->set_step_ok(0);
  EXPECT_STATE(Run(request), "22023");
  request.Clear();
  Add(request, "SELECT $1::int").add_refs()->set_param(1);
  EXPECT_STATE(Run(request), "22023");
  request.Clear();
  request.add_steps()->mutable_call()->set_name("p");
  EXPECT_STATE(Run(request), "0A000");
}

}  // namespace
}  // namespace sisal::e2e
