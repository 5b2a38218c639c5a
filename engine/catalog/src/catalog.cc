#include "sisal/catalog/catalog.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "definition.h"
#include "root.h"
#include "sisal/base/check.h"
#include "sisal/base/log.h"
#include "sisal/io/sync.h"

namespace sisal::catalog {
namespace {

std::string ObjectKey(ObjectId id) {
  const uint32_t big_endian = __builtin_bswap32(id.value);
  return std::string(reinterpret_cast<const char*>(&big_endian), sizeof(big_endian));
}

Error DoesNotExist(const Table& table) {
  return Error("42P01", "relation \"" + table.name + "\" does not exist").WithTable(table.schema, table.name);
}

std::vector<TreeId> TreesOf(const Table& table) {
  std::vector<TreeId> trees{table.tree};
  for (const Index& index : table.indexes) trees.push_back(index.tree);
  return trees;
}

ChangesImpl& Own(Changes& changes) { return static_cast<ChangesImpl&>(changes); }

// The foreign keys of `a` that `b` has not, by name and table.
std::vector<const ForeignKey*> Difference(const Table& a, const Table& b) {
  std::vector<const ForeignKey*> difference;
  for (const ForeignKey& key : a.foreign_keys) {
    const ForeignKey* other = b.FindForeignKey(key.name);
    if (other == nullptr || other->table != key.table) difference.push_back(&key);
  }
  return difference;
}

class CatalogImpl final : public Catalog {
 public:
  explicit CatalogImpl(txn::Store& store) : store_(store) {}

  Status Load();

  RootPtr RootAt(Timestamp snapshot) const override;
  RootPtr Newest() const override;
  uint64_t newest_version() const override { return newest_version_.load(std::memory_order_acquire); }
  std::unique_ptr<Changes> MakeChanges(RootPtr base) const override {
    return std::make_unique<ChangesImpl>(std::move(base));
  }
  Result<TablePtr> CreateTable(txn::Transaction& transaction, Changes& changes, Table table) override;
  Status DropTable(txn::Transaction& transaction, Changes& changes, const TablePtr& table) override;
  Result<TablePtr> ChangeTable(txn::Transaction& transaction, Changes& changes, const TablePtr& table,
                               Table changed) override;
  Result<TablePtr> AddIndex(txn::Transaction& transaction, Changes& changes, const TablePtr& table,
                            Index index) override;
  Result<TablePtr> DropIndex(txn::Transaction& transaction, Changes& changes, const TablePtr& table,
                             std::string_view index_name) override;
  Result<TablePtr> AddForeignKey(txn::Transaction& transaction, Changes& changes, const TablePtr& table,
                                 ForeignKey key) override;
  Result<TablePtr> DropForeignKey(txn::Transaction& transaction, Changes& changes, const TablePtr& table,
                                  std::string_view key_name) override;
  ObjectId AllocateObject() override { return ObjectId{store_.AllocateTree().value}; }
  Result<SequencePtr> CreateSequence(txn::Transaction& transaction, Changes& changes, Sequence sequence) override;
  Result<SequencePtr> ReplaceSequence(txn::Transaction& transaction, Changes& changes, const SequencePtr& sequence,
                                      Sequence definition, bool new_generation) override;
  Status DropSequence(txn::Transaction& transaction, Changes& changes, const SequencePtr& sequence) override;
  Result<SequencePtr> LockSequence(txn::Transaction& transaction, const Changes* changes, const Sequence& sequence,
                                   txn::LockMode mode) override;
  Status SaveSequences() override;
  void Publish(const Changes& changes, Timestamp position) override;
  Status LockTable(txn::Transaction& transaction, const Table& table, txn::LockMode mode) override;

 private:
  struct DatedRoot {
    Timestamp position;
    RootImplPtr root;
  };
  // Gives the sequences their values. Rows of generations that were rolled back, or dropped, go. Suspends.
  Status LoadSequenceValues(txn::Transaction& transaction, std::vector<Sequence>& sequences);
  Status DeleteSequenceRows(const std::vector<std::string>& keys);
  void Allocate(Index& index);
  // Takes names for the table `id`, or gives them back, until the transaction ends. Suspends.
  Status ClaimNames(txn::Transaction& transaction, const std::string& schema, std::vector<std::string> names,
                    ObjectId id);
  Status FreeNames(txn::Transaction& transaction, const std::string& schema, std::vector<std::string> names);
  // Makes `referrer` one of the parent's, or no longer one. Suspends.
  Status ChangeReferrers(txn::Transaction& transaction, Changes& changes, ObjectId parent, const Referrer& referrer,
                         bool added);
  Status WriteDefinition(txn::Transaction& transaction, Changes& changes, const TablePtr& table);
  Status WriteSequence(txn::Transaction& transaction, Changes& changes, const SequencePtr& sequence);
  // A new generation, which begins at the initial value.
  void BeginGeneration(Sequence& sequence);

  txn::Store& store_;
  mutable io::SpinLatch latch_;   // guards roots_
  std::vector<DatedRoot> roots_;  // ascending; the first holds for every snapshot before the second
  std::atomic<uint64_t> newest_version_{0};
};

Status CatalogImpl::Load() {
  const std::unique_ptr<txn::Transaction> transaction = store_.Begin({.read_only = true});
  SISAL_RETURN_IF_ERROR(transaction->TakeSnapshot());
  const std::unique_ptr<txn::Cursor> cursor = transaction->Scan(kCatalogTree, {}, txn::Direction::kForward);
  Delta objects;
  std::vector<Sequence> sequences;
  txn::EntryBatch batch;
  while (true) {
    SISAL_RETURN_IF_ERROR(cursor->Next(256, batch));
    if (batch.keys.empty()) break;
    for (size_t i = 0; i < batch.keys.size(); ++i) {
      if (IsSequenceDefinition(batch.values[i])) {
        SISAL_ASSIGN_OR_RETURN(Sequence sequence, DecodeSequence(batch.values[i]));
        if (ObjectKey(sequence.id) != batch.keys[i]) {
          return Error("XX001", "a sequence's definition lies under a wrong key");
        }
        sequences.push_back(std::move(sequence));
        continue;
      }
      SISAL_ASSIGN_OR_RETURN(TablePtr table, DecodeDefinition(batch.values[i]));
      if (ObjectKey(table->id) != batch.keys[i]) return Error("XX001", "a table's definition lies under a wrong key");
      objects.tables.emplace(table->id, std::move(table));
    }
  }
  SISAL_RETURN_IF_ERROR(LoadSequenceValues(*transaction, sequences));
  for (Sequence& sequence : sequences) {
    objects.sequences.emplace(sequence.id, std::make_shared<const Sequence>(std::move(sequence)));
  }
  roots_.push_back({Timestamp(), RootImpl().With(objects)});
  newest_version_.store(roots_.back().root->version(), std::memory_order_release);
  return Status();
}

Status CatalogImpl::LoadSequenceValues(txn::Transaction& transaction, std::vector<Sequence>& sequences) {
  std::map<std::string, Sequence*, std::less<>> generations;
  for (Sequence& sequence : sequences) {
    generations.emplace(SequenceKey(sequence.generation), &sequence);
    sequence.state = std::make_shared<SequenceState>(sequence.initial);
  }
  const std::unique_ptr<txn::Cursor> cursor = transaction.Scan(kSequenceTree, {}, txn::Direction::kForward);
  std::vector<std::string> unknown;
  txn::EntryBatch batch;
  while (true) {
    SISAL_RETURN_IF_ERROR(cursor->Next(256, batch));
    if (batch.keys.empty()) break;
    for (size_t i = 0; i < batch.keys.size(); ++i) {
      SISAL_ASSIGN_OR_RETURN(const SequenceValue value, DecodeSequenceValue(batch.values[i]));
      const auto generation = generations.find(batch.keys[i]);
      if (generation == generations.end()) {
        unknown.emplace_back(batch.keys[i]);
      } else {
        generation->second->state = std::make_shared<SequenceState>(value);
      }
    }
  }
  const Status deleted = unknown.empty() ? Status() : DeleteSequenceRows(unknown);
  if (!deleted.ok()) Log(LogLevel::kWarning, "values of sequences that are gone stay: " + deleted.ToString());
  return Status();
}

Status CatalogImpl::DeleteSequenceRows(const std::vector<std::string>& keys) {
  const std::unique_ptr<txn::Transaction> transaction = store_.Begin({});
  for (const std::string& key : keys) SISAL_RETURN_IF_ERROR(transaction->Delete(kSequenceTree, key));
  txn::CommitOptions options;
  options.wait = false;
  return transaction->Commit(options).status();
}

RootPtr CatalogImpl::RootAt(Timestamp snapshot) const {
  std::lock_guard lock(latch_);
  const auto later = std::upper_bound(roots_.begin() + 1, roots_.end(), snapshot,
                                      [](Timestamp at, const DatedRoot& root) { return at < root.position; });
  return std::prev(later)->root;
}

RootPtr CatalogImpl::Newest() const {
  std::lock_guard lock(latch_);
  return roots_.back().root;
}

void CatalogImpl::Publish(const Changes& changes, Timestamp position) {
  const Delta& delta = static_cast<const ChangesImpl&>(changes).delta();
  const Timestamp oldest = store_.oldest_snapshot();
  std::vector<DatedRoot> unneeded;  // freed outside the latch
  std::lock_guard lock(latch_);
  auto place = std::upper_bound(roots_.begin(), roots_.end(), position,
                                [](Timestamp at, const DatedRoot& root) { return at < root.position; });
  place = roots_.insert(place, {position, std::prev(place)->root->With(delta)});
  // Commits publish in any order: a later one's root was built without this change.
  for (auto later = std::next(place); later != roots_.end(); ++later) later->root = later->root->With(delta);
  newest_version_.store(roots_.back().root->version(), std::memory_order_release);

  auto needed = std::upper_bound(roots_.begin(), roots_.end(), oldest,
                                 [](Timestamp at, const DatedRoot& root) { return at < root.position; });
  if (needed != roots_.begin()) --needed;  // what the oldest snapshot sees
  unneeded.assign(std::make_move_iterator(roots_.begin()), std::make_move_iterator(needed));
  roots_.erase(roots_.begin(), needed);
}

Status CatalogImpl::LockTable(txn::Transaction& transaction, const Table& table, txn::LockMode mode) {
  const std::string key = ObjectKey(table.id);
  SISAL_RETURN_IF_ERROR(transaction.Lock(kCatalogTree, key, mode, txn::LockWait::kWait, txn::Conflict::kIgnore));
  // DDL publishes before it lets go of its lock, and an unchanged definition is one object in all roots.
  if (Newest()->FindTable(table.id).get() == &table) return Status();
  Arena arena;
  SISAL_ASSIGN_OR_RETURN(const std::optional<std::string_view> newest, transaction.GetNewest(kCatalogTree, key, arena));
  if (!newest) return DoesNotExist(table);
  if (transaction.options().read_only || *newest == EncodeDefinition(table)) return Status();
  return Error("40001", "could not serialize access due to a concurrent change of table \"" + table.name + "\"")
      .WithTable(table.schema, table.name);
}

void CatalogImpl::Allocate(Index& index) {
  index.tree = store_.AllocateTree();
  if (index.id == ObjectId()) index.id = ObjectId{index.tree.value};
}

Status CatalogImpl::ClaimNames(txn::Transaction& transaction, const std::string& schema, std::vector<std::string> names,
                               ObjectId id) {
  std::sort(names.begin(), names.end());  // one order for all: two statements cannot deadlock here
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string key = RelationKey(schema, names[i]);
    SISAL_RETURN_IF_ERROR(transaction.Lock(kCatalogNameTree, key, txn::LockMode::kExclusive, txn::LockWait::kWait,
                                           txn::Conflict::kIgnore));
    Arena arena;
    SISAL_ASSIGN_OR_RETURN(const std::optional<std::string_view> taken,
                           transaction.GetNewest(kCatalogNameTree, key, arena));
    if (taken) return Error("42P07", "relation \"" + names[i] + "\" already exists");
    SISAL_RETURN_IF_ERROR(transaction.Put(kCatalogNameTree, key, ObjectKey(id)));
  }
  return Status();
}

Status CatalogImpl::FreeNames(txn::Transaction& transaction, const std::string& schema,
                              std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const std::string key = RelationKey(schema, name);
    SISAL_RETURN_IF_ERROR(transaction.Lock(kCatalogNameTree, key, txn::LockMode::kExclusive, txn::LockWait::kWait,
                                           txn::Conflict::kIgnore));
    SISAL_RETURN_IF_ERROR(transaction.Delete(kCatalogNameTree, key));
  }
  return Status();
}

Status CatalogImpl::WriteDefinition(txn::Transaction& transaction, Changes& changes, const TablePtr& table) {
  SISAL_RETURN_IF_ERROR(transaction.Put(kCatalogTree, ObjectKey(table->id), EncodeDefinition(*table)));
  Own(changes).Set(table->id, table);
  return Status();
}

Result<TablePtr> CatalogImpl::CreateTable(txn::Transaction& transaction, Changes& changes, Table table) {
  table.tree = store_.AllocateTree();
  table.id = ObjectId{table.tree.value};  // trees' numbers are never reused, so they name objects too
  for (Index& index : table.indexes) Allocate(index);
  std::vector<ForeignKey> foreign_keys = std::exchange(table.foreign_keys, {});
  TablePtr created = std::make_shared<const Table>(std::move(table));
  SISAL_RETURN_IF_ERROR(ClaimNames(transaction, created->schema, RelationNames(*created), created->id));
  SISAL_RETURN_IF_ERROR(transaction.Lock(kCatalogTree, ObjectKey(created->id), txn::LockMode::kExclusive,
                                         txn::LockWait::kWait, txn::Conflict::kIgnore));
  SISAL_RETURN_IF_ERROR(WriteDefinition(transaction, changes, created));
  for (ForeignKey& key : foreign_keys) {
    SISAL_ASSIGN_OR_RETURN(created, AddForeignKey(transaction, changes, created, std::move(key)));
  }
  return created;
}

Status CatalogImpl::DropTable(txn::Transaction& transaction, Changes& changes, const TablePtr& dropped) {
  TablePtr table = dropped;
  SISAL_RETURN_IF_ERROR(LockTable(transaction, *table, txn::LockMode::kExclusive));
  while (!table->foreign_keys.empty()) {
    const std::string name = table->foreign_keys.front().name;
    SISAL_ASSIGN_OR_RETURN(table, DropForeignKey(transaction, changes, table, name));
  }
  SISAL_CHECK(table->referrers.empty());
  SISAL_RETURN_IF_ERROR(FreeNames(transaction, table->schema, RelationNames(*table)));
  SISAL_RETURN_IF_ERROR(transaction.Delete(kCatalogTree, ObjectKey(table->id)));
  for (const TreeId tree : TreesOf(*table)) SISAL_RETURN_IF_ERROR(transaction.DropTree(tree));
  Own(changes).Set(table->id, nullptr);
  return Status();
}

Result<TablePtr> CatalogImpl::ChangeTable(txn::Transaction& transaction, Changes& changes, const TablePtr& table,
                                          Table changed) {
  SISAL_RETURN_IF_ERROR(LockTable(transaction, *table, txn::LockMode::kExclusive));
  SISAL_CHECK(changed.id == table->id && changed.schema == table->schema);
  std::vector<std::string> before = RelationNames(*table), after = RelationNames(changed), gone, fresh;
  std::sort(before.begin(), before.end());
  std::sort(after.begin(), after.end());
  std::set_difference(before.begin(), before.end(), after.begin(), after.end(), std::back_inserter(gone));
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(), std::back_inserter(fresh));
  SISAL_RETURN_IF_ERROR(FreeNames(transaction, table->schema, gone));
  SISAL_RETURN_IF_ERROR(ClaimNames(transaction, table->schema, fresh, table->id));
  if (changed.tree == TreeId()) changed.tree = store_.AllocateTree();
  for (Index& index : changed.indexes) {
    if (index.tree == TreeId()) Allocate(index);
  }
  const std::vector<TreeId> kept = TreesOf(changed);
  for (const TreeId tree : TreesOf(*table)) {
    if (std::find(kept.begin(), kept.end(), tree) != kept.end()) continue;
    SISAL_RETURN_IF_ERROR(transaction.DropTree(tree));
  }
  for (ForeignKey& key : changed.foreign_keys) {
    if (key.table == ObjectId()) key.table = changed.id;
  }
  const std::vector<const ForeignKey*> lost = Difference(*table, changed), gained = Difference(changed, *table);
  const auto is_own = [&](const ForeignKey* key) { return key->table == changed.id; };
  for (const ForeignKey* key : lost) {
    if (is_own(key)) std::erase(changed.referrers, Referrer{changed.id, key->name});
  }
  for (const ForeignKey* key : gained) {
    if (is_own(key)) changed.referrers.push_back({changed.id, key->name});
  }
  std::vector<std::pair<ObjectId, Referrer>> removed, added;
  for (const ForeignKey* key : lost) {
    if (!is_own(key)) removed.push_back({key->table, {changed.id, key->name}});
  }
  for (const ForeignKey* key : gained) {
    if (!is_own(key)) added.push_back({key->table, {changed.id, key->name}});
  }
  const auto result = std::make_shared<const Table>(std::move(changed));
  SISAL_RETURN_IF_ERROR(WriteDefinition(transaction, changes, result));
  for (const auto& [parent, referrer] : removed) {
    SISAL_RETURN_IF_ERROR(ChangeReferrers(transaction, changes, parent, referrer, false));
  }
  for (const auto& [parent, referrer] : added) {
    SISAL_RETURN_IF_ERROR(ChangeReferrers(transaction, changes, parent, referrer, true));
  }
  return TablePtr(result);
}

Result<TablePtr> CatalogImpl::AddIndex(txn::Transaction& transaction, Changes& changes, const TablePtr& table,
                                       Index index) {
  Table changed = *table;
  changed.indexes.push_back(std::move(index));
  return ChangeTable(transaction, changes, table, std::move(changed));
}

Result<TablePtr> CatalogImpl::DropIndex(txn::Transaction& transaction, Changes& changes, const TablePtr& table,
                                        std::string_view index_name) {
  Table changed = *table;
  if (std::erase_if(changed.indexes, [&](const Index& candidate) { return candidate.name == index_name; }) == 0) {
    return Error("42704", "index \"" + std::string(index_name) + "\" does not exist");
  }
  return ChangeTable(transaction, changes, table, std::move(changed));
}

Result<TablePtr> CatalogImpl::AddForeignKey(txn::Transaction& transaction, Changes& changes, const TablePtr& table,
                                            ForeignKey key) {
  Table changed = *table;
  changed.foreign_keys.push_back(std::move(key));
  return ChangeTable(transaction, changes, table, std::move(changed));
}

Result<TablePtr> CatalogImpl::DropForeignKey(txn::Transaction& transaction, Changes& changes, const TablePtr& table,
                                             std::string_view key_name) {
  Table changed = *table;
  if (std::erase_if(changed.foreign_keys, [&](const ForeignKey& key) { return key.name == key_name; }) == 0) {
    return Error("42704",
                 "constraint \"" + std::string(key_name) + "\" of relation \"" + table->name + "\" does not exist");
  }
  return ChangeTable(transaction, changes, table, std::move(changed));
}

Status CatalogImpl::ChangeReferrers(txn::Transaction& transaction, Changes& changes, ObjectId parent_id,
                                    const Referrer& referrer, bool added) {
  const TablePtr parent = changes.root()->FindTable(parent_id);
  if (parent == nullptr) return Error("42P01", "a table that a foreign key references does not exist any more");
  Table changed = *parent;
  std::erase(changed.referrers, referrer);
  if (added) changed.referrers.push_back(referrer);
  return ChangeTable(transaction, changes, parent, std::move(changed)).status();
}

Status CatalogImpl::WriteSequence(txn::Transaction& transaction, Changes& changes, const SequencePtr& sequence) {
  SISAL_RETURN_IF_ERROR(transaction.Put(kCatalogTree, ObjectKey(sequence->id), EncodeSequence(*sequence)));
  Own(changes).SetSequence(sequence->id, sequence);
  return Status();
}

void CatalogImpl::BeginGeneration(Sequence& sequence) {
  sequence.generation = store_.AllocateTree();
  sequence.state = std::make_shared<SequenceState>(sequence.initial);
}

Result<SequencePtr> CatalogImpl::CreateSequence(txn::Transaction& transaction, Changes& changes, Sequence sequence) {
  if (sequence.id == ObjectId()) sequence.id = AllocateObject();
  BeginGeneration(sequence);
  const auto created = std::make_shared<const Sequence>(std::move(sequence));
  SISAL_RETURN_IF_ERROR(ClaimNames(transaction, created->schema, {created->name}, created->id));
  SISAL_RETURN_IF_ERROR(transaction.Lock(kCatalogTree, ObjectKey(created->id), txn::LockMode::kExclusive,
                                         txn::LockWait::kWait, txn::Conflict::kIgnore));
  SISAL_RETURN_IF_ERROR(WriteSequence(transaction, changes, created));
  return SequencePtr(created);
}

Result<SequencePtr> CatalogImpl::ReplaceSequence(txn::Transaction& transaction, Changes& changes,
                                                 const SequencePtr& sequence, Sequence definition,
                                                 bool new_generation) {
  if (new_generation) {
    BeginGeneration(definition);
    SISAL_RETURN_IF_ERROR(transaction.Delete(kSequenceTree, SequenceKey(sequence->generation)));
  }
  const auto changed = std::make_shared<const Sequence>(std::move(definition));
  SISAL_RETURN_IF_ERROR(WriteSequence(transaction, changes, changed));
  return SequencePtr(changed);
}

Status CatalogImpl::DropSequence(txn::Transaction& transaction, Changes& changes, const SequencePtr& sequence) {
  SISAL_RETURN_IF_ERROR(FreeNames(transaction, sequence->schema, {sequence->name}));
  SISAL_RETURN_IF_ERROR(transaction.Delete(kCatalogTree, ObjectKey(sequence->id)));
  SISAL_RETURN_IF_ERROR(transaction.Delete(kSequenceTree, SequenceKey(sequence->generation)));
  Own(changes).SetSequence(sequence->id, nullptr);
  return Status();
}

Result<SequencePtr> CatalogImpl::LockSequence(txn::Transaction& transaction, const Changes* changes,
                                              const Sequence& sequence, txn::LockMode mode) {
  SISAL_RETURN_IF_ERROR(
      transaction.Lock(kCatalogTree, ObjectKey(sequence.id), mode, txn::LockWait::kWait, txn::Conflict::kIgnore));
  const bool own = changes != nullptr && changes->Touches(sequence.id);
  SequencePtr newest = (own ? changes->root() : Newest())->FindSequence(sequence.id);
  if (newest != nullptr) return newest;
  return Error("42P01", "relation \"" + sequence.name + "\" does not exist");
}

Status CatalogImpl::SaveSequences() {
  const RootPtr root = Newest();
  const std::unique_ptr<txn::Transaction> transaction = store_.Begin({});
  Status status;
  root->ForEachSequence([&](const SequencePtr& sequence) {
    const SequenceState::View view = sequence->state->Look();
    if (status.ok() && view.logged_ahead > 0) status = PutSequenceValue(*transaction, *sequence, view.value);
  });
  if (!status.ok() || !transaction->has_writes()) return status;
  return transaction->Commit({}).status();
}

}  // namespace

Result<std::unique_ptr<Catalog>> Catalog::Open(txn::Store& store) {
  auto catalog = std::make_unique<CatalogImpl>(store);
  SISAL_RETURN_IF_ERROR(catalog->Load());
  return std::unique_ptr<Catalog>(std::move(catalog));
}

}  // namespace sisal::catalog
