// Group commit: many committing fibers share one write and one sync of the log.
//
// The first fiber that needs durability leads: it writes and syncs all records that are whole, wakes exactly those they
// cover, and hands over to whoever is left. Records that come while it does so form the next group; no timer waits for
// them. The sync of a segment comes before the first write to the next.
//
// Concurrency: thread-safe; fibers of any loop may call any method.
// Ownership:   borrows ring, clock and listener, which must outlive it.
// Invariant:   durable <= written; neither decreases; every byte before durable is whole and on stable storage.
#pragma once

#include <atomic>
#include <deque>
#include <memory>

#include "aligned_buffer.h"
#include "ring.h"
#include "segment_store.h"
#include "sisal/base/clock.h"
#include "sisal/base/status.h"
#include "sisal/io/sync.h"

namespace sisal::wal {

// Called holding no latch; must not suspend.
class FlushListener {
 public:
  virtual void OnRoomChanged() = 0;   // bytes were written, or the log has failed
  virtual void OnSegmentBegun() = 0;  // one prepared segment fewer
 protected:
  ~FlushListener() = default;
};

class GroupCommit {
 public:
  GroupCommit(LogRing& ring, const Clock& clock, FlushListener& listener);

  // As in Log. Suspend.
  Status WaitDurable(Lsn upto) { return Wait(upto, Promise::kDurable); }
  Status WaitWritten(Lsn upto) { return Wait(upto, Promise::kWritten); }

  // The segment maker's: `segment` follows the last. `write_is_durable`: its file is open so that a write returns when
  // its bytes are on stable storage.
  void AddSegment(std::shared_ptr<Segment> segment, bool write_is_durable);
  // Segments that nothing was written to yet.
  uint64_t segments_ahead() const;

  // For WaitWritten's promise: syncs what has been written, at most about 100 ms later, until Stop. Suspends.
  void RunBackgroundSync();
  void Stop();

  Lsn durable() const { return Lsn{durable_.load()}; }
  Lsn written() const { return Lsn{written_.load()}; }
  bool failed() const { return failed_.load(); }
  void AddTo(LogStats& stats) const;

 private:
  enum class Promise { kWritten, kDurable };

  Status Wait(Lsn upto, Promise promise);
  // Flushes all that is whole. False: there was nothing, because an earlier record is still being copied. Suspends.
  // Requires: leading_ was set by the caller. Clears it.
  bool Lead(Promise promise);
  // Takes up what is whole, and gives those whom the last flush has woken a moment to come back with their next
  // records: else the committers fall into two groups that take turns, each flush half empty. Suspends.
  Lsn Gather(Promise promise);
  // In these, `alone`: nobody else waits for the flush, nor has done so lately.
  Status Write(Lsn to, bool alone);
  Status WriteRange(io::File& file, Lsn segment_start, Lsn from, Lsn to, bool alone);
  Status SyncCurrent(bool alone);
  // Says how far the log has got. Errors: 58030 if it has failed meanwhile.
  Status Publish(Lsn written, Lsn durable);
  void Fail(const Error& error);
  void SyncInBackground();
  // The caller holds latch_ in both.
  void AccountSync(uint64_t records_upto, Duration elapsed);
  void WakeNextLeader();
  Error FailureFor(Lsn upto) const;

  LogRing& ring_;
  const Clock& clock_;
  FlushListener& listener_;
  // The leader's:
  AlignedBuffer staging_;
  uint64_t records_pending_ = 0;   // taken up, not yet in a flush
  uint64_t records_left_ = 0;      // of them, when the last flush ended
  uint64_t records_expected_ = 0;  // them, and one from each that the last flush has woken
  Duration patience_{0};
  Duration last_flush_{0};               // how long it took
  int flushes_since_patient_ = 1 << 20;  // patient from the first on

  mutable io::SpinLatch latch_;                    // guards all below; the atomics are written under it, read without
  std::deque<std::shared_ptr<Segment>> segments_;  // front: the one that is written to
  bool write_is_durable_ = false;
  bool leading_ = false;
  Lsn flush_target_;  // of the running or the last flush: after a failure, what may survive
  std::atomic<uint64_t> durable_;
  std::atomic<uint64_t> written_;
  std::atomic<bool> failed_{false};
  std::string failure_;
  io::WaitList durable_waiters_;  // by the LSN that each waits for
  io::WaitList written_waiters_;
  uint64_t waiter_count_ = 0;
  uint64_t records_completed_ = 0;  // taken up by a leader
  uint64_t records_flushed_ = 0;    // of them, before written_
  uint64_t records_synced_ = 0;
  uint64_t bytes_flushed_ = 0;
  uint64_t syncs_ = 0;
  LogStats histograms_;  // only group_size_* and sync_latency_*

  bool stopping_ = false;
  io::WaitList background_;  // the background sync, while there is nothing to do
  io::CancelToken stop_;
};

}  // namespace sisal::wal
