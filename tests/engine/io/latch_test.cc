// The page latch in every interleaving, with bugs planted through its policy, and on threads.
#include "sisal/io/latch.h"

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "sisal/io/runtime.h"
#include "sisal/testing/model_concurrency.h"

namespace sisal::io {
namespace {

using model::ExpectCaught;
using model::ExpectSound;
using model::Explorer;

// The one yield before the park changes nothing.
struct Concurrency : model::Concurrency {
  static void Yield() {}
};

const model::Options kAll;
const model::Options kNoWeakFailures{.weak_failures_max = 0};
const model::Options kBounded{.preemptions_max = 2, .weak_failures_max = 0};

// ---- What the actors do ----

template <typename Policy>
struct Counter {
  BasicLatch<Policy> latch;
  model::Plain<uint64_t> value;
};

// Each writer adds one under the exclusive latch.
template <typename Policy>
void Writers(Explorer& explorer, size_t count) {
  auto counter = std::make_shared<Counter<Policy>>();
  for (size_t i = 0; i < count; ++i) {
    explorer.Actor([counter] {
      counter->latch.LockExclusive();
      counter->value.set(counter->value.get() + 1);
      counter->latch.UnlockExclusive();
    });
  }
  explorer.Finally([counter, &explorer, count] {
    explorer.Expect(counter->value.get() == count, "no increment is lost");
    explorer.Expect(!counter->latch.held_exclusive() && counter->latch.TryLockShared(), "the latch is free");
  });
}

// Readers under the shared latch, and one writer.
template <typename Policy>
void ReadersAndWriter(Explorer& explorer, size_t reader_count) {
  auto counter = std::make_shared<Counter<Policy>>();
  for (size_t i = 0; i < reader_count; ++i) {
    explorer.Actor([counter, &explorer] {
      counter->latch.LockShared();
      const uint64_t value = counter->value.get();
      explorer.Expect(counter->value.get() == value, "nothing moves under a shared latch");
      counter->latch.UnlockShared();
    });
  }
  explorer.Actor([counter] {
    counter->latch.LockExclusive();
    counter->value.set(1);
    counter->latch.UnlockExclusive();
  });
  explorer.Finally([counter, &explorer] {
    explorer.Expect(!counter->latch.held_shared() && counter->latch.TryLockExclusive(), "the latch is free");
  });
}

template <typename Policy>
struct Pair {
  BasicLatch<Policy> latch;
  model::Atomic<uint64_t> left{0};
  model::Atomic<uint64_t> right{0};
};

// The writer sets both halves, `write_count` times; what a reader validates is one state of the pair.
template <typename Policy>
void OptimisticReader(Explorer& explorer, size_t write_count, bool waits) {
  auto pair = std::make_shared<Pair<Policy>>();
  explorer.Actor([pair, write_count] {
    for (size_t i = 1; i <= write_count; ++i) {
      pair->latch.LockExclusive();
      pair->left.store(i, std::memory_order_relaxed);
      pair->right.store(i, std::memory_order_relaxed);
      pair->latch.UnlockExclusive();
    }
  });
  explorer.Actor([pair, &explorer, waits] {
    std::optional<LatchVersion> version;
    if (waits) {
      version = pair->latch.Read();
    } else if (!(version = pair->latch.TryRead())) {
      return;
    }
    const uint64_t left = pair->left.load(std::memory_order_relaxed);
    const uint64_t right = pair->right.load(std::memory_order_relaxed);
    if (pair->latch.Validate(*version)) explorer.Expect(left == right, "what is validated is whole");
  });
}

// Each actor reads optimistically and upgrades, until it succeeds.
template <typename Policy>
void Upgraders(Explorer& explorer, size_t count) {
  struct State {
    BasicLatch<Policy> latch;
    model::Atomic<uint64_t> value{0};
  };
  auto state = std::make_shared<State>();
  for (size_t i = 0; i < count; ++i) {
    explorer.Actor([state] {
      for (;;) {
        const LatchVersion version = state->latch.Read();
        const uint64_t value = state->value.load(std::memory_order_relaxed);
        if (!state->latch.TryUpgrade(version)) continue;
        state->value.store(value + 1, std::memory_order_relaxed);
        state->latch.UnlockExclusive();
        return;
      }
    });
  }
  explorer.Finally(
      [state, &explorer, count] { explorer.Expect(state->value.load() == count, "no increment is lost"); });
}

// Two latches in one order: who holds the first spins for the second, and nobody parks while holding one.
template <typename Policy>
void TwoLatches(Explorer& explorer) {
  struct State {
    Counter<Policy> first;
    Counter<Policy> second;
  };
  auto state = std::make_shared<State>();
  explorer.Actor([state] {
    state->first.latch.LockExclusive();
    state->second.latch.LockExclusive();
    state->first.value.set(1);
    state->second.value.set(1);
    state->second.latch.UnlockExclusive();
    state->first.latch.UnlockExclusive();
  });
  explorer.Actor([state, &explorer] {
    state->second.latch.LockShared();
    const bool is_set = state->second.value.get() == 1;
    state->second.latch.UnlockShared();
    state->first.latch.LockShared();
    explorer.Expect(!is_set || state->first.value.get() == 1, "the first was set before the second");
    state->first.latch.UnlockShared();
  });
}

// ---- The production code ----

TEST(LatchExplorationTest, OneWriterAtATime) {
  ExpectSound("two writers", kAll, [](Explorer& e) { Writers<Concurrency>(e, 2); });
  ExpectSound("three writers", kNoWeakFailures, [](Explorer& e) { Writers<Concurrency>(e, 3); });
}

TEST(LatchExplorationTest, NoWriterBesideReaders) {
  ExpectSound("reader and writer", kAll, [](Explorer& e) { ReadersAndWriter<Concurrency>(e, 1); });
  ExpectSound("two readers and a writer", kNoWeakFailures, [](Explorer& e) { ReadersAndWriter<Concurrency>(e, 2); });
}

TEST(LatchExplorationTest, WhatIsValidatedIsWhole) {
  ExpectSound("optimistic reader, two writes", kAll, [](Explorer& e) { OptimisticReader<Concurrency>(e, 2, false); });
  ExpectSound("waiting reader, two writes", kAll, [](Explorer& e) { OptimisticReader<Concurrency>(e, 2, true); });
}

TEST(LatchExplorationTest, AnUpgradeSeesWhatWasRead) {
  ExpectSound("two upgraders", kAll, [](Explorer& e) { Upgraders<Concurrency>(e, 2); });
  ExpectSound("three upgraders", kBounded, [](Explorer& e) { Upgraders<Concurrency>(e, 3); });
}

TEST(LatchExplorationTest, AHolderDoesNotPark) {
  ExpectSound("two latches", kAll, [](Explorer& e) { TwoLatches<Concurrency>(e); });
}

// ---- Planted bugs ----

struct CasIsStore : Concurrency {
  template <typename T>
  using Atomic = model::CasIsStoreAtomic<T>;
};

struct VersionNotRaised : Concurrency {
  template <typename T>
  struct Atomic : model::Atomic<T> {
    using model::Atomic<T>::Atomic;
    T exchange(T value, std::memory_order order) {
      return this->Modify([&](T old) { return (old & ~T{0xFFFF}) | (value & T{0xFFFF}); }, order);
    }
  };
};

struct WaitersMarkLost : Concurrency {
  template <typename T>
  struct Atomic : model::Atomic<T> {
    using model::Atomic<T>::Atomic;
    T exchange(T value, std::memory_order) {
      const T old = this->load();
      this->store(value);
      return old;
    }
  };
};

struct UnlockDoesNotRelease : Concurrency {
  template <typename T>
  struct Atomic : model::Atomic<T> {
    using model::Atomic<T>::Atomic;
    T exchange(T value, std::memory_order) { return model::Atomic<T>::exchange(value, std::memory_order_relaxed); }
  };
};

struct LockDoesNotAcquire : Concurrency {
  template <typename T>
  struct Atomic : model::Atomic<T> {
    using model::Atomic<T>::Atomic;
    bool compare_exchange_strong(T& expected, T desired, std::memory_order, std::memory_order failure) {
      return model::Atomic<T>::compare_exchange_strong(expected, desired, std::memory_order_relaxed, failure);
    }
  };
};

struct WakeLost : Concurrency {
  struct Waiter : model::Concurrency::Waiter {
    void Wake() {}
  };
};

struct HolderParks : Concurrency {
  static bool MaySuspend() { return true; }
};

TEST(LatchExplorationTest, PlantedBugsAreCaught) {
  ExpectCaught("planted: CAS is a store", kAll, [](Explorer& e) { Writers<CasIsStore>(e, 2); });
  ExpectCaught("planted: version not raised", kAll,
               [](Explorer& e) { OptimisticReader<VersionNotRaised>(e, 1, false); });
  ExpectCaught("planted: waiters' mark lost", kAll, [](Explorer& e) { Writers<WaitersMarkLost>(e, 2); });
  ExpectCaught("planted: unlock does not release", kAll, [](Explorer& e) { Writers<UnlockDoesNotRelease>(e, 2); });
  ExpectCaught("planted: lock does not acquire", kAll, [](Explorer& e) { Writers<LockDoesNotAcquire>(e, 2); });
  ExpectCaught("planted: wake lost", kAll, [](Explorer& e) { Writers<WakeLost>(e, 2); });
  ExpectCaught("planted: a holder parks", kAll, [](Explorer& e) { TwoLatches<HolderParks>(e); });
}

// ---- Threads: the same code for ThreadSanitizer ----

// Written by latch holders, read by anyone.
struct SharedPair {
  Latch latch;
  std::atomic<uint64_t> left{0};
  std::atomic<uint64_t> right{0};
  uint64_t plain = 0;
};

void Add(SharedPair& pair) {
  pair.left.store(pair.left.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  pair.right.store(pair.right.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  ++pair.plain;
}

// One turn of a worker. Returns how often it added.
uint64_t Turn(SharedPair& pair, uint64_t turn) {
  switch (turn % 4) {
    case 0:
      pair.latch.LockExclusive();
      Add(pair);
      pair.latch.UnlockExclusive();
      return 1;
    case 1: {
      pair.latch.LockShared();
      EXPECT_EQ(pair.left.load(std::memory_order_relaxed), pair.plain);
      pair.latch.UnlockShared();
      return 0;
    }
    case 2: {
      const LatchVersion version = pair.latch.Read();
      const uint64_t left = pair.left.load(std::memory_order_relaxed);
      const uint64_t right = pair.right.load(std::memory_order_relaxed);
      if (pair.latch.Validate(version)) {
        EXPECT_EQ(left, right);
      }
      return 0;
    }
    default: {
      const LatchVersion version = pair.latch.Read();
      if (!pair.latch.TryUpgrade(version)) return 0;
      Add(pair);
      pair.latch.UnlockExclusive();
      return 1;
    }
  }
}

TEST(LatchTest, PlainThreads) {
  SharedPair pair;
  std::atomic<uint64_t> added{0};
  std::atomic<int> started_count{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      ++started_count;
      while (started_count < 4) std::this_thread::yield();
      uint64_t own = 0;
      for (uint64_t i = 0; i < 50'000; ++i) own += Turn(pair, i + t);
      added += own;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pair.plain, added.load());
}

TEST(LatchTest, FibersOfSeveralLoopsPark) {
  auto started = Runtime::Start({.loop_count = 3});
  ASSERT_TRUE(started.ok());
  SharedPair pair;
  std::atomic<uint64_t> added{0};
  for (size_t loop = 0; loop < 3; ++loop) {
    for (uint64_t fiber = 0; fiber < 3; ++fiber) {
      (*started)->loop(loop).Spawn({}, [&, fiber] {
        uint64_t own = 0;
        for (uint64_t i = 0; i < 5'000; ++i) own += Turn(pair, i + fiber);
        added += own;
      });
    }
  }
  started->reset();
  EXPECT_EQ(pair.plain, added.load());
}

// Waiters that cannot but park: the holder lets go only when they have had time to.
TEST(LatchTest, ParkedFibersAreWoken) {
  auto started = Runtime::Start({.loop_count = 2});
  ASSERT_TRUE(started.ok());
  SharedPair pair;
  std::atomic<bool> is_held{false};
  std::atomic<bool> let_go{false};
  // Another thread than the one that spawns: while a thread holds a latch, its wakes are put off.
  std::thread holder([&] {
    pair.latch.LockExclusive();
    is_held = true;
    while (!let_go) std::this_thread::yield();
    pair.latch.UnlockExclusive();
  });
  while (!is_held) std::this_thread::yield();
  std::atomic<int> arrived{0};
  const uint64_t sleeps_before = (*started)->Stats()[0].sleeps;
  for (int i = 0; i < 6; ++i) {
    (*started)->loop(static_cast<size_t>(i) % 2).Spawn({}, [&, i] {
      ++arrived;
      if (i < 2) {
        pair.latch.LockExclusive();
        Add(pair);
        pair.latch.UnlockExclusive();
      } else if (i < 4) {
        pair.latch.LockShared();
        pair.latch.UnlockShared();
      } else {
        static_cast<void>(pair.latch.Read());
      }
    });
  }
  // A loop goes to sleep when all its fibers are parked.
  while (arrived < 6 || (*started)->Stats()[0].sleeps == sleeps_before) std::this_thread::yield();
  let_go = true;
  holder.join();
  started->reset();
  EXPECT_EQ(pair.plain, 2u);
}

}  // namespace
}  // namespace sisal::io
