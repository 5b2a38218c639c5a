// From text to libpg_query's tree.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "node.h"
#include "sisal/base/status.h"

namespace sisal::sql {

// 54001 with the limit in its hint.
Error NestedTooDeeply();

struct TreeDeleter {
  void operator()(PgQuery__ParseResult* tree) const { pg_query__parse_result__free_unpacked(tree, nullptr); }
};
using ParseTree = std::unique_ptr<PgQuery__ParseResult, TreeDeleter>;

// Errors: 54000 above kStatementBytesMax.
Status CheckLength(std::string_view sql);

// Refuses what must not reach the parser: invalid UTF-8, a NUL byte, too many tokens, too deep a nesting.
// Errors: 22021, 54000, 54001. `depth` becomes an upper bound of the levels that any walk of the tree recurses.
Status CheckText(const std::string& sql, uint32_t& depth);

// Requires: CheckText passed; runs on the big stack, and the tree is freed there. Errors: 42601 and the scanner's.
Result<ParseTree> ParseText(const std::string& sql);

struct TokensDeleter {
  void operator()(PgQuery__ScanResult* tokens) const { pg_query__scan_result__free_unpacked(tokens, nullptr); }
};
using Tokens = std::unique_ptr<PgQuery__ScanResult, TokensDeleter>;
// The tokens of a text that has been parsed, comments among them. nullptr: it could not be scanned.
Tokens ScanText(const std::string& sql);

// Turns byte offsets of one text into character positions from 1.
class TextPositions {
 public:
  explicit TextPositions(std::string_view sql);
  // 0 for a negative offset: not known.
  uint32_t PositionOf(int32_t offset) const;

 private:
  std::vector<uint32_t> characters_before_;  // of each byte offset; empty: all ASCII
  uint32_t size_ = 0;
};

}  // namespace sisal::sql
