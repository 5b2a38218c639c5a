// sisal.v1.SqlService. Thread-safe; each call runs on a fiber of its own.
#pragma once

#include "sisal/service/call.h"
#include "sisal/service/server_state.h"

namespace sisal::service {

class SqlService final : public Handler {
 public:
  explicit SqlService(ServerState& state);
  Outcome Unary(int method, CallContext& context, wire::Buffer& response) override;
  bool UnaryAtOnce(int method, std::string_view request, wire::Buffer& response) override;
  Outcome ServerStream(int method, CallContext& context, ReplyStream& stream) override;

 private:
  Outcome Execute(Core& core, CallContext& context, wire::Buffer& response);
  Outcome Query(Core& core, CallContext& context, ReplyStream& stream);
  Outcome ExecuteBatch(Core& core, CallContext& context, wire::Buffer& response);
  Status Prepare(Core& core, CallContext& context, wire::Buffer& response);
  Status BeginTransaction(Core& core, CallContext& context, wire::Buffer& response);
  Status CommitTransaction(Core& core, CallContext& context, wire::Buffer& response);
  Status RollbackTransaction(Core& core, CallContext& context, wire::Buffer& response);
  Status GetTransaction(Core& core, CallContext& context, wire::Buffer& response);
  Status GetServerInfo(Core& core, CallContext& context, wire::Buffer& response);

  ServerState& state_;
};

}  // namespace sisal::service
