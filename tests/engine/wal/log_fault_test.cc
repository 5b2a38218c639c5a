// Failing devices and full disks: fail-stop for the one, 53100 and going on for the other.
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "log_test_support.h"
#include "sisal/io/sync.h"

namespace sisal::wal {
namespace {

bool IsLogFile(const std::string& path) { return path.find("/log-") != std::string::npos; }

class LogFaultTest : public LogTest {
 protected:
  // Commits until the log refuses; returns how many it took.
  static size_t FillUp(Log& log, std::string_view sqlstate = "53100") {
    for (size_t count = 0;; ++count) {
      const Status status = Commit(log, std::string(50'000, 'x'));
      if (status.ok()) continue;
      EXPECT_EQ(status.sqlstate(), sqlstate);
      return count;
    }
  }
};

TEST_F(LogFaultTest, FailedSyncIsFinal) {
  FakeFileSystem disk;
  OnFiber([&] {
    OpenedLog opened = OpenOn(disk);
    EXPECT_OK(Commit(*opened.log, "before"));
    std::atomic<int> syncs{0}, writes{0};
    disk.SetBefore([&](const DiskCall& call) -> Status {
      if (!IsLogFile(call.path)) return Status();
      if (call.op == DiskOp::kWrite) ++writes;
      if (call.op == DiskOp::kSync && ++syncs == 1) return Error{"58030", "injected"};
      return Status();  // the device recovers; our knowledge does not
    });
    const LogRange range = *Append(*opened.log, "unknown");
    EXPECT_SQLSTATE(opened.log->WaitDurable(range.end), "08007");
    EXPECT_TRUE(opened.log->failed());
    EXPECT_SQLSTATE(opened.log->WaitDurable(range.end), "08007");
    EXPECT_SQLSTATE(opened.log->Reserve(1).status(), "58030");
    EXPECT_LT(opened.log->durable(), range.end);
    EXPECT_SQLSTATE(opened.log->Close(), "58030");
    EXPECT_EQ(syncs, 1);
    EXPECT_EQ(writes, 1);
    disk.SetBefore(nullptr);
    opened = OpenOn(disk);
    ASSERT_GE(opened.records.size(), 1u);
    EXPECT_EQ(opened.records[0].payload, "before");
    EXPECT_OK(Commit(*opened.log, "after"));
    opened.log->Abandon();
  });
}

TEST_F(LogFaultTest, FailedWriteIsFinal) {
  FakeFileSystem disk;
  OnFiber([&] {
    OpenedLog opened = OpenOn(disk);
    disk.SetBefore([&](const DiskCall& call) -> Status {
      if (call.op == DiskOp::kWrite && IsLogFile(call.path)) return Error{"53100", "no space, which cannot be"};
      return Status();
    });
    EXPECT_SQLSTATE(Commit(*opened.log, "x"), "08007");
    disk.SetBefore(nullptr);
    EXPECT_SQLSTATE(Commit(*opened.log, "y"), "58030");
    opened.log->Abandon();
    opened = OpenOn(disk);
    EXPECT_TRUE(opened.records.empty());
    opened.log->Abandon();
  });
}

// Those in the failed flush do not know; those behind it were never written.
TEST_F(LogFaultTest, OnlyTheFlushThatFailedIsInDoubt) {
  FakeFileSystem disk;
  OnFiber([&] {
    OpenedLog opened = OpenOn(disk);
    io::Event began, gate;
    disk.SetBefore([&](const DiskCall& call) -> Status {
      if (call.op != DiskOp::kSync || !IsLogFile(call.path)) return Status();
      began.Set();
      gate.Wait();
      return Error{"58030", "injected"};
    });
    const LogRange covered = *Append(*opened.log, "covered");
    Status first, second;
    io::Event first_ended, second_ended;
    runtime().loop(0).Spawn({"covered"}, [&] {
      first = opened.log->WaitDurable(covered.end);
      first_ended.Set();
    });
    began.Wait();
    const LogRange behind = *Append(*opened.log, "behind");
    runtime().loop(1).Spawn({"behind"}, [&] {
      second = opened.log->WaitDurable(behind.end);
      second_ended.Set();
    });
    while (opened.log->Stats().waiters < 2) io::Yield();
    gate.Set();
    first_ended.Wait();
    second_ended.Wait();
    EXPECT_EQ(first.sqlstate(), "08007");
    EXPECT_EQ(second.sqlstate(), "58030");
    opened.log->Abandon();
    disk.SetBefore(nullptr);
    opened = OpenOn(disk);
    for (const std::string& payload : opened.Commits()) EXPECT_EQ(payload, "covered");
    opened.log->Abandon();
  });
}

TEST_F(LogFaultTest, FailedBackgroundSyncStopsTheLog) {
  FakeFileSystem disk;
  OnFiber([&] {
    LogOptions options = OptionsOn(disk);
    options.durability = Durability::kNormal;
    OpenedLog opened = *TryOpen(runtime(), kTestDirectory, options);
    disk.SetBefore([&](const DiskCall& call) -> Status {
      return call.op == DiskOp::kSync ? Status(Error{"58030", "injected"}) : Status();
    });
    EXPECT_OK(opened.log->WaitWritten(Append(*opened.log, "x")->end));
    while (!opened.log->failed()) io::Yield();
    EXPECT_SQLSTATE(opened.log->Reserve(1).status(), "58030");
    opened.log->Abandon();
    disk.SetBefore(nullptr);
  });
}

// Any one call fails once, then the device works: what was acknowledged is there, of the rest only what was in doubt.
TEST_F(LogFaultTest, AnErrorAtAnyCall) {
  OnFiber([&] {
    for (uint64_t fail_at = 1; fail_at < 90; fail_at += kEachNth) {
      SCOPED_TRACE("call " + std::to_string(fail_at));
      FakeFileSystem disk;
      std::atomic<uint64_t> calls{0};
      disk.SetBefore([&](const DiskCall&) -> Status {
        return ++calls == fail_at ? Status(Error{"58030", "injected"}) : Status();
      });
      std::vector<std::string> owed, allowed;
      Result<OpenedLog> opened = TryOpenOn(disk);
      if (opened.ok()) {
        for (int i = 0; i < 12; ++i) {
          const std::string payload = std::to_string(i) + std::string(150'000, 'x');
          const Status status = Commit(*opened->log, payload);
          if (status.ok()) owed.push_back(payload);
          if (status.ok() || status.sqlstate() == "08007") allowed.push_back(payload);
        }
        (void)opened->log->Close();
      }
      disk.SetBefore(nullptr);
      OpenedLog again = OpenOn(disk);
      const std::vector<std::string> found = again.Commits();
      EXPECT_TRUE(std::includes(found.begin(), found.end(), owed.begin(), owed.end(),
                                [](const auto& a, const auto& b) { return std::stoi(a) < std::stoi(b); }));
      for (const std::string& payload : found) EXPECT_TRUE(std::count(allowed.begin(), allowed.end(), payload) == 1);
      again.log->Abandon();
    }
  });
}

TEST_F(LogFaultTest, WritesResumeWhenThereIsSpaceAgain) {
  FakeFileSystem disk;
  disk.capacity_bytes = 5 << 20;
  OnFiber([&] {
    OpenedLog opened = OpenOn(disk);
    size_t count = FillUp(*opened.log);
    EXPECT_GT(count, 40u);
    EXPECT_FALSE(opened.log->failed());
    const Lsn end = opened.log->end();
    EXPECT_SQLSTATE(opened.log->Reserve(50'000).status(), "53100");
    EXPECT_EQ(opened.log->end(), end);  // nothing was reserved
    disk.capacity_bytes = 8 << 20;
    count += FillUp(*opened.log);
    opened.log->Abandon();
    disk.capacity_bytes = UINT64_MAX;
    opened = OpenOn(disk);
    EXPECT_EQ(opened.records.size(), count);
    EXPECT_OK(Commit(*opened.log, "x"));
    opened.log->Abandon();
  });
}

TEST_F(LogFaultTest, ManyWaitForSpaceAndAllAreAnswered) {
  FakeFileSystem disk;
  disk.capacity_bytes = 5 << 20;
  OnFiber([&] {
    const OpenedLog opened = OpenOn(disk);
    std::atomic<int> running{16};
    std::atomic<int> refused{0};
    io::Event ended;
    for (int i = 0; i < 16; ++i) {
      runtime().loop(i % 2).Spawn({"committer"}, [&] {
        while (Commit(*opened.log, std::string(20'000, 'x')).ok()) io::Yield();
        ++refused;
        if (--running == 0) ended.Set();
      });
    }
    ended.Wait();
    EXPECT_EQ(refused, 16);
    EXPECT_FALSE(opened.log->failed());
    opened.log->Abandon();
  });
}

TEST_F(LogFaultTest, AFullDiskCanBeOpenedAgainAndAgain) {
  FakeFileSystem disk;
  disk.capacity_bytes = 5 << 20;
  OnFiber([&] {
    OpenedLog opened = OpenOn(disk);
    size_t count = FillUp(*opened.log);
    opened.log->Abandon();
    for (int restart = 0; restart < 6; ++restart) {
      opened = OpenOn(disk);
      EXPECT_EQ(opened.records.size(), count) << restart;
      count += FillUp(*opened.log);
      EXPECT_FALSE(opened.log->failed());
      opened.log->Abandon();
      EXPECT_LE(disk.UsedBytes(), disk.capacity_bytes);
    }
    opened = OpenOn(disk);
    disk.capacity_bytes = 50 << 20;
    EXPECT_OK(Commit(*opened.log, "there is space"));
    EXPECT_OK(opened.log->Close());
    opened = OpenOn(disk);
    EXPECT_EQ(opened.Commits().size(), count + 1);
    opened.log->Abandon();
  });
}

TEST_F(LogFaultTest, AFullDiskStillTakesTheShutdownMark) {
  FakeFileSystem disk;
  disk.capacity_bytes = 5 << 20;
  OnFiber([&] {
    OpenedLog opened = OpenOn(disk);
    FillUp(*opened.log);
    while (Commit(*opened.log, std::string(1000, 'x')).ok()) {
    }
    EXPECT_OK(opened.log->Close());
    opened = OpenOn(disk);
    EXPECT_EQ(opened.records.back().type, RecordType::kCleanShutdown);
    opened.log->Abandon();
  });
}

TEST_F(LogFaultTest, TheSizeCapCountsAllFiles) {
  FakeFileSystem disk;
  OnFiber([&] {
    LogOptions options = OptionsOn(disk);
    options.max_bytes = 6 << 20;
    OpenedLog opened = *TryOpen(runtime(), kTestDirectory, options);
    size_t count = FillUp(*opened.log);
    EXPECT_LE(disk.UsedBytes(), options.max_bytes);
    EXPECT_EQ(opened.log->Stats().bytes_live, disk.UsedBytes());
    const Result<LogCredit> refused = opened.log->Reserve(50'000);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().limit_name(), "log_max_bytes");
    EXPECT_EQ(refused.error().limit_value(), options.max_bytes);
    opened.log->Abandon();
    opened = *TryOpen(runtime(), kTestDirectory, options);  // the cap is reached: it opens all the same
    EXPECT_EQ(opened.records.size(), count);
    count += FillUp(*opened.log);
    opened.log->Abandon();
    options.max_bytes = 12 << 20;
    opened = *TryOpen(runtime(), kTestDirectory, options);
    EXPECT_EQ(opened.records.size(), count);
    EXPECT_GT(FillUp(*opened.log), 0u);
    opened.log->Abandon();
  });
}

TEST_F(LogFaultTest, SegmentsShrinkToTheSizeCap) {
  FakeFileSystem disk;
  OnFiber([&] {
    LogOptions options = OptionsOn(disk);
    options.segment_bytes = 64 << 20;
    options.max_bytes = 10 << 20;
    const OpenedLog opened = *TryOpen(runtime(), kTestDirectory, options);
    EXPECT_GT(FillUp(*opened.log), 100u);
    opened.log->Abandon();
  });
}

TEST_F(LogFaultTest, SegmentsShrinkToAFileSizeLimit) {
  FakeFileSystem disk;
  disk.file_bytes_max = 3 << 20;
  OnFiber([&] {
    LogOptions options = OptionsOn(disk);
    options.segment_bytes = 16 << 20;
    OpenedLog opened = *TryOpen(runtime(), kTestDirectory, options);
    for (int i = 0; i < 100; ++i) ASSERT_OK(Commit(*opened.log, std::string(100'000, 'x')));
    opened.log->Abandon();
    disk.file_bytes_max = UINT64_MAX;
    opened = *TryOpen(runtime(), kTestDirectory, options);
    EXPECT_GT(opened.log->payload_bytes_max(), 7u << 20);
    opened.log->Abandon();
    disk.file_bytes_max = 2 << 20;  // lowered under a log that has larger files
    opened = *TryOpen(runtime(), kTestDirectory, options);
    for (int i = 0; i < 100; ++i) ASSERT_OK(Commit(*opened.log, std::string(100'000, 'x')));
    opened.log->Abandon();
    EXPECT_EQ(OpenOn(disk).Commits().size(), 200u);
  });
}

// The kernel's own limit on real files.
TEST_F(LogFaultTest, AFileSizeLimitOfTheProcessIsAFullDisk) {
  signal(SIGXFSZ, SIG_IGN);
  TemporaryDirectory directory;
  OnFiber([&] {
    LogOptions options;
    options.segment_bytes = kTestSegmentBytes;
    OpenedLog opened = *TryOpen(runtime(), directory.path() + "/wal", options);
    rlimit limit;
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const rlimit unlimited = limit;
    while (opened.log->Stats().segments_ahead == 0) io::Yield();
    limit.rlim_cur = 600 << 10;
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    // What is prepared lies beyond the limit too, where a write is refused: that is a failed write.
    Status status;
    size_t count = 0;
    do {
      status = Commit(*opened.log, std::string(20'000, 'x'));
      if (status.ok()) ++count;
    } while (status.ok());
    EXPECT_TRUE(status.sqlstate() == "08007" || status.sqlstate() == "53100") << status.ToString();
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
    opened.log->Abandon();
    opened = *TryOpen(runtime(), directory.path() + "/wal", options);
    EXPECT_GE(opened.records.size(), count);
    EXPECT_OK(Commit(*opened.log, "x"));
    EXPECT_OK(opened.log->Close());
  });
}

}  // namespace
}  // namespace sisal::wal
