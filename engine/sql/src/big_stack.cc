#include "big_stack.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <memory>
#include <new>

#if defined(SISAL_ASAN)
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(SISAL_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace sisal::sql {
namespace {

#if defined(SISAL_ASAN) || defined(SISAL_TSAN)
constexpr size_t kStackBytes = size_t{512} << 20;  // instrumented frames are several times as large
#else
constexpr size_t kStackBytes = size_t{64} << 20;
#endif
constexpr size_t kKeptBytes = size_t{256} << 10;  // committed memory that TrimBigStack leaves

struct Stack {
  ~Stack() {
#if defined(SISAL_TSAN)
    if (fiber != nullptr) __tsan_destroy_fiber(fiber);
#endif
    if (bottom != nullptr) munmap(bottom, kStackBytes);
  }
  bool Map() {
    void* memory =
        mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    bottom = static_cast<char*>(memory);
    return mprotect(bottom, static_cast<size_t>(sysconf(_SC_PAGESIZE)), PROT_NONE) == 0;
  }

  char* bottom = nullptr;
  bool running = false;
  ucontext_t caller, callee;
  const std::function<Status()>* body = nullptr;
  Status outcome;
#if defined(SISAL_TSAN)
  void* fiber = nullptr;
  void* caller_fiber = nullptr;
#elif defined(SISAL_ASAN)
  const void* caller_bottom = nullptr;
  size_t caller_bytes = 0;
#endif
};

// Nothing suspends between the look-up and the last use, so the thread stays the same.
thread_local std::unique_ptr<Stack> thread_stack;

void RunBody(Stack& stack) {
  // The edge at which exceptions of allocations end: none may leave this stack.
  try {
    stack.outcome = (*stack.body)();
  } catch (const std::bad_alloc&) {
    stack.outcome = Error("53200", "out of memory");
  } catch (const std::exception& failure) {
    stack.outcome = Error("XX000", std::string("unexpected failure while a statement was analyzed: ") + failure.what());
  }
}

void Enter() {
  Stack& stack = *thread_stack;
#if defined(SISAL_ASAN)
  __sanitizer_finish_switch_fiber(nullptr, &stack.caller_bottom, &stack.caller_bytes);
#endif
  RunBody(stack);
#if defined(SISAL_ASAN)
  __sanitizer_start_switch_fiber(nullptr, stack.caller_bottom, stack.caller_bytes);
#elif defined(SISAL_TSAN)
  __tsan_switch_to_fiber(stack.caller_fiber, 0);
#endif
  swapcontext(&stack.callee, &stack.caller);
}

}  // namespace

Status RunOnBigStack(const std::function<Status()>& body) {
  if (thread_stack != nullptr && thread_stack->running) return body();
  if (thread_stack == nullptr) {
    auto created = std::make_unique<Stack>();
    if (!created->Map()) return Error("53200", "out of memory: no address space for the parser's stack");
    thread_stack = std::move(created);
  }
  Stack& stack = *thread_stack;
  stack.body = &body;
  stack.running = true;
  getcontext(&stack.callee);
  stack.callee.uc_stack.ss_sp = stack.bottom;
  stack.callee.uc_stack.ss_size = kStackBytes;
  stack.callee.uc_link = nullptr;
  makecontext(&stack.callee, Enter, 0);
#if defined(SISAL_ASAN)
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, stack.bottom, kStackBytes);
#elif defined(SISAL_TSAN)
  if (stack.fiber != nullptr) __tsan_destroy_fiber(stack.fiber);
  stack.fiber = __tsan_create_fiber(0);
  stack.caller_fiber = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(stack.fiber, 0);
#endif
  swapcontext(&stack.caller, &stack.callee);
#if defined(SISAL_ASAN)
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
  stack.running = false;
  stack.body = nullptr;
  return std::move(stack.outcome);
}

void TrimBigStack() {
  if (thread_stack == nullptr || thread_stack->running) return;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  madvise(thread_stack->bottom + page, kStackBytes - page - kKeptBytes, MADV_DONTNEED);
}

}  // namespace sisal::sql
