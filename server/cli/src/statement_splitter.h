// Cuts SQL text into statements at semicolons, as psql does: one inside quotes, dollar quotes, comments or parentheses
// does not count. A backslash outside all of these begins a meta-command, which takes the rest of its line.
//
// Lexical rules: PostgreSQL 15 with standard_conforming_strings on. The text is only cut, never judged: what is no SQL
// reaches the server, whose errors are better.
//
// Concurrency: externally synchronised.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sisal::cli {
class StatementSplitter {
 public:
  enum class Event {
    kStatement,    // TakeStatement() has it
    kMetaCommand,  // TakeMetaCommand() has it; what was read of a statement stays
    kNeedInput,    // everything fed has been read
  };

  // Requires: `text` ends at a line's end or at the end of all input, so that no token is torn.
  void Feed(std::string_view text);
  // As Feed, but before what has been fed and not read yet.
  void FeedFirst(std::string_view text) { input_.insert(at_, text); }

  // Reads on to the next event. A statement of only blanks and comments is skipped.
  Event Next();

  // Without its semicolon, and without the blanks before and after.
  std::string TakeStatement();
  // The text after the backslash.
  std::string TakeMetaCommand();
  // At the end of the input, or for \g: a statement that no semicolon has ended; empty if there is none.
  std::string TakeUnfinished();
  // What has been read of the current statement, for \p.
  std::string_view pending() const { return statement_; }
  // Forgets the statement that was begun and the input that was not read.
  void Reset();

  // For the prompt: '=' at a statement's start, '-' inside one, '\'', '"', '$', '*' (comment) or '(' inside these.
  char prompt_mark() const;

 private:
  enum class Mode { kPlain, kString, kEscapeString, kIdentifier, kDollar, kComment };

  std::optional<Event> ScanPlain();
  void ScanWord();
  void ScanDollar();
  void ScanQuoted(char quote, bool backslash_escapes);
  void ScanDollarQuoted();
  void ScanComment();
  void SkipLineComment();
  void ForgetStatement();
  // Moves `count` bytes from the input to the statement.
  void Take(size_t count);
  bool StartsWith(std::string_view text) const { return std::string_view(input_).substr(at_).starts_with(text); }

  std::string input_;
  size_t at_ = 0;  // input_ before this has been read
  std::string statement_;
  std::string finished_;      // kStatement
  std::string meta_command_;  // kMetaCommand
  Mode mode_ = Mode::kPlain;
  bool has_token_ = false;  // statement_ holds more than blanks and comments
  size_t parenthesis_depth_ = 0;
  size_t comment_depth_ = 0;
  std::string dollar_tag_;  // "$tag$"
  // E'a' <newline> 'b\'' goes on as an escape string.
  bool after_escape_string_ = false;
  bool newline_after_escape_string_ = false;
};
}  // namespace sisal::cli
