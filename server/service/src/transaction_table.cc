#include "sisal/service/transaction_table.h"

#include <algorithm>
#include <mutex>

#include "sisal/base/check.h"

namespace sisal::service {
namespace {

using Guard = std::lock_guard<io::SpinLatch>;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

std::string Milliseconds(Duration duration) {
  return std::to_string(duration_cast<milliseconds>(duration).count()) + " ms";
}

Error TooMany(std::string message, std::string limit, uint64_t value) {
  return Error{"53400", std::move(message)}.WithLimit(std::move(limit), value);
}

}  // namespace

std::string TransactionTable::KeyOf(std::string_view principal, std::string_view key) {
  return std::string(principal) + '\0' + std::string(key);
}

Status TransactionTable::CheckRoom() const {
  const Guard guard(latch_);
  if (open_count_ < limits_.transactions_max) return Status();
  return TooMany("too many open transactions", "transactions_count", limits_.transactions_max);
}

Result<TransactionTable::Lease> TransactionTable::Create(std::unique_ptr<db::Session>& session, CreateOptions options,
                                                         io::CancelToken* running) {
  SISAL_RETURN_IF_ERROR(CheckRoom());
  const Instant now = clock_.Now();
  auto entry = std::make_shared<TransactionEntry>();
  entry->tag = std::move(options.tag);
  entry->principal = std::move(options.principal);
  entry->idempotency_key = std::move(options.idempotency_key);
  entry->fingerprint = std::move(options.fingerprint);
  entry->start_wall_micros = clock_.WallMicros();
  entry->idle_timeout = options.idle_timeout.value_or(limits_.idle);
  entry->lifetime_end = now + options.lifetime.value_or(limits_.lifetime);
  entry->durability = options.durability;
  entry->statement_rollback = options.statement_rollback;
  entry->session = std::move(session);
  entry->running = running;
  entry->idle_since = now;
  {
    const Guard guard(latch_);
    entry->number = next_number_++;
  }
  entry->handle = codec_.Encode(HandleKind::kTransaction, entry->number, entry->principal);
  const Guard guard(latch_);
  entries_.emplace(entry->number, entry);
  if (!entry->idempotency_key.empty()) by_key_[KeyOf(entry->principal, entry->idempotency_key)] = entry->number;
  ++open_count_;
  return Lease(this, std::move(entry));
}

Result<TransactionTable::EntryPtr> TransactionTable::Find(std::string_view handle, std::string_view principal) const {
  SISAL_ASSIGN_OR_RETURN(const uint64_t number, codec_.Decode(HandleKind::kTransaction, handle, principal));
  const Guard guard(latch_);
  const auto found = entries_.find(number);
  if (found != entries_.end()) return found->second;
  return Error{"02000", "the transaction ended so long ago that its outcome is no longer kept"};
}

// Requires: the latch is held.
Error TransactionTable::EndedError(const TransactionEntry& entry) const {
  switch (entry.ending.phase) {
    case wire::Phase::kCommitted:
      return Error{"25P01", "the transaction has been committed"};
    case wire::Phase::kCommitting:
      return *entry.ending.cause;
    default:
      break;
  }
  if (!entry.ending.cause.has_value()) return Error{"25P03", "the transaction was rolled back by its client"};
  Error error{"25P03", "the transaction was rolled back: " + entry.ending.cause->message()};
  return error;
}

Result<TransactionTable::Lease> TransactionTable::Acquire(std::string_view handle, std::string_view principal,
                                                          const io::Interrupt& interrupt) {
  Result<EntryPtr> found = Find(handle, principal);
  if (!found.ok()) {
    // To a caller that wants to go on, a transaction that is no longer kept is one that it has lost.
    if (found.error().sqlstate() != "02000") return std::move(found).error();
    return Error{"25P03", "the transaction ended: its lease had expired, or it was ended by its client"};
  }
  EntryPtr entry = *std::move(found);
  std::optional<io::WaitList::Node> node;  // made outside the latch, and only by those that wait
  while (true) {
    std::unique_lock<io::SpinLatch> lock(latch_);
    if (entry->ended) return EndedError(*entry);
    if (!entry->in_use) {
      entry->in_use = true;
      entry->running = interrupt.cancel;
      entry->blocking_since.reset();
      return Lease(this, std::move(entry));
    }
    if (entry->waiting >= limits_.queue_max) {
      lock.unlock();
      return TooMany("too many calls wait for this transaction", "calls_per_transaction_count", limits_.queue_max);
    }
    if (node.has_value()) {
      ++entry->waiting;
      entry->queue.Add(*node);
      break;
    }
    lock.unlock();
    node.emplace();
  }
  const io::WaitResult result = node->Park(interrupt);
  {
    const Guard guard(latch_);
    const bool granted = result == io::WaitResult::kWoken || !entry->queue.Remove(*node);
    --entry->waiting;
    if (granted && entry->ended) return EndedError(*entry);  // End woke all
    if (granted) {
      entry->running = interrupt.cancel;
      return Lease(this, std::move(entry));
    }
  }
  if (interrupt.cancel != nullptr) SISAL_RETURN_IF_ERROR(interrupt.cancel->Check());
  return Error{"57014", "canceling statement due to statement timeout"};
}

void TransactionTable::Release(TransactionEntry& entry) {
  std::optional<Error> kill_cause;
  {
    const Guard guard(latch_);
    if (entry.ended) return;
    entry.running = nullptr;
    entry.failed = entry.session->phase() == db::TransactionPhase::kFailed;
    kill_cause = entry.kill_cause;
    if (!kill_cause.has_value()) {
      entry.idle_since = clock_.Now();
      if (!entry.queue.WakeFirst()) entry.in_use = false;  // else the woken one has it
      return;
    }
  }
  EndInUse(entry, {wire::Phase::kRolledBack, std::move(kill_cause), {}});
}

void TransactionTable::End(Lease& lease, Ending ending) { EndInUse(*lease, std::move(ending)); }

void TransactionTable::EndInUse(TransactionEntry& entry, Ending ending) {
  entry.held.reset();
  entry.session.reset();
  const Guard guard(latch_);
  SISAL_CHECK(!entry.ended);
  entry.ended = true;
  entry.ended_at = clock_.Now();
  entry.ending = std::move(ending);
  entry.running = nullptr;
  if (!entry.idempotency_key.empty()) by_key_.erase(KeyOf(entry.principal, entry.idempotency_key));
  --open_count_;
  entry.queue.WakeAll();
  tombstones_.push_back(entries_.at(entry.number));
}

Result<TransactionTable::Known> TransactionTable::Look(std::string_view handle, std::string_view principal) const {
  SISAL_ASSIGN_OR_RETURN(const EntryPtr entry, Find(handle, principal));
  const Guard guard(latch_);
  if (entry->ended) return Known{entry->ending, 0};
  const wire::Phase phase = entry->failed ? wire::Phase::kFailed : wire::Phase::kActive;
  return Known{{phase, std::nullopt, {}}, ExpiresInMs(*entry)};
}

std::string TransactionTable::FindByKey(std::string_view principal, std::string_view key,
                                        std::string& fingerprint) const {
  const Guard guard(latch_);
  const auto number = by_key_.find(KeyOf(principal, key));
  if (number == by_key_.end()) return {};
  const TransactionEntry& entry = *entries_.at(number->second);
  fingerprint = entry.fingerprint;
  return entry.handle;
}

uint32_t TransactionTable::ExpiresInMs(const TransactionEntry& entry) const {
  // While a call runs the lease counts from its end, so a client hears the full time.
  const Instant now = clock_.Now();
  const Instant idle_end = (entry.in_use ? now : entry.idle_since) + entry.idle_timeout;
  const Duration left = std::min(idle_end, entry.lifetime_end) - now;
  return left.count() <= 0 ? 1 : static_cast<uint32_t>(duration_cast<milliseconds>(left).count());
}

// Requires: the caller uses the entry, which was idle.
std::optional<Error> TransactionTable::ExpiryOf(TransactionEntry& entry, Instant now) {
  if (now >= entry.lifetime_end) {
    counters_.lifetime_expired.fetch_add(1, std::memory_order_relaxed);
    return Error{"25P04", "its lifetime has passed"};
  }
  if (now >= entry.idle_since + entry.idle_timeout) {
    counters_.idle_expired.fetch_add(1, std::memory_order_relaxed);
    return Error{"25P03", "its idle lease of " + Milliseconds(entry.idle_timeout) + " has expired"};
  }
  txn::Transaction* transaction = entry.session->transaction();
  if (transaction == nullptr || !transaction->blocks_others()) {
    entry.blocking_since.reset();
    return std::nullopt;
  }
  if (!entry.blocking_since.has_value()) entry.blocking_since = now;
  if (now < *entry.blocking_since + limits_.blocking) return std::nullopt;
  counters_.blocking_expired.fetch_add(1, std::memory_order_relaxed);
  return Error{"25P03", "it was idle for " + Milliseconds(limits_.blocking) + " while others waited for its locks"};
}

std::vector<TransactionTable::EntryPtr> TransactionTable::OpenEntries() const {
  std::vector<EntryPtr> open;
  const Guard guard(latch_);
  open.reserve(open_count_);
  for (const auto& [number, entry] : entries_) {
    if (!entry->ended) open.push_back(entry);
  }
  return open;
}

bool TransactionTable::TakeIdle(TransactionEntry& entry) {
  const Guard guard(latch_);
  if (entry.ended || entry.in_use) return false;
  entry.in_use = true;
  return true;
}

void TransactionTable::GiveBack(TransactionEntry& entry) {
  const Guard guard(latch_);
  if (!entry.queue.WakeFirst()) entry.in_use = false;
}

void TransactionTable::EndLifetime(TransactionEntry& entry, Instant now) {
  const Guard guard(latch_);
  if (entry.ended || !entry.in_use || now < entry.lifetime_end || entry.kill_cause.has_value()) return;
  // The call's own error then says why; its transaction ends when it lets go.
  entry.kill_cause = Error{"25P04", "its lifetime has passed"};
  if (entry.running != nullptr) {
    entry.running->Cancel(Error{"25P04", "terminating statement: the transaction's lifetime has passed"});
  }
  counters_.lifetime_expired.fetch_add(1, std::memory_order_relaxed);
}

void TransactionTable::Sweep() {
  for (const EntryPtr& entry : OpenEntries()) {
    const Instant now = clock_.Now();
    if (!TakeIdle(*entry)) {
      EndLifetime(*entry, now);
      continue;
    }
    std::optional<Error> cause = ExpiryOf(*entry, now);
    if (cause.has_value()) {
      EndInUse(*entry, {wire::Phase::kRolledBack, std::move(cause), {}});
    } else {
      GiveBack(*entry);
    }
  }
  PurgeTombstones(clock_.Now());
}

void TransactionTable::RollbackFailed(const Error& cause) {
  for (const EntryPtr& entry : OpenEntries()) {
    if (!TakeIdle(*entry)) continue;
    // A failed session keeps its engine transaction for as long as it may go back to a savepoint.
    if (entry->session->phase() == db::TransactionPhase::kFailed && entry->session->transaction() == nullptr) {
      EndInUse(*entry, {wire::Phase::kRolledBack, cause, {}});
    } else {
      GiveBack(*entry);
    }
  }
}

void TransactionTable::PurgeTombstones(Instant now) {
  std::vector<EntryPtr> gone;  // freed outside the latch
  const Guard guard(latch_);
  while (!tombstones_.empty() &&
         (now >= tombstones_.front()->ended_at + limits_.tombstone || tombstones_.size() > limits_.tombstones_max)) {
    entries_.erase(tombstones_.front()->number);
    gone.push_back(std::move(tombstones_.front()));
    tombstones_.pop_front();
  }
}

Status TransactionTable::Kill(std::string_view handle, std::string_view principal) {
  SISAL_ASSIGN_OR_RETURN(const EntryPtr entry, Find(handle, principal));
  const Error cause{"57P01", "it was ended by an administrator"};
  {
    const Guard guard(latch_);
    if (entry->ended) return Status();
    counters_.killed.fetch_add(1, std::memory_order_relaxed);
    if (entry->in_use) {
      entry->kill_cause = cause;
      if (entry->running != nullptr) {
        entry->running->Cancel(Error{"57014", "canceling statement: the transaction was ended by an administrator"});
      }
      return Status();
    }
    entry->in_use = true;
  }
  EndInUse(*entry, {wire::Phase::kRolledBack, cause, {}});
  return Status();
}

bool TransactionTable::RollbackAll(const Error& cause) {
  std::vector<EntryPtr> idle;
  bool busy = false;
  {
    const Guard guard(latch_);
    for (const auto& [number, entry] : entries_) {
      if (entry->ended) continue;
      if (entry->in_use) {
        entry->kill_cause = cause;
        if (entry->running != nullptr) entry->running->Cancel(cause);
        busy = true;
      } else {
        entry->in_use = true;
        idle.push_back(entry);
      }
    }
  }
  for (const EntryPtr& entry : idle) EndInUse(*entry, {wire::Phase::kRolledBack, cause, {}});
  return !busy;
}

size_t TransactionTable::open_count() const {
  const Guard guard(latch_);
  return open_count_;
}

std::vector<TransactionTable::Description> TransactionTable::List() const {
  std::vector<Description> list;
  const int64_t wall = clock_.WallMicros();
  const Guard guard(latch_);
  list.reserve(open_count_);
  for (const auto& [number, entry] : entries_) {
    if (entry->ended) continue;
    list.push_back({entry->handle, entry->tag, entry->principal, entry->start_wall_micros,
                    wall + int64_t{1000} * ExpiresInMs(*entry), entry->in_use});
  }
  std::sort(list.begin(), list.end(), [](const Description& a, const Description& b) {
    return a.start_wall_micros != b.start_wall_micros ? a.start_wall_micros < b.start_wall_micros : a.handle < b.handle;
  });
  return list;
}

}  // namespace sisal::service
