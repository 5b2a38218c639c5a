// Threads that make the blocking system calls for fibers: metadata calls always, reads and writes where io_uring is
// refused.
//
// Thread-safe. Threads start on demand, up to the limit, and stay.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "sisal/io/sync.h"

namespace sisal::io {

class BlockingPool {
 public:
  explicit BlockingPool(size_t thread_count_max) : thread_count_max_(thread_count_max) {}
  ~BlockingPool();

  // Runs `work` on a thread of the pool, and returns when it has returned. On a plain thread it runs in place, and
  // blocks. Suspends.
  template <typename Work>
  void Run(Work&& work) {
    using Body = std::remove_reference_t<Work>;
    RunErased([](void* body) { (*static_cast<Body*>(body))(); }, &work);
  }

 private:
  struct Task;
  void RunErased(void (*invoke)(void*), void* body);
  void ServeTasks();

  const size_t thread_count_max_;
  std::mutex mutex_;  // guards all below; never held across a suspension
  std::condition_variable wake_;
  Task* first_ = nullptr;
  Task* last_ = nullptr;
  size_t idle_count_ = 0;
  size_t queued_count_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace sisal::io
