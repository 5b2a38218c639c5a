#include "timer_heap.h"

namespace sisal::io {

void TimerHeap::Add(internal::WaitNode& node, Instant deadline) {
  SISAL_CHECK(node.timer_index == SIZE_MAX);
  const Entry entry{deadline, next_sequence_++, &node};
  heap_.push_back(entry);
  SiftUp(heap_.size() - 1, entry);
}

void TimerHeap::Remove(internal::WaitNode& node) {
  const size_t index = node.timer_index;
  if (index == SIZE_MAX) return;
  node.timer_index = SIZE_MAX;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (index == heap_.size()) return;
  if (index > 0 && last < heap_[(index - 1) / 2]) {
    SiftUp(index, last);
  } else {
    SiftDown(index, last);
  }
}

void TimerHeap::Expire(Instant now) {
  while (!heap_.empty() && heap_.front().deadline <= now) {
    internal::WaitNode& node = *heap_.front().node;
    Remove(node);
    node.Wake(WaitResult::kTimedOut);
  }
}

void TimerHeap::SiftUp(size_t index, const Entry& entry) {
  while (index > 0) {
    const size_t parent = (index - 1) / 2;
    if (!(entry < heap_[parent])) break;
    Place(index, heap_[parent]);
    index = parent;
  }
  Place(index, entry);
}

void TimerHeap::SiftDown(size_t index, const Entry& entry) {
  for (;;) {
    size_t child = 2 * index + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1] < heap_[child]) ++child;
    if (!(heap_[child] < entry)) break;
    Place(index, heap_[child]);
    index = child;
  }
  Place(index, entry);
}

}  // namespace sisal::io
