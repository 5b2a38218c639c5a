// Errors as people read them, and errors out of what gRPC reports.
#pragma once

#include <grpcpp/support/status.h>

#include <string>
#include <string_view>

#include "sisal/base/status.h"

namespace sisal::cli {
// 08006: the connection, not the statement, is at fault.
bool IsConnectionLoss(const Error& error);

// gRPC's text for a connection that failed names every address that was tried; its end is what happened.
std::string ShortReason(const std::string& message);

// Whether the statement alone was undone, and its transaction is still usable.
struct RemoteError {
  Error error;
  bool transaction_usable = false;
};
// Reads the google.rpc.Status in the details, whose SqlError holds the SQLSTATE and the rest. A status without it was
// made by gRPC itself: UNAVAILABLE becomes 08006, CANCELLED and DEADLINE_EXCEEDED 57014, RESOURCE_EXHAUSTED 54000,
// UNIMPLEMENTED 0A000, all else 08P01.
// Requires: !status.ok().
RemoteError FromStatus(const grpc::Status& status);

// "ERROR:  42P01: relation "t" does not exist", then LINE with a caret, DETAIL and HINT where known; ends with a
// newline. `statement`: the text that the position is in.
std::string RenderError(const Error& error, std::string_view statement);
std::string RenderWarning(std::string_view sqlstate, std::string_view message, std::string_view hint);

// The two lines "LINE 1: select x" and "               ^". Empty if the text has no such character.
// `position`: character of the text, from 1; one past the end is allowed.
std::string RenderPosition(std::string_view statement, uint32_t position);
}  // namespace sisal::cli
