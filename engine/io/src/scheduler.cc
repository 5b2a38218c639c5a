#include "scheduler.h"

#include <boost/fiber/context.hpp>

#include "loop.h"

namespace sisal::io {

void Scheduler::awakened(boost::fibers::context* context) noexcept { loop_.Awakened(context); }

SISAL_NO_SANITIZE boost::fibers::context* Scheduler::pick_next() noexcept {
  if (handing_over_) return loop_.TakeDispatcher();
  internal::Fiber* const from = loop_.current();
  CompleteSwitch(from->sanitizer);  // for the dispatcher, which has no other code of ours after its switch
  internal::Fiber* const to = loop_.Pick();
  if (to == nullptr) return nullptr;
  AnnounceSwitch(from->sanitizer, from->ending, to->sanitizer);
  return to->context();
}

bool Scheduler::has_ready_fibers() const noexcept { return loop_.has_ready(); }

void Scheduler::suspend_until(const std::chrono::steady_clock::time_point&) noexcept { loop_.Sleep(); }

}  // namespace sisal::io
