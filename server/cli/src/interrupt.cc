#include "interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace sisal::cli {
namespace {
sigset_t SigintSet() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  return set;
}
}  // namespace

Interrupts::Interrupts(WhenIdle when_idle) : when_idle_(when_idle) {
  const sigset_t sigint = SigintSet();
  pthread_sigmask(SIG_BLOCK, &sigint, nullptr);
  thread_ = std::thread([this] { Run(); });
}

Interrupts::~Interrupts() {
  stopping_ = true;
  pthread_kill(thread_.native_handle(), SIGINT);
  thread_.join();
}

void Interrupts::Run() {
  const sigset_t sigint = SigintSet();
  while (true) {
    int signal_number = 0;
    sigwait(&sigint, &signal_number);
    if (stopping_) return;
    const std::lock_guard lock(mutex_);
    if (active_ != nullptr) {
      pending_ = true;
      active_->TryCancel();
    } else if (when_idle_ == WhenIdle::kExit) {
      _exit(128 + SIGINT);
    } else {
      pending_ = true;
    }
  }
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
