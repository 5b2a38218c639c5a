// What other threads hand to a loop: wakes, spawns, the request to stop. Many producers, one consumer.
#pragma once

#include <atomic>
#include <cstdint>

namespace sisal::io {

struct InboxItem {
  enum class Kind : uint8_t { kWake, kSpawn, kStop };
  explicit InboxItem(Kind item_kind) : kind(item_kind) {}
  const Kind kind;
  InboxItem* next_item = nullptr;
  int64_t pushed_ticks = 0;
};

// A stack that the consumer takes as a whole and reverses: one compare-and-set per push, one exchange per drain.
class Inbox {
 public:
  // Sequentially consistent, like the loop's sleeping flag: either the pusher sees the flag, or the loop sees the item.
  void Push(InboxItem& item) {
    InboxItem* head = head_.load(std::memory_order_relaxed);
    do {
      item.next_item = head;
    } while (!head_.compare_exchange_weak(head, &item, std::memory_order_seq_cst, std::memory_order_relaxed));
  }
  bool empty() const { return head_.load(std::memory_order_seq_cst) == nullptr; }
  // All items, oldest first, linked by next_item.
  InboxItem* TakeAll() {
    if (head_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    InboxItem* newest = head_.exchange(nullptr, std::memory_order_acquire);
    InboxItem* oldest = nullptr;
    while (newest != nullptr) {
      InboxItem* const next = newest->next_item;
      newest->next_item = oldest;
      oldest = newest;
      newest = next;
    }
    return oldest;
  }

 private:
  alignas(64) std::atomic<InboxItem*> head_{nullptr};
};

}  // namespace sisal::io
