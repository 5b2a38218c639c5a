#include "parse.h"

#include <pg_query.h>

#include <algorithm>
#include <cstdio>

#include "sisal/base/bytes.h"
#include "sisal/sql/statement.h"

namespace sisal::sql {
namespace {

// Bounds the depth of the tree from the tokens alone. Brackets and CASE open frames. In a frame, a token that can nest
// (an operator, a cast) adds a level until a comma, AND or OR ends its chain: lists, ANDs and ORs are flat. Tokens of
// set operations and joins add up over the whole frame.
class NestingBound {
 public:
  void Add(int token);
  uint32_t depth() const { return depth_max_; }

 private:
  enum class Opener : uint8_t { kNone, kBracket, kCase };
  struct Frame {
    Opener opener = Opener::kNone;
    uint32_t chain = 0;    // since the last comma, AND or OR
    uint32_t between = 0;  // since the last comma
    uint32_t whole = 0;    // since the frame began
    uint32_t below = 0;    // sum of all levels of the frames around
    bool selects = false;  // has a SELECT: those that follow are its siblings in a set operation
  };
  void Open(Opener opener, uint32_t levels);
  void Close(Opener opener);
  void Count(uint32_t& counter, uint32_t levels) {
    counter += levels;
    const Frame& top = frames_.back();
    depth_max_ = std::max(depth_max_, top.below + top.chain + top.between + top.whole);
  }

  std::vector<Frame> frames_ = {Frame{}};
  uint32_t depth_max_ = 0;
};

void NestingBound::Open(Opener opener, uint32_t levels) {
  const Frame& top = frames_.back();
  Frame frame;
  frame.opener = opener;
  frame.below = top.below + top.chain + top.between + top.whole + levels;
  depth_max_ = std::max(depth_max_, frame.below);
  frames_.push_back(frame);
}

void NestingBound::Close(Opener opener) {
  // Text that does not balance is a syntax error later; an END without CASE ends a transaction.
  if (opener == Opener::kCase) {
    if (frames_.back().opener == Opener::kCase) frames_.pop_back();
    return;
  }
  while (frames_.back().opener == Opener::kCase) frames_.pop_back();
  if (frames_.back().opener == Opener::kBracket) frames_.pop_back();
  // What follows a bracket may be a chain of calls or subscripts on it: they are lists, so flat.
}

void NestingBound::Add(int token) {
  Frame& top = frames_.back();
  switch (token) {
    case '(':
    case '[':
      return Open(Opener::kBracket, 1);
    case ')':
    case ']':
      return Close(Opener::kBracket);
    case PG_QUERY__TOKEN__CASE:
      return Open(Opener::kCase, 2);
    case PG_QUERY__TOKEN__END_P:
      return Close(Opener::kCase);
    case ',':
      top.chain = top.between = 0;
      return;
    case ';':
      top.chain = top.between = top.whole = 0;
      return;
    case PG_QUERY__TOKEN__AND:
    case PG_QUERY__TOKEN__OR:
    case PG_QUERY__TOKEN__WHEN:
    case PG_QUERY__TOKEN__THEN:
    case PG_QUERY__TOKEN__ELSE:
      top.chain = 0;
      return;
    case PG_QUERY__TOKEN__BETWEEN:
      return Count(top.between, 1);
    case PG_QUERY__TOKEN__SELECT:
    case PG_QUERY__TOKEN__VALUES:
    case PG_QUERY__TOKEN__TABLE:
      if (!top.selects) Count(top.whole, 3);
      top.selects = true;
      return;
    case PG_QUERY__TOKEN__UNION:
    case PG_QUERY__TOKEN__INTERSECT:
    case PG_QUERY__TOKEN__EXCEPT:
    case PG_QUERY__TOKEN__JOIN:
    case PG_QUERY__TOKEN__EXPLAIN:
      return Count(top.whole, 1);
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
    case '^':
    case '<':
    case '>':
    case '=':
    case PG_QUERY__TOKEN__Op:
    case PG_QUERY__TOKEN__TYPECAST:
    case PG_QUERY__TOKEN__LESS_EQUALS:
    case PG_QUERY__TOKEN__GREATER_EQUALS:
    case PG_QUERY__TOKEN__NOT_EQUALS:
    case PG_QUERY__TOKEN__NOT:
    case PG_QUERY__TOKEN__IS:
    case PG_QUERY__TOKEN__ISNULL:
    case PG_QUERY__TOKEN__NOTNULL:
    case PG_QUERY__TOKEN__LIKE:
    case PG_QUERY__TOKEN__ILIKE:
    case PG_QUERY__TOKEN__SIMILAR:
    case PG_QUERY__TOKEN__IN_P:
    case PG_QUERY__TOKEN__COLLATE:
    case PG_QUERY__TOKEN__AT:
    case PG_QUERY__TOKEN__OPERATOR:
    case PG_QUERY__TOKEN__OVERLAPS:
      return Count(top.chain, 1);
    default:
      return;
  }
}

// Reads the scanner's answer off the wire: a tree of objects for each token would cost ten times its memory.
// Returns false if the bytes are not a pg_query.ScanResult.
bool ReadTokens(std::string_view bytes, uint32_t& token_count, NestingBound& bound) {
  constexpr uint64_t kTokensField = 2 << 3 | 2;
  constexpr uint64_t kTokenKindField = 4 << 3;
  ByteReader result(bytes);
  while (!result.empty()) {
    uint64_t field, number;
    if (!result.ReadVarint(field)) return false;
    if (field != kTokensField) {
      if ((field & 7) != 0 || !result.ReadVarint(number)) return false;
      continue;
    }
    std::string_view message;
    if (!result.ReadLengthPrefixed(message)) return false;
    ByteReader token(message);
    ++token_count;
    while (!token.empty()) {
      if (!token.ReadVarint(field) || (field & 7) != 0 || !token.ReadVarint(number)) return false;
      if (field == kTokenKindField) bound.Add(static_cast<int>(number));
    }
  }
  return true;
}

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The library passes on PostgreSQL's message but not its SQLSTATE; nearly all errors of scanner and grammar are 42601.
std::string_view SqlstateOf(std::string_view message) {
  if (Contains(message, "invalid escape string")) return "22025";
  if (Contains(message, "unsafe use of \\'")) return "22P06";
  if (Contains(message, "invalid byte sequence") || Contains(message, "invalid Unicode code point")) return "22021";
  if (Contains(message, "precision for type float")) return "22023";
  if (Contains(message, "not implemented") || Contains(message, "not supported")) return "0A000";
  if (Contains(message, "out of memory")) return "53200";
  if (message.starts_with("frame st") || message.starts_with("frame end cannot")) return "42P20";
  return "42601";
}

// Byte of the character at `position`, which counts from 1; the size if there is none.
size_t OffsetOf(std::string_view sql, int position) {
  for (size_t i = 0; i < sql.size(); ++i) {
    if ((sql[i] & 0xC0) != 0x80 && --position == 0) return i;
  }
  return sql.size();
}

// The scanner reports a number with a letter behind it by the letter's first byte: `at or near "1\xC3"`. The rest of
// the character stands in the text, whose token at `position` is what the message quotes.
std::string WithWholeCharacters(std::string message, std::string_view sql, int position) {
  const size_t bad = FindInvalidUtf8(message);
  if (bad == std::string::npos) return message;
  const size_t quote = message.rfind('"', bad);
  if (quote == std::string::npos) return message;
  const size_t token = OffsetOf(sql, position), length = bad - quote - 1;
  size_t end = token + length + 1;
  if (end > sql.size() || sql.compare(token, length + 1, message, quote + 1, length + 1) != 0) return message;
  while (end < sql.size() && (sql[end] & 0xC0) == 0x80) ++end;
  return message.replace(bad, 1, sql.substr(token + length, end - token - length));
}

// An incomplete \u in E'...' has an SQLSTATE of its own, one in U&'...' has not. `position`: in characters, from 1.
bool IsBackslashU(std::string_view sql, int position) {
  const size_t letter = OffsetOf(sql, position + 1);
  return letter < sql.size() && (sql[letter] == 'u' || sql[letter] == 'U');
}

}  // namespace

Error NestedTooDeeply() {
  return Error("54001", "stack depth limit exceeded")
      .WithHint("A statement's expressions, joins and sub-selects may nest " + std::to_string(kNestingMax) +
                " levels deep.")
      .WithLimit("statement_nesting_max", kNestingMax);
}

Status CheckLength(std::string_view sql) {
  if (sql.size() > kStatementBytesMax) {
    return Error("54000", "statement is too long: " + std::to_string(sql.size()) + " bytes, the limit is " +
                              std::to_string(kStatementBytesMax))
        .WithLimit("statement_bytes_max", kStatementBytesMax);
  }
  return Status();
}

Status CheckText(const std::string& sql, uint32_t& depth) {
  size_t bad = FindInvalidUtf8(sql);
  const size_t nul = sql.find('\0');
  if (nul != std::string::npos) bad = std::min(bad, nul);
  if (bad != std::string::npos) {
    char bytes[8];
    std::snprintf(bytes, sizeof(bytes), "0x%02x", static_cast<unsigned char>(sql[bad]));
    const auto characters = std::count_if(sql.begin(), sql.begin() + static_cast<ptrdiff_t>(bad),
                                          [](char c) { return (c & 0xC0) != 0x80; });
    return Error("22021", std::string("invalid byte sequence for encoding \"UTF8\": ") + bytes)
        .WithPosition(static_cast<uint32_t>(characters) + 1);
  }
  depth = static_cast<uint32_t>(sql.size());
  if (depth < kNestingMax / 2) return Status();  // no byte makes more than two levels
  PgQueryScanResult scanned = pg_query_scan(sql.c_str());
  NestingBound bound;
  uint32_t token_count = 0;
  // A scanner's error is the parser's to report: it cannot get past the bad token.
  const bool readable =
      scanned.error != nullptr || ReadTokens(std::string_view(scanned.pbuf.data, scanned.pbuf.len), token_count, bound);
  const bool failed = scanned.error != nullptr;
  pg_query_free_scan_result(scanned);
  if (!readable) return Error("XX000", "the scanner's answer is not readable");
  if (failed) return Status();
  depth = bound.depth();
  if (token_count > kStatementTokensMax) {
    return Error("54000", "statement is too long: " + std::to_string(token_count) + " tokens, the limit is " +
                              std::to_string(kStatementTokensMax))
        .WithLimit("statement_tokens_max", kStatementTokensMax);
  }
  if (depth > kNestingMax) return NestedTooDeeply();
  return Status();
}

Result<ParseTree> ParseText(const std::string& sql) {
  PgQueryProtobufParseResult parsed = pg_query_parse_protobuf(sql.c_str());
  if (parsed.error != nullptr) {
    const std::string message = parsed.error->message;
    const bool escape = message == "invalid Unicode escape" && IsBackslashU(sql, parsed.error->cursorpos);
    Error error(escape ? "22025" : SqlstateOf(message), WithWholeCharacters(message, sql, parsed.error->cursorpos));
    error.set_position(static_cast<uint32_t>(std::max(parsed.error->cursorpos, 0)));
    pg_query_free_protobuf_parse_result(parsed);
    return error;
  }
  ParseTree tree(pg_query__parse_result__unpack(nullptr, parsed.parse_tree.len,
                                                reinterpret_cast<const uint8_t*>(parsed.parse_tree.data)));
  pg_query_free_protobuf_parse_result(parsed);
  if (tree == nullptr) return Error("53200", "out of memory: the parse tree could not be unpacked");
  return tree;
}

Tokens ScanText(const std::string& sql) {
  PgQueryScanResult scanned = pg_query_scan(sql.c_str());
  Tokens tokens;
  if (scanned.error == nullptr) {
    tokens.reset(
        pg_query__scan_result__unpack(nullptr, scanned.pbuf.len, reinterpret_cast<const uint8_t*>(scanned.pbuf.data)));
  }
  pg_query_free_scan_result(scanned);
  return tokens;
}

TextPositions::TextPositions(std::string_view sql) : size_(static_cast<uint32_t>(sql.size())) {
  if (std::none_of(sql.begin(), sql.end(), [](char c) { return (c & 0x80) != 0; })) return;
  characters_before_.reserve(sql.size() + 1);
  uint32_t characters = 0;
  for (const char c : sql) {
    characters_before_.push_back(characters);
    if ((c & 0xC0) != 0x80) ++characters;
  }
  characters_before_.push_back(characters);
}

uint32_t TextPositions::PositionOf(int32_t offset) const {
  if (offset < 0) return 0;
  const uint32_t at = std::min(static_cast<uint32_t>(offset), size_);
  return (characters_before_.empty() ? at : characters_before_[at]) + 1;
}

}  // namespace sisal::sql
