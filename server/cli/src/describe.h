// \d and its kin: what the server's catalog views say about tables.
#pragma once

#include <string>
#include <string_view>

#include "shell.h"

namespace sisal::cli {
// \d, \dt. `pattern`: schema.name or name, where * and ? match as in file names; empty: all but the system's own.
Verdict ListTables(Shell& shell, std::string_view pattern, bool tables_only);
// \di
Verdict ListIndexes(Shell& shell, std::string_view pattern);
// \d NAME
Verdict DescribeTable(Shell& shell, std::string_view pattern);

// Which names are meant. Letters outside of double quotes are folded to lower case, as in SQL.
class NamePattern {
 public:
  explicit NamePattern(std::string_view text);
  bool Matches(std::string_view schema, std::string_view name) const;

 private:
  std::string schema_;  // empty: all but pg_catalog and information_schema
  std::string name_;    // empty: all
};
// '*' stands for any characters, '?' for one.
bool GlobMatches(std::string_view pattern, std::string_view text);
// The name as SQL text, in double quotes.
std::string QuoteIdentifier(std::string_view name);
}  // namespace sisal::cli
