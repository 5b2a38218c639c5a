// A connection to one server, and the transaction that SQL's BEGIN has opened on it.
//
// The server keeps no session: BEGIN answers with a handle, which every later call carries until COMMIT or ROLLBACK.
//
// Concurrency: externally synchronised; SIGINT cancels the call that runs (interrupt.h).
#pragma once

#include <grpcpp/channel.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interrupt.h"
#include "sisal/base/status.h"
#include "sisal/v1/sql_service.grpc.pb.h"
#include "value_format.h"

namespace sisal::cli {
// Gets the rows of a statement as they come. An error ends the statement and is returned from Run.
class RowConsumer {
 public:
  virtual ~RowConsumer() = default;
  // Once, before any rows; not called for a statement that returns no rows by nature.
  virtual Status Header(const ColumnTypes& columns) = 0;
  // Has passed CheckBatch.
  virtual Status Rows(const ColumnTypes& columns, const v1::ColumnBatch& batch) = 0;
};

// Keeps everything: for small results.
class CollectedRows final : public RowConsumer {
 public:
  Status Header(const ColumnTypes&) override { return Status(); }
  Status Rows(const ColumnTypes& columns, const v1::ColumnBatch& batch) override;
  std::vector<std::vector<Cell>> rows;
};

class Client {
 public:
  enum class Phase { kNone, kOpen, kFailed };  // of the transaction

  struct Outcome {
    bool has_rows = false;
    std::string command;  // PostgreSQL's tag without counts; empty: SELECT
    uint64_t rows_affected = 0;
    std::vector<v1::Warning> warnings;
  };

  // Borrows `interrupts`. `idle_lease`: how long a transaction may lie idle; zero: as long as the server likes.
  Client(const std::string& server, Interrupts& interrupts,
         std::chrono::seconds idle_lease = std::chrono::seconds::zero());
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Makes the connection. Errors: 08006 if nobody answers; and the server's, for example while it recovers.
  Result<v1::GetServerInfoResponse> Connect(std::chrono::milliseconds timeout);

  // Runs one statement in the open transaction, else in one of its own.
  Result<Outcome> Run(v1::Statement statement, RowConsumer& consumer);
  Result<Outcome> Run(std::string_view sql, RowConsumer& consumer);
  // Outside of any transaction, within `timeout`.
  Result<Outcome> RunAside(std::string_view sql, RowConsumer& consumer, std::chrono::milliseconds timeout);

  Result<v1::PrepareResponse> Prepare(std::string_view sql);
  // Requires: phase() is kNone for Begin, and not kNone for the others.
  Status Begin();
  Status Commit();
  Status Rollback();

  Phase phase() const { return phase_; }
  Interrupts& interrupts() { return interrupts_; }

 private:
  using Call = std::function<grpc::Status(grpc::ClientContext*)>;

  // BEGIN with a lease of our choice; without a value the statement has to run as it stands.
  std::optional<Outcome> BeginFor(std::string_view sql);
  grpc::Status Invoke(const Call& call, std::chrono::milliseconds timeout = {});
  Result<Outcome> Execute(v1::ExecuteRequest request, RowConsumer& consumer, std::chrono::milliseconds timeout);
  Status ReadRest(v1::QueryRequest request, const ColumnTypes& columns, RowConsumer& consumer, Outcome* outcome,
                  std::chrono::milliseconds timeout);
  static Status Deliver(const v1::ResultChunk& chunk, const ColumnTypes& columns, RowConsumer& consumer);
  void Absorb(const v1::ResultTrailer& trailer, Outcome* outcome);
  void Absorb(const v1::TransactionState& state);
  // The error of a call that carried the transaction's handle, if there is one.
  Error Failed(const grpc::Status& status);
  // After a ROLLBACK has failed. What the user wants is so already if the server has ended the transaction, or has lost
  // it: no COMMIT of ours can have come before.
  Result<Outcome> SettleRollback(Error error);
  // After a call that was to end the transaction has failed: asks the server what became of it.
  void AskOutcome(Error* error);
  void KeepTransaction(const std::string& handle, Phase phase);
  void ForgetTransaction();

  Interrupts& interrupts_;
  const std::chrono::seconds idle_lease_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::SqlService::Stub> stub_;
  std::string handle_;  // empty: phase_ is kNone
  Phase phase_ = Phase::kNone;
};

// Whether a statement is COMMIT, END, ABORT or ROLLBACK, but not ROLLBACK TO.
bool EndsTransaction(std::string_view sql);
// Whether it is ROLLBACK or ABORT, and begins no new one with AND CHAIN.
bool RollsBack(std::string_view sql);
// BEGIN or START TRANSACTION.
struct BeginStatement {
  std::string command;  // its tag
  std::string modes;    // "ISOLATION LEVEL SERIALIZABLE READ ONLY"; empty: the defaults
};
std::optional<BeginStatement> ParseBegin(std::string_view sql);
}  // namespace sisal::cli
