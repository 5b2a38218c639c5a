// The log in order: what is acknowledged is found again, in order, at positions that never repeat.
#include "sisal/wal/log.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "log_test_support.h"
#include "sisal/io/sync.h"

namespace sisal::wal {
namespace {

std::string Payload(uint64_t number, size_t size_bytes) {
  std::string payload = std::to_string(number) + ":";
  payload.resize(std::max(size_bytes, payload.size()), static_cast<char>('a' + number % 26));
  return payload;
}

TEST_F(LogTest, CommitIsFoundAfterReopening) {
  FakeFileSystem disk;
  OnFiber([&] {
    Fill(disk, {"one", "two", ""});
    const OpenedLog opened = OpenOn(disk);
    EXPECT_EQ(opened.Commits(), (std::vector<std::string>{"one", "two", ""}));
    opened.log->Abandon();
  });
}

TEST_F(LogTest, RangesFollowEachOther) {
  FakeFileSystem disk;
  OnFiber([&] {
    const OpenedLog opened = OpenOn(disk);
    const LogRange first = *Append(*opened.log, "x");
    const LogRange second = *Append(*opened.log, "y");
    EXPECT_EQ(first.end, second.start);
    EXPECT_GT(first.start, Lsn{});
    EXPECT_EQ(opened.log->end(), second.end);
    opened.log->Abandon();
  });
}

TEST_F(LogTest, PositionsNeverRestart) {
  FakeFileSystem disk;
  OnFiber([&] {
    Lsn highest;
    for (int open = 0; open < 5; ++open) {
      const OpenedLog opened = OpenOn(disk);
      EXPECT_GT(opened.log->end(), highest);
      for (const TestRecord& record : opened.records) EXPECT_LT(record.end, opened.log->end());
      // Reserved and lost with the crash; the next open must not give its position to another.
      highest = Append(*opened.log, "lost")->end;
      opened.log->Abandon();
    }
  });
}

TEST_F(LogTest, ReplayBeginsAtRedo) {
  FakeFileSystem disk;
  OnFiber([&] {
    std::vector<std::string> payloads;
    for (int i = 0; i < 30; ++i) payloads.push_back(Payload(i, 100'000));  // several segments
    const std::vector<LogRange> ranges = Fill(disk, payloads);
    for (const size_t from : {size_t{0}, size_t{1}, size_t{9}, size_t{29}}) {
      Result<OpenedLog> opened = TryOpen(runtime(), kTestDirectory, OptionsOn(disk), ranges[from].start);
      ASSERT_OK(opened.status());
      EXPECT_EQ(opened->Commits(), std::vector<std::string>(payloads.begin() + from, payloads.end()));
      opened->log->Abandon();
    }
  });
}

TEST_F(LogTest, TheReplayCanBeStopped) {
  FakeFileSystem disk;
  OnFiber([&] {
    Fill(disk, {"one", "two", "three"});
    ReplayProgress progress;
    int visited = 0;
    const auto visit = [&](const RecordView& record) {
      if (record.type == RecordType::kCommit && ++visited == 2) progress.stop = true;
      return Status();
    };
    EXPECT_EQ(Log::Open(runtime(), kTestDirectory, OptionsOn(disk), Lsn{}, visit, &progress).sqlstate(), "57P01");
    EXPECT_EQ(visited, 2);
    const OpenedLog opened = OpenOn(disk);
    EXPECT_EQ(opened.Commits(), (std::vector<std::string>{"one", "two", "three"}));
    opened.log->Abandon();
  });
}

TEST_F(LogTest, RecordsDoNotSpanSegments) {
  FakeFileSystem disk;
  OnFiber([&] {
    std::vector<std::string> payloads;
    for (int i = 0; i < 40; ++i) payloads.push_back(Payload(i, 90'000 + 977 * i));
    const std::vector<LogRange> ranges = Fill(disk, payloads);
    for (const LogRange& range : ranges) {
      EXPECT_EQ(Find(disk, range.start).first, Find(disk, Lsn{range.end.value - 1}).first);
    }
    const OpenedLog opened = OpenOn(disk);
    EXPECT_EQ(opened.Commits(), payloads);
    opened.log->Abandon();
  });
}

TEST_F(LogTest, LargestRecordFitsAndOneByteMoreIsRefused) {
  FakeFileSystem disk;
  OnFiber([&] {
    OpenedLog opened = OpenOn(disk);
    const uint64_t largest = opened.log->payload_bytes_max();
    EXPECT_GT(largest, kTestSegmentBytes / 2 - 10'000);
    std::vector<std::string> payloads;
    for (int i = 0; i < 6; ++i) {
      payloads.push_back(Payload(i, largest));
      EXPECT_OK(Commit(*opened.log, payloads.back()));
    }
    EXPECT_SQLSTATE(opened.log->Reserve(largest + 1).status(), "54000");
    opened.log->Abandon();
    opened = OpenOn(disk);
    EXPECT_EQ(opened.Commits(), payloads);
    opened.log->Abandon();
  });
}

TEST_F(LogTest, UnusedCreditComesBack) {
  FakeFileSystem disk;
  OnFiber([&] {
    const OpenedLog opened = OpenOn(disk);
    const uint64_t largest = opened.log->payload_bytes_max();
    for (int i = 0; i < 100; ++i) {
      Result<LogCredit> credit = opened.log->Reserve(largest);
      ASSERT_OK(credit.status());
      EXPECT_EQ(credit->payload_bytes(), largest);
    }
    EXPECT_OK(Commit(*opened.log, "after"));
    opened.log->Abandon();
  });
}

TEST_F(LogTest, ReserveWaitsForACreditThatIsOut) {
  FakeFileSystem disk;
  OnFiber([&] {
    const OpenedLog opened = OpenOn(disk);
    const uint64_t largest = opened.log->payload_bytes_max();
    Result<LogCredit> credit = opened.log->Reserve(largest);
    ASSERT_OK(credit.status());
    io::Event started, ended;
    runtime().loop(1).Spawn({"second"}, [&] {
      started.Set();
      EXPECT_OK(Commit(*opened.log, Payload(2, largest)));
      ended.Set();
    });
    started.Wait();
    io::Yield();
    const std::string payload = Payload(1, largest);
    const std::string_view pieces[] = {payload};
    opened.log->Append(std::move(*credit), RecordType::kCommit, pieces);  // nobody waits for it
    ended.Wait();
    opened.log->Abandon();
  });
}

TEST_F(LogTest, RecordsThatNobodyWaitsForDoNotBlockTheRing) {
  FakeFileSystem disk;
  OnFiber([&] {
    OpenedLog opened = OpenOn(disk);
    std::vector<std::string> payloads;
    for (int i = 0; i < 100; ++i) {
      payloads.push_back(Payload(i, 50'000));
      ASSERT_OK(Append(*opened.log, payloads.back(), RecordType::kChunk).status());
    }
    ASSERT_OK(opened.log->WaitDurable(opened.log->end()));
    opened.log->Abandon();
    opened = OpenOn(disk);
    ASSERT_EQ(opened.records.size(), payloads.size());
    for (size_t i = 0; i < payloads.size(); ++i) EXPECT_EQ(opened.records[i].payload, payloads[i]);
    opened.log->Abandon();
  });
}

TEST_F(LogTest, CloseLeavesTheShutdownMark) {
  FakeFileSystem disk;
  OnFiber([&] {
    OpenedLog opened = OpenOn(disk);
    EXPECT_OK(Commit(*opened.log, "x"));
    EXPECT_OK(opened.log->Close());
    EXPECT_OK(opened.log->Close());
    EXPECT_SQLSTATE(opened.log->Reserve(1).status(), "57P01");
    opened = OpenOn(disk);
    ASSERT_EQ(opened.records.size(), 2u);
    EXPECT_EQ(opened.records.back().type, RecordType::kCleanShutdown);
    opened.log->Abandon();
    opened = OpenOn(disk);  // nothing was written since
    EXPECT_EQ(opened.records.back().type, RecordType::kCleanShutdown);
    EXPECT_OK(Commit(*opened.log, "y"));
    opened.log->Abandon();
    opened = OpenOn(disk);
    EXPECT_EQ(opened.records.back().type, RecordType::kCommit);
    opened.log->Abandon();
  });
}

TEST_F(LogTest, OnReservedRunsInTheOrderOfPositions) {
  FakeFileSystem disk;
  OnFiber([&] {
    const OpenedLog opened = OpenOn(disk);
    std::vector<LogRange> seen;  // guarded by the log's order latch
    std::atomic<int> running{8};
    io::Event ended;
    for (int i = 0; i < 8; ++i) {
      runtime().loop(i % 2).Spawn({"committer"}, [&] {
        for (int j = 0; j < 200; ++j) {
          Result<LogCredit> credit = opened.log->Reserve(3000);
          const std::string payload(3000, 'x');
          const std::string_view pieces[] = {payload};
          opened.log->Append(std::move(*credit), RecordType::kCommit, pieces,
                             [&](LogRange range) { seen.push_back(range); });
          io::Yield();
        }
        if (--running == 0) ended.Set();
      });
    }
    ended.Wait();
    ASSERT_EQ(seen.size(), 1600u);
    for (size_t i = 1; i < seen.size(); ++i) EXPECT_LE(seen[i - 1].end, seen[i].start);
    opened.log->Abandon();
  });
}

// Opens files whose syncs wait until the test lets them go.
TEST_F(LogTest, GroupCommitWakesExactlyTheCovered) {
  FakeFileSystem disk;
  OnFiber([&] {
    const OpenedLog opened = OpenOn(disk);
    std::mutex mutex;
    std::vector<std::unique_ptr<io::Event>> gates;  // one for each sync that has begun
    std::atomic<size_t> sync_count{0};
    disk.SetBefore([&](const DiskCall& call) {
      if (call.op != DiskOp::kSync || call.path.find("/log-") == std::string::npos) return Status();
      io::Event* gate = nullptr;
      {
        std::lock_guard guard(mutex);
        gates.push_back(std::make_unique<io::Event>());
        gate = gates.back().get();
        sync_count = gates.size();
      }
      gate->Wait();
      return Status();
    });
    const auto open_gate = [&](size_t index) {
      while (sync_count <= index) io::Yield();
      std::lock_guard guard(mutex);
      gates[index]->Set();
    };
    std::atomic<int> acknowledged{0};
    io::Event ended[4];
    const auto commit = [&](int index) {
      runtime().loop(index % 2).Spawn({"committer"}, [&, index] {
        EXPECT_OK(Commit(*opened.log, "x"));
        ++acknowledged;
        ended[index].Set();
      });
    };
    commit(0);
    while (sync_count < 1) io::Yield();
    for (int i = 1; i < 4; ++i) commit(i);
    while (opened.log->Stats().waiters < 4) io::Yield();
    EXPECT_EQ(acknowledged, 0);
    open_gate(0);
    ended[0].Wait();
    while (sync_count < 2) io::Yield();
    EXPECT_EQ(acknowledged, 1);  // the second sync, of the other three, is under way
    open_gate(1);
    for (int i = 1; i < 4; ++i) ended[i].Wait();
    EXPECT_EQ(sync_count, 2u);
    const LogStats stats = opened.log->Stats();
    EXPECT_EQ(stats.group_size_sum, 4u);
    EXPECT_EQ(stats.group_size_pow2[0], 1u);  // one record
    EXPECT_EQ(stats.group_size_pow2[2], 1u);  // three
    disk.SetBefore(nullptr);
    opened.log->Abandon();
  });
}

TEST_F(LogTest, WrittenIsAnsweredBeforeTheSyncAndSyncedSoonAfter) {
  FakeFileSystem disk;
  OnFiber([&] {
    LogOptions options = OptionsOn(disk);
    options.durability = Durability::kNormal;
    OpenedLog opened = *TryOpen(runtime(), kTestDirectory, options);
    io::Event gate;
    disk.SetBefore([&](const DiskCall& call) {
      if (call.op == DiskOp::kSync) gate.Wait();
      return Status();
    });
    const LogRange range = *Append(*opened.log, "x");
    EXPECT_OK(opened.log->WaitWritten(range.end));
    EXPECT_LT(opened.log->durable(), range.end);
    EXPECT_GE(opened.log->written(), range.end);
    gate.Set();
    while (opened.log->durable() < range.end) io::Yield();  // nobody asks for it: the background sync comes
    disk.SetBefore(nullptr);
    opened.log->Abandon();
  });
}

TEST_F(LogTest, SegmentsOfAnotherSizeFollow) {
  FakeFileSystem disk;
  OnFiber([&] {
    std::vector<std::string> expected;
    for (const uint64_t megabytes : {3, 1, 2, 4, 1}) {
      LogOptions options = OptionsOn(disk);
      options.segment_bytes = megabytes << 20;
      OpenedLog opened = *TryOpen(runtime(), kTestDirectory, options);
      EXPECT_EQ(opened.Commits(), expected);
      for (int i = 0; i < 10; ++i) {
        expected.push_back(Payload(expected.size(), 400'000));
        EXPECT_OK(Commit(*opened.log, expected.back()));
      }
      opened.log->Abandon();
    }
  });
}

TEST_F(LogTest, OptionsOutOfRangeAreRefused) {
  FakeFileSystem disk;
  OnFiber([&] {
    LogOptions options = OptionsOn(disk);
    options.segment_bytes = 4096;
    EXPECT_SQLSTATE(TryOpen(runtime(), kTestDirectory, options).status(), "22023");
  });
}

// The real disk: many fibers on both loops, segments change under them; what was acknowledged is there.
class RealDiskTest : public LogTest, public ::testing::WithParamInterface<WriteMethod> {
 protected:
  TemporaryDirectory directory_;
};

TEST_P(RealDiskTest, EveryAcknowledgedRecordIsThere) {
  OnFiber([&] {
    LogOptions options;
    options.segment_bytes = kTestSegmentBytes;
    options.write_method = GetParam();
    const std::string path = directory_.path() + "/wal";
    OpenedLog opened = *TryOpen(runtime(), path, options);
    constexpr int kFiberCount = 24;
    constexpr int kCommitsEach = 20;
    std::mutex mutex;
    std::map<uint64_t, std::string> acknowledged;  // by end
    std::atomic<int> running{kFiberCount};
    io::Event ended;
    for (int i = 0; i < kFiberCount; ++i) {
      runtime().loop(i % 2).Spawn({"committer"}, [&, i] {
        for (int j = 0; j < kCommitsEach; ++j) {
          const std::string payload = Payload(i * 1000 + j, (i * 7919 + j * 104729) % 20'000);
          Result<LogRange> range = Append(*opened.log, payload);
          if (!range.ok() || !opened.log->WaitDurable(range->end).ok()) continue;
          EXPECT_GE(opened.log->durable(), range->end);
          std::lock_guard guard(mutex);
          acknowledged[range->end.value] = payload;
        }
        if (--running == 0) ended.Set();
      });
    }
    ended.Wait();
    EXPECT_EQ(acknowledged.size(), size_t{kFiberCount * kCommitsEach});
    const LogStats stats = opened.log->Stats();
    EXPECT_EQ(stats.commits_synced, acknowledged.size());
    EXPECT_EQ(stats.group_size_sum, acknowledged.size());
    EXPECT_GE(stats.segments_live, 4u);
    EXPECT_FALSE(stats.write_method.empty());
    opened.log->Abandon();

    opened = *TryOpen(runtime(), path, options);
    ASSERT_EQ(opened.records.size(), acknowledged.size());
    auto expected = acknowledged.begin();
    for (const TestRecord& record : opened.records) {
      EXPECT_EQ(record.end.value, expected->first);
      EXPECT_EQ(record.payload, expected->second);
      ++expected;
    }
    EXPECT_OK(opened.log->Close());
  });
}

INSTANTIATE_TEST_SUITE_P(, RealDiskTest,
                         ::testing::Values(WriteMethod::kCalibrate, WriteMethod::kBufferedSync,
                                           WriteMethod::kDirectSync, WriteMethod::kDirectDataSync));

}  // namespace
}  // namespace sisal::wal
