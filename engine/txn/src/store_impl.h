// The store over the log: opening, closing, and what is not one transaction's business.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "sisal/txn/store.h"
#include "store_core.h"
#include "sweeper.h"

namespace sisal::txn {

class StoreImpl final : public Store {
 public:
  StoreImpl(io::Runtime& runtime, const StoreOptions& options) : core_(runtime, options) {}

  // Replays the log. Suspends.
  Status Start(const std::string& directory, wal::ReplayProgress* progress);

  Status Close() override;
  void Abandon() override;
  std::unique_ptr<Transaction> Begin(const TransactionOptions& options) override;
  CommittedRow GetCommitted(TreeId tree, std::string_view key, size_t bytes_max, Arena& arena) override;
  TreeId AllocateTree() override { return core_.trees.Allocate(); }
  uint64_t NextRowNumber(TreeId tree) override;
  Timestamp applied() const override { return core_.horizon.applied(); }
  Timestamp durable() const override;
  Timestamp oldest_snapshot() const override;
  Status WaitApplied(const io::Interrupt& interrupt) override;
  bool clean_start() const override { return clean_start_; }
  bool read_only() const override { return core_.log->failed(); }
  StoreStats Stats() const override;
  wal::Log& log() override { return *core_.log; }

  // For tests.
  StoreCore& core() { return core_; }

 private:
  // No transaction is open, and the sweep is over.
  void Stop();

  StoreCore core_;
  bool clean_start_ = false;
  std::optional<Sweeper> sweeper_;  // ends before the core does
};

}  // namespace sisal::txn
