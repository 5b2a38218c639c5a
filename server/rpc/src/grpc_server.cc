#include "sisal/rpc/grpc_server.h"

#include <absl/synchronization/mutex.h>
#include <google/protobuf/descriptor.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/resource_quota.h>

#include <deque>

#include "calls.h"
#include "sisal/base/check.h"

namespace sisal::rpc {
namespace {

using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;
using grpc::internal::RpcMethod;

const ServiceDescriptor& DescriptorOf(const std::string& service) {
  const ServiceDescriptor* found = google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(service);
  SISAL_CHECK(found != nullptr);
  return *found;
}

// A service whose methods are those of its descriptor, all as bytes. This is what the generated WithRawCallbackMethod_*
// classes do, for any service and without one class for each method.
class RawService final : public grpc::Service {
 public:
  RawService(const ServiceDescriptor& descriptor, service::Handler& handler, Front& front, size_t first_stats_index) {
    for (int i = 0; i < descriptor.method_count(); ++i) {
      bindings_.push_back({front, handler, i, first_stats_index + static_cast<size_t>(i)});
      AddRawMethod(*descriptor.method(i), bindings_.back());
    }
  }

 private:
  using Bytes = grpc::ByteBuffer;

  void AddRawMethod(const MethodDescriptor& method, const MethodBinding& binding) {
    const MethodBinding* bound = &binding;
    if (method.client_streaming() && method.server_streaming()) {
      AddRaw(method, RpcMethod::BIDI_STREAMING,
             new grpc::internal::CallbackBidiHandler<Bytes, Bytes>(
                 [bound](grpc::CallbackServerContext*) { return RefuseBidiStream(*bound); }));
    } else if (method.client_streaming()) {
      AddRaw(method, RpcMethod::CLIENT_STREAMING,
             new grpc::internal::CallbackClientStreamingHandler<Bytes, Bytes>(
                 [bound](grpc::CallbackServerContext*, Bytes*) { return RefuseClientStream(*bound); }));
    } else if (method.server_streaming()) {
      AddRaw(method, RpcMethod::SERVER_STREAMING,
             new grpc::internal::CallbackServerStreamingHandler<Bytes, Bytes>(
                 [bound](grpc::CallbackServerContext* context, const Bytes* request) {
                   return StartServerStream(*bound, *context, *request);
                 }));
    } else {
      AddRaw(method, RpcMethod::NORMAL_RPC,
             new grpc::internal::CallbackUnaryHandler<Bytes, Bytes>(
                 [bound](grpc::CallbackServerContext* context, const Bytes* request, Bytes* response) {
                   return StartUnary(*bound, *context, *request, *response);
                 }));
    }
  }

  void AddRaw(const MethodDescriptor& method, RpcMethod::RpcType type, grpc::internal::MethodHandler* handler) {
    paths_.push_back("/" + method.service()->full_name() + "/" + method.name());
    AddMethod(new grpc::internal::RpcServiceMethod(paths_.back().c_str(), type, nullptr));
    MarkMethodRawCallback(static_cast<int>(paths_.size()) - 1, handler);
  }

  std::deque<MethodBinding> bindings_;  // addresses are kept by the handlers
  std::deque<std::string> paths_;       // and these by the library
};

int Milliseconds(Duration duration) {
  return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

void SetArguments(const GrpcOptions& options, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(options.request_bytes_max));
  builder.SetMaxSendMessageSize(-1);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 1024);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a second server on the port must fail, not share it
  // Pings each 10 s are welcome; a little less is tolerated because timers are not exact.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 9'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, Milliseconds(options.connection_age));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, Milliseconds(options.connection_grace));
  grpc::ResourceQuota quota("sisald");
  quota.Resize(options.memory_bytes_max);
  builder.SetResourceQuota(quota);
  // Reflection is the only service of the library's own, and synchronous: one thread is enough.
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MAX_POLLERS, 2);
}

}  // namespace

struct GrpcServer::Impl {
  Impl(io::Runtime& runtime, service::RpcStats& stats, const GrpcOptions& grpc_options)
      : options(grpc_options), front{runtime, stats, options} {}
  const GrpcOptions options;
  Front front;
  std::vector<std::unique_ptr<RawService>> services;
  std::unique_ptr<grpc::Server> server;
  int port = 0;
};

std::vector<std::string> MethodNames(const std::vector<ServiceBinding>& bindings) {
  std::vector<std::string> names;
  for (const ServiceBinding& binding : bindings) {
    const ServiceDescriptor& descriptor = DescriptorOf(binding.name);
    for (int i = 0; i < descriptor.method_count(); ++i)
      names.push_back(binding.name + "/" + descriptor.method(i)->name());
  }
  return names;
}

Result<std::unique_ptr<GrpcServer>> GrpcServer::Start(io::Runtime& runtime, std::vector<ServiceBinding> bindings,
                                                      service::RpcStats& stats, const GrpcOptions& options) {
  // Debian's build of the library's mutexes looks for cycles at each lock: a debugging aid that costs some 6 %.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  if (options.reflection) grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  auto impl = std::make_unique<Impl>(runtime, stats, options);
  grpc::ServerBuilder builder;
  SetArguments(options, builder);
  size_t stats_index = 0;
  for (const ServiceBinding& binding : bindings) {
    const ServiceDescriptor& descriptor = DescriptorOf(binding.name);
    impl->services.push_back(std::make_unique<RawService>(descriptor, *binding.handler, impl->front, stats_index));
    builder.RegisterService(impl->services.back().get());
    stats_index += static_cast<size_t>(descriptor.method_count());
  }
  const std::string address = options.host + ":" + std::to_string(options.port);
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &impl->port);
  impl->server = builder.BuildAndStart();
  if (impl->server == nullptr || impl->port == 0) {
    return Error{"55006", "cannot listen on gRPC address " + address}.WithHint(
        "Is another server running? --listen HOST:0 picks a free port.");
  }
  return std::unique_ptr<GrpcServer>(new GrpcServer(std::move(impl)));
}

GrpcServer::GrpcServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GrpcServer::~GrpcServer() = default;

uint16_t GrpcServer::port() const { return static_cast<uint16_t>(impl_->port); }

bool GrpcServer::is_idle() const { return impl_->front.in_flight == 0 && impl_->front.unread_bytes == 0; }

void GrpcServer::CancelCalls(const Error& reason) { impl_->front.running.CancelAll(reason); }

void GrpcServer::Shutdown(Duration patience) {
  impl_->server->Shutdown(std::chrono::system_clock::now() +
                          std::chrono::duration_cast<std::chrono::system_clock::duration>(patience));
  impl_->server->Wait();
}

}  // namespace sisal::rpc
