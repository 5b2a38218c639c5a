// Crashes: power cuts at each call, kills, torn tails, flipped bits, cut and missing files.
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <new>
#include <set>

#include "log_test_support.h"
#include "recovery.h"
#include "sisal/base/bytes.h"
#include "sisal/base/random.h"
#include "sisal/io/sync.h"

namespace {
// The largest piece of memory taken while this is on: a torn length must not become an allocation.
std::atomic<bool> watch_allocations{false};
std::atomic<size_t> largest_allocation{0};
}  // namespace

// Not inlined, or the compiler sees free() meet new.
[[gnu::noinline]] void* operator new(size_t size_bytes) {
  if (watch_allocations && size_bytes > largest_allocation) largest_allocation = size_bytes;
  void* memory = std::malloc(size_bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace sisal::wal {
namespace {

class LogCrashTest : public LogTest {
 protected:
  // Only reads: what an open would replay.
  static Result<std::vector<std::string>> ReadBack(FakeFileSystem& disk) {
    std::vector<std::string> names;
    SISAL_ASSIGN_OR_RETURN(const std::vector<std::string> all, disk.List(kTestDirectory));
    for (const std::string& name : all) {
      Lsn start;
      if (ParseSegmentName(name, start)) names.push_back(name);
    }
    SISAL_ASSIGN_OR_RETURN(const LogEnd log, FindEnd(disk, kTestDirectory, names));
    std::vector<std::string> payloads;
    const Log::Visitor visit = [&](const RecordView& record) {
      payloads.emplace_back(record.payload);
      return Status();
    };
    SISAL_RETURN_IF_ERROR(Replay(disk, kTestDirectory, log, Lsn{}, visit, nullptr));
    return payloads;
  }
  static std::vector<std::string> First(const std::vector<std::string>& payloads, size_t count) {
    return std::vector<std::string>(payloads.begin(), payloads.begin() + count);
  }
  static const std::vector<std::string>& ThreePayloads() {
    static const std::vector<std::string> payloads = {std::string(70, 'a'), std::string(33, 'b'),
                                                      std::string(101, 'c')};
    return payloads;
  }
};

TEST_F(LogCrashTest, CutAtEveryByteOfTheLastRecords) {
  FakeFileSystem disk;
  OnFiber([&] {
    const std::vector<LogRange> ranges = Fill(disk, ThreePayloads());
    const auto [path, begin] = Find(disk, ranges.front().start);
    const std::string whole = disk.Content(path);
    for (uint64_t at = 0; at <= ranges.back().end.value - ranges.front().start.value; ++at) {
      size_t expected = 0;
      for (const LogRange& range : ranges) expected += range.end.value - ranges.front().start.value <= at;
      std::string cut = whole.substr(0, begin + at);
      disk.SetContent(path, cut);
      Result<std::vector<std::string>> found = ReadBack(disk);
      ASSERT_OK(found.status());
      EXPECT_EQ(*found, First(ThreePayloads(), expected)) << at;
      // Zeros instead of an end. The zeros behind a payload are whole with it.
      cut.resize(whole.size());
      disk.SetContent(path, cut);
      found = ReadBack(disk);
      ASSERT_OK(found.status());
      EXPECT_GE(found->size(), expected);
      EXPECT_EQ(*found, First(ThreePayloads(), found->size())) << at;
    }
  });
}

TEST_F(LogCrashTest, FlippedBitsAreRefusedOrEndTheLogAtItsLastRecord) {
  FakeFileSystem disk;
  OnFiber([&] {
    const std::vector<LogRange> ranges = Fill(disk, ThreePayloads());
    const auto [path, begin] = Find(disk, ranges.front().start);
    const std::string whole = disk.Content(path);
    const uint64_t last = begin + ranges.back().start.value - ranges.front().start.value;
    const uint64_t end = begin + ranges.back().end.value - ranges.front().start.value;
    for (uint64_t at = 0; at < end; ++at) {
      if (at == 64) at = kBlockBytes;  // nothing is in the rest of the header's block
      std::string flipped = whole;
      flipped[at] = static_cast<char>(flipped[at] ^ 1 << at % 8);
      disk.SetContent(path, flipped);
      const Result<std::vector<std::string>> found = ReadBack(disk);
      if (!found.ok()) {
        EXPECT_TRUE(found.sqlstate() == "XX001" || found.sqlstate() == "0A000") << at;
        EXPECT_LT(at, last);
        continue;
      }
      EXPECT_EQ(*found, First(ThreePayloads(), found->size())) << at;
      // Fewer only if the broken record is the last, behind which nothing proves that it was acknowledged.
      EXPECT_GE(found->size(), at < last ? 3u : 2u) << at;
    }
  });
}

TEST_F(LogCrashTest, AShutdownMarkProvesWhatIsBeforeIt) {
  FakeFileSystem disk;
  OnFiber([&] {
    OpenedLog opened = OpenOn(disk);
    const LogRange range = *Append(*opened.log, "x");
    EXPECT_OK(opened.log->Close());
    const auto [path, offset] = Find(disk, range.start);
    std::string bytes = disk.Content(path);
    bytes[offset + kRecordHeaderBytes] = 'y';
    disk.SetContent(path, bytes);
    EXPECT_SQLSTATE(TryOpenOn(disk).status(), "XX001");
  });
}

TEST_F(LogCrashTest, ATornLengthTakesNoMemory) {
  FakeFileSystem disk;
  OnFiber([&] {
    LogOptions options = OptionsOn(disk);
    options.segment_bytes = 16 << 20;
    OpenedLog opened = *TryOpen(runtime(), kTestDirectory, options);
    EXPECT_OK(Commit(*opened.log, "kept"));
    const LogRange torn = *Append(*opened.log, "torn");
    EXPECT_OK(opened.log->WaitDurable(torn.end));
    opened.log->Abandon();
    const auto [path, offset] = Find(disk, torn.start);
    for (const uint32_t length : {0xffffffffu, 0x7fffffffu, 0x80000000u, 15u << 20, 12u << 20, 5u}) {
      std::string bytes = disk.Content(path);
      StoreLittle<uint32_t>(bytes.data() + offset, length);
      disk.SetContent(path, bytes);
      largest_allocation = 0;
      watch_allocations = true;
      const Result<std::vector<std::string>> found = ReadBack(disk);
      watch_allocations = false;
      ASSERT_OK(found.status());
      EXPECT_EQ(*found, std::vector<std::string>{"kept"});
      EXPECT_LE(largest_allocation, (1u << 20) + 4096);
    }
  });
}

// A at 100 torn, B at 200 whole, neither acknowledged: the log ends before A. The next open's C must not lead to B.
TEST_F(LogCrashTest, ARecordBehindATornOneNeverComesBack) {
  FakeFileSystem disk;
  OnFiber([&] {
    OpenedLog opened = OpenOn(disk);
    EXPECT_OK(Commit(*opened.log, "acknowledged"));
    const LogRange a = *Append(*opened.log, std::string(100, 'A'));
    const LogRange b = *Append(*opened.log, std::string(100, 'B'));
    EXPECT_OK(opened.log->WaitWritten(b.end));
    opened.log->Abandon();
    const auto [path, offset] = Find(disk, a.start);
    const std::string both_whole = disk.Content(path);
    std::string torn = both_whole;
    torn[offset + kRecordHeaderBytes + 5] = '?';
    disk.SetContent(path, torn);

    opened = OpenOn(disk);
    EXPECT_EQ(opened.Commits(), std::vector<std::string>{"acknowledged"});
    EXPECT_GT(opened.log->end(), b.end);
    EXPECT_OK(Commit(*opened.log, std::string(100, 'C')));
    opened.log->Abandon();
    for (int restart = 0; restart < 2; ++restart) {
      opened = OpenOn(disk);
      EXPECT_EQ(opened.Commits(), (std::vector<std::string>{"acknowledged", std::string(100, 'C')}));
      opened.log->Abandon();
      // Even if the old bytes came back: the next open has stated where the log ended.
      disk.SetContent(path, both_whole);
    }
  });
}

// Both torn in the first flush of an open, where no record says that anything had been durable.
TEST_F(LogCrashTest, AnOpensFirstFlushMayBeTornAnywhere) {
  FakeFileSystem disk;
  OnFiber([&] {
    Fill(disk, {"old"});
    OpenedLog opened = OpenOn(disk);
    const LogRange a = *Append(*opened.log, "A");
    const LogRange b = *Append(*opened.log, "B");
    EXPECT_OK(opened.log->WaitWritten(b.end));
    opened.log->Abandon();
    const auto [path, offset] = Find(disk, a.start);
    std::string torn = disk.Content(path);
    torn[offset + kRecordHeaderBytes] = '?';
    disk.SetContent(path, torn);
    opened = OpenOn(disk);
    EXPECT_EQ(opened.Commits(), std::vector<std::string>{"old"});
    opened.log->Abandon();
  });
}

TEST_F(LogCrashTest, WhatWasReplayedSurvivesThePowerCutThatFollows) {
  OnFiber([&] {
    for (uint64_t seed = 0; seed < 40; seed += kEachNth) {
      FakeFileSystem disk;
      OpenedLog opened = OpenOn(disk);
      const LogRange range = *Append(*opened.log, std::string(3000, 'x'));
      EXPECT_OK(opened.log->WaitWritten(range.end));  // in the kernel only
      opened.log->Abandon();
      const auto killed = disk.AfterKill();
      opened = OpenOn(*killed);
      ASSERT_EQ(opened.records.size(), 1u);
      opened.log->Abandon();
      Random random(seed);
      const auto cut = killed->AfterPowerCut(random);
      opened = OpenOn(*cut);
      EXPECT_EQ(opened.records.size(), 1u) << "seed " << seed;
      opened.log->Abandon();
    }
  });
}

// Or a later segment would prove that records were durable which are lost.
TEST_F(LogCrashTest, ASegmentIsSyncedBeforeTheNextIsWrittenTo) {
  FakeFileSystem disk;
  OnFiber([&] {
    const OpenedLog opened = OpenOn(disk);
    std::mutex mutex;
    std::set<std::string> unsynced;
    size_t segments_written = 0;
    disk.SetBefore([&](const DiskCall& call) -> Status {
      if (call.path.find("/log-") == std::string::npos) return Status();
      std::lock_guard guard(mutex);
      if (call.op == DiskOp::kSync) unsynced.erase(call.path);
      if (call.op == DiskOp::kWrite && unsynced.insert(call.path).second) {
        ++segments_written;
        EXPECT_EQ(unsynced.size(), 1u);
      }
      return Status();
    });
    for (int round = 0; round < 8; ++round) {
      Lsn end;
      for (int i = 0; i < 3; ++i) end = Append(*opened.log, std::string(100'000, 'x'))->end;
      EXPECT_OK(opened.log->WaitDurable(end));
    }
    EXPECT_GT(segments_written, 8u);  // some flushes went over a segment's end
    disk.SetBefore(nullptr);
    opened.log->Abandon();
  });
}

// Several segments in two opens, all acknowledged.
class DamagedFilesTest : public LogCrashTest {
 protected:
  DamagedFilesTest() {
    OnFiber([&] {
      for (int open = 0; open < 2; ++open) {
        OpenedLog opened = OpenOn(disk_);
        for (int i = 0; i < 25; ++i) {
          payloads_.push_back(std::to_string(payloads_.size()) + std::string(100'000, 'x'));
          EXPECT_OK(Commit(*opened.log, payloads_.back()));
        }
        opened.log->Abandon();
      }
      for (const std::string& path : disk_.Paths()) {
        if (path.find("/log-") != std::string::npos) segments_.push_back(path);
      }
    });
  }
  FakeFileSystem disk_;
  std::vector<std::string> payloads_;
  std::vector<std::string> segments_;  // the last is prepared, the one before it the tail
};

TEST_F(DamagedFilesTest, AllIsThereWithoutDamage) {
  OnFiber([&] { EXPECT_EQ(*ReadBack(disk_), payloads_); });
}

TEST_F(DamagedFilesTest, AMissingSegmentIsDamage) {
  OnFiber([&] {
    ASSERT_GE(segments_.size(), 6u);
    for (size_t i = 0; i + 2 < segments_.size(); ++i) {
      const auto copy = disk_.AfterKill();
      copy->Delete(segments_[i]);
      EXPECT_EQ(TryOpenOn(*copy).sqlstate(), "XX001") << segments_[i];
    }
  });
}

TEST_F(DamagedFilesTest, ACutSegmentBeforeTheTailIsDamage) {
  OnFiber([&] {
    for (size_t i = 0; i + 2 < segments_.size(); ++i) {
      for (const double part : {0.0, 0.3, 0.9}) {
        const auto copy = disk_.AfterKill();
        const std::string whole = copy->Content(segments_[i]);
        copy->SetContent(segments_[i], whole.substr(0, static_cast<size_t>(whole.size() * part)));
        EXPECT_EQ(TryOpenOn(*copy).sqlstate(), "XX001") << segments_[i] << " " << part;
      }
    }
  });
}

TEST_F(DamagedFilesTest, ZeroedSectorsAreDamageOrTheTail) {
  OnFiber([&] {
    Random random(7);
    for (int round = 0; round < 60; ++round) {
      const auto copy = disk_.AfterKill();
      const std::string& path = segments_[random.Below(segments_.size())];
      std::string bytes = copy->Content(path);
      const uint64_t at = random.Below(bytes.size()) / 512 * 512;
      std::fill(bytes.begin() + at, bytes.begin() + std::min<uint64_t>(at + 512, bytes.size()), '\0');
      copy->SetContent(path, bytes);
      const Result<std::vector<std::string>> found = ReadBack(*copy);
      if (!found.ok()) {
        EXPECT_EQ(found.sqlstate(), "XX001");
        continue;
      }
      EXPECT_EQ(*found, First(payloads_, found->size()));
      EXPECT_GE(found->size(), payloads_.size() - 1);
    }
  });
}

TEST_F(DamagedFilesTest, ASegmentUnderAnothersNameIsDamage) {
  OnFiber([&] {
    disk_.SetContent(segments_[2], disk_.Content(segments_[1]));
    EXPECT_SQLSTATE(TryOpenOn(disk_).status(), "XX001");
  });
}

TEST_F(DamagedFilesTest, RedoBeforeTheLogIsDamage) {
  OnFiber([&] {
    disk_.Delete(segments_[0]);
    EXPECT_SQLSTATE(TryOpenOn(disk_).status(), "XX001");
    Lsn second;
    ParseSegmentName(segments_[1].substr(segments_[1].rfind('/') + 1), second);
    Result<OpenedLog> opened = TryOpen(runtime(), kTestDirectory, OptionsOn(disk_), second);
    ASSERT_OK(opened.status());  // trimmed up to a redo position
    EXPECT_LT(opened->records.size(), payloads_.size());
    opened->log->Abandon();
  });
}

// What the disk must hold, whatever happens to it.
struct Expected {
  std::mutex mutex;
  std::map<uint64_t, std::string> appended;  // by end
  std::set<uint64_t> owed;                   // acknowledged, or shown to a reader by a replay
};

class PowerCutTest : public LogCrashTest {
 protected:
  // Opens the log, commits from several fibers, and cuts power or kills at the call with number `cut_at`; returns what
  // the machine then finds, or null if the run ended before.
  std::unique_ptr<FakeFileSystem> RunUntilCut(FakeFileSystem& disk, Expected& expected, uint64_t cut_at, Random& random,
                                              WriteMethod method, bool kill) {
    std::unique_ptr<FakeFileSystem> image;
    std::atomic<uint64_t> calls{0};
    std::atomic<bool> is_off{false};
    std::mutex cut_mutex;
    std::set<uint64_t> acknowledged_at_cut;
    disk.SetBefore([&](const DiskCall&) -> Status {
      std::lock_guard guard(cut_mutex);
      if (!is_off && ++calls == cut_at) {
        std::lock_guard expected_guard(expected.mutex);
        image = kill ? disk.AfterKill() : disk.AfterPowerCut(random);
        acknowledged_at_cut = expected.owed;
        is_off = true;
      }
      return is_off ? Status(Error{"58030", "the power is off"}) : Status();
    });
    Work(disk, expected, method);
    disk.SetBefore(nullptr);
    if (image != nullptr) expected.owed = acknowledged_at_cut;
    return image;
  }

  void Work(FakeFileSystem& disk, Expected& expected, WriteMethod method) {
    LogOptions options = OptionsOn(disk);
    options.write_method = method;
    Result<OpenedLog> opened = TryOpen(runtime(), kTestDirectory, options);
    if (!opened.ok()) {
      EXPECT_EQ(opened.sqlstate(), "58030");
      return;
    }
    CheckReplayed(*opened, expected);
    constexpr int kFiberCount = 3;
    std::atomic<int> running{kFiberCount};
    io::Event ended;
    for (int i = 0; i < kFiberCount; ++i) {
      runtime().loop(i % 2).Spawn({"committer"}, [&, i] {
        for (int j = 0; j < 4; ++j) CommitOne(*opened->log, expected, i == 0 && j > 0 ? 450'000 : 700 * (i + j + 1));
        if (--running == 0) ended.Set();
      });
    }
    ended.Wait();
    (void)opened->log->Close();
  }

  static void CommitOne(Log& log, Expected& expected, size_t size_bytes) {
    Result<LogCredit> credit = log.Reserve(size_bytes);
    if (!credit.ok()) return;
    std::string payload(size_bytes, 'p');
    const std::string_view pieces[] = {payload};
    const LogRange range = log.Append(std::move(*credit), RecordType::kCommit, pieces, [&](LogRange reserved) {
      std::lock_guard guard(expected.mutex);
      expected.appended[reserved.end.value] = payload;
    });
    if (!log.WaitDurable(range.end).ok()) return;
    std::lock_guard guard(expected.mutex);
    expected.owed.insert(range.end.value);
  }

  // Everything owed is there, each record is as it was appended. From now on all that was shown is owed.
  static void CheckReplayed(const OpenedLog& opened, Expected& expected) {
    std::lock_guard guard(expected.mutex);
    std::set<uint64_t> found;
    for (const TestRecord& record : opened.records) {
      if (record.type == RecordType::kCleanShutdown) continue;
      const auto appended = expected.appended.find(record.end.value);
      ASSERT_NE(appended, expected.appended.end());
      EXPECT_TRUE(appended->second == record.payload);
      found.insert(record.end.value);
    }
    EXPECT_TRUE(std::includes(found.begin(), found.end(), expected.owed.begin(), expected.owed.end()));
    expected.owed = found;
    // What is not there now never comes back.
    std::erase_if(expected.appended, [&](const auto& item) { return !found.contains(item.first); });
  }

  void RunLives(uint64_t seed, WriteMethod method) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Expected expected;
    auto disk = std::make_unique<FakeFileSystem>();
    for (int life = 0; life < 5; ++life) {
      auto image = RunUntilCut(*disk, expected, 1 + random.Below(70), random, method, random.OneIn(3));
      if (image != nullptr) disk = std::move(image);
    }
    OpenedLog opened = OpenOn(*disk);
    CheckReplayed(opened, expected);
    opened.log->Abandon();
  }
};

TEST_F(PowerCutTest, AtEachCallOfAFirstLife) {
  OnFiber([&] {
    for (uint64_t cut_at = 1; cut_at < 80; cut_at += kEachNth) {
      SCOPED_TRACE("call " + std::to_string(cut_at));
      Random random(cut_at);
      FakeFileSystem disk;
      Expected expected;
      const auto image = RunUntilCut(disk, expected, cut_at, random, WriteMethod::kBufferedSync, false);
      if (image == nullptr) break;
      OpenedLog opened = OpenOn(*image);
      CheckReplayed(opened, expected);
      opened.log->Abandon();
    }
  });
}

TEST_F(PowerCutTest, AgainAndAgainOnTheSameFiles) {
  OnFiber([&] {
    for (uint64_t seed = 1; seed <= 40; seed += kEachNth) {
      RunLives(seed, seed % 2 == 0 ? WriteMethod::kBufferedSync : WriteMethod::kDirectDataSync);
    }
  });
}

}  // namespace
}  // namespace sisal::wal
