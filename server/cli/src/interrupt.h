// Ctrl-C cancels the running call, not the program.
//
// SIGINT is blocked in every thread but one of ours that waits for it: cancelling a gRPC call takes locks, which a
// signal handler must not. Only while a line is being edited the main thread takes it itself (line_editor.h).
//
// Concurrency: thread-safe.
#pragma once

#include <grpcpp/client_context.h>
#include <signal.h>

#include <atomic>
#include <mutex>
#include <thread>

namespace sisal::cli {
class Interrupts {
 public:
  enum class WhenIdle { kExit, kRemember };

  // Blocks SIGINT in the calling thread and in all that it starts from now on: create this before any channel.
  // `when_idle`: what a SIGINT does while no call runs. kExit ends the process as the signal would have.
  explicit Interrupts(WhenIdle when_idle);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Whether SIGINT came since the last call.
  bool TakePending() { return pending_.exchange(false); }
  bool pending() const { return pending_; }

  // While it lives, SIGINT cancels `context`.
  class Scope {
   public:
    Scope(Interrupts& interrupts, grpc::ClientContext& context);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Interrupts& interrupts_;
  };

 private:
  void Run();

  const WhenIdle when_idle_;
  std::atomic<bool> pending_ = false;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;                       // guards active_
  grpc::ClientContext* active_ = nullptr;  // of the running call
  std::thread thread_;                     // last: it uses all above
};

// Blocks SIGINT in this thread while it lives, or lets it through.
class ScopedSigint {
 public:
  enum class Action { kBlock, kUnblock };
  explicit ScopedSigint(Action action);
  ~ScopedSigint();
  ScopedSigint(const ScopedSigint&) = delete;
  ScopedSigint& operator=(const ScopedSigint&) = delete;

 private:
  sigset_t before_;
};
}  // namespace sisal::cli
