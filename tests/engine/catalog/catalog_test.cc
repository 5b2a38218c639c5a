// Tables come and go with their transactions, at each snapshot's own time.
#include "sisal/catalog/catalog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "definition.h"
#include "root.h"
#include "sisal/base/random.h"
#include "sisal/testing/status_matchers.h"

namespace sisal::catalog {
namespace {

Table MakeTable(const std::string& name) {
  Column id{.name = "id", .type = type::TypeId::kInteger, .not_null = true, .default_sql = ""};
  Column text{.name = "label", .type = type::TypeId::kText, .not_null = false, .default_sql = "'none'"};
  Table table({id, text});
  table.schema = "public";
  table.name = name;
  table.primary_key = {0};
  table.primary_key_name = name + "_pkey";
  return table;
}

Index MakeIndex(const std::string& name) {
  Index index;
  index.name = name;
  index.unique = true;
  index.columns = {{.column = 1, .order = type::SortOrder::kDescending, .nulls_first = true}};
  return index;
}

class CatalogTest : public ::testing::Test {
 protected:
  CatalogTest() {
    const char* base = std::getenv("TMPDIR");
    std::string pattern = std::string(base == nullptr ? "/tmp" : base) + "/sisal_catalog_XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    runtime_ = io::Runtime::Start({.loop_count = 1}).value();
  }
  ~CatalogTest() override {
    Run([&] { CloseStore(); });
    runtime_.reset();
    std::filesystem::remove_all(directory_);
  }

  void Run(std::function<void()> body) { runtime_->RunAndWait("test", std::move(body)); }

  // Suspends.
  void Open() {
    txn::StoreOptions options;
    options.log.segment_bytes = 1 << 20;
    options.log.durability = wal::Durability::kNormal;
    options.log.write_method = wal::WriteMethod::kBufferedSync;
    ASSERT_OK_AND_ASSIGN(store_, txn::Store::Open(*runtime_, directory_, options, nullptr));
    ASSERT_OK_AND_ASSIGN(catalog_, Catalog::Open(*store_));
  }
  void CloseStore() {
    catalog_.reset();
    if (store_ != nullptr) store_->Abandon();
    store_.reset();
  }
  void Reopen() {
    CloseStore();
    Open();
  }

  // A transaction with its root and its DDL.
  struct Session {
    std::unique_ptr<txn::Transaction> transaction;
    std::unique_ptr<Changes> changes;
    RootPtr root() const { return changes->root(); }
    TablePtr Find(const std::string& name) const { return root()->FindTable("public", name); }
  };
  Session Begin() {
    Session session{store_->Begin({}), nullptr};
    EXPECT_OK(session.transaction->TakeSnapshot());
    session.changes = catalog_->MakeChanges(catalog_->RootAt(session.transaction->snapshot()));
    return session;
  }
  Result<TablePtr> Create(Session& session, Table table) {
    return catalog_->CreateTable(*session.transaction, *session.changes, std::move(table));
  }
  Status Drop(Session& session, const TablePtr& table) {
    return catalog_->DropTable(*session.transaction, *session.changes, table);
  }
  Status Lock(Session& session, const Table& table, txn::LockMode mode) {
    return catalog_->LockTable(*session.transaction, table, mode);
  }
  Status Commit(Session& session) {
    txn::CommitOptions options;
    if (!session.changes->empty()) {
      options.on_apply = [&](Timestamp position) { catalog_->Publish(*session.changes, position); };
    }
    return session.transaction->Commit(options).status();
  }
  TablePtr Created(const std::string& name) {
    Session session = Begin();
    const Result<TablePtr> table = Create(session, MakeTable(name));
    EXPECT_OK(table);
    EXPECT_OK(Commit(session));
    return table.ok() ? *table : nullptr;
  }
  TablePtr NewestTable(const std::string& name) { return catalog_->Newest()->FindTable("public", name); }

  std::string directory_;
  std::unique_ptr<io::Runtime> runtime_;
  std::unique_ptr<txn::Store> store_;
  std::unique_ptr<Catalog> catalog_;
};

TEST_F(CatalogTest, ATableIsSeenByItsTransactionAndAfterItsCommitByLaterSnapshots) {
  Run([&] {
    Open();
    const Session before = Begin();
    Session session = Begin();
    ASSERT_OK_AND_ASSIGN(const TablePtr table, Create(session, MakeTable("t")));
    EXPECT_EQ(session.Find("t"), table);
    EXPECT_EQ(NewestTable("t"), nullptr);
    ASSERT_OK(Commit(session));
    EXPECT_EQ(NewestTable("t"), table);
    EXPECT_EQ(Begin().Find("t"), table);
    EXPECT_EQ(catalog_->RootAt(before.transaction->snapshot())->FindTable("public", "t"), nullptr);
    EXPECT_TRUE(catalog_->Newest()->RelationExists("public", "t_pkey"));
    EXPECT_EQ(catalog_->Newest()->FindTable(table->id), table);
  });
}

TEST_F(CatalogTest, ARolledBackTableLeavesNothing) {
  Run([&] {
    Open();
    {
      Session session = Begin();
      ASSERT_OK(Create(session, MakeTable("t")));
    }
    EXPECT_EQ(Begin().Find("t"), nullptr);
    EXPECT_NE(Created("t"), nullptr);
    Reopen();
    EXPECT_NE(NewestTable("t"), nullptr);
  });
}

TEST_F(CatalogTest, ASavepointIsASavedCopyOfTheChanges) {
  Run([&] {
    Open();
    Session session = Begin();
    ASSERT_OK(Create(session, MakeTable("kept")));
    const txn::Mark mark = session.transaction->SetMark();
    const std::unique_ptr<Changes> saved = session.changes->Clone();
    ASSERT_OK(Create(session, MakeTable("undone")));
    session.transaction->RollbackTo(mark);
    session.changes = saved->Clone();
    ASSERT_OK(Commit(session));
    EXPECT_NE(NewestTable("kept"), nullptr);
    EXPECT_EQ(NewestTable("undone"), nullptr);
    EXPECT_NE(Created("undone"), nullptr);
  });
}

TEST_F(CatalogTest, DefinitionsSurviveARestart) {
  Run([&] {
    Open();
    Table table = MakeTable("t");
    table.indexes.push_back(MakeIndex("t_label_key"));
    Session session = Begin();
    ASSERT_OK_AND_ASSIGN(const TablePtr created, Create(session, std::move(table)));
    ASSERT_OK(Commit(session));
    const std::string definition = EncodeDefinition(*created);
    Reopen();
    const TablePtr loaded = NewestTable("t");
    ASSERT_NE(loaded, nullptr);
    EXPECT_EQ(EncodeDefinition(*loaded), definition);
    EXPECT_EQ(loaded->indexes[0].columns[0].order, type::SortOrder::kDescending);
    EXPECT_EQ(loaded->layout.column_count(), 2u);
    EXPECT_EQ(catalog_->Newest()->FindTableOfIndex("public", "t_label_key"), loaded);
    EXPECT_GT(store_->AllocateTree(), loaded->indexes[0].tree) << "ids are never given twice";
  });
}

TEST_F(CatalogTest, ATakenNameIsRefused) {
  Run([&] {
    Open();
    Created("t");
    Session session = Begin();
    EXPECT_SQLSTATE(Create(session, MakeTable("t")), "42P07");
    EXPECT_SQLSTATE(Create(session, MakeTable("t_pkey")), "42P07");
  });
}

TEST_F(CatalogTest, OfTwoCreatorsOfOneNameTheSecondWaitsAndFails) {
  Run([&] {
    Open();
    Session first = Begin(), second = Begin();
    ASSERT_OK(Create(first, MakeTable("t")));
    io::Event done;
    Status outcome;
    runtime_->Spawn({}, [&] {
      outcome = Create(second, MakeTable("t")).status();
      done.Set();
    });
    while (!first.transaction->blocks_others()) io::Yield();
    ASSERT_OK(Commit(first));
    done.Wait();
    EXPECT_SQLSTATE(outcome, "42P07");
  });
}

TEST_F(CatalogTest, ANameIsFreeAgainWhenItsCreatorRollsBack) {
  Run([&] {
    Open();
    Session first = Begin(), second = Begin();
    ASSERT_OK(Create(first, MakeTable("t")));
    io::Event done;
    Status outcome;
    runtime_->Spawn({}, [&] {
      outcome = Create(second, MakeTable("t")).status();
      done.Set();
    });
    while (!first.transaction->blocks_others()) io::Yield();
    first.transaction->Rollback();
    done.Wait();
    EXPECT_OK(outcome);
    EXPECT_OK(Commit(second));
  });
}

TEST_F(CatalogTest, DdlOfDifferentTablesRunsSideBySide) {
  Run([&] {
    Open();
    const TablePtr old = Created("old");
    Session first = Begin(), second = Begin();
    ASSERT_OK(Create(first, MakeTable("a")));
    ASSERT_OK(Create(second, MakeTable("b")));
    ASSERT_OK(Drop(second, old));
    ASSERT_OK(Commit(second));
    EXPECT_EQ(Begin().Find("old"), nullptr);
    ASSERT_OK(Commit(first));
    const Session after = Begin();
    EXPECT_NE(after.Find("a"), nullptr);
    EXPECT_NE(after.Find("b"), nullptr);
    EXPECT_EQ(after.Find("old"), nullptr);
  });
}

TEST_F(CatalogTest, CommitsMayPublishInAnyOrder) {
  Run([&] {
    Open();
    const auto changes_with = [&](const std::string& name, uint32_t id) {
      Table table = MakeTable(name);
      table.id = ObjectId{id};
      auto changes = std::make_unique<ChangesImpl>(catalog_->Newest());
      changes->Set(table.id, std::make_shared<const Table>(std::move(table)));
      return changes;
    };
    const auto early = changes_with("early", 1000), late = changes_with("late", 1001);
    catalog_->Publish(*late, Timestamp{1'000'200});
    catalog_->Publish(*early, Timestamp{1'000'100});
    const RootPtr between = catalog_->RootAt(Timestamp{1'000'150});
    EXPECT_NE(between->FindTable("public", "early"), nullptr);
    EXPECT_EQ(between->FindTable("public", "late"), nullptr);
    EXPECT_NE(catalog_->Newest()->FindTable("public", "early"), nullptr);
    EXPECT_NE(catalog_->Newest()->FindTable("public", "late"), nullptr);
    EXPECT_EQ(catalog_->RootAt(Timestamp{1'000'050})->FindTable("public", "early"), nullptr);
  });
}

TEST_F(CatalogTest, DropWaitsForReadersAndLaterReadersFindNothing) {
  Run([&] {
    Open();
    const TablePtr table = Created("t");
    Session reader = Begin(), late = Begin(), dropper = Begin();
    ASSERT_OK(Lock(reader, *table, txn::LockMode::kShared));
    io::Event done;
    Status dropped;
    runtime_->Spawn({}, [&] {
      dropped = Drop(dropper, table);
      if (dropped.ok()) dropped = Commit(dropper);
      done.Set();
    });
    while (!reader.transaction->blocks_others()) io::Yield();
    EXPECT_FALSE(done.is_set());
    ASSERT_OK(Commit(reader));
    done.Wait();
    EXPECT_OK(dropped);
    EXPECT_NE(late.Find("t"), nullptr);
    EXPECT_SQLSTATE(Lock(late, *table, txn::LockMode::kShared), "42P01");
    EXPECT_EQ(NewestTable("t"), nullptr);
  });
}

TEST_F(CatalogTest, AWriterWithAnOldDefinitionIsToldToBindAgain) {
  Run([&] {
    Open();
    const TablePtr table = Created("t");
    Session writer = Begin(), other = Begin();
    ASSERT_OK_AND_ASSIGN(const TablePtr indexed,
                         catalog_->AddIndex(*other.transaction, *other.changes, table, MakeIndex("i")));
    EXPECT_EQ(other.Find("t"), indexed);
    EXPECT_OK(Lock(other, *indexed, txn::LockMode::kShared));  // its own definition is the newest
    ASSERT_OK(Commit(other));
    EXPECT_SQLSTATE(Lock(writer, *table, txn::LockMode::kShared), "40001");
    EXPECT_OK(Lock(writer, *indexed, txn::LockMode::kShared));
  });
}

TEST_F(CatalogTest, IndexesComeAndGo) {
  Run([&] {
    Open();
    const TablePtr table = Created("t");
    Session session = Begin();
    ASSERT_OK_AND_ASSIGN(const TablePtr indexed,
                         catalog_->AddIndex(*session.transaction, *session.changes, table, MakeIndex("i")));
    EXPECT_SQLSTATE(catalog_->AddIndex(*session.transaction, *session.changes, indexed, MakeIndex("i")), "42P07");
    ASSERT_OK(Commit(session));
    Session dropper = Begin();
    EXPECT_SQLSTATE(catalog_->DropIndex(*dropper.transaction, *dropper.changes, indexed, "no"), "42704");
    ASSERT_OK(catalog_->DropIndex(*dropper.transaction, *dropper.changes, indexed, "i"));
    ASSERT_OK(Commit(dropper));
    EXPECT_FALSE(catalog_->Newest()->RelationExists("public", "i"));
    Reopen();
    EXPECT_TRUE(NewestTable("t")->indexes.empty());
  });
}

TEST_F(CatalogTest, AChangedDefinitionTakesAndGivesBackNamesAndTrees) {
  Run([&] {
    Open();
    const TablePtr table = Created("t");
    Session reader = Begin(), session = Begin();
    Table changed = *table;
    changed.name = "renamed";
    changed.primary_key_name = "renamed_pkey";
    changed.columns[1].name = "renamed_column";
    changed.tree = TreeId();
    ASSERT_OK_AND_ASSIGN(const TablePtr result,
                         catalog_->ChangeTable(*session.transaction, *session.changes, table, changed));
    EXPECT_EQ(result->id, table->id);
    EXPECT_NE(result->tree, table->tree);
    EXPECT_EQ(session.Find("t"), nullptr);
    EXPECT_EQ(session.Find("renamed"), result);
    EXPECT_OK(Commit(session));
    EXPECT_EQ(reader.Find("t"), table);  // as of its snapshot
    EXPECT_NE(Created("t"), nullptr);    // the name is free
    Session other = Begin();
    EXPECT_SQLSTATE(Create(other, MakeTable("renamed")), "42P07");
    other.transaction->Rollback();
    reader.transaction->Rollback();
    Reopen();
    EXPECT_EQ(NewestTable("renamed")->id, result->id);
  });
}

TEST_F(CatalogTest, RandomDdlMatchesAListOfNames) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  Run([&] {
    Open();
    std::vector<std::string> names;
    for (int step = 0; step < 300; ++step) {
      Session session = Begin();
      const std::string name = "t" + std::to_string(random.Below(20));
      const auto known = std::find(names.begin(), names.end(), name);
      if (known == names.end()) {
        ASSERT_OK(Create(session, MakeTable(name)));
      } else {
        ASSERT_OK(Drop(session, session.Find(name)));
      }
      if (random.OneIn(4)) continue;  // rolls back
      ASSERT_OK(Commit(session));
      known == names.end() ? names.push_back(name) : static_cast<void>(names.erase(known));
      static_cast<const RootImpl&>(*catalog_->Newest()).CheckInvariants();
      if (step % 50 == 0) Reopen();
    }
    std::sort(names.begin(), names.end());
    std::vector<std::string> seen;
    catalog_->Newest()->ForEachTable([&](const TablePtr& table) { seen.push_back(table->name); });
    EXPECT_EQ(seen, names);
  });
}

TEST(DefinitionTest, DamagedBytesAreRefused) {
  Table table = MakeTable("t");
  table.indexes.push_back(MakeIndex("i"));
  const std::string bytes = EncodeDefinition(table);
  EXPECT_OK(DecodeDefinition(bytes));
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_SQLSTATE(DecodeDefinition(bytes.substr(0, size)), "XX001");
  EXPECT_SQLSTATE(DecodeDefinition(bytes + "x"), "XX001");
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = '\xff';
    const auto decoded = DecodeDefinition(damaged);  // an error, or a table: never a crash
    if (!decoded.ok()) {
      EXPECT_SQLSTATE(decoded, "XX001");
    }
  }
}

// Two columns, the second of which was dropped, and a third that older rows do not have.
Table AlteredTable() {
  Table table = MakeTable("t");
  std::vector<Column> columns = table.columns;
  columns[1].dropped = true;
  columns.push_back({.name = "added",
                     .type = type::TypeId::kNumeric,
                     .not_null = true,
                     .default_sql = "1.00",
                     .missing = type::ParseText(type::TypeId::kNumeric, "1.00", {}).value()});
  table.SetColumns(std::move(columns));
  return table;
}

TEST(DefinitionTest, DroppedAndAddedColumnsReadBack) {
  const Table table = AlteredTable();
  const std::string bytes = EncodeDefinition(table);
  EXPECT_EQ(bytes[0], 2);
  ASSERT_OK_AND_ASSIGN(const TablePtr decoded, DecodeDefinition(bytes));
  EXPECT_EQ(EncodeDefinition(*decoded), bytes);
  EXPECT_FALSE(decoded->columns[0].dropped);
  EXPECT_TRUE(decoded->columns[1].dropped);
  EXPECT_EQ(decoded->columns[2].missing, table.columns[2].missing);
  EXPECT_EQ(decoded->FindColumn("label"), std::nullopt);
  EXPECT_EQ(decoded->LiveColumns(), (std::vector<uint32_t>{0, 2}));
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_SQLSTATE(DecodeDefinition(bytes.substr(0, size)), "XX001");
}

// As programs wrote it before there were extras, and as it is still written without any.
TEST(DefinitionTest, TheFirstVersionIsStillRead) {
  const std::string bytes(
      "\x01\x65\x65\x06public\x01t\x01\x02id\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x01\x00\x06t_"
      "pkey"
      "\x00",
      41);
  ASSERT_OK_AND_ASSIGN(const TablePtr table, DecodeDefinition(bytes));
  EXPECT_EQ(table->columns[0].name, "id");
  EXPECT_EQ(table->primary_key_name, "t_pkey");
  EXPECT_EQ(EncodeDefinition(*table), bytes);
}

TEST(DefinitionTest, ConstraintsComeBack) {
  Table table = MakeTable("t");
  table.checks = {{"a", "id > 0", false}, {"b", "label <> ''", true}};
  ForeignKey& key = table.foreign_keys.emplace_back();
  key.name = "t_fkey";
  key.columns = {1, 0};
  key.table = ObjectId{300};
  key.referenced = {1700, 2};
  key.match_full = true;
  key.on_delete = ReferenceAction::kSetDefault;
  key.on_update = ReferenceAction::kCascade;
  key.set_on_delete = {1};
  table.referrers = {{ObjectId{7}, "u_fkey"}};
  const std::string bytes = EncodeDefinition(table);
  const TablePtr decoded = DecodeDefinition(bytes).value();
  EXPECT_EQ(EncodeDefinition(*decoded), bytes);
  ASSERT_EQ(decoded->checks.size(), 2u);
  EXPECT_EQ(decoded->checks[1].sql, "label <> ''");
  EXPECT_TRUE(decoded->checks[1].no_inherit);
  const ForeignKey* found = decoded->FindForeignKey("t_fkey");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->referenced, (std::vector<uint32_t>{1700, 2}));
  EXPECT_EQ(found->on_delete, ReferenceAction::kSetDefault);
  EXPECT_EQ(decoded->referrers, table.referrers);
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_SQLSTATE(DecodeDefinition(bytes.substr(0, size)), "XX001");
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = '\xff';
    const auto read = DecodeDefinition(damaged);
    if (!read.ok()) {
      EXPECT_SQLSTATE(read, "XX001");
    }
  }
}

}  // namespace
}  // namespace sisal::catalog
