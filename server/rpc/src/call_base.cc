#include <cstdlib>
#include <mutex>
#include <utility>

#include "calls.h"

namespace sisal::rpc {
namespace {

using Guard = std::lock_guard<io::SpinLatch>;

// A slice with memory of its own costs an allocation more than a copy of few bytes does.
constexpr size_t kCopiedBytesMax = 1024;

Instant ToInstant(std::chrono::system_clock::time_point deadline, const Clock& clock) {
  if (deadline == std::chrono::system_clock::time_point::max()) return Instant::Max();
  const auto left = std::chrono::duration_cast<Duration>(deadline - std::chrono::system_clock::now());
  if (left > std::chrono::hours(24 * 365)) return Instant::Max();
  return clock.Now() + left;
}

}  // namespace

void RunningCalls::Add(CallBase& call) {
  Part& part = PartOf(call);
  const Guard guard(part.latch);
  call.next_ = part.first;
  if (part.first != nullptr) part.first->previous_ = &call;
  part.first = &call;
}

void RunningCalls::Remove(CallBase& call) {
  Part& part = PartOf(call);
  const Guard guard(part.latch);
  (call.previous_ != nullptr ? call.previous_->next_ : part.first) = call.next_;
  if (call.next_ != nullptr) call.next_->previous_ = call.previous_;
}

void RunningCalls::CancelAll(const Error& reason) {
  for (Part& part : parts_) {
    const Guard guard(part.latch);  // a call leaves its part before it ends
    for (CallBase* call = part.first; call != nullptr; call = call->next_) call->Cancel(reason);
  }
}

grpc::Status ToGrpcStatus(const service::Outcome& outcome) {
  if (!outcome.has_value()) return grpc::Status::OK;
  wire::WireStatus status = wire::ToWireStatus(*outcome);
  return grpc::Status(static_cast<grpc::StatusCode>(status.code), std::move(status.message), std::move(status.details));
}

grpc::ByteBuffer ToByteBuffer(wire::Buffer bytes) {
  const size_t size = bytes.size();
  if (size <= kCopiedBytesMax) {
    const grpc::Slice slice(bytes.data(), size);
    return grpc::ByteBuffer(&slice, 1);
  }
  char* memory = bytes.Release();
  const grpc::Slice slice(memory, size, &std::free, memory);
  return grpc::ByteBuffer(&slice, 1);
}

CallBase::CallBase(const MethodBinding& binding, grpc::CallbackServerContext& context, const grpc::ByteBuffer& bytes)
    : binding_(binding), context_(context), wall_deadline_(context.deadline()) {
  if (!bytes.TrySingleSlice(&request_bytes_).ok()) bytes.DumpToSingleSlice(&request_bytes_).ok();
  request = {reinterpret_cast<const char*>(request_bytes_.begin()), request_bytes_.size()};
  cancel = std::make_shared<io::CancelToken>();
  const Clock& clock = binding.front.runtime.clock();
  received = clock.Now();
  deadline = ToInstant(wall_deadline_, clock);
}

service::Outcome CallBase::Admit() {
  Front& front = binding_.front;
  front.stats.Started(binding_.stats_index);
  front.running.Add(*this);
  const uint64_t calls_max = front.options.calls_max, bytes_max = front.options.memory_bytes_max;
  if (front.in_flight.fetch_add(1, std::memory_order_relaxed) >= calls_max) {
    return wire::CallError(Error{"53300", "too many calls are in flight"}.WithLimit("calls_count", calls_max));
  }
  if (front.unread_bytes.load(std::memory_order_relaxed) >= bytes_max) {
    return wire::CallError(Error{"53200", "too much memory is held by answers that clients do not read"}.WithLimit(
        "grpc_memory_bytes", bytes_max));
  }
  return std::nullopt;
}

void CallBase::NoteSending(uint64_t bytes) {
  unread_bytes_ = bytes;
  binding_.front.unread_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

void CallBase::NoteTaken() {
  binding_.front.unread_bytes.fetch_sub(std::exchange(unread_bytes_, 0), std::memory_order_relaxed);
}

grpc::Status CallBase::End(const service::Outcome& outcome) {
  {
    const Guard guard(latch_);
    ended_ = true;
  }
  binding_.front.running.Remove(*this);
  grpc::Status status = ToGrpcStatus(outcome);
  binding_.front.in_flight.fetch_sub(1, std::memory_order_relaxed);
  binding_.front.stats.Ended(binding_.stats_index, static_cast<wire::Code>(status.error_code()),
                             binding_.front.runtime.clock().Now() - received);
  return status;
}

void CallBase::AlsoCancel(std::shared_ptr<io::CancelToken> token) {
  std::optional<Error> reason;
  {
    const Guard guard(latch_);
    reason = cancelled_;
    also_ = token;
  }
  if (reason.has_value()) token->Cancel(*reason);
}

void CallBase::NoteCancelled() {
  const bool deadline_passed = std::chrono::system_clock::now() >= wall_deadline_;
  Cancel(Error{"57014", deadline_passed ? "canceling statement due to statement timeout"
                                        : "canceling statement due to user request"});
}

void CallBase::Cancel(const Error& reason) {
  std::shared_ptr<io::CancelToken> also;
  {
    const Guard guard(latch_);
    if (ended_ || cancelled_.has_value()) return;  // the statement may go on in another call
    cancelled_ = reason;
    also = also_;
  }
  cancel->Cancel(reason);
  if (also != nullptr) also->Cancel(reason);
}

}  // namespace sisal::rpc
