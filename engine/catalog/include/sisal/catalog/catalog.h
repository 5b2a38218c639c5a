// Which tables exist, as of each commit. A root is an immutable map from names to objects; DDL copies O(log n) nodes of
// it; a transaction pins the root that belongs to its snapshot (design (i)).
//
// Catalog rows lie in the system tree kCatalogTree, written by the DDL's own transaction, so they are durable and
// undone with it. Concurrency: thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sisal/base/ids.h"
#include "sisal/base/status.h"
#include "sisal/catalog/schema.h"
#include "sisal/catalog/sequence.h"
#include "sisal/txn/store.h"

namespace sisal::catalog {

// System trees: their ids are part of the file format.
inline constexpr TreeId kCatalogTree{1};      // object id -> definition; also object locks are intents here
inline constexpr TreeId kCatalogNameTree{2};  // schema.name -> object id: unique names
inline constexpr TreeId kIdempotencyTree{3};  // (principal, key) -> outcome
inline constexpr TreeId kSequenceTree{4};     // a sequence's generation -> value, see sequence.h
inline constexpr uint32_t kFirstUserTree = 100;

// Immutable.
class Root {
 public:
  virtual ~Root() = default;
  virtual TablePtr FindTable(std::string_view schema, std::string_view name) const = 0;  // nullptr: none
  virtual TablePtr FindTable(ObjectId id) const = 0;
  // An index of any table by name: relations share one name space. nullptr: none.
  virtual TablePtr FindTableOfIndex(std::string_view schema, std::string_view index_name) const = 0;
  virtual bool RelationExists(std::string_view schema, std::string_view name) const = 0;
  virtual void ForEachTable(const std::function<void(const TablePtr&)>& visit) const = 0;      // by name
  virtual SequencePtr FindSequence(std::string_view schema, std::string_view name) const = 0;  // nullptr: none
  virtual SequencePtr FindSequence(ObjectId id) const = 0;
  virtual void ForEachSequence(const std::function<void(const SequencePtr&)>& visit) const = 0;  // by name
  virtual void ForEachView(const std::function<void(const TablePtr&)>& visit) const {
    ForEachTable([&](const TablePtr& table) {
      if (table->view.has_value()) visit(table);
    });
  }
  virtual uint64_t version() const = 0;  // differs between any two roots of one process: for plan caches
};
using RootPtr = std::shared_ptr<const Root>;

// Views whose text uses the relation, or one column of it; by id, which is the order of their making.
std::vector<TablePtr> ViewsUsing(const Root& root, ObjectId relation, std::optional<uint32_t> slot = std::nullopt);
// Views that need the table's primary key.
std::vector<TablePtr> ViewsByKey(const Root& root, ObjectId table);

// What one transaction's DDL has changed so far; confined to the transaction. Copyable, for savepoints.
class Changes;

class Catalog {
 public:
  // Reads kCatalogTree. Suspends.
  static Result<std::unique_ptr<Catalog>> Open(txn::Store& store);
  virtual ~Catalog() = default;

  virtual RootPtr RootAt(Timestamp snapshot) const = 0;
  virtual RootPtr Newest() const = 0;
  // Newest()->version(), without a latch. A table of a root is not dropped while this is its version; so what was read
  // of its trees between two equal answers is what a snapshot of that time shows.
  virtual uint64_t newest_version() const = 0;

  // A private root over `base`: base plus nothing yet.
  virtual std::unique_ptr<Changes> MakeChanges(RootPtr base) const = 0;

  // Writes the definition into `transaction` (object lock, unique name; 42P07 if the name is taken) and into `changes`.
  // Allocates ids and trees of `table` and of its indexes; adds its foreign keys as AddForeignKey does. Suspends.
  virtual Result<TablePtr> CreateTable(txn::Transaction& transaction, Changes& changes, Table table) = 0;
  // Its foreign keys go with it. Requires: no other table's foreign key references it.
  virtual Status DropTable(txn::Transaction& transaction, Changes& changes, const TablePtr& table) = 0;
  // Makes `changed` the definition of `table`: takes the names that are new and gives back those that are gone; trees
  // that stand at 0 (of rows or of an index) are allocated, those that are gone are dropped. Foreign keys
  // that come or go change the tables that they reference; ObjectId() means `table`. What lies in the trees, and that
  // rows obey, is the caller's work. Errors: 42P07; those of LockTable. Suspends.
  virtual Result<TablePtr> ChangeTable(txn::Transaction& transaction, Changes& changes, const TablePtr& table,
                                       Table changed) = 0;
  // Adds or removes an index of `table`'s definition; building its entries is the caller's work.
  virtual Result<TablePtr> AddIndex(txn::Transaction& transaction, Changes& changes, const TablePtr& table,
                                    Index index) = 0;
  virtual Result<TablePtr> DropIndex(txn::Transaction& transaction, Changes& changes, const TablePtr& table,
                                     std::string_view index_name) = 0;

  // By ChangeTable. Both tables are locked exclusively. Suspends.
  virtual Result<TablePtr> AddForeignKey(txn::Transaction& transaction, Changes& changes, const TablePtr& table,
                                         ForeignKey key) = 0;
  virtual Result<TablePtr> DropForeignKey(txn::Transaction& transaction, Changes& changes, const TablePtr& table,
                                          std::string_view key_name) = 0;

  virtual ObjectId AllocateObject() = 0;
  // As CreateTable; with an id of AllocateObject or none. Its state begins at `initial`. Suspends.
  virtual Result<SequencePtr> CreateSequence(txn::Transaction& transaction, Changes& changes, Sequence sequence) = 0;
  // Another definition with the same id and name; new_generation: and a new state, which begins at `initial`.
  // Requires: LockSequence(kExclusive). Suspends.
  virtual Result<SequencePtr> ReplaceSequence(txn::Transaction& transaction, Changes& changes,
                                              const SequencePtr& sequence, Sequence definition,
                                              bool new_generation) = 0;
  // Requires: LockSequence(kExclusive). Suspends.
  virtual Status DropSequence(txn::Transaction& transaction, Changes& changes, const SequencePtr& sequence) = 0;
  // Locks a sequence against DDL (kShared, for its use) or against all use, until the transaction ends, and returns its
  // newest definition: sequences know no snapshots. Errors: 42P01 if it was dropped; those of Transaction::Lock.
  // Suspends.
  virtual Result<SequencePtr> LockSequence(txn::Transaction& transaction, const Changes* changes,
                                           const Sequence& sequence, txn::LockMode mode) = 0;
  // Writes the values themselves in place of the blocks that the log counts as taken, so that none is skipped after an
  // orderly end. Requires: nobody uses a sequence. Suspends.
  virtual Status SaveSequences() = 0;

  // For CommitOptions::on_apply: publishes `changes` over the newest root as of `position`.
  virtual void Publish(const Changes& changes, Timestamp position) = 0;

  // Locks a table against DDL (kShared, for DML and reads) or against everything (kExclusive), until the transaction
  // ends. Errors: 42P01 if it was dropped meanwhile; 40001 if its definition was changed and the transaction may write:
  // bind again, under a newer snapshot; those of Transaction::Lock. Suspends.
  virtual Status LockTable(txn::Transaction& transaction, const Table& table, txn::LockMode mode) = 0;
};

class Changes {
 public:
  virtual ~Changes() = default;
  virtual RootPtr root() const = 0;  // base with the changes: what the transaction's own statements see
  virtual bool empty() const = 0;
  virtual bool Touches(ObjectId id) const = 0;  // created, changed or dropped
  virtual std::unique_ptr<Changes> Clone() const = 0;
  // The same changes over the root of a newer snapshot: what they touch is locked, so nobody else has changed it.
  virtual void Rebase(const RootPtr& base) = 0;
};

}  // namespace sisal::catalog
