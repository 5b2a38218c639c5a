// Boost.Fiber's view of a loop: the algorithm that it asks which context runs next. All decisions are in LoopImpl.
#pragma once

#include <boost/fiber/algo/algorithm.hpp>

#include "sanitizer.h"

namespace sisal::io {

class LoopImpl;

class Scheduler final : public boost::fibers::algo::algorithm {
 public:
  explicit Scheduler(LoopImpl& loop) : loop_(loop) {}

  void awakened(boost::fibers::context* context) noexcept override;
  // On the context that gives up the thread; nullptr (nothing is ready) only on the dispatcher.
  SISAL_NO_SANITIZE boost::fibers::context* pick_next() noexcept override;
  bool has_ready_fibers() const noexcept override;
  // On the dispatcher. The time is of Boost's timers, which we do not use.
  void suspend_until(const std::chrono::steady_clock::time_point&) noexcept override;
  // Boost calls it at shutdown only: wakes of ours go through the loop's inbox.
  void notify() noexcept override {}

  // From now on pick_next just gives the ready contexts away, for set_algo.
  void HandOver() { handing_over_ = true; }

 private:
  LoopImpl& loop_;
  bool handing_over_ = false;
};

}  // namespace sisal::io
