// Runs an exec::PointRead in a transaction of its own, without making one.
#pragma once

#include <span>

#include "plan_cache.h"
#include "session.h"

namespace sisal::db {

// False: the plan is no point read or is not current, so that a session has to make it anew, or the row is long. Any
// thread; does not suspend, and never takes long. Errors: XX001.
Result<bool> ReadPoint(const Engine& engine, const CachedPlan& plan, std::span<const type::Datum> params,
                       PointRow& row);

}  // namespace sisal::db
