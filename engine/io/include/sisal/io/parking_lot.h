// Waiting for a word that has no room for a queue: waiters stand in hashed buckets, by the word's address.
//
// Concurrency: thread-safe. The address is a name only; it is never read through, so the word may be gone at WakeAll.
// Latch order: a bucket's latch is innermost.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sisal/io/concurrency.h"

namespace sisal::io {

template <typename Policy = RealConcurrency>
class BasicParkingLot {
 public:
  // Waits for a WakeAll(address), unless must_wait() is false: it is asked where no WakeAll can come between its answer
  // and the wait, and it must leave a mark on the word by which a waker knows that it has to call WakeAll. May return
  // although nothing has changed. Suspends. Requires: the caller holds no latch.
  template <typename MustWait>
  void Park(const void* address, const MustWait& must_wait) {
    Bucket& bucket = BucketOf(address);
    Node node{address, nullptr, {}};
    bucket.latch.lock();
    const bool wait = must_wait();
    if (wait) {
      Node** end = &bucket.first;
      while (*end != nullptr) end = &(*end)->next;
      *end = &node;
    }
    bucket.latch.unlock();
    if (wait) node.waiter.Park();
  }

  void WakeAll(const void* address) {
    Bucket& bucket = BucketOf(address);
    Node* woken = nullptr;
    Node** woken_end = &woken;
    bucket.latch.lock();
    for (Node** at = &bucket.first; *at != nullptr;) {
      Node* const node = *at;
      if (node->address != address) {
        at = &node->next;
        continue;
      }
      *at = node->next;
      node->next = nullptr;
      *woken_end = node;
      woken_end = &node->next;
    }
    bucket.latch.unlock();
    while (woken != nullptr) {
      Node* const node = woken;
      woken = node->next;  // read first: the node lives on its waiter's stack
      node->waiter.Wake();
    }
  }

 private:
  struct Node {
    const void* address;
    Node* next;
    typename Policy::Waiter waiter;
  };
  struct alignas(64) Bucket {
    typename Policy::Latch latch;  // guards the list
    Node* first = nullptr;         // oldest first
  };
  static constexpr size_t kBuckets = Policy::kParkingBuckets;

  Bucket& BucketOf(const void* address) {
    // Fibonacci hashing: frames lie at regular distances.
    return buckets_[(reinterpret_cast<uintptr_t>(address) * 0x9E3779B97F4A7C15u >> 32) % kBuckets];
  }

  Bucket buckets_[kBuckets];
};

}  // namespace sisal::io
