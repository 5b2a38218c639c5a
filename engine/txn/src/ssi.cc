#include "ssi.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace sisal::txn {

Error SsiTable::Fail(std::string_view reason) const {
  failures_.fetch_add(1, std::memory_order_relaxed);
  return Error("40001", "could not serialize access due to read/write dependencies among transactions")
      .WithDetail("Reason: " + std::string(reason) + ".")
      .WithHint("The transaction might succeed if retried.");
}

SsiTable::Place SsiTable::Enter(TxnId txn, bool may_write, absl::FunctionRef<Timestamp()> floor) {
  Place place;
  if (may_write) {
    const std::lock_guard guard(writers_latch_);
    writers_.insert(place.writer = next_writer_++);
  }
  place.floor = entered_.Acquire(txn, floor);
  return place;
}

void SsiTable::Leave(TxnId txn, const Place& place) {
  entered_.Release(txn, place.floor);
  if (place.writer == 0) return;
  const std::lock_guard guard(writers_latch_);
  writers_.erase(place.writer);
}

size_t SsiTable::writers() const {
  const std::lock_guard guard(writers_latch_);
  return writers_.size();
}

uint64_t SsiTable::next_writer() const {
  const std::lock_guard guard(writers_latch_);
  return next_writer_;
}

bool SsiTable::HasWriterBelow(uint64_t number) const {
  const std::lock_guard guard(writers_latch_);
  return !writers_.empty() && *writers_.begin() < number;
}

Result<Timestamp> SsiTable::Check(const Attempt& attempt) const {
  const bool only_reads = attempt.writes.empty();
  Timestamp earliest_out = Timestamp::Max();
  bool is_in = false;  // of a structure whose pivot has committed
  const auto is_concurrent = [&](const Committed& other) { return other.last > attempt.snapshot; };
  // Whoever was published before one that committed by our snapshot is no concern: see Publish.
  const auto is_over = [&](const Committed& other) { return other.wrote && !is_concurrent(other); };
  for (auto other = committed_.rbegin(); other != committed_.rend() && !is_over(*other); ++other) {
    if (!is_concurrent(*other) || !other->writes.MeetsReads(attempt.reads)) continue;
    earliest_out = std::min(earliest_out, other->first);
    // Max() is none. One that only reads has seen Out.
    is_in |= only_reads ? other->earliest_out <= attempt.newest_seen : other->earliest_out != Timestamp::Max();
  }
  if (is_in) return Fail("a committed transaction is the pivot of a dangerous structure");
  if (earliest_out == Timestamp::Max()) return earliest_out;
  if (attempt.newest_seen > attempt.snapshot) return Fail("this transaction is the pivot of a dangerous structure");
  if (only_reads) return earliest_out;
  for (auto other = committed_.rbegin(); other != committed_.rend() && !is_over(*other); ++other) {
    // Out commits first, or is In itself, or was seen by an In that only read.
    const bool is_dangerous = earliest_out <= other->last;
    if (is_concurrent(*other) && is_dangerous && other->reads.MetBy(attempt.writes)) {
      return Fail("this transaction is the pivot of a dangerous structure");
    }
  }
  return earliest_out;
}

// Commits are published in the order of their positions, one that only read after every commit that it has seen. So if
// a commit is not above a snapshot, neither is what was published before it.
void SsiTable::Publish(Timestamp at, Timestamp earliest_out, Reads reads, WrittenKeys writes,
                       absl::FunctionRef<Timestamp()> floor) noexcept {
  const bool wrote = !writes.empty();
  committed_.push_back({at, at, earliest_out, wrote, std::move(reads), std::move(writes)});
  bytes_ += committed_.back().bytes();
  if (until_prune_-- == 0) {
    Prune(entered_.View(floor).oldest());
    until_prune_ = kPublishedBetweenPrunes;
  }
  if (committed_.size() > kCommittedMax || bytes_ > kBytesMax) Summarize();
  retained_.store(committed_.size(), std::memory_order_relaxed);
}

void SsiTable::Prune(Timestamp needed_above) {
  while (!committed_.empty() && committed_.front().last <= needed_above) {
    bytes_ -= std::min(bytes_, committed_.front().bytes());
    committed_.pop_front();
  }
}

void SsiTable::Summarize() {
  const size_t count = committed_.size() / 2;
  if (count < 2) return;
  Committed sum;
  sum.first = Timestamp::Max();
  for (size_t i = 0; i < count; ++i) {
    const Committed& one = committed_.front();
    sum.first = std::min(sum.first, one.first);
    sum.last = std::max(sum.last, one.last);
    sum.earliest_out = std::min(sum.earliest_out, one.earliest_out);
    sum.reads.at_snapshot.AddTreesOf(one.reads.at_snapshot);
    sum.reads.at_snapshot.AddTreesOf(one.reads.newest);
    sum.writes.AddBoundsOf(one.writes);
    bytes_ -= std::min(bytes_, one.bytes());
    committed_.pop_front();
  }
  bytes_ += sum.bytes();
  committed_.push_front(std::move(sum));
}

bool SsiTable::IsSafe(Timestamp snapshot) const {
  // The pivot has committed above the snapshot, what it comes before below it.
  return std::none_of(committed_.begin(), committed_.end(), [&](const Committed& one) {
    return one.wrote && one.last > snapshot && one.earliest_out <= snapshot;
  });
}

}  // namespace sisal::txn
