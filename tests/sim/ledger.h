// Accounts in a transactional store, clients that move money between them, and the books that the clients keep: what
// they were told, against which the store's contents are held after each crash.
//
// Each transfer also writes a row of its own, with a padding that a torn or mixed-up record would spoil. So the store's
// contents say exactly which transfers are in it, and the balances must follow from them.
//
// Confined to a simulation's thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "scenario.h"
#include "sisal/txn/store.h"

namespace sisal::sim {

struct LedgerOptions {
  uint64_t accounts = 6;
  uint64_t client_count = 4;
  uint64_t transfers_per_client = 12;
  uint64_t padding_bytes_min = 0;
  uint64_t padding_bytes_max = 600;  // of a transfer's row
  uint64_t rows_max = 1;             // rows of a transfer, each with such a padding
  uint64_t faults_until_stop = 1;    // a client stops after so many errors of the log
  wal::Durability durability = wal::Durability::kFull;
};

class Ledger {
 public:
  enum class Outcome : uint8_t {
    kAcknowledged,  // must be there
    kUnknown,       // may be there, whole
    kRefused,       // must not be there
  };
  struct Transfer {
    uint64_t from, to, amount;
    uint64_t padding_bytes, rows;
    Outcome outcome = Outcome::kUnknown;
    Timestamp position;     // 0: not known
    bool was_seen = false;  // by a transaction whose answer promised that it stays
  };
  struct Counts {
    uint64_t acknowledged = 0, unknown = 0, no_space = 0, conflicts = 0, failed = 0;
  };

  Ledger(Run& run, const LedgerOptions& options) : run_(run), options_(options) {}

  // Makes the accounts, if they are not there. Suspends.
  Status SetUp(txn::Store& store);
  // A client's life: until it has made its transfers, or meets errors of the log. Suspends.
  void RunClient(txn::Store& store);
  // Reads all in one snapshot and holds it against the books, while clients work. Suspends.
  void Audit(txn::Store& store);
  // Reads one row without a transaction. Suspends.
  void Glance(txn::Store& store);
  // After a start: the store's contents become the truth. Suspends.
  void CheckRecovered(txn::Store& store);

  // After a start from a damaged disk: what is there is whole and was written, however much is lost. Suspends.
  void CheckDamaged(txn::Store& store);

  Counts counts;
  const LedgerOptions& options() const { return options_; }

 private:
  struct Contents {
    std::map<uint64_t, int64_t> balances;
    std::map<uint64_t, uint64_t> transfers;  // id -> rows
  };
  Result<Contents> ReadAll(txn::Transaction& transaction);
  Status TryTransfer(txn::Store& store, uint64_t id, Transfer& transfer);
  void CheckBalances(const Contents& contents, const char* when);
  std::string Padding(uint64_t id, uint64_t row, uint64_t size_bytes) const;

  Run& run_;
  const LedgerOptions options_;
  bool is_set_up_ = false;  // acknowledged
  uint64_t next_id_ = 1;
  std::map<uint64_t, Transfer> transfers_;
};

}  // namespace sisal::sim
