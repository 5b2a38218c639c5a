// A running statement: pulls its rows into chunks of a wanted size. Confined; moves with its session.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sisal/db/database.h"
#include "sisal/wire/result.h"

namespace sisal::service {

// A row travels whole, and clients take messages of 4 MiB by default.
inline constexpr size_t kRowBytesMax = 3584 << 10;

class RowSource {
 public:
  struct Options {
    std::shared_ptr<io::CancelToken> cancel;  // shared: the statement may outlive the call that started it
    Instant deadline = Instant::Max();
    std::optional<wal::Durability> durability;
    wire::Encoding encoding = wire::Encoding::kColumns;
    bool keep_first_row = false;
  };
  // `settings` lives as long as the session.
  RowSource(db::PreparedPtr prepared, const type::TextSettings& settings, Options options);

  // Starts the statement; called again, with the next parameters, its rows follow those collected. Suspends.
  Status Start(db::Session& session, std::vector<type::Datum> params);

  // Collects rows until about `budget_bytes` are there; true: the statement has ended, false: more rows follow. Gives
  // up early once there are rows and `max_wait` has passed. Suspends. Errors: the statement's; 54000 a row that no
  // message can carry.
  Result<bool> Fill(size_t budget_bytes, const Clock& clock, Duration max_wait = Duration::max());
  // Pulls all rows and drops them. Suspends.
  Status Drain();
  // Makes a statement that has written but not ended fail with `reason`, so that it is undone. False: it ended all the
  // same. Suspends.
  bool Undo(const Error& reason);

  wire::ChunkEncoder& encoder() { return encoder_; }
  const db::Prepared& prepared() const { return *prepared_; }
  const sql::Statement& statement() const { return prepared_->statement(); }
  const db::ResultSet* result() const { return result_.get(); }  // nullptr: never started
  wire::Encoding encoding() const { return encoding_; }
  uint64_t rows_seen() const { return rows_seen_; }
  const std::optional<std::vector<type::Datum>>& first_row() const { return first_row_; }  // with keep_first_row
  const std::shared_ptr<io::CancelToken>& cancel() const { return cancel_; }

 private:
  Status CheckTypes() const;
  Result<bool> Pull();

  const db::PreparedPtr prepared_;
  const std::shared_ptr<io::CancelToken> cancel_;
  const wire::Encoding encoding_;
  const bool keep_first_row_;
  db::CallOptions call_options_;
  std::unique_ptr<db::ResultSet> result_;  // borrows all above
  wire::ChunkEncoder encoder_;
  type::Chunk chunk_;
  uint32_t next_row_ = 0;
  uint64_t rows_seen_ = 0;
  std::optional<std::vector<type::Datum>> first_row_;
};

}  // namespace sisal::service
