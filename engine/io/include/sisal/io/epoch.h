// Epochs: telling when every loop has left what it was doing.
//
// A loop enters a section under the current epoch and leaves it again, soon and without suspending. Who moves the epoch
// from E to E + 1 can wait until no section entered under E is left. Two things stand on this:
//   Epoch       a checkpoint's cut: changes made in sections of E belong to checkpoint E, all later ones do not
//   Reclaimer   memory that optimistic readers may still look at is freed when their sections have ended
//
// Each loop writes its own slot only. Entering is a store and a look back: publish the epoch in the slot, then read the
// epoch again; if it has moved, publish the new one. So the mover, who moves it first and then reads the slots, either
// sees the section or the section is one of E + 1. Both pairs are sequentially consistent, the look back is needed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sisal/base/check.h"
#include "sisal/io/concurrency.h"

namespace sisal::io {

// Concurrency: thread-safe; Enter and Leave of one slot by one loop at a time.
template <typename Policy = RealConcurrency>
class BasicEpoch {
 public:
  // `slot_count`: loops and attached threads that may take part at the same time. Epochs count from `first` >= 1.
  explicit BasicEpoch(size_t slot_count, uint64_t first = 1)
      : slot_count_(slot_count), slots_(new Slot[slot_count]), current_(first) {
    SISAL_CHECK(first >= 1);
  }
  ~BasicEpoch() {
    for (size_t i = 0; i < slot_count_; ++i) SISAL_CHECK(slots_[i].entered.load(std::memory_order_acquire) == 0);
  }
  BasicEpoch(const BasicEpoch&) = delete;
  BasicEpoch& operator=(const BasicEpoch&) = delete;

  uint64_t current() const { return current_.load(std::memory_order_acquire); }
  size_t slot_count() const { return slot_count_; }

  // A slot for a loop or an attached thread; nothing if all are taken. Give it back outside any section.
  std::optional<size_t> ClaimSlot() {
    for (size_t i = 0; i < slot_count_; ++i) {
      if (!slots_[i].claimed.exchange(true, std::memory_order_acquire)) return i;
    }
    return std::nullopt;
  }
  void GiveBackSlot(size_t slot) {
    SISAL_CHECK(slots_[slot].entered.load(std::memory_order_relaxed) == 0);
    slots_[slot].claimed.store(false, std::memory_order_release);
  }

  // Returns the epoch that the section belongs to. Until Leave the caller must not suspend (checked). No nesting.
  uint64_t Enter(size_t slot) {
    Slot& own = slots_[slot];
    SISAL_CHECK(own.entered.load(std::memory_order_relaxed) == 0);
    Policy::NoteHeld();
    uint64_t epoch = current_.load(std::memory_order_relaxed);
    for (;;) {
      own.entered.store(epoch, std::memory_order_seq_cst);
      const uint64_t now = current_.load(std::memory_order_seq_cst);
      if (now == epoch) return epoch;
      epoch = now;
    }
  }
  void Leave(size_t slot) {
    slots_[slot].entered.store(0, std::memory_order_release);
    Policy::NoteReleased();
  }

  // Publishes the next epoch and returns it. Sections of the last one may go on.
  uint64_t Advance() { return current_.fetch_add(1, std::memory_order_seq_cst) + 1; }
  // Whether no section that was entered under an epoch before `epoch` is left. Requires: current() >= epoch.
  bool AllLeftBefore(uint64_t epoch) const {
    for (size_t i = 0; i < slot_count_; ++i) {
      if (IsBefore(i, epoch)) return false;
    }
    return true;
  }
  // Waits for that. All that was done in those sections has happened when it returns. Suspends on a fiber. Requires:
  // the caller is in no section and holds no latch.
  void AwaitLeftBefore(uint64_t epoch) const {
    SISAL_CHECK(!Policy::HoldsAny());
    for (size_t i = 0; i < slot_count_; ++i) {
      // A slot that was seen to be left can only be entered under `epoch` or later.
      for (int spin = 1; IsBefore(i, epoch); ++spin) {
        if (spin % Policy::kSpins != 0) {
          Policy::Relax();
        } else if (Policy::MaySuspend()) {
          Policy::Yield();
        } else {
          Policy::YieldThread();  // a plain thread
        }
      }
    }
  }
  // Both: returns E + 1 when all sections of E have ended. One caller at a time. Suspends on a fiber.
  uint64_t Bump() {
    const uint64_t next = Advance();
    AwaitLeftBefore(next);
    return next;
  }

 private:
  struct alignas(64) Slot {
    typename Policy::template Atomic<uint64_t> entered{0};  // 0: in no section
    typename Policy::template Atomic<bool> claimed{false};
  };
  bool IsBefore(size_t slot, uint64_t epoch) const {
    const uint64_t entered = slots_[slot].entered.load(std::memory_order_seq_cst);
    return entered != 0 && entered < epoch;
  }

  const size_t slot_count_;
  const std::unique_ptr<Slot[]> slots_;
  alignas(64) typename Policy::template Atomic<uint64_t> current_;
};

// In a section while it lives.
template <typename Policy = RealConcurrency>
class BasicEpochSection {
 public:
  BasicEpochSection(BasicEpoch<Policy>& epochs, size_t slot)
      : epochs_(epochs), slot_(slot), epoch_(epochs.Enter(slot)) {}
  ~BasicEpochSection() { epochs_.Leave(slot_); }
  BasicEpochSection(const BasicEpochSection&) = delete;
  BasicEpochSection& operator=(const BasicEpochSection&) = delete;
  // Of the checkpoint that changes made in this section belong to.
  uint64_t epoch() const { return epoch_; }
  // Leaves and enters anew: for who has latched a page that is already in a newer epoch. Requires: no latch held.
  void Reenter() {
    epochs_.Leave(slot_);
    SISAL_CHECK(!Policy::HoldsAny());
    epoch_ = epochs_.Enter(slot_);
  }

 private:
  BasicEpoch<Policy>& epochs_;
  const size_t slot_;
  uint64_t epoch_;
};

// Frees objects when no section can reach them any more. Unlink an object first, then Retire it.
//
// Concurrency: Retire and Collect of one slot by the loop that has the slot; the destructor when all have stopped.
template <typename Policy = RealConcurrency>
class BasicReclaimer {
 public:
  explicit BasicReclaimer(size_t slot_count) : epochs_(slot_count), limbo_(slot_count) {}
  ~BasicReclaimer() {
    for (Limbo& limbo : limbo_) {
      for (const Retired& retired : limbo.objects) retired.destroy(retired.object);
    }
  }
  BasicReclaimer(const BasicReclaimer&) = delete;
  BasicReclaimer& operator=(const BasicReclaimer&) = delete;

  // Readers enter sections of these.
  BasicEpoch<Policy>& epochs() { return epochs_; }

  // Requires: who enters a section from now on cannot reach `object`.
  void Retire(size_t slot, void* object, void (*destroy)(void*)) {
    // The step makes the unlinking visible to whoever enters under the new epoch.
    limbo_[slot].objects.push_back({epochs_.Advance(), object, destroy});
  }
  // Frees what can be freed of the slot's objects, oldest first; returns how many are left.
  size_t Collect(size_t slot) {
    std::vector<Retired>& objects = limbo_[slot].objects;
    size_t freed_count = 0;
    while (freed_count < objects.size() && epochs_.AllLeftBefore(objects[freed_count].epoch)) ++freed_count;
    for (size_t i = 0; i < freed_count; ++i) objects[i].destroy(objects[i].object);
    objects.erase(objects.begin(), objects.begin() + static_cast<ptrdiff_t>(freed_count));
    return objects.size();
  }

 private:
  struct Retired {
    uint64_t epoch;  // the first whose sections cannot reach it
    void* object;
    void (*destroy)(void*);
  };
  struct alignas(64) Limbo {
    std::vector<Retired> objects;  // by epoch
  };

  BasicEpoch<Policy> epochs_;
  std::vector<Limbo> limbo_;
};

using Epoch = BasicEpoch<>;
using EpochSection = BasicEpochSection<>;
using Reclaimer = BasicReclaimer<>;

}  // namespace sisal::io
