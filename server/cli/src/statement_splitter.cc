#include "statement_splitter.h"

#include <algorithm>
#include <utility>

namespace sisal::cli {
namespace {
bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
// Bytes above 0x7f are parts of letters, as in PostgreSQL's scanner.
bool IsWordStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool IsWordPart(char c) { return IsWordStart(c) || IsDigit(c) || c == '$'; }
}  // namespace

void StatementSplitter::Feed(std::string_view text) {
  input_.erase(0, at_);
  at_ = 0;
  input_.append(text);
}

StatementSplitter::Event StatementSplitter::Next() {
  while (at_ < input_.size()) {
    switch (mode_) {
      case Mode::kPlain:
        if (const auto event = ScanPlain()) return *event;
        break;
      case Mode::kString:
        ScanQuoted('\'', /*backslash_escapes=*/false);
        break;
      case Mode::kEscapeString:
        ScanQuoted('\'', /*backslash_escapes=*/true);
        break;
      case Mode::kIdentifier:
        ScanQuoted('"', /*backslash_escapes=*/false);
        break;
      case Mode::kDollar:
        ScanDollarQuoted();
        break;
      case Mode::kComment:
        ScanComment();
        break;
    }
  }
  return Event::kNeedInput;
}

std::string StatementSplitter::TakeStatement() { return std::exchange(finished_, std::string()); }

std::string StatementSplitter::TakeMetaCommand() { return std::exchange(meta_command_, std::string()); }

std::string StatementSplitter::TakeUnfinished() {
  std::string text = has_token_ ? std::move(statement_) : std::string();
  while (!text.empty() && IsSpace(text.back())) text.pop_back();
  ForgetStatement();
  return text;
}

void StatementSplitter::Reset() {
  input_.clear();
  at_ = 0;
  ForgetStatement();
}

void StatementSplitter::ForgetStatement() {
  statement_.clear();
  mode_ = Mode::kPlain;
  has_token_ = false;
  parenthesis_depth_ = 0;
  comment_depth_ = 0;
  after_escape_string_ = false;
}

char StatementSplitter::prompt_mark() const {
  switch (mode_) {
    case Mode::kString:
    case Mode::kEscapeString:
      return '\'';
    case Mode::kIdentifier:
      return '"';
    case Mode::kDollar:
      return '$';
    case Mode::kComment:
      return '*';
    case Mode::kPlain:
      break;
  }
  if (parenthesis_depth_ > 0) return '(';
  return statement_.empty() ? '=' : '-';
}

std::optional<StatementSplitter::Event> StatementSplitter::ScanPlain() {
  const char c = input_[at_];
  if (IsSpace(c)) {
    if (c == '\n') newline_after_escape_string_ = true;
    statement_.empty() ? static_cast<void>(++at_) : Take(1);
    return std::nullopt;
  }
  if (StartsWith("--")) {
    SkipLineComment();
    return std::nullopt;
  }
  if (StartsWith("/*")) {
    mode_ = Mode::kComment;
    comment_depth_ = 1;
    Take(2);
    return std::nullopt;
  }
  if (c == '\\') {
    const size_t end = std::min(input_.find('\n', at_), input_.size());
    meta_command_ = input_.substr(at_ + 1, end - at_ - 1);
    if (!meta_command_.empty() && meta_command_.back() == '\r') meta_command_.pop_back();
    at_ = std::min(end + 1, input_.size());
    return Event::kMetaCommand;
  }
  if (c == ';' && parenthesis_depth_ == 0) {
    ++at_;
    finished_ = TakeUnfinished();
    if (finished_.empty()) return std::nullopt;
    return Event::kStatement;
  }

  const bool continues_escape_string = after_escape_string_ && newline_after_escape_string_;
  after_escape_string_ = false;
  has_token_ = true;
  if (c == '\'') {
    mode_ = continues_escape_string ? Mode::kEscapeString : Mode::kString;
    Take(1);
  } else if (c == '"') {
    mode_ = Mode::kIdentifier;
    Take(1);
  } else if (c == '$') {
    ScanDollar();
  } else if (IsWordStart(c)) {
    ScanWord();
  } else {
    if (c == '(') ++parenthesis_depth_;
    if (c == ')' && parenthesis_depth_ > 0) --parenthesis_depth_;
    Take(1);
  }
  return std::nullopt;
}

void StatementSplitter::ScanWord() {
  size_t end = at_;
  while (end < input_.size() && IsWordPart(input_[end])) ++end;
  const bool opens_escape_string =
      end - at_ == 1 && (input_[at_] == 'e' || input_[at_] == 'E') && end < input_.size() && input_[end] == '\'';
  Take(end - at_ + (opens_escape_string ? 1 : 0));
  if (opens_escape_string) mode_ = Mode::kEscapeString;
}

void StatementSplitter::ScanDollar() {
  // $tag$ opens a quote; $1 is a parameter; a lone $ is an error that the server reports.
  size_t end = at_ + 1;
  if (end < input_.size() && IsWordStart(input_[end])) {
    while (end < input_.size() && (IsWordStart(input_[end]) || IsDigit(input_[end]))) ++end;
  }
  if (end < input_.size() && input_[end] == '$') {
    dollar_tag_ = input_.substr(at_, end + 1 - at_);
    mode_ = Mode::kDollar;
    Take(dollar_tag_.size());
  } else {
    Take(1);
  }
}

void StatementSplitter::ScanQuoted(char quote, bool backslash_escapes) {
  size_t end = at_;
  while (end < input_.size()) {
    if (backslash_escapes && input_[end] == '\\') {
      end += 2;
    } else if (input_[end] != quote) {
      ++end;
    } else if (end + 1 < input_.size() && input_[end + 1] == quote) {
      end += 2;
    } else {
      Take(end + 1 - at_);
      after_escape_string_ = backslash_escapes;
      newline_after_escape_string_ = false;
      mode_ = Mode::kPlain;
      return;
    }
  }
  Take(input_.size() - at_);
}

void StatementSplitter::ScanDollarQuoted() {
  const size_t close = input_.find(dollar_tag_, at_);
  if (close == std::string::npos) return Take(input_.size() - at_);
  Take(close + dollar_tag_.size() - at_);
  mode_ = Mode::kPlain;
}

void StatementSplitter::ScanComment() {
  while (at_ < input_.size()) {
    if (StartsWith("/*")) {
      ++comment_depth_;
      Take(2);
    } else if (StartsWith("*/")) {
      Take(2);
      if (--comment_depth_ == 0) {
        mode_ = Mode::kPlain;
        return;
      }
    } else {
      Take(1);
    }
  }
}

void StatementSplitter::SkipLineComment() {
  const size_t end = std::min(input_.find('\n', at_), input_.size());
  // Before a statement it says nothing to the server; inside, it stays, so that error positions fit.
  statement_.empty() ? static_cast<void>(at_ = end) : Take(end - at_);
}

void StatementSplitter::Take(size_t count) {
  statement_.append(input_, at_, count);
  at_ += count;
}
}  // namespace sisal::cli
