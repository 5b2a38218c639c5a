// \copy: CSV files into tables and out of tables and queries.
//
// An import is one transaction (the open one, if there is one), whose rows travel as arrays of parameters, many to a
// call. An export streams. Memory is bounded in both.
#pragma once

#include <string>
#include <string_view>

#include "csv_reader.h"
#include "shell.h"

namespace sisal::cli {
Verdict RunCopy(Shell& shell, std::string_view arguments);

struct CopyCommand {
  enum class Header { kNone, kPresent, kMatch };  // kMatch: an import checks its names

  bool from_file = false;
  std::string table;    // as SQL text; empty: `query`
  std::string columns;  // as SQL text, without parentheses; empty: all
  std::string query;
  std::string path;  // empty: standard input or output
  CsvOptions csv;
  Header header = Header::kNone;
};
// TABLE [(columns)] | (query)  FROM | TO  'file' | stdin | stdout  [WITH] [(] options [)]
// Errors: 42601.
Result<CopyCommand> ParseCopy(std::string_view arguments);
}  // namespace sisal::cli
