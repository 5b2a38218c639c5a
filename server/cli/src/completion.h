// What a tab at the prompt offers: keywords, tables, columns, meta-commands.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "client.h"

namespace sisal::cli {
// Names as the server's views tell them. Value type.
struct SchemaNames {
  std::vector<std::string> tables;                                // "t", and "schema.t" outside of public
  std::map<std::string, std::vector<std::string>> table_columns;  // by the same names
};

// All that may stand where `word` has been begun; each candidate begins with it, but for the case of keywords.
// `before`: the statement up to the word. Sorted, without repetition.
std::vector<std::string> Candidates(std::string_view before, std::string_view word, const SchemaNames& names);

// Names, loaded when they are first needed. Concurrency: externally synchronised.
class SchemaCache {
 public:
  explicit SchemaCache(Client& client) : client_(client) {}
  // May ask the server, which gets a second to answer; where it does not, there is nothing to offer.
  const SchemaNames& Names();
  // After a change of tables.
  void Forget() { loaded_ = false; }

 private:
  void Load();

  Client& client_;
  SchemaNames names_;
  bool loaded_ = false;
  std::chrono::steady_clock::time_point loaded_at_;
};
}  // namespace sisal::cli
