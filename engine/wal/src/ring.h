// The log's end in memory: where committers put records and the flusher takes them.
//
// A committer promises itself room (TryPromise), then reserves its range with one atomic add, copies and checksums
// without any lock, and publishes the range in a link slot (as InnoDB's "recent written" buffer does). The flusher
// follows the links from the oldest unflushed byte: it never passes a range that is not yet whole.
//
// Room is promised before anything is reserved, twice the record's size: a range that would span a segment's end
// becomes padding on both sides of it, and the record is reserved once more. The ring is no larger than a segment, so
// the second range cannot span the next end: it lies less than a ring beyond the first one's start, which holds the
// tail back while it is unpublished.
//
// Concurrency: TryPromise, GiveBack, Append by anybody; the methods of the flusher by one fiber at a time. No method
//              suspends.
// Policy:      io/concurrency.h; the methods' bodies are in ring_impl.h, for the test of all interleavings.
// Invariant:   tail <= completed <= next <= promised <= min(prepared end, tail + ring bytes)
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "format.h"
#include "sisal/base/ids.h"
#include "sisal/io/concurrency.h"
#include "sisal/wal/log.h"

namespace sisal::wal {

struct RingGeometry {
  Lsn start;                      // of the open's first segment; a multiple of kBlockBytes
  uint64_t segment_capacity = 0;  // LSNs in each segment; a multiple of kBlockBytes
  uint64_t ring_bytes = 0;        // a multiple of kBlockBytes, at most segment_capacity
  uint64_t open_salt = 0;
};

template <typename Policy = io::RealConcurrency>
class BasicLogRing {
  template <typename T>
  using Atomic = typename Policy::template Atomic<T>;

 public:
  explicit BasicLogRing(const RingGeometry& geometry);
  ~BasicLogRing();
  BasicLogRing(const BasicLogRing&) = delete;
  BasicLogRing& operator=(const BasicLogRing&) = delete;

  uint64_t payload_bytes_max() const;

  // Room for one record, leaving `kept_bytes` of the prepared segments to others. False: there is none now.
  bool TryPromise(uint64_t payload_bytes, uint64_t kept_bytes);
  void GiveBack(uint64_t payload_bytes);
  // Whether it is prepared segments that a promise lacks, rather than room in memory.
  bool LacksSegment(uint64_t payload_bytes, uint64_t kept_bytes) const;

  // Requires: room was promised for the pieces' bytes. `durable` is stored in the record.
  LogRange Append(RecordType type, std::span<const std::string_view> pieces, uint64_t payload_bytes, Lsn durable,
                  const std::function<void(LogRange)>& on_reserved);

  Lsn next() const { return Lsn{next_.load()}; }
  Lsn prepared_end() const { return Lsn{prepared_end_.load()}; }
  const RingGeometry& geometry() const { return geometry_; }
  Lsn segment_start(Lsn position) const;

  // The segment maker's: one more segment follows the last.
  void AddSegment() { prepared_end_.fetch_add(geometry_.segment_capacity); }

  // The flusher's. The first takes up what has become whole and returns its end; adds the records in it, without pads.
  Lsn AdvanceCompleted(uint64_t& record_count);
  // The whole bytes from `from` on that lie together in memory, at most up to `to`.
  std::span<const char> Peek(Lsn from, Lsn to) const;
  // Bytes before `flushed` are not needed again, except those of its own block: the next flush writes that block anew.
  void Release(Lsn flushed);

 private:
  uint64_t Place(uint64_t lsn) const { return (lsn - geometry_.start.value) % geometry_.ring_bytes; }
  void CopyIn(uint64_t lsn, std::string_view bytes);
  void WritePad(uint64_t start, uint64_t end, Lsn durable);
  void Publish(uint64_t start, uint64_t end, bool is_pad);

  const RingGeometry geometry_;
  char* bytes_ = nullptr;  // [ring_bytes], aligned to a page
  // links_[Place(start) / kRecordAlignment]: 0, or units of kRecordAlignment in the record << 1 | is_pad.
  std::unique_ptr<Atomic<uint32_t>[]> links_;

  alignas(64) Atomic<uint64_t> promised_;
  alignas(64) Atomic<uint64_t> next_;
  alignas(64) Atomic<uint64_t> tail_;
  Atomic<uint64_t> prepared_end_;
  uint64_t completed_;                              // the flusher's
  alignas(64) typename Policy::Latch order_latch_;  // held from a reservation to the end of its on_reserved
};

using LogRing = BasicLogRing<>;
extern template class BasicLogRing<io::RealConcurrency>;  // ring.cc

}  // namespace sisal::wal
