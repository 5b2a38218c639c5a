#include <mutex>

#include "calls.h"

namespace sisal::rpc {
namespace {

// Shared by the library, until OnDone, and by the fiber.
class UnaryCall final : public grpc::ServerUnaryReactor, public CallBase {
 public:
  UnaryCall(const MethodBinding& binding, grpc::CallbackServerContext& context, const grpc::ByteBuffer& request,
            grpc::ByteBuffer& response)
      : CallBase(binding, context, request), response_(response) {}

  void Start() {
    if (const service::Outcome refused = Admit(); refused.has_value()) {
      grpc::Status status = End(refused);
      Finish(std::move(status));
      Unref();
      return;
    }
    binding_.front.runtime.Spawn({.name = "call"}, [this] { Run(); });
  }
  void OnDone() override {
    NoteTaken();
    {
      const std::lock_guard<io::SpinLatch> guard(latch_);
      done_ = true;
      sender_.WakeFirst();
    }
    Unref();
  }
  void OnCancel() override { NoteCancelled(); }

 private:
  // Answers up to this size are not worth a fiber that waits until they are taken.
  static constexpr size_t kShortAnswerBytes = 64 << 10;

  void Run() {
    wire::Buffer bytes;
    const service::Outcome outcome = binding_.handler.Unary(binding_.method, *this, bytes);
    const size_t size = outcome.has_value() ? 0 : bytes.size();
    if (!outcome.has_value()) response_ = ToByteBuffer(std::move(bytes));
    NoteSending(size);
    Finish(End(outcome));  // the request is not touched any more, nor the context, but for TryCancel
    if (size > kShortAnswerBytes) CancelUnlessTaken();
    Unref();
  }

  // Lets go of a long answer whose client does not read it. Suspends.
  void CancelUnlessTaken() {
    const Instant give_up = binding_.front.runtime.clock().Now() + binding_.front.options.reader_stall;
    io::WaitList::Node node;
    {
      const std::lock_guard<io::SpinLatch> guard(latch_);
      if (done_) return;
      sender_.Add(node);
    }
    const io::WaitResult result = node.Park({give_up, nullptr});
    const std::lock_guard<io::SpinLatch> guard(latch_);
    if (result != io::WaitResult::kWoken) sender_.Remove(node);
    if (!done_) context_.TryCancel();  // the context lives until OnDone has returned, which waits for the latch
  }

  void Unref() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  grpc::ByteBuffer& response_;
  io::SpinLatch latch_;  // guards what follows
  bool done_ = false;
  io::WaitList sender_;
  std::atomic<int> references_{2};
};

class RefusedRead final : public grpc::ServerReadReactor<grpc::ByteBuffer> {
 public:
  explicit RefusedRead(grpc::Status status) { Finish(std::move(status)); }
  void OnDone() override { delete this; }
};

class RefusedBidi final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit RefusedBidi(grpc::Status status) { Finish(std::move(status)); }
  void OnDone() override { delete this; }
};

class EmptyContext final : public service::CallContext {
  void AlsoCancel(std::shared_ptr<io::CancelToken>) override {}
};

grpc::Status Refuse(const MethodBinding& binding) {
  EmptyContext context;
  wire::Buffer ignored;
  const service::Outcome outcome = binding.handler.Unary(binding.method, context, ignored);
  SISAL_CHECK(outcome.has_value());
  grpc::Status status = ToGrpcStatus(outcome);
  binding.front.stats.Started(binding.stats_index);
  binding.front.stats.Ended(binding.stats_index, static_cast<wire::Code>(status.error_code()), Duration(0));
  return status;
}

// A call that needs no fiber is answered on the thread that received it: handing it over and back costs more than the
// call itself (docs/decisions.md, 15). nullptr: it needs one.
grpc::ServerUnaryReactor* AnswerAtOnce(const MethodBinding& binding, grpc::CallbackServerContext& context,
                                       const grpc::ByteBuffer& request, grpc::ByteBuffer& response) {
  const Clock& clock = binding.front.runtime.clock();
  const Instant received = clock.Now();
  grpc::Slice bytes;
  if (!request.TrySingleSlice(&bytes).ok()) return nullptr;
  wire::Buffer answer;
  if (!binding.handler.UnaryAtOnce(binding.method, {reinterpret_cast<const char*>(bytes.begin()), bytes.size()},
                                   answer)) {
    return nullptr;
  }
  response = ToByteBuffer(std::move(answer));
  binding.front.stats.AnsweredAtOnce(binding.stats_index, clock.Now() - received);
  grpc::ServerUnaryReactor* reactor = context.DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace

grpc::ServerUnaryReactor* StartUnary(const MethodBinding& binding, grpc::CallbackServerContext& context,
                                     const grpc::ByteBuffer& request, grpc::ByteBuffer& response) {
  if (grpc::ServerUnaryReactor* answered = AnswerAtOnce(binding, context, request, response)) return answered;
  auto* call = new UnaryCall(binding, context, request, response);
  call->Start();  // it may be over before we return: the library counts itself until OnDone
  return call;
}

grpc::ServerReadReactor<grpc::ByteBuffer>* RefuseClientStream(const MethodBinding& binding) {
  return new RefusedRead(Refuse(binding));
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* RefuseBidiStream(const MethodBinding& binding) {
  return new RefusedBidi(Refuse(binding));
}

}  // namespace sisal::rpc
