// Meta-commands: \d, \x, \copy and the others, as far as possible as psql has them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shell.h"
#include "statement_splitter.h"

namespace sisal::cli {
// Requires: splitter.Next() has just returned kMetaCommand.
Verdict RunMetaCommand(Shell& shell, StatementSplitter& splitter);

// A name and its arguments. In single quotes blanks are kept and '' is a quote; double quotes stay, for identifiers.
struct MetaCommand {
  std::string name;
  std::vector<std::string> arguments;
  std::string_view rest;  // all after the name, without the blanks around it
};
// `text`: after the backslash; it must outlive the result.
MetaCommand ParseMetaCommand(std::string_view text);
}  // namespace sisal::cli
