// The scheduler's record of one context of Boost's: a fiber, a thread's main context, or the dispatcher.
//
// Boost owns the record (as the context's properties) and deletes it with the context. Confined to the loop's thread;
// other threads see only `loop`, and the inbox part once they have won the wake.
#pragma once

#include <boost/fiber/properties.hpp>
#include <cstring>
#include <functional>
#include <string_view>

#include "inbox.h"
#include "sanitizer.h"
#include "sisal/io/runtime.h"

namespace sisal::io {

class LoopImpl;

// The C++ runtime's per-thread record of exceptions in flight (__cxa_eh_globals of the Itanium ABI). Boost.Context
// before 1.88 does not switch it with the fiber.
struct ExceptionState {
  void* caught = nullptr;
  unsigned int uncaught_count = 0;
};

struct FiberName {
  static constexpr size_t kLengthMax = 39;
  FiberName() = default;
  explicit FiberName(std::string_view name) : length(static_cast<uint8_t>(std::min(name.size(), kLengthMax))) {
    std::memcpy(text, name.data(), length);
  }
  std::string_view view() const { return {text, length}; }
  char text[kLengthMax] = {};
  uint8_t length = 0;
};

// What a fiber is to run.
struct Job {
  std::function<void()> body;
  FiberName name;
  Priority priority = Priority::kNormal;
};

namespace internal {

struct Fiber final : boost::fibers::fiber_properties, InboxItem {
  enum class Role : uint8_t { kMain, kDispatcher, kWorker };

  Fiber(LoopImpl& owner, Role fiber_role, boost::fibers::context* context);
  ~Fiber() override;
  boost::fibers::context* context() const { return ctx_; }

  LoopImpl* loop;
  const Role role;
  uint64_t serial = 0;              // in a simulation: its number, in the order of making
  uint64_t simulated_priority = 0;  // of SimulationMode::kPriorities
  bool ending = false;              // its function has returned: nothing of it may be kept
  Fiber* next_ready = nullptr;      // in a ready list or in the list of idle fibers
  int64_t woken_ticks = 0;          // when another thread woke it; 0: none did
  Job job;                          // of a worker; an idle one has no body
  ExceptionState exceptions;        // while it does not run
  SanitizerState sanitizer;
};

}  // namespace internal
}  // namespace sisal::io
