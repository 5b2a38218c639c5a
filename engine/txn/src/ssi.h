// Serializable snapshot isolation: finds, when a transaction commits, whether it completes a dangerous structure.
//
// T -rw-> U: T has read what U, concurrent with it, has overwritten, so T comes before U in any serial order. Each
// cycle of such orders among snapshot transactions has two of these edges in a row, In -rw-> Pivot -rw-> Out, where Out
// is the first of the three to commit (Fekete et al., TODS 2005; Ports and Grittner, VLDB 2012); and if In only reads,
// Out has committed before In's snapshot. An edge is known when the later of its ends commits, so the last of the three
// sees the whole structure, and is the one that fails. Precision locking: what was read are keys and key ranges, kept
// by the reader alone until it commits; nothing shared is written on the way.
//
//   TakeSnapshot: Enter (before it)      Commit: mutex; Check; position; Publish; mutex      end: Leave
//
// Thread-safe: Check and Publish under `mutex`, whose holder does not park.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <set>

#include "read_set.h"
#include "sisal/base/status.h"
#include "sisal/io/sync.h"
#include "snapshots.h"

namespace sisal::txn {

class SsiTable {
 public:
  // What one that commits has read: at its snapshot, and the newest of rows whose intents it held.
  struct Reads {
    ReadSet at_snapshot, newest;
    bool MetBy(const WrittenKeys& writes) const { return writes.MeetsReads(at_snapshot) || writes.MeetsReads(newest); }
    uint64_t bytes() const { return at_snapshot.bytes() + newest.bytes(); }
  };
  // One that commits.
  struct Attempt {
    Timestamp snapshot;
    Timestamp newest_seen;  // above the snapshot if it has met newer rows, whose intents it held
    const ReadSet& reads;
    const WrittenKeys& writes;
  };

  struct Place {
    Timestamp floor;
    uint64_t writer = 0;  // a number of its own, ascending; 0: it only reads
  };
  // Before the snapshot. Everything that commits above what `floor` returns now is kept until Leave.
  Place Enter(TxnId txn, bool may_write, absl::FunctionRef<Timestamp()> floor);
  void Leave(TxnId txn, const Place& place);

  io::Mutex mutex;

  // Ok: the earliest commit that the transaction has an edge to (Timestamp::Max(): none). Errors: 40001.
  Result<Timestamp> Check(const Attempt& attempt) const;
  // `at`: the commit's position, or the newest that was seen by one that wrote nothing. The commit cannot be taken
  // back: out of memory here ends the process.
  void Publish(Timestamp at, Timestamp earliest_out, Reads reads, WrittenKeys writes,
               absl::FunctionRef<Timestamp()> floor) noexcept;
  // Whether a transaction that only reads can see no anomaly at `snapshot`. Requires: no writer is left that was there
  // when it was taken; those to come have later snapshots.
  bool IsSafe(Timestamp snapshot) const;
  // The number of the next writer to enter, and whether one below `number` is left.
  uint64_t next_writer() const;
  bool HasWriterBelow(uint64_t number) const;

  Error Fail(std::string_view reason) const;

  size_t writers() const;  // that have entered
  uint64_t retained() const { return retained_.load(std::memory_order_relaxed); }
  uint64_t failures() const { return failures_.load(std::memory_order_relaxed); }

 private:
  // A transaction that has committed, or several as one: then first and last of their commits, and the least of what
  // they may have read and written that is a superset of it.
  struct Committed {
    Timestamp first, last;  // of one that only read: the newest that it has seen
    Timestamp earliest_out = Timestamp::Max();
    bool wrote = true;
    Reads reads;
    WrittenKeys writes;
    uint64_t bytes() const { return sizeof(Committed) + reads.bytes() + writes.bytes(); }
  };
  void Prune(Timestamp needed_above);
  // Makes one of the older half.
  void Summarize();

  static constexpr size_t kCommittedMax = 16384;
  static constexpr uint64_t kBytesMax = 64 << 20;
  static constexpr size_t kPublishedBetweenPrunes = 16;
  std::deque<Committed> committed_;  // in the order of Publish
  uint64_t bytes_ = 0;
  size_t until_prune_ = 0;
  SnapshotRegistry entered_;
  mutable io::SpinLatch writers_latch_;  // guards the next two
  std::set<uint64_t> writers_;
  uint64_t next_writer_ = 1;
  std::atomic<uint64_t> retained_{0};
  mutable std::atomic<uint64_t> failures_{0};
};

}  // namespace sisal::txn
