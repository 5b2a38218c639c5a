#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <string>
#include <thread>

#include "sisal/base/random.h"
#include "sisal/btree/tree.h"
#include "sisal/testing/status_matchers.h"

namespace sisal::btree {
namespace {

constexpr auto kIgnore = [](const Entry&) {};

struct ModelEntry {
  Timestamp begin;
  std::optional<std::string> value;
};
using Model = std::map<std::string, ModelEntry>;

// Short keys over a small alphabet, zero bytes included: many collisions, prefixes of each other, equal first bytes.
std::string RandomKey(Random& random) {
  std::string key(random.Below(12), '\0');
  for (char& byte : key) byte = static_cast<char>(random.OneIn(3) ? 0 : random.OneIn(2) ? 0xff : 'a');
  return key;
}

void ExpectEntry(const Entry& entry, const Model::value_type& expected) {
  EXPECT_EQ(entry.key, expected.first);
  EXPECT_EQ(entry.begin, expected.second.begin);
  EXPECT_EQ(entry.tombstone, !expected.second.value);
  EXPECT_EQ(entry.value, expected.second.value.value_or(""));
}

void ExpectSameForward(const Tree& tree, const Model& model, const std::string& lower,
                       const std::optional<std::string>& upper, size_t limit) {
  auto expected = model.lower_bound(lower);
  std::string from = lower;
  for (bool after = false, ended = false; !ended; after = true) {
    Arena arena;
    std::vector<Entry> entries;
    ended = tree.ScanForward(from, after, upper, limit, arena, entries);
    EXPECT_LE(entries.size(), limit);
    for (const Entry& entry : entries) {
      ASSERT_NE(expected, model.end());
      ExpectEntry(entry, *expected++);
      from = entry.key;
    }
  }
  EXPECT_TRUE(expected == model.end() || (upper && expected->first >= *upper));
}

void ExpectSameBackward(const Tree& tree, const Model& model, const std::string& lower,
                        const std::optional<std::string>& upper, size_t limit) {
  auto expected = upper ? model.lower_bound(*upper) : model.end();
  std::optional<std::string> below = upper;
  for (bool ended = false; !ended;) {
    Arena arena;
    std::vector<Entry> entries;
    ended = tree.ScanBackward(below, lower, limit, arena, entries);
    EXPECT_LE(entries.size(), limit);
    for (const Entry& entry : entries) {
      ASSERT_NE(expected, model.begin());
      ExpectEntry(entry, *--expected);
      below = std::string(entry.key);
    }
  }
  EXPECT_TRUE(expected == model.begin() || std::prev(expected)->first < lower);
}

TEST(MemoryTreeTest, RandomOperationsMatchAnOrderedMap) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const std::unique_ptr<Tree> tree = MakeMemoryTree();
  Model model;
  for (uint64_t step = 1; step <= 20000; ++step) {
    const std::string key = RandomKey(random);
    const auto present = model.find(key);
    if (random.OneIn(3)) {
      const bool remove = random.OneIn(2);
      bool seen = false;
      const bool removed = tree->RemoveIf(key, [&](const Entry& entry) {
        seen = true;
        ExpectEntry(entry, *present);
        return remove;
      });
      EXPECT_EQ(seen, present != model.end());
      EXPECT_EQ(removed, seen && remove);
      if (removed) model.erase(present);
    } else {
      std::optional<std::string> value;
      if (!random.OneIn(4)) value = std::string(random.Below(40), 'v');
      bool replaced = false;
      tree->Put(key, Timestamp{step}, value, [&](const Entry& entry) {
        replaced = true;
        ExpectEntry(entry, *present);
      });
      EXPECT_EQ(replaced, present != model.end());
      if (value || replaced) model[key] = {Timestamp{step}, value};
    }
    if (step % 500 != 0) continue;
    ASSERT_OK(tree->CheckInvariants());
    EXPECT_EQ(tree->Stats().entries, model.size());
    std::string lower = RandomKey(random), upper = RandomKey(random);
    if (upper < lower) std::swap(lower, upper);
    const size_t limit = 1 + random.Below(20);
    ExpectSameForward(*tree, model, "", std::nullopt, limit);
    ExpectSameForward(*tree, model, lower, upper, limit);
    ExpectSameBackward(*tree, model, "", std::nullopt, limit);
    ExpectSameBackward(*tree, model, lower, upper, limit);
  }
}

TEST(MemoryTreeTest, GetCopiesTheValueOnlyForWhoMaySeeIt) {
  const std::unique_ptr<Tree> tree = MakeMemoryTree();
  tree->Put("k", Timestamp{10}, "value", kIgnore);
  Arena arena;
  Entry entry;
  ASSERT_TRUE(tree->Get("k", Timestamp{9}, arena, entry));
  EXPECT_EQ(entry.begin, Timestamp{10});
  EXPECT_TRUE(entry.value.empty());
  ASSERT_TRUE(tree->Get("k", Timestamp{10}, arena, entry));
  EXPECT_EQ(entry.value, "value");
  EXPECT_FALSE(tree->Get("K", Timestamp{10}, arena, entry));
}

TEST(MemoryTreeTest, ATombstoneForAnAbsentKeyLeavesNothing) {
  const std::unique_ptr<Tree> tree = MakeMemoryTree();
  tree->Put("k", Timestamp{1}, std::nullopt, kIgnore);
  EXPECT_EQ(tree->Stats().entries, 0u);
  EXPECT_EQ(tree->Begin("k"), std::nullopt);
}

TEST(MemoryTreeTest, AScanOfLongValuesLeavesEarly) {
  const std::unique_ptr<Tree> tree = MakeMemoryTree();
  const std::string value(20000, 'x');
  for (char c = 'a'; c <= 'e'; ++c) tree->Put(std::string(1, c), Timestamp{1}, value, kIgnore);
  Arena arena;
  std::vector<Entry> entries;
  EXPECT_FALSE(tree->ScanForward("", false, std::nullopt, 100, arena, entries));
  EXPECT_EQ(entries.size(), 1u);
}

TEST(MemoryTreeTest, DiscardFreesInSteps) {
  const std::unique_ptr<Tree> tree = MakeMemoryTree();
  for (uint64_t i = 0; i < 10; ++i) tree->Put(std::to_string(i), Timestamp{i}, "v", kIgnore);
  EXPECT_EQ(tree->Discard(4), 4u);
  ASSERT_OK(tree->CheckInvariants());
  EXPECT_EQ(tree->Discard(100), 6u);
  EXPECT_EQ(tree->Stats().bytes, 0u);
}

// Each key's value is its begin timestamp, written by one thread per key; readers find them equal, keys ascending.
TEST(MemoryTreeTest, ReadersSeeWholeEntriesWhileWritersReplaceThem) {
  const std::unique_ptr<Tree> tree = MakeMemoryTree();
  std::atomic<int> writing{2};
  const auto write = [&](char prefix) {
    for (uint64_t step = 1; step <= 20000; ++step) {
      const std::string key = prefix + std::to_string(step % 97);
      tree->Put(key, Timestamp{step}, std::to_string(step), kIgnore);
      if (step % 5 == 0) tree->RemoveIf(key, [](const Entry&) { return true; });
    }
    --writing;
  };
  const auto read = [&] {
    while (writing > 0) {
      Arena arena;
      std::vector<Entry> entries;
      tree->ScanForward("", false, std::nullopt, 1000, arena, entries);
      for (size_t i = 0; i < entries.size(); ++i) {
        EXPECT_EQ(entries[i].value, std::to_string(entries[i].begin.value));
        if (i > 0) {
          EXPECT_LT(entries[i - 1].key, entries[i].key);
        }
      }
    }
  };
  std::thread threads[] = {std::thread(write, 'a'), std::thread(write, 'b'), std::thread(read), std::thread(read)};
  for (std::thread& thread : threads) thread.join();
  EXPECT_OK(tree->CheckInvariants());
}

}  // namespace
}  // namespace sisal::btree
