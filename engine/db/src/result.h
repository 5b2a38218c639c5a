// Running statements of a session.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "session.h"

namespace sisal::db {

// Of a statement with a plan: pulls it, retries it while nothing has left, ends its single-use transaction.
class PlanResult final : public ResultSet {
 public:
  PlanResult(EngineSession& session, CachedPlanPtr plan, std::vector<type::Datum> params, const CallOptions& options)
      : session_(session),
        plan_(std::move(plan)),
        params_(std::move(params)),
        options_(options),
        single_use_(session.open() == nullptr) {}
  ~PlanResult() override;

  // 25006 if the statement writes and the transaction may not.
  Status CheckReadOnly() const;

  const sql::Statement& statement() const override { return plan_->statement(); }
  Status Next(type::Chunk& chunk) override;
  uint64_t rows_affected() const override { return rows_affected_; }
  Timestamp commit_position() const override { return commit_position_; }
  const std::vector<Notice>& notices() const override { return notices_; }
  const CallStats& stats() const override { return stats_; }
  std::string_view command() const override { return plan_->statement().command; }
  CallStats& mutable_stats() { return stats_; }

 private:
  // A point read in a transaction of its own: the row, or the end. False: it is none, or has to go the long way.
  Result<bool> NextPoint(type::Chunk& chunk);
  Status Pull(type::Chunk& chunk);
  Status StartExecution();
  Result<bool> RenewPlan();
  Status Finish();
  // Whether the statement may run again after `error`; puts the transaction back to where that is possible.
  bool MayRetry(const Status& error);
  Status Abandon(Status error);

  static constexpr uint32_t kAttemptsMax = 100;

  EngineSession& session_;
  CachedPlanPtr plan_;
  std::vector<type::Datum> params_;
  CallOptions options_;
  bool single_use_;
  bool began_ = false;  // marks and first_statement_ are set
  bool first_statement_ = false;
  bool rows_left_ = false;  // the caller has seen rows
  bool done_ = false;
  Instant start_;
  txn::Mark mark_;
  std::unique_ptr<exec::Execution> execution_;
  std::unique_ptr<PointRow> point_;  // nullptr: not read, or not this way
  uint64_t rows_affected_ = 0;
  Timestamp commit_position_;
  std::vector<Notice> notices_;
  CallStats stats_;
};

// Of a statement that has run already: rows of text, or none.
class FinishedResult final : public ResultSet {
 public:
  FinishedResult(PreparedPtr prepared, std::string command)
      : prepared_(std::move(prepared)), command_(std::move(command)) {}
  void set_command(std::string command) { command_ = std::move(command); }

  const sql::Statement& statement() const override { return prepared_->statement(); }
  Status Next(type::Chunk& chunk) override;
  uint64_t rows_affected() const override { return 0; }
  Timestamp commit_position() const override { return position; }
  const std::vector<Notice>& notices() const override { return notices_list; }
  const CallStats& stats() const override { return call_stats; }
  std::string_view command() const override { return command_; }

  std::vector<std::string> lines;  // of the only column
  std::vector<Notice> notices_list;
  Timestamp position;
  CallStats call_stats;

 private:
  PreparedPtr prepared_;
  std::string command_;
  size_t next_ = 0;
  Arena arena_;
  std::vector<type::Vector> columns_;
};

}  // namespace sisal::db
