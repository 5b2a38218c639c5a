// What the log's tests share.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fake_file_system.h"
#include "format.h"
#include "sisal/base/log.h"
#include "sisal/io/runtime.h"
#include "sisal/testing/status_matchers.h"
#include "sisal/wal/log.h"

namespace sisal::wal {

constexpr uint64_t kTestSegmentBytes = 1 << 20;
// Sanitizers slow the many small lives of a log down: then fewer of them.
#if defined(SISAL_ASAN) || defined(SISAL_TSAN)
constexpr uint64_t kEachNth = 5;
#else
constexpr uint64_t kEachNth = 1;
#endif
constexpr char kTestDirectory[] = "wal";

struct TestRecord {
  Lsn start, end;
  RecordType type;
  std::string payload;
};

// A log, and what its opening replayed.
struct OpenedLog {
  std::unique_ptr<Log> log;
  std::vector<TestRecord> records;

  std::vector<std::string> Commits() const {
    std::vector<std::string> payloads;
    for (const TestRecord& record : records) {
      if (record.type == RecordType::kCommit) payloads.push_back(record.payload);
    }
    return payloads;
  }
};

inline Result<OpenedLog> TryOpen(io::Runtime& runtime, const std::string& directory, const LogOptions& options,
                                 Lsn redo = Lsn{}) {
  OpenedLog opened;
  SISAL_ASSIGN_OR_RETURN(
      opened.log, Log::Open(
                      runtime, directory, options, redo,
                      [&](const RecordView& record) {
                        opened.records.push_back({record.start, record.end, record.type, std::string(record.payload)});
                        return Status();
                      },
                      nullptr));
  return opened;
}

inline Result<LogRange> Append(Log& log, std::string_view payload, RecordType type = RecordType::kCommit) {
  SISAL_ASSIGN_OR_RETURN(LogCredit credit, log.Reserve(payload.size()));
  const std::string_view pieces[] = {payload.substr(0, payload.size() / 2), payload.substr(payload.size() / 2)};
  return log.Append(std::move(credit), type, pieces);
}

inline Status Commit(Log& log, std::string_view payload) {
  SISAL_ASSIGN_OR_RETURN(const LogRange range, Append(log, payload));
  return log.WaitDurable(range.end);
}

// Runs `body` on a fiber of a runtime with two loops.
class LogTest : public ::testing::Test {
 protected:
  LogTest() {
    SetLogSink([](LogLevel, std::string_view) {});
    Result<std::unique_ptr<io::Runtime>> started = io::Runtime::Start({.loop_count = 2});
    SISAL_CHECK(started.ok());
    runtime_ = std::move(started).value();
  }
  void OnFiber(const std::function<void()>& body) { runtime_->RunAndWait("test", body); }
  io::Runtime& runtime() { return *runtime_; }
  static LogOptions OptionsOn(FakeFileSystem& disk) {
    LogOptions options;
    options.segment_bytes = kTestSegmentBytes;
    options.file_system = &disk;
    options.write_method = WriteMethod::kBufferedSync;
    return options;
  }
  Result<OpenedLog> TryOpenOn(FakeFileSystem& disk) { return TryOpen(runtime(), kTestDirectory, OptionsOn(disk)); }
  OpenedLog OpenOn(FakeFileSystem& disk) {
    Result<OpenedLog> opened = TryOpenOn(disk);
    EXPECT_OK(opened.status());
    SISAL_CHECK(opened.ok());
    return std::move(opened).value();
  }
  // A log that holds `payloads` in one open, and was left as a crash leaves it. Returns the records' ranges.
  std::vector<LogRange> Fill(FakeFileSystem& disk, const std::vector<std::string>& payloads) {
    OpenedLog opened = OpenOn(disk);
    std::vector<LogRange> ranges;
    for (const std::string& payload : payloads) {
      Result<LogRange> range = Append(*opened.log, payload);
      EXPECT_OK(range.status());
      EXPECT_OK(opened.log->WaitDurable(range->end));
      ranges.push_back(*range);
    }
    opened.log->Abandon();
    return ranges;
  }
  // The segment file with the log's highest start that holds `lsn`, and the offset in it.
  static std::pair<std::string, uint64_t> Find(const FakeFileSystem& disk, Lsn lsn) {
    std::pair<std::string, uint64_t> found;
    for (const std::string& path : disk.Paths()) {
      Lsn start;
      if (!ParseSegmentName(path.substr(path.rfind('/') + 1), start) || start > lsn) continue;
      found = {path, kBlockBytes + lsn.value - start.value};
    }
    return found;
  }

 private:
  std::unique_ptr<io::Runtime> runtime_;
};

// A directory of its own, removed at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    const char* const parent = ::getenv("TMPDIR");
    path_ = std::string(parent != nullptr ? parent : "/tmp") + "/sisal-wal-XXXXXX";
    SISAL_CHECK(::mkdtemp(path_.data()) != nullptr);
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace sisal::wal
