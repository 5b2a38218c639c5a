// Log: the parts put together. The flow of a commit is Reserve, Append, WaitDurable; of a start, Log::Open.
#include "sisal/wal/log.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "group_commit.h"
#include "recovery.h"
#include "ring.h"
#include "segment_maker.h"
#include "segment_store.h"
#include "sisal/base/check.h"
#include "sisal/base/log.h"
#include "sisal/base/random.h"
#include "sisal/base/simulation.h"
#include "sisal/io/sync.h"

namespace sisal::wal {
namespace {
constexpr uint64_t kRingBytesMax = 32 << 20;
// Of the last segment, for Close's record.
constexpr uint64_t kKeptBytes = kBlockBytes;

// What fibers share with the Log: it lives until the last of them has ended.
class LogCore final : public FlushListener {
 public:
  LogCore(std::unique_ptr<SegmentStore> store, const Clock& clock, const RingGeometry& geometry,
          const OpenIdentity& identity)
      : store(std::move(store)),
        ring(geometry),
        group(ring, clock, *this),
        maker(*this->store, ring, group, identity) {}

  void OnRoomChanged() override {
    // Sequentially consistent, as the store in ParkForRoom: one of the two sees the other.
    if (!room_wanted_.load()) return;
    room_latch_.lock();
    room_wanted_.store(false);
    room_waiters_.WakeAll();
    room_latch_.unlock();
  }
  void OnSegmentBegun() override { maker.Kick(); }

  Status TakeRoom(uint64_t payload_bytes, uint64_t kept_bytes);
  void StopFibers();

  const std::unique_ptr<SegmentStore> store;
  LogRing ring;
  GroupCommit group;
  SegmentMaker maker;
  io::Event maker_ended;
  io::Event sync_ended;
  std::atomic<bool> closed{false};

 private:
  Status WaitForRoom(uint64_t payload_bytes, uint64_t kept_bytes);
  void ParkForRoom(uint64_t payload_bytes, uint64_t kept_bytes);

  io::Mutex turn_;  // who waits for room does so in turn, so that a large record is not overtaken for ever
  std::atomic<uint64_t> queue_length_{0};
  io::SpinLatch room_latch_;  // guards the waiter, which holds turn_
  io::WaitList room_waiters_;
  std::atomic<bool> room_wanted_{false};
};

Status LogCore::TakeRoom(uint64_t payload_bytes, uint64_t kept_bytes) {
  if (group.failed()) return Error{"58030", "the log has failed, no more writes until a restart"};
  const bool is_unlucky = SISAL_BUGGIFY();
  if (!is_unlucky && queue_length_.load() == 0 && ring.TryPromise(payload_bytes, kept_bytes)) return Status();
  queue_length_.fetch_add(1);
  Status status;
  {
    io::MutexLock lock(turn_);
    status = WaitForRoom(payload_bytes, kept_bytes);
  }
  queue_length_.fetch_sub(1);
  return status;
}

Status LogCore::WaitForRoom(uint64_t payload_bytes, uint64_t kept_bytes) {
  while (!ring.TryPromise(payload_bytes, kept_bytes)) {
    if (group.failed()) return Error{"58030", "the log has failed, no more writes until a restart"};
    if (closed.load()) return Error{"57P01", "the log is closed"};
    if (ring.LacksSegment(payload_bytes, kept_bytes)) {
      SISAL_RETURN_IF_ERROR(maker.AwaitSegment());
    } else if (ring.next() > group.written()) {
      // Nobody else might: records that nobody waits for yet fill the ring too.
      if (!group.WaitWritten(ring.next()).ok())
        return Error{"58030", "the log has failed, no more writes until a restart"};
    } else {
      ParkForRoom(payload_bytes, kept_bytes);
    }
  }
  return Status();
}

// All that was appended is written: the room is promised to others, who append it or give it back.
void LogCore::ParkForRoom(uint64_t payload_bytes, uint64_t kept_bytes) {
  io::WaitList::Node node;
  room_latch_.lock();
  room_waiters_.Add(node);
  room_wanted_.store(true);
  bool has_changed = ring.next() > group.written() || group.failed() || closed.load();
  if (!has_changed && ring.TryPromise(payload_bytes, kept_bytes)) {
    ring.GiveBack(payload_bytes);  // the caller takes it again
    has_changed = true;
  }
  if (has_changed) {
    room_waiters_.Remove(node);
    room_wanted_.store(false);
    room_latch_.unlock();
    return;
  }
  room_latch_.unlock();
  node.Park();
}

void LogCore::StopFibers() {
  maker.Stop();
  group.Stop();
  OnRoomChanged();
  maker_ended.Wait();
  sync_ended.Wait();
}

class LogImpl final : public Log {
 public:
  explicit LogImpl(std::shared_ptr<LogCore> core) : core_(std::move(core)) {}
  ~LogImpl() override {
    core_->maker.Stop();
    core_->group.Stop();
  }

  void StartFibers(io::Runtime& runtime) {
    runtime.Spawn({"log segment maker", io::Priority::kBackground}, [core = core_] {
      core->maker.Run();
      core->maker_ended.Set();
    });
    runtime.Spawn({"log background sync"}, [core = core_] {
      core->group.RunBackgroundSync();
      core->sync_ended.Set();
    });
  }

  Result<LogCredit> Reserve(uint64_t payload_bytes) override {
    if (payload_bytes > payload_bytes_max()) {
      return Error{"54000", "a log record of " + std::to_string(payload_bytes) + " bytes is larger than the limit of " +
                                std::to_string(payload_bytes_max())}
          .WithLimit("log_record_bytes", payload_bytes_max());
    }
    if (core_->closed.load()) return Error{"57P01", "the log is closed"};
    SISAL_RETURN_IF_ERROR(core_->TakeRoom(payload_bytes, kKeptBytes));
    return MakeCredit(this, payload_bytes);
  }
  uint64_t payload_bytes_max() const override { return core_->ring.payload_bytes_max(); }

  LogRange Append(LogCredit credit, RecordType type, std::span<const std::string_view> pieces,
                  const std::function<void(LogRange)>& on_reserved) override {
    const uint64_t payload_bytes = credit.payload_bytes();
    uint64_t piece_bytes = 0;
    for (const std::string_view piece : pieces) piece_bytes += piece.size();
    SISAL_CHECK(piece_bytes == payload_bytes);
    SISAL_CHECK(type != RecordType::kPad);
    UseCredit(credit, this);
    const LogRange range = core_->ring.Append(type, pieces, payload_bytes, core_->group.durable(), on_reserved);
    core_->OnRoomChanged();
    return range;
  }

  Status WaitDurable(Lsn upto) override { return core_->group.WaitDurable(upto); }
  Status WaitWritten(Lsn upto) override { return core_->group.WaitWritten(upto); }
  Lsn durable() const override { return core_->group.durable(); }
  Lsn written() const override { return core_->group.written(); }
  Lsn end() const override { return core_->ring.next(); }
  bool failed() const override { return core_->group.failed(); }

  LogStats Stats() const override {
    LogStats stats;
    core_->group.AddTo(stats);
    stats.bytes_appended = core_->ring.next().value - core_->ring.geometry().start.value;
    stats.segments_ahead = core_->group.segments_ahead();
    stats.segments_live = core_->store->segments_live();
    stats.bytes_live = core_->store->bytes_live();
    stats.write_method = WriteMethodName(core_->store->write_method());
    return stats;
  }

  Status Close() override;
  void Abandon() override {
    if (!core_->closed.exchange(true)) core_->StopFibers();
  }

 protected:
  void ReturnCredit(uint64_t payload_bytes) override {
    core_->ring.GiveBack(payload_bytes);
    core_->OnRoomChanged();
  }

 private:
  Status WriteShutdownRecord();

  const std::shared_ptr<LogCore> core_;
};

Status LogImpl::WriteShutdownRecord() {
  // On a disk that was full from the start there is no segment to write it to, and nothing to be marked.
  if (core_->ring.prepared_end() == core_->ring.geometry().start) return Status();
  // All before it is durable: the record then vouches for it.
  SISAL_RETURN_IF_ERROR(core_->group.WaitDurable(core_->ring.next()));
  SISAL_RETURN_IF_ERROR(core_->TakeRoom(0, 0));
  const LogRange range = core_->ring.Append(RecordType::kCleanShutdown, {}, 0, core_->group.durable(), {});
  return core_->group.WaitDurable(range.end);
}

Status LogImpl::Close() {
  if (core_->closed.exchange(true)) return Status();
  Status status = WriteShutdownRecord();
  core_->StopFibers();
  if (!status.ok() && status.sqlstate() != "58030") {
    status = Error{"58030", "the log was not closed in order: " + status.error().message()};
  }
  return status;
}

Error OutOfRange(const LogOptions& options) {
  return Error{"22023", "log segments of " + std::to_string(options.segment_bytes) + " bytes: the least is " +
                            std::to_string(kSegmentBytesMin) + ", the most 1 TiB"};
}

// What recovery has found, and the store that holds it.
struct Recovered {
  std::unique_ptr<SegmentStore> store;
  LogEnd log;
  OpenIdentity identity;
};

Result<Recovered> Recover(io::Runtime& runtime, io::FileSystem& files, const std::string& directory,
                          const LogOptions& options, Lsn redo, const Log::Visitor& visit, ReplayProgress* progress) {
  Recovered result;
  SISAL_RETURN_IF_ERROR(files.CreateDirectory(directory));
  result.store = std::make_unique<SegmentStore>(files, runtime.clock(), directory, options);
  SegmentStore& store = *result.store;
  SISAL_ASSIGN_OR_RETURN(const std::vector<std::string> names, store.Load());
  SISAL_ASSIGN_OR_RETURN(result.log, FindEnd(files, directory, names));
  const LogEnd& log = result.log;
  SISAL_ASSIGN_OR_RETURN(const Lsn highest_end, store.HighestEnd(names));
  if (log.is_tail_insecure && !SISAL_PLANTED(kTailNotSecured)) {
    const SegmentInfo& tail = log.segments[log.segments_used - 1];
    SISAL_RETURN_IF_ERROR(store.Secure(tail.name, kBlockBytes + (log.end.value - tail.header.start.value)));
  }
  SISAL_RETURN_IF_ERROR(Replay(files, directory, log, redo, visit, progress));
  // From the last: an open's first segment says where the log ended before it, and goes last.
  for (size_t i = log.segments.size(); i > log.segments_used; --i) {
    SISAL_RETURN_IF_ERROR(store.Recycle(log.segments[i - 1].name));
  }
  result.identity.generation = log.segments.empty() ? 1 : log.segments.back().header.generation + 1;
  result.identity.salt = SecureRandom64();
  result.identity.previous_end = log.end;
  // Never zero: a commit's timestamp is above the one that nobody has. Beyond whatever any file may hold.
  result.identity.start = Lsn{std::max(highest_end.value, AlignUp(log.end.value, kBlockBytes)) + kBlockBytes};
  if (SISAL_PLANTED(kPositionRestarts)) result.identity.start = Lsn{kBlockBytes};
  return result;
}

// The open's first segment; null on a full disk.
Result<std::shared_ptr<Segment>> MakeFirst(SegmentStore& store, const OpenIdentity& identity, bool is_new_log) {
  while (true) {
    auto made = store.Make(identity.HeaderAt(identity.start, store.segment_bytes()), {});
    if (made.ok()) return made;
    if (made.error().sqlstate() != "53100") return made.status();
    SISAL_ASSIGN_OR_RETURN(const bool smaller, store.TrySmallerSegments(is_new_log));
    if (!smaller) {
      sisal::Log(LogLevel::kWarning, "log: opened without room to write: " + made.error().ToString());
      return std::shared_ptr<Segment>();
    }
  }
}
}  // namespace

Result<std::unique_ptr<Log>> Log::Open(io::Runtime& runtime, const std::string& directory, const LogOptions& options,
                                       Lsn redo, const Visitor& visit, ReplayProgress* progress) {
  if (options.segment_bytes < kSegmentBytesMin || options.segment_bytes > uint64_t{1} << 40) return OutOfRange(options);
  io::FileSystem& files = options.file_system != nullptr ? *options.file_system : runtime.file_system();
  SISAL_ASSIGN_OR_RETURN(Recovered recovered, Recover(runtime, files, directory, options, redo, visit, progress));
  SISAL_ASSIGN_OR_RETURN(auto first, MakeFirst(*recovered.store, recovered.identity, recovered.log.segments.empty()));

  RingGeometry geometry;
  geometry.start = recovered.identity.start;
  geometry.segment_capacity = recovered.store->segment_bytes() - kBlockBytes;
  geometry.ring_bytes = std::min(geometry.segment_capacity, kRingBytesMax);
  geometry.open_salt = recovered.identity.salt;
  auto core = std::make_shared<LogCore>(std::move(recovered.store), runtime.clock(), geometry, recovered.identity);
  if (first != nullptr) core->maker.Add(std::move(first));
  auto log = std::make_unique<LogImpl>(std::move(core));
  log->StartFibers(runtime);
  return std::unique_ptr<Log>(std::move(log));
}

LogCredit Log::MakeCredit(Log* log, uint64_t payload_bytes) {
  LogCredit credit;
  credit.log_ = log;
  credit.payload_bytes_ = payload_bytes;
  return credit;
}

void Log::UseCredit(LogCredit& credit, const Log* log) {
  SISAL_CHECK(credit.log_ == log);
  credit.log_ = nullptr;
}

LogCredit::LogCredit(LogCredit&& other) noexcept
    : log_(std::exchange(other.log_, nullptr)), payload_bytes_(other.payload_bytes_) {}

LogCredit& LogCredit::operator=(LogCredit&& other) noexcept {
  if (this != &other) {
    if (log_ != nullptr) log_->ReturnCredit(payload_bytes_);
    log_ = std::exchange(other.log_, nullptr);
    payload_bytes_ = other.payload_bytes_;
  }
  return *this;
}

LogCredit::~LogCredit() {
  if (log_ != nullptr) log_->ReturnCredit(payload_bytes_);
}

}  // namespace sisal::wal
