// The write-ahead log: makes commits durable and lets recovery redo them. An LSN is a byte offset that is never
// reused; a record fills [start, end), and a commit's timestamp is its record's end (design (b)).
//
// Concurrency: thread-safe; fibers of any loop may call any method.
// Ownership:   borrows the FileSystem and Runtime, which outlive this object. Close or Abandon comes before its end.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sisal/base/ids.h"
#include "sisal/base/status.h"
#include "sisal/io/file.h"
#include "sisal/io/runtime.h"

namespace sisal::wal {

enum class RecordType : uint8_t {
  kPad = 0,            // fills a segment's rest; never shown to a reader
  kCommit = 1,         // a transaction's row changes; the payload belongs to engine/txn
  kChunk = 2,          // part of a transaction above 1 MiB, named by a later kCommit
  kCleanShutdown = 3,  // the log ended in order
  kNote = 4,           // engine/txn's own: sequences, checkpoints
};

enum class Durability { kFull, kNormal };  // answered after the sync; after the write, synced within 100 ms

// How a flush reaches stable storage. Which is fastest depends on the device, so it is measured at open.
enum class WriteMethod { kCalibrate, kBufferedSync, kDirectSync, kDirectDataSync };

struct LogOptions {
  uint64_t segment_bytes = 64 << 20;  // 1 MiB up; smaller segments are made if max_bytes or a file size limit demand it
  uint64_t max_bytes = 0;             // cap on all files of the log together; 0: only the disk's
  Durability durability = Durability::kFull;
  WriteMethod write_method = WriteMethod::kCalibrate;
  io::FileSystem* file_system = nullptr;  // nullptr: the runtime's
};

struct RecordView {
  Lsn start, end;
  RecordType type;
  std::string_view payload;  // valid during the call
};

// Room for one record, taken before anything is reserved; gives itself back if it is not used.
class LogCredit {
 public:
  LogCredit() = default;
  LogCredit(LogCredit&& other) noexcept;
  LogCredit& operator=(LogCredit&& other) noexcept;
  ~LogCredit();
  uint64_t payload_bytes() const { return payload_bytes_; }

 private:
  friend class Log;
  class Log* log_ = nullptr;
  uint64_t payload_bytes_ = 0;
};

struct LogRange {
  Lsn start, end;
};

struct LogStats {
  uint64_t bytes_appended = 0, bytes_flushed = 0, syncs = 0, commits_synced = 0, waiters = 0;
  uint64_t segments_ahead = 0, segments_live = 0, bytes_live = 0;
  // Group size: records covered by one sync; bucket i counts those <= 1 << i.
  uint64_t group_size_pow2[16] = {};
  uint64_t group_size_sum = 0;
  // Sync latency; bucket i counts those below 1 us << i.
  uint64_t sync_latency_us_pow2[24] = {};
  uint64_t sync_latency_us_sum = 0;
  std::string write_method;  // as calibrated
};

// Of an open that runs, for other threads to look at, and to end.
struct ReplayProgress {
  std::atomic<uint64_t> bytes_total{0}, bytes_done{0}, records{0};
  std::atomic<bool> stop{false};  // the replay ends with 57P01 before its next record
};

class Log {
 public:
  using Visitor = std::function<Status(const RecordView&)>;

  // Finds the log's end (a torn tail ends it), secures the tail before it is trusted, calls `visit` for each record at
  // or after `redo` in LSN order, then starts a fresh, durable, salted segment. Suspends.
  // Errors: XX001 if the log is damaged before its tail; 53100 if there is no space for the fresh segment; 57P01 if
  // `progress` says so; the visitor's.
  static Result<std::unique_ptr<Log>> Open(io::Runtime& runtime, const std::string& directory,
                                           const LogOptions& options, Lsn redo, const Visitor& visit,
                                           ReplayProgress* progress);
  virtual ~Log() = default;

  // Takes room for a record of `payload_bytes`. May wait for the flusher or the segment maker. Suspends; the caller
  // holds no latch and no other credit. Errors: 53100 (disk or the size cap is full; nothing was reserved; works again
  // when there is space), 54000 (larger than payload_bytes_max()), 58030 (the log has failed), 57P01 (it is closed).
  virtual Result<LogCredit> Reserve(uint64_t payload_bytes) = 0;
  // The largest record: just under half a segment, at most 16 MiB.
  virtual uint64_t payload_bytes_max() const = 0;

  // Puts the record at the log's end, in the order of the calls. Never fails, never suspends. The pieces together have
  // exactly the credit's payload_bytes. `on_reserved`, if given, runs with the range as soon as the range is fixed
  // and before the range of any later record that has an `on_reserved` is (for horizons): it must not suspend, and it
  // runs under a latch of the log's. A record without one is reserved by a single atomic add.
  virtual LogRange Append(LogCredit credit, RecordType type, std::span<const std::string_view> pieces,
                          const std::function<void(LogRange)>& on_reserved = {}) = 0;

  // Returns once every byte before `upto` is on stable storage. Not interruptible: the outcome is decided by the disk.
  // Suspends. Requires: `upto` was returned by Append.
  // Errors: 08007 if the write or sync that was to cover `upto` failed, whenever it is asked: the record may or may not
  //         survive. 58030 for every later record: it does not survive.
  virtual Status WaitDurable(Lsn upto) = 0;
  // The same for the weaker promise: the bytes were handed to the kernel.
  virtual Status WaitWritten(Lsn upto) = 0;

  virtual Lsn durable() const = 0;  // one relaxed load
  virtual Lsn written() const = 0;
  virtual Lsn end() const = 0;      // where the next record would start
  virtual bool failed() const = 0;  // a write or sync has failed; final
  virtual LogStats Stats() const = 0;

  // Appends kCleanShutdown, syncs, stops the background fibers. No Append may follow, no credit may be out. Suspends.
  // Errors: 58030 if the log has failed; it is closed all the same.
  virtual Status Close() = 0;
  // Stops the background fibers and leaves the files as a crash would. Suspends.
  virtual void Abandon() = 0;

 protected:
  friend class LogCredit;
  virtual void ReturnCredit(uint64_t payload_bytes) = 0;
  static LogCredit MakeCredit(Log* log, uint64_t payload_bytes);
  // The credit is spent: it is not given back. Requires: it is of `log`.
  static void UseCredit(LogCredit& credit, const Log* log);
};

}  // namespace sisal::wal
