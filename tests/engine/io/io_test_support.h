// Each test of engine/io runs on both backends; the ring's is skipped where the kernel refuses it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "sisal/base/log.h"
#include "sisal/io/file.h"
#include "sisal/io/runtime.h"
#include "sisal/io/sync.h"

namespace sisal::io {

#if defined(SISAL_ASAN) || defined(SISAL_TSAN)
inline constexpr bool kSanitizedTest = true;
#else
inline constexpr bool kSanitizedTest = false;
#endif

class BackendTest : public ::testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    SetLogSink([](LogLevel, std::string_view) {});
    ResetRuntime(RuntimeOptions{.loop_count = 2});
  }
  // Ends the runtime, which waits for its fibers, and starts another.
  void ResetRuntime(RuntimeOptions options = {.loop_count = 2}) {
    runtime_.reset();
    options.backend = GetParam();
    Result<std::unique_ptr<Runtime>> started = Runtime::Start(options);
    if (!started.ok() && GetParam() == Backend::kIoUring) GTEST_SKIP() << started.error().ToString();
    ASSERT_TRUE(started.ok()) << started.error().ToString();
    runtime_ = std::move(started).value();
  }
  Runtime& runtime() { return *runtime_; }
  // Runs `body` on a fiber of the loop, and waits for it.
  void RunOn(size_t loop, const std::function<void()>& body) {
    std::mutex mutex;
    std::condition_variable changed;
    bool ended = false;
    runtime().loop(loop).Spawn({.name = "test"}, [&] {
      body();
      std::lock_guard guard(mutex);
      ended = true;
      changed.notify_all();
    });
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return ended; });
  }

 private:
  std::unique_ptr<Runtime> runtime_;
};

#define SISAL_FOR_EACH_BACKEND(suite)                                                                 \
  INSTANTIATE_TEST_SUITE_P(, suite, ::testing::Values(Backend::kIoUring, Backend::kThreadPool),       \
                           [](const ::testing::TestParamInfo<Backend>& param_info) {                  \
                             return param_info.param == Backend::kIoUring ? "IoUring" : "ThreadPool"; \
                           })

// A directory of its own, removed at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    const char* const parent = ::getenv("TMPDIR");
    path_ = std::string(parent != nullptr ? parent : "/tmp") + "/sisal-io-XXXXXX";
    SISAL_CHECK(::mkdtemp(path_.data()) != nullptr);
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace sisal::io
