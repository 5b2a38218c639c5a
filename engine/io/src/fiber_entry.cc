#include "fiber_entry.h"

#include <boost/fiber/fiber.hpp>

#include "fiber.h"
#include "stack_pool.h"

namespace sisal::io {
namespace {

// A StackAllocator of Boost's whose one stack was taken beforehand, so that it cannot fail.
struct TakenStack {
  boost::context::stack_context allocate() {
    boost::context::stack_context context;
    context.size = pool->usable_bytes();
    context.sp = static_cast<char*>(low_end) + context.size;
    return context;
  }
  void deallocate(boost::context::stack_context& context) noexcept {
    pool->Give(static_cast<char*>(context.sp) - context.size);
  }
  StackPool* pool;
  void* low_end;
};

struct Entry {
  SISAL_NO_SANITIZE void operator()() const {
    CompleteSwitch(fiber->sanitizer);
    RunFiber(*fiber);
  }
  internal::Fiber* fiber;
};

}  // namespace

void StartFiber(internal::Fiber* fiber, StackPool& pool, void* stack) {
  boost::fibers::fiber(boost::fibers::launch::post, static_cast<boost::fibers::fiber_properties*>(fiber),
                       std::allocator_arg, TakenStack{&pool, stack}, Entry{fiber})
      .detach();
}

}  // namespace sisal::io
