// The border between the transport and the services: what a call brings and what it takes back.
//
// gRPC is behind it (server/rpc), so that the transport can move onto the engine's loops later without a change here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "sisal/base/clock.h"
#include "sisal/base/status.h"
#include "sisal/io/sync.h"
#include "sisal/wire/buffer.h"
#include "sisal/wire/errors.h"

namespace sisal::service {

// Owned by the transport; outlives the handler's run.
class CallContext {
 public:
  virtual ~CallContext() = default;
  // From now on the end of the call (see `cancel`) goes to `token` too. For statements that outlive the call that
  // started them.
  virtual void AlsoCancel(std::shared_ptr<io::CancelToken> token) = 0;

  std::string_view request;                 // the message's bytes
  std::shared_ptr<io::CancelToken> cancel;  // the client has gone, its deadline has passed, or the server stops
  Instant deadline = Instant::Max();
  Instant received;
};

// How a call ended: nullopt is success.
using Outcome = std::optional<wire::CallError>;

class ReplyStream {
 public:
  virtual ~ReplyStream() = default;
  // Hands a message to the transport after the one before has left, so that a slow reader holds one at most. Suspends.
  // Errors: 57014 when the client has gone, or has not read for the stall limit.
  virtual Status Write(wire::Buffer message) = 0;
};

// What serves a service's methods; thread-safe. `method` counts as in the service's descriptor. Runs on a fiber of the
// engine's, where not said otherwise. Unary and ServerStream suspend.
class Handler {
 public:
  virtual ~Handler() = default;
  virtual Outcome Unary(int method, CallContext& context, wire::Buffer& response) = 0;
  // A call that can be answered with success where its request arrived: on any thread, in some microseconds, without
  // waiting for anything. False: nothing was done, the call goes to Unary.
  virtual bool UnaryAtOnce(int, std::string_view /*request*/, wire::Buffer& /*response*/) { return false; }
  virtual Outcome ServerStream(int method, CallContext& context, ReplyStream& stream) = 0;
};

}  // namespace sisal::service
