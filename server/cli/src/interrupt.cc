#include "interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <utility>

namespace sisal::cli {
namespace {
sigset_t SigintSet() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  return set;
}

sigset_t AllSignals() {
  sigset_t set = SigintSet();
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);
  return set;
}
}  // namespace

Interrupts::Interrupts(WhenIdle when_idle) : when_idle_(when_idle) {
  termios terminal = {};
  if (tcgetattr(STDIN_FILENO, &terminal) == 0) terminal_ = terminal;
  const sigset_t signals = AllSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  thread_ = std::thread([this] { Run(); });
}

Interrupts::~Interrupts() {
  stopping_ = true;
  pthread_kill(thread_.native_handle(), SIGINT);
  thread_.join();
}

void Interrupts::Run() {
  const sigset_t signals = AllSignals();
  while (true) {
    int signal_number = 0;
    sigwait(&signals, &signal_number);
    if (stopping_) return;
    std::unique_lock lock(mutex_);
    if (active_ != nullptr) active_->TryCancel();
    if (signal_number != SIGINT || (active_ == nullptr && when_idle_ == WhenIdle::kExit)) {
      lock.unlock();
      Exit(signal_number);
    }
    pending_ = true;
  }
}

void Interrupts::Exit(int signal_number) {
  std::function<void()> cleanup;
  {
    const std::lock_guard lock(mutex_);
    cleanup = cleanup_;
  }
  if (cleanup) cleanup();
  if (terminal_.has_value()) tcsetattr(STDIN_FILENO, TCSANOW, &*terminal_);
  _exit(128 + signal_number);
}

void Interrupts::SetCleanup(std::function<void()> cleanup) {
  const std::lock_guard lock(mutex_);
  cleanup_ = std::move(cleanup);
}

Interrupts::Scope::Scope(Interrupts& interrupts, grpc::ClientContext& context) : interrupts_(interrupts) {
  const std::lock_guard lock(interrupts_.mutex_);
  interrupts_.active_ = &context;
}

Interrupts::Scope::~Scope() {
  const std::lock_guard lock(interrupts_.mutex_);
  interrupts_.active_ = nullptr;
}

ScopedSigint::ScopedSigint(Action action) {
  const sigset_t sigint = SigintSet();
  pthread_sigmask(action == Action::kBlock ? SIG_BLOCK : SIG_UNBLOCK, &sigint, &before_);
}

ScopedSigint::~ScopedSigint() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
}  // namespace sisal::cli
