// The ring alone: ranges, padding at segment ends, credit, and no range taken before it is whole.
#include "ring.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "sisal/base/bytes.h"
#include "sisal/base/random.h"

namespace sisal::wal {
namespace {

constexpr uint64_t kCapacity = 16 * kBlockBytes;

RingGeometry SmallGeometry() {
  RingGeometry geometry;
  geometry.start = Lsn{kBlockBytes};
  geometry.segment_capacity = kCapacity;
  geometry.ring_bytes = kCapacity / 2;
  geometry.open_salt = 42;
  return geometry;
}

LogRange Append(LogRing& ring, const std::string& payload) {
  const std::string_view pieces[] = {payload};
  return ring.Append(RecordType::kCommit, pieces, payload.size(), Lsn{}, {});
}

// Takes up what is whole, and checks each record in it. Returns the payloads.
struct Consumer {
  explicit Consumer(LogRing& ring) : ring(ring), taken(ring.geometry().start) {}
  std::vector<std::string> Take() {
    uint64_t record_count = 0;
    const Lsn end = ring.AdvanceCompleted(record_count);
    std::string bytes;
    for (Lsn at = taken; at < end; at.value = taken.value + bytes.size()) {
      const auto piece = ring.Peek(at, end);
      bytes.append(piece.data(), piece.size());
    }
    std::vector<std::string> payloads;
    for (uint64_t at = 0; at < bytes.size();) {
      RecordHeader header;
      const Lsn lsn{taken.value + at};
      EXPECT_TRUE(DecodeRecordHeader(bytes.data() + at, lsn, header));
      const uint64_t salt = SegmentSalt(ring.geometry().open_salt, ring.segment_start(lsn));
      uint32_t crc = RecordCrcSeed(salt, header);
      const std::string payload = bytes.substr(at + kRecordHeaderBytes, header.payload_bytes);
      if (header.type != RecordType::kPad) crc = Crc32c(payload, crc);
      EXPECT_EQ(crc, header.crc);
      EXPECT_EQ(ring.segment_start(lsn), ring.segment_start(Lsn{lsn.value + RecordBytes(header.payload_bytes) - 1}));
      if (header.type != RecordType::kPad) payloads.push_back(payload);
      at += RecordBytes(header.payload_bytes);
    }
    EXPECT_EQ(payloads.size(), record_count);
    taken = end;
    ring.Release(end);
    return payloads;
  }
  LogRing& ring;
  Lsn taken;
};

TEST(RingTest, NoRoomWithoutASegment) {
  LogRing ring(SmallGeometry());
  EXPECT_FALSE(ring.TryPromise(0, 0));
  EXPECT_TRUE(ring.LacksSegment(0, 0));
  ring.AddSegment();
  EXPECT_TRUE(ring.TryPromise(0, 0));
}

TEST(RingTest, PromisesStopAtTheRingsSize) {
  LogRing ring(SmallGeometry());
  ring.AddSegment();
  EXPECT_TRUE(ring.TryPromise(ring.payload_bytes_max(), 0));
  EXPECT_FALSE(ring.TryPromise(ring.payload_bytes_max(), 0));
  EXPECT_FALSE(ring.LacksSegment(ring.payload_bytes_max(), 0));
  ring.GiveBack(ring.payload_bytes_max());
  EXPECT_TRUE(ring.TryPromise(ring.payload_bytes_max(), 0));
}

TEST(RingTest, ARangeThatWouldSpanASegmentsEndBecomesPadding) {
  LogRing ring(SmallGeometry());
  Consumer consumer(ring);
  ring.AddSegment();
  ring.AddSegment();
  const std::string payload(5000, 'x');
  std::vector<std::string> taken;
  LogRange range;
  do {
    ASSERT_TRUE(ring.TryPromise(payload.size(), 0));
    range = Append(ring, payload);
    for (auto& p : consumer.Take()) taken.push_back(p);
  } while (ring.segment_start(range.start) == ring.geometry().start);
  EXPECT_EQ(taken.size(), 13u);
  EXPECT_GT(range.start.value, ring.geometry().start.value + kCapacity);
  EXPECT_EQ(consumer.taken, range.end);
}

TEST(RingTest, ManyThreadsLoseNothing) {
  LogRing ring(SmallGeometry());
  Consumer consumer(ring);
  constexpr int kThreadCount = 3;
  constexpr uint64_t kRecordsEach = 20'000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreadCount; ++t) {
    threads.emplace_back([&ring, t] {
      Random random(t + 1);
      for (uint64_t i = 0; i < kRecordsEach; ++i) {
        std::string payload(16 + random.Below(random.OneIn(50) ? 8000 : 200), static_cast<char>('a' + t));
        StoreLittle<uint64_t>(payload.data(), t);
        StoreLittle<uint64_t>(payload.data() + 8, i);
        while (!ring.TryPromise(payload.size(), 0)) std::this_thread::yield();
        Append(ring, payload);
      }
    });
  }
  uint64_t next[kThreadCount] = {};
  uint64_t taken = 0;
  while (taken < kThreadCount * kRecordsEach) {
    if (ring.prepared_end().value < ring.next().value + kCapacity) ring.AddSegment();
    for (const std::string& payload : consumer.Take()) {
      const uint64_t thread = LoadLittle<uint64_t>(payload.data());
      EXPECT_EQ(LoadLittle<uint64_t>(payload.data() + 8), next[thread]++);
      ++taken;
    }
    std::this_thread::yield();
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(consumer.taken, ring.next());
}

}  // namespace
}  // namespace sisal::wal
