// Fibers, loops, wakes, spawns; each on both backends.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "io_test_support.h"
#include "sisal/io/runtime.h"
#include "sisal/io/sync.h"
#include "sisal/io/time.h"

namespace sisal::io {
namespace {

class SchedulerTest : public BackendTest {};
SISAL_FOR_EACH_BACKEND(SchedulerTest);

TEST_P(SchedulerTest, RunAndWaitReturnsAfterTheBody) {
  bool ran = false;
  runtime().RunAndWait("test", [&] {
    EXPECT_TRUE(OnFiber());
    EXPECT_EQ(CurrentFiberName(), "test");
    EXPECT_NE(CurrentLoop(), nullptr);
    ran = true;
  });
  EXPECT_TRUE(ran);
  EXPECT_FALSE(OnFiber());
}

TEST_P(SchedulerTest, YieldAloneComesBack) {
  runtime().RunAndWait("test", [] {
    for (int i = 0; i < 1000; ++i) Yield();
  });
}

TEST_P(SchedulerTest, FibersOfOneLoopTakeTurns) {
  std::string order;
  Event start;
  std::atomic<int> left = 3;
  Event done;
  for (char name : {'a', 'b', 'c'}) {
    runtime().loop(0).Spawn({.name = "turn"}, [&, name] {
      start.Wait();
      for (int i = 0; i < 3; ++i) {
        order += name;
        Yield();
      }
      if (--left == 0) done.Set();
    });
  }
  runtime().loop(0).Spawn({.name = "start"}, [&] { start.Set(); });
  RunOn(0, [&] { done.Wait(); });
  EXPECT_EQ(order, "abcabcabc");
}

TEST_P(SchedulerTest, BackgroundFibersRunBesideNormalOnesWithoutHoldingThemUp) {
  std::atomic<bool> stop = false;
  uint64_t background_turns = 0;
  uint64_t normal_turns = 0;
  Event background_ended;
  runtime().loop(0).Spawn({.name = "background", .priority = Priority::kBackground}, [&] {
    while (!stop) {
      if (normal_turns > 0) ++background_turns;
      Yield();
    }
    background_ended.Set();
  });
  RunOn(0, [&] {
    while (background_turns < 100 || normal_turns < 1000) {
      ++normal_turns;
      Yield();
    }
    stop = true;
    background_ended.Wait();
  });
  EXPECT_GE(normal_turns + 1, background_turns);  // at most every other turn
}

TEST_P(SchedulerTest, PingPongBetweenLoopsLosesNoWake) {
  constexpr int kRounds = 2000;
  SpinLatch latch;
  WaitList waiters[2];
  int turn = 0;
  auto player = [&](int me) {
    for (int round = 0; round < kRounds; ++round) {
      latch.lock();
      while (turn != me) {
        WaitList::Node node;
        waiters[me].Add(node);
        latch.unlock();
        EXPECT_EQ(node.Park(), WaitResult::kWoken);
        latch.lock();
      }
      turn = 1 - me;
      waiters[1 - me].WakeFirst();
      latch.unlock();
    }
  };
  Event done[2];
  for (int me : {0, 1}) {
    runtime().loop(static_cast<size_t>(me)).Spawn({.name = "player"}, [&, me] {
      player(me);
      done[me].Set();
    });
  }
  RunOn(0, [&] {
    done[0].Wait();
    done[1].Wait();
  });
  uint64_t wakes = 0;
  for (const LoopStats& stats : runtime().Stats()) wakes += stats.cross_loop_wakes;
  EXPECT_GE(wakes, 2u);
}

TEST_P(SchedulerTest, ManyFibersWaitAtOnce) {
  constexpr int kFibers = kSanitizedTest ? 500 : 5000;
  Event start;
  std::atomic<int> ended = 0;
  for (int i = 0; i < kFibers; ++i) {
    runtime().Spawn({.name = "many"}, [&] {
      start.Wait();
      ++ended;
    });
  }
  start.Set();
  ResetRuntime();  // waits for all
  EXPECT_EQ(ended, kFibers);
}

TEST_P(SchedulerTest, FibersSpawnFibersAndStopWaitsForAll) {
  std::atomic<int> ended = 0;
  Runtime& spawner = runtime();  // the fixture's pointer is null already while it waits
  std::function<void(int)> grow = [&](int depth) {
    if (depth > 0) {
      for (int i = 0; i < 3; ++i) spawner.Spawn({.name = "tree"}, [&, depth] { grow(depth - 1); });
    }
    Yield();
    ++ended;
  };
  runtime().RunAndWait("root", [&] { grow(5); });
  ResetRuntime();
  EXPECT_EQ(ended, 1 + 3 + 9 + 27 + 81 + 243);
}

TEST_P(SchedulerTest, FibersAreReused) {
  for (int i = 0; i < 500; ++i) runtime().RunAndWait("short", [] {});
  auto live_fibers = [&] {
    uint64_t sum = 0;
    for (const LoopStats& stats : runtime().Stats()) sum += stats.live_fibers;
    return sum;
  };
  RunOn(0, [&] {
    while (live_fibers() != 1) Yield();  // this one
  });
}

TEST_P(SchedulerTest, SpawnsFromPlainThreadsAllRun) {
  constexpr int kSpawns = kSanitizedTest ? 100 : 500;
  std::atomic<int> ended = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < kSpawns; ++j) runtime().Spawn({.name = "spawned"}, [&] { ++ended; });
    });
  }
  for (std::thread& thread : threads) thread.join();
  ResetRuntime();
  EXPECT_EQ(ended, 4 * kSpawns);
}

// Without a save of the C++ runtime's exception state at each switch, the handlers of the fibers get mixed up.
TEST_P(SchedulerTest, HandlersOfDifferentFibersStayApart) {
  std::atomic<int> right = 0;
  constexpr int kFibers = 8;
  constexpr int kRounds = 200;
  for (int fiber = 0; fiber < kFibers; ++fiber) {
    runtime().loop(0).Spawn({.name = "thrower"}, [&, fiber] {
      for (int round = 0; round < kRounds; ++round) {
        Yield();
        try {
          try {
            throw fiber;
          } catch (...) {
            Yield();  // breaks rule 4 on purpose: the safety net must hold
            throw;
          }
        } catch (int caught) {
          if (caught == fiber) ++right;
        }
      }
    });
  }
  ResetRuntime();
  EXPECT_EQ(right, kFibers * kRounds);
}

TEST_P(SchedulerTest, ForeignThreadRunsTheEngineInPlace) {
  std::vector<std::thread> threads;
  Mutex mutex;
  int sum = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        AttachedThread attached(runtime());
        EXPECT_TRUE(OnFiber());
        MutexLock lock(mutex);
        ++sum;
        Yield();
        SleepFor(std::chrono::microseconds(10));
      }
      EXPECT_FALSE(OnFiber());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 80);
}

TEST_P(SchedulerTest, ForeignThreadWakesAndIsWoken) {
  Event to_fiber;
  Event to_thread;
  runtime().Spawn({.name = "answer"}, [&] {
    to_fiber.Wait();
    to_thread.Set();
  });
  std::thread thread([&] {
    AttachedThread attached(runtime());
    to_fiber.Set();
    to_thread.Wait();
    // A spawn from here goes to a loop that outlives this thread.
    CurrentLoop()->Spawn({.name = "elsewhere"}, [] { Yield(); });
  });
  thread.join();
}

TEST_P(SchedulerTest, StallIsCounted) {
  ResetRuntime(RuntimeOptions{.loop_count = 1, .stall_threshold = std::chrono::microseconds(100)});
  RunOn(0, [&] {
    const Instant begin = Now();
    while (Now() - begin < std::chrono::milliseconds(1)) {
    }
    Yield();
  });
  EXPECT_GE(runtime().Stats()[0].stalls, 1u);
}

TEST_P(SchedulerTest, YieldIfBudgetSpentLetsOthersRun) {
  std::atomic<bool> stop = false;
  Event started;
  Event ended;
  runtime().loop(0).Spawn({.name = "long"}, [&] {
    started.Set();
    while (!stop) YieldIfBudgetSpent();
    ended.Set();
  });
  RunOn(0, [&] {
    started.Wait();
    stop = true;  // reached only because the other gives way
    ended.Wait();
  });
}

TEST_P(SchedulerTest, WakesArriveWhileOthersRunLong) {
  // Two fibers that never let the loop idle; a third of another loop must still get through.
  std::atomic<bool> stop = false;
  Event ended[2];
  for (Event& event : ended) {
    runtime().loop(0).Spawn({.name = "busy"}, [&] {
      while (!stop) YieldIfBudgetSpent();
      event.Set();
    });
  }
  RunOn(1, [&] {
    Event there;
    runtime().loop(0).Spawn({.name = "late"}, [&] { there.Set(); });
    there.Wait();
    stop = true;
    for (Event& event : ended) event.Wait();
  });
}

TEST_P(SchedulerTest, SpawnsWaitForAStackWhereThereIsNoMore) {
  if (kSanitizedTest) GTEST_SKIP() << "a sanitizer's shadow of such stacks does not fit";
  ResetRuntime({.loop_count = 1, .stack_bytes = size_t{8} << 40});  // of 128 TiB of address space
  std::atomic<int> ended = 0;
  for (int i = 0; i < 50; ++i) {
    runtime().Spawn({.name = "large"}, [&] {
      for (int j = 0; j < 10; ++j) Yield();
      ++ended;
    });
  }
  ResetRuntime();
  EXPECT_EQ(ended, 50);
}

// Not inlined, and with a use of the frame after the call, so that it needs a stack.
__attribute__((noinline)) int Descend(int depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  return depth == 0 ? 0 : Descend(depth - 1) + frame[0];
}

TEST(StackDeathTest, OverflowHitsTheGuard) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        SetLogSink([](LogLevel, std::string_view) {});
        Result<std::unique_ptr<Runtime>> runtime = Runtime::Start({.loop_count = 1});
        (*runtime)->RunAndWait("deep", [] { Descend(100'000); });
      },
      "");
}

}  // namespace
}  // namespace sisal::io
