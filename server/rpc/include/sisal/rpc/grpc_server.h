// The gRPC front: takes calls as bytes and runs their handlers on the engine's loops.
//
// Requests arrive as raw ByteBuffers and are decoded by the handlers, so that a malformed one gets an error of ours
// (design/api.md, 3). Nothing blocks in a reactor: each call becomes a fiber.
// Thread-safe. Ownership: borrows the Runtime, the handlers and the counters.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sisal/base/status.h"
#include "sisal/io/runtime.h"
#include "sisal/service/call.h"
#include "sisal/service/rpc_stats.h"

namespace sisal::rpc {

struct GrpcOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 0;
  uint64_t request_bytes_max = 16 << 20;
  uint64_t memory_bytes_max = 1 << 30;
  uint64_t calls_max = 20'000;
  Duration reader_stall = std::chrono::seconds(60);
  Duration connection_age = std::chrono::minutes(30);
  Duration connection_grace = std::chrono::minutes(5);
  bool reflection = true;
};

struct ServiceBinding {
  std::string name;  // full name of a service whose descriptor is linked in
  service::Handler* handler;
};

// The methods of the bindings in their order: what the counters are made for.
std::vector<std::string> MethodNames(const std::vector<ServiceBinding>& bindings);

class GrpcServer {
 public:
  // Errors: 55006 the address cannot be bound.
  static Result<std::unique_ptr<GrpcServer>> Start(io::Runtime& runtime, std::vector<ServiceBinding> bindings,
                                                   service::RpcStats& stats, const GrpcOptions& options);
  // Requires: Shutdown has returned.
  ~GrpcServer();
  uint16_t port() const;
  // No call runs, and clients have taken what the calls answered.
  bool is_idle() const;
  // Ends the calls that run now with `reason`; they are over soon after.
  void CancelCalls(const Error& reason);
  // Takes no more calls, waits for those that run, and cancels what is left after `patience`, with the library's bare
  // CANCELLED. Blocks the calling plain thread until none is left.
  void Shutdown(Duration patience);

 private:
  struct Impl;
  explicit GrpcServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sisal::rpc
