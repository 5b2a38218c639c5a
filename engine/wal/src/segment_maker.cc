#include "segment_maker.h"

#include <algorithm>
#include <mutex>

#include "sisal/base/log.h"

namespace sisal::wal {
namespace {
constexpr uint64_t kSegmentsAhead = 1;
}  // namespace

SegmentHeader OpenIdentity::HeaderAt(Lsn segment_start, uint64_t segment_bytes) const {
  SegmentHeader header;
  header.salt = SegmentSalt(salt, segment_start);
  header.start = segment_start;
  header.segment_bytes = segment_bytes;
  header.generation = generation;
  header.first = segment_start == start;
  // A later segment takes its first record when the one before it is full and synced.
  header.previous_end = header.first ? previous_end : segment_start;
  return header;
}

SegmentMaker::SegmentMaker(SegmentStore& store, LogRing& ring, GroupCommit& group, const OpenIdentity& identity)
    : store_(store), ring_(ring), group_(group), identity_(identity) {}

void SegmentMaker::Add(std::shared_ptr<Segment> segment) {
  // First the flusher: what the ring allows to be reserved must be writable.
  group_.AddSegment(std::move(segment), store_.write_method() == WriteMethod::kDirectDataSync);
  ring_.AddSegment();
}

bool SegmentMaker::IsWanted() const {
  if (attempt_demanded_ > attempts_begun_) return true;
  if (group_.failed()) return false;
  const bool is_short = ring_.prepared_end() == identity_.start || group_.segments_ahead() < kSegmentsAhead;
  return is_short && last_error_ == nullptr;
}

Status SegmentMaker::MakeOne() {
  const SegmentHeader header = identity_.HeaderAt(ring_.prepared_end(), store_.segment_bytes());
  const auto stop = [this] {
    std::lock_guard guard(latch_);
    return stopping_;
  };
  SISAL_ASSIGN_OR_RETURN(auto segment, store_.Make(header, stop));
  Add(std::move(segment));
  return Status();
}

void SegmentMaker::Run() {
  latch_.lock();
  while (!stopping_) {
    if (!IsWanted()) {
      io::WaitList::Node node;
      maker_.Add(node);
      latch_.unlock();
      node.Park();
      latch_.lock();
      continue;
    }
    ++attempts_begun_;
    const bool failed_before = last_error_ != nullptr;
    latch_.unlock();
    Status made = MakeOne();
    if (!made.ok() && !failed_before && made.sqlstate() != "57P01") {
      sisal::Log(LogLevel::kWarning, "log: no room for another segment: " + made.ToString());
    }
    latch_.lock();
    attempts_ended_ = attempts_begun_;
    last_error_ = made.ok() ? nullptr : std::make_unique<Error>(made.error());
    demanders_.WakeAll();
  }
  demanders_.WakeAll();
  latch_.unlock();
}

void SegmentMaker::Stop() {
  std::lock_guard guard(latch_);
  stopping_ = true;
  maker_.WakeAll();
}

void SegmentMaker::Kick() {
  std::lock_guard guard(latch_);
  last_error_ = nullptr;
  maker_.WakeAll();
}

Status SegmentMaker::AwaitSegment() {
  const Lsn prepared = ring_.prepared_end();
  latch_.lock();
  const uint64_t attempt = attempts_begun_ + 1;
  attempt_demanded_ = std::max(attempt_demanded_, attempt);
  maker_.WakeAll();
  // An attempt that is under way does as well, if it succeeds.
  while (attempts_ended_ < attempt && ring_.prepared_end() == prepared && !stopping_ && !group_.failed()) {
    io::WaitList::Node node;
    demanders_.Add(node);
    latch_.unlock();
    node.Park();
    latch_.lock();
  }
  Status status;
  if (ring_.prepared_end() == prepared) {
    if (stopping_) {
      status = Error{"57P01", "the log is closed"};
    } else if (last_error_ != nullptr) {
      status = *last_error_;
    }
  }
  latch_.unlock();
  return status;
}

}  // namespace sisal::wal
