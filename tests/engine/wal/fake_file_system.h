// A disk in memory that can fail, fill up and lose power.
//
// Each file has what the kernel would show (cached) and what a power cut leaves for sure (durable). At a power cut each
// 512-byte sector that differs is old or new by a draw, and of the unsynced directory changes a prefix survives.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "sisal/base/random.h"
#include "sisal/io/file.h"

namespace sisal::wal {

enum class DiskOp { kOpen, kWrite, kSync, kAllocate, kTruncate, kRename, kRemove, kSyncDirectory };

struct DiskCall {
  DiskOp op;
  std::string path;  // of Rename: the old one
  uint64_t offset = 0;
  uint64_t size_bytes = 0;
};

class FakeFileSystem final : public io::FileSystem {
 public:
  using Hook = std::function<Status(const DiskCall&)>;
  // `hook` is asked before each call from now on; an error is the call's outcome. It may suspend, and look at the disk.
  void SetBefore(Hook hook) {
    std::lock_guard guard(mutex_);
    before_ = hook ? std::make_shared<const Hook>(std::move(hook)) : nullptr;
  }
  std::atomic<uint64_t> capacity_bytes{UINT64_MAX};
  std::atomic<uint64_t> file_bytes_max{UINT64_MAX};
  bool grants_direct = true;

  // What the machine finds when the power is back.
  std::unique_ptr<FakeFileSystem> AfterPowerCut(Random& random) const {
    std::lock_guard guard(mutex_);
    auto result = std::make_unique<FakeFileSystem>();
    std::map<std::string, NodePointer> names = durable_names_;
    const size_t kept = changes_.empty() ? 0 : random.Below(changes_.size() + 1);
    for (size_t i = 0; i < kept; ++i) changes_[i](names);
    for (const auto& [path, node] : names) {
      auto copy = std::make_shared<Node>();
      copy->durable = Cut(*node, random);
      copy->cached = copy->durable;
      result->names_[path] = result->durable_names_[path] = copy;
    }
    return result;
  }
  // What the next process finds when this one was killed: the kernel's view, of which a later power cut may still take.
  std::unique_ptr<FakeFileSystem> AfterKill() const {
    std::lock_guard guard(mutex_);
    auto result = std::make_unique<FakeFileSystem>();
    std::map<NodePointer, NodePointer> copies;
    const auto copy_of = [&](const NodePointer& node) {
      NodePointer& copy = copies[node];
      if (copy == nullptr) copy = std::make_shared<Node>(*node);
      return copy;
    };
    for (const auto& [path, node] : names_) result->names_[path] = copy_of(node);
    for (const auto& [path, node] : durable_names_) result->durable_names_[path] = copy_of(node);
    // Their directory changes name this disk's nodes, so they count as done or not, all of them.
    result->durable_names_ = result->names_;
    return result;
  }

  std::vector<std::string> Paths() const {
    std::lock_guard guard(mutex_);
    std::vector<std::string> paths;
    for (const auto& [path, node] : names_) paths.push_back(path);
    return paths;
  }
  std::string Content(const std::string& path) const {
    std::lock_guard guard(mutex_);
    return names_.at(path)->cached;
  }
  // Changes a file behind the log's back, durably.
  void SetContent(const std::string& path, std::string bytes) {
    std::lock_guard guard(mutex_);
    names_.at(path)->cached = names_.at(path)->durable = std::move(bytes);
  }
  void Delete(const std::string& path) {
    std::lock_guard guard(mutex_);
    names_.erase(path);
    durable_names_.erase(path);
  }
  uint64_t UsedBytes() const {
    std::lock_guard guard(mutex_);
    return UsedBytesLocked();
  }

  Result<std::unique_ptr<io::File>> Open(const std::string& path, const io::OpenOptions& options) override {
    SISAL_RETURN_IF_ERROR(Ask({DiskOp::kOpen, path}));
    std::lock_guard guard(mutex_);
    auto found = names_.find(path);
    if (found == names_.end()) {
      if (!options.create) return Error{"58P01", "open of " + path + ": there is none"};
      auto node = std::make_shared<Node>();
      Change([path, node](auto& names) { names[path] = node; });
      found = names_.find(path);
    }
    if (options.truncate) found->second->cached.clear();
    return std::unique_ptr<io::File>(new FakeFile(*this, path, found->second, options));
  }
  Status Rename(const std::string& from, const std::string& to) override {
    SISAL_RETURN_IF_ERROR(Ask({DiskOp::kRename, from}));
    std::lock_guard guard(mutex_);
    if (!names_.contains(from)) return Error{"58P01", "rename of " + from + ": there is none"};
    Change([from, to](auto& names) {
      if (auto node = names.extract(from)) names[to] = node.mapped();
    });
    return Status();
  }
  Status Remove(const std::string& path) override {
    SISAL_RETURN_IF_ERROR(Ask({DiskOp::kRemove, path}));
    std::lock_guard guard(mutex_);
    if (!names_.contains(path)) return Error{"58P01", "remove of " + path + ": there is none"};
    Change([path](auto& names) { names.erase(path); });
    return Status();
  }
  Status CreateDirectory(const std::string&) override { return Status(); }
  Status SyncDirectory(const std::string& path) override {
    SISAL_RETURN_IF_ERROR(Ask({DiskOp::kSyncDirectory, path}));
    std::lock_guard guard(mutex_);
    durable_names_ = names_;
    changes_.clear();
    return Status();
  }
  Result<std::vector<std::string>> List(const std::string& directory) override {
    std::lock_guard guard(mutex_);
    std::vector<std::string> result;
    for (const auto& [path, node] : names_) {
      if (path.starts_with(directory + "/")) result.push_back(path.substr(directory.size() + 1));
    }
    return result;
  }
  Result<bool> Exists(const std::string& path) override {
    std::lock_guard guard(mutex_);
    return names_.contains(path);
  }
  Result<uint64_t> FreeSpace(const std::string&) override {
    std::lock_guard guard(mutex_);
    return capacity_bytes - std::min(capacity_bytes.load(), UsedBytesLocked());
  }
  Result<std::unique_ptr<io::DirectoryLock>> LockDirectory(const std::string&, Duration) override {
    return std::make_unique<io::DirectoryLock>();
  }

 private:
  static constexpr size_t kSectorBytes = 512;
  struct Node {
    std::string cached;
    std::string durable;
  };
  using NodePointer = std::shared_ptr<Node>;
  using Names = std::map<std::string, NodePointer>;

  class FakeFile final : public io::File {
   public:
    FakeFile(FakeFileSystem& disk, std::string path, NodePointer node, const io::OpenOptions& options)
        : disk_(disk), path_(std::move(path)), node_(std::move(node)), options_(options) {}
    Result<size_t> ReadAt(uint64_t offset, std::span<char> into) override {
      std::lock_guard guard(disk_.mutex_);
      if (offset >= node_->cached.size()) return size_t{0};
      return node_->cached.copy(into.data(), into.size(), offset);
    }
    Status WriteAt(uint64_t offset, std::span<const char> bytes) override {
      SISAL_RETURN_IF_ERROR(disk_.Ask({DiskOp::kWrite, path_, offset, bytes.size()}));
      std::lock_guard guard(disk_.mutex_);
      if (direct()) {
        SISAL_CHECK(offset % 4096 == 0);
        SISAL_CHECK(bytes.size() % 4096 == 0);
        SISAL_CHECK(reinterpret_cast<uintptr_t>(bytes.data()) % 4096 == 0);
      }
      SISAL_RETURN_IF_ERROR(disk_.Grow(*node_, offset + bytes.size(), path_));
      std::copy(bytes.begin(), bytes.end(), node_->cached.begin() + offset);
      if (options_.data_sync) {
        if (node_->durable.size() < offset + bytes.size()) node_->durable.resize(offset + bytes.size());
        std::copy(bytes.begin(), bytes.end(), node_->durable.begin() + offset);
      }
      return Status();
    }
    Status Sync() override {
      SISAL_RETURN_IF_ERROR(disk_.Ask({DiskOp::kSync, path_}));
      std::lock_guard guard(disk_.mutex_);
      node_->durable = node_->cached;
      return Status();
    }
    Status Allocate(uint64_t offset, uint64_t size_bytes) override {
      SISAL_RETURN_IF_ERROR(disk_.Ask({DiskOp::kAllocate, path_, offset, size_bytes}));
      std::lock_guard guard(disk_.mutex_);
      return disk_.Grow(*node_, offset + size_bytes, path_);
    }
    Status Truncate(uint64_t size_bytes) override {
      SISAL_RETURN_IF_ERROR(disk_.Ask({DiskOp::kTruncate, path_, size_bytes}));
      std::lock_guard guard(disk_.mutex_);
      node_->cached.resize(size_bytes);
      return Status();
    }
    Result<uint64_t> Size() override {
      std::lock_guard guard(disk_.mutex_);
      return uint64_t{node_->cached.size()};
    }
    bool direct() const override { return options_.direct && disk_.grants_direct; }

   private:
    FakeFileSystem& disk_;
    const std::string path_;
    const NodePointer node_;
    const io::OpenOptions options_;
  };

  Status Ask(const DiskCall& call) {
    std::shared_ptr<const Hook> hook;
    {
      std::lock_guard guard(mutex_);
      hook = before_;
    }
    return hook != nullptr ? (*hook)(call) : Status();
  }
  void Change(std::function<void(Names&)> change) {
    change(names_);
    changes_.push_back(std::move(change));
  }
  uint64_t UsedBytesLocked() const {
    uint64_t used = 0;
    for (const auto& [path, node] : names_) used += node->cached.size();
    return used;
  }
  Status Grow(Node& node, uint64_t size_bytes, const std::string& path) {
    if (size_bytes <= node.cached.size()) return Status();
    if (size_bytes > file_bytes_max) return Error{"53100", path + ": file too large"};
    if (UsedBytesLocked() + size_bytes - node.cached.size() > capacity_bytes) {
      return Error{"53100", path + ": no space left on device"};
    }
    node.cached.resize(size_bytes);
    return Status();
  }
  static std::string Cut(const Node& node, Random& random) {
    std::string result = node.durable;
    if (node.cached.size() != result.size() && random.OneIn(2)) result.resize(node.cached.size());
    for (size_t at = 0; at < std::min(result.size(), node.cached.size()); at += kSectorBytes) {
      const size_t size = std::min(kSectorBytes, std::min(result.size(), node.cached.size()) - at);
      if (result.compare(at, size, node.cached, at, size) != 0 && random.OneIn(2)) {
        result.replace(at, size, node.cached, at, size);
      }
    }
    return result;
  }

  mutable std::mutex mutex_;  // guards all below; never held while a hook runs
  std::shared_ptr<const Hook> before_;
  Names names_;
  Names durable_names_;
  std::vector<std::function<void(Names&)>> changes_;  // from durable_names_ to names_
};

}  // namespace sisal::wal
