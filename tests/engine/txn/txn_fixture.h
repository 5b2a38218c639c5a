// A store in a temporary directory, and a runtime of fibers to use it on.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "sisal/io/runtime.h"
#include "sisal/testing/status_matchers.h"
#include "sisal/txn/store.h"
#include "store_impl.h"

namespace sisal::txn {

inline constexpr TreeId kTree{100};

class TxnTest : public ::testing::Test {
 protected:
  explicit TxnTest(size_t loop_count = 2) {
    const char* base = std::getenv("TMPDIR");
    std::string pattern = std::string(base == nullptr ? "/tmp" : base) + "/sisal_txn_XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    runtime_ = io::Runtime::Start({.loop_count = loop_count}).value();
    options_.log.segment_bytes = 4 << 20;
    options_.log.durability = wal::Durability::kNormal;  // most tests are not about syncs
    options_.log.write_method = wal::WriteMethod::kBufferedSync;
  }
  ~TxnTest() override {
    if (store_ != nullptr) Run([&] { store_->Abandon(); });
    store_.reset();
    runtime_.reset();
    std::filesystem::remove_all(directory_);
  }

  void Run(std::function<void()> body) { runtime_->RunAndWait("test", std::move(body)); }

  // Suspends.
  void Open() { ASSERT_OK(TryOpen()); }
  Status TryOpen() {
    auto store = std::make_unique<StoreImpl>(*runtime_, options_);
    SISAL_RETURN_IF_ERROR(store->Start(directory_, nullptr));
    store_ = std::move(store);
    return Status();
  }
  // As after a crash of the process. Suspends.
  void Reopen() {
    store_->Abandon();
    store_.reset();
    Open();
  }

  std::unique_ptr<Transaction> Begin(TransactionOptions options = {}) {
    std::unique_ptr<Transaction> transaction = store_->Begin(options);
    EXPECT_OK(transaction->TakeSnapshot());
    return transaction;
  }
  // Suspends.
  static Status Write(Transaction& transaction, std::string_view key, std::optional<std::string_view> value,
                      Conflict conflict = Conflict::kCheck, TreeId tree = kTree) {
    SISAL_RETURN_IF_ERROR(transaction.Lock(tree, key, LockMode::kExclusive, LockWait::kWait, conflict));
    return value ? transaction.Put(tree, key, *value) : transaction.Delete(tree, key);
  }
  static std::optional<std::string> Read(Transaction& transaction, std::string_view key, TreeId tree = kTree) {
    Arena arena;
    const auto value = transaction.Get(tree, key, arena);
    EXPECT_OK(value);
    if (!value.ok() || !*value) return std::nullopt;
    return std::string(**value);
  }
  static std::string ReadAll(Transaction& transaction, TreeId tree = kTree, KeyRange range = {},
                             Direction direction = Direction::kForward, size_t limit = 3) {
    std::string all;
    EntryBatch batch;
    const std::unique_ptr<Cursor> cursor = transaction.Scan(tree, std::move(range), direction);
    while (true) {
      EXPECT_OK(cursor->Next(limit, batch));
      if (batch.keys.empty()) return all;
      EXPECT_LE(batch.keys.size(), limit);
      for (size_t i = 0; i < batch.keys.size(); ++i) {
        all.append(batch.keys[i]).append("=").append(batch.values[i]).append(" ");
      }
    }
  }
  // One committed write. Suspends.
  void Set(std::string_view key, std::optional<std::string_view> value, TreeId tree = kTree) {
    const auto transaction = Begin();
    ASSERT_OK(Write(*transaction, key, value, Conflict::kCheck, tree));
    ASSERT_OK(transaction->Commit({}));
  }
  std::optional<std::string> Get(std::string_view key, TreeId tree = kTree) {
    return Read(*Begin({.read_only = true}), key, tree);
  }
  std::optional<std::string> ReadCommitted(std::string_view key) {
    Arena arena;
    const CommittedRow row = store_->GetCommitted(kTree, key, SIZE_MAX, arena);
    EXPECT_FALSE(row.too_long);
    return row.value.has_value() ? std::optional<std::string>(*row.value) : std::nullopt;
  }

  std::string directory_;
  StoreOptions options_;
  std::unique_ptr<io::Runtime> runtime_;
  std::unique_ptr<StoreImpl> store_;
};

}  // namespace sisal::txn
