// A SqlService in this process whose answers a test writes.
#pragma once

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "google/rpc/status.pb.h"
#include "sisal/v1/sql_service.grpc.pb.h"

namespace sisal::cli {
inline grpc::Status SqlStatus(const std::string& sqlstate, const std::string& message,
                              bool transaction_usable = false) {
  v1::SqlError sql;
  sql.set_sqlstate(sqlstate);
  sql.set_transaction_usable(transaction_usable);
  google::rpc::Status rich;
  rich.set_message(message);
  rich.add_details()->PackFrom(sql);
  return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, message, rich.SerializeAsString());
}

// Concurrency: the functions are set before the first call; the lists are read when no call runs.
class FakeServer final : public v1::SqlService::Service {
 public:
  FakeServer() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~FakeServer() override { server_->Shutdown(std::chrono::system_clock::now()); }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  std::function<grpc::Status(grpc::ServerContext*, const v1::ExecuteRequest&, v1::ExecuteResponse*)> on_execute;
  std::function<grpc::Status(grpc::ServerContext*, const v1::QueryRequest&, grpc::ServerWriter<v1::QueryResponse>*)>
      on_query;
  std::function<grpc::Status(v1::GetTransactionResponse*)> on_get_transaction;
  std::vector<v1::ExecuteRequest> executed;
  std::vector<std::string> calls;  // of the transaction's own

 private:
  grpc::Status Execute(grpc::ServerContext* context, const v1::ExecuteRequest* request,
                       v1::ExecuteResponse* response) override {
    executed.push_back(*request);
    return on_execute(context, *request, response);
  }
  grpc::Status Query(grpc::ServerContext* context, const v1::QueryRequest* request,
                     grpc::ServerWriter<v1::QueryResponse>* writer) override {
    return on_query(context, *request, writer);
  }
  grpc::Status GetServerInfo(grpc::ServerContext*, const v1::GetServerInfoRequest*,
                             v1::GetServerInfoResponse* response) override {
    response->set_version("fake");
    return grpc::Status();
  }
  grpc::Status GetTransaction(grpc::ServerContext*, const v1::GetTransactionRequest*,
                              v1::GetTransactionResponse* response) override {
    calls.push_back("get");
    return on_get_transaction(response);
  }
  grpc::Status BeginTransaction(grpc::ServerContext*, const v1::BeginTransactionRequest*,
                                v1::BeginTransactionResponse* response) override {
    calls.push_back("begin");
    response->mutable_transaction()->set_handle("h1");
    response->mutable_transaction()->set_phase(v1::TRANSACTION_PHASE_ACTIVE);
    return grpc::Status();
  }
  grpc::Status CommitTransaction(grpc::ServerContext*, const v1::CommitTransactionRequest*,
                                 v1::CommitTransactionResponse*) override {
    calls.push_back("commit");
    return grpc::Status();
  }
  grpc::Status RollbackTransaction(grpc::ServerContext*, const v1::RollbackTransactionRequest*,
                                   v1::RollbackTransactionResponse*) override {
    calls.push_back("rollback");
    return grpc::Status();
  }

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};
}  // namespace sisal::cli
