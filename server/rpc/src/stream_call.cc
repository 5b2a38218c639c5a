#include <mutex>

#include "calls.h"

namespace sisal::rpc {
namespace {

// One message is on its way at most; the handler makes the next one meanwhile.
class StreamCall final : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                         public CallBase,
                         public service::ReplyStream {
 public:
  StreamCall(const MethodBinding& binding, grpc::CallbackServerContext& context, const grpc::ByteBuffer& request)
      : CallBase(binding, context, request) {}

  void Start() {
    if (const service::Outcome refused = Admit(); refused.has_value()) {
      grpc::Status status = End(refused);
      Finish(std::move(status));
      Unref();
      return;
    }
    binding_.front.runtime.Spawn({.name = "stream"}, [this] { Run(); });
  }
  void OnDone() override { Unref(); }
  void OnCancel() override { NoteCancelled(); }

  void OnWriteDone(bool ok) override {
    NoteTaken();
    const std::lock_guard<io::SpinLatch> guard(latch_);
    writing_ = false;
    broken_ = broken_ || !ok;
    writer_.WakeFirst();
  }

  Status Write(wire::Buffer message) override {
    SISAL_RETURN_IF_ERROR(WaitWritten());
    NoteSending(message.size());
    message_ = ToByteBuffer(std::move(message));
    {
      const std::lock_guard<io::SpinLatch> guard(latch_);
      writing_ = true;
    }
    StartWrite(&message_);
    return Status();
  }

 private:
  static constexpr Duration kLastWrite = std::chrono::milliseconds(100);

  void Run() {
    service::Outcome outcome = binding_.handler.ServerStream(binding_.method, *this, *this);
    if (Status last = WaitWritten(); !last.ok()) {
      if (!outcome.has_value()) outcome = wire::CallError(std::move(last).error());
      // The library takes no status while a message is on its way. A client that reads takes it soon, and hears why its
      // stream ends; from others a cancelled call lets go of it.
      AwaitWriteDone({binding_.front.runtime.clock().Now() + kLastWrite, nullptr});
      if (writing()) {
        context_.TryCancel();
        AwaitWriteDone({});
      }
    }
    Finish(End(outcome));
    Unref();
  }

  bool writing() {
    const std::lock_guard<io::SpinLatch> guard(latch_);
    return writing_;
  }

  // Suspends. Errors: 57014.
  Status WaitWritten() {
    const Instant give_up = binding_.front.runtime.clock().Now() + binding_.front.options.reader_stall;
    const io::WaitResult result = AwaitWriteDone({give_up, cancel.get()});
    SISAL_RETURN_IF_ERROR(cancel->Check());
    if (result == io::WaitResult::kTimedOut) {
      return Error{
          "57014",
          "canceling statement: the client has not read for " +
              std::to_string(
                  std::chrono::duration_cast<std::chrono::seconds>(binding_.front.options.reader_stall).count()) +
              " s"};
    }
    const std::lock_guard<io::SpinLatch> guard(latch_);
    if (broken_) return Error{"57014", "canceling statement: the client has gone"};
    return Status();
  }

  io::WaitResult AwaitWriteDone(const io::Interrupt& interrupt) {
    if (!writing()) return io::WaitResult::kWoken;
    io::WaitList::Node node;
    {
      const std::lock_guard<io::SpinLatch> guard(latch_);
      if (!writing_) return io::WaitResult::kWoken;
      writer_.Add(node);
    }
    const io::WaitResult result = node.Park(interrupt);
    const std::lock_guard<io::SpinLatch> guard(latch_);
    return result == io::WaitResult::kWoken || !writer_.Remove(node) ? io::WaitResult::kWoken : result;
  }

  void Unref() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  grpc::ByteBuffer message_;  // on its way while writing_
  io::SpinLatch latch_;       // guards what follows
  bool writing_ = false, broken_ = false;
  io::WaitList writer_;
  std::atomic<int> references_{2};
};

}  // namespace

grpc::ServerWriteReactor<grpc::ByteBuffer>* StartServerStream(const MethodBinding& binding,
                                                              grpc::CallbackServerContext& context,
                                                              const grpc::ByteBuffer& request) {
  auto* call = new StreamCall(binding, context, request);
  call->Start();
  return call;
}

}  // namespace sisal::rpc
