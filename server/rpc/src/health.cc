#include "sisal/rpc/health.h"

#include <optional>

#include "grpc/health/v1/health.pb.h"
#include "sisal/wire/request.h"

namespace sisal::rpc {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

constexpr char kReadyName[] = "sisal.v1.SqlService";

// nullopt: a service that we do not have.
std::optional<HealthCheckResponse::ServingStatus> StatusOf(const std::string& service, bool serving) {
  if (service.empty()) return HealthCheckResponse::SERVING;
  if (service != kReadyName) return std::nullopt;
  return serving ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
}

wire::Buffer Encode(HealthCheckResponse::ServingStatus status) {
  wire::Buffer message;
  wire::Writer(message).VarintField(1, static_cast<uint64_t>(status));
  return message;
}

}  // namespace

void HealthService::SetServing(bool serving) {
  const io::MutexLock lock(mutex_);
  serving_ = serving;
  changed_.NotifyAll();
}

void HealthService::Stop() {
  const io::MutexLock lock(mutex_);
  stopped_ = true;
  changed_.NotifyAll();
}

service::Outcome HealthService::Unary(int, service::CallContext& context, wire::Buffer& response) {
  HealthCheckRequest request;
  if (Status parsed = wire::ParseMessage(context.request, request); !parsed.ok()) {
    return wire::CallError(std::move(parsed).error());
  }
  const io::MutexLock lock(mutex_);
  const auto status = StatusOf(request.service(), serving_);
  if (!status.has_value()) return wire::CallError(Error{"02000", "unknown service"});
  response = Encode(*status);
  return std::nullopt;
}

service::Outcome HealthService::ServerStream(int, service::CallContext& context, service::ReplyStream& stream) {
  HealthCheckRequest request;
  if (Status parsed = wire::ParseMessage(context.request, request); !parsed.ok()) {
    return wire::CallError(std::move(parsed).error());
  }
  std::optional<HealthCheckResponse::ServingStatus> told;
  io::MutexLock lock(mutex_);
  while (true) {
    const auto now = StatusOf(request.service(), serving_).value_or(HealthCheckResponse::SERVICE_UNKNOWN);
    if (now != told) {
      lock.Unlock();
      if (Status written = stream.Write(Encode(now)); !written.ok()) return wire::CallError(std::move(written).error());
      told = now;
      lock.Lock();
      continue;  // it may have changed meanwhile
    }
    if (stopped_) return wire::CallError(Error{"57P01", "the server is shutting down"});
    if (changed_.WaitUntil(lock, {Instant::Max(), context.cancel.get()}) == io::WaitResult::kCancelled) {
      return wire::CallError(context.cancel->Check().error());
    }
  }
}

}  // namespace sisal::rpc
