// A real sisald on a directory of its own, for end-to-end tests.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "google/rpc/error_details.pb.h"
#include "sisal/v1/admin_service.grpc.pb.h"
#include "sisal/v1/sql_service.grpc.pb.h"

namespace sisal::e2e {

class ServerProcess {
 public:
  ServerProcess();   // makes the directory, starts nothing
  ~ServerProcess();  // kills, removes the directory

  // Starts sisald with --data-dir, free ports, and `arguments`; returns when it serves. False: it exited.
  bool Start(const std::vector<std::string>& arguments = {});
  // The same in two steps: the process runs; it serves.
  void Launch(const std::vector<std::string>& arguments = {});
  bool AwaitReady();
  void Kill();  // -9
  // Sends SIGTERM and waits; returns the exit code.
  int Stop();
  void Signal(int signal);
  int Wait();  // for the exit code; -1 if a signal ended it

  v1::SqlService::Stub& sql() { return *sql_; }
  v1::AdminService::Stub& admin() { return *admin_; }
  std::shared_ptr<grpc::Channel> channel() { return channel_; }
  std::string HttpGet(const std::string& path, int* status = nullptr) const;
  const std::string& directory() const { return directory_; }
  const std::string& grpc_address() const { return grpc_address_; }
  std::string Log() const;  // of all starts
  int pid() const { return pid_; }
  uint64_t ResidentBytes() const;

 private:
  std::string directory_, grpc_address_, http_address_;
  int pid_ = -1;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::SqlService::Stub> sql_;
  std::unique_ptr<v1::AdminService::Stub> admin_;
};

// Calls with a deadline of their own, so that a server that hangs fails the test.
inline constexpr std::chrono::seconds kPatience(30);

// What a call gave.
template <typename Response>
struct Answer {
  grpc::Status status;
  Response response;
  bool ok() const { return status.ok(); }
  const Response* operator->() const { return &response; }
};

v1::SqlError SqlErrorOf(const grpc::Status& status);
google::rpc::ErrorInfo ErrorInfoOf(const grpc::Status& status);
bool HasRetryInfo(const grpc::Status& status);
// "00000" is success; "none" a failure without an SqlError.
std::string SqlState(const grpc::Status& status);
template <typename Response>
std::string SqlState(const Answer<Response>& answer) {
  return SqlState(answer.status);
}

Answer<v1::ExecuteResponse> Execute(ServerProcess& server, const v1::ExecuteRequest& request);
Answer<v1::ExecuteResponse> Execute(ServerProcess& server, const std::string& sql);
Answer<v1::ExecuteResponse> ExecuteIn(ServerProcess& server, const std::string& handle, const std::string& sql);
v1::ExecuteRequest Request(const std::string& sql);
// Values of the first row as integers and texts.
int64_t FirstInteger(const v1::ExecuteResponse& response);

Answer<v1::BeginTransactionResponse> Begin(ServerProcess& server, const v1::BeginTransactionRequest& request = {});
Answer<v1::CommitTransactionResponse> Commit(ServerProcess& server, const std::string& handle);
Answer<v1::RollbackTransactionResponse> Rollback(ServerProcess& server, const std::string& handle);
Answer<v1::GetTransactionResponse> GetByHandle(ServerProcess& server, const std::string& handle);
Answer<v1::GetTransactionResponse> GetByKey(ServerProcess& server, const std::string& key);

}  // namespace sisal::e2e

// The SQLSTATE of an answer or a grpc::Status.
#define EXPECT_STATE(answer, code)                                                                               \
  do {                                                                                                           \
    const auto& sisal_answer = (answer);                                                                         \
    EXPECT_EQ(::sisal::e2e::SqlState(sisal_answer), std::string(code)) << ::sisal::e2e::MessageOf(sisal_answer); \
  } while (false)
#define ASSERT_STATE(answer, code)                                                                               \
  do {                                                                                                           \
    const auto& sisal_answer = (answer);                                                                         \
    ASSERT_EQ(::sisal::e2e::SqlState(sisal_answer), std::string(code)) << ::sisal::e2e::MessageOf(sisal_answer); \
  } while (false)

namespace sisal::e2e {
inline std::string MessageOf(const grpc::Status& status) { return status.error_message(); }
template <typename Response>
std::string MessageOf(const Answer<Response>& answer) {
  return answer.status.error_message();
}
}  // namespace sisal::e2e
