#include "sim_disk.h"

#include <algorithm>
#include <cstring>

#include "sisal/base/bytes.h"
#include "sisal/base/check.h"
#include "sisal/io/simulation.h"
#include "sisal/io/time.h"

namespace sisal::sim {
namespace {

constexpr size_t kBlockBytes = 4096;  // of O_DIRECT

Error Down(const std::string& path) { return Error{"58030", path + ": the machine is down"}; }

}  // namespace

// One file, whatever its names are.
struct SimDisk::Node {
  std::string shown;        // what reads see
  std::string durable;      // what is on stable storage
  std::vector<bool> dirty;  // by sector of `shown`: not yet synced
  uint64_t allocated_bytes = 0;

  void MarkDirty(uint64_t offset, uint64_t size_bytes) {
    if (size_bytes == 0) return;
    const size_t last = (offset + size_bytes - 1) / kSectorBytes;
    if (dirty.size() <= last) dirty.resize(last + 1);
    for (size_t sector = offset / kSectorBytes; sector <= last; ++sector) dirty[sector] = true;
  }
  std::string_view Sector(size_t sector) const {
    return std::string_view(shown).substr(sector * kSectorBytes, kSectorBytes);
  }
  void StoreDurable(size_t sector, std::string_view bytes) {
    const size_t offset = sector * kSectorBytes;
    if (durable.size() < offset + bytes.size()) durable.resize(offset + bytes.size());
    std::memcpy(durable.data() + offset, bytes.data(), bytes.size());
  }
};

class SimDisk::Lock final : public io::DirectoryLock {
 public:
  Lock(SimDisk& disk, std::string path) : disk_(disk), path_(std::move(path)), generation_(disk.generation_) {}
  ~Lock() override {
    if (generation_ == disk_.generation_) disk_.locks_.erase(path_);
  }

 private:
  SimDisk& disk_;
  const std::string path_;
  const uint64_t generation_;
};

class SimDisk::SimFile final : public io::File {
 public:
  SimFile(SimDisk& disk, std::string path, NodePointer node, const io::OpenOptions& options)
      : disk_(disk),
        path_(std::move(path)),
        node_(std::move(node)),
        options_(options),
        direct_(options.direct && disk.grants_direct),
        generation_(disk.generation_) {}

  Result<size_t> ReadAt(uint64_t offset, std::span<char> into) override;
  Status WriteAt(uint64_t offset, std::span<const char> bytes) override;
  Status Sync() override;
  Status Allocate(uint64_t offset, uint64_t size_bytes) override;
  Status Truncate(uint64_t size_bytes) override;
  Result<uint64_t> Size() override;
  bool direct() const override { return direct_; }

 private:
  void CheckAligned(uint64_t offset, const void* address, size_t size_bytes) const {
    if (!direct_) return;
    SISAL_CHECK(offset % kBlockBytes == 0);
    SISAL_CHECK(size_bytes % kBlockBytes == 0);
    SISAL_CHECK(reinterpret_cast<uintptr_t>(address) % kBlockBytes == 0);
  }
  Status FailSync();

  SimDisk& disk_;
  const std::string path_;
  const NodePointer node_;
  const io::OpenOptions options_;
  const bool direct_;
  const uint64_t generation_;
};

SimDisk::SimDisk(uint64_t seed) : random_(seed) {}
SimDisk::~SimDisk() = default;

// ---- Time and faults ----

Status SimDisk::Pass(std::string_view what, const std::string& path, uint64_t generation, uint64_t detail) {
  io::Simulation::Trace(what);
  io::Simulation::Trace(path);
  io::Simulation::Trace(detail);
  if (generation != generation_) return Down(path);
  ++operation_count_;
  if (on_operation) on_operation(operation_count_);
  Duration latency = typical_latency / 4 + Duration(random_.Below(2 * typical_latency.count()));
  if (Happens(faults.slow_one_in)) latency *= 1 + random_.Below(100);
  io::SleepFor(latency);
  if (generation != generation_) return Down(path);
  return Status();
}

uint64_t SimDisk::used_bytes() const {
  uint64_t used = 0;
  for (const auto& [path, node] : names_) used += std::max<uint64_t>(node->allocated_bytes, node->shown.size());
  return used;
}

Status SimDisk::Grow(Node& node, uint64_t size_bytes, const std::string& path) {
  const uint64_t has = std::max<uint64_t>(node.allocated_bytes, node.shown.size());
  if (size_bytes > file_bytes_max) return Error{"53100", path + ": file too large"};
  if (size_bytes > has) {
    const bool injected = Happens(faults.no_space_one_in);
    const uint64_t used = used_bytes();
    if (injected || used + (size_bytes - has) > capacity_bytes) {
      ++space_faults;
      return Error{"53100", path + ": no space left on device"};
    }
    node.allocated_bytes = size_bytes;
  }
  if (size_bytes > node.shown.size()) node.shown.resize(size_bytes);
  return Status();
}

// ---- Files ----

Result<size_t> SimDisk::SimFile::ReadAt(uint64_t offset, std::span<char> into) {
  SISAL_RETURN_IF_ERROR(disk_.Pass("read", path_, generation_, offset ^ into.size() << 40));
  if (disk_.Happens(disk_.faults.read_error_one_in)) {
    ++disk_.read_faults;
    return Error{"58030", "read of " + path_ + ": injected"};
  }
  const bool stale = disk_.Happens(disk_.faults.stale_read_one_in);
  const std::string& image = stale ? node_->durable : node_->shown;
  if (offset >= image.size()) return size_t{0};
  const size_t size = image.copy(into.data(), into.size(), offset);
  io::Simulation::Trace(Crc32c({into.data(), size}));
  return size;
}

Status SimDisk::SimFile::WriteAt(uint64_t offset, std::span<const char> bytes) {
  SISAL_CHECK(options_.write);
  CheckAligned(offset, bytes.data(), bytes.size());
  if (generation_ != disk_.generation_) return Down(path_);
  const uint64_t number = disk_.next_write_++;
  disk_.in_flight_[number] = {node_, offset, std::string(bytes.data(), bytes.size())};
  const uint64_t detail = offset ^ uint64_t { Crc32c({bytes.data(), bytes.size()}) } << 32;
  const Status passed = disk_.Pass("write", path_, generation_, detail);
  disk_.in_flight_.erase(number);
  if (!passed.ok()) return passed;
  SISAL_RETURN_IF_ERROR(disk_.Grow(*node_, offset + bytes.size(), path_));
  if (disk_.Happens(disk_.faults.write_error_one_in) || SimDisk::IsDue(disk_.faults.error_at_operation)) {
    ++disk_.write_faults;
    const size_t part = disk_.random_.Below(bytes.size() + 1) / kSectorBytes * kSectorBytes;
    std::memcpy(node_->shown.data() + offset, bytes.data(), part);
    node_->MarkDirty(offset, part);
    return Error{"58030", "write of " + path_ + ": injected"};
  }
  std::memcpy(node_->shown.data() + offset, bytes.data(), bytes.size());
  node_->MarkDirty(offset, bytes.size());
  if (options_.data_sync) {
    const size_t last = (offset + bytes.size() - 1) / kSectorBytes;
    for (size_t sector = offset / kSectorBytes; sector <= last; ++sector) {
      node_->StoreDurable(sector, node_->Sector(sector));
      node_->dirty[sector] = false;
    }
  }
  return Status();
}

Status SimDisk::SimFile::FailSync() {
  ++disk_.write_faults;
  for (size_t sector = 0; sector < node_->dirty.size(); ++sector) {
    if (!node_->dirty[sector]) continue;
    if (disk_.random_.OneIn(4)) node_->StoreDurable(sector, node_->Sector(sector));
    node_->dirty[sector] = false;  // the kernel forgets that it was to be written
  }
  return Error{"58030", "sync of " + path_ + ": injected"};
}

Status SimDisk::SimFile::Sync() {
  if (generation_ != disk_.generation_) return Down(path_);
  // What is there now is what the sync covers: later writes may or may not be.
  std::vector<std::pair<size_t, std::string>> covered;
  for (size_t sector = 0; sector < node_->dirty.size(); ++sector) {
    if (node_->dirty[sector]) covered.emplace_back(sector, node_->Sector(sector));
  }
  const uint64_t size_bytes = node_->shown.size();
  SISAL_RETURN_IF_ERROR(disk_.Pass("sync", path_, generation_, covered.size()));
  const bool fails_now = SimDisk::IsDue(disk_.faults.error_at_operation),
             fails_as_sync = SimDisk::IsDue(disk_.faults.error_at_sync);
  if (disk_.Happens(disk_.faults.sync_error_one_in) || fails_now || fails_as_sync) return FailSync();
  if (disk_.Happens(disk_.faults.lost_sync_one_in)) return Status();
  for (const auto& [sector, bytes] : covered) {
    if (bytes.empty()) continue;  // cut off since
    node_->StoreDurable(sector, bytes);
    if (sector < node_->dirty.size() && node_->Sector(sector) == bytes) node_->dirty[sector] = false;
  }
  if (node_->durable.size() < size_bytes || node_->shown.size() >= size_bytes) node_->durable.resize(size_bytes);
  return Status();
}

Status SimDisk::SimFile::Allocate(uint64_t offset, uint64_t size_bytes) {
  SISAL_RETURN_IF_ERROR(disk_.Pass("allocate", path_, generation_, offset + size_bytes));
  return disk_.Grow(*node_, offset + size_bytes, path_);
}

Status SimDisk::SimFile::Truncate(uint64_t size_bytes) {
  SISAL_RETURN_IF_ERROR(disk_.Pass("truncate", path_, generation_, size_bytes));
  if (size_bytes > node_->shown.size()) return disk_.Grow(*node_, size_bytes, path_);
  node_->shown.resize(size_bytes);
  node_->allocated_bytes = size_bytes;
  node_->dirty.resize(std::min<size_t>(node_->dirty.size(), (size_bytes + kSectorBytes - 1) / kSectorBytes));
  return Status();
}

Result<uint64_t> SimDisk::SimFile::Size() {
  if (generation_ != disk_.generation_) return Down(path_);
  return uint64_t{node_->shown.size()};
}

// ---- Names ----

void SimDisk::Change(std::function<void(Names&)> change) {
  change(names_);
  changes_.push_back(std::move(change));
}

Result<std::unique_ptr<io::File>> SimDisk::Open(const std::string& path, const io::OpenOptions& options) {
  SISAL_RETURN_IF_ERROR(Pass("open", path, generation_, 0));
  auto found = names_.find(path);
  if (found != names_.end() && options.create && options.exclusive) return Error{"58030", path + ": exists"};
  if (found == names_.end()) {
    if (!options.create) return Error{"58P01", "open of " + path + ": there is none"};
    auto node = std::make_shared<Node>();
    Change([path, node](Names& names) { names[path] = node; });
    found = names_.find(path);
  }
  Node& node = *found->second;
  if (options.truncate) {
    node.shown.clear();
    node.dirty.clear();
    node.allocated_bytes = 0;
  }
  return std::unique_ptr<io::File>(new SimFile(*this, path, found->second, options));
}

Status SimDisk::Rename(const std::string& from, const std::string& to) {
  SISAL_RETURN_IF_ERROR(Pass("rename", from, generation_, 0));
  if (!names_.contains(from)) return Error{"58P01", "rename of " + from + ": there is none"};
  Change([from, to](Names& names) {
    if (auto node = names.extract(from)) names[to] = node.mapped();
  });
  return Status();
}

Status SimDisk::Remove(const std::string& path) {
  SISAL_RETURN_IF_ERROR(Pass("remove", path, generation_, 0));
  if (!names_.contains(path)) return Error{"58P01", "remove of " + path + ": there is none"};
  Change([path](Names& names) { names.erase(path); });
  return Status();
}

Status SimDisk::CreateDirectory(const std::string&) { return Status(); }

Status SimDisk::SyncDirectory(const std::string& path) {
  const size_t covered = changes_.size();
  SISAL_RETURN_IF_ERROR(Pass("sync directory", path, generation_, covered));
  const size_t count = std::min(covered, changes_.size());  // another sync may have been faster
  for (size_t i = 0; i < count; ++i) changes_[i](durable_names_);
  changes_.erase(changes_.begin(), changes_.begin() + static_cast<ptrdiff_t>(count));
  return Status();
}

Result<std::vector<std::string>> SimDisk::List(const std::string& directory) {
  SISAL_RETURN_IF_ERROR(Pass("list", directory, generation_, 0));
  std::vector<std::string> result;
  for (const auto& [path, node] : names_) {
    if (path.starts_with(directory + "/")) result.push_back(path.substr(directory.size() + 1));
  }
  return result;
}

Result<bool> SimDisk::Exists(const std::string& path) {
  SISAL_RETURN_IF_ERROR(Pass("exists", path, generation_, 0));
  return names_.contains(path);
}

Result<uint64_t> SimDisk::FreeSpace(const std::string&) {
  return capacity_bytes - std::min(capacity_bytes, used_bytes());
}

Result<std::unique_ptr<io::DirectoryLock>> SimDisk::LockDirectory(const std::string& path, Duration) {
  if (!locks_.insert(path).second) return Error{"55006", path + " is in use"};
  return std::unique_ptr<io::DirectoryLock>(std::make_unique<Lock>(*this, path));
}

// ---- Crashes ----

void SimDisk::ApplyInFlight(const Write& write) {
  Node& node = *write.node;
  const uint64_t end = std::min<uint64_t>(write.offset + write.bytes.size(), node.shown.size());
  for (uint64_t at = write.offset; at < end; at += kSectorBytes) {
    if (random_.OneIn(2)) continue;
    const size_t size = std::min<uint64_t>(kSectorBytes, end - at);
    std::memcpy(node.shown.data() + at, write.bytes.data() + (at - write.offset), size);
    node.MarkDirty(at, size);
  }
}

void SimDisk::Misdirect() {
  if (in_flight_.empty() || !Happens(faults.misdirect_one_in)) return;
  Write& write = in_flight_.begin()->second;
  if (write.node->shown.size() < 2 * kBlockBytes) return;
  write.offset = random_.Below(write.node->shown.size() / kBlockBytes) * kBlockBytes;
}

void SimDisk::CutNode(Node& node) {
  // An unsynced size is the old or the new one.
  const bool new_size = random_.OneIn(2);
  const uint64_t size_bytes = new_size ? node.shown.size() : node.durable.size();
  for (size_t sector = 0; sector < node.dirty.size(); ++sector) {
    if (!node.dirty[sector]) continue;
    const std::string bytes(node.Sector(sector));
    if (bytes.empty()) continue;
    const size_t offset = sector * kSectorBytes;
    if (Happens(faults.garble_one_in)) {
      if (node.durable.size() < offset + bytes.size()) node.durable.resize(offset + bytes.size());
      for (size_t i = 0; i < bytes.size(); ++i) {
        if (node.durable[offset + i] != bytes[i]) node.durable[offset + i] = static_cast<char>(random_.Next());
      }
    } else if (random_.OneIn(2)) {
      node.StoreDurable(sector, bytes);
    }
  }
  node.durable.resize(size_bytes);
  node.shown = node.durable;
  node.dirty.clear();
  node.allocated_bytes = node.shown.size();
}

void SimDisk::Crash(CrashKind kind) {
  ++generation_;
  ++crash_count_;
  locks_.clear();
  Misdirect();
  for (const auto& [number, write] : in_flight_) ApplyInFlight(write);
  in_flight_.clear();
  if (kind == CrashKind::kKill) return;
  const size_t kept = changes_.empty() ? 0 : random_.Below(changes_.size() + 1);
  for (size_t i = 0; i < kept; ++i) changes_[i](durable_names_);
  changes_.clear();
  names_ = durable_names_;
  std::set<Node*> seen;
  for (const auto& [path, node] : names_) {
    if (seen.insert(node.get()).second) CutNode(*node);
  }
}

bool SimDisk::FlipBit() {
  std::vector<Node*> nodes;
  for (const auto& [path, node] : names_) {
    if (!node->durable.empty()) nodes.push_back(node.get());
  }
  if (nodes.empty()) return false;
  Node& node = *nodes[random_.Below(nodes.size())];
  const size_t at = random_.Below(node.durable.size());
  const char flipped = static_cast<char>(node.durable[at] ^ 1 << random_.Below(8));
  node.durable[at] = flipped;
  if (at < node.shown.size()) node.shown[at] = flipped;
  return true;
}

}  // namespace sisal::sim
