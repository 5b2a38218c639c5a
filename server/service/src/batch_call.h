// One ExecuteBatch (design/api.md, 1.3). Confined to the call's fiber.
//
//   ATOMIC       one transaction; the first failure fails the call, and nothing of it stays
//   CONTINUE     in an open transaction, each step has a status of its own
//   INDEPENDENT  a transaction and a status for each step
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "request_options.h"
#include "row_source.h"
#include "sisal/service/call.h"
#include "sisal/service/core.h"

namespace sisal::v1 {
class Condition;
class ExecuteBatchRequest;
class Step;
}  // namespace sisal::v1

namespace sisal::service {

class BatchCall {
 public:
  BatchCall(Core& core, CallContext& context, const v1::ExecuteBatchRequest& request)
      : core_(core), context_(context), request_(request) {}
  Outcome Run(wire::Buffer& response);  // suspends

 private:
  enum class Mode { kAtomic, kContinue, kIndependent };
  // What later steps may ask about a step.
  struct Done {
    bool ran = false, ok = false, empty = false;
    std::optional<std::vector<type::Datum>> first_row;
    std::vector<type::SqlType> types;
  };

  Outcome Fail(Error error);
  Status Check();
  Status CheckSteps() const;
  Status CheckCondition(const v1::Condition& condition, uint32_t step) const;
  bool MayRetry(const Status& status) const;

  Status RunTogether(wire::Buffer& response);
  Status EndSavepoint(Status status);
  Status OpenSession();
  Result<bool> Replay(wire::Buffer& response);
  Status RunSteps(wire::Buffer& response);
  Status FinishTransaction(wire::Buffer& response);
  Status FinishInHandle(wire::TransactionState& state);
  Status Adopt(wire::TransactionState& state);

  Status RunApart(wire::Buffer& response);
  Status RunAlone(uint32_t step, wire::Buffer& result);

  // Appends a StepRows to `result`. Suspends.
  Status RunStep(uint32_t step, wire::Buffer& result);
  Status RunStatement(uint32_t step, wire::Buffer& result);
  Status RunSavepoint(const v1::Step& step, wire::Buffer& result);
  Result<std::vector<type::Datum>> ParamsOf(const v1::Step& step, const sql::Statement& statement) const;
  Status CheckExpected(const v1::Step& step, uint64_t rows) const;
  bool Holds(const v1::Condition& condition) const;
  void AddStats(const db::CallStats& stats);
  db::CallOptions CallOptionsOf() const;

  Core& core_;
  CallContext& context_;
  const v1::ExecuteBatchRequest& request_;

  Mode mode_ = Mode::kAtomic;
  bool in_handle_ = false, keeps_open_ = false, commit_ = false;
  TransactionRequest transaction_request_;
  CallRequest call_request_;
  std::string fingerprint_;
  uint32_t attempts_ = 1;
  Instant started_;
  std::optional<uint32_t> failed_step_;
  std::vector<Done> done_;
  db::CallStats stats_;
  size_t rows_bytes_ = 0;  // of all answers so far

  TransactionTable::Lease lease_;
  std::unique_ptr<db::Session> own_session_;
  db::Session* session_ = nullptr;
  std::string handle_;
};

}  // namespace sisal::service
