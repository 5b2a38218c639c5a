// sisal.v1.AdminService: what is built of it; the rest answers 0A000. Thread-safe.
#pragma once

#include "sisal/service/call.h"
#include "sisal/service/server_state.h"

namespace sisal::service {

class AdminService final : public Handler {
 public:
  explicit AdminService(ServerState& state);
  Outcome Unary(int method, CallContext& context, wire::Buffer& response) override;
  Outcome ServerStream(int method, CallContext& context, ReplyStream& stream) override;

 private:
  Status GetServerStatus(CallContext& context, wire::Buffer& response);
  Status GetStats(CallContext& context, wire::Buffer& response);
  Status ListTransactions(CallContext& context, wire::Buffer& response);
  Status KillTransaction(CallContext& context, wire::Buffer& response);
  Status Drain(CallContext& context, wire::Buffer& response);
  Status ListSettings(CallContext& context, wire::Buffer& response);

  ServerState& state_;
};

// A service of which nothing is built: every method answers 0A000 with its name. Stateless.
class UnsupportedService final : public Handler {
 public:
  explicit UnsupportedService(const char* service);
  Outcome Unary(int method, CallContext& context, wire::Buffer& response) override;
  Outcome ServerStream(int method, CallContext& context, ReplyStream& stream) override;

 private:
  const char* service_;  // full name
};

}  // namespace sisal::service
