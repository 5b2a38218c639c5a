// Ctrl-C cancels the running call, not the program; SIGTERM and SIGHUP end the program in order.
//
// These signals are blocked in every thread but one of ours that waits for them: cancelling a gRPC call takes locks,
// which a signal handler must not. Only while a line is being edited the main thread takes SIGINT itself
// (line_editor.h).
//
// Concurrency: thread-safe.
#pragma once

#include <grpcpp/client_context.h>
#include <signal.h>
#include <termios.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace sisal::cli {
class Interrupts {
 public:
  enum class WhenIdle { kExit, kRemember };

  // Blocks the signals in the calling thread and in all that it starts from now on: create this before any channel.
  // `when_idle`: what a SIGINT does while no call runs.
  explicit Interrupts(WhenIdle when_idle);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Whether SIGINT came since the last call.
  bool TakePending() { return pending_.exchange(false); }
  bool pending() const { return pending_; }

  // What is to be done before a signal ends the process; empty: nothing. It runs on the thread that waits for signals.
  void SetCleanup(std::function<void()> cleanup);

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
  [[noreturn]] void Exit(int signal_number);

  const WhenIdle when_idle_;
  std::atomic<bool> pending_ = false;
  std::atomic<bool> stopping_ = false;
  std::optional<termios> terminal_;        // as it was: line editing changes it
  std::mutex mutex_;                       // guards both below
  grpc::ClientContext* active_ = nullptr;  // of the running call
  std::function<void()> cleanup_;
  std::thread thread_;  // last: it uses all above
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
