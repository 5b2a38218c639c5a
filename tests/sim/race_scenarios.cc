// Races without crashes: waiting and waking, snapshots, first committer wins, deadlocks.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scenario.h"
#include "sisal/base/bytes.h"
#include "sisal/io/time.h"
#include "sisal/txn/store.h"

namespace sisal::sim {
namespace {

constexpr char kDirectory[] = "/sim";
constexpr TreeId kTree{100};

// ---- Waiting and waking ----

// Producers and consumers over a bounded queue; whoever sleeps through a wake sleeps for ever.
void PlayQueue(Run& run, io::Runtime& runtime) {
  struct Queue {
    io::Mutex mutex;
    io::Condition changed;
    size_t items = 0, put = 0, taken = 0;
  };
  Queue queue;
  const size_t capacity = 1 + run.random.Below(3), each = 5 + run.random.Below(20);
  const size_t pairs = 1 + run.random.Below(4);
  Crew crew(runtime);
  for (size_t i = 0; i < pairs; ++i) {
    crew.Add("producer", [&, each] {
      for (size_t n = 0; n < each; ++n) {
        io::MutexLock lock(queue.mutex);
        while (queue.items == capacity) queue.changed.Wait(lock);
        ++queue.items, ++queue.put;
        queue.changed.NotifyAll();
      }
    });
    crew.Add("consumer", [&, each] {
      for (size_t n = 0; n < each; ++n) {
        io::MutexLock lock(queue.mutex);
        while (queue.items == 0) queue.changed.Wait(lock);
        --queue.items, ++queue.taken;
        queue.changed.NotifyAll();
      }
    });
  }
  crew.WaitForAll();
  if (queue.items != 0 || queue.put != pairs * each || queue.taken != queue.put) run.Fail("the queue lost items");
}

// Waits that a timer, a cancel and a wake race to end: each ends once, and nobody is left.
void PlayInterrupts(Run& run, io::Runtime& runtime) {
  struct Gate {
    io::SpinLatch latch;
    io::WaitList waiters;
    bool open = false;
  };
  Gate gate;
  io::CancelToken cancel;
  uint64_t woken = 0, timed_out = 0, cancelled = 0;
  const uint64_t count = 3 + run.random.Below(8);
  Crew crew(runtime);
  for (uint64_t i = 0; i < count; ++i) {
    const Duration patience(run.random.Below(20'000));
    const bool is_timed = run.random.OneIn(2), is_cancelled = run.random.OneIn(2);
    crew.Add("waiter", [&, patience, is_timed, is_cancelled] {
      io::Interrupt interrupt;
      if (is_timed) interrupt.deadline = io::Now() + patience;
      if (is_cancelled) interrupt.cancel = &cancel;
      gate.latch.lock();
      io::WaitResult result = io::WaitResult::kWoken;
      while (!gate.open && result == io::WaitResult::kWoken) {
        io::WaitList::Node node;
        gate.waiters.Add(node);
        gate.latch.unlock();
        result = node.Park(interrupt);
        gate.latch.lock();
        if (result != io::WaitResult::kWoken && !gate.waiters.Remove(node)) result = io::WaitResult::kWoken;
      }
      gate.latch.unlock();
      ++(result == io::WaitResult::kWoken ? woken : result == io::WaitResult::kTimedOut ? timed_out : cancelled);
    });
  }
  crew.Add("canceller", [&, delay = Duration(run.random.Below(20'000))] {
    io::SleepFor(delay);
    cancel.Cancel(Error{"57014", "cancelled"});
  });
  crew.Add("opener", [&, delay = Duration(run.random.Below(20'000))] {
    io::SleepFor(delay);
    gate.latch.lock();
    gate.open = true;
    gate.waiters.WakeAll();
    gate.latch.unlock();
  });
  crew.WaitForAll();
  if (woken + timed_out + cancelled != count) run.Fail("a wait ended twice, or never");
}

// A chain of events, each set by the one before, and a mutex that all go through.
void PlayRelay(Run& run, io::Runtime& runtime) {
  const size_t length = 2 + run.random.Below(12);
  std::vector<std::unique_ptr<io::Event>> events;
  for (size_t i = 0; i <= length; ++i) events.push_back(std::make_unique<io::Event>());
  io::Mutex mutex;
  uint64_t passed = 0, inside = 0;
  Crew crew(runtime);
  for (size_t i = 0; i < length; ++i) {
    crew.Add("runner", [&, i] {
      events[i]->Wait();
      for (int turn = 0; turn < 3; ++turn) {
        io::MutexLock lock(mutex);
        if (++inside != 1) run.Fail("two fibers hold a mutex");
        io::Yield();
        --inside;
        ++passed;
      }
      events[i + 1]->Set();
    });
  }
  for (size_t i = 0; i < 4; ++i) {
    crew.Add("spectator", [&] { events[length]->Wait(); });
  }
  events[0]->Set();
  crew.WaitForAll();
  if (passed != 3 * length) run.Fail("the relay lost a runner");
}

// ---- Transactions ----

std::string NameOf(uint64_t row) { return "row " + std::to_string(row); }

Result<int64_t> Read(txn::Transaction& transaction, uint64_t row) {
  Arena arena;
  SISAL_ASSIGN_OR_RETURN(const auto value, transaction.Get(kTree, NameOf(row), arena));
  return value && value->size() == sizeof(int64_t) ? LoadLittle<int64_t>(value->data()) : int64_t{0};
}

Status Lock(txn::Transaction& transaction, uint64_t row) {
  return transaction.Lock(kTree, NameOf(row), txn::LockMode::kExclusive, txn::LockWait::kWait, txn::Conflict::kCheck);
}

Status Write(txn::Transaction& transaction, uint64_t row, int64_t value) {
  std::string bytes;
  AppendLittle(bytes, value);
  return transaction.Put(kTree, NameOf(row), bytes);
}

// Counters, of which each transaction raises a few: the counters end as high as the answers say, whoever reads twice
// reads the same, and whoever was answered finds its own commit.
class Counters {
 public:
  Counters(Run& run, txn::Store& store, uint64_t rows) : run_(run), store_(store), totals_(rows) {}

  // Suspends.
  void RunClient(uint64_t count) {
    for (uint64_t i = 0; i < count && !run_.failed(); ++i) {
      std::vector<uint64_t> rows;
      for (uint64_t row = 0; row < totals_.size(); ++row) {
        if (run_.random.OneIn(totals_.size() > 20 ? 2 : 3)) rows.push_back(row);
      }
      if (run_.random.OneIn(4)) std::reverse(rows.begin(), rows.end());
      const Status status = Raise(rows);
      const bool may_retry = status.sqlstate() == "40001" || status.sqlstate() == "40P01";
      if (!status.ok() && !may_retry) return run_.Fail("a transaction ended with " + status.ToString());
    }
  }

  void CheckTotals() {
    const auto transaction = store_.Begin({});
    if (!transaction->TakeSnapshot().ok()) return run_.Fail("no snapshot at the end");
    for (uint64_t row = 0; row < totals_.size(); ++row) {
      const Result<int64_t> value = Read(*transaction, row);
      if (!value.ok() || *value != totals_[row]) run_.Fail("an update of " + NameOf(row) + " is lost");
    }
  }

 private:
  Status Raise(const std::vector<uint64_t>& rows) {
    const auto transaction = store_.Begin({});
    const bool lock_first = run_.random.OneIn(2);
    if (lock_first) {
      for (const uint64_t row : rows) SISAL_RETURN_IF_ERROR(Lock(*transaction, row));
    }
    SISAL_RETURN_IF_ERROR(transaction->TakeSnapshot());
    std::map<uint64_t, int64_t> seen;
    for (uint64_t row = 0; row < totals_.size(); ++row) {
      SISAL_ASSIGN_OR_RETURN(seen[row], Read(*transaction, row));
    }
    if (run_.random.OneIn(2)) io::SleepFor(Duration(run_.random.Below(30'000)));
    for (const auto& [row, value] : seen) {
      SISAL_ASSIGN_OR_RETURN(const int64_t again, Read(*transaction, row));
      if (again != value) run_.Fail("a snapshot changed its mind about " + NameOf(row));
    }
    for (const uint64_t row : rows) {
      if (!lock_first) SISAL_RETURN_IF_ERROR(Lock(*transaction, row));
      SISAL_RETURN_IF_ERROR(Write(*transaction, row, seen[row] + 1));
    }
    SISAL_RETURN_IF_ERROR(transaction->Commit({}).status());
    for (const uint64_t row : rows) ++totals_[row];
    return CheckOwn(rows, seen);
  }

  // By single reads without a transaction: none may go back, nor lie above what can have been written.
  void CheckAlone(const std::vector<uint64_t>& rows, const std::map<uint64_t, int64_t>& before) {
    std::map<uint64_t, int64_t> last;
    for (const auto& [row, value] : before) last[row] = value;
    for (int i = 0; i < 4; ++i) {
      for (const uint64_t row : rows) {
        Arena arena;
        const auto value = store_.GetCommitted(kTree, NameOf(row), SIZE_MAX, arena).value;
        const int64_t now = value && value->size() == sizeof(int64_t) ? LoadLittle<int64_t>(value->data()) : 0;
        if (i == 0 && now <= before.at(row)) run_.Fail("a client misses its own commit to " + NameOf(row));
        if (now < last[row]) run_.Fail("a read of " + NameOf(row) + " goes back");
        last[row] = now;
      }
      io::SleepFor(Duration(run_.random.Below(10'000)));
    }
  }

  Status CheckOwn(const std::vector<uint64_t>& rows, const std::map<uint64_t, int64_t>& before) {
    if (run_.random.OneIn(2)) return CheckAlone(rows, before), Status();
    const auto transaction = store_.Begin({.read_only = run_.random.OneIn(2)});
    SISAL_RETURN_IF_ERROR(transaction->TakeSnapshot());
    for (const uint64_t row : rows) {
      SISAL_ASSIGN_OR_RETURN(const int64_t now, Read(*transaction, row));
      if (now <= before.at(row)) run_.Fail("a client misses its own commit to " + NameOf(row));
    }
    return Status();
  }

  Run& run_;
  txn::Store& store_;
  std::vector<int64_t> totals_;  // as the answers say
};

void WithStore(Run& run, const std::function<void(io::Runtime&, txn::Store&)>& body) {
  SimDisk disk(run.random.Next());
  Simulate(run, DrawOptions(run, disk), [&](io::Runtime& runtime) {
    txn::StoreOptions options;
    options.log.segment_bytes = 1 << 20;
    options.log.write_method = wal::WriteMethod::kBufferedSync;
    if (run.random.OneIn(2)) options.log.durability = wal::Durability::kNormal;
    auto opened = txn::Store::Open(runtime, kDirectory, options, nullptr);
    if (!opened.ok()) return run.Fail("the store does not start: " + opened.status().ToString());
    body(runtime, **opened);
    (*opened)->Abandon();
  });
}

// `parties` transactions that each hold a row and want the next one's, at the same time: one of them gives way.
void PlayCycle(Run& run, io::Runtime& runtime, txn::Store& store, uint64_t parties) {
  struct Party {
    std::unique_ptr<txn::Transaction> transaction;
    Status second;
  };
  std::vector<Party> ring(parties);
  uint64_t youngest = 0;
  for (uint64_t i = 0; i < parties; ++i) {
    ring[i].transaction = store.Begin({});
    const Status locked = Lock(*ring[i].transaction, i);
    if (!locked.ok()) return run.Fail("a free row is not granted: " + locked.ToString());
    youngest = i;
  }
  Crew crew(runtime);
  for (uint64_t i = 0; i < parties; ++i) {
    crew.Add("party", [&, i] {
      ring[i].second = Lock(*ring[i].transaction, (i + 1) % parties);
      ring[i].transaction->Rollback();
    });
  }
  crew.WaitForAll();
  uint64_t victims = 0;
  for (const Party& party : ring) {
    if (party.second.ok()) continue;
    if (party.second.sqlstate() != "40P01") run.Fail("a party of a deadlock ended with " + party.second.ToString());
    ++victims;
  }
  if (victims != 1)
    run.Fail("a deadlock of " + std::to_string(parties) + " had " + std::to_string(victims) + " victims");
  if (victims == 1 && ring[youngest].second.ok()) run.Fail("the victim of a deadlock is not the youngest");
}

}  // namespace

void PlayConcurrency(Run& run) {
  SimDisk disk(run.random.Next());
  Simulate(run, DrawOptions(run, disk), [&](io::Runtime& runtime) {
    for (int i = 0; i < 3 && !run.failed(); ++i) {
      PlayQueue(run, runtime);
      PlayInterrupts(run, runtime);
      PlayRelay(run, runtime);
    }
  });
}

void PlayIsolation(Run& run) {
  const uint64_t rows = run.random.OneIn(3) ? 40 : 2 + run.random.Below(5);
  const uint64_t clients = 2 + run.random.Below(5), each = 4 + run.random.Below(12);
  WithStore(run, [&](io::Runtime& runtime, txn::Store& store) {
    Counters counters(run, store, rows);
    Crew crew(runtime);
    for (uint64_t i = 0; i < clients; ++i) crew.Add("client", [&] { counters.RunClient(each); });
    crew.WaitForAll();
    counters.CheckTotals();
  });
}

void PlayDeadlock(Run& run) {
  const uint64_t rounds = 3 + run.random.Below(5);
  WithStore(run, [&](io::Runtime& runtime, txn::Store& store) {
    for (uint64_t i = 0; i < rounds && !run.failed(); ++i) {
      PlayCycle(run, runtime, store, 2 + run.random.Below(4));
    }
  });
}

}  // namespace sisal::sim
