// A large stack for code that recurses as deep as its input nests: PostgreSQL's parser, and our own walks over trees.
//
// A fiber's stack is 256 KiB; one level of `1+1+...` costs the parser 350 bytes and our walks more. So each thread
// keeps one stack of 64 MiB of address space, committed as it is touched, with a guard page below it.
#pragma once

#include <functional>

#include "sisal/base/status.h"

namespace sisal::sql {

// Runs `body` on the calling thread's large stack, or in place if the thread is on it already. `body` must not suspend.
// Errors: body's; 53200 if there is no memory for the stack or an allocation of body's failed.
Status RunOnBigStack(const std::function<Status()>& body);

// Gives back the memory that a deep statement has committed. Call after one, outside of RunOnBigStack.
void TrimBigStack();

}  // namespace sisal::sql
