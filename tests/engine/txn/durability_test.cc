// What a commit promises when the disk fails, the power goes, or the log is damaged.
#include <map>
#include <random>
#include <vector>

#include "../wal/fake_file_system.h"
#include "replay.h"
#include "txn_fixture.h"

namespace sisal::txn {
namespace {

using wal::DiskCall;
using wal::DiskOp;

bool IsLogSync(const DiskCall& call) {
  return call.op == DiskOp::kSync && call.path.find("/log-") != std::string::npos;
}

class DurabilityTest : public TxnTest {
 protected:
  DurabilityTest() : TxnTest(/*loop_count=*/1) {  // the hooks into the disk are not synchronised
    options_.log.durability = wal::Durability::kFull;
    options_.log.segment_bytes = 1 << 20;
    UseDisk(std::make_unique<wal::FakeFileSystem>());
  }
  ~DurabilityTest() override {
    if (store_ != nullptr) Run([&] { store_->Abandon(); });
    store_.reset();  // before its disk
  }
  void UseDisk(std::unique_ptr<wal::FakeFileSystem> disk) {
    disk_ = std::move(disk);
    options_.log.file_system = disk_.get();
  }

  // Lets syncs of the log wait until Release.
  void HoldSyncs() {
    disk_->SetBefore([this](const DiskCall& call) {
      if (IsLogSync(call)) syncs_go_on_.Wait();
      return Status();
    });
  }

  std::unique_ptr<wal::FakeFileSystem> disk_;
  io::Event syncs_go_on_;
};

TEST_F(DurabilityTest, AfterAFailedSyncTheOutcomeIsUnknownAndOnlyReadsGoOn) {
  Run([&] {
    Open();
    Set("k", "acknowledged");
    const auto early = Begin();
    ASSERT_OK(Write(*early, "other", "1"));
    disk_->SetBefore([](const DiskCall& call) -> Status {
      if (IsLogSync(call)) return Error("58030", "injected");
      return Status();
    });
    const auto unlucky = Begin();
    ASSERT_OK(Write(*unlucky, "k", "unknown"));
    EXPECT_SQLSTATE(unlucky->Commit({}), "08007");
    EXPECT_TRUE(store_->read_only());
    EXPECT_SQLSTATE(early->Commit({}), "58030");
    EXPECT_EQ(Get("k"), "acknowledged");

    const auto reader = Begin();
    EXPECT_EQ(Read(*reader, "k"), "unknown");
    EXPECT_FALSE(reader->Commit({}).ok()) << "it has seen what may be undone";
    EXPECT_TRUE(store_->core().intents.empty());
  });
}

TEST_F(DurabilityTest, AnIntentIsReleasedBeforeTheSyncAndReadOnlyReadersSeeOnlyWhatIsDurable) {
  Run([&] {
    Open();
    Set("k", "0");
    HoldSyncs();
    io::Event first_done, second_done;
    const auto increment = [&](io::Event& done, const std::string& value) {
      const auto transaction = store_->Begin({});
      EXPECT_OK(transaction->Lock(kTree, "k", LockMode::kExclusive, LockWait::kWait, Conflict::kCheck));
      EXPECT_OK(transaction->TakeSnapshot());
      EXPECT_OK(transaction->Put(kTree, "k", Read(*transaction, "k").value_or("") + value));
      EXPECT_OK(transaction->Commit({}));
      done.Set();
    };
    const Timestamp start = store_->applied();
    runtime_->Spawn({}, [&] { increment(first_done, "1"); });
    while (store_->applied() == start) io::Yield();
    const Timestamp after_first = store_->applied();
    runtime_->Spawn({}, [&] { increment(second_done, "2"); });
    while (store_->applied() == after_first) io::Yield();
    EXPECT_FALSE(first_done.is_set());
    EXPECT_FALSE(second_done.is_set());
    EXPECT_EQ(Get("k"), "0");
    EXPECT_EQ(Read(*Begin(), "k"), "012");
    syncs_go_on_.Set();
    first_done.Wait();
    second_done.Wait();
    EXPECT_EQ(Get("k"), "012");
  });
}

TEST_F(DurabilityTest, AReaderThatWroteNothingIsAnsweredWhenWhatItSawIsDurable) {
  Run([&] {
    Open();
    Set("k", "0");
    HoldSyncs();
    const Timestamp start = store_->applied();
    io::Event written, answered;
    runtime_->Spawn({}, [&] {
      Set("k", "1");
      written.Set();
    });
    while (store_->applied() == start) io::Yield();
    runtime_->Spawn({}, [&] {
      const auto reader = Begin();
      EXPECT_EQ(Read(*reader, "k"), "1");
      EXPECT_OK(reader->Commit({}));
      EXPECT_GT(store_->durable(), start);
      answered.Set();
    });
    for (int i = 0; i < 100; ++i) io::Yield();
    EXPECT_FALSE(answered.is_set());
    syncs_go_on_.Set();
    answered.Wait();
    written.Wait();
  });
}

// An earlier commit is still being applied: a later one has let go of its rows, but nobody may see it yet.
TEST_F(DurabilityTest, ACommitIsAnsweredAndReadOnlyBehindEveryEarlierOne) {
  Run([&] {
    Open();
    Set("k", "0");
    const Timestamp earlier{store_->applied().value + 1};
    store_->core().horizon.Reserved(earlier);
    io::Event answered, read;
    runtime_->Spawn({}, [&] {
      Set("k", "1");
      answered.Set();
    });
    while (store_->core().horizon.last_reserved() == earlier) io::Yield();
    runtime_->Spawn({}, [&] {
      const auto reader = store_->Begin({});
      EXPECT_OK(reader->Lock(kTree, "k", LockMode::kExclusive, LockWait::kWait, Conflict::kCheck));
      EXPECT_OK(reader->TakeSnapshot());
      EXPECT_EQ(Read(*reader, "k"), "1");
      read.Set();
    });
    while (store_->core().log->durable().value < store_->core().horizon.last_reserved().value) io::Yield();
    for (int i = 0; i < 1000; ++i) io::Yield();
    EXPECT_FALSE(answered.is_set());
    EXPECT_FALSE(read.is_set());
    EXPECT_EQ(Read(*Begin(), "k"), "0");
    store_->core().horizon.Applied(earlier);
    answered.Wait();
    read.Wait();
  });
}

// Commits of two or three rows each, all with one value; every third in chunks. At a power cut at any moment each is
// there whole or not at all, and the acknowledged ones are there.
TEST_F(DurabilityTest, APowerCutKeepsWhatWasAcknowledgedAndNothingHalf) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int round = 0; round < 30 && !HasFailure(); ++round) {
    Run([&] {
      UseDisk(std::make_unique<wal::FakeFileSystem>());
      Open();
      int acknowledged = 0, begun = 0;
      std::unique_ptr<wal::FakeFileSystem> after;
      int acknowledged_then = 0, begun_then = 0;
      uint64_t calls_left = 5 + random.Below(60);
      disk_->SetBefore([&](const DiskCall&) {
        if (calls_left-- == 0) {
          acknowledged_then = acknowledged;
          begun_then = begun;
          after = disk_->AfterPowerCut(random);
        }
        return Status();
      });
      while (after == nullptr) {
        const std::string number = std::to_string(++begun);
        const size_t bytes = begun % 3 == 0 ? 400'000 : 100;
        const auto transaction = Begin();
        for (const char* row : {"a", "b", "c"}) {
          ASSERT_OK(Write(*transaction, row + number, std::string(bytes, 'v') + number));
        }
        ASSERT_OK(transaction->Commit({}));
        ++acknowledged;
      }
      disk_->SetBefore(nullptr);
      store_->Abandon();
      store_.reset();
      UseDisk(std::move(after));
      Open();
      for (int i = 1; i <= begun_then; ++i) {
        const std::string number = std::to_string(i);
        const auto a = Get("a" + number), b = Get("b" + number), c = Get("c" + number);
        EXPECT_EQ(a, b) << i;
        EXPECT_EQ(a, c) << i;
        if (i <= acknowledged_then) {
          EXPECT_TRUE(a.has_value()) << i;
        }
        if (a) {
          EXPECT_EQ(*a, std::string(i % 3 == 0 ? 400'000 : 100, 'v') + number);
        }
      }
      Set("after", "1");
      EXPECT_EQ(Get("after"), "1");
      store_->Abandon();
      store_.reset();
    });
  }
}

// Records as the log would show them, for what an honest log never holds.
class ReplayTest : public ::testing::Test {
 protected:
  ReplayTest() : runtime_(io::Runtime::Start({.loop_count = 1}).value()) {}

  Status Visit(wal::RecordType type, std::string_view payload) {
    Status status;
    runtime_->RunAndWait("replay", [&] {
      const Lsn start{position_};
      position_ += 64 + payload.size();
      status = replayer_.Visit({start, Lsn{position_}, type, payload});
    });
    return status;
  }
  static std::string Chunk(uint64_t txn, uint64_t sequence, std::string_view piece) {
    std::string payload;
    AppendChunkHeader({TxnId{txn}, sequence}, payload);
    return payload.append(piece);
  }
  static std::string Operations() {
    std::string bytes;
    AppendOperation({OperationKind::kPut, kTree, "key", "value"}, bytes);
    AppendOperation({OperationKind::kDelete, kTree, "gone", {}}, bytes);
    AppendOperation({OperationKind::kDropTree, TreeId{200}, {}, {}}, bytes);
    return bytes;
  }
  static CommitHeader Header() {
    CommitHeader header;
    header.wall_micros = 1;
    header.next_tree = 101;
    header.operation_count = 3;
    return header;
  }
  static std::string Commit(const CommitHeader& header, std::string_view rest) {
    std::string payload;
    AppendCommitHeader(header, payload);
    return payload.append(rest);
  }
  CommitHeader ChunkedHeader(uint64_t first, uint64_t count) {
    CommitHeader header = Header();
    header.chunked = true;
    header.first_chunk = Lsn{first};
    header.chunk_txn = TxnId{7};
    header.chunk_count = count;
    header.chunk_bytes = Operations().size();
    return header;
  }
  std::optional<std::string> Value(std::string_view key) {
    const TreePtr tree = trees_.Find(kTree);
    Arena arena;
    btree::Entry entry;
    if (tree == nullptr || !tree->tree->Get(key, Timestamp::Max(), arena, entry)) return std::nullopt;
    return std::string(entry.value);
  }

  std::unique_ptr<io::Runtime> runtime_;
  TreeDirectory trees_;
  Replayer replayer_{trees_};
  uint64_t position_ = 1000;
};

TEST_F(ReplayTest, ACommitIsRedoneAndReservesTreeIds) {
  EXPECT_OK(Visit(wal::RecordType::kCommit, Commit(Header(), Operations())));
  EXPECT_EQ(Value("key"), "value");
  EXPECT_GT(trees_.next_id(), 200u);
  EXPECT_EQ(replayer_.last_commit(), Timestamp{position_});
}

TEST_F(ReplayTest, ChunksCountOnlyWithTheirCommit) {
  const std::string bytes = Operations();
  EXPECT_OK(Visit(wal::RecordType::kChunk, Chunk(7, 0, "left over from before a restart")));
  const uint64_t first = position_;
  EXPECT_OK(Visit(wal::RecordType::kChunk, Chunk(7, 0, bytes.substr(0, 5))));
  EXPECT_OK(Visit(wal::RecordType::kChunk, Chunk(8, 0, "of another")));
  EXPECT_OK(Visit(wal::RecordType::kChunk, Chunk(7, 1, bytes.substr(5))));
  EXPECT_EQ(Value("key"), std::nullopt);
  EXPECT_OK(Visit(wal::RecordType::kCommit, Commit(ChunkedHeader(first, 2), "")));
  EXPECT_EQ(Value("key"), "value");
}

TEST_F(ReplayTest, MissingChunksAreAnError) {
  const uint64_t first = position_;
  EXPECT_OK(Visit(wal::RecordType::kChunk, Chunk(7, 0, Operations())));
  EXPECT_SQLSTATE(Visit(wal::RecordType::kChunk, Chunk(7, 2, "")), "XX001");
  EXPECT_SQLSTATE(Visit(wal::RecordType::kCommit, Commit(ChunkedHeader(first, 2), "")), "XX001");
  EXPECT_SQLSTATE(Visit(wal::RecordType::kCommit, Commit(ChunkedHeader(first + 1, 1), "")), "XX001");
}

TEST_F(ReplayTest, DamagedRecordsAreRefused) {
  const std::string good = Commit(Header(), Operations());
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_SQLSTATE(Visit(wal::RecordType::kCommit, good.substr(0, size)), "XX001");
  }
  EXPECT_SQLSTATE(Visit(wal::RecordType::kCommit, good + "x"), "XX001");
  EXPECT_SQLSTATE(Visit(wal::RecordType::kNote, "x"), "XX001");
  EXPECT_SQLSTATE(Visit(wal::RecordType::kChunk, ""), "XX001");
  for (size_t at = 0; at < good.size(); ++at) {
    std::string damaged = good;
    damaged[at] = '\xff';
    const Status status = Visit(wal::RecordType::kCommit, damaged);  // the checksum's business; never a crash
    if (!status.ok()) {
      EXPECT_SQLSTATE(status, "XX001");
    }
  }
}

TEST(AppliedHorizonTest, ItMovesOverWholeRunsOfAppliedCommits) {
  AppliedHorizon horizon;
  horizon.Start(Timestamp{5});
  for (const uint64_t position : {10, 20, 30}) horizon.Reserved(Timestamp{position});
  horizon.Applied(Timestamp{20});
  EXPECT_EQ(horizon.applied(), Timestamp{5});
  horizon.Applied(Timestamp{10});
  EXPECT_EQ(horizon.applied(), Timestamp{20});
  horizon.Applied(Timestamp{30});
  EXPECT_EQ(horizon.applied(), Timestamp{30});
}

TEST(SnapshotViewTest, AVersionIsNeededWhileASnapshotOrAFutureOneMaySeeIt) {
  const SnapshotView view{Timestamp{100}, {Timestamp{20}, Timestamp{50}}};
  EXPECT_EQ(view.oldest(), Timestamp{20});
  EXPECT_TRUE(view.Needs(Timestamp{10}, Timestamp{21}));
  EXPECT_FALSE(view.Needs(Timestamp{10}, Timestamp{20}));
  EXPECT_FALSE(view.Needs(Timestamp{21}, Timestamp{50}));
  EXPECT_TRUE(view.Needs(Timestamp{50}, Timestamp{60}));
  EXPECT_FALSE(view.Needs(Timestamp{60}, Timestamp{100}));
  EXPECT_TRUE(view.Needs(Timestamp{60}, Timestamp{101}));
}

}  // namespace
}  // namespace sisal::txn
