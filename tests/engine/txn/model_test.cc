// Random transactions, several open at a time, against a model that keeps the whole database of each commit.
#include <map>
#include <random>
#include <vector>

#include "sisal/base/random.h"
#include "txn_fixture.h"

namespace sisal::txn {
namespace {

using Rows = std::map<std::string, std::string>;

struct OpenTransaction {
  std::unique_ptr<Transaction> transaction;
  Rows base;                                              // the rows at its snapshot
  std::map<std::string, std::optional<std::string>> own;  // its writes
  std::vector<std::pair<Mark, decltype(own)>> marks;

  Rows Visible() const {
    Rows rows = base;
    for (const auto& [key, value] : own) {
      if (value) {
        rows[key] = *value;
      } else {
        rows.erase(key);
      }
    }
    return rows;
  }
};

class ModelTest : public TxnTest {
 protected:
  ModelTest() : TxnTest(/*loop_count=*/1) {}

  std::string RandomKey() { return "k" + std::to_string(random_.Below(40)); }
  const Rows& RowsAt(Timestamp snapshot) { return std::prev(history_.upper_bound(snapshot))->second; }

  void BeginOne() {
    OpenTransaction open;
    open.transaction = Begin({.read_only = random_.OneIn(5)});
    open.base = RowsAt(open.transaction->snapshot());
    open_.push_back(std::move(open));
  }

  void WriteOne(OpenTransaction& open) {
    if (open.transaction->options().read_only) return;
    const std::string key = RandomKey();
    std::optional<std::string> value;
    if (!random_.OneIn(3)) value = std::string(random_.Below(30), static_cast<char>('a' + random_.Below(26)));
    const Status locked = open.transaction->Lock(kTree, key, LockMode::kExclusive, LockWait::kNoWait, Conflict::kCheck);
    const auto newest = [&](const Rows& rows) {
      const auto found = rows.find(key);
      return found == rows.end() ? std::nullopt : std::optional(found->second);
    };
    if (locked.ok()) {
      // No conflict: the newest version is what the snapshot sees.
      EXPECT_EQ(newest(open.base), newest(history_.rbegin()->second)) << key;
      ASSERT_OK(value ? open.transaction->Put(kTree, key, *value) : open.transaction->Delete(kTree, key));
      open.own[key] = value;
    } else if (locked.sqlstate() == "40001") {
      EXPECT_TRUE(changed_.contains(key) && changed_[key] > open.transaction->snapshot());
    } else {
      EXPECT_SQLSTATE(locked, "55P03");
    }
  }

  void CheckReads(OpenTransaction& open) {
    const Rows expected = open.Visible();
    const std::string key = RandomKey();
    const auto found = expected.find(key);
    const std::optional<std::string> value = Read(*open.transaction, key);
    EXPECT_EQ(value, found == expected.end() ? std::nullopt : std::optional(found->second)) << key;

    KeyRange range{random_.OneIn(3) ? "" : RandomKey(), random_.OneIn(3) ? "" : RandomKey()};
    std::string forward, backward;
    for (const auto& [k, v] : expected) {
      if (k < range.lower || (!range.upper.empty() && k >= range.upper)) continue;
      const std::string entry = k + "=" + v + " ";
      forward += entry;
      backward = entry + backward;
    }
    const size_t limit = 1 + random_.Below(10);
    EXPECT_EQ(ReadAll(*open.transaction, kTree, range, Direction::kForward, limit), forward);
    EXPECT_EQ(ReadAll(*open.transaction, kTree, range, Direction::kBackward, limit), backward);
  }

  void MarkOrUndo(OpenTransaction& open) {
    if (open.marks.empty() || random_.OneIn(2)) {
      open.marks.emplace_back(open.transaction->SetMark(), open.own);
    } else {
      open.transaction->RollbackTo(open.marks.back().first);
      open.own = open.marks.back().second;
      open.marks.pop_back();
    }
  }

  void EndOne(size_t index) {
    OpenTransaction open = std::move(open_[index]);
    open_.erase(open_.begin() + static_cast<ptrdiff_t>(index));
    if (random_.OneIn(4)) {
      open.transaction->Rollback();
      return;
    }
    ASSERT_OK_AND_ASSIGN(const CommitResult result, open.transaction->Commit({}));
    EXPECT_EQ(result.position == Timestamp(), open.own.empty());
    if (open.own.empty()) return;
    open.base = history_.rbegin()->second;
    history_[result.position] = open.Visible();
    for (const auto& [key, value] : open.own) changed_[key] = result.position;
  }

  void Step() {
    if (open_.size() < 6 && (open_.empty() || random_.OneIn(4))) return BeginOne();
    const size_t index = random_.Below(open_.size());
    switch (random_.Below(8)) {
      case 0:
        return EndOne(index);
      case 1:
        return MarkOrUndo(open_[index]);
      case 2:
      case 3:
        return CheckReads(open_[index]);
      case 4:
        return Sweeper::Sweep(store_->core());
      default:
        return WriteOne(open_[index]);
    }
  }

  const uint64_t seed_ = std::random_device()();
  Random random_{seed_};
  std::map<Timestamp, Rows> history_ = {{Timestamp(), {}}};  // rows as of each commit
  std::map<std::string, Timestamp> changed_;                 // last commit that wrote the key
  std::vector<OpenTransaction> open_;
};

TEST_F(ModelTest, RandomTransactionsReadAsTheModelAndSurviveRestarts) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  Run([&] {
    Open();
    for (int restart = 0; restart < 3 && !HasFailure(); ++restart) {
      for (int step = 0; step < 4000 && !HasFailure(); ++step) Step();
      open_.clear();
      Sweeper::Sweep(store_->core());
      const Rows& rows = history_.rbegin()->second;
      EXPECT_EQ(store_->Stats().versions, 0u);
      EXPECT_EQ(store_->Stats().entries, rows.size());
      EXPECT_TRUE(store_->core().intents.empty());
      if (const TreePtr tree = store_->core().trees.Find(kTree)) EXPECT_OK(tree->tree->CheckInvariants());
      Reopen();
      std::string all;
      for (const auto& [key, value] : rows) all += key + "=" + value + " ";
      EXPECT_EQ(ReadAll(*Begin({.read_only = true})), all);
    }
  });
}

}  // namespace
}  // namespace sisal::txn
