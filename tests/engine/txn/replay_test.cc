// Replay on all loops leaves what replay on one fiber leaves.
#include "replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "sisal/base/random.h"
#include "sisal/io/runtime.h"
#include "sisal/testing/status_matchers.h"

namespace sisal::txn {
namespace {

struct Record {
  wal::RecordType type;
  std::string payload;
};

struct LogShape {
  int commits = 400;
  uint64_t rows_max = 120;  // of a commit
  uint64_t keys = 300;      // of a tree
  uint64_t value_bytes_max = 60;
};

class LogMaker {
 public:
  LogMaker(uint64_t seed, LogShape shape) : random_(seed), shape_(shape) {}

  std::vector<Record> Make() {
    for (int i = 0; i < shape_.commits; ++i) {
      if (random_.OneIn(10)) {
        AddChunked(/*committed=*/!random_.OneIn(3));
      } else {
        const std::string operations = Operations();
        Add(wal::RecordType::kCommit, Header(), operations);
      }
    }
    return std::move(records_);
  }
  static uint64_t Bytes(const Record& record) { return 64 + record.payload.size(); }

 private:
  std::string Operations() {
    std::string bytes;
    operation_count_ = 1 + random_.Below(shape_.rows_max);
    for (uint64_t i = 0; i < operation_count_; ++i) {
      // Few trees, so that rows follow the end of their tree.
      const TreeId tree{static_cast<uint32_t>(100 + random_.Below(4))};
      if (random_.OneIn(2000)) {
        AppendOperation({OperationKind::kDropTree, tree, {}, {}}, bytes);
        continue;
      }
      const uint64_t number = __builtin_bswap64(random_.Below(shape_.keys));
      const std::string key(reinterpret_cast<const char*>(&number), sizeof(number));
      if (random_.OneIn(4)) {
        AppendOperation({OperationKind::kDelete, tree, key, {}}, bytes);
      } else {
        const std::string value(random_.Below(shape_.value_bytes_max + 1), static_cast<char>('a' + random_.Below(26)));
        AppendOperation({OperationKind::kPut, tree, key, value}, bytes);
      }
    }
    return bytes;
  }
  CommitHeader Header() const {
    CommitHeader header;
    header.next_tree = 104;
    header.operation_count = operation_count_;
    return header;
  }
  void AddChunked(bool committed) {
    const std::string operations = Operations();
    CommitHeader header = Header();
    header.chunked = true;
    header.chunk_txn = TxnId{++txn_};
    header.first_chunk = Lsn{position_};
    header.chunk_bytes = operations.size();
    for (size_t done = 0; done < operations.size(); ++header.chunk_count) {
      const size_t size = std::min<size_t>(1 + random_.Below(2000), operations.size() - done);
      std::string payload;
      AppendChunkHeader({header.chunk_txn, header.chunk_count}, payload);
      Add({wal::RecordType::kChunk, payload.append(operations, done, size)});
      done += size;
    }
    if (committed) Add(wal::RecordType::kCommit, header, "");
  }
  void Add(wal::RecordType type, const CommitHeader& header, std::string_view rest) {
    std::string payload;
    AppendCommitHeader(header, payload);
    Add({type, payload.append(rest)});
  }
  void Add(Record record) {
    position_ += Bytes(record);
    records_.push_back(std::move(record));
  }

  Random random_;
  const LogShape shape_;
  std::vector<Record> records_;
  uint64_t position_ = 1000;
  uint64_t operation_count_ = 0;
  uint64_t txn_ = 0;
};

// All that replay leaves, as text.
struct Outcome {
  Status status;
  std::string trees;
  uint64_t commits = 0;
  Timestamp last_commit;
};

std::string Dump(const TreeDirectory& trees) {
  std::string text = "next " + std::to_string(trees.next_id());
  for (uint32_t id = 100; id < 104; ++id) {
    const TreePtr tree = trees.Find(TreeId{id});
    if (tree == nullptr) continue;
    text += "\ntree " + std::to_string(id) + " row " + std::to_string(tree->row_number.load());
    EXPECT_OK(tree->tree->CheckInvariants());
    std::string from;
    bool after = false;
    for (bool at_end = false; !at_end;) {
      Arena arena;
      std::vector<btree::Entry> entries;
      at_end = tree->tree->ScanForward(from, after, std::nullopt, 100, arena, entries);
      for (const btree::Entry& entry : entries) {
        text += "\n" + std::string(entry.key) + "@" + std::to_string(entry.begin.value) + "=";
        text += entry.tombstone ? "tombstone" : std::string(entry.value);
        from = std::string(entry.key);
        after = true;
      }
    }
  }
  return text;
}

Outcome Replay(size_t loop_count, const std::vector<Record>& records) {
  const std::unique_ptr<io::Runtime> runtime = io::Runtime::Start({.loop_count = loop_count}).value();
  Outcome outcome;
  runtime->RunAndWait("replay", [&] {
    TreeDirectory trees;
    Replayer replayer(trees, *runtime);
    uint64_t position = 1000;
    for (const Record& record : records) {
      const Lsn start{position};
      position += LogMaker::Bytes(record);
      // Its bytes are gone after the call, as those of a reader's window.
      const auto payload = std::make_unique<std::string>(record.payload);
      outcome.status = replayer.Visit({start, Lsn{position}, record.type, *payload});
      if (!outcome.status.ok()) break;
    }
    replayer.Finish();
    outcome.trees = Dump(trees);
    outcome.commits = replayer.commits();
    outcome.last_commit = replayer.last_commit();
  });
  return outcome;
}

void ExpectEqualOutcomes(const std::vector<Record>& records) {
  const Outcome one = Replay(1, records);
  EXPECT_OK(one.status);
  for (const size_t loop_count : {2, 5}) {
    const Outcome many = Replay(loop_count, records);
    EXPECT_OK(many.status);
    EXPECT_TRUE(many.trees == one.trees) << loop_count << " loops";  // too long to print
    EXPECT_EQ(many.commits, one.commits);
    EXPECT_EQ(many.last_commit, one.last_commit);
  }
}

TEST(ParallelReplayTest, AnyNumberOfLoopsLeavesTheSameRows) {
  const uint64_t seed = std::random_device()();
  for (uint64_t i = 0; i < 12 && !::testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("seed " + std::to_string(seed + i));
    ExpectEqualOutcomes(LogMaker(seed + i, {}).Make());
  }
}

TEST(ParallelReplayTest, AShortLogNeedsNoOtherLoop) {
  ExpectEqualOutcomes(LogMaker(1, {.commits = 3}).Make());
  ExpectEqualOutcomes({});
}

// More bytes than may be on the way at once: the reader waits for the workers, again and again.
TEST(ParallelReplayTest, LargeRowsPassThroughTheMemoryBound) {
  ExpectEqualOutcomes(LogMaker(2, {.commits = 60, .rows_max = 20, .keys = 50, .value_bytes_max = 400'000}).Make());
}

TEST(ParallelReplayTest, ADamagedRecordEndsItAsOnOneLoop) {
  std::vector<Record> records = LogMaker(3, {}).Make();
  const auto damaged = std::find_if(records.begin() + static_cast<ptrdiff_t>(records.size() / 2), records.end(),
                                    [](const Record& record) { return record.type == wal::RecordType::kCommit; });
  damaged->payload.append("x");
  const Outcome one = Replay(1, records);
  const Outcome many = Replay(4, records);
  EXPECT_SQLSTATE(one.status, "XX001");
  EXPECT_SQLSTATE(many.status, "XX001");
  EXPECT_EQ(one.status.ToString(), many.status.ToString());
}

}  // namespace
}  // namespace sisal::txn
