// One Execute or Query from its decoded request to its trailer. Confined to the call's fiber.
//
// Where the statement runs:
//   kAuto      single use without options: the engine begins, retries and commits around the statement itself
//   kExplicit  single use with options, a key or param_rows: this class begins, retries and commits
//   kBegin     as kExplicit, and the transaction stays open under a new handle
//   kHandle    in an open transaction
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "held_results.h"
#include "request_options.h"
#include "row_source.h"
#include "sisal/service/call.h"
#include "sisal/service/core.h"

namespace sisal::v1 {
class Statement;
class Transaction;
}  // namespace sisal::v1

namespace sisal::service {

class StatementCall {
 public:
  // Borrows everything for its life. `transaction`: nullptr if the request has none.
  StatementCall(Core& core, CallContext& context, const v1::Statement& statement, const v1::Transaction* transaction,
                const v1::CallOptions& options)
      : core_(core), context_(context), statement_(statement), transaction_(transaction), options_(options) {}

  // Both suspend.
  Outcome Execute(wire::Buffer& response);
  Outcome Query(std::string_view resume_token, ReplyStream& stream);

 private:
  enum class Mode { kAuto, kExplicit, kBegin, kHandle };
  // What the end of a statement leaves for the trailer; its result and perhaps its session are gone by then.
  struct Ended {
    db::CallStats stats;
    uint64_t rows_affected = 0;
    std::vector<db::Notice> notices;
    std::string command;
    Timestamp commit_position;
    bool read_only = false;
  };

  Outcome Fail(Error error);
  Status Check(bool streaming);
  Status CheckStatement(const sql::Statement& statement) const;
  bool MayRetry(const Status& status) const;
  bool PrepareRetry(const Status& status);
  Status OpenSession();
  Status Start();
  Status FillParamRows(size_t budget_bytes);

  Status ExecuteOnce(wire::Buffer& response);
  static Error AnswerTooLarge();
  // A read goes on later, anything else is refused.
  Status AnswerPart(wire::Buffer& response);
  Result<std::string> HoldRest();
  Status StartQuery();
  Status StreamRows(ReplyStream& stream);
  Status ResumeHeld(std::string_view token);

  // True: the key's stored outcome was the answer. Suspends.
  Result<bool> Replay(wire::Buffer& response);
  Status StoreOutcome(std::string_view rows);
  Status StoreOutcomeOfLease();

  void WriteRows(bool first, wire::Buffer& message);
  // Commits or keeps the transaction as asked, and appends the trailer. Suspends.
  Status FinishTransaction(std::string_view rows, wire::Buffer& message);
  Status FinishInHandle(wire::TransactionState& state);
  Status Adopt(wire::TransactionState& state);
  void DescribeLease(wire::Phase phase, wire::TransactionState& state);
  void NoteEnd();
  void AppendTrailer(const wire::TransactionState* state, wire::Buffer& message) const;
  db::CallOptions CommitOptions() const;

  Core& core_;
  CallContext& context_;
  const v1::Statement& statement_;
  const v1::Transaction* transaction_;
  const v1::CallOptions& options_;

  Mode mode_ = Mode::kAuto;
  bool streaming_ = false, commit_ = false;
  bool has_streamed_ = false;  // a message has left
  TransactionRequest transaction_request_;
  CallRequest call_request_;
  std::string fingerprint_;
  uint32_t attempts_ = 1;
  Instant started_;

  TransactionTable::Lease lease_;             // kHandle, and kBegin once it stays open
  std::unique_ptr<db::Session> own_session_;  // before that, and of single uses
  db::Session* session_ = nullptr;            // whichever
  db::PreparedPtr prepared_;
  std::unique_ptr<RowSource> source_;
  uint64_t param_rows_affected_ = 0;
  Ended ended_;
  std::string handle_;  // of the transaction, for the answer
};

}  // namespace sisal::service
