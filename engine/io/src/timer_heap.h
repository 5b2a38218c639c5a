// The timers of one loop: a binary heap of waits by deadline. Boost's own timers read the real clock and are not used.
//
// Confined to the loop's thread. Equal deadlines go in the order of their adding, so that a run can be repeated.
#pragma once

#include <vector>

#include "sisal/base/clock.h"
#include "sisal/io/sync.h"

namespace sisal::io {

class TimerHeap {
 public:
  bool empty() const { return heap_.empty(); }
  // Requires: !empty().
  Instant earliest() const { return heap_.front().deadline; }
  // Requires: the node is in no heap.
  void Add(internal::WaitNode& node, Instant deadline);
  // Nothing if it is not in the heap.
  void Remove(internal::WaitNode& node);
  // Ends all waits whose deadline has come.
  void Expire(Instant now);

 private:
  struct Entry {
    Instant deadline;
    uint64_t sequence;
    internal::WaitNode* node;
    bool operator<(const Entry& other) const {
      return deadline != other.deadline ? deadline < other.deadline : sequence < other.sequence;
    }
  };
  void Place(size_t index, const Entry& entry) {
    heap_[index] = entry;
    entry.node->timer_index = index;
  }
  void SiftUp(size_t index, const Entry& entry);
  void SiftDown(size_t index, const Entry& entry);

  std::vector<Entry> heap_;
  uint64_t next_sequence_ = 0;
};

}  // namespace sisal::io
