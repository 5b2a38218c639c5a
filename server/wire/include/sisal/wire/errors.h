// Errors at the edge: an engine Error becomes a gRPC status with google.rpc details (design/api.md, 1.8).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sisal/base/status.h"

namespace sisal::v1 {
class Failure;
class SqlError;
}  // namespace sisal::v1

namespace sisal::wire {

// gRPC's status codes, so that this module needs no gRPC.
enum class Code : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// An error and what only the server knows about it.
struct CallError {
  CallError(Error e) : error(std::move(e)) {}  // NOLINT: an Error is a CallError
  Error error;
  std::optional<uint32_t> step;     // of a batch
  bool transaction_usable = false;  // the transaction is open; only the statement was undone
  bool deadline_passed = false;     // 57014 because the call's deadline came
};

// Code, ErrorInfo.reason and advice for a SQLSTATE.
Code CodeOf(std::string_view sqlstate, bool deadline_passed);
// "UNIQUE_VIOLATION": PostgreSQL's condition name in capitals (manual, appendix A); "SQLSTATE_xxxxx" for the rest.
std::string ReasonOf(const Error& error);
// 0: no advice.
std::chrono::milliseconds RetryDelayOf(std::string_view sqlstate);

struct WireStatus {
  Code code = Code::kOk;
  std::string message;  // at most 1 KiB
  std::string details;  // a serialized google.rpc.Status, under 4 KiB: the trailer grpc-status-details-bin
};
WireStatus ToWireStatus(const CallError& error);
// The same inside a response that is itself a success.
void FillFailure(const CallError& error, v1::Failure& failure);

// What a string field may hold: cut at a character's border to at most `bytes_max` ("..." marks the cut), and '?' for
// each byte that is not UTF-8. One bad byte would make the whole message unreadable to the client (proto3: strings are
// UTF-8).
std::string FieldText(std::string_view text, size_t bytes_max);

}  // namespace sisal::wire
