// The process: probes, metrics, health, restarts, shutdown.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "grpc/health/v1/health.pb.h"
#include "server_process.h"

namespace sisal::e2e {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using ::testing::HasSubstr;

grpc::Status Check(ServerProcess& server, const std::string& service, HealthCheckResponse& response) {
  grpc::ClientContext context;
  HealthCheckRequest request;
  request.set_service(service);
  const grpc::internal::RpcMethod rpc("/grpc.health.v1.Health/Check", grpc::internal::RpcMethod::NORMAL_RPC,
                                      server.channel());
  return grpc::internal::BlockingUnaryCall(server.channel().get(), rpc, &context, request, &response);
}

// Returns when the server has begun to drain.
void AwaitDrain(ServerProcess& server) {
  HealthCheckResponse response;
  do {
    ASSERT_TRUE(Check(server, "sisal.v1.SqlService", response).ok());
  } while (response.status() == HealthCheckResponse::SERVING);
}

TEST(ProcessTest, ProbesMetricsAndHealth) {
  ServerProcess server;
  ASSERT_TRUE(server.Start());
  for (const char* path : {"/livez", "/readyz", "/startupz"}) {
    int status = 0;
    server.HttpGet(path, &status);
    EXPECT_EQ(status, 200) << path;
  }
  ASSERT_STATE(Execute(server, "SELECT 1"), "00000");
  EXPECT_STATE(Execute(server, "SELECT 1/0"), "22012");
  const std::string metrics = server.HttpGet("/metrics");
  for (const char* part :
       {"sisal_build_info{", "sisal_io_backend_info{", "sisal_loop_switches_total{", "sisal_wal_syncs_total",
        "sisal_txn_commits_total", "sisal_rpc_calls_total{method=\"sisal.v1.SqlService/Execute\",code=\"0\"} 1",
        "sisal_rpc_calls_total{method=\"sisal.v1.SqlService/Execute\",code=\"3\"} 1"}) {
    EXPECT_THAT(metrics, HasSubstr(part));
  }
  HealthCheckResponse response;
  EXPECT_TRUE(Check(server, "", response).ok());
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  EXPECT_TRUE(Check(server, "sisal.v1.SqlService", response).ok());
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  EXPECT_EQ(Check(server, "nonsense", response).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(server.Log(), HasSubstr("io backend"));
}

TEST(ProcessTest, ServerInfoListsLimits) {
  ServerProcess server;
  ASSERT_TRUE(server.Start({"--transactions-count", "5"}));
  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(server.sql().GetServerInfo(&context, {}, &info).ok());
  EXPECT_EQ(info.limits().at("request_bytes"), 16u << 20);
  EXPECT_EQ(info.limits().at("transactions_count"), 5u);
  EXPECT_EQ(info.idempotency_window().seconds(), 86'400);
  EXPECT_EQ(info.server_id().size(), 36u);
  for (int i = 0; i < 5; ++i) EXPECT_STATE(Begin(server), "00000");
  const auto refused = Begin(server);
  EXPECT_STATE(refused, "53400");
  EXPECT_TRUE(HasRetryInfo(refused.status));
  grpc::ClientContext settings_context;
  v1::ListSettingsResponse settings;
  ASSERT_TRUE(server.admin().ListSettings(&settings_context, {}, &settings).ok());
  EXPECT_GT(settings.settings_size(), 20);
  grpc::ClientContext status_context;
  v1::GetServerStatusResponse status;
  ASSERT_TRUE(server.admin().GetServerStatus(&status_context, {}, &status).ok());
  EXPECT_EQ(status.state(), v1::SERVER_STATE_OPEN);
}

TEST(ProcessTest, ASecondProcessOnTheDirectoryIsRefused) {
  ServerProcess server;
  ASSERT_TRUE(server.Start());
  const std::string command = std::string(SISALD_PATH) + " --listen 127.0.0.1:0 --http-listen 127.0.0.1:0 --data-dir " +
                              server.directory() + "/data > " + server.directory() + "/second 2>&1";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 3);
  std::ifstream file(server.directory() + "/second");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_THAT(text, HasSubstr("55006"));
  EXPECT_STATE(Execute(server, "SELECT 1"), "00000");
}

TEST(ProcessTest, AFolderOfOthersIsNotTakenForAStore) {
  ServerProcess server;
  const std::string data = server.directory() + "/data";
  std::filesystem::create_directories(data + "/lost+found");  // as on a volume of its own
  ASSERT_TRUE(server.Start());
  EXPECT_THAT(server.Log(), HasSubstr("is open: new"));
  EXPECT_EQ(server.Stop(), 0);
  std::filesystem::remove(data + "/LOCK");  // as in a copy of the log alone
  std::filesystem::remove(data + "/sisald.identity");
  ASSERT_TRUE(server.Start());
  EXPECT_EQ(server.Stop(), 0);
  std::filesystem::remove_all(data);
  std::filesystem::create_directories(data);
  std::ofstream(data + "/thesis.txt") << "of somebody";
  EXPECT_FALSE(server.Start());
  EXPECT_THAT(server.Log(), HasSubstr("is not empty and holds no store"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(data), {}), 1);
}

TEST(ProcessTest, AcknowledgedCommitsSurviveAKill) {
  ServerProcess server;
  ASSERT_TRUE(server.Start());
  ASSERT_STATE(Execute(server, "CREATE TABLE t (id int PRIMARY KEY)"), "00000");
  for (int i = 0; i < 50; ++i) {
    ASSERT_STATE(Execute(server, "INSERT INTO t VALUES (" + std::to_string(i) + ")"), "00000");
  }
  server.Kill();
  ASSERT_TRUE(server.Start());
  EXPECT_EQ(FirstInteger(Execute(server, "SELECT count(*) FROM t").response), 50);
  EXPECT_THAT(server.Log(), HasSubstr("recovered"));
}

TEST(ProcessTest, TermDrainsAndMarksTheShutdown) {
  ServerProcess server;
  ASSERT_TRUE(server.Start());
  ASSERT_STATE(Execute(server, "CREATE TABLE t (id int PRIMARY KEY)"), "00000");
  const std::string handle = Begin(server)->transaction().handle();
  ASSERT_STATE(ExecuteIn(server, handle, "INSERT INTO t VALUES (1)"), "00000");
  server.Signal(SIGTERM);
  AwaitDrain(server);
  grpc::Status refused;
  do {
    refused = Begin(server).status;
  } while (refused.ok());
  EXPECT_STATE(refused, "57P01");
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(HasRetryInfo(refused));
  int status = 0;
  server.HttpGet("/readyz", &status);
  EXPECT_EQ(status, 503);
  server.HttpGet("/livez", &status);
  EXPECT_EQ(status, 200);
  EXPECT_STATE(Commit(server, handle), "00000");  // what has begun may finish
  EXPECT_EQ(server.Wait(), 0);
  ASSERT_TRUE(server.Start());
  EXPECT_EQ(FirstInteger(Execute(server, "SELECT count(*) FROM t").response), 1);
  EXPECT_THAT(server.Log(), HasSubstr("the last shutdown was in order"));
}

TEST(ProcessTest, DrainEndsTransactionsThatDoNotFinish) {
  ServerProcess server;
  ASSERT_TRUE(server.Start({"--drain-ms", "200"}));
  ASSERT_STATE(Begin(server), "00000");
  EXPECT_EQ(server.Stop(), 0);
}

TEST(ProcessTest, DrainDoesNotWaitForFailedTransactions) {
  ServerProcess server;
  ASSERT_TRUE(server.Start());
  ASSERT_STATE(Execute(server, "CREATE TABLE t (id int PRIMARY KEY)"), "00000");
  const std::string good = Begin(server)->transaction().handle();
  const std::string saved = Begin(server)->transaction().handle();
  const std::string failed = Begin(server)->transaction().handle();
  ASSERT_STATE(ExecuteIn(server, good, "INSERT INTO t VALUES (1)"), "00000");
  ASSERT_STATE(ExecuteIn(server, saved, "INSERT INTO t VALUES (2)"), "00000");
  ASSERT_STATE(ExecuteIn(server, saved, "SAVEPOINT s"), "00000");
  ASSERT_STATE(ExecuteIn(server, saved, "SELECT 1/0"), "22012");
  ASSERT_STATE(ExecuteIn(server, failed, "SELECT 1/0"), "22012");
  EXPECT_EQ(GetByHandle(server, failed)->transaction().phase(), v1::TRANSACTION_PHASE_FAILED);
  server.Signal(SIGTERM);
  // Without an end of its own this one would be open until the grace is over, and the server gone then.
  Answer<v1::GetTransactionResponse> known;
  do {
    known = GetByHandle(server, failed);
    ASSERT_STATE(known, "00000");
  } while (known->transaction().phase() != v1::TRANSACTION_PHASE_ROLLED_BACK);
  EXPECT_EQ(known->cause().error().sqlstate(), "57P01");
  EXPECT_STATE(ExecuteIn(server, failed, "SELECT 1"), "25P03");
  EXPECT_STATE(Commit(server, failed), "25P03");
  EXPECT_STATE(Rollback(server, failed), "00000");
  // One that fails only now goes as well; what may still commit does.
  EXPECT_STATE(ExecuteIn(server, saved, "ROLLBACK TO SAVEPOINT s"), "00000");
  EXPECT_STATE(Commit(server, saved), "00000");
  EXPECT_STATE(ExecuteIn(server, good, "SELECT 1/0"), "22012");
  EXPECT_EQ(server.Wait(), 0);
  ASSERT_TRUE(server.Start());
  EXPECT_EQ(FirstInteger(Execute(server, "SELECT id FROM t").response), 2);
}

TEST(ProcessTest, ASecondSignalEndsTheGrace) {
  ServerProcess server;
  ASSERT_TRUE(server.Start({"--drain-ms", "600000"}));
  ASSERT_STATE(Begin(server), "00000");
  server.Signal(SIGTERM);
  AwaitDrain(server);
  server.Signal(SIGINT);
  EXPECT_EQ(server.Wait(), 0);
  EXPECT_THAT(server.Log(), HasSubstr("stopping at once"));
  ASSERT_TRUE(server.Start());
  EXPECT_THAT(server.Log(), HasSubstr("the last shutdown was in order"));
}

// A statement that would run for hours.
class EndlessStatement {
 public:
  explicit EndlessStatement(ServerProcess& server) {
    thread_ = std::thread([this, &server] {
      grpc::ClientContext context;
      v1::ExecuteResponse response;
      status_ = server.sql().Execute(&context, Request("SELECT count(*) FROM t a, t b, t c, t d, t e"), &response);
    });
    while (server.HttpGet("/metrics").find("sisal_rpc_in_flight{method=\"sisal.v1.SqlService/Execute\"} 1") ==
           std::string::npos) {
    }
  }
  grpc::Status Join() {
    thread_.join();
    return status_;
  }

 private:
  grpc::Status status_;
  std::thread thread_;
};

void FillForEndlessStatement(ServerProcess& server) {
  ASSERT_STATE(Execute(server, "CREATE TABLE t (id int PRIMARY KEY)"), "00000");
  ASSERT_STATE(Execute(server, "INSERT INTO t SELECT * FROM generate_series(1, 2000)"), "00000");
}

TEST(ProcessTest, TheEndOfTheGraceTellsRunningCallsWhy) {
  ServerProcess server;
  ASSERT_TRUE(server.Start({"--drain-ms", "200"}));
  FillForEndlessStatement(server);
  EndlessStatement call(server);
  EXPECT_EQ(server.Stop(), 0);
  const grpc::Status status = call.Join();
  EXPECT_STATE(status, "57P01");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(HasRetryInfo(status));
}

TEST(ProcessTest, ASecondSignalEndsRunningCalls) {
  ServerProcess server;
  ASSERT_TRUE(server.Start({"--drain-ms", "600000"}));
  FillForEndlessStatement(server);
  EndlessStatement call(server);
  server.Signal(SIGTERM);
  AwaitDrain(server);
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait(), 0);
  EXPECT_STATE(call.Join(), "57P01");
  EXPECT_THAT(server.Log(), HasSubstr("stopping at once"));
}

TEST(ProcessTest, TheEndOfTheGraceTellsReadersOfStreamsWhy) {
  ServerProcess server;
  ASSERT_TRUE(server.Start({"--drain-ms", "200"}));
  FillForEndlessStatement(server);
  grpc::ClientContext context;
  v1::QueryRequest request;
  request.mutable_statement()->set_sql("SELECT a.id FROM t a, t b, t c, t d");
  const auto reader = server.sql().Query(&context, request);
  v1::QueryResponse response;
  ASSERT_TRUE(reader->Read(&response));
  server.Signal(SIGTERM);
  while (reader->Read(&response)) {
  }
  EXPECT_STATE(reader->Finish(), "57P01");
  EXPECT_EQ(server.Wait(), 0);
}

// At any moment: before the log is read, while it is replayed, while the store opens.
TEST(ProcessTest, ASignalStopsTheStart) {
  ServerProcess server;
  ASSERT_TRUE(server.Start());
  ASSERT_STATE(Execute(server, "CREATE TABLE t (id int PRIMARY KEY, v text)"), "00000");
  ASSERT_STATE(Execute(server, "INSERT INTO t SELECT i, repeat('x', 100) FROM generate_series(1, 200000) i"), "00000");
  server.Kill();
  for (int delay = 0; delay < 300; delay += 20) {
    const size_t log_bytes = server.Log().size();
    server.Launch();
    while (server.Log().size() == log_bytes) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(delay));
    EXPECT_EQ(server.Stop(), 0) << delay << "\n" << server.Log();
  }
  EXPECT_THAT(server.Log(), HasSubstr("stopping before the store is open"));
  ASSERT_TRUE(server.Start());
  EXPECT_EQ(FirstInteger(Execute(server, "SELECT count(*) FROM t").response), 200000);
}

// An orchestrator's hook asks for the drain, then the orchestrator sends its signal.
TEST(ProcessTest, TheSignalAfterAnAdminDrainLeavesTheGrace) {
  ServerProcess server;
  ASSERT_TRUE(server.Start());
  const std::string handle = Begin(server)->transaction().handle();
  grpc::ClientContext context;
  v1::DrainResponse response;
  ASSERT_TRUE(server.admin().Drain(&context, {}, &response).ok());
  AwaitDrain(server);
  server.Signal(SIGTERM);
  EXPECT_STATE(Commit(server, handle), "00000");
  EXPECT_EQ(server.Wait(), 0);
  EXPECT_THAT(server.Log(), ::testing::Not(HasSubstr("stopping at once")));
}

TEST(ProcessTest, AdminDrainStopsTheServer) {
  ServerProcess server;
  ASSERT_TRUE(server.Start());
  grpc::ClientContext context;
  v1::DrainResponse response;
  EXPECT_TRUE(server.admin().Drain(&context, {}, &response).ok());
  EXPECT_EQ(server.Wait(), 0);
}

TEST(ProcessTest, WatchHearsOfTheDrain) {
  ServerProcess server;
  ASSERT_TRUE(server.Start());
  grpc::ClientContext context;
  HealthCheckRequest request;
  request.set_service("sisal.v1.SqlService");
  const grpc::internal::RpcMethod rpc("/grpc.health.v1.Health/Watch", grpc::internal::RpcMethod::SERVER_STREAMING,
                                      server.channel());
  const std::unique_ptr<grpc::ClientReader<HealthCheckResponse>> reader(
      grpc::internal::ClientReaderFactory<HealthCheckResponse>::Create(server.channel().get(), rpc, &context, request));
  HealthCheckResponse response;
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  server.Signal(SIGTERM);
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_FALSE(reader->Finish().ok());
  EXPECT_EQ(server.Wait(), 0);
}

// What grpcurl asks first. ServerReflectionRequest.list_services is field 7.
TEST(ProcessTest, ReflectionListsTheServices) {
  ServerProcess server;
  ASSERT_TRUE(server.Start());
  grpc::GenericStub stub(server.channel());
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto stream =
      stub.PrepareCall(&context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  const auto await = [&] {
    void* tag;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  stream->StartCall(nullptr);
  ASSERT_TRUE(await());
  const grpc::Slice slice(std::string("\x3a\x01*"));
  stream->Write(grpc::ByteBuffer(&slice, 1), nullptr);
  ASSERT_TRUE(await());
  grpc::ByteBuffer answer;
  stream->Read(&answer, nullptr);
  ASSERT_TRUE(await());
  grpc::Slice bytes;
  ASSERT_TRUE(answer.DumpToSingleSlice(&bytes).ok());
  const std::string text(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
  for (const char* service :
       {"sisal.v1.SqlService", "sisal.v1.AdminService", "sisal.v1.ChangeService", "grpc.health.v1.Health"}) {
    EXPECT_THAT(text, HasSubstr(service));
  }
  context.TryCancel();
  grpc::Status status;
  stream->Finish(&status, nullptr);
  await();
}

TEST(ProcessTest, WorksWithoutIoUring) {
  ServerProcess server;
  ASSERT_TRUE(server.Start({"--io-backend", "thread_pool"}));
  ASSERT_STATE(Execute(server, "CREATE TABLE t (id int PRIMARY KEY)"), "00000");
  ASSERT_STATE(Execute(server, "INSERT INTO t VALUES (1)"), "00000");
  EXPECT_THAT(server.HttpGet("/metrics"), HasSubstr("sisal_io_backend_info{backend=\"thread_pool\""));
  EXPECT_EQ(server.Stop(), 0);
}

TEST(ProcessTest, JsonLogIsOneObjectEachLine) {
  ServerProcess server;
  ASSERT_TRUE(server.Start({"--log-format", "json"}));
  EXPECT_EQ(server.Stop(), 0);
  std::istringstream log(server.Log());
  for (std::string line; std::getline(log, line);) EXPECT_EQ(line.front(), '{') << line;
}

TEST(ProcessTest, ATakenAddressIsExitCode3AndTheLogSaysWhy) {
  ServerProcess server;
  ASSERT_TRUE(server.Start());
  const std::string command = std::string(SISALD_PATH) + " --log-format json --http-listen '' --listen " +
                              server.grpc_address() + " --data-dir " + server.directory() + "/other 2> " +
                              server.directory() + "/second";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 3);
  std::ifstream file(server.directory() + "/second");
  std::string text;
  for (std::string line; std::getline(file, line);) {
    EXPECT_EQ(line.front(), '{') << line;
    text += line;
  }
  EXPECT_THAT(text, HasSubstr("Address already in use"));
  EXPECT_THAT(text, HasSubstr("55006"));
}

TEST(ProcessTest, WrongUsageIsExitCode2) {
  EXPECT_EQ(WEXITSTATUS(std::system((std::string(SISALD_PATH) + " --nope 2> /dev/null").c_str())), 2);
}

}  // namespace
}  // namespace sisal::e2e
