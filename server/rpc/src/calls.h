// Calls as gRPC's callback API sees them: reactors, each shared by the library and the call's fiber.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "sisal/io/runtime.h"
#include "sisal/io/sync.h"
#include "sisal/rpc/grpc_server.h"

namespace sisal::rpc {

class CallBase;

// The calls that run, so that a server that stops can tell each why. Thread-safe.
class RunningCalls {
 public:
  void Add(CallBase& call);
  void Remove(CallBase& call);
  // Cancels all that run now.
  void CancelAll(const Error& reason);

 private:
  static constexpr size_t kParts = 8;
  struct alignas(64) Part {
    io::SpinLatch latch;
    CallBase* first = nullptr;
  };
  Part& PartOf(const CallBase& call) { return parts_[reinterpret_cast<uintptr_t>(&call) / 1024 % kParts]; }
  Part parts_[kParts];
};

// What all calls of a server share.
struct Front {
  io::Runtime& runtime;
  service::RpcStats& stats;
  const GrpcOptions& options;
  RunningCalls running{};
  std::atomic<uint64_t> in_flight{0};
  std::atomic<uint64_t> unread_bytes{0};  // of answers that the library holds until their clients take them
};

// One method of one service.
struct MethodBinding {
  Front& front;
  service::Handler& handler;
  int method;          // in the handler's service
  size_t stats_index;  // in RpcStats
};

grpc::Status ToGrpcStatus(const service::Outcome& outcome);
grpc::ByteBuffer ToByteBuffer(wire::Buffer bytes);

// The parts that unary calls and streams have in common.
class CallBase : public service::CallContext {
 public:
  CallBase(const MethodBinding& binding, grpc::CallbackServerContext& context, const grpc::ByteBuffer& request);
  void AlsoCancel(std::shared_ptr<io::CancelToken> token) override;
  void Cancel(const Error& reason);

 protected:
  // Counts the call. nullopt: it may run; else why not. Errors: 53300 too many calls, 53200 too much is unread.
  service::Outcome Admit();
  void NoteCancelled();
  // Counts the end; no cancel reaches a token any more. Requires: Admit was called.
  grpc::Status End(const service::Outcome& outcome);
  // An answer of `bytes` is given to the library, and taken by the client, or given up. One at a time.
  void NoteSending(uint64_t bytes);
  void NoteTaken();

  const MethodBinding& binding_;
  grpc::CallbackServerContext& context_;

 private:
  friend class RunningCalls;
  CallBase* previous_ = nullptr;  // these two: guarded by the latch of the call's part of RunningCalls
  CallBase* next_ = nullptr;
  grpc::Slice request_bytes_;
  std::chrono::system_clock::time_point wall_deadline_;
  uint64_t unread_bytes_ = 0;
  io::SpinLatch latch_;  // guards what follows
  bool ended_ = false;
  std::optional<Error> cancelled_;
  std::shared_ptr<io::CancelToken> also_;
};

// Starts the call's fiber. What the library calls back on is owned by itself.
grpc::ServerUnaryReactor* StartUnary(const MethodBinding& binding, grpc::CallbackServerContext& context,
                                     const grpc::ByteBuffer& request, grpc::ByteBuffer& response);
grpc::ServerWriteReactor<grpc::ByteBuffer>* StartServerStream(const MethodBinding& binding,
                                                              grpc::CallbackServerContext& context,
                                                              const grpc::ByteBuffer& request);
// Methods that take a stream: none is built, the handler says so.
grpc::ServerReadReactor<grpc::ByteBuffer>* RefuseClientStream(const MethodBinding& binding);
grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* RefuseBidiStream(const MethodBinding& binding);

}  // namespace sisal::rpc
