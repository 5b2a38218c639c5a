#include "server_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "google/rpc/status.pb.h"

namespace sisal::e2e {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

template <typename Message>
bool FindDetail(const grpc::Status& status, Message& message) {
  google::rpc::Status rich;
  if (!rich.ParseFromString(status.error_details())) return false;
  for (const auto& detail : rich.details()) {
    if (detail.Is<Message>()) return detail.UnpackTo(&message);
  }
  return false;
}

void SetDeadline(grpc::ClientContext& context) { context.set_deadline(std::chrono::system_clock::now() + kPatience); }

}  // namespace

ServerProcess::ServerProcess() {
  char name[] = "/tmp/sisal_e2e_XXXXXX";
  directory_ = mkdtemp(name);
}

ServerProcess::~ServerProcess() {
  if (pid_ > 0) Kill();
  std::filesystem::remove_all(directory_);
}

bool ServerProcess::Start(const std::vector<std::string>& arguments) {
  Launch(arguments);
  return AwaitReady();
}

void ServerProcess::Launch(const std::vector<std::string>& arguments) {
  const std::string ready = directory_ + "/ready.json";
  std::filesystem::remove(ready);
  std::vector<std::string> words = {SISALD_PATH,     "--data-dir",  directory_ + "/data", "--listen", "127.0.0.1:0",
                                    "--http-listen", "127.0.0.1:0", "--ready-file",       ready};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const std::string log = directory_ + "/log";
  pid_ = fork();
  if (pid_ == 0) {
    const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(fd, STDERR_FILENO);
    dup2(fd, STDOUT_FILENO);
    execv(pointers[0], pointers.data());
    _exit(127);
  }
}

bool ServerProcess::AwaitReady() {
  const std::string ready = directory_ + "/ready.json";
  while (!std::filesystem::exists(ready)) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      std::fprintf(stderr, "sisald ended:\n%s\n", Log().c_str());
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const auto line = nlohmann::json::parse(ReadFile(ready));
  grpc_address_ = line["grpc"], http_address_ = line["http"];
  grpc::ChannelArguments channel_arguments;
  channel_arguments.SetMaxReceiveMessageSize(4 << 20);  // the default, said aloud
  channel_arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  channel_ = grpc::CreateCustomChannel(grpc_address_, grpc::InsecureChannelCredentials(), channel_arguments);
  sql_ = v1::SqlService::NewStub(channel_);
  admin_ = v1::AdminService::NewStub(channel_);
  return true;
}

void ServerProcess::Signal(int signal) { kill(pid_, signal); }

int ServerProcess::Wait() {
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void ServerProcess::Kill() {
  Signal(SIGKILL);
  Wait();
}

int ServerProcess::Stop() {
  Signal(SIGTERM);
  return Wait();
}

std::string ServerProcess::Log() const { return ReadFile(directory_ + "/log"); }

uint64_t ServerProcess::ResidentBytes() const {
  std::istringstream statm(ReadFile("/proc/" + std::to_string(pid_) + "/statm"));
  uint64_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

std::string ServerProcess::HttpGet(const std::string& path, int* status) const {
  const size_t colon = http_address_.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::stoi(http_address_.substr(colon + 1))));
  inet_pton(AF_INET, http_address_.substr(0, colon).c_str(), &address.sin_addr);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  std::string answer;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
    const std::string request = "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    if (write(fd, request.data(), request.size()) > 0) {
      char bytes[4096];
      for (ssize_t size; (size = read(fd, bytes, sizeof(bytes))) > 0;) answer.append(bytes, static_cast<size_t>(size));
    }
  }
  close(fd);
  if (status != nullptr) *status = answer.size() > 12 ? std::stoi(answer.substr(9, 3)) : 0;
  const size_t body = answer.find("\r\n\r\n");
  return body == std::string::npos ? "" : answer.substr(body + 4);
}

v1::SqlError SqlErrorOf(const grpc::Status& status) {
  v1::SqlError error;
  FindDetail(status, error);
  return error;
}

google::rpc::ErrorInfo ErrorInfoOf(const grpc::Status& status) {
  google::rpc::ErrorInfo info;
  FindDetail(status, info);
  return info;
}

bool HasRetryInfo(const grpc::Status& status) {
  google::rpc::RetryInfo info;
  return FindDetail(status, info);
}

std::string SqlState(const grpc::Status& status) {
  if (status.ok()) return "00000";
  const std::string state = SqlErrorOf(status).sqlstate();
  return state.empty() ? "none" : state;
}

v1::ExecuteRequest Request(const std::string& sql) {
  v1::ExecuteRequest request;
  request.mutable_statement()->set_sql(sql);
  return request;
}

Answer<v1::ExecuteResponse> Execute(ServerProcess& server, const v1::ExecuteRequest& request) {
  grpc::ClientContext context;
  SetDeadline(context);
  Answer<v1::ExecuteResponse> answer;
  answer.status = server.sql().Execute(&context, request, &answer.response);
  return answer;
}

Answer<v1::ExecuteResponse> Execute(ServerProcess& server, const std::string& sql) {
  return Execute(server, Request(sql));
}

Answer<v1::ExecuteResponse> ExecuteIn(ServerProcess& server, const std::string& handle, const std::string& sql) {
  v1::ExecuteRequest request = Request(sql);
  request.mutable_transaction()->set_handle(handle);
  return Execute(server, request);
}

int64_t FirstInteger(const v1::ExecuteResponse& response) {
  const auto& batch = response.chunk().batch();
  return batch.columns_size() == 0 || batch.columns(0).integers_size() == 0 ? INT64_MIN : batch.columns(0).integers(0);
}

Answer<v1::BeginTransactionResponse> Begin(ServerProcess& server, const v1::BeginTransactionRequest& request) {
  grpc::ClientContext context;
  SetDeadline(context);
  Answer<v1::BeginTransactionResponse> answer;
  answer.status = server.sql().BeginTransaction(&context, request, &answer.response);
  return answer;
}

Answer<v1::CommitTransactionResponse> Commit(ServerProcess& server, const std::string& handle) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::CommitTransactionRequest request;
  request.set_handle(handle);
  Answer<v1::CommitTransactionResponse> answer;
  answer.status = server.sql().CommitTransaction(&context, request, &answer.response);
  return answer;
}

Answer<v1::RollbackTransactionResponse> Rollback(ServerProcess& server, const std::string& handle) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::RollbackTransactionRequest request;
  request.set_handle(handle);
  Answer<v1::RollbackTransactionResponse> answer;
  answer.status = server.sql().RollbackTransaction(&context, request, &answer.response);
  return answer;
}

namespace {
Answer<v1::GetTransactionResponse> GetTransaction(ServerProcess& server, const v1::GetTransactionRequest& request) {
  grpc::ClientContext context;
  SetDeadline(context);
  Answer<v1::GetTransactionResponse> answer;
  answer.status = server.sql().GetTransaction(&context, request, &answer.response);
  return answer;
}
}  // namespace

Answer<v1::GetTransactionResponse> GetByHandle(ServerProcess& server, const std::string& handle) {
  v1::GetTransactionRequest request;
  request.set_handle(handle);
  return GetTransaction(server, request);
}

Answer<v1::GetTransactionResponse> GetByKey(ServerProcess& server, const std::string& key) {
  v1::GetTransactionRequest request;
  request.set_idempotency_key(key);
  return GetTransaction(server, request);
}

}  // namespace sisal::e2e
