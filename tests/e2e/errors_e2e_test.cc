// Wrong input of every kind: PostgreSQL's SQLSTATE, a readable message, and a server that lives on.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <gtest/gtest.h>

#include "server_process.h"

namespace sisal::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ErrorsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    server = new ServerProcess;
    ASSERT_TRUE(server->Start());
    ASSERT_STATE(Execute(*server, "CREATE TABLE t (id int PRIMARY KEY, name varchar(5) NOT NULL)"), "00000");
  }
  static void TearDownTestSuite() {
    EXPECT_EQ(server->Stop(), 0);
    delete server;
  }
  // The server lives on after each test.
  void TearDown() override { EXPECT_EQ(FirstInteger(Execute(*server, "SELECT 7").response), 7); }

  grpc::Status Raw(const std::string& method, const std::string& bytes) {
    const grpc::Slice slice(bytes);
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer response;
    grpc::ClientContext context;
    const grpc::internal::RpcMethod rpc(method.c_str(), grpc::internal::RpcMethod::NORMAL_RPC, server->channel());
    return grpc::internal::BlockingUnaryCall(server->channel().get(), rpc, &context, request, &response);
  }
  static ServerProcess* server;
};
ServerProcess* ErrorsTest::server = nullptr;

struct Case {
  const char* sql;
  const char* sqlstate;
  grpc::StatusCode code;
  uint32_t position;  // 0: not checked
};

TEST_F(ErrorsTest, StatementsGetPostgresqlsErrors) {
  const Case cases[] = {
      {"SELEC 1", "42601", grpc::StatusCode::INVALID_ARGUMENT, 1},
      {"SELECT * FROM nowhere", "42P01", grpc::StatusCode::NOT_FOUND, 15},
      {"SELECT nothing FROM t", "42703", grpc::StatusCode::NOT_FOUND, 8},
      {"SELECT id + true FROM t", "42883", grpc::StatusCode::INVALID_ARGUMENT, 11},
      {"SELECT 'abc'::int", "22P02", grpc::StatusCode::INVALID_ARGUMENT, 0},
      {"SELECT 2147483647 + 1", "22003", grpc::StatusCode::OUT_OF_RANGE, 0},
      {"SELECT 1/0", "22012", grpc::StatusCode::INVALID_ARGUMENT, 0},
      {"SELECT 99999::smallint", "22003", grpc::StatusCode::OUT_OF_RANGE, 0},
      {"INSERT INTO t VALUES (1, NULL)", "23502", grpc::StatusCode::FAILED_PRECONDITION, 0},
      {"INSERT INTO t VALUES (1, 'too long')", "22001", grpc::StatusCode::INVALID_ARGUMENT, 0},
      {"INSERT INTO t VALUES (1, 'a'), (1, 'b')", "23505", grpc::StatusCode::ALREADY_EXISTS, 0},
      {"CREATE TABLE t (id int)", "42P07", grpc::StatusCode::INVALID_ARGUMENT, 0},
      {"DROP TABLE nowhere", "42P01", grpc::StatusCode::NOT_FOUND, 0},
      {"SELECT no_such_function(1)", "42883", grpc::StatusCode::INVALID_ARGUMENT, 8},
      {"SELECT 1; SELECT 2", "42601", grpc::StatusCode::INVALID_ARGUMENT, 0},
      {"LISTEN x", "0A000", grpc::StatusCode::UNIMPLEMENTED, 0},
  };
  for (const Case& c : cases) {
    const auto answer = Execute(*server, c.sql);
    EXPECT_EQ(SqlState(answer), c.sqlstate) << c.sql << ": " << answer.status.error_message();
    EXPECT_EQ(answer.status.error_code(), c.code) << c.sql;
    EXPECT_FALSE(answer.status.error_message().empty()) << c.sql;
    EXPECT_EQ(ErrorInfoOf(answer.status).domain(), "sisal.v1") << c.sql;
    if (c.position == 0) continue;
    EXPECT_EQ(SqlErrorOf(answer.status).position(), c.position) << c.sql;
  }
}

TEST_F(ErrorsTest, ConstraintFieldsAreNamed) {
  ASSERT_STATE(Execute(*server, "INSERT INTO t VALUES (9, 'a')"), "00000");
  const v1::SqlError error = SqlErrorOf(Execute(*server, "INSERT INTO t VALUES (9, 'b')").status);
  EXPECT_EQ(error.table(), "t");
  EXPECT_EQ(error.constraint(), "t_pkey");
  EXPECT_THAT(error.detail(), HasSubstr("(id)=(9)"));
}

TEST_F(ErrorsTest, ParameterErrors) {
  v1::ExecuteRequest request = Request("SELECT $1::int");
  const auto missing = Execute(*server, request);
  EXPECT_STATE(missing, "08P01");
  EXPECT_THAT(missing.status.error_message(), HasSubstr("supplies 0 parameters"));
  request.mutable_statement()->add_params()->set_text("abc");
  EXPECT_STATE(Execute(*server, request), "22P02");
  request.mutable_statement()->mutable_params(0)->set_integer(int64_t{1} << 40);
  EXPECT_STATE(Execute(*server, request), "22003");
  request.mutable_statement()->mutable_params(0)->set_boolean(true);
  EXPECT_STATE(Execute(*server, request), "42804");
  request.mutable_statement()->mutable_params(0)->clear_kind();
  EXPECT_STATE(Execute(*server, request), "08P01");
  request.mutable_statement()->mutable_params(0)->set_text(std::string("a\0b", 3));
  request.mutable_statement()->set_sql("SELECT $1::text");
  EXPECT_STATE(Execute(*server, request), "22021");
}

TEST_F(ErrorsTest, DeepNestingIsRefusedOrAnswered) {
  std::string sum = "SELECT 1";
  for (int i = 1; i < 100'000; ++i) sum += "+1";
  const std::string state = SqlState(Execute(*server, sum));
  EXPECT_TRUE(state == "54001" || state == "00000") << state;
  const std::string parens = "SELECT " + std::string(100'000, '(') + "1" + std::string(100'000, ')');
  EXPECT_STATE(Execute(*server, parens), "54001");
  std::string nots = "SELECT ";
  for (int i = 0; i < 100'000; ++i) nots += "NOT ";
  const std::string nots_state = SqlState(Execute(*server, nots + "true"));
  EXPECT_TRUE(nots_state == "54001" || nots_state == "00000") << nots_state;
}

TEST_F(ErrorsTest, ErrorOfALongTextArrivesWithoutTheText) {
  std::string sql = "SELECT nothing, '";
  sql += std::string(100 << 10, 'x') + "' FROM t";
  const auto answer = Execute(*server, sql);
  EXPECT_STATE(answer, "42703");
  EXPECT_THAT(answer.status.error_message(), Not(HasSubstr("xxxx")));
  EXPECT_LT(answer.status.error_details().size(), 4096u);
}

TEST_F(ErrorsTest, HugeStatementIsRefusedByTheTransport) {
  const auto answer = Execute(*server, "SELECT '" + std::string(100 << 20, 'x') + "'");
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(ErrorsTest, MalformedMessagesAndBadTextAreTold) {
  const char* execute = "/sisal.v1.SqlService/Execute";
  const grpc::Status malformed = Raw(execute, "\xFF\xFF\xFF");
  EXPECT_STATE(malformed, "08P01");
  EXPECT_EQ(malformed.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  std::string bytes = Request("SELECT 'xx'").SerializeAsString();
  bytes[bytes.find("xx")] = '\xE4';
  const grpc::Status bad_text = Raw(execute, bytes);
  EXPECT_STATE(bad_text, "22021");
  EXPECT_THAT(bad_text.error_message(), HasSubstr("invalid byte sequence for encoding \"UTF8\": 0xe4"));
  EXPECT_STATE(Execute(*server, std::string("SELECT 1\0", 9)), "22021");
  EXPECT_STATE(Raw(execute, ""), "08P01");  // no statement
}

TEST_F(ErrorsTest, FieldsThatAreNotBuiltAreNamed) {
  v1::ExecuteRequest request = Request("SELECT 1");
  request.mutable_options()->set_priority(v1::PRIORITY_HIGH);
  const auto priority = Execute(*server, request);
  EXPECT_STATE(priority, "0A000");
  EXPECT_THAT(priority.status.error_message(), HasSubstr("CallOptions.priority"));
}

TEST_F(ErrorsTest, MethodsThatAreNotBuiltAreNamed) {
  for (const char* name :
       {"sisal.v1.SqlService/Call", "sisal.v1.AdminService/Checkpoint", "sisal.v1.AdminService/ListSessions"}) {
    const grpc::Status status = Raw(std::string("/") + name, "");
    EXPECT_STATE(status, "0A000");
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
    std::string dotted = name;
    dotted[dotted.find('/')] = '.';
    EXPECT_THAT(status.error_message(), HasSubstr(dotted));
  }
  grpc::ClientContext context;
  const auto lanes = server->sql().Session(&context);
  EXPECT_STATE(lanes->Finish(), "0A000");
  grpc::ClientContext ingest_context;
  v1::IngestResponse response;
  const auto ingest = server->sql().Ingest(&ingest_context, &response);
  EXPECT_STATE(ingest->Finish(), "0A000");
}

}  // namespace
}  // namespace sisal::e2e
