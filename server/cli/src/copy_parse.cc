#include <algorithm>
#include <cctype>

#include "copy_command.h"

namespace sisal::cli {
namespace {
bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

struct Token {
  enum class Kind { kEnd, kWord, kString, kGroup };
  Kind kind = Kind::kEnd;
  std::string text;  // a string without its quotes, a group without its parentheses
};

class Tokens {
 public:
  explicit Tokens(std::string_view text) : rest_(text) {}

  Result<Token> Next() {
    while (!rest_.empty() && (IsSpace(rest_[0]) || rest_[0] == ',')) rest_.remove_prefix(1);
    if (rest_.empty()) return Token{};
    if (rest_[0] == '\'') return String();
    if (rest_[0] == '(') return Group();
    return Word();
  }

 private:
  Result<Token> String() {
    Token token{Token::Kind::kString, ""};
    for (size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '\'') {
        if (i + 1 == rest_.size() || rest_[i + 1] != '\'') {
          rest_.remove_prefix(i + 1);
          return token;
        }
        ++i;
      }
      token.text.push_back(rest_[i]);
    }
    return Error("42601", "\\copy: unterminated quoted string");
  }

  Result<Token> Group() {
    size_t depth = 0;
    char quote = 0;
    for (size_t i = 0; i < rest_.size(); ++i) {
      const char c = rest_[i];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '\'' || c == '"') {
        quote = c;
      } else if (c == '(') {
        ++depth;
      } else if (c == ')' && --depth == 0) {
        Token token{Token::Kind::kGroup, std::string(rest_.substr(1, i - 1))};
        rest_.remove_prefix(i + 1);
        return token;
      }
    }
    return Error("42601", "\\copy: a parenthesis is not closed");
  }

  // A name may hold dots and parts in double quotes.
  Result<Token> Word() {
    size_t end = 0;
    bool quoted = false;
    while (end < rest_.size() &&
           (quoted || (!IsSpace(rest_[end]) && rest_[end] != '(' && rest_[end] != ',' && rest_[end] != '\''))) {
      if (rest_[end] == '"') quoted = !quoted;
      ++end;
    }
    if (quoted) return Error("42601", "\\copy: unterminated quoted identifier");
    Token token{Token::Kind::kWord, std::string(rest_.substr(0, end))};
    rest_.remove_prefix(end);
    return token;
  }

  std::string_view rest_;
};

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

Error Unexpected(const Token& token) {
  if (token.kind == Token::Kind::kEnd) return Error("42601", "\\copy: arguments are missing");
  return Error("42601", "\\copy: parse error at \"" + token.text + "\"");
}

// Reads the value of an option, which is a string or a word.
Result<std::string> Value(Tokens& tokens) {
  SISAL_ASSIGN_OR_RETURN(const Token token, tokens.Next());
  if (token.kind != Token::Kind::kString && token.kind != Token::Kind::kWord) return Unexpected(token);
  return token.text;
}

Status ParseOptions(Tokens& tokens, bool in_group, CopyCommand* command) {
  SISAL_ASSIGN_OR_RETURN(Token token, tokens.Next());
  while (token.kind != Token::Kind::kEnd) {
    if (token.kind == Token::Kind::kGroup && !in_group) {
      Tokens inner(token.text);
      SISAL_RETURN_IF_ERROR(ParseOptions(inner, /*in_group=*/true, command));
      SISAL_ASSIGN_OR_RETURN(token, tokens.Next());
      continue;
    }
    if (token.kind != Token::Kind::kWord) return Unexpected(token);
    const std::string option = Lower(token.text);
    if (option == "with" || option == "csv") {
      // CSV is the only format.
    } else if (option == "format") {
      SISAL_ASSIGN_OR_RETURN(const std::string format, Value(tokens));
      if (Lower(format) != "csv") return Error("0A000", "\\copy: format " + format + " is not supported");
    } else if (option == "delimiter") {
      SISAL_ASSIGN_OR_RETURN(const std::string delimiter, Value(tokens));
      if (delimiter.size() != 1 || delimiter.find_first_of("\"\r\n") == 0) {
        return Error("22023", "\\copy: the delimiter must be a single one-byte character, and no quote or newline");
      }
      command->csv.delimiter = delimiter[0];
    } else if (option == "null") {
      SISAL_ASSIGN_OR_RETURN(command->csv.null_text, Value(tokens));
    } else if (option == "header") {
      command->header = CopyCommand::Header::kPresent;
      SISAL_ASSIGN_OR_RETURN(token, tokens.Next());
      const std::string word = token.kind == Token::Kind::kWord ? Lower(token.text) : "";
      if (word == "match") command->header = CopyCommand::Header::kMatch;
      if (word == "false" || word == "off") command->header = CopyCommand::Header::kNone;
      if (word != "match" && word != "false" && word != "off" && word != "true" && word != "on") continue;
    } else {
      return Error("0A000", "\\copy: option " + token.text + " is not supported");
    }
    SISAL_ASSIGN_OR_RETURN(token, tokens.Next());
  }
  return Status();
}
}  // namespace

Result<CopyCommand> ParseCopy(std::string_view arguments) {
  CopyCommand command;
  Tokens tokens(arguments);
  SISAL_ASSIGN_OR_RETURN(Token token, tokens.Next());
  if (token.kind == Token::Kind::kGroup) {
    command.query = token.text;
  } else if (token.kind == Token::Kind::kWord) {
    command.table = token.text;
  } else {
    return Unexpected(token);
  }
  SISAL_ASSIGN_OR_RETURN(token, tokens.Next());
  if (token.kind == Token::Kind::kGroup && !command.table.empty()) {
    command.columns = token.text;
    SISAL_ASSIGN_OR_RETURN(token, tokens.Next());
  }
  const std::string direction = token.kind == Token::Kind::kWord ? Lower(token.text) : "";
  if (direction != "from" && direction != "to") return Unexpected(token);
  command.from_file = direction == "from";
  if (command.from_file && command.table.empty()) return Error("42601", "\\copy: a query cannot be copied into");

  SISAL_ASSIGN_OR_RETURN(token, tokens.Next());
  if (token.kind != Token::Kind::kString && token.kind != Token::Kind::kWord) return Unexpected(token);
  const std::string word = token.kind == Token::Kind::kWord ? Lower(token.text) : "";
  const std::string stream = command.from_file ? "stdin" : "stdout";
  if (word == "program") return Error("0A000", "\\copy: PROGRAM is not supported");
  if (word != stream && word != "p" + stream) {
    if (token.text.empty()) return Error("42601", "\\copy: the file's name is empty");
    command.path = token.text;
  }
  SISAL_RETURN_IF_ERROR(ParseOptions(tokens, /*in_group=*/false, &command));
  return command;
}
}  // namespace sisal::cli
