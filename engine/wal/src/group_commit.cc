#include "group_commit.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <mutex>
#include <utility>

#include "sisal/base/check.h"
#include "sisal/base/log.h"
#include "sisal/base/simulation.h"
#include "sisal/io/runtime.h"
#include "sisal/io/time.h"

namespace sisal::wal {
namespace {
// Flushes up to this size go out in one write, copied together; larger ones in place, and their last block apart.
constexpr uint64_t kStagingBytes = 256 << 10;
constexpr uint64_t kWriteBytesMax = 4 << 20;
constexpr Duration kBackgroundSyncDelay = std::chrono::milliseconds(50);
// An earlier record is copied in microseconds, unless the kernel has taken its thread off the processor.
constexpr int kYieldsBeforeSleep = 64;
constexpr Duration kHoleSleep = std::chrono::microseconds(50);
// How long a leader waits for those whom the last flush has woken, as a part of that flush's time; halved while they do
// not come, and tried again after some flushes.
constexpr int kPatienceFraction = 2;
constexpr Duration kPatienceMax = std::chrono::milliseconds(1);
constexpr int kFlushesUntilPatientAgain = 64;
// A lone committer's flush may block its thread, if the device is not so slow that it would be missed.
constexpr Duration kBlockingFlushMax = std::chrono::milliseconds(2);

size_t Pow2Bucket(uint64_t value, size_t bucket_count) {
  return std::min<size_t>(value <= 1 ? 0 : std::bit_width(value - 1), bucket_count - 1);
}
}  // namespace

GroupCommit::GroupCommit(LogRing& ring, const Clock& clock, FlushListener& listener)
    : ring_(ring),
      clock_(clock),
      listener_(listener),
      staging_(kStagingBytes),
      flush_target_(ring.geometry().start),
      durable_(ring.geometry().start.value),
      written_(ring.geometry().start.value) {}

Status GroupCommit::Wait(Lsn upto, Promise promise) {
  const std::atomic<uint64_t>& reached = promise == Promise::kDurable ? durable_ : written_;
  io::WaitList& waiters = promise == Promise::kDurable ? durable_waiters_ : written_waiters_;
  if (reached.load() >= upto.value) return Status();
  int holes = 0;
  latch_.lock();
  ++waiter_count_;
  while (reached.load() < upto.value && !failed_.load()) {
    if (leading_) {
      io::WaitList::Node node(upto.value);
      waiters.Add(node);
      latch_.unlock();
      node.Park();
      latch_.lock();
      continue;
    }
    leading_ = true;  // this fiber leads
    latch_.unlock();
    if (!Lead(promise)) {
      if (++holes < kYieldsBeforeSleep) {
        io::Yield();
      } else {
        io::SleepFor(kHoleSleep);
      }
    }
    latch_.lock();
  }
  --waiter_count_;
  const bool covered = reached.load() >= upto.value;
  latch_.unlock();
  if (covered || SISAL_PLANTED(kFailedSyncAcknowledged)) return Status();
  return FailureFor(upto);
}

Error GroupCommit::FailureFor(Lsn upto) const {
  std::lock_guard guard(latch_);
  if (upto <= flush_target_) return Error{"08007", "transaction outcome unknown: the log failed: " + failure_};
  return Error{"58030", "the log has failed, no more writes until a restart: " + failure_};
}

Lsn GroupCommit::Gather(Promise promise) {
  Lsn target = ring_.AdvanceCompleted(records_pending_);
  if (promise == Promise::kWritten || records_pending_ >= records_expected_) return target;
  io::Yield();  // those of this loop
  target = ring_.AdvanceCompleted(records_pending_);
  const uint64_t missing = records_expected_ - std::min(records_pending_, records_expected_);
  const Instant deadline = clock_.Now() + patience_;
  while (records_pending_ < records_expected_ && clock_.Now() < deadline) {  // those of other loops
    io::Yield();
    target = ring_.AdvanceCompleted(records_pending_);
  }
  const uint64_t still_missing = records_expected_ - std::min(records_pending_, records_expected_);
  if (2 * still_missing > missing) patience_ /= 2;
  return target;
}

bool GroupCommit::Lead(Promise promise) {
  const bool was_alone = records_expected_ <= 1;
  const Lsn target = Gather(promise);
  const uint64_t record_count = std::exchange(records_pending_, 0);
  latch_.lock();
  const Lsn written_before = written();
  const bool must_sync = promise == Promise::kDurable;
  if (target == written_before && (!must_sync || durable() == written_before)) {
    leading_ = false;
    latch_.unlock();
    return false;
  }
  flush_target_ = target;
  records_completed_ += record_count;
  const bool alone = must_sync && was_alone && waiter_count_ == 1 && last_flush_ < kBlockingFlushMax;
  latch_.unlock();

  const Instant start = clock_.Now();
  Status status = Write(target, alone);
  if (status.ok() && must_sync && durable() < target) status = SyncCurrent(alone);
  const Duration elapsed = clock_.Now() - start;
  last_flush_ = elapsed;
  if (!status.ok()) {
    Fail(status.error());
    return true;
  }

  ring_.AdvanceCompleted(records_pending_);
  records_left_ = records_pending_;
  records_expected_ = records_left_ + record_count;
  if (++flushes_since_patient_ >= kFlushesUntilPatientAgain || patience_ > elapsed / kPatienceFraction) {
    flushes_since_patient_ = 0;
    patience_ = std::min<Duration>(elapsed / kPatienceFraction, kPatienceMax);
  }
  latch_.lock();
  records_flushed_ = records_completed_;
  if (durable() == target) AccountSync(records_flushed_, elapsed);
  leading_ = false;
  WakeNextLeader();
  if (written() > durable()) background_.WakeAll();
  latch_.unlock();
  return true;
}

void GroupCommit::AccountSync(uint64_t records_upto, Duration elapsed) {
  if (records_upto > records_synced_) {
    const uint64_t group = records_upto - records_synced_;
    records_synced_ = records_upto;
    ++histograms_.group_size_pow2[Pow2Bucket(group, std::size(histograms_.group_size_pow2))];
    histograms_.group_size_sum += group;
  }
  const uint64_t micros = std::chrono::duration_cast<std::chrono::microseconds>(elapsed).count();
  const size_t bucket = std::min<size_t>(std::bit_width(micros), std::size(histograms_.sync_latency_us_pow2) - 1);
  ++histograms_.sync_latency_us_pow2[bucket];
  histograms_.sync_latency_us_sum += micros;
}

void GroupCommit::WakeNextLeader() {
  if (!durable_waiters_.WakeFirst()) written_waiters_.WakeFirst();
}

Status GroupCommit::Write(Lsn to, bool alone) {
  while (written() < to) {
    latch_.lock();
    SISAL_CHECK(!segments_.empty());
    std::shared_ptr<Segment> segment = segments_.front();
    const bool at_end = written() == segment->end;
    const bool write_is_durable = write_is_durable_ || SISAL_PLANTED(kAckBeforeSync);
    latch_.unlock();
    if (at_end) {
      if (durable() < segment->end && !SISAL_PLANTED(kOldSegmentNotSynced)) SISAL_RETURN_IF_ERROR(SyncCurrent(alone));
      latch_.lock();
      segments_.pop_front();
      latch_.unlock();
      listener_.OnSegmentBegun();
      continue;
    }
    const Lsn from = written();
    const Lsn stop = std::min(to, segment->end);
    SISAL_RETURN_IF_ERROR(WriteRange(*segment->file, segment->start, from, stop, alone));
    SISAL_RETURN_IF_ERROR(Publish(stop, write_is_durable ? stop : durable()));
  }
  return Status();
}

Status GroupCommit::WriteRange(io::File& file, Lsn segment_start, Lsn from, Lsn to, bool alone) {
  const auto offset_of = [&](Lsn lsn) { return kBlockBytes + (lsn.value - segment_start.value); };
  Lsn at{AlignDown(from.value, kBlockBytes)};
  const Lsn last_block{AlignDown(to.value, kBlockBytes)};
  if (AlignUp(to.value, kBlockBytes) - at.value > kStagingBytes) {
    while (at < last_block) {
      const std::span<const char> whole = ring_.Peek(at, std::min(last_block, Lsn{at.value + kWriteBytesMax}));
      SISAL_RETURN_IF_ERROR(file.WriteAt(offset_of(at), whole));
      at.value += whole.size();
    }
    if (at == to) return Status();
  }
  // A copy: beyond `to` others write into the ring meanwhile, and the rest of the block must be zeros.
  const Lsn first = at;
  while (at < to) {
    const std::span<const char> bytes = ring_.Peek(at, to);
    std::memcpy(staging_.data() + (at.value - first.value), bytes.data(), bytes.size());
    at.value += bytes.size();
  }
  const uint64_t used = to.value - first.value;
  const uint64_t size = AlignUp(used, kBlockBytes);
  std::memset(staging_.data() + used, 0, size - used);
  const std::span<const char> bytes(staging_.data(), size);
  return alone ? file.WriteAtInPlace(offset_of(first), bytes) : file.WriteAt(offset_of(first), bytes);
}

Status GroupCommit::SyncCurrent(bool alone) {
  latch_.lock();
  const std::shared_ptr<Segment> segment = segments_.front();
  const Lsn target = written();
  latch_.unlock();
  Status synced = alone ? segment->file->SyncInPlace() : segment->file->Sync();
  if (!synced.ok() && SISAL_PLANTED(kFailedSyncRetried)) synced = segment->file->Sync();
  SISAL_RETURN_IF_ERROR(synced);
  SISAL_SIM_POINT();
  return Publish(target, target);
}

Status GroupCommit::Publish(Lsn written, Lsn durable) {
  latch_.lock();
  // A failure is final: what a later sync says of earlier bytes is not to be believed.
  if (failed_.load()) {
    latch_.unlock();
    return Error{"58030", "the log has failed"};
  }
  if (written > this->written()) {
    bytes_flushed_ += written.value - this->written().value;
    written_.store(written.value);
    ring_.Release(written);
    written_waiters_.WakeThroughKey(written.value);
  }
  if (durable > this->durable()) {
    ++syncs_;
    durable_.store(durable.value);
    durable_waiters_.WakeThroughKey(durable.value);
  }
  latch_.unlock();
  listener_.OnRoomChanged();
  return Status();
}

void GroupCommit::Fail(const Error& error) {
  latch_.lock();
  const bool is_first = !failed_.load();
  if (is_first) failure_ = error.message();
  failed_.store(true);
  leading_ = false;
  durable_waiters_.WakeAll();
  written_waiters_.WakeAll();
  background_.WakeAll();
  latch_.unlock();
  if (is_first) sisal::Log(LogLevel::kError, "log: failed, no more writes until a restart: " + error.ToString());
  listener_.OnRoomChanged();
}

void GroupCommit::AddSegment(std::shared_ptr<Segment> segment, bool write_is_durable) {
  std::lock_guard guard(latch_);
  write_is_durable_ = write_is_durable;
  segments_.push_back(std::move(segment));
}

uint64_t GroupCommit::segments_ahead() const {
  std::lock_guard guard(latch_);
  return segments_.empty() ? 0 : segments_.size() - 1;
}

void GroupCommit::RunBackgroundSync() {
  latch_.lock();
  while (!stopping_) {
    if (failed_.load() || durable() == written()) {
      io::WaitList::Node node;
      background_.Add(node);
      latch_.unlock();
      node.Park();
      latch_.lock();
      continue;
    }
    latch_.unlock();
    io::SleepUntil({io::Now() + kBackgroundSyncDelay, &stop_});
    SyncInBackground();
    latch_.lock();
  }
  latch_.unlock();
}

void GroupCommit::SyncInBackground() {
  latch_.lock();
  const Lsn target = written();
  const uint64_t records_upto = records_flushed_;
  // Not the leader's way: writes go on while this sync runs.
  const std::shared_ptr<Segment> segment = segments_.front();
  const bool needed = !failed_.load() && durable() < target;
  latch_.unlock();
  if (!needed) return;
  const Instant start = clock_.Now();
  Status status = segment->file->Sync();
  if (status.ok()) status = Publish(target, target);
  if (!status.ok()) return Fail(status.error());
  std::lock_guard guard(latch_);
  AccountSync(records_upto, clock_.Now() - start);
}

void GroupCommit::Stop() {
  latch_.lock();
  stopping_ = true;
  background_.WakeAll();
  latch_.unlock();
  stop_.Cancel(Error{"57P01", "the log is closing"});
}

void GroupCommit::AddTo(LogStats& stats) const {
  std::lock_guard guard(latch_);
  stats.bytes_flushed = bytes_flushed_;
  stats.syncs = syncs_;
  stats.commits_synced = records_synced_;
  stats.waiters = waiter_count_;
  std::copy(std::begin(histograms_.group_size_pow2), std::end(histograms_.group_size_pow2), stats.group_size_pow2);
  stats.group_size_sum = histograms_.group_size_sum;
  std::copy(std::begin(histograms_.sync_latency_us_pow2), std::end(histograms_.sync_latency_us_pow2),
            stats.sync_latency_us_pow2);
  stats.sync_latency_us_sum = histograms_.sync_latency_us_sum;
}

}  // namespace sisal::wal
