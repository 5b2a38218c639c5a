// The wake protocol in every interleaving: the production code of wake_word.h over an atomic that lets an explorer
// choose, before each operation, which thread goes on. A wake may be lost nowhere, and one waker of several wins.
#include "sisal/io/wake_word.h"

#include <gtest/gtest.h>

#include <functional>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sisal::io {
namespace {

// Runs a few threads one step at a time. A step ends before the thread's next atomic operation.
class Stepper {
 public:
  // The choices are replayed from `path`; past its end the first runnable thread is chosen, and the path grows.
  struct Choice {
    size_t chosen;
    size_t count;
  };
  explicit Stepper(std::vector<Choice>& path) : path_(path) { running = this; }

  void Add(std::function<void()> body) { bodies_.push_back(std::move(body)); }

  // False if a thread waits for ever.
  bool Run() {
    threads_ = std::vector<Thread>(bodies_.size());
    for (size_t i = 0; i < bodies_.size(); ++i) {
      threads_[i].thread = std::thread([this, i] {
        self = i;
        threads_[i].go.acquire();
        bodies_[i]();
        threads_[i].ended = true;
        back_.release();
      });
    }
    bool stuck = false;
    for (;;) {
      std::vector<size_t> runnable;
      size_t alive = 0;
      for (size_t i = 0; i < threads_.size(); ++i) {
        if (threads_[i].ended) continue;
        ++alive;
        if (threads_[i].waits_for == nullptr || *threads_[i].waits_for) runnable.push_back(i);
      }
      if (alive == 0) break;
      if (runnable.empty()) {
        stuck = true;
        for (Thread& thread : threads_) thread.waits_for = nullptr;  // let them end
        continue;
      }
      Thread& thread = threads_[runnable[Choose(runnable.size())]];
      thread.waits_for = nullptr;
      thread.go.release();
      back_.acquire();
    }
    for (Thread& thread : threads_) thread.thread.join();
    return !stuck;
  }

  // By the threads.
  void Step() {
    if (std::exchange(threads_[self].just_chosen, false)) return;  // no need to choose again
    GiveBack();
  }
  void WaitFor(const bool& flag) {
    threads_[self].waits_for = &flag;
    GiveBack();
    threads_[self].just_chosen = true;
  }
  size_t Choose(size_t count) {
    if (next_ == path_.size()) path_.push_back({0, count});
    return path_[next_++].chosen;
  }

  static inline Stepper* running = nullptr;

 private:
  struct Thread {
    std::thread thread;
    std::binary_semaphore go{0};
    bool ended = false;
    bool just_chosen = true;  // has done no operation since
    const bool* waits_for = nullptr;
  };
  void GiveBack() {
    back_.release();
    threads_[self].go.acquire();
  }

  std::vector<Choice>& path_;
  size_t next_ = 0;
  std::vector<std::function<void()>> bodies_;
  std::vector<Thread> threads_;
  std::binary_semaphore back_{0};
  static inline thread_local size_t self = 0;
};

// Sequentially consistent: memory orders are ThreadSanitizer's business. The weak compare-and-set fails without reason
// at most once per word, when the explorer says so.
template <typename T>
class SteppedAtomic {
 public:
  SteppedAtomic(T value) : value_(value) {}  // NOLINT: as std::atomic
  T load(std::memory_order) const {
    Stepper::running->Step();
    return value_;
  }
  void store(T value, std::memory_order) {
    Stepper::running->Step();
    value_ = value;
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order, std::memory_order) {
    Stepper::running->Step();
    if (value_ != expected) {
      expected = value_;
      return false;
    }
    value_ = desired;
    return true;
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure) {
    if (!has_failed_ && Stepper::running->Choose(2) == 1) {
      has_failed_ = true;
      Stepper::running->Step();
      expected = value_;
      return false;
    }
    return compare_exchange_strong(expected, desired, success, failure);
  }

 private:
  T value_;
  bool has_failed_ = false;
};

// Goes on to the next path in depth-first order; false after the last.
bool NextPath(std::vector<Stepper::Choice>& path) {
  while (!path.empty() && path.back().chosen + 1 == path.back().count) path.pop_back();
  if (path.empty()) return false;
  ++path.back().chosen;
  return true;
}

// One waiter waits once, and each of `reasons` wakes it once. Returns the number of interleavings.
int Explore(const std::vector<WaitResult>& reasons) {
  std::vector<Stepper::Choice> path;
  int count = 0;
  do {
    ++count;
    Stepper stepper(path);
    BasicWakeWord<SteppedAtomic> word;
    bool scheduled = false;
    bool parked = false;
    WaitResult seen{};
    std::vector<WakeOutcome> outcomes(reasons.size());
    stepper.Add([&] {
      if (word.BeginPark() && word.CommitPark()) {
        parked = true;
        stepper.WaitFor(scheduled);
      }
      seen = word.Finish();
    });
    for (size_t i = 0; i < reasons.size(); ++i) {
      stepper.Add([&, i] {
        outcomes[i] = word.Wake(reasons[i]);
        if (outcomes[i] == WakeOutcome::kMustSchedule) scheduled = true;
      });
    }
    EXPECT_TRUE(stepper.Run()) << "lost wake in interleaving " << count;
    int winners = 0;
    int schedulers = 0;
    for (size_t i = 0; i < reasons.size(); ++i) {
      // A waker that comes after Finish finds the next wait's word, so it may win that one too.
      if (outcomes[i] != WakeOutcome::kLost) ++winners;
      if (outcomes[i] == WakeOutcome::kMustSchedule) {
        ++schedulers;
        EXPECT_EQ(seen, reasons[i]);
      }
    }
    EXPECT_GE(winners, 1);
    EXPECT_EQ(schedulers, parked ? 1 : 0);
  } while (!::testing::Test::HasFailure() && NextPath(path));
  return count;
}

TEST(WakeWordExplorationTest, OneWakerIsNeverLost) { EXPECT_GT(Explore({WaitResult::kWoken}), 10); }

TEST(WakeWordExplorationTest, OneOfTwoWakersWins) {
  EXPECT_GT(Explore({WaitResult::kWoken, WaitResult::kTimedOut}), 100);
}

}  // namespace
}  // namespace sisal::io
