// The ring's reserve, copy and publish in every interleaving of committers and a flusher, with planted bugs.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ring_impl.h"
#include "sisal/testing/model_concurrency.h"

namespace sisal::wal {
namespace {

using model::ExpectCaught;
using model::ExpectSound;
using model::Explorer;

const model::Options kAll;
const model::Options kNoWeakFailures{.weak_failures_max = 0};
// Switches where an actor waits or ends are free, and many.
const model::Options kBounded{.preemptions_max = 0, .weak_failures_max = 0};
const model::Options kOnePreemption{.preemptions_max = 1, .weak_failures_max = 0};
const model::Options kBoundedMore{.preemptions_max = 4, .weak_failures_max = 0};

constexpr uint64_t kRingBytes = 2 * kBlockBytes;
constexpr uint64_t kLargePayload = 2016;  // the largest that this ring takes

struct Scene {
  uint64_t segment_capacity = 3 * kBlockBytes;
  uint64_t filled_bytes = 0;  // appended and flushed before the actors begin
  uint64_t payload_bytes = 40;
  size_t committer_count = 2;
  bool ordered = false;  // with on_reserved
  bool flushed = true;   // what filled it
};

template <typename Policy>
struct State {
  explicit State(const Scene& scene)
      : ring({.start = Lsn{kBlockBytes},
              .segment_capacity = scene.segment_capacity,
              .ring_bytes = kRingBytes,
              .open_salt = 42}),
        taken(ring.geometry().start) {}

  bool TryAppend(const std::string& payload, const std::function<void(LogRange)>& on_reserved) {
    if (!ring.TryPromise(payload.size(), 0)) return false;
    const std::string_view pieces[] = {payload};
    ring.Append(RecordType::kCommit, pieces, payload.size(), Lsn{}, on_reserved);
    return true;
  }
  // Takes up what is whole. False: nothing new.
  bool Flush(Explorer& explorer) {
    uint64_t count = 0;
    const Lsn end = ring.AdvanceCompleted(count);
    if (end == taken) return false;
    std::string bytes;
    for (Lsn at = taken; at < end; at.value = taken.value + bytes.size()) {
      const std::span<const char> piece = ring.Peek(at, end);
      // Each kRecordAlignment bytes are one unit; large pieces are watched at both ends, for the tests' speed.
      model::Concurrency::NotePlain(piece.data(), std::min<size_t>(piece.size(), 256), false);
      model::Concurrency::NotePlain(piece.data() + piece.size() - 1, 1, false);
      bytes.append(piece.data(), piece.size());
    }
    for (uint64_t at = 0; at < bytes.size();) {
      RecordHeader header;
      const Lsn lsn{taken.value + at};
      if (!DecodeRecordHeader(bytes.data() + at, lsn, header) ||
          at + RecordBytes(header.payload_bytes) > bytes.size()) {
        explorer.Expect(false, "a record begins where the last one ends");
        break;
      }
      uint32_t crc = RecordCrcSeed(SegmentSalt(42, ring.segment_start(lsn)), header);
      const std::string payload = bytes.substr(at + kRecordHeaderBytes, header.payload_bytes);
      if (header.type != RecordType::kPad) crc = Crc32c(payload, crc);
      explorer.Expect(crc == header.crc, "what is taken up is whole");
      at += RecordBytes(header.payload_bytes);
      explorer.Expect(ring.segment_start(lsn) == ring.segment_start(Lsn{taken.value + at - 1}), "no record spans");
    }
    record_count += count;
    taken = end;
    ring.Release(end);
    return true;
  }

  BasicLogRing<Policy> ring;
  Lsn taken;
  uint64_t record_count = 0;
  model::Plain<uint64_t> last_start;
};

template <typename Policy>
void CommittersAndFlusher(Explorer& explorer, const Scene& scene) {
  auto state = std::make_shared<State<Policy>>(scene);
  for (int i = 0; i < 3; ++i) state->ring.AddSegment();
  const uint64_t end = state->ring.geometry().start.value + scene.filled_bytes;
  size_t to_take = scene.committer_count;
  while (state->ring.next().value < end) {
    const uint64_t left = end - state->ring.next().value;
    const std::string payload(std::min(left - kRecordHeaderBytes, kLargePayload), 'f');
    explorer.Expect(state->TryAppend(payload, {}), "there is room");
    ++to_take;
    if (scene.flushed) state->Flush(explorer);
  }

  for (size_t i = 0; i < scene.committer_count; ++i) {
    explorer.Actor([state, &explorer, i, payload = std::string(scene.payload_bytes, static_cast<char>('a' + i)),
                    ordered = scene.ordered] {
      std::function<void(LogRange)> on_reserved;
      if (ordered) {
        on_reserved = [state = state.get(), &explorer](LogRange range) {
          explorer.Expect(range.start.value > state->last_start.get(), "calls come in the log's order");
          state->last_start.set(range.start.value);
        };
      }
      while (!state->TryAppend(payload, on_reserved)) explorer.Pause();
    });
  }
  explorer.Actor([state, &explorer, to_take] {
    while (state->record_count < to_take) {
      if (!state->Flush(explorer)) explorer.Pause();
    }
  });
  explorer.Finally([state, &explorer, to_take] {
    state->Flush(explorer);  // a pad may be the last
    explorer.Expect(state->record_count == to_take, "each record is taken up once");
    explorer.Expect(state->taken == state->ring.next(), "nothing is left over");
  });
}

const Scene kFresh;
const Scene kOrdered{.ordered = true};
// The first record wraps around the ring.
const Scene kWraps{.filled_bytes = kRingBytes - 32};
// Segment and ring end together, and the first record that comes does not fit before the end.
const Scene kSpans{.segment_capacity = kRingBytes, .filled_bytes = kRingBytes - 64};
// The slots of the ring's first lap are used again; in the second scene by actors, as soon as the flusher lets them.
const Scene kSecondLap{.filled_bytes = kRingBytes};
const Scene kReuse{.filled_bytes = 3 * kRingBytes / 4, .payload_bytes = kLargePayload, .flushed = false};
// There is room for one; the second waits until the flusher has given a block back.
const Scene kShort{.filled_bytes = kBlockBytes - 32, .payload_bytes = kLargePayload};

// ---- The production code ----

TEST(RingExplorationTest, WhatIsTakenUpIsWhole) {
  ExpectSound("two committers", kAll, [](Explorer& e) { CommittersAndFlusher<model::Concurrency>(e, kFresh); });
  ExpectSound("wrap around", kAll, [](Explorer& e) { CommittersAndFlusher<model::Concurrency>(e, kWraps); });
  ExpectSound("second lap", kAll, [](Explorer& e) { CommittersAndFlusher<model::Concurrency>(e, kSecondLap); });
  ExpectSound("slots used again", kBounded, [](Explorer& e) { CommittersAndFlusher<model::Concurrency>(e, kReuse); });
}

TEST(RingExplorationTest, PadsFillASegmentsEnd) {
  Scene one = kSpans;
  one.committer_count = 1;
  ExpectSound("a committer at a segment's end", kBoundedMore,
              [&](Explorer& e) { CommittersAndFlusher<model::Concurrency>(e, one); });
  ExpectSound("two committers at a segment's end", kBounded,
              [](Explorer& e) { CommittersAndFlusher<model::Concurrency>(e, kSpans); });
}

TEST(RingExplorationTest, ReservationsAreCalledInOrder) {
  ExpectSound("in order", kNoWeakFailures, [](Explorer& e) { CommittersAndFlusher<model::Concurrency>(e, kOrdered); });
}

TEST(RingExplorationTest, ACommitterWaitsForRoom) {
  ExpectSound("short of room", kOnePreemption,
              [](Explorer& e) { CommittersAndFlusher<model::Concurrency>(e, kShort); });
}

// ---- Planted bugs ----

struct PublishedBeforeCopied : model::Concurrency {
  struct Late {
    size_t actor;
    void* to;
    std::string bytes;
  };
  static inline std::vector<Late> late;
  static void Copy(void* to, const void* from, size_t size_bytes) {
    if (Explorer::InActor() == nullptr) {
      model::Concurrency::Copy(to, from, size_bytes);
    } else {
      late.push_back({Explorer::current().self(), to, std::string(static_cast<const char*>(from), size_bytes)});
    }
  }
  template <typename T>
  struct Atomic : model::Atomic<T> {
    using model::Atomic<T>::Atomic;
    void store(T value, std::memory_order order = std::memory_order_seq_cst) {
      model::Atomic<T>::store(value, order);
      if (Explorer::InActor() == nullptr) return;
      const size_t actor = Explorer::current().self();
      for (Late& copy : late) {
        if (copy.actor == actor) model::Concurrency::Copy(copy.to, copy.bytes.data(), copy.bytes.size());
      }
      std::erase_if(late, [&](const Late& copy) { return copy.actor == actor; });
    }
  };
};

struct PublishDoesNotRelease : model::Concurrency {
  template <typename T>
  struct Atomic : model::Atomic<T> {
    using model::Atomic<T>::Atomic;
    void store(T value, std::memory_order order = std::memory_order_seq_cst) {
      const bool publishes = order == std::memory_order_release;
      model::Atomic<T>::store(value, publishes ? std::memory_order_relaxed : order);
    }
  };
};

struct ReservedByAStore : model::Concurrency {
  template <typename T>
  struct Atomic : model::Atomic<T> {
    using model::Atomic<T>::Atomic;
    T fetch_add(T value) {
      const T old = this->load();
      this->store(old + value);
      return old;
    }
  };
};

struct LinkNotCleared : model::Concurrency {
  template <typename T>
  struct Atomic : model::Atomic<T> {
    using model::Atomic<T>::Atomic;
    void store(T value, std::memory_order order = std::memory_order_seq_cst) {
      if (value != T{} || Explorer::InActor() == nullptr) model::Atomic<T>::store(value, order);
    }
  };
};

TEST(RingExplorationTest, PlantedBugsAreCaught) {
  ExpectCaught("planted: published before copied", kAll,
               [](Explorer& e) { CommittersAndFlusher<PublishedBeforeCopied>(e, kFresh); });
  ExpectCaught("planted: publishing does not release", kAll,
               [](Explorer& e) { CommittersAndFlusher<PublishDoesNotRelease>(e, kFresh); });
  ExpectCaught("planted: reserved by a store", kAll,
               [](Explorer& e) { CommittersAndFlusher<ReservedByAStore>(e, kFresh); });
  ExpectCaught("planted: link not cleared", kAll, [](Explorer& e) { CommittersAndFlusher<LinkNotCleared>(e, kReuse); });
}

}  // namespace
}  // namespace sisal::wal
