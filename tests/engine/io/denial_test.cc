// What the kernel or the container refuses: io_uring as a whole, or the message that wakes a ring. Each case runs in a
// child process under a seccomp filter. Also: locks of killed processes.
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "io_test_support.h"
#include "ring.h"
#include "sisal/io/time.h"
#include "sisal/testing/status_matchers.h"

namespace sisal::io {
namespace {

// Makes `call` fail with `error_number`, if its argument of this index has this value.
struct Denial {
  unsigned call;
  unsigned error_number;
  unsigned argument_index = 0;
  int argument = -1;  // -1: any
};

bool Deny(const Denial& denial) {
  const auto number_offset = static_cast<unsigned>(offsetof(seccomp_data, nr));
  // The lower half of the argument, on a little-endian machine.
  const auto argument_offset = static_cast<unsigned>(offsetof(seccomp_data, args) + 8 * denial.argument_index);
  const bool any = denial.argument < 0;
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, number_offset),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, denial.call, 0, static_cast<uint8_t>(any ? 1 : 3)),
  };
  if (!any) {
    program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument_offset));
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(denial.argument), 0, 1));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | denial.error_number));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter{.len = static_cast<unsigned short>(program.size()), .filter = program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// Runs `body` in a child process; true if it returned true there.
bool InChild(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body() ? 0 : 1);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Wakes across loops and from plain threads, timers and files.
bool Works(Runtime& runtime) {
  TemporaryDirectory directory;
  std::atomic<int> rounds = 0;
  bool data_came_back = false;
  Event ping[20];
  Event pong[20];
  Event from_thread;
  Event ended;
  runtime.loop(0).Spawn({.name = "ping"}, [&] {
    for (int i = 0; i < 20; ++i) {
      ping[i].Set();
      pong[i].Wait();
      SleepFor(std::chrono::microseconds(100));
    }
    ended.Set();
  });
  runtime.loop(1).Spawn({.name = "pong"}, [&] {
    for (int i = 0; i < 20; ++i) {
      ping[i].Wait();
      ++rounds;
      pong[i].Set();
    }
  });
  std::thread thread([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // so that the loops sleep; nothing depends on it
    from_thread.Set();
  });
  runtime.RunAndWait("files", [&] {
    from_thread.Wait();
    ended.Wait();
    FileSystem& files = runtime.file_system();
    Result<std::unique_ptr<DirectoryLock>> lock = files.LockDirectory(directory.path(), Duration::zero());
    Result<std::unique_ptr<File>> file = files.Open(directory.path() + "/f", {.write = true, .create = true});
    if (!lock.ok() || !file.ok()) return;
    char buffer[4];
    data_came_back = (*file)->WriteAt(0, std::string_view("data")).ok() && (*file)->Sync().ok() &&
                     (*file)->ReadAt(0, buffer).value() == 4 && std::string_view(buffer, 4) == "data";
  });
  thread.join();
  return rounds == 20 && data_came_back;
}

std::string* logged = nullptr;
void KeepLog(LogLevel, std::string_view message) { logged->append(message).append("\n"); }

TEST(DenialTest, RefusedRingFallsBackToTheThreadPool) {
  EXPECT_TRUE(InChild([] {
    std::string log;
    logged = &log;
    SetLogSink(KeepLog);
    if (!Deny({.call = __NR_io_uring_setup, .error_number = EPERM})) return false;
    Result<std::unique_ptr<Runtime>> runtime = Runtime::Start({.loop_count = 2});
    return runtime.ok() && (*runtime)->backend() == Backend::kThreadPool &&
           (*runtime)->backend_note().find("not permitted") != std::string::npos &&
           log.find("thread pool") != std::string::npos && log.find("not permitted") != std::string::npos &&
           Works(**runtime);
  }));
}

TEST(DenialTest, RefusedRingIsAnErrorWhereItWasAskedFor) {
  EXPECT_TRUE(InChild([] {
    if (!Deny({.call = __NR_io_uring_setup, .error_number = ENOSYS})) return false;
    Result<std::unique_ptr<Runtime>> runtime = Runtime::Start({.loop_count = 2, .backend = Backend::kIoUring});
    return !runtime.ok() && runtime.sqlstate() == "58000";
  }));
}

TEST(DenialTest, WithoutRingMessagesAnEventFdWakes) {
  EXPECT_TRUE(InChild([] {
    SetLogSink([](LogLevel, std::string_view) {});
    constexpr int kSendMessageRing = 31;
    if (!Deny({.call = __NR_io_uring_register,
               .error_number = EINVAL,
               .argument_index = 1,
               .argument = kSendMessageRing})) {
      return false;
    }
    Result<std::unique_ptr<Runtime>> runtime = Runtime::Start({.loop_count = 2});
    if (!runtime.ok()) return false;
    const bool expected = (*runtime)->backend() == Backend::kThreadPool ||  // no io_uring here at all
                          Ring::MessageKind() == RingMessage::kEventFd;
    return expected && Works(**runtime);
  }));
}

TEST(DenialTest, WithoutGuardInstallTheGuardIsAPageOfItsOwn) {
  EXPECT_TRUE(InChild([] {
    SetLogSink([](LogLevel, std::string_view) {});
    constexpr int kGuardInstall = 102;
    if (!Deny({.call = __NR_madvise, .error_number = EINVAL, .argument_index = 2, .argument = kGuardInstall})) {
      return false;
    }
    Result<std::unique_ptr<Runtime>> runtime = Runtime::Start({.loop_count = 2});
    return runtime.ok() && Works(**runtime);
  }));
}

TEST(LockTest, RingKeepsTheLockAfterItsDescriptorIsClosed) {
  Result<std::unique_ptr<Ring>> ring = Ring::Open(-1);
  if (!ring.ok()) GTEST_SKIP() << ring.error().ToString();
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/LOCK";
  const int held = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(::flock(held, LOCK_EX | LOCK_NB), 0);
  (*ring)->HoldFile(0, held);
  ::close(held);
  const int other = ::open(path.c_str(), O_RDWR);
  EXPECT_EQ(::flock(other, LOCK_EX | LOCK_NB), -1);
  ring->reset();  // the kernel tears it down in its own time
  EXPECT_EQ(::flock(other, LOCK_EX), 0);
  ::close(other);
}

TEST(LockTest, KilledProcessLosesItsLock) {
  TemporaryDirectory directory;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    SetLogSink([](LogLevel, std::string_view) {});
    std::unique_ptr<Runtime> runtime = std::move(Runtime::Start({.loop_count = 1})).value();
    runtime->RunAndWait("holder", [&] {
      FileSystem& files = runtime->file_system();
      const auto lock = files.LockDirectory(directory.path(), Duration::zero());
      const auto file = files.Open(directory.path() + "/f", {.write = true, .create = true});
      for (uint64_t i = 0;; ++i) {
        if (i == 10 && ::write(ready[1], "x", 1) != 1) ::_exit(1);
        if (!lock.ok() || !(*file)->WriteAt(i % 100 * 4096, std::string(4096, 'x')).ok()) ::_exit(1);
      }
    });
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  SetLogSink([](LogLevel, std::string_view) {});
  std::unique_ptr<Runtime> runtime = std::move(Runtime::Start({.loop_count = 1})).value();
  runtime->RunAndWait("next", [&] {
    FileSystem& files = runtime->file_system();
    Result<std::unique_ptr<DirectoryLock>> refused = files.LockDirectory(directory.path(), Duration::zero());
    EXPECT_SQLSTATE(refused, "55006");
    EXPECT_NE(refused.error().message().find(std::to_string(child)), std::string::npos);
    ::kill(child, SIGKILL);
    EXPECT_OK(files.LockDirectory(directory.path(), std::chrono::seconds(30)));
  });
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace sisal::io
