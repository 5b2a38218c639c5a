// Stacks of one loop's fibers: mapped with a guard at the low end, and kept for the next fiber.
//
// Confined to the loop's thread. A guard page by madvise costs no mapping of its own (200,000 stacks); where the kernel
// lacks it, mprotect does, and about 32,000 stacks exhaust vm.max_map_count: then Take fails and the spawn waits.
#pragma once

#include <cstddef>
#include <vector>

namespace sisal::io {

class StackPool {
 public:
  explicit StackPool(size_t stack_bytes);
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  // The low end of usable_bytes() bytes, or nullptr if the system has no more.
  void* Take();
  void Give(void* low_end);
  size_t usable_bytes() const { return usable_bytes_; }

 private:
  void Unmap(void* low_end);

  const size_t usable_bytes_;
  std::vector<void*> free_;
};

}  // namespace sisal::io
