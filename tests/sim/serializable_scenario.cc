// Serializable transactions in all orders: what they have read and written is one graph without a cycle.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "scenario.h"
#include "sisal/io/time.h"
#include "sisal/txn/store.h"

namespace sisal::sim {
namespace {

constexpr TreeId kTree{100};

// What one committed transaction has seen and done. A row's value names the transaction that wrote it, 0 the first one.
struct Done {
  uint64_t id = 0;
  Timestamp position;
  std::map<std::string, uint64_t> reads;
  std::set<std::string> writes;
};

// Dependencies between transactions (Adya, 1999): a version's writer comes before who reads it and before the writer of
// the next version, and who reads it before the latter too.
class History {
 public:
  void Add(Done done) { done_.push_back(std::move(done)); }

  // The members of a cycle, or empty.
  std::string FindCycle() {
    std::sort(done_.begin(), done_.end(), [](const Done& a, const Done& b) { return a.position < b.position; });
    std::map<std::string, std::vector<uint64_t>> versions;  // of each row, by commit
    for (const Done& done : done_) {
      for (const std::string& row : done.writes) {
        auto& of_row = versions.try_emplace(row, std::vector<uint64_t>{0}).first->second;
        edges_[of_row.back()].insert(done.id);
        of_row.push_back(done.id);
      }
    }
    for (const Done& done : done_) {
      for (const auto& [row, writer] : done.reads) {
        if (writer != 0 && writer != done.id) edges_[writer].insert(done.id);
        const auto of_row = versions.find(row);
        if (of_row == versions.end()) continue;
        const auto seen = std::find(of_row->second.begin(), of_row->second.end(), writer);
        if (seen == of_row->second.end()) return "a value that nobody has committed";
        if (std::next(seen) != of_row->second.end() && *std::next(seen) != done.id) {
          edges_[done.id].insert(*std::next(seen));
        }
      }
    }
    for (const Done& done : done_) {
      if (Visit(done.id)) return path_;
    }
    return "";
  }

 private:
  bool Visit(uint64_t id) {
    auto [at, is_new] = colors_.try_emplace(id, Color::kOpen);
    if (!is_new) {
      if (at->second == Color::kOpen) path_ = std::to_string(id);
      return at->second == Color::kOpen;
    }
    for (const uint64_t next : edges_[id]) {
      if (!Visit(next)) continue;
      path_ += " <- " + std::to_string(id);
      return true;
    }
    colors_[id] = Color::kClosed;
    return false;
  }

  enum class Color { kOpen, kClosed };
  std::vector<Done> done_;
  std::map<uint64_t, std::set<uint64_t>> edges_;
  std::map<uint64_t, Color> colors_;
  std::string path_;
};

class Clients {
 public:
  Clients(Run& run, txn::Store& store) : run_(run), store_(store), rows_(2 + run.random.Below(5)) {}

  void Fill() {
    const auto writer = store_.Begin({});
    for (uint64_t row = 0; row < rows_; ++row) {
      Must(writer->Lock(kTree, NameOf(row), txn::LockMode::kExclusive, txn::LockWait::kWait, txn::Conflict::kIgnore));
      Must(writer->Put(kTree, NameOf(row), "0"));
    }
    Must(writer->Commit({}).status());
  }

  void RunClient(uint64_t transactions) {
    for (uint64_t i = 0; i < transactions && !run_.failed(); ++i) RunOne();
  }

  void Check() {
    const std::string cycle = history_.FindCycle();
    if (!cycle.empty()) run_.Fail("serializable transactions in a circle: " + cycle);
  }

 private:
  static std::string NameOf(uint64_t row) { return "row" + std::to_string(row); }
  void Must(const Status& status) {
    if (!status.ok()) run_.Fail("a call that cannot fail: " + status.ToString());
  }

  void RunOne() {
    const bool read_only = run_.random.OneIn(4);
    const auto transaction = store_.Begin({.isolation = txn::Isolation::kSerializable,
                                           .read_only = read_only,
                                           .deferrable = read_only && run_.random.OneIn(3)});
    Done done;
    done.id = next_id_++;
    const Status played = Play(*transaction, read_only, done);
    if (!played.ok()) return NoteFailure(*transaction, played);
    if (run_.random.OneIn(3)) io::SleepFor(Duration(run_.random.Below(50'000)));
    const auto committed = transaction->Commit({});
    if (!committed.ok()) return NoteFailure(*transaction, committed.status());
    // One that wrote nothing has no place among the versions.
    done.position = committed->position;
    history_.Add(std::move(done));
  }

  void NoteFailure(txn::Transaction& transaction, const Status& why) {
    if (why.sqlstate() != "40001" && why.sqlstate() != "40P01") Must(why);
    if (transaction.options().deferrable) run_.Fail("a deferrable transaction fails: " + why.ToString());
  }

  Status Play(txn::Transaction& transaction, bool read_only, Done& done) {
    SISAL_RETURN_IF_ERROR(transaction.TakeSnapshot());
    const uint64_t steps = 1 + run_.random.Below(4);
    for (uint64_t i = 0; i < steps; ++i) {
      if (run_.random.OneIn(3)) io::Yield();
      const std::string row = NameOf(run_.random.Below(rows_));
      const uint64_t kind = run_.random.Below(read_only ? 4 : 8);
      if (kind == 0) {
        SISAL_RETURN_IF_ERROR(Scan(transaction, row, done));
      } else if (kind < 4) {
        SISAL_RETURN_IF_ERROR(Read(transaction, row, done));
      } else {
        SISAL_RETURN_IF_ERROR(
            transaction.Lock(kTree, row, txn::LockMode::kExclusive, txn::LockWait::kWait, txn::Conflict::kCheck));
        SISAL_RETURN_IF_ERROR(transaction.Put(kTree, row, std::to_string(done.id)));
        done.writes.insert(row);
      }
    }
    return Status();
  }

  void NoteRead(Done& done, const std::string& row, std::string_view value) {
    const uint64_t writer = std::stoull(std::string(value));
    if (writer == done.id) return;
    const auto [seen, is_new] = done.reads.try_emplace(row, writer);
    if (!is_new && seen->second != writer) run_.Fail("a row has changed within a transaction");
  }

  Status Read(txn::Transaction& transaction, const std::string& row, Done& done) {
    Arena arena;
    SISAL_ASSIGN_OR_RETURN(const auto value, transaction.Get(kTree, row, arena));
    if (!value) return Error("XX000", "a row is missing");
    NoteRead(done, row, *value);
    return Status();
  }

  // From `row` on, one row or all, in either direction.
  Status Scan(txn::Transaction& transaction, const std::string& row, Done& done) {
    const bool forward = run_.random.OneIn(2), all = run_.random.OneIn(2);
    txn::KeyRange range;
    (forward ? range.lower : range.upper) = row;
    const auto cursor = transaction.Scan(kTree, range, forward ? txn::Direction::kForward : txn::Direction::kBackward);
    txn::EntryBatch batch;
    do {
      SISAL_RETURN_IF_ERROR(cursor->Next(all ? 2 : 1, batch));
      for (size_t i = 0; i < batch.keys.size(); ++i) NoteRead(done, std::string(batch.keys[i]), batch.values[i]);
    } while (all && !batch.keys.empty());
    return Status();
  }

  Run& run_;
  txn::Store& store_;
  const uint64_t rows_;
  uint64_t next_id_ = 1;  // the simulation has one thread
  History history_;
};

}  // namespace

void PlaySerializable(Run& run) {
  SimDisk disk(run.random.Next());
  Simulate(run, DrawOptions(run, disk), [&](io::Runtime& runtime) {
    txn::StoreOptions options;
    options.log.segment_bytes = 1 << 20;
    options.log.write_method = wal::WriteMethod::kBufferedSync;
    if (run.random.OneIn(2)) options.log.durability = wal::Durability::kNormal;
    auto opened = txn::Store::Open(runtime, "/sim", options, nullptr);
    if (!opened.ok()) return run.Fail("the store does not start: " + opened.status().ToString());
    Clients clients(run, **opened);
    clients.Fill();
    Crew crew(runtime);
    const uint64_t count = 2 + run.random.Below(5), each = 5 + run.random.Below(20);
    for (uint64_t i = 0; i < count; ++i) crew.Add("client", [&] { clients.RunClient(each); });
    crew.WaitForAll();
    clients.Check();
    (*opened)->Abandon();
  });
}

}  // namespace sisal::sim
