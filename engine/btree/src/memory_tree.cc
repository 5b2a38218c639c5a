#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <shared_mutex>

#include "absl/container/btree_set.h"
#include "sisal/base/check.h"
#include "sisal/btree/latch.h"
#include "sisal/btree/tree.h"

namespace sisal::btree {
namespace {

// One entry in one allocation; immutable. Followed by the key's and the value's bytes.
struct Block {
  Timestamp begin;
  uint32_t key_bytes;
  uint32_t value_bytes;
  bool tombstone;

  const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }
  std::string_view key() const { return {bytes(), key_bytes}; }
  std::string_view value() const { return {bytes() + key_bytes, value_bytes}; }
  uint64_t footprint_bytes() const { return sizeof(Block) + key_bytes + value_bytes + kSlotBytes; }
  Entry ToEntry() const { return {begin, tombstone, key(), value()}; }

  static constexpr uint64_t kSlotBytes = 24;  // its place in the set, nodes being two thirds full
};

struct FreeBlock {
  void operator()(Block* block) const { ::operator delete(block); }
};
using BlockPtr = std::unique_ptr<Block, FreeBlock>;

BlockPtr MakeBlock(std::string_view key, Timestamp begin, std::optional<std::string_view> value) {
  const size_t value_bytes = value ? value->size() : 0;
  SISAL_CHECK(key.size() <= UINT32_MAX && value_bytes <= UINT32_MAX);
  char* place = static_cast<char*>(::operator new(sizeof(Block) + key.size() + value_bytes));
  Block* block =
      new (place) Block{begin, static_cast<uint32_t>(key.size()), static_cast<uint32_t>(value_bytes), !value};
  char* bytes = place + sizeof(Block);
  if (!key.empty()) std::memcpy(bytes, key.data(), key.size());
  if (value_bytes != 0) std::memcpy(bytes + key.size(), value->data(), value_bytes);
  return BlockPtr(block);
}

// The first eight bytes as a number that orders as they do: most comparisons end here, without touching the block.
uint64_t PrefixOf(std::string_view key) {
  uint64_t prefix = 0;
  std::memcpy(&prefix, key.data(), key.size() < 8 ? key.size() : 8);
  return __builtin_bswap64(prefix);  // a shorter key is filled with zeros: equal prefixes are compared in full
}

struct Slot {
  uint64_t prefix;
  mutable Block* block;  // replaced by one with the same key
  std::string_view key() const { return block->key(); }
};
struct Probe {
  explicit Probe(std::string_view k) : prefix(PrefixOf(k)), bytes(k) {}
  uint64_t prefix;
  std::string_view bytes;
  std::string_view key() const { return bytes; }
};
struct Less {
  using is_transparent = void;
  template <typename A, typename B>
  bool operator()(const A& a, const B& b) const {
    return a.prefix != b.prefix ? a.prefix < b.prefix : a.key() < b.key();
  }
};

class MemoryTree final : public Tree {
 public:
  ~MemoryTree() override {
    for (const Slot& slot : slots_) FreeBlock()(slot.block);
  }

  using Tree::Get;
  bool Get(std::string_view key, Timestamp visible, size_t bytes_max, Arena& arena, Entry& entry) const override {
    const Probe probe(key);
    std::shared_lock lock(latch_);
    const auto found = slots_.find(probe);
    if (found == slots_.end()) return false;
    const Block& block = *found->block;
    entry = {block.begin, block.tombstone, key, {}, block.value().size() > bytes_max};
    if (block.begin <= visible && !entry.too_long) entry.value = arena.Copy(block.value());
    return true;
  }

  std::optional<Timestamp> Begin(std::string_view key) const override {
    const Probe probe(key);
    std::shared_lock lock(latch_);
    const auto found = slots_.find(probe);
    if (found == slots_.end()) return std::nullopt;
    return found->block->begin;
  }

  bool ScanForward(std::string_view from, bool after, std::optional<std::string_view> upper, size_t limit, Arena& arena,
                   std::vector<Entry>& entries) const override {
    const Probe probe(from);
    size_t bytes = 0;
    std::shared_lock lock(latch_);
    for (auto at = after ? slots_.upper_bound(probe) : slots_.lower_bound(probe);; ++at) {
      if (at == slots_.end() || (upper && at->key() >= *upper)) return true;
      if (limit-- == 0 || bytes > kSectionBytes) return false;
      bytes += Append(*at->block, arena, entries);
    }
  }

  bool ScanBackward(std::optional<std::string_view> below, std::string_view lower, size_t limit, Arena& arena,
                    std::vector<Entry>& entries) const override {
    size_t bytes = 0;
    std::shared_lock lock(latch_);
    auto at = below ? slots_.lower_bound(Probe(*below)) : slots_.end();
    while (true) {
      if (at == slots_.begin()) return true;
      --at;
      if (at->key() < lower) return true;
      if (limit-- == 0 || bytes > kSectionBytes) return false;
      bytes += Append(*at->block, arena, entries);
    }
  }

  void Put(std::string_view key, Timestamp begin, std::optional<std::string_view> value,
           absl::FunctionRef<void(const Entry&)> before) override {
    BlockPtr block = MakeBlock(key, begin, value);  // allocated, and the old one freed, outside the latch
    const Probe probe(key);
    std::unique_lock lock(latch_);
    const auto found = slots_.lower_bound(probe);
    if (found == slots_.end() || found->key() != key) {
      if (!value) return;
      Count(*block, 1);
      slots_.insert(found, Slot{probe.prefix, block.release()});
      return;
    }
    SISAL_CHECK(found->block->begin <= begin);
    before(found->block->ToEntry());
    Count(*found->block, -1);
    Count(*block, 1);
    BlockPtr old(std::exchange(found->block, block.release()));
    lock.unlock();
  }

  bool RemoveIf(std::string_view key, absl::FunctionRef<bool(const Entry&)> decide) override {
    const Probe probe(key);
    std::unique_lock lock(latch_);
    const auto found = slots_.find(probe);
    if (found == slots_.end() || !decide(found->block->ToEntry())) return false;
    BlockPtr old(found->block);
    Count(*old, -1);
    slots_.erase(found);
    lock.unlock();
    return true;
  }

  void Absorb(std::span<Tree* const> parts, absl::FunctionRef<void()> pause) override {
    SISAL_CHECK(slots_.empty());
    // A heap of what is left of each part, its least key on top.
    std::vector<Rest> rests;
    uint64_t total = 0;
    for (Tree* const tree : parts) {
      auto& part = static_cast<MemoryTree&>(*tree);
      if (!part.slots_.empty()) rests.push_back({part.slots_.begin(), part.slots_.end()});
      stats_.entries += part.stats_.entries;
      stats_.tombstones += part.stats_.tombstones;
      stats_.bytes += part.stats_.bytes;
      total += part.slots_.size();
    }
    const auto later = [](const Rest& a, const Rest& b) { return Less()(*b.at, *a.at); };
    std::make_heap(rests.begin(), rests.end(), later);
    while (!rests.empty()) {
      for (size_t i = 0; i < kEntriesBetweenPauses && !rests.empty(); ++i) {
        std::pop_heap(rests.begin(), rests.end(), later);
        slots_.insert(slots_.end(), *rests.back().at);
        if (++rests.back().at == rests.back().end) {
          rests.pop_back();
        } else {
          std::push_heap(rests.begin(), rests.end(), later);
        }
      }
      pause();
    }
    SISAL_CHECK(slots_.size() == total);
    for (Tree* const tree : parts) {
      auto& part = static_cast<MemoryTree&>(*tree);
      part.slots_.clear();
      part.stats_ = TreeStats();
    }
  }

  size_t Discard(size_t count) override {
    std::unique_lock lock(latch_);
    size_t done = 0;
    auto end = slots_.begin();
    for (; done < count && end != slots_.end(); ++done, ++end) {
      Count(*end->block, -1);
      FreeBlock()(end->block);
    }
    slots_.erase(slots_.begin(), end);
    return done;
  }

  TreeStats Stats() const override {
    std::shared_lock lock(latch_);
    return stats_;
  }

  Status CheckInvariants() const override {
    std::shared_lock lock(latch_);
    TreeStats counted;
    std::optional<std::string_view> last;
    for (const Slot& slot : slots_) {
      const Block& block = *slot.block;
      if (last && *last >= block.key()) return Error("XX000", "tree: keys are not ascending");
      if (slot.prefix != PrefixOf(block.key())) return Error("XX000", "tree: a slot's prefix is not its key's");
      if (block.tombstone && block.value_bytes != 0) return Error("XX000", "tree: a tombstone has a value");
      last = block.key();
      counted.entries += 1;
      counted.tombstones += block.tombstone ? 1 : 0;
      counted.bytes += block.footprint_bytes();
    }
    if (counted.entries != stats_.entries || counted.tombstones != stats_.tombstones || counted.bytes != stats_.bytes) {
      return Error("XX000", "tree: statistics differ from the entries");
    }
    return Status();
  }

 private:
  static constexpr size_t kSectionBytes = 16 << 10;
  static constexpr size_t kEntriesBetweenPauses = 512;

  struct Rest {
    absl::btree_set<Slot, Less>::const_iterator at, end;
  };

  static size_t Append(const Block& block, Arena& arena, std::vector<Entry>& entries) {
    entries.push_back({block.begin, block.tombstone, arena.Copy(block.key()), arena.Copy(block.value())});
    return block.key_bytes + block.value_bytes;
  }
  void Count(const Block& block, int64_t sign) {
    stats_.entries += sign;
    stats_.tombstones += block.tombstone ? sign : 0;
    stats_.bytes += sign * static_cast<int64_t>(block.footprint_bytes());
  }

  mutable SharedSpinLatch latch_;  // guards all below
  absl::btree_set<Slot, Less> slots_;
  TreeStats stats_;
};

}  // namespace

std::unique_ptr<Tree> MakeMemoryTree() { return std::make_unique<MemoryTree>(); }

}  // namespace sisal::btree
