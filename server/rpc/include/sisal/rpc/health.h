// grpc.health.v1.Health: "" says that the process lives, "sisal.v1.SqlService" that it takes work. Thread-safe.
#pragma once

#include "sisal/io/sync.h"
#include "sisal/service/call.h"

namespace sisal::rpc {

class HealthService final : public service::Handler {
 public:
  // Wakes the watchers. Callable from fibers and attached threads. Suspends.
  void SetServing(bool serving);
  // Ends all watches, now and later. Suspends.
  void Stop();
  service::Outcome Unary(int method, service::CallContext& context, wire::Buffer& response) override;
  service::Outcome ServerStream(int method, service::CallContext& context, service::ReplyStream& stream) override;

 private:
  io::Mutex mutex_;
  io::Condition changed_;
  bool serving_ = false, stopped_ = false;  // guarded by mutex_
};

}  // namespace sisal::rpc
