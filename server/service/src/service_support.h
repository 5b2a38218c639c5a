// What the services share.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <exception>
#include <new>
#include <string>

#include "sisal/service/call.h"
#include "sisal/service/server_state.h"

namespace sisal::service {

inline Error NotBuilt(const std::string& method) { return Error{"0A000", "the RPC " + method + " is not supported"}; }

inline const google::protobuf::MethodDescriptor& MethodOf(const char* service, int method) {
  const auto* found = google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(service);
  SISAL_CHECK(found != nullptr);
  SISAL_CHECK(method >= 0 && method < found->method_count());
  return *found->method(method);
}

inline void Append(const google::protobuf::Message& message, wire::Buffer& out) {
  const size_t size = message.ByteSizeLong();
  char* to = out.Reserve(size);
  message.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(to));
  out.CommitTo(to + size);
}

inline Outcome ToOutcome(Status status) {
  if (status.ok()) return std::nullopt;
  return wire::CallError(std::move(status).error());
}

// The edge where exceptions of the library and of memory become errors.
template <typename Body>
Outcome GuardCall(const Body& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return wire::CallError(Error{"53200", "out of memory"});
  } catch (const std::exception& exception) {
    return wire::CallError(Error{"XX000", std::string("unexpected exception: ") + exception.what()});
  }
}

}  // namespace sisal::service
