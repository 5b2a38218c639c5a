// Epochs in every interleaving, with bugs planted through their policy, and on threads.
#include "sisal/io/epoch.h"

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "sisal/testing/model_concurrency.h"

namespace sisal::io {
namespace {

using model::ExpectCaught;
using model::ExpectSound;
using model::Explorer;

const model::Options kAll;
constexpr model::Options Preemptions(size_t count_max) { return {.preemptions_max = count_max}; }

// ---- What the actors do ----

// Each loop runs `section_count` sections, in which it writes to what belongs to the section's epoch. The bumper reads
// what belongs to an epoch when it has bumped it: nothing may be written any more.
template <typename Policy>
void SectionsAndBumps(Explorer& explorer, size_t loop_count, size_t section_count, size_t bump_count) {
  struct State {
    explicit State(size_t loop_count) : epochs(loop_count) {}
    BasicEpoch<Policy> epochs;
    model::Plain<uint64_t> written[4][4];     // [epoch][loop]
    model::Plain<uint64_t> redo_position[4];  // [epoch]: set before the epoch is published
  };
  auto state = std::make_shared<State>(loop_count);
  for (size_t loop = 0; loop < loop_count; ++loop) {
    explorer.Actor([state, &explorer, loop, section_count] {
      for (size_t i = 0; i < section_count; ++i) {
        const BasicEpochSection<Policy> section(state->epochs, loop);
        const uint64_t epoch = section.epoch();
        if (epoch > 1) explorer.Expect(state->redo_position[epoch].get() == epoch, "set before it was published");
        state->written[epoch][loop].set(1);
      }
    });
  }
  explorer.Actor([state, loop_count, bump_count] {
    for (uint64_t epoch = 1; epoch <= bump_count; ++epoch) {
      state->redo_position[epoch + 1].set(epoch + 1);
      state->epochs.Bump();
      for (size_t loop = 0; loop < loop_count; ++loop) static_cast<void>(state->written[epoch][loop].get());
    }
  });
}

// The loop finds the page in a newer epoch than its section's, and enters again.
template <typename Policy>
void Reentry(Explorer& explorer) {
  struct State {
    BasicEpoch<Policy> epochs{2};
    model::Atomic<uint64_t> page_epoch{1};
    model::Plain<uint64_t> written[4][2];
  };
  auto state = std::make_shared<State>();
  for (size_t loop = 0; loop < 2; ++loop) {
    explorer.Actor([state, &explorer, loop] {
      BasicEpochSection<Policy> section(state->epochs, loop);
      if (state->page_epoch.load() > section.epoch()) section.Reenter();
      explorer.Expect(state->page_epoch.load() <= section.epoch() + 1, "one bump changes an epoch by one");
      state->written[section.epoch()][loop].set(1);
      if (loop == 1) state->page_epoch.store(section.epoch());
    });
  }
  explorer.Actor([state] {
    state->epochs.Bump();
    static_cast<void>(state->written[1][0].get());
    static_cast<void>(state->written[1][1].get());
  });
}

// The reader follows a pointer in a section; the writer replaces what it points to, and frees it.
template <typename Policy>
void ReaderAndReclaimer(Explorer& explorer, size_t reader_count) {
  struct Object {
    model::Plain<uint64_t> alive;
  };
  struct State {
    explicit State(size_t slot_count) : reclaimer(slot_count) {}
    BasicReclaimer<Policy> reclaimer;
    Object objects[2];
    model::Atomic<Object*> current{nullptr};
  };
  auto state = std::make_shared<State>(reader_count + 1);
  for (Object& object : state->objects) object.alive.set(1);
  state->current.store(&state->objects[0]);
  for (size_t reader = 0; reader < reader_count; ++reader) {
    explorer.Actor([state, &explorer, reader] {
      const BasicEpochSection<Policy> section(state->reclaimer.epochs(), reader);
      const Object* const object = state->current.load(std::memory_order_acquire);
      explorer.Expect(object->alive.get() == 1, "what a reader reaches is alive");
    });
  }
  explorer.Actor([state, reader_count] {
    state->current.store(&state->objects[1], std::memory_order_release);
    state->reclaimer.Retire(reader_count, &state->objects[0],
                            [](void* object) { static_cast<Object*>(object)->alive.set(0); });
    state->reclaimer.Collect(reader_count);
    state->reclaimer.Collect(reader_count);
  });
  explorer.Finally([state, &explorer, reader_count] {
    explorer.Expect(state->reclaimer.Collect(reader_count) == 0, "all is freed in the end");
    explorer.Expect(state->objects[0].alive.get() == 0 && state->objects[1].alive.get() == 1, "and only that");
  });
}

// ---- The production code ----

TEST(EpochExplorationTest, ABumpedEpochIsOver) {
  ExpectSound("a loop, two sections, two bumps", kAll,
              [](Explorer& e) { SectionsAndBumps<model::Concurrency>(e, 1, 2, 2); });
  ExpectSound("two loops, a bump", kAll, [](Explorer& e) { SectionsAndBumps<model::Concurrency>(e, 2, 1, 1); });
  ExpectSound("two loops, two sections each, two bumps", Preemptions(2),
              [](Explorer& e) { SectionsAndBumps<model::Concurrency>(e, 2, 2, 2); });
}

TEST(EpochExplorationTest, AReenteredSectionBelongsToOneEpoch) {
  ExpectSound("re-entry", kAll, [](Explorer& e) { Reentry<model::Concurrency>(e); });
}

TEST(EpochExplorationTest, NothingReachableIsFreed) {
  ExpectSound("reader and reclaimer", kAll, [](Explorer& e) { ReaderAndReclaimer<model::Concurrency>(e, 1); });
  ExpectSound("two readers and reclaimer", kAll, [](Explorer& e) { ReaderAndReclaimer<model::Concurrency>(e, 2); });
}

// ---- Planted bugs ----

// Slots begin at 0, the epoch at 1: so the plants tell one from the other.
template <typename T>
struct SlotAtomic : model::Atomic<T> {
  SlotAtomic(T value) : model::Atomic<T>(value), is_slot(value == T{}) {}  // NOLINT: as std::atomic
  const bool is_slot;
};

struct BumpDoesNotWait : model::Concurrency {
  template <typename T>
  struct Atomic : SlotAtomic<T> {
    using SlotAtomic<T>::SlotAtomic;
    T load(std::memory_order order) const {
      const T value = model::Atomic<T>::load(order);
      return this->is_slot ? T{} : value;
    }
  };
};

struct NoLookBack : model::Concurrency {
  template <typename T>
  struct Atomic : SlotAtomic<T> {
    using SlotAtomic<T>::SlotAtomic;
    T load(std::memory_order order) const {
      const bool looks_back = !this->is_slot && order == std::memory_order_seq_cst;
      if (looks_back) return last;
      return last = model::Atomic<T>::load(order);
    }
    mutable T last{};
  };
};

// The slot's store may stay in the store buffer while the loop looks back.
struct EntryIsOnlyReleased : model::Concurrency {
  template <typename T>
  struct Atomic : model::Atomic<T> {
    using model::Atomic<T>::Atomic;
    void store(T value, std::memory_order) { model::Atomic<T>::store(value, std::memory_order_release); }
  };
};

struct LeavingDoesNotRelease : model::Concurrency {
  template <typename T>
  struct Atomic : model::Atomic<T> {
    using model::Atomic<T>::Atomic;
    void store(T value, std::memory_order order) {
      const bool leaves = order == std::memory_order_release;
      model::Atomic<T>::store(value, leaves ? std::memory_order_relaxed : order);
    }
  };
};

TEST(EpochExplorationTest, PlantedBugsAreCaught) {
  ExpectCaught("planted: the bump does not wait", kAll,
               [](Explorer& e) { SectionsAndBumps<BumpDoesNotWait>(e, 1, 1, 1); });
  ExpectCaught("planted: no look back", kAll, [](Explorer& e) { SectionsAndBumps<NoLookBack>(e, 1, 1, 1); });
  ExpectCaught("planted: entry only released", kAll,
               [](Explorer& e) { SectionsAndBumps<EntryIsOnlyReleased>(e, 1, 1, 1); });
  ExpectCaught("planted: leaving does not release", kAll,
               [](Explorer& e) { SectionsAndBumps<LeavingDoesNotRelease>(e, 1, 1, 1); });
  ExpectCaught("planted: freed at once", kAll, [](Explorer& e) { ReaderAndReclaimer<BumpDoesNotWait>(e, 1); });
  ExpectCaught("planted: freed in a store buffer's shade", kAll,
               [](Explorer& e) { ReaderAndReclaimer<EntryIsOnlyReleased>(e, 1); });
}

TEST(EpochTest, SlotsAreClaimedOnce) {
  Epoch epochs(2);
  EXPECT_EQ(epochs.ClaimSlot(), 0u);
  EXPECT_EQ(epochs.ClaimSlot(), 1u);
  EXPECT_FALSE(epochs.ClaimSlot().has_value());
  epochs.GiveBackSlot(0);
  EXPECT_EQ(epochs.ClaimSlot(), 0u);
}

// ---- Threads: the same code for ThreadSanitizer ----

TEST(EpochTest, PlainThreadsAndBumps) {
  constexpr size_t kThreadCount = 3;
  constexpr uint64_t kBumpCount = 2'000;
  Epoch epochs(kThreadCount);
  std::vector<std::array<uint64_t, kThreadCount>> written(kBumpCount + 2);
  std::atomic<size_t> started_count{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreadCount; ++t) {
    threads.emplace_back([&, slot = epochs.ClaimSlot().value()] {
      while (!stop.load(std::memory_order_relaxed)) {
        for (int i = 0; i < 100; ++i) {
          const EpochSection section(epochs, slot);
          ++written[section.epoch()][slot];
          if (i == 0) ++started_count;
        }
        std::this_thread::yield();
      }
    });
  }
  while (started_count < kThreadCount) std::this_thread::yield();
  uint64_t sections = 0;
  for (uint64_t i = 0; i < kBumpCount; ++i) {
    const uint64_t ended = epochs.Bump() - 1;
    for (const uint64_t count : written[ended]) sections += count;
    if (i % 16 == 0) std::this_thread::yield();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(epochs.current(), kBumpCount + 1);
  EXPECT_GT(sections, 0u);
}

TEST(ReclaimerTest, PlainThreadsFollowWhatIsReplaced) {
  constexpr size_t kReaderCount = 3;
  Reclaimer reclaimer(kReaderCount + 1);
  std::atomic<uint64_t*> current{new uint64_t(1)};
  std::atomic<size_t> started_count{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kReaderCount; ++t) {
    threads.emplace_back([&, t] {
      uint64_t last = 0;
      ++started_count;
      while (!stop.load(std::memory_order_relaxed)) {
        const EpochSection section(reclaimer.epochs(), t);
        const uint64_t value = *current.load(std::memory_order_acquire);
        EXPECT_GE(value, last);
        last = value;
      }
    });
  }
  while (started_count < kReaderCount) std::this_thread::yield();
  for (uint64_t value = 2; value < 5'000; ++value) {
    if (value % 16 == 0) std::this_thread::yield();
    uint64_t* const old = current.exchange(new uint64_t(value), std::memory_order_acq_rel);
    reclaimer.Retire(kReaderCount, old, [](void* object) {
      auto* const number = static_cast<uint64_t*>(object);
      *number = 0;
      delete number;
    });
    reclaimer.Collect(kReaderCount);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(reclaimer.Collect(kReaderCount), 0u);
  delete current.load();
}

}  // namespace
}  // namespace sisal::io
