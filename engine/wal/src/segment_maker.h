// Prepares the next segment while the last one is being filled, so that a flush never waits for space on the disk.
//
// Concurrency: thread-safe. Ownership: borrows all that it is given.
#pragma once

#include <memory>

#include "group_commit.h"
#include "ring.h"
#include "segment_store.h"
#include "sisal/base/status.h"
#include "sisal/io/sync.h"

namespace sisal::wal {

// What the segments of one open have in common.
struct OpenIdentity {
  uint64_t generation = 0;
  uint64_t salt = 0;
  Lsn start;         // of the first
  Lsn previous_end;  // of the log before this open

  SegmentHeader HeaderAt(Lsn segment_start, uint64_t segment_bytes) const;
};

class SegmentMaker {
 public:
  SegmentMaker(SegmentStore& store, LogRing& ring, GroupCommit& group, const OpenIdentity& identity);

  // Hands a made segment, the next in order, to the flusher and the ring.
  void Add(std::shared_ptr<Segment> segment);
  // The body of the background fiber: until Stop. Suspends.
  void Run();
  void Stop();
  // A segment was begun: another may be wanted. After a failure this is also the moment for another try.
  void Kick();
  // Returns when a segment was added. Suspends. Errors: of an attempt that began after this call: 53100 mostly.
  Status AwaitSegment();

 private:
  bool IsWanted() const;  // the caller holds latch_
  Status MakeOne();

  SegmentStore& store_;
  LogRing& ring_;
  GroupCommit& group_;
  const OpenIdentity identity_;

  mutable io::SpinLatch latch_;  // guards all below
  io::WaitList maker_;           // the fiber, while nothing is wanted
  io::WaitList demanders_;
  uint64_t attempts_begun_ = 0;
  uint64_t attempts_ended_ = 0;
  uint64_t attempt_demanded_ = 0;
  std::unique_ptr<Error> last_error_;  // of the last attempt; null: it made a segment
  bool stopping_ = false;
};

}  // namespace sisal::wal
