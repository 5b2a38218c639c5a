// Execute of the commonest read, without a fiber, a session or a transaction.
#pragma once

#include <string_view>

#include "sisal/service/core.h"
#include "sisal/wire/buffer.h"

namespace sisal::service {

// Answers an ExecuteRequest that reads at most one row by its primary key, in no transaction, with a plan that is in
// the cache. False: it is another call, or one that fails; what `response` holds then means nothing. Any thread; does
// not suspend. The answer is byte by byte that of StatementCall::Execute.
bool ReadPointAtOnce(Core& core, std::string_view request, wire::Buffer& response);

}  // namespace sisal::service
