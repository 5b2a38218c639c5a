// A simulated disk: a file system in memory that answers out of order, fails, fills up, and loses power.
//
// Of each file there are two images, in sectors of 512 bytes: what reads show, and what is on stable storage. A write
// changes the first, some virtual time after the call; a sync moves sectors to the second. At a crash each unsynced
// sector is kept, dropped or garbled by a seeded draw, and of the unsynced directory changes a prefix survives. Garbled
// are only bytes that the write changed: a sector is old or new as far as old and new agree (engine/wal, rule 9).
//
// Confined to a simulation's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sisal/base/random.h"
#include "sisal/io/file.h"

namespace sisal::sim {

// Chances are "one in so many" operations; 0: never.
struct DiskFaults {
  uint32_t garble_one_in = 8;      // unsynced sectors at a crash that are neither old nor new
  uint32_t misdirect_one_in = 0;   // crashes at which one unsynced write lands elsewhere in its file
  uint32_t slow_one_in = 32;       // operations that take up to 100 times as long
  uint32_t sync_error_one_in = 0;  // then unsynced sectors are dropped, and count as clean
  uint32_t lost_sync_one_in = 0;   // returns ok and does nothing
  uint32_t read_error_one_in = 0;
  uint32_t write_error_one_in = 0;
  uint32_t stale_read_one_in = 0;   // shows what is on stable storage instead
  uint32_t no_space_one_in = 0;     // of writes that need new blocks, and of Allocate
  uint64_t error_at_operation = 0;  // the n-th write or sync from now on fails; 0: none
  uint64_t error_at_sync = 0;       // the n-th sync
};

enum class CrashKind : uint8_t {
  kPowerCut,
  kKill,  // of the process: what reads show stays so, synced or not
};

class SimDisk final : public io::FileSystem {
 public:
  explicit SimDisk(uint64_t seed);
  ~SimDisk() override;

  DiskFaults faults;
  uint64_t capacity_bytes = UINT64_MAX;
  uint64_t file_bytes_max = UINT64_MAX;
  bool grants_direct = true;
  Duration typical_latency{20'000};

  // All files open now are dead: each operation fails with 58030, also those in flight.
  void Crash(CrashKind kind);
  // Flips one bit of a random file, on stable storage; false: there is none.
  bool FlipBit();

  uint64_t used_bytes() const;
  uint64_t crash_count() const { return crash_count_; }
  uint64_t operation_count() const { return operation_count_; }
  // Asked before each operation, with its number.
  std::function<void(uint64_t)> on_operation;
  // Errors given so far by `faults`, by kind: a scenario asks what its clients may have seen.
  uint64_t write_faults = 0, read_faults = 0, space_faults = 0;

  Result<std::unique_ptr<io::File>> Open(const std::string& path, const io::OpenOptions& options) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& path) override;
  Status CreateDirectory(const std::string& path) override;
  Status SyncDirectory(const std::string& path) override;
  Result<std::vector<std::string>> List(const std::string& directory) override;
  Result<bool> Exists(const std::string& path) override;
  Result<uint64_t> FreeSpace(const std::string& path) override;
  Result<std::unique_ptr<io::DirectoryLock>> LockDirectory(const std::string& path, Duration patience) override;

 private:
  static constexpr size_t kSectorBytes = 512;
  struct Node;
  using NodePointer = std::shared_ptr<Node>;
  using Names = std::map<std::string, NodePointer>;
  struct Write {
    NodePointer node;
    uint64_t offset;
    std::string bytes;
  };
  class SimFile;
  class Lock;

  bool Happens(uint32_t one_in) { return one_in != 0 && random_.OneIn(one_in); }
  // The operation's time passes. Error: the machine went down meanwhile. Suspends.
  Status Pass(std::string_view what, const std::string& path, uint64_t generation, uint64_t detail);
  static bool IsDue(uint64_t& count) { return count != 0 && --count == 0; }
  Status Grow(Node& node, uint64_t size_bytes, const std::string& path);
  void Change(std::function<void(Names&)> change);
  void CutNode(Node& node);
  void Misdirect();
  void ApplyInFlight(const Write& write);

  Random random_;
  uint64_t generation_ = 0;  // rises with each crash
  uint64_t operation_count_ = 0;
  uint64_t crash_count_ = 0;
  uint64_t next_write_ = 0;
  Names names_;
  Names durable_names_;
  std::vector<std::function<void(Names&)>> changes_;  // from durable_names_ to names_
  std::map<uint64_t, Write> in_flight_;
  std::set<std::string> locks_;
};

}  // namespace sisal::sim
