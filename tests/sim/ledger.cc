#include "ledger.h"

#include <algorithm>
#include <utility>

#include "sisal/base/bytes.h"
#include "sisal/io/runtime.h"
#include "sisal/io/time.h"

namespace sisal::sim {
namespace {

constexpr TreeId kAccounts{100}, kTransfers{101};
constexpr int64_t kOpeningBalance = 1000;

std::string KeyOf(uint64_t number) {
  std::string key;
  for (int shift = 56; shift >= 0; shift -= 8) key.push_back(static_cast<char>(number >> shift));
  return key;
}
uint64_t NumberOf(std::string_view key) {
  uint64_t number = 0;
  for (const char c : key.substr(0, 8)) number = number << 8 | static_cast<unsigned char>(c);
  return number;
}
std::string BalanceOf(int64_t amount) {
  std::string value;
  AppendLittle(value, amount);
  return value;
}

}  // namespace

std::string Ledger::Padding(uint64_t id, uint64_t row, uint64_t size_bytes) const {
  Random random(id * 1000 + row);
  std::string bytes(size_bytes, '\0');
  for (size_t i = 0; i < size_bytes; i += 8) {
    const uint64_t word = random.Next();
    for (size_t j = i; j < std::min<size_t>(i + 8, size_bytes); ++j) {
      bytes[j] = static_cast<char>(word >> 8 * (j - i));
    }
  }
  return bytes;
}

Status Ledger::SetUp(txn::Store& store) {
  if (is_set_up_) return Status();
  const auto transaction = store.Begin({});
  SISAL_RETURN_IF_ERROR(transaction->TakeSnapshot());
  for (uint64_t account = 0; account < options_.accounts; ++account) {
    const std::string key = KeyOf(account);
    SISAL_RETURN_IF_ERROR(
        transaction->Lock(kAccounts, key, txn::LockMode::kExclusive, txn::LockWait::kWait, txn::Conflict::kCheck));
    SISAL_RETURN_IF_ERROR(transaction->Put(kAccounts, key, BalanceOf(kOpeningBalance)));
  }
  const Result<txn::CommitResult> committed = transaction->Commit({});
  is_set_up_ = committed.ok() && options_.durability == wal::Durability::kFull;
  return committed.status();
}

Status Ledger::TryTransfer(txn::Store& store, uint64_t id, Transfer& transfer) {
  const auto transaction = store.Begin({});
  // Both orders are in use: the snapshot before the first intent, and after it.
  const bool lock_first = run_.random.OneIn(2);
  if (!lock_first) SISAL_RETURN_IF_ERROR(transaction->TakeSnapshot());
  const std::string from = KeyOf(transfer.from), to = KeyOf(transfer.to);
  const auto lock = [&](TreeId tree, const std::string& key) {
    return transaction->Lock(tree, key, txn::LockMode::kExclusive, txn::LockWait::kWait, txn::Conflict::kCheck);
  };
  SISAL_RETURN_IF_ERROR(lock(kAccounts, from));
  SISAL_RETURN_IF_ERROR(lock(kAccounts, to));
  if (lock_first) SISAL_RETURN_IF_ERROR(transaction->TakeSnapshot());
  const auto add = [&](const std::string& key, int64_t amount) -> Status {
    Arena arena;
    SISAL_ASSIGN_OR_RETURN(const auto value, transaction->Get(kAccounts, key, arena));
    if (!value || value->size() != sizeof(int64_t)) return Error{"XX000", "an account is missing"};
    return transaction->Put(kAccounts, key, BalanceOf(LoadLittle<int64_t>(value->data()) + amount));
  };
  SISAL_RETURN_IF_ERROR(add(from, -static_cast<int64_t>(transfer.amount)));
  SISAL_RETURN_IF_ERROR(add(to, static_cast<int64_t>(transfer.amount)));
  for (uint64_t row = 0; row < transfer.rows; ++row) {
    const std::string key = KeyOf(id) + KeyOf(row);
    SISAL_RETURN_IF_ERROR(lock(kTransfers, key));
    SISAL_RETURN_IF_ERROR(transaction->Put(kTransfers, key, Padding(id, row, transfer.padding_bytes)));
  }
  // From here on the outcome may be unknown.
  txn::CommitOptions commit;
  commit.durability = options_.durability;
  SISAL_ASSIGN_OR_RETURN(const txn::CommitResult result, transaction->Commit(commit));
  transfer.position = result.position;
  return Status();
}

void Ledger::RunClient(txn::Store& store) {
  uint64_t faults = 0;
  for (uint64_t i = 0; i < options_.transfers_per_client; ++i) {
    const uint64_t id = next_id_++;
    Transfer& transfer = transfers_[id];
    transfer.from = run_.random.Below(options_.accounts);
    transfer.to = (transfer.from + 1 + run_.random.Below(options_.accounts - 1)) % options_.accounts;
    transfer.amount = 1 + run_.random.Below(100);
    transfer.padding_bytes =
        options_.padding_bytes_min + run_.random.Below(options_.padding_bytes_max - options_.padding_bytes_min + 1);
    transfer.rows = 1 + run_.random.Below(options_.rows_max);
    const Status status = TryTransfer(store, id, transfer);
    const std::string_view code = status.sqlstate();
    if (status.ok()) {
      transfer.outcome = Outcome::kAcknowledged;
      ++counts.acknowledged;
    } else if (code == "08007") {
      transfer.outcome = Outcome::kUnknown;
      ++counts.unknown;
      if (++faults >= options_.faults_until_stop) return;
    } else {
      transfer.outcome = Outcome::kRefused;
      if (code == "40001" || code == "40P01" || code == "54000") {
        ++counts.conflicts;
      } else if (code == "53100") {
        ++counts.no_space;
        io::SleepFor(std::chrono::milliseconds(1));
      } else if (code == "58030") {
        ++counts.failed;
        if (++faults >= options_.faults_until_stop) return;
      } else {
        run_.Fail("a transfer ended with " + status.ToString());
        return;
      }
    }
    if (run_.random.OneIn(4)) io::SleepFor(Duration(run_.random.Below(200'000)));
    if (run_.random.OneIn(4)) Audit(store);
    if (run_.random.OneIn(2)) Glance(store);
  }
}

Result<Ledger::Contents> Ledger::ReadAll(txn::Transaction& transaction) {
  Contents contents;
  txn::EntryBatch batch;
  const size_t step = 1 + run_.random.Below(8);
  for (const TreeId tree : {kAccounts, kTransfers}) {
    const auto cursor = transaction.Scan(tree, {}, txn::Direction::kForward);
    while (true) {
      SISAL_RETURN_IF_ERROR(cursor->Next(step, batch));
      if (batch.keys.empty()) break;
      for (size_t i = 0; i < batch.keys.size(); ++i) {
        const uint64_t number = NumberOf(batch.keys[i]);
        if (tree == kAccounts) {
          if (batch.values[i].size() != sizeof(int64_t)) {
            run_.Fail("a balance is not whole");
          } else {
            contents.balances[number] = LoadLittle<int64_t>(batch.values[i].data());
          }
          continue;
        }
        const auto known = transfers_.find(number);
        const uint64_t row = contents.transfers[number]++;
        if (known == transfers_.end()) {
          run_.Fail("a transfer that nobody made: " + std::to_string(number));
        } else if (batch.values[i] != Padding(number, row, known->second.padding_bytes)) {
          run_.Fail("the row of transfer " + std::to_string(number) + " is not as it was written");
        }
      }
    }
  }
  return contents;
}

void Ledger::CheckBalances(const Contents& contents, const char* when) {
  std::map<uint64_t, int64_t> expected;
  if (!contents.balances.empty()) {
    for (uint64_t account = 0; account < options_.accounts; ++account) expected[account] = kOpeningBalance;
  } else if (is_set_up_) {
    run_.Fail(std::string("the accounts are gone ") + when);
  }
  for (const auto& [id, rows] : contents.transfers) {
    const auto known = transfers_.find(id);
    if (known == transfers_.end()) return;  // reported already
    const Transfer& transfer = known->second;
    if (rows != transfer.rows) {
      run_.Fail("transfer " + std::to_string(id) + " has " + std::to_string(rows) + " of " +
                std::to_string(transfer.rows) + " rows " + when);
    }
    expected[transfer.from] -= static_cast<int64_t>(transfer.amount);
    expected[transfer.to] += static_cast<int64_t>(transfer.amount);
  }
  if (contents.balances != expected) run_.Fail(std::string("the balances do not follow from the transfers ") + when);
}

void Ledger::Audit(txn::Store& store) {
  const bool read_only = run_.random.OneIn(2);
  const auto transaction = store.Begin({.read_only = read_only});
  const Status begun = transaction->TakeSnapshot();
  if (!begun.ok()) return run_.Fail("no snapshot for an audit: " + begun.ToString());
  // What was acknowledged by now, its position at or below the snapshot, must be in it.
  std::vector<uint64_t> expected;
  for (const auto& [id, transfer] : transfers_) {
    const bool known = transfer.outcome == Outcome::kAcknowledged;
    if (known && (!read_only || options_.durability == wal::Durability::kFull)) expected.push_back(id);
  }
  const Result<Contents> first = ReadAll(*transaction);
  if (!first.ok()) return run_.Fail("an audit failed: " + first.status().ToString());
  CheckBalances(*first, "in a snapshot");
  for (const uint64_t id : expected) {
    if (!first->transfers.contains(id)) {
      return run_.Fail("a snapshot misses transfer " + std::to_string(id) + ", acknowledged before");
    }
  }
  if (run_.random.OneIn(2)) {
    io::SleepFor(Duration(run_.random.Below(100'000)));
    const Result<Contents> second = ReadAll(*transaction);
    if (!second.ok()) return run_.Fail("an audit failed: " + second.status().ToString());
    if (second->transfers != first->transfers || second->balances != first->balances) {
      return run_.Fail("a snapshot changed its mind");
    }
  }
  const bool promised = transaction->Commit({}).ok() && options_.durability == wal::Durability::kFull;
  if (!promised) return;
  for (const auto& [id, rows] : first->transfers) transfers_.at(id).was_seen = true;
}

void Ledger::Glance(txn::Store& store) {
  if (run_.random.OneIn(4)) io::SleepFor(Duration(run_.random.Below(50'000)));
  const auto chosen = std::prev(transfers_.end(), static_cast<int64_t>(1 + run_.random.Below(transfers_.size()) / 2));
  const uint64_t id = chosen->first;
  const bool is_full = options_.durability == wal::Durability::kFull;
  const bool is_promised = is_full && chosen->second.outcome == Outcome::kAcknowledged;
  Arena arena;
  const auto row = store.GetCommitted(kTransfers, KeyOf(id) + KeyOf(0), SIZE_MAX, arena).value;
  if (!row.has_value() && is_promised) run_.Fail("a read misses transfer " + std::to_string(id) + ", acknowledged");
  if (!row.has_value()) return;
  if (*row != Padding(id, 0, chosen->second.padding_bytes)) run_.Fail("a row that was read is not as it was written");
  if (is_full) chosen->second.was_seen = true;
}

void Ledger::CheckDamaged(txn::Store& store) {
  const auto transaction = store.Begin({.read_only = true});
  const Status begun = transaction->TakeSnapshot();
  if (!begun.ok()) return run_.Fail("no snapshot after a start: " + begun.ToString());
  const Result<Contents> read = ReadAll(*transaction);
  if (!read.ok()) return run_.Fail("reading after a start failed: " + read.status().ToString());
  is_set_up_ = false;
  CheckBalances(*read, "on a damaged disk");
}

void Ledger::CheckRecovered(txn::Store& store) {
  const auto transaction = store.Begin({.read_only = true});
  const Status begun = transaction->TakeSnapshot();
  if (!begun.ok()) return run_.Fail("no snapshot after a start: " + begun.ToString());
  const Result<Contents> read = ReadAll(*transaction);
  if (!read.ok()) return run_.Fail("reading after a start failed: " + read.status().ToString());
  CheckBalances(*read, "after a start");
  Timestamp newest_present, oldest_absent = Timestamp::Max();
  for (auto& [id, transfer] : transfers_) {
    const bool present = read->transfers.contains(id);
    const std::string name = "transfer " + std::to_string(id);
    const bool is_promised = transfer.outcome == Outcome::kAcknowledged &&
                             (options_.durability == wal::Durability::kFull || transfer.was_seen);
    if (!present && is_promised) run_.Fail(name + " was acknowledged, and is lost");
    if (!present && transfer.was_seen) run_.Fail(name + " was seen, and is lost");
    if (present && transfer.outcome == Outcome::kRefused) run_.Fail(name + " was refused, and is there");
    if (transfer.position.value != 0) {
      (present ? newest_present : oldest_absent) =
          present ? std::max(newest_present, transfer.position) : std::min(oldest_absent, transfer.position);
    }
    // What is there now must stay; what is not must not come.
    transfer.outcome = present ? Outcome::kAcknowledged : Outcome::kRefused;
    transfer.was_seen = present;
    if (!present) transfer.position = Timestamp();
  }
  if (newest_present > oldest_absent) run_.Fail("a commit is lost, and a later one is there");
  is_set_up_ = !read->balances.empty();
}

}  // namespace sisal::sim
