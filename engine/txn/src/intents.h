// Row intents: a transaction's claims on rows, by (tree, key), in memory only.
//
// Strict FIFO: a request waits behind every earlier one, compatible or not; only an upgrade from shared to exclusive
// goes to the front. Whoever is about to wait looks for a cycle through itself under the graph latch; nobody can begin
// or give up waiting meanwhile, so a cycle that is found is real, and it costs exactly one victim: the youngest. A
// waiter counts as waiting for the intent's holders only: those before it in the queue wait for the same holders and
// for nobody else, so following them finds no other cycle, and a long queue costs no more than a short one.
//
// A request:      -> granted                  Acquire, at once
//                 -> waiting -> granted       GrantWaiters
//                            -> victim        FindDeadlock, in any fiber that begins to wait
//                            -> gone          Acquire, after a timeout or a cancel
//
// Concurrency: thread-safe. Latch order: graph latch, then one stripe; wakes happen inside.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "row_key.h"
#include "sisal/base/clock.h"
#include "sisal/base/ids.h"
#include "sisal/io/sync.h"
#include "sisal/txn/transaction.h"

namespace sisal::txn {

struct Intent;
struct IntentWaiter;

// What a transaction holds. Confined to it, but for `contended`.
struct IntentOwner {
  explicit IntentOwner(TxnId txn) : id(txn) {}

  const TxnId id;
  std::vector<Intent*> held;
  uint64_t held_bytes = 0;
  std::atomic<uint32_t> contended{0};  // intents of ours for which others wait
};

struct IntentStats {
  uint64_t deadlocks = 0, waits = 0, wait_us_sum = 0;
  uint64_t wait_us_pow2[24] = {};
};

enum class IntentResult { kGranted, kBusy, kDeadlock, kTimedOut, kCancelled };

class IntentTable {
 public:
  static constexpr size_t kStripeCount = 256;

  explicit IntentTable(const Clock& clock);
  ~IntentTable();

  // kBusy: LockWait::kNoWait, and somebody holds it or waits for it. Suspends.
  IntentResult Acquire(IntentOwner& owner, const RowKeyView& row, LockMode mode, LockWait wait,
                       const io::Interrupt& interrupt);
  // Gives all of the owner's intents back and wakes who comes next.
  void ReleaseAll(IntentOwner& owner);

  bool Holds(const IntentOwner& owner, const RowKeyView& row, LockMode mode) const;
  IntentStats Stats() const;
  // No intent is held and nobody waits: tests, at the end.
  bool empty() const;

 private:
  struct IntentHash {
    using is_transparent = void;
    size_t operator()(const RowKeyView& row) const { return row.Hash(); }
    size_t operator()(const std::unique_ptr<Intent>& intent) const;
  };
  struct IntentEqual {
    using is_transparent = void;
    static RowKeyView View(const std::unique_ptr<Intent>& intent);
    static const RowKeyView& View(const RowKeyView& row) { return row; }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return View(a) == View(b);
    }
  };
  struct alignas(64) Stripe {
    mutable io::SpinLatch latch;  // guards all below and the intents in it
    absl::flat_hash_set<std::unique_ptr<Intent>, IntentHash, IntentEqual> intents;
  };

  struct Blocked {
    Stripe* stripe;
    IntentWaiter* waiter;
  };

  // The upper bits: the table inside the stripe uses the lower ones.
  static size_t StripeIndex(size_t hash) { return hash >> 56; }
  Stripe& StripeOf(const RowKeyView& row) { return stripes_[StripeIndex(row.Hash())]; }

  // The caller holds the stripe's latch in these three.
  static Intent& FindOrInsert(Stripe& stripe, const RowKeyView& row);
  static void EraseIfUnused(Stripe& stripe, Intent& intent);
  static void Unlink(IntentWaiter& waiter, bool victim);

  // Queues up and parks. Suspends.
  IntentResult Wait(Stripe& stripe, const RowKeyView& row, IntentWaiter& waiter, const io::Interrupt& interrupt);
  // The caller holds the graph latch and no stripe in these four.
  // False: `waiter` was granted at once.
  bool Enqueue(Stripe& stripe, const RowKeyView& row, IntentWaiter& waiter);
  // Ends one wait of each cycle that goes through the waiter.
  void BreakDeadlocks(TxnId waiter);
  // A path from `start` along waits back to it; empty: none.
  std::vector<TxnId> FindCycle(TxnId start) const;
  // Whom a blocked transaction waits for; empty if it was granted meanwhile.
  std::vector<TxnId> Blockers(TxnId txn) const;

  void CountWait(Duration waited);

  const Clock& clock_;
  std::array<Stripe, kStripeCount> stripes_;

  io::SpinLatch graph_latch_;  // guards blocked_
  absl::flat_hash_map<TxnId, Blocked> blocked_;

  std::atomic<uint64_t> deadlocks_{0}, waits_{0}, wait_us_sum_{0};
  std::array<std::atomic<uint64_t>, 24> wait_us_pow2_{};
};

}  // namespace sisal::txn
