#include "blocking_pool.h"

#include <pthread.h>

#include <system_error>

#include "sisal/base/simulation.h"
#include "sisal/io/runtime.h"

namespace sisal::io {

struct BlockingPool::Task {
  void (*invoke)(void*);
  void* body;
  Task* next = nullptr;
  internal::WaitNode waiter;
};

BlockingPool::~BlockingPool() {
  {
    std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void BlockingPool::RunErased(void (*invoke)(void*), void* body) {
  SISAL_NOT_SIMULATED("a system call on a file");
  if (!OnFiber()) {
    invoke(body);
    return;
  }
  Task task{.invoke = invoke, .body = body, .next = nullptr, .waiter = internal::WaitNode()};
  bool queued = true;
  {
    std::lock_guard guard(mutex_);
    if (queued_count_ >= idle_count_ && threads_.size() < thread_count_max_) {
      try {
        threads_.emplace_back([this] { ServeTasks(); });
      } catch (const std::system_error&) {
        queued = !threads_.empty();  // out of threads: those that run will do it, or else this one
      }
    }
    if (queued) {
      (last_ != nullptr ? last_->next : first_) = &task;
      last_ = &task;
      ++queued_count_;
    }
  }
  if (!queued) {
    invoke(body);
    return;
  }
  wake_.notify_one();
  static_cast<void>(task.waiter.Park(Interrupt{}));
}

void BlockingPool::ServeTasks() {
  ::pthread_setname_np(::pthread_self(), "sisal-io");
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_count_;
    wake_.wait(lock, [this] { return first_ != nullptr || stopping_; });
    --idle_count_;
    if (first_ == nullptr) return;
    Task* const task = first_;
    first_ = task->next;
    if (first_ == nullptr) last_ = nullptr;
    --queued_count_;
    lock.unlock();
    task->invoke(task->body);
    task->waiter.Wake();  // the task may be gone now
    lock.lock();
  }
}

}  // namespace sisal::io
