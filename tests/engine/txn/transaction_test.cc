// What one transaction does, alone and next to a second one, and what a restart keeps.
#include "txn_fixture.h"

namespace sisal::txn {
namespace {

using TransactionTest = TxnTest;

TEST_F(TransactionTest, ACommitIsSeenByTheNextReaderAndNotByAnEarlierSnapshot) {
  Run([&] {
    Open();
    Set("k", "one");
    const auto before = Begin();
    Set("k", "two");
    EXPECT_EQ(Read(*before, "k"), "one");
    EXPECT_EQ(Get("k"), "two");
    EXPECT_EQ(Read(*Begin(), "k"), "two");
    Set("k", std::nullopt);
    EXPECT_EQ(Read(*before, "k"), "one");
    EXPECT_EQ(Get("k"), std::nullopt);
  });
}

TEST_F(TransactionTest, OwnWritesAreSeenAndUndoneWithTheTransaction) {
  Run([&] {
    Open();
    Set("b", "1");
    Set("d", "1");
    const auto transaction = Begin();
    ASSERT_OK(Write(*transaction, "a", "2"));
    ASSERT_OK(Write(*transaction, "b", "2"));
    ASSERT_OK(Write(*transaction, "d", std::nullopt));
    EXPECT_EQ(Read(*transaction, "a"), "2");
    EXPECT_EQ(Read(*transaction, "d"), std::nullopt);
    EXPECT_EQ(ReadAll(*transaction), "a=2 b=2 ");
    EXPECT_EQ(ReadAll(*Begin()), "b=1 d=1 ");
    transaction->Rollback();
    EXPECT_EQ(ReadAll(*Begin()), "b=1 d=1 ");
    EXPECT_TRUE(store_->core().intents.empty());
  });
}

TEST_F(TransactionTest, RollbackToAMarkUndoesWhatCameAfterIt) {
  Run([&] {
    Open();
    const auto transaction = Begin();
    ASSERT_OK(Write(*transaction, "a", "1"));
    const Mark mark = transaction->SetMark();
    ASSERT_OK(Write(*transaction, "a", "2"));
    ASSERT_OK(Write(*transaction, "a", std::nullopt));
    ASSERT_OK(Write(*transaction, "b", "2"));
    ASSERT_OK(transaction->DropTree(kTree));
    const size_t locks = transaction->lock_count();
    transaction->RollbackTo(mark);
    EXPECT_EQ(ReadAll(*transaction), "a=1 ");
    EXPECT_EQ(transaction->lock_count(), locks) << "intents stay";
    ASSERT_OK(transaction->Commit({}));
    EXPECT_EQ(ReadAll(*Begin()), "a=1 ");
  });
}

TEST_F(TransactionTest, RollbackToTheBeginningLeavesNothingToCommit) {
  Run([&] {
    Open();
    const auto transaction = Begin();
    const Mark mark = transaction->SetMark();
    ASSERT_OK(Write(*transaction, "a", "1"));
    transaction->RollbackTo(mark);
    EXPECT_FALSE(transaction->has_writes());
    ASSERT_OK_AND_ASSIGN(const CommitResult result, transaction->Commit({}));
    EXPECT_EQ(result.position, Timestamp());
  });
}

TEST_F(TransactionTest, TheSecondOfTwoWritersFails) {
  Run([&] {
    Open();
    Set("k", "0");
    const auto late = Begin();
    Set("k", "1");
    EXPECT_SQLSTATE(Write(*late, "k", "2"), "40001");
    late->Rollback();
    EXPECT_EQ(Get("k"), "1");
    EXPECT_EQ(store_->Stats().conflicts, 1u);
  });
}

TEST_F(TransactionTest, AConflictWithADeletedRowIsSeenToo) {
  Run([&] {
    Open();
    Set("k", "0");
    const auto late = Begin();
    Set("k", std::nullopt);
    Sweeper::Sweep(store_->core());
    EXPECT_SQLSTATE(Write(*late, "k", "2"), "40001");
  });
}

TEST_F(TransactionTest, TheFirstIntentBeforeTheSnapshotAvoidsTheConflict) {
  Run([&] {
    Open();
    Set("k", "0");
    const auto transaction = store_->Begin({});
    ASSERT_OK(transaction->Lock(kTree, "k", LockMode::kExclusive, LockWait::kWait, Conflict::kCheck));
    ASSERT_OK(transaction->TakeSnapshot());
    EXPECT_EQ(Read(*transaction, "k"), "0");
    ASSERT_OK(transaction->Put(kTree, "k", "1"));
    ASSERT_OK(transaction->Commit({}));
    EXPECT_EQ(Get("k"), "1");
  });
}

TEST_F(TransactionTest, GetNewestLooksPastTheSnapshot) {
  Run([&] {
    Open();
    const auto transaction = Begin();
    Set("k", "1");
    ASSERT_OK(transaction->Lock(kTree, "k", LockMode::kExclusive, LockWait::kWait, Conflict::kIgnore));
    Arena arena;
    ASSERT_OK_AND_ASSIGN(const auto newest, transaction->GetNewest(kTree, "k", arena));
    EXPECT_EQ(newest, "1");
    EXPECT_EQ(Read(*transaction, "k"), std::nullopt);
  });
}

TEST_F(TransactionTest, AReadWithoutATransactionLeavesLongRowsOut) {
  Run([&] {
    Open();
    Arena arena;
    Set("k", "123");
    EXPECT_EQ(store_->GetCommitted(kTree, "k", 3, arena).value, "123");
    const CommittedRow row = store_->GetCommitted(kTree, "k", 2, arena);
    EXPECT_TRUE(row.too_long);
    EXPECT_EQ(row.value, std::nullopt);
    Set("k", std::nullopt);
    EXPECT_FALSE(store_->GetCommitted(kTree, "k", 0, arena).too_long);
  });
}

TEST_F(TransactionTest, AReadWithoutATransactionSeesWhatIsCommitted) {
  Run([&] {
    Open();
    EXPECT_EQ(ReadCommitted("k"), std::nullopt);  // no tree
    Set("k", "1");
    EXPECT_EQ(ReadCommitted("k"), "1");
    EXPECT_EQ(ReadCommitted("j"), std::nullopt);
    const auto writer = Begin();
    ASSERT_OK(Write(*writer, "k", "2"));
    EXPECT_EQ(ReadCommitted("k"), "1");
    ASSERT_OK(writer->Commit({}));
    EXPECT_EQ(ReadCommitted("k"), "2");
    Set("k", std::nullopt);
    EXPECT_EQ(ReadCommitted("k"), std::nullopt);
    Sweeper::Sweep(store_->core());
    EXPECT_EQ(ReadCommitted("k"), std::nullopt);
  });
}

// As while a commit is applied, or waits for its sync: its versions are in the tree, above the floor.
TEST_F(TransactionTest, AReadWithoutATransactionSeesNothingAboveTheFloor) {
  Run([&] {
    Open();
    Set("old", "1");
    Set("gone", "1");
    StoreCore& core = store_->core();
    const Timestamp later{core.Floor().value + 1000};
    const auto view = core.RefreshView();
    const auto put = [&](std::string_view key, std::optional<std::string_view> value) {
      core.trees.FindOrMake(kTree)->tree->Put(key, later, value, [&](const btree::Entry& old) {
        core.versions.Supersede(kTree, old, later, !value, *view);
      });
    };
    put("old", "2");
    put("gone", std::nullopt);
    put("new", "2");
    EXPECT_EQ(ReadCommitted("old"), "1");
    EXPECT_EQ(ReadCommitted("gone"), "1");
    EXPECT_EQ(ReadCommitted("new"), std::nullopt);
    EXPECT_EQ(core.snapshots.View([] { return Timestamp(); }).snapshots.size(), 0u);
  });
}

TEST_F(TransactionTest, EachStatementAtReadCommittedMayTakeANewSnapshot) {
  Run([&] {
    Open();
    const auto transaction = Begin({.isolation = Isolation::kReadCommitted});
    Set("k", "1");
    EXPECT_EQ(Read(*transaction, "k"), std::nullopt);
    ASSERT_OK(transaction->TakeSnapshot());
    EXPECT_EQ(Read(*transaction, "k"), "1");
  });
}

TEST_F(TransactionTest, NoWaitFailsWhileAnotherHoldsTheRow) {
  Run([&] {
    Open();
    const auto holder = Begin();
    ASSERT_OK(holder->Lock(kTree, "k", LockMode::kShared, LockWait::kWait, Conflict::kIgnore));
    const auto other = Begin();
    EXPECT_OK(other->Lock(kTree, "k", LockMode::kShared, LockWait::kNoWait, Conflict::kIgnore));
    EXPECT_SQLSTATE(other->Lock(kTree, "k", LockMode::kExclusive, LockWait::kNoWait, Conflict::kIgnore), "55P03");
    holder->Rollback();
    EXPECT_OK(other->Lock(kTree, "k", LockMode::kExclusive, LockWait::kNoWait, Conflict::kIgnore));
  });
}

TEST_F(TransactionTest, AWaitEndsWithTheLockTimeoutTheDeadlineOrTheCancel) {
  Run([&] {
    Open();
    const auto holder = Begin();
    ASSERT_OK(Write(*holder, "k", "1"));
    const auto other = Begin();
    const auto lock = [&] { return other->Lock(kTree, "k", LockMode::kExclusive, LockWait::kWait, Conflict::kIgnore); };
    const Duration soon = std::chrono::milliseconds(5);
    other->SetInterrupt({}, soon);
    EXPECT_SQLSTATE(lock(), "55P03");
    other->SetInterrupt({.deadline = runtime_->clock().Now() + soon}, Duration::max());
    EXPECT_SQLSTATE(lock(), "57014");
    io::CancelToken token;
    other->SetInterrupt({.cancel = &token}, Duration::max());
    runtime_->Spawn({}, [&] {
      while (!holder->blocks_others()) io::Yield();
      token.Cancel(Error("57014", "canceling statement due to user request"));
    });
    EXPECT_SQLSTATE(lock(), "57014");
    EXPECT_FALSE(holder->blocks_others());
    ASSERT_OK(holder->Commit({}));
    other->SetInterrupt({}, Duration::max());
    EXPECT_OK(lock());
  });
}

TEST_F(TransactionTest, TooLargeATransactionFailsAndTheStoreGoesOn) {
  options_.transaction_bytes_max = 1000;
  Run([&] {
    Open();
    const auto transaction = Begin();
    EXPECT_SQLSTATE(Write(*transaction, "k", std::string(2000, 'x')), "54000");
    transaction->Rollback();
    Set("k", "1");
    EXPECT_EQ(Get("k"), "1");
  });
}

TEST_F(TransactionTest, ScansMergeOwnWritesInBothDirections) {
  Run([&] {
    Open();
    for (const char* key : {"b", "d", "f", "h"}) Set(key, "0");
    const auto transaction = Begin();
    for (const char* key : {"a", "c", "d", "i"}) ASSERT_OK(Write(*transaction, key, "1"));
    ASSERT_OK(Write(*transaction, "h", std::nullopt));
    for (size_t limit : {1, 2, 3, 100}) {
      EXPECT_EQ(ReadAll(*transaction, kTree, {}, Direction::kForward, limit), "a=1 b=0 c=1 d=1 f=0 i=1 ");
      EXPECT_EQ(ReadAll(*transaction, kTree, {}, Direction::kBackward, limit), "i=1 f=0 d=1 c=1 b=0 a=1 ");
      EXPECT_EQ(ReadAll(*transaction, kTree, {"b", "f"}, Direction::kForward, limit), "b=0 c=1 d=1 ");
      EXPECT_EQ(ReadAll(*transaction, kTree, {"b", "f"}, Direction::kBackward, limit), "d=1 c=1 b=0 ");
    }
  });
}

TEST_F(TransactionTest, OnApplyRunsBeforeAnySnapshotIncludesTheCommit) {
  Run([&] {
    Open();
    const auto transaction = Begin();
    ASSERT_OK(Write(*transaction, "k", "1"));
    Timestamp seen, applied;
    CommitOptions options;
    options.on_apply = [&](Timestamp position) { seen = position, applied = store_->applied(); };
    ASSERT_OK_AND_ASSIGN(const CommitResult result, transaction->Commit(options));
    EXPECT_EQ(seen, result.position);
    EXPECT_LT(applied, result.position);
    EXPECT_GE(store_->applied(), result.position);
  });
}

TEST_F(TransactionTest, OldVersionsAndTombstonesGoWhenNoSnapshotNeedsThem) {
  Run([&] {
    Open();
    for (const char* key : {"a", "b", "c"}) Set(key, "1");
    const auto old = Begin();
    Set("a", "2");
    Set("b", std::nullopt);
    Sweeper::Sweep(store_->core());
    EXPECT_EQ(ReadAll(*old), "a=1 b=1 c=1 ");
    EXPECT_EQ(store_->Stats().versions, 2u);
    EXPECT_EQ(store_->Stats().entries, 3u);
    old->Rollback();
    Sweeper::Sweep(store_->core());
    EXPECT_EQ(store_->Stats().versions, 0u);
    EXPECT_EQ(store_->Stats().entries, 2u);
    EXPECT_EQ(ReadAll(*Begin()), "a=2 c=1 ");
  });
}

TEST_F(TransactionTest, AHotRowUnderOneOldSnapshotKeepsFewVersions) {
  Run([&] {
    Open();
    Set("k", "0");
    const auto old = Begin();
    for (int i = 1; i <= 200; ++i) {
      Set("k", std::to_string(i));
      if (i % 10 == 0) store_->core().RefreshView();
    }
    EXPECT_LT(store_->Stats().versions, 50u);
    EXPECT_EQ(Read(*old, "k"), "0");
  });
}

TEST_F(TransactionTest, ADroppedTreeStaysForOlderSnapshots) {
  Run([&] {
    Open();
    Set("k", "1");
    const auto reader = Begin();
    const auto dropper = Begin();
    ASSERT_OK(dropper->DropTree(kTree));
    ASSERT_OK(dropper->Commit({}));
    Sweeper::Sweep(store_->core());
    EXPECT_EQ(Read(*reader, "k"), "1");
    EXPECT_EQ(store_->Stats().trees, 1u);
    reader->Rollback();
    Sweeper::Sweep(store_->core());
    EXPECT_EQ(store_->Stats().trees, 0u);
    Reopen();
    EXPECT_EQ(store_->Stats().trees, 0u);
    EXPECT_GT(store_->AllocateTree(), kTree);
  });
}

TEST_F(TransactionTest, TreeIdsAndRowNumbersAreNotGivenTwiceAcrossARestart) {
  Run([&] {
    Open();
    const TreeId tree = store_->AllocateTree();
    const TreeId unused = store_->AllocateTree();
    EXPECT_EQ(store_->NextRowNumber(tree), 1u);
    EXPECT_EQ(store_->NextRowNumber(tree), 2u);
    const std::string row_nine("\0\0\0\0\0\0\0\x09", 8);
    Set(row_nine, "1", tree);
    Set(row_nine, std::nullopt, tree);
    EXPECT_EQ(store_->NextRowNumber(tree), 10u);
    Reopen();
    EXPECT_EQ(store_->NextRowNumber(tree), 10u);
    EXPECT_GT(store_->AllocateTree(), unused);
  });
}

TEST_F(TransactionTest, ARestartKeepsWhatWasAcknowledgedAndNothingElse) {
  options_.log.durability = wal::Durability::kFull;
  Run([&] {
    Open();
    Set("a", "1");
    Set("b", "1");
    Set("b", std::nullopt);
    {
      const auto unfinished = Begin();
      ASSERT_OK(Write(*unfinished, "c", "1"));
    }
    const Timestamp applied = store_->applied();
    Reopen();
    EXPECT_EQ(ReadAll(*Begin({.read_only = true})), "a=1 ");
    EXPECT_EQ(store_->applied(), applied);
    Set("a", "2");
    EXPECT_GT(store_->applied(), applied);
    ASSERT_OK(store_->Close());
    store_.reset();
    Open();
    EXPECT_EQ(ReadAll(*Begin()), "a=2 ");
  });
}

TEST_F(TransactionTest, ATransactionOfManyChunksCommitsWholeOrNotAtAll) {
  Run([&] {
    Open();
    const std::string large(3 << 20, 'L');
    const auto transaction = Begin();
    ASSERT_OK(Write(*transaction, "large", large));
    for (int i = 0; i < 2000; ++i) {
      ASSERT_OK(Write(*transaction, "row" + std::to_string(i), std::string(1000, static_cast<char>('a' + i % 26))));
    }
    ASSERT_OK(transaction->Commit({}));
    Set("small", "1");
    Reopen();
    EXPECT_EQ(Get("large"), large);
    EXPECT_EQ(store_->Stats().entries, 2002u);
    EXPECT_EQ(Get("row1999"), std::string(1000, static_cast<char>('a' + 1999 % 26)));
    EXPECT_EQ(Get("small"), "1");
  });
}

TEST_F(TransactionTest, AFullLogRollsBackAndTheStoreGoesOn) {
  options_.log.segment_bytes = 1 << 20;
  options_.log.max_bytes = 8 << 20;
  Run([&] {
    Open();
    Set("k", "1");
    for (int attempt = 0; attempt < 2; ++attempt) {
      const auto transaction = Begin();
      for (int i = 0; i < 20; ++i) {
        ASSERT_OK(Write(*transaction, "row" + std::to_string(i), std::string(1 << 20, 'x')));
      }
      EXPECT_SQLSTATE(transaction->Commit({}), "53100");
    }
    EXPECT_FALSE(store_->read_only());
    EXPECT_EQ(ReadAll(*Begin()), "k=1 ");
    EXPECT_TRUE(store_->core().intents.empty());
    Reopen();  // the chunks of transactions that never committed are in the log
    EXPECT_EQ(ReadAll(*Begin()), "k=1 ");
  });
}

}  // namespace
}  // namespace sisal::txn
