// What fibers wait on; on both backends.
#include "sisal/io/sync.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "io_test_support.h"
#include "sisal/io/time.h"
#include "sisal/testing/status_matchers.h"

namespace sisal::io {
namespace {

using std::chrono::milliseconds;

TEST(WakeWordTest, WakeBeforeParkIsRemembered) {
  WakeWord word;
  EXPECT_EQ(word.Wake(WaitResult::kWoken), WakeOutcome::kRemembered);
  EXPECT_FALSE(word.BeginPark());
  EXPECT_EQ(word.Finish(), WaitResult::kWoken);
}

TEST(WakeWordTest, WakeWhileParkingIsRemembered) {
  WakeWord word;
  EXPECT_TRUE(word.BeginPark());
  EXPECT_EQ(word.Wake(WaitResult::kCancelled), WakeOutcome::kRemembered);
  EXPECT_FALSE(word.CommitPark());
  EXPECT_EQ(word.Finish(), WaitResult::kCancelled);
}

TEST(WakeWordTest, FirstOfTwoWakersWins) {
  WakeWord word;
  EXPECT_TRUE(word.BeginPark());
  EXPECT_TRUE(word.CommitPark());
  EXPECT_EQ(word.Wake(WaitResult::kTimedOut), WakeOutcome::kMustSchedule);
  EXPECT_EQ(word.Wake(WaitResult::kWoken), WakeOutcome::kLost);
  EXPECT_EQ(word.Finish(), WaitResult::kTimedOut);
  EXPECT_TRUE(word.BeginPark());  // and it can be used again
}

class SyncTest : public BackendTest {
 protected:
  // Runs each body on a fiber of its own, on the loops in turn, and waits for all.
  void RunAll(const std::vector<std::function<void()>>& bodies) {
    std::atomic<size_t> left = bodies.size();
    Event done;
    for (size_t i = 0; i < bodies.size(); ++i) {
      runtime().loop(i % runtime().loop_count()).Spawn({.name = "body"}, [&, i] {
        bodies[i]();
        if (--left == 0) done.Set();
      });
    }
    RunOn(0, [&] { done.Wait(); });
  }
};
SISAL_FOR_EACH_BACKEND(SyncTest);

TEST_P(SyncTest, MutexExcludes) {
  constexpr int kRounds = kSanitizedTest ? 300 : 3000;
  Mutex mutex;
  int sum = 0;
  bool inside = false;
  const std::vector<std::function<void()>> bodies(8, [&] {
    for (int i = 0; i < kRounds; ++i) {
      MutexLock lock(mutex);
      EXPECT_FALSE(inside);
      inside = true;
      ++sum;
      if (i % 16 == 0) Yield();  // a holder may suspend
      inside = false;
    }
  });
  RunAll(bodies);
  EXPECT_EQ(sum, 8 * kRounds);
}

TEST_P(SyncTest, MutexIsHandedOverInOrderOfArrival) {
  Mutex mutex;
  std::string order;
  RunOn(0, [&] {
    mutex.Lock();
    Event ended;
    for (char name : {'a', 'b', 'c', 'd'}) {
      runtime().loop(0).Spawn({.name = "waiter"}, [&, name] {
        MutexLock lock(mutex);
        order += name;
        if (order.size() == 4) ended.Set();
      });
      Yield();  // it runs, and waits
    }
    mutex.Unlock();
    EXPECT_FALSE(mutex.TryLock());  // handed over, although the heir has not run yet
    ended.Wait();
    mutex.Lock();  // after the last has unlocked
    mutex.Unlock();
  });
  EXPECT_EQ(order, "abcd");
}

TEST_P(SyncTest, ConditionCarriesAQueue) {
  constexpr int kItems = kSanitizedTest ? 300 : 3000;
  Mutex mutex;
  Condition not_empty;
  Condition not_full;
  int queued = 0;
  int taken = 0;
  auto producer = [&] {
    for (int i = 0; i < kItems; ++i) {
      MutexLock lock(mutex);
      while (queued == 3) not_full.Wait(lock);
      ++queued;
      not_empty.NotifyOne();
    }
  };
  auto consumer = [&] {
    for (int i = 0; i < kItems; ++i) {
      MutexLock lock(mutex);
      while (queued == 0) not_empty.Wait(lock);
      --queued;
      ++taken;
      not_full.NotifyOne();
    }
  };
  RunAll({producer, consumer, consumer, producer});
  EXPECT_EQ(taken, 2 * kItems);
}

TEST_P(SyncTest, ConditionTimesOutAndStillWorks) {
  RunOn(0, [&] {
    Mutex mutex;
    Condition condition;
    MutexLock lock(mutex);
    EXPECT_EQ(condition.WaitUntil(lock, {.deadline = Now() + milliseconds(2)}), WaitResult::kTimedOut);
    runtime().loop(1).Spawn({.name = "notifier"}, [&] {
      MutexLock notifier_lock(mutex);
      condition.NotifyAll();
    });
    EXPECT_EQ(condition.WaitUntil(lock, {.deadline = Now() + std::chrono::hours(1)}), WaitResult::kWoken);
  });
}

TEST_P(SyncTest, EventSetFromAPlainThreadLetsAllGo) {
  for (int round = 0; round < 50; ++round) {
    auto event = std::make_unique<Event>();
    std::atomic<int> gone = 0;
    std::thread setter([&event = *event] { event.Set(); });
    RunAll({[&] { event->Wait(), ++gone; }, [&] { event->Wait(), ++gone; }});
    event.reset();  // Set may not have returned yet
    EXPECT_EQ(gone, 2);
    setter.join();
  }
}

TEST_P(SyncTest, SleepsEndInTheOrderOfTheirDeadlines) {
  std::vector<int> order;
  RunOn(0, [&] {
    std::atomic<int> left = 3;
    Event done;
    const Instant begin = Now();
    for (int i : {3, 1, 2}) {
      runtime().loop(0).Spawn({.name = "sleeper"}, [&, i] {
        EXPECT_EQ(SleepUntil({.deadline = begin + milliseconds(3 * i)}), WaitResult::kTimedOut);
        EXPECT_GE(Now(), begin + milliseconds(3 * i));
        order.push_back(i);
        if (--left == 0) done.Set();
      });
    }
    done.Wait();
  });
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST_P(SyncTest, CancelWakesEveryWaiterAndKeepsTheFirstReason) {
  CancelToken token;
  EXPECT_OK(token.Check());
  std::atomic<int> cancelled = 0;
  const auto waiter = [&] {
    if (SleepUntil({.cancel = &token}) == WaitResult::kCancelled) ++cancelled;
  };
  std::thread canceller([&] {
    token.Cancel(Error{"57014", "canceling statement due to user request"});
    token.Cancel(Error{"57P01", "too late"});
  });
  RunAll({waiter, waiter, waiter, waiter});
  canceller.join();
  EXPECT_EQ(cancelled, 4);
  EXPECT_TRUE(token.cancelled());
  EXPECT_SQLSTATE(token.Check(), "57014");
  // A wait that begins afterwards ends at once.
  RunOn(0, [&] { EXPECT_EQ(SleepUntil({.cancel = &token}), WaitResult::kCancelled); });
}

TEST_P(SyncTest, InterruptedNodeIsRemovedOrWasWoken) {
  constexpr int kRounds = 300;
  SpinLatch latch;
  WaitList list;
  int granted = 0;   // under the latch
  int received = 0;  // of one fiber
  std::atomic<bool> stop = false;
  RunAll({[&] {
            for (int i = 0; i < kRounds; ++i) {
              WaitList::Node node;
              latch.lock();
              list.Add(node);
              latch.unlock();
              const WaitResult result = node.Park({.deadline = Now() + std::chrono::microseconds(i % 20)});
              latch.lock();
              const bool woken = result == WaitResult::kWoken || !list.Remove(node);
              latch.unlock();
              if (woken) ++received;
            }
            stop = true;
          },
          [&] {
            while (!stop) {
              latch.lock();
              if (list.WakeFirst()) ++granted;
              latch.unlock();
              SleepFor(std::chrono::microseconds(5));
            }
          }});
  EXPECT_EQ(granted, received);
}

TEST_P(SyncTest, WakeThroughKeyWakesExactlyThese) {
  SpinLatch latch;
  WaitList list;
  std::atomic<int> mask = 0;
  RunOn(0, [&] {
    Event ended[5];
    for (uint64_t key : {4, 1, 3, 2}) {
      runtime().loop(0).Spawn({.name = "keyed"}, [&, key] {
        WaitList::Node node(key);
        EXPECT_EQ(node.key(), key);
        latch.lock();
        list.Add(node);
        latch.unlock();
        EXPECT_EQ(node.Park(), WaitResult::kWoken);
        mask += 1 << key;
        ended[key].Set();
      });
      Yield();
    }
    latch.lock();
    list.WakeThroughKey(2);
    EXPECT_FALSE(list.empty());
    latch.unlock();
    ended[1].Wait();
    ended[2].Wait();
    EXPECT_EQ(mask, (1 << 1) + (1 << 2));
    latch.lock();
    list.WakeAll();
    EXPECT_TRUE(list.empty());
    EXPECT_FALSE(list.WakeFirst());
    latch.unlock();
    ended[3].Wait();
    ended[4].Wait();
  });
}

TEST_P(SyncTest, TimersFollowAnotherClock) {
  struct HandClock : Clock {
    Instant Now() const override { return Instant{Duration(now.load())}; }
    int64_t WallMicros() const override { return now.load() / 1000; }
    std::atomic<int64_t> now = 0;
  };
  HandClock clock;
  ResetRuntime({.loop_count = 1, .clock = &clock});
  std::atomic<bool> woken = false;
  Event sleeps;
  runtime().loop(0).Spawn({.name = "sleeper"}, [&] {
    sleeps.Set();
    SleepFor(std::chrono::hours(1));
    woken = true;
  });
  RunOn(0, [&] {
    sleeps.Wait();
    for (int i = 0; i < 100; ++i) Yield();
  });
  EXPECT_FALSE(woken);
  clock.now = Duration(std::chrono::hours(2)).count();
  runtime().loop(0).Spawn({.name = "stir"}, [] {});
  ResetRuntime();  // waits for the sleeper; the clock is in use until here
  EXPECT_TRUE(woken);
}

}  // namespace
}  // namespace sisal::io
