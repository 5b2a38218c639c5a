// Where fibers begin. The .cc is compiled without sanitizers: Boost's frames below the entry outlive announced
// switches.
#pragma once

#include <cstddef>

namespace sisal::io {

class StackPool;
namespace internal {
struct Fiber;
}

// Makes a context with the record `fiber` on `stack`, which goes back to the pool when it has ended. The scheduler's
// `awakened` sees it before this returns.
void StartFiber(internal::Fiber* fiber, StackPool& pool, void* stack);

// Defined in loop.cc: the life of a worker fiber.
void RunFiber(internal::Fiber& fiber) noexcept;

}  // namespace sisal::io
