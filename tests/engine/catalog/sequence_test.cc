// Values of sequences come once each, whatever ends their transactions or the process.
#include "sisal/catalog/sequence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "definition.h"
#include "root.h"
#include "sisal/catalog/catalog.h"
#include "sisal/testing/status_matchers.h"

namespace sisal::catalog {
namespace {

Sequence MakeSequence(const std::string& name, const SequenceOptions& options = {}) {
  Sequence sequence;
  sequence.schema = "public";
  sequence.name = name;
  EXPECT_OK(ApplySequenceOptions(options, true, sequence));
  return sequence;
}

class SequenceTest : public ::testing::Test {
 protected:
  SequenceTest() {
    const char* base = std::getenv("TMPDIR");
    std::string pattern = std::string(base == nullptr ? "/tmp" : base) + "/sisal_sequence_XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    runtime_ = io::Runtime::Start({.loop_count = 2}).value();
  }
  ~SequenceTest() override {
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

  struct Session {
    std::unique_ptr<txn::Transaction> transaction;
    std::unique_ptr<Changes> changes;
  };
  Session Begin() {
    Session session{store_->Begin({}), nullptr};
    EXPECT_OK(session.transaction->TakeSnapshot());
    session.changes = catalog_->MakeChanges(catalog_->RootAt(session.transaction->snapshot()));
    return session;
  }
  Status Commit(Session& session) {
    txn::CommitOptions options;
    options.on_apply = [&](Timestamp position) { catalog_->Publish(*session.changes, position); };
    return session.transaction->Commit(options).status();
  }
  SequencePtr Created(Sequence sequence) {
    Session session = Begin();
    const Result<SequencePtr> created =
        catalog_->CreateSequence(*session.transaction, *session.changes, std::move(sequence));
    EXPECT_OK(created);
    EXPECT_OK(Commit(session));
    return *created;
  }
  SequencePtr Newest(const std::string& name) { return catalog_->Newest()->FindSequence("public", name); }

  std::vector<int64_t> Take(const Sequence& sequence, size_t count) {
    std::vector<int64_t> values(count);
    size_t taken = 0;
    Timestamp logged;
    const Status status = sequence.state->Take(*store_, sequence, values, taken, logged);
    EXPECT_OK(status);
    values.resize(taken);
    return values;
  }
  // Makes all that was logged before durable, as any commit does.
  void CommitSomething() {
    const auto transaction = store_->Begin({});
    ASSERT_OK(transaction->Put(TreeId{kFirstUserTree}, "key", "value"));
    ASSERT_OK(transaction->Commit({}));
  }

  std::string directory_;
  std::unique_ptr<io::Runtime> runtime_;
  std::unique_ptr<txn::Store> store_;
  std::unique_ptr<Catalog> catalog_;
};

TEST_F(SequenceTest, ValuesGoOnBehindTheLoggedBlockAfterACrash) {
  Run([&] {
    Open();
    const SequencePtr sequence = Created(MakeSequence("s"));
    EXPECT_EQ(Take(*sequence, 1), std::vector<int64_t>{1});
    EXPECT_EQ(Take(*sequence, 2), (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(sequence->state->Look().logged_ahead, 30u);
    CommitSomething();
    Reopen();
    EXPECT_EQ(Take(*Newest("s"), 1), std::vector<int64_t>{34});
  });
}

TEST_F(SequenceTest, NothingIsSkippedAfterTheValuesWereSaved) {
  Run([&] {
    Open();
    Take(*Created(MakeSequence("s")), 5);
    ASSERT_OK(catalog_->SaveSequences());
    Reopen();
    EXPECT_EQ(Take(*Newest("s"), 1), std::vector<int64_t>{6});
  });
}

TEST_F(SequenceTest, AtItsEndASequenceGivesWhatIsLeftAndThen2200H) {
  Run([&] {
    Open();
    SequenceOptions options;
    options.max = {{5}};
    options.increment = 2;
    const SequencePtr sequence = Created(MakeSequence("s", options));
    EXPECT_EQ(Take(*sequence, 2), (std::vector<int64_t>{1, 3}));
    EXPECT_EQ(Take(*sequence, 10), std::vector<int64_t>{5});
    std::vector<int64_t> values(1);
    size_t taken = 0;
    Timestamp logged;
    const Status ended = sequence->state->Take(*store_, *sequence, values, taken, logged);
    EXPECT_SQLSTATE(ended, "2200H");
    EXPECT_EQ(ended.error().message(), "nextval: reached maximum value of sequence \"s\" (5)");
  });
}

TEST_F(SequenceTest, ACyclingSequenceStartsOverAtItsOtherEnd) {
  Run([&] {
    Open();
    SequenceOptions options;
    options.increment = -2;
    options.min = {{-4}};
    options.cycle = true;
    EXPECT_EQ(Take(*Created(MakeSequence("s", options)), 5), (std::vector<int64_t>{-1, -3, -1, -3, -1}));
  });
}

TEST_F(SequenceTest, ARolledBackGenerationLeavesTheOldOne) {
  Run([&] {
    Open();
    const SequencePtr before = Created(MakeSequence("s"));
    Take(*before, 7);
    {
      Session session = Begin();
      ASSERT_OK(catalog_->LockSequence(*session.transaction, nullptr, *before, txn::LockMode::kExclusive));
      Sequence restarted = *before;
      restarted.initial = {100, false};
      ASSERT_OK_AND_ASSIGN(const SequencePtr changed,
                           catalog_->ReplaceSequence(*session.transaction, *session.changes, before, restarted, true));
      EXPECT_EQ(Take(*changed, 1), std::vector<int64_t>{100});
    }
    EXPECT_EQ(Newest("s"), before);
    EXPECT_EQ(Take(*before, 1), std::vector<int64_t>{8});
    CommitSomething();
    Reopen();  // removes the row of the generation that never was
    EXPECT_EQ(Take(*Newest("s"), 1), std::vector<int64_t>{40});
    CommitSomething();
    Reopen();
    const auto transaction = store_->Begin({});
    ASSERT_OK(transaction->TakeSnapshot());
    txn::EntryBatch batch;
    ASSERT_OK(transaction->Scan(kSequenceTree, {}, txn::Direction::kForward)->Next(10, batch));
    EXPECT_EQ(batch.keys.size(), 1u);
  });
}

TEST_F(SequenceTest, FibersOfTwoLoopsNeverGetTheSameValue) {
  Run([&] {
    Open();
    const SequencePtr sequence = Created(MakeSequence("s"));
    constexpr size_t kFibers = 8, kTakes = 500;
    std::vector<std::vector<int64_t>> taken(kFibers);
    io::Event ended[kFibers];
    for (size_t fiber = 0; fiber < kFibers; ++fiber) {
      runtime_->Spawn({"taker"}, [&, fiber] {
        for (size_t i = 0; i < kTakes; ++i) {
          for (const int64_t value : Take(*sequence, 1 + i % 40)) taken[fiber].push_back(value);
        }
        ended[fiber].Set();
      });
    }
    std::set<int64_t> all;
    size_t count = 0;
    for (size_t fiber = 0; fiber < kFibers; ++fiber) {
      ended[fiber].Wait();
      EXPECT_TRUE(std::is_sorted(taken[fiber].begin(), taken[fiber].end()));
      all.insert(taken[fiber].begin(), taken[fiber].end());
      count += taken[fiber].size();
    }
    EXPECT_EQ(all.size(), count);
    EXPECT_EQ(*all.rbegin(), static_cast<int64_t>(count));
  });
}

TEST_F(SequenceTest, NamesAreSharedWithTables) {
  Run([&] {
    Open();
    Created(MakeSequence("s"));
    Session session = Begin();
    Table table({Column{.name = "a", .type = type::TypeId::kInteger}});
    table.schema = "public";
    table.name = "s";
    EXPECT_SQLSTATE(catalog_->CreateTable(*session.transaction, *session.changes, table), "42P07");
  });
}

TEST_F(SequenceTest, ADroppedSequenceIsGoneForThoseWhoWaitedForIt) {
  Run([&] {
    Open();
    const SequencePtr sequence = Created(MakeSequence("s"));
    Session dropper = Begin(), user = Begin();
    ASSERT_OK(catalog_->LockSequence(*dropper.transaction, nullptr, *sequence, txn::LockMode::kExclusive));
    ASSERT_OK(catalog_->DropSequence(*dropper.transaction, *dropper.changes, sequence));
    EXPECT_SQLSTATE(
        catalog_->LockSequence(*dropper.transaction, dropper.changes.get(), *sequence, txn::LockMode::kShared),
        "42P01");
    ASSERT_OK(Commit(dropper));
    EXPECT_SQLSTATE(catalog_->LockSequence(*user.transaction, user.changes.get(), *sequence, txn::LockMode::kShared),
                    "42P01");
    EXPECT_EQ(Newest("s"), nullptr);
    user.transaction.reset();
    Reopen();
    EXPECT_EQ(Newest("s"), nullptr);
  });
}

TEST(SequenceDefinitionTest, AnEncodedSequenceIsTheSameAgain) {
  SequenceOptions options;
  options.type = type::TypeId::kSmallint;
  options.min = {{-7}};
  options.max = {{99}};
  options.start = 3;
  options.increment = 5;
  options.cache = 4;
  options.cycle = true;
  Sequence sequence = MakeSequence("Odd \"name\"", options);
  sequence.id = ObjectId{300};
  sequence.owner = ObjectId{200};
  sequence.generation = TreeId{70000};
  sequence.initial = {8, true};
  const std::string bytes = EncodeSequence(sequence);
  EXPECT_TRUE(IsSequenceDefinition(bytes));
  ASSERT_OK_AND_ASSIGN(const Sequence again, DecodeSequence(bytes));
  EXPECT_EQ(EncodeSequence(again), bytes);
  EXPECT_EQ(again.name, sequence.name);
  EXPECT_EQ(again.initial, sequence.initial);
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_SQLSTATE(DecodeSequence(std::string_view(bytes).substr(0, length)), "XX001");
  }
}

// What a program wrote that knew no sequences.
TEST(SequenceDefinitionTest, AnOlderDefinitionOfATableIsRead) {
  const std::string bytes(
      "\x01\x64\x64\x06public\x01t\x01\x02id\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00\x00\x00",
      34);
  ASSERT_OK_AND_ASSIGN(const TablePtr table, DecodeDefinition(bytes));
  EXPECT_EQ(table->columns[0].name, "id");
  EXPECT_TRUE(table->columns[0].not_null);
  EXPECT_EQ(table->columns[0].identity, Identity::kNone);
  EXPECT_TRUE(table->columns[0].sequences.empty());
}

TEST(SequenceDefinitionTest, AnIdentityColumnKeepsItsSequences) {
  Column column{.name = "id", .type = type::TypeId::kBigint, .not_null = true};
  column.identity = Identity::kByDefault;
  column.sequences = {ObjectId{500}, ObjectId{501}};
  Table table({column});
  table.schema = "public";
  table.name = "t";
  ASSERT_OK_AND_ASSIGN(const TablePtr again, DecodeDefinition(EncodeDefinition(table)));
  EXPECT_EQ(again->columns[0].identity, Identity::kByDefault);
  EXPECT_EQ(again->columns[0].sequences, column.sequences);
}

}  // namespace
}  // namespace sisal::catalog
