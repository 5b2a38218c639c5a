// The bodies of ring.h's methods.
#pragma once

#include <algorithm>
#include <new>

#include "ring.h"
#include "sisal/base/bytes.h"
#include "sisal/base/check.h"
#include "sisal/base/simulation.h"

namespace sisal::wal {

template <typename Policy>
BasicLogRing<Policy>::BasicLogRing(const RingGeometry& geometry)
    : geometry_(geometry),
      links_(new Atomic<uint32_t>[geometry.ring_bytes / kRecordAlignment]()),
      promised_(geometry.start.value),
      next_(geometry.start.value),
      tail_(geometry.start.value),
      prepared_end_(geometry.start.value),
      completed_(geometry.start.value) {
  SISAL_CHECK(geometry.start.value % kBlockBytes == 0);
  SISAL_CHECK(geometry.segment_capacity % kBlockBytes == 0);
  SISAL_CHECK(geometry.ring_bytes % kBlockBytes == 0);
  SISAL_CHECK(geometry.ring_bytes <= geometry.segment_capacity);
  // Not cleared: pages take memory only when they are used.
  bytes_ = static_cast<char*>(::operator new (geometry.ring_bytes, std::align_val_t{kBlockBytes}));
}

template <typename Policy>
BasicLogRing<Policy>::~BasicLogRing() {
  ::operator delete (bytes_, std::align_val_t{kBlockBytes});
}

template <typename Policy>
uint64_t BasicLogRing<Policy>::payload_bytes_max() const {
  return AlignDown((geometry_.ring_bytes - kBlockBytes) / 2, kRecordAlignment) - kRecordHeaderBytes;
}

template <typename Policy>
bool BasicLogRing<Policy>::TryPromise(uint64_t payload_bytes, uint64_t kept_bytes) {
  const uint64_t need = 2 * RecordBytes(payload_bytes);
  uint64_t promised = promised_.load();
  do {
    // Both limits only grow, so what was read may be old but never too much.
    if (promised + need + kept_bytes > prepared_end_.load()) return false;
    if (promised + need > tail_.load() + geometry_.ring_bytes) return false;
  } while (!promised_.compare_exchange_weak(promised, promised + need));
  return true;
}

template <typename Policy>
void BasicLogRing<Policy>::GiveBack(uint64_t payload_bytes) {
  promised_.fetch_sub(2 * RecordBytes(payload_bytes));
}

template <typename Policy>
bool BasicLogRing<Policy>::LacksSegment(uint64_t payload_bytes, uint64_t kept_bytes) const {
  return promised_.load() + 2 * RecordBytes(payload_bytes) + kept_bytes > prepared_end_.load();
}

template <typename Policy>
Lsn BasicLogRing<Policy>::segment_start(Lsn position) const {
  return Lsn{geometry_.start.value + AlignDown(position.value - geometry_.start.value, geometry_.segment_capacity)};
}

template <typename Policy>
LogRange BasicLogRing<Policy>::Append(RecordType type, std::span<const std::string_view> pieces, uint64_t payload_bytes,
                                      Lsn durable, const std::function<void(LogRange)>& on_reserved) {
  const uint64_t size = RecordBytes(payload_bytes);
  if (on_reserved) order_latch_.lock();
  uint64_t start = next_.fetch_add(size);
  uint64_t segment_start = this->segment_start(Lsn{start}).value;
  const uint64_t spanned_start = start;
  const uint64_t spanned_end = segment_start + geometry_.segment_capacity;
  const bool spans = start + size > spanned_end;
  if (spans) {
    start = next_.fetch_add(size);
    segment_start = this->segment_start(Lsn{start}).value;
    SISAL_CHECK(start + size <= segment_start + geometry_.segment_capacity);
  }
  const LogRange range{Lsn{start}, Lsn{start + size}};
  if (on_reserved) {
    on_reserved(range);
    order_latch_.unlock();
  }

  Policy::Point();
  if (SISAL_PLANTED(kPublishedBeforeCopied)) {
    Publish(start, range.end.value, false);
    Policy::Point();
  }
  RecordHeader header{static_cast<uint32_t>(payload_bytes), 0, range.start, durable, type};
  uint32_t crc = RecordCrcSeed(SegmentSalt(geometry_.open_salt, Lsn{segment_start}), header);
  uint64_t place = start + kRecordHeaderBytes;
  for (const std::string_view piece : pieces) {
    crc = Crc32c(piece, crc);
    CopyIn(place, piece);
    place += piece.size();
  }
  static constexpr char kZeros[kRecordAlignment] = {};
  CopyIn(place, {kZeros, range.end.value - place});
  header.crc = crc;
  char header_bytes[kRecordHeaderBytes];
  EncodeRecordHeader(header, header_bytes);
  Policy::Point();
  CopyIn(start, {header_bytes, kRecordHeaderBytes});
  if (!SISAL_PLANTED(kPublishedBeforeCopied)) Publish(start, range.end.value, false);
  if (spans) {
    // Last: until these are published they hold the tail back, on which the proof above rests.
    WritePad(spanned_end, spanned_start + size, durable);
    WritePad(spanned_start, spanned_end, durable);
  }
  promised_.fetch_sub(spans ? 0 : size);
  return range;
}

template <typename Policy>
void BasicLogRing<Policy>::WritePad(uint64_t start, uint64_t end, Lsn durable) {
  RecordHeader header{static_cast<uint32_t>(end - start - kRecordHeaderBytes), 0, Lsn{start}, durable,
                      RecordType::kPad};
  header.crc = RecordCrcSeed(SegmentSalt(geometry_.open_salt, segment_start(Lsn{start})), header);
  char bytes[kRecordHeaderBytes];
  EncodeRecordHeader(header, bytes);
  CopyIn(start, {bytes, kRecordHeaderBytes});
  // The ring's old bytes, or the heap's, must not reach the file.
  for (uint64_t at = start + kRecordHeaderBytes; at < end;) {
    const uint64_t place = Place(at);
    const uint64_t size = std::min(end - at, geometry_.ring_bytes - place);
    Policy::Clear(bytes_ + place, size);
    at += size;
  }
  Publish(start, end, true);
}

template <typename Policy>
void BasicLogRing<Policy>::CopyIn(uint64_t lsn, std::string_view bytes) {
  if (bytes.empty()) return;
  const uint64_t place = Place(lsn);
  const size_t first = std::min<uint64_t>(bytes.size(), geometry_.ring_bytes - place);
  Policy::Copy(bytes_ + place, bytes.data(), first);
  if (first < bytes.size()) Policy::Copy(bytes_, bytes.data() + first, bytes.size() - first);
}

template <typename Policy>
void BasicLogRing<Policy>::Publish(uint64_t start, uint64_t end, bool is_pad) {
  const uint32_t units = static_cast<uint32_t>((end - start) / kRecordAlignment);
  links_[Place(start) / kRecordAlignment].store(units << 1 | static_cast<uint32_t>(is_pad), std::memory_order_release);
}

template <typename Policy>
Lsn BasicLogRing<Policy>::AdvanceCompleted(uint64_t& record_count) {
  while (true) {
    Atomic<uint32_t>& link = links_[Place(completed_) / kRecordAlignment];
    const uint32_t value = link.load(std::memory_order_acquire);
    if (value == 0) return Lsn{completed_};
    // Seen by the slot's next user before Release gives the place away.
    link.store(0, std::memory_order_relaxed);
    completed_ += uint64_t{value >> 1} * kRecordAlignment;
    if ((value & 1) == 0) ++record_count;
  }
}

template <typename Policy>
std::span<const char> BasicLogRing<Policy>::Peek(Lsn from, Lsn to) const {
  const uint64_t place = Place(from.value);
  return {bytes_ + place, std::min(to.value - from.value, geometry_.ring_bytes - place)};
}

template <typename Policy>
void BasicLogRing<Policy>::Release(Lsn flushed) {
  tail_.store(AlignDown(flushed.value, kBlockBytes));
}

}  // namespace sisal::wal
