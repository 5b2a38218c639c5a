// The steps of a Program; see program.h.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "program.h"

namespace sisal::exec {

enum class Program::Op : uint8_t {
  kCall,       // out = function(args) at the rows of `rows`
  kCast,       // out = cast(args[0])
  kModifiers,  // out = args[0] under `type`'s modifiers
  kNot,
  kIsNull,       // flag: IS NOT NULL
  kBooleanTest,  // wanted: 0, 1, 2 (unknown); flag: NOT
  kIsDistinct,
  kNullIf,
  kGreatest,
  kLeast,
  kInList,    // args[0] in args[1...]
  kInSet,     // args[0] in `set`; all members are constants
  kBegin,     // out = room for `type`, all NULL
  kCopy,      // out = args[0] at the rows of `rows`
  kLogic,     // out = out AND/OR args[0] at `rows`; selection[narrowed] = the rows still undecided. flag: AND
  kBranch,    // selection[narrowed] = rows where args[0] is true, selection[rest] = the others
  kCoalesce,  // out = args[0] where not NULL; selection[narrowed] = the rows where it is
  kSubquery,  // scalar, EXISTS or IN; args: [value of IN,] outer values
};

struct Program::Step {
  Op op;
  bool flag = false;
  uint32_t out = 0;
  uint32_t rows = 0;  // number of the selection that the step runs under
  uint32_t narrowed = 0;
  uint32_t rest = 0;
  uint32_t wanted = 0;
  type::SqlType type;
  const sql::Expr* expr = nullptr;  // function, cast, subplan
  uint32_t subplan = 0;
  std::vector<uint32_t> args;
  std::unordered_set<std::string> set;  // keys of the members
  bool set_has_null = false;
};

}  // namespace sisal::exec
