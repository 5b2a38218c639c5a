// Open transactions with a handle, their leases, and tombstones of those that ended.
//
//   (none)     --Create-->              in use
//   in use     --Lease dies-->          idle                     the idle lease begins anew
//   idle       --Acquire-->             in use                   calls that race queue in the order of their arrival
//   in use     --End-->                 ended                    by COMMIT, ROLLBACK, or an error that ended it
//   idle       --Sweep-->               ended                    expired or killed
//   idle       --RollbackFailed, RollbackAll-->  ended           the server stops
//   ended      --10 minutes-->          (none)
//
// Concurrency: thread-safe. The session of an entry belongs to whoever holds the Lease.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sisal/base/clock.h"
#include "sisal/base/status.h"
#include "sisal/db/database.h"
#include "sisal/io/sync.h"
#include "sisal/service/handle.h"
#include "sisal/wire/result.h"

namespace sisal::service {

struct LeaseLimits {
  Duration idle = std::chrono::seconds(30);
  Duration lifetime = std::chrono::minutes(5);
  Duration blocking = std::chrono::seconds(5);
  Duration tombstone = std::chrono::minutes(10);
  size_t transactions_max = 10'000;
  size_t tombstones_max = 100'000;
  uint32_t queue_max = 64;  // calls that wait for one transaction
};

// How a transaction ended.
struct Ending {
  wire::Phase phase = wire::Phase::kRolledBack;  // kCommitting: the outcome is unknown
  std::optional<Error> cause;                    // of an end that the client did not ask for
  Timestamp commit_position;
};

// What the holder of a lease keeps with the session between calls; dies before the session.
class HeldWork {
 public:
  virtual ~HeldWork() = default;
};

struct TransactionEntry {
  // Fixed at Create.
  uint64_t number = 0;
  std::string handle, tag, principal;
  std::string idempotency_key, fingerprint;  // of BeginTransaction; the outcome is stored at the commit
  int64_t start_wall_micros = 0;
  Duration idle_timeout{};
  Instant lifetime_end;
  std::optional<wal::Durability> durability;
  bool statement_rollback = false;  // OnError::kRollbackStatement

  // The lease holder's.
  std::unique_ptr<db::Session> session;
  std::unique_ptr<HeldWork> held;

  // Guarded by the table's latch.
  bool in_use = true, ended = false;
  bool failed = false;  // as the last call left it: takes only a rollback
  uint32_t waiting = 0;
  io::WaitList queue;
  io::CancelToken* running = nullptr;  // of the call that holds the lease
  Instant idle_since, ended_at;
  std::optional<Instant> blocking_since;
  std::optional<Error> kill_cause;  // ends it as soon as the lease is given back
  Ending ending;
};

class TransactionTable {
 public:
  // The right to use an entry's session; gives it to the next in the queue when it dies.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept : table_(std::exchange(other.table_, nullptr)), entry_(std::move(other.entry_)) {}
    Lease& operator=(Lease&& other) noexcept {
      std::swap(table_, other.table_), std::swap(entry_, other.entry_);
      return *this;
    }
    ~Lease() {
      if (table_ != nullptr) table_->Release(*entry_);
    }
    explicit operator bool() const { return entry_ != nullptr; }
    TransactionEntry& operator*() const { return *entry_; }
    TransactionEntry* operator->() const { return entry_.get(); }

   private:
    friend class TransactionTable;
    Lease(TransactionTable* table, std::shared_ptr<TransactionEntry> entry) : table_(table), entry_(std::move(entry)) {}
    TransactionTable* table_ = nullptr;
    std::shared_ptr<TransactionEntry> entry_;
  };

  struct CreateOptions {
    std::optional<Duration> idle_timeout, lifetime;
    std::string tag, principal, idempotency_key, fingerprint;
    std::optional<wal::Durability> durability;
    bool statement_rollback = false;
  };
  struct Description {
    std::string handle, tag, principal;
    int64_t start_wall_micros = 0, expire_wall_micros = 0;
    bool in_use = false;
  };

  TransactionTable(const LeaseLimits& limits, const HandleCodec& codec, const Clock& clock)
      : limits_(limits), codec_(codec), clock_(clock) {}

  // Errors: 53400 when the table is full.
  Status CheckRoom() const;
  // Takes a session whose transaction is open. Errors: 53400, and the session stays where it is.
  Result<Lease> Create(std::unique_ptr<db::Session>& session, CreateOptions options, io::CancelToken* running);
  // Waits for the calls before this one. Suspends. Errors: HandleCodec's; 25P03 with the cause if it was rolled back;
  // 25P01 if it was committed; 08007 if its commit's outcome is unknown; 53400 too many calls wait; the interrupt's.
  Result<Lease> Acquire(std::string_view handle, std::string_view principal, const io::Interrupt& interrupt);
  // Ends the transaction that the lease holds: destroys the session and keeps a tombstone.
  void End(Lease& lease, Ending ending);

  // What is known of a handle; does not wait for calls in it and renews nothing. Errors: HandleCodec's; 02000 the
  // tombstone is gone.
  struct Known {
    Ending ending;  // of an ended one; else phase kActive, or kFailed if the last call has left it so
    uint32_t expires_in_ms = 0;
  };
  Result<Known> Look(std::string_view handle, std::string_view principal) const;
  // The handle of the open transaction that was begun with this key; empty: none. `fingerprint` gets its own.
  std::string FindByKey(std::string_view principal, std::string_view key, std::string& fingerprint) const;

  // Rolls back what has expired; call it every few 100 ms. Does not suspend.
  void Sweep();
  // Ends one at the operator's wish, now or when its running call has stopped. Errors: as Look.
  Status Kill(std::string_view handle, std::string_view principal);
  // Rolls back the idle ones that can never commit: failed, with no savepoint to go back to. Does not suspend.
  void RollbackFailed(const Error& cause);
  // Rolls all back, running calls are cancelled with `cause` and end when they let go. True when none is left.
  bool RollbackAll(const Error& cause);

  uint32_t ExpiresInMs(const TransactionEntry& entry) const;
  size_t open_count() const;
  std::vector<Description> List() const;
  // Since start: rolled back by the idle lease, the lifetime, the contention rule.
  struct Counters {
    std::atomic<uint64_t> idle_expired{0}, lifetime_expired{0}, blocking_expired{0}, killed{0};
  };
  const Counters& counters() const { return counters_; }

 private:
  using EntryPtr = std::shared_ptr<TransactionEntry>;
  void Release(TransactionEntry& entry);
  std::vector<EntryPtr> OpenEntries() const;
  // Takes an entry for a short look, so that a call that comes now waits. False: a call uses it, or it has ended.
  bool TakeIdle(TransactionEntry& entry);
  void GiveBack(TransactionEntry& entry);
  Result<EntryPtr> Find(std::string_view handle, std::string_view principal) const;
  Error EndedError(const TransactionEntry& entry) const;
  std::optional<Error> ExpiryOf(TransactionEntry& entry, Instant now);
  // Stops the call that uses the entry if the transaction's lifetime has passed.
  void EndLifetime(TransactionEntry& entry, Instant now);
  // Requires: the caller uses the entry. Destroys its session outside the latch.
  void EndInUse(TransactionEntry& entry, Ending ending);
  void PurgeTombstones(Instant now);
  static std::string KeyOf(std::string_view principal, std::string_view key);

  const LeaseLimits limits_;
  const HandleCodec& codec_;
  const Clock& clock_;
  Counters counters_;
  mutable io::SpinLatch latch_;  // guards all below and what TransactionEntry says
  std::unordered_map<uint64_t, EntryPtr> entries_;
  std::unordered_map<std::string, uint64_t> by_key_;  // open ones
  std::deque<EntryPtr> tombstones_;                   // by ended_at
  uint64_t next_number_ = 1;
  size_t open_count_ = 0;
};

}  // namespace sisal::service
