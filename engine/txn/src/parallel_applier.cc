#include "parallel_applier.h"

#include <algorithm>
#include <utility>

#include "row_key.h"
#include "sisal/base/check.h"
#include "sisal/base/simulation.h"

namespace sisal::txn {
namespace {

constexpr size_t kPartitionsPerLoop = 4;
// A batch is large enough that handing it over costs little, and small enough that all loops soon have one.
constexpr size_t kBatchBytes = 64 << 10;
constexpr size_t kBatchItems = 512;
constexpr size_t kBytesInFlightMax = 16 << 20;
constexpr size_t kYieldEvery = 64;

size_t FootprintBytes(size_t item_count, size_t byte_count) { return item_count * 48 + byte_count; }

}  // namespace

void ApplyRow(TreeState& tree, OperationKind kind, std::string_view key, std::string_view value, Timestamp position) {
  tree.SawKey(key);
  if (kind == OperationKind::kPut) {
    tree.tree->Put(key, position, value, [](const btree::Entry&) {});
  } else {
    tree.tree->RemoveIf(key, [](const btree::Entry&) { return true; });
  }
}

ParallelApplier::ParallelApplier(io::Runtime& runtime, TreeDirectory& trees)
    : runtime_(runtime), trees_(trees), partitions_(runtime.loop_count() * kPartitionsPerLoop) {}

ParallelApplier::~ParallelApplier() { SISAL_CHECK(!started_ || ended_.is_set()); }

void ParallelApplier::Add(const Operation& operation, Timestamp position) {
  // The upper bits: hash tables elsewhere use the lower ones.
  const size_t hash = RowKeyView{operation.tree, operation.key}.Hash();
  Partition& partition = partitions_[(hash >> 32) % partitions_.size()];
  Batch& batch = partition.open;
  batch.items.push_back({operation.tree, position, operation.kind, operation.key.size(), operation.value.size()});
  batch.bytes.append(operation.key).append(operation.value);
  if (batch.items.size() >= kBatchItems || batch.bytes.size() >= kBatchBytes) Send(partition);
}

void ParallelApplier::Send(Partition& partition) {
  if (!started_) StartWorkers();
  const size_t bytes = FootprintBytes(partition.open.items.size(), partition.open.bytes.size());
  latch_.lock();
  while (bytes_in_flight_ > kBytesInFlightMax) {
    io::WaitList::Node node;
    reader_.Add(node);
    latch_.unlock();
    static_cast<void>(node.Park());
    latch_.lock();
  }
  bytes_in_flight_ += bytes;
  ++batches_in_flight_;
  partition.queued.push_back(std::exchange(partition.open, Batch()));
  if (!partition.claimed) {
    partition.claimed = true;
    ready_.push_back(&partition);
    idle_.WakeFirst();
  }
  latch_.unlock();
}

void ParallelApplier::StartWorkers() {
  started_ = true;
  workers_left_ = runtime_.loop_count();
  for (size_t i = 0; i < runtime_.loop_count(); ++i) runtime_.loop(i).Spawn({"log replay"}, [this] { Work(); });
}

void ParallelApplier::Work() {
  latch_.lock();
  while (true) {
    if (ready_.empty()) {
      if (stopping_) break;
      io::WaitList::Node node;
      idle_.Add(node);
      latch_.unlock();
      static_cast<void>(node.Park());
      latch_.lock();
      continue;
    }
    Partition& partition = *ready_.front();
    ready_.pop_front();
    // One batch at a time, so that a partition with much work does not keep others waiting.
    const size_t bytes = ApplyFirst(partition);
    latch_.lock();
    bytes_in_flight_ -= bytes;
    --batches_in_flight_;
    if (partition.queued.empty()) {
      partition.claimed = false;
    } else {
      ready_.push_back(&partition);
    }
    if (bytes_in_flight_ <= kBytesInFlightMax / 2 || batches_in_flight_ == 0) reader_.WakeAll();
  }
  const bool is_last = --workers_left_ == 0;
  latch_.unlock();
  if (is_last) ended_.Set();
}

size_t ParallelApplier::ApplyFirst(Partition& partition) {
  const Batch batch = std::move(partition.queued.front());
  partition.queued.pop_front();
  latch_.unlock();
  SISAL_SIM_POINT();
  Apply(partition, batch);
  SISAL_SIM_POINT();
  return FootprintBytes(batch.items.size(), batch.bytes.size());
}

void ParallelApplier::Apply(Partition& partition, const Batch& batch) {
  TreeState* tree = nullptr;  // of the item before: they come tree by tree
  std::string_view rest = batch.bytes;
  size_t done = 0;
  for (const Item& item : batch.items) {
    const std::string_view key = rest.substr(0, item.key_bytes);
    const std::string_view value = rest.substr(item.key_bytes, item.value_bytes);
    rest.remove_prefix(item.key_bytes + item.value_bytes);
    if (tree == nullptr || tree->id != item.tree) {
      std::unique_ptr<TreeState>& slot = partition.trees[item.tree];
      if (slot == nullptr) slot = std::make_unique<TreeState>(item.tree);
      tree = slot.get();
    }
    ApplyRow(*tree, item.kind, key, value, item.position);
    if (++done % kYieldEvery == 0) io::YieldIfBudgetSpent();
  }
}

void ParallelApplier::Drain() {
  if (!started_) {  // little was added: not worth a wake
    for (Partition& partition : partitions_) Apply(partition, std::exchange(partition.open, Batch()));
    return;
  }
  for (Partition& partition : partitions_) {
    if (!partition.open.items.empty()) Send(partition);
  }
  latch_.lock();
  while (batches_in_flight_ != 0) {
    io::WaitList::Node node;
    reader_.Add(node);
    latch_.unlock();
    static_cast<void>(node.Park());
    latch_.lock();
  }
  latch_.unlock();
}

void ParallelApplier::Drop(TreeId tree) {
  Drain();
  for (Partition& partition : partitions_) partition.trees.erase(tree);
}

void ParallelApplier::Finish() {
  Drain();
  if (started_) {
    latch_.lock();
    stopping_ = true;
    idle_.WakeAll();
    latch_.unlock();
    ended_.Wait();
  }
  Merge();
}

void ParallelApplier::Merge() {
  absl::flat_hash_map<TreeId, std::vector<TreeState*>> parts_of;
  for (Partition& partition : partitions_) {
    for (const auto& [id, part] : partition.trees) parts_of[id].push_back(part.get());
  }
  for (const auto& [id, parts] : parts_of) {
    const TreePtr whole = trees_.FindOrMake(id);
    std::vector<btree::Tree*> trees;
    for (TreeState* const part : parts) {
      trees.push_back(part->tree.get());
      whole->row_number.store(std::max(whole->row_number.load(), part->row_number.load()));
    }
    whole->tree->Absorb(trees, [] { io::YieldIfBudgetSpent(); });
  }
  partitions_.clear();
}

}  // namespace sisal::txn
