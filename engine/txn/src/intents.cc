#include "intents.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <utility>

#include "sisal/base/check.h"
#include "sisal/base/simulation.h"

namespace sisal::txn {

// On the waiting fiber's stack.
struct IntentWaiter {
  enum class State { kWaiting, kGranted, kVictim };
  IntentOwner& owner;
  LockMode mode;
  Intent* intent = nullptr;
  bool upgrade = false;           // the owner holds it shared already
  State state = State::kWaiting;  // guarded by the stripe's latch, as what follows
  io::WaitList wake = {};         // of one node
  io::WaitList::Node node = io::WaitList::Node();
};

struct Intent {
  struct Holder {
    IntentOwner* owner;
    LockMode mode;
  };
  explicit Intent(const RowKeyView& view) : row(view), hash(view.Hash()) {}

  RowKey row;
  size_t hash;
  absl::InlinedVector<Holder, 1> holders;         // one exclusive, or any number of shared ones
  absl::InlinedVector<IntentWaiter*, 1> waiters;  // first come first, but for an upgrade
};

namespace {

using Holder = Intent::Holder;

Holder* FindHolder(Intent& intent, const IntentOwner& owner) {
  for (Holder& holder : intent.holders) {
    if (holder.owner == &owner) return &holder;
  }
  return nullptr;
}

// Keeps each holder's count of contended intents right while holders and waiters change.
class ContentionUpdate {
 public:
  explicit ContentionUpdate(Intent& intent) : intent_(intent) { Count(-1); }
  ~ContentionUpdate() { Count(1); }

 private:
  void Count(int sign) {
    if (intent_.waiters.empty()) return;
    for (Holder& holder : intent_.holders) {
      const bool only_itself = intent_.waiters.size() == 1 && &intent_.waiters[0]->owner == holder.owner;
      if (!only_itself) holder.owner->contended.fetch_add(static_cast<uint32_t>(sign), std::memory_order_relaxed);
    }
  }
  Intent& intent_;
};

// Whether the request could be granted if it were first in the queue.
bool Compatible(Intent& intent, const IntentOwner& owner, LockMode mode) {
  if (intent.holders.empty()) return true;
  if (const Holder* mine = FindHolder(intent, owner)) {
    return mine->mode == LockMode::kExclusive || mode == LockMode::kShared || intent.holders.size() == 1;
  }
  return mode == LockMode::kShared && intent.holders[0].mode == LockMode::kShared;
}

void Grant(Intent& intent, IntentOwner& owner, LockMode mode) {
  if (Holder* mine = FindHolder(intent, owner)) {
    if (mode == LockMode::kExclusive) mine->mode = mode;
  } else {
    intent.holders.push_back({&owner, mode});
  }
}

bool TryGrant(Intent& intent, IntentOwner& owner, LockMode mode) {
  const bool in_turn = intent.waiters.empty() || FindHolder(intent, owner) != nullptr;
  if (!in_turn || !Compatible(intent, owner, mode)) return false;
  ContentionUpdate update(intent);
  Grant(intent, owner, mode);
  return true;
}

// Requires: a ContentionUpdate is in force.
void GrantWaiters(Intent& intent) {
  while (!intent.waiters.empty()) {
    IntentWaiter& first = *intent.waiters.front();
    if (!Compatible(intent, first.owner, first.mode)) return;
    Grant(intent, first.owner, first.mode);
    intent.waiters.erase(intent.waiters.begin());
    first.state = IntentWaiter::State::kGranted;
    first.wake.WakeFirst();
  }
}

}  // namespace

size_t IntentTable::IntentHash::operator()(const std::unique_ptr<Intent>& intent) const { return intent->hash; }
RowKeyView IntentTable::IntentEqual::View(const std::unique_ptr<Intent>& intent) { return intent->row; }

IntentTable::IntentTable(const Clock& clock) : clock_(clock) {}
IntentTable::~IntentTable() = default;

Intent& IntentTable::FindOrInsert(Stripe& stripe, const RowKeyView& row) {
  const auto found = stripe.intents.find(row);
  if (found != stripe.intents.end()) return **found;
  return **stripe.intents.insert(std::make_unique<Intent>(row)).first;
}

void IntentTable::EraseIfUnused(Stripe& stripe, Intent& intent) {
  if (!intent.holders.empty() || !intent.waiters.empty()) return;
  constexpr size_t kKeptCapacity = 4096;
  stripe.intents.erase(stripe.intents.find(RowKeyView(intent.row)));
  if (stripe.intents.empty() && stripe.intents.capacity() > kKeptCapacity) stripe.intents.rehash(0);
}

IntentResult IntentTable::Acquire(IntentOwner& owner, const RowKeyView& row, LockMode mode, LockWait wait,
                                  const io::Interrupt& interrupt) {
  Stripe& stripe = StripeOf(row);
  Intent* intent = nullptr;
  bool held_before = false;
  {
    std::lock_guard lock(stripe.latch);
    intent = &FindOrInsert(stripe, row);
    held_before = FindHolder(*intent, owner) != nullptr;
    if (!TryGrant(*intent, owner, mode)) intent = nullptr;
  }
  if (intent == nullptr) {
    if (wait == LockWait::kNoWait) return IntentResult::kBusy;
    IntentWaiter waiter{.owner = owner, .mode = mode, .upgrade = held_before};
    const IntentResult result = Wait(stripe, row, waiter, interrupt);
    if (result != IntentResult::kGranted) return result;
    intent = waiter.intent;
  }
  if (!held_before) {
    owner.held.push_back(intent);
    owner.held_bytes += sizeof(Intent) + row.key.size() + 2 * sizeof(void*);
  }
  return IntentResult::kGranted;
}

IntentResult IntentTable::Wait(Stripe& stripe, const RowKeyView& row, IntentWaiter& waiter,
                               const io::Interrupt& interrupt) {
  {
    std::lock_guard graph(graph_latch_);
    if (!Enqueue(stripe, row, waiter)) return IntentResult::kGranted;
    BreakDeadlocks(waiter.owner.id);
  }
  const Instant start = clock_.Now();
  const io::WaitResult woken = waiter.node.Park(interrupt);
  CountWait(clock_.Now() - start);

  std::lock_guard graph(graph_latch_);
  blocked_.erase(waiter.owner.id);
  std::lock_guard lock(stripe.latch);
  switch (waiter.state) {
    case IntentWaiter::State::kGranted:
      return IntentResult::kGranted;
    case IntentWaiter::State::kVictim:
      return IntentResult::kDeadlock;
    case IntentWaiter::State::kWaiting:
      break;
  }
  SISAL_CHECK(woken != io::WaitResult::kWoken);
  waiter.wake.Remove(waiter.node);
  Unlink(waiter, /*victim=*/false);
  EraseIfUnused(stripe, *waiter.intent);
  return woken == io::WaitResult::kTimedOut ? IntentResult::kTimedOut : IntentResult::kCancelled;
}

bool IntentTable::Enqueue(Stripe& stripe, const RowKeyView& row, IntentWaiter& waiter) {
  std::lock_guard lock(stripe.latch);
  Intent& intent = FindOrInsert(stripe, row);
  waiter.intent = &intent;
  if (TryGrant(intent, waiter.owner, waiter.mode)) return false;
  ContentionUpdate update(intent);
  intent.waiters.insert(waiter.upgrade ? intent.waiters.begin() : intent.waiters.end(), &waiter);
  waiter.wake.Add(waiter.node);
  blocked_.emplace(waiter.owner.id, Blocked{&stripe, &waiter});
  return true;
}

void IntentTable::Unlink(IntentWaiter& waiter, bool victim) {
  Intent& intent = *waiter.intent;
  ContentionUpdate update(intent);
  intent.waiters.erase(std::find(intent.waiters.begin(), intent.waiters.end(), &waiter));
  GrantWaiters(intent);
  if (!victim) return;
  waiter.state = IntentWaiter::State::kVictim;
  waiter.wake.WakeFirst();
}

void IntentTable::BreakDeadlocks(TxnId waiter) {
  if (SISAL_PLANTED(kDeadlockNoVictim)) return;
  while (true) {
    const std::vector<TxnId> cycle = FindCycle(waiter);
    if (cycle.empty()) return;
    const TxnId victim = *std::max_element(cycle.begin(), cycle.end());  // the youngest has done least
    const auto found = blocked_.find(victim);
    {
      std::lock_guard lock(found->second.stripe->latch);
      Unlink(*found->second.waiter, /*victim=*/true);
    }
    // Its intent has holders still, but they may let go before it has woken: nobody may follow it from here on.
    blocked_.erase(found);
    if (SISAL_PLANTED(kDeadlockTwoVictims) && victim != cycle[0]) {
      const auto other = blocked_.find(cycle[0]);
      std::lock_guard lock(other->second.stripe->latch);
      Unlink(*other->second.waiter, /*victim=*/true);
    }
    deadlocks_.fetch_add(1, std::memory_order_relaxed);
    if (victim == waiter) return;
  }
}

std::vector<TxnId> IntentTable::FindCycle(TxnId start) const {
  struct Step {
    TxnId txn;
    std::vector<TxnId> blockers;
    size_t next = 0;
  };
  absl::flat_hash_set<TxnId> visited = {start};
  std::vector<Step> path;
  path.push_back({start, Blockers(start)});
  while (!path.empty()) {
    Step& step = path.back();
    if (step.next == step.blockers.size()) {
      path.pop_back();
      continue;
    }
    const TxnId blocker = step.blockers[step.next++];
    if (blocker == start) {
      std::vector<TxnId> cycle;
      for (const Step& on_path : path) cycle.push_back(on_path.txn);
      return cycle;
    }
    if (visited.insert(blocker).second) path.push_back({blocker, Blockers(blocker)});
  }
  return {};
}

std::vector<TxnId> IntentTable::Blockers(TxnId txn) const {
  std::vector<TxnId> blockers;
  const auto found = blocked_.find(txn);
  if (found == blocked_.end()) return blockers;
  const IntentWaiter& waiter = *found->second.waiter;
  std::lock_guard lock(found->second.stripe->latch);
  if (waiter.state != IntentWaiter::State::kWaiting) return blockers;
  for (const Holder& holder : waiter.intent->holders) {
    if (holder.owner != &waiter.owner) blockers.push_back(holder.owner->id);
  }
  return blockers;
}

void IntentTable::ReleaseAll(IntentOwner& owner) {
  for (Intent* intent : owner.held) {
    Stripe& stripe = stripes_[StripeIndex(intent->hash)];
    std::lock_guard lock(stripe.latch);
    {
      ContentionUpdate update(*intent);
      Holder* mine = FindHolder(*intent, owner);
      SISAL_CHECK(mine != nullptr);
      intent->holders.erase(intent->holders.begin() + (mine - intent->holders.data()));
      GrantWaiters(*intent);
    }
    EraseIfUnused(stripe, *intent);
  }
  owner.held.clear();
  owner.held_bytes = 0;
}

bool IntentTable::Holds(const IntentOwner& owner, const RowKeyView& row, LockMode mode) const {
  const Stripe& stripe = stripes_[StripeIndex(row.Hash())];
  std::lock_guard lock(stripe.latch);
  const auto found = stripe.intents.find(row);
  if (found == stripe.intents.end()) return false;
  const Holder* mine = FindHolder(**found, owner);
  return mine != nullptr && (mode == LockMode::kShared || mine->mode == LockMode::kExclusive);
}

void IntentTable::CountWait(Duration waited) {
  const uint64_t us = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(waited).count());
  waits_.fetch_add(1, std::memory_order_relaxed);
  wait_us_sum_.fetch_add(us, std::memory_order_relaxed);
  const size_t bucket = std::min<size_t>(std::bit_width(us), wait_us_pow2_.size() - 1);  // below 1 us << bucket
  wait_us_pow2_[bucket].fetch_add(1, std::memory_order_relaxed);
}

IntentStats IntentTable::Stats() const {
  IntentStats stats;
  stats.deadlocks = deadlocks_.load(std::memory_order_relaxed);
  stats.waits = waits_.load(std::memory_order_relaxed);
  stats.wait_us_sum = wait_us_sum_.load(std::memory_order_relaxed);
  for (size_t i = 0; i < wait_us_pow2_.size(); ++i)
    stats.wait_us_pow2[i] = wait_us_pow2_[i].load(std::memory_order_relaxed);
  return stats;
}

bool IntentTable::empty() const {
  for (const Stripe& stripe : stripes_) {
    std::lock_guard lock(stripe.latch);
    if (!stripe.intents.empty()) return false;
  }
  return true;
}

}  // namespace sisal::txn
