// Files, directories and the directory lock; on both backends.
#include "sisal/io/file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "io_test_support.h"
#include "sisal/io/time.h"
#include "sisal/testing/status_matchers.h"

namespace sisal::io {
namespace {

class FileTest : public BackendTest {
 protected:
  std::string Path(const std::string& name) { return directory_.path() + "/" + name; }
  const std::string& directory() { return directory_.path(); }
  FileSystem& files() { return runtime().file_system(); }
  std::unique_ptr<File> Create(const std::string& name) {
    Result<std::unique_ptr<File>> file = files().Open(Path(name), {.write = true, .create = true});
    EXPECT_OK(file);
    return std::move(file).value();
  }

 private:
  TemporaryDirectory directory_;
};
SISAL_FOR_EACH_BACKEND(FileTest);

TEST_P(FileTest, WhatWasWrittenIsRead) {
  RunOn(0, [&] {
    std::unique_ptr<File> file = Create("f");
    EXPECT_OK(file->WriteAt(5, std::string_view("hello")));
    EXPECT_OK(file->Sync());
    char buffer[20];
    Result<size_t> read = file->ReadAt(0, buffer);
    ASSERT_OK(read);
    EXPECT_EQ(std::string_view(buffer, *read), std::string_view("\0\0\0\0\0hello", 10));
    EXPECT_EQ(file->ReadAt(10, buffer).value(), 0u);
    EXPECT_EQ(file->Size().value(), 10u);
    EXPECT_OK(file->Truncate(7));
    EXPECT_EQ(file->Size().value(), 7u);
    EXPECT_OK(file->Allocate(0, 8192));
    EXPECT_EQ(file->Size().value(), 8192u);
  });
}

TEST_P(FileTest, InPlaceCallsDoTheSame) {
  RunOn(0, [&] {
    std::unique_ptr<File> file = Create("f");
    EXPECT_OK(file->WriteAtInPlace(5, std::string_view("hello")));
    EXPECT_OK(file->SyncInPlace());
    char buffer[20];
    EXPECT_EQ(file->ReadAt(0, buffer).value(), 10u);
    EXPECT_EQ(std::string_view(buffer, 10), std::string_view("\0\0\0\0\0hello", 10));
    Result<std::unique_ptr<File>> read_only = files().Open(Path("f"), {});
    ASSERT_OK(read_only);
    EXPECT_SQLSTATE((*read_only)->WriteAtInPlace(0, std::string_view("x")), "58030");
  });
}

TEST_P(FileTest, InPlaceCallsGiveWayToReadyFibers) {
  RunOn(0, [&] {
    std::unique_ptr<File> file = Create("f");
    for (const bool write : {true, false}) {
      bool has_run = false;
      runtime().loop(0).Spawn({.name = "other"}, [&] { has_run = true; });
      EXPECT_OK(write ? file->WriteAtInPlace(0, std::string_view("x")) : file->SyncInPlace());
      // A thread of the pool may be done before the fiber has parked.
      EXPECT_TRUE(has_run || runtime().backend() == Backend::kThreadPool);
      while (!has_run) Yield();
    }
  });
}

TEST_P(FileTest, DirectAndDataSyncWritesWork) {
  RunOn(0, [&] {
    Result<std::unique_ptr<File>> file =
        files().Open(Path("f"), {.write = true, .create = true, .direct = true, .data_sync = true});
    ASSERT_OK(file);
    char* const block = static_cast<char*>(std::aligned_alloc(4096, 8192));
    std::memset(block, 'x', 8192);
    EXPECT_OK((*file)->WriteAt(4096, {block, 4096}));
    EXPECT_OK((*file)->WriteAt(8192, {block, 4096}));
    EXPECT_OK((*file)->Truncate(9000));
    std::memset(block, 'y', 8192);
    EXPECT_EQ((*file)->ReadAt(4096, {block, 8192}).value(), 9000u - 4096u);  // up to an end that is not aligned
    EXPECT_EQ(block[0], 'x');
    std::free(block);
  });
}

TEST_P(FileTest, LargeTransfersFromManyFibersArriveWhole) {
  constexpr size_t kPart = 300'000;
  constexpr int kFibers = 40;
  std::unique_ptr<File> file;
  RunOn(0, [&] { file = Create("f"); });
  std::atomic<int> left = kFibers;
  Event done;
  for (int i = 0; i < kFibers; ++i) {
    runtime().Spawn({.name = "writer"}, [&, i] {
      const std::string part(kPart, static_cast<char>('A' + i));
      EXPECT_OK(file->WriteAt(static_cast<uint64_t>(i) * kPart, part));
      std::string back(kPart, ' ');
      EXPECT_EQ(file->ReadAt(static_cast<uint64_t>(i) * kPart, back).value(), kPart);
      EXPECT_TRUE(part == back);
      if (--left == 0) done.Set();
    });
  }
  RunOn(1, [&] {
    done.Wait();
    EXPECT_EQ(file->Size().value(), kFibers * kPart);
    file.reset();
  });
  uint64_t writes = 0;
  for (const LoopStats& stats : runtime().Stats()) writes += stats.writes;
  EXPECT_GE(writes, static_cast<uint64_t>(kFibers));
}

TEST_P(FileTest, ErrorsNameCallAndPath) {
  RunOn(0, [&] {
    Result<std::unique_ptr<File>> missing = files().Open(Path("none"), {});
    EXPECT_SQLSTATE(missing, "58P01");
    EXPECT_NE(missing.error().message().find("none"), std::string::npos);
    EXPECT_NE(missing.error().message().find("open"), std::string::npos);
    Create("f");
    EXPECT_SQLSTATE(files().Open(Path("f"), {.write = true, .create = true, .exclusive = true}), "58030");
    Result<std::unique_ptr<File>> read_only = files().Open(Path("f"), {});
    EXPECT_SQLSTATE((*read_only)->WriteAt(0, std::string_view("x")), "58030");
    EXPECT_SQLSTATE(files().Remove(Path("none")), "58P01");
    EXPECT_SQLSTATE(files().List(Path("none")), "58P01");
  });
}

TEST_P(FileTest, WritePastTheSizeLimitIsDiskFull) {
  rlimit old_limit;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const rlimit limit{.rlim_cur = 4096, .rlim_max = old_limit.rlim_max};
  std::string sqlstate;
  std::string direct_sqlstate;
  RunOn(0, [&] {
    std::unique_ptr<File> file = Create("f");
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    sqlstate = file->WriteAt(0, std::string(10'000, 'x')).sqlstate();
    Result<std::unique_ptr<File>> direct = files().Open(Path("d"), {.write = true, .create = true, .direct = true});
    char* const block = static_cast<char*>(std::aligned_alloc(4096, 4096));
    std::memset(block, 'x', 4096);
    direct_sqlstate = (*direct)->WriteAt(4096, {block, 4096}).sqlstate();
    std::free(block);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old_limit), 0);
  });
  EXPECT_EQ(sqlstate, "53100");
  EXPECT_EQ(direct_sqlstate, "53100");
}

TEST_P(FileTest, DirectoriesAndNames) {
  RunOn(0, [&] {
    EXPECT_OK(files().CreateDirectory(Path("d")));
    EXPECT_OK(files().CreateDirectory(Path("d")));
    EXPECT_OK(Create("d/b")->WriteAt(0, std::string_view("b")));
    Create("d/a");
    EXPECT_OK(files().SyncDirectory(Path("d")));
    EXPECT_EQ(files().List(Path("d")).value(), (std::vector<std::string>{"a", "b"}));
    EXPECT_OK(files().Rename(Path("d/b"), Path("d/c")));
    EXPECT_FALSE(files().Exists(Path("d/b")).value());
    EXPECT_TRUE(files().Exists(Path("d/c")).value());
    EXPECT_OK(files().Remove(Path("d/a")));
    EXPECT_OK(files().Remove(Path("d/c")));
    EXPECT_OK(files().Remove(Path("d")));
    EXPECT_FALSE(files().Exists(Path("d")).value());
    EXPECT_GT(files().FreeSpace(directory()).value(), 0u);
  });
}

TEST_P(FileTest, PlainThreadBlocksInPlace) {
  std::unique_ptr<File> file = Create("f");
  EXPECT_OK(file->WriteAt(0, std::string_view("plain")));
  EXPECT_OK(file->Sync());
  EXPECT_EQ(file->Size().value(), 5u);
}

TEST_P(FileTest, AttachedThreadReadsAndWrites) {
  AttachedThread attached(runtime());
  std::unique_ptr<File> file = Create("f");
  EXPECT_OK(file->WriteAt(0, std::string_view("attached")));
  EXPECT_OK(file->Sync());
  char buffer[8];
  EXPECT_EQ(file->ReadAt(0, buffer).value(), 8u);
}

TEST_P(FileTest, LockedDirectoryIsInUse) {
  RunOn(0, [&] {
    Result<std::unique_ptr<DirectoryLock>> first = files().LockDirectory(directory(), Duration::zero());
    ASSERT_OK(first);
    EXPECT_OK(Create("f")->WriteAt(0, std::string_view("registers the lock file with the ring")));
    Result<std::unique_ptr<DirectoryLock>> second = files().LockDirectory(directory(), std::chrono::milliseconds(30));
    EXPECT_SQLSTATE(second, "55006");
    EXPECT_NE(second.error().message().find(std::to_string(::getpid())), std::string::npos);
    first->reset();
    EXPECT_OK(files().LockDirectory(directory(), Duration::zero()));
  });
}

TEST_P(FileTest, LockIsWaitedFor) {
  RunOn(0, [&] {
    Result<std::unique_ptr<DirectoryLock>> first = files().LockDirectory(directory(), Duration::zero());
    ASSERT_OK(first);
    Event waits;
    Event ended;
    runtime().loop(1).Spawn({.name = "second"}, [&] {
      waits.Set();
      EXPECT_OK(files().LockDirectory(directory(), std::chrono::seconds(60)));
      ended.Set();
    });
    waits.Wait();
    first->reset();
    ended.Wait();
  });
}

}  // namespace
}  // namespace sisal::io
