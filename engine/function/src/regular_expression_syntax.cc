// PostgreSQL's advanced regular expressions (manual, section 9.7.3) rewritten in RE2's syntax.
#include <cstdio>

#include "regular_expression.h"
#include "utf8.h"

namespace sisal::function {
namespace {

Error Invalid(std::string_view what) { return Error("2201B", "invalid regular expression: " + std::string(what)); }
Error Unsupported(std::string_view what) {
  return Error("0A000", std::string(what) + " in a regular expression is not supported");
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr std::string_view kSpaces = "\\t\\n\\v\\f\\r ";
constexpr std::string_view kNoSpaces = "\\x00-\\x08\\x0e-\\x1f!-\\x{10FFFF}";

class Translator {
 public:
  explicit Translator(std::string_view pattern) : rest_(pattern) {}

  Status Run() {
    while (!rest_.empty()) SISAL_RETURN_IF_ERROR(Item());
    if (depth_ != 0) return Invalid("parentheses () not balanced");
    return Status();
  }
  std::string& out() { return out_; }
  bool has_captures() const { return has_captures_; }
  bool has_shortest() const { return has_shortest_; }

 private:
  char Take() {
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }
  void EmitLiteral(uint32_t code) {
    char text[16];
    snprintf(text, sizeof(text), "\\x{%x}", code);
    out_ += text;
  }
  Status EmitCode(uint64_t code) {
    if (code > 0x10FFFF) return Invalid("invalid escape \\ sequence");
    EmitLiteral(static_cast<uint32_t>(code));
    return Status();
  }

  // One atom, constraint, quantifier or parenthesis.
  Status Item() {
    const char c = rest_[0];
    switch (c) {
      case '(':
        return Open();
      case ')':
        Take();
        if (depth_ == 0) return Invalid("parentheses () not balanced");
        --depth_;
        return Emit(")", true);
      case '|':
      case '^':
      case '$':
        return Emit(std::string(1, Take()), false);
      case '.':
        Take();
        return Emit(".", true);
      case '*':
      case '+':
      case '?':
        return Quantifier(std::string(1, Take()));
      case '{':
        if (rest_.size() > 1 && IsDigit(rest_[1])) return Bound();
        Take();
        return Emit("\\{", true);
      case '[':
        Take();
        return Bracket();
      case '\\':
        Take();
        return Escape();
      default:
        EmitLiteral(CodePointOf(TakeCharacter(rest_)));
        quantifiable_ = true;
        return Status();
    }
  }
  Status Emit(std::string_view text, bool quantifiable) {
    out_ += text;
    quantifiable_ = quantifiable;
    return Status();
  }

  Status Open() {
    Take();
    ++depth_;
    if (rest_.empty() || rest_[0] != '?') {
      has_captures_ = true;
      return Emit("(", false);
    }
    Take();
    const char kind = rest_.empty() ? '\0' : Take();
    if (kind == ':') return Emit("(?:", false);
    if (kind == '=' || kind == '!' || kind == '<') return Unsupported("lookahead or lookbehind");
    return Invalid("quantifier operand invalid");
  }

  Status Quantifier(const std::string& text) {
    if (!quantifiable_) return Invalid("quantifier operand invalid");
    out_ += text;
    if (!rest_.empty() && rest_[0] == '?') {
      out_ += Take();
      has_shortest_ = true;
    }
    quantifiable_ = false;
    return Status();
  }

  // {m}, {m,}, {m,n}
  Status Bound() {
    Take();
    int counts[2] = {0, -1};
    const auto number = [&](int& value) {
      value = 0;
      while (!rest_.empty() && IsDigit(rest_[0])) value = std::min(value * 10 + (Take() - '0'), 1000);
    };
    number(counts[0]);
    bool open = false;
    if (!rest_.empty() && rest_[0] == ',') {
      Take();
      open = true;
      if (!rest_.empty() && IsDigit(rest_[0])) number(counts[1]);
    }
    if (rest_.empty()) return Invalid("braces {} not balanced");
    if (rest_[0] != '}') return Invalid("invalid repetition count(s)");
    Take();
    if (counts[0] > 255 || counts[1] > 255 || (counts[1] >= 0 && counts[0] > counts[1])) {
      return Invalid("invalid repetition count(s)");
    }
    std::string text = "{";
    text += std::to_string(counts[0]);
    if (open) text += ",";
    if (counts[1] >= 0) text += std::to_string(counts[1]);
    return Quantifier(text + "}");
  }

  // Escapes that stand for one character; `known`: `c` is one.
  Status CharacterEscape(char c, bool& known) {
    known = true;
    switch (c) {
      case 'a':
        return EmitCode(7);
      case 'b':
        return EmitCode(8);
      case 'B':
        return EmitCode('\\');
      case 'e':
        return EmitCode(27);
      case 'f':
        return EmitCode('\f');
      case 'n':
        return EmitCode('\n');
      case 'r':
        return EmitCode('\r');
      case 't':
        return EmitCode('\t');
      case 'v':
        return EmitCode('\v');
      case 'c':
        if (rest_.empty()) return Invalid("invalid escape \\ sequence");
        return EmitCode(static_cast<uint8_t>(TakeCharacter(rest_).back()) & 31);
      case 'u':
        return HexEscape(4, 4);
      case 'U':
        return HexEscape(8, 8);
      case 'x':
        return HexEscape(1, 255);
      case '0':
        return Unsupported("an octal escape");
      default:
        known = false;
        return Status();
    }
  }
  Status HexEscape(size_t digits_min, size_t digits_max) {
    uint64_t code = 0;
    size_t digits = 0;
    while (digits < digits_max && !rest_.empty() && HexValue(rest_[0]) >= 0) {
      code = std::min<uint64_t>(code * 16 + static_cast<uint64_t>(HexValue(Take())), uint64_t{1} << 32);
      ++digits;
    }
    if (digits < digits_min) return Invalid("invalid escape \\ sequence");
    return EmitCode(code);
  }

  Status Escape() {
    if (rest_.empty()) return Invalid("invalid escape \\ sequence");
    if (!IsLetter(rest_[0]) && !IsDigit(rest_[0])) {
      EmitLiteral(CodePointOf(TakeCharacter(rest_)));
      quantifiable_ = true;
      return Status();
    }
    const char c = Take();
    switch (c) {
      case 'd':
      case 'D':
      case 'w':
      case 'W':
        return Emit(std::string("\\") + c, true);
      case 's':
        out_ += '[';
        out_ += kSpaces;
        return Emit("]", true);
      case 'S':
        out_ += '[';
        out_ += kNoSpaces;
        return Emit("]", true);
      case 'A':
        return Emit("\\A", false);
      case 'Z':
        return Emit("\\z", false);
      case 'y':
        return Emit("\\b", false);
      case 'Y':
        return Emit("\\B", false);
      case 'm':
      case 'M':
        return Unsupported("a word boundary of one side");
      default:
        break;
    }
    bool known = false;
    SISAL_RETURN_IF_ERROR(CharacterEscape(c, known));
    quantifiable_ = true;
    if (known) return Status();
    if (IsDigit(c)) return Unsupported("a back reference");
    return Invalid("invalid escape \\ sequence");
  }

  Status Bracket() {
    if (rest_.starts_with("[:<:]]") || rest_.starts_with("[:>:]]")) return Unsupported("a word boundary of one side");
    out_ += '[';
    if (!rest_.empty() && rest_[0] == '^') out_ += Take();
    bool first = true;
    for (;; first = false) {
      if (rest_.empty()) return Invalid("brackets [] not balanced");
      if (rest_[0] == ']' && !first) break;
      SISAL_RETURN_IF_ERROR(BracketItem(first));
    }
    Take();
    return Emit("]", true);
  }

  Status BracketItem(bool first) {
    if (rest_.starts_with("[:")) return CharacterClass();
    if (rest_.starts_with("[.") || rest_.starts_with("[=")) return Unsupported("a collating element");
    if (rest_[0] == '\\') {
      Take();
      return BracketEscape();
    }
    if (rest_[0] == '-') {
      Take();
      // A range's sign, if something stands on both sides.
      if (first || rest_.empty() || rest_[0] == ']') {
        out_ += "\\-";
      } else {
        out_ += '-';
      }
      return Status();
    }
    EmitLiteral(CodePointOf(TakeCharacter(rest_)));
    return Status();
  }

  Status BracketEscape() {
    if (rest_.empty()) return Invalid("invalid escape \\ sequence");
    if (!IsLetter(rest_[0]) && !IsDigit(rest_[0])) {
      EmitLiteral(CodePointOf(TakeCharacter(rest_)));
      return Status();
    }
    const char c = Take();
    if (c == 'd' || c == 'w' || c == 'D' || c == 'W') {
      out_ += '\\';
      out_ += c;
      return Status();
    }
    if (c == 's' || c == 'S') {
      out_ += c == 's' ? kSpaces : kNoSpaces;
      return Status();
    }
    bool known = false;
    SISAL_RETURN_IF_ERROR(CharacterEscape(c, known));
    return known ? Status() : Invalid("invalid escape \\ sequence");
  }

  Status CharacterClass() {
    const size_t end = rest_.find(":]");
    if (end == std::string_view::npos) return Invalid("brackets [] not balanced");
    const std::string_view name = rest_.substr(2, end - 2);
    for (const std::string_view known : {"alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print",
                                         "punct", "space", "upper", "xdigit", "word"}) {
      if (name != known) continue;
      out_ += rest_.substr(0, end + 2);
      rest_.remove_prefix(end + 2);
      return Status();
    }
    return Invalid("invalid character class");
  }

  std::string_view rest_;
  std::string out_;
  size_t depth_ = 0;
  bool quantifiable_ = false;
  bool has_captures_ = false;
  bool has_shortest_ = false;
};

// The letters of "(?...)" at the beginning.
Status EmbeddedOptions(std::string_view& pattern, bool& ignore_case, bool& literal) {
  if (!pattern.starts_with("(?") || pattern.size() < 3 || !IsLetter(pattern[2])) return Status();
  const size_t end = pattern.find(')');
  if (end == std::string_view::npos) return Invalid("invalid embedded option");
  for (const char option : pattern.substr(2, end - 2)) {
    switch (option) {
      case 'c':
        ignore_case = false;
        break;
      case 'i':
        ignore_case = true;
        break;
      case 'q':
        literal = true;
        break;
      case 's':
      case 't':
        break;
      case 'b':
      case 'e':
      case 'm':
      case 'n':
      case 'p':
      case 'w':
      case 'x':
        return Unsupported("embedded option \"" + std::string(1, option) + "\"");
      default:
        return Invalid("invalid embedded option");
    }
  }
  pattern.remove_prefix(end + 1);
  return Status();
}

}  // namespace

Result<TranslatedRegex> TranslateRegex(std::string_view pattern, bool ignore_case) {
  TranslatedRegex translated;
  translated.ignore_case = ignore_case;
  bool literal = false;
  if (pattern.starts_with("***=")) {
    literal = true;
    pattern.remove_prefix(4);
  } else {
    if (pattern.starts_with("***:")) pattern.remove_prefix(4);
    SISAL_RETURN_IF_ERROR(EmbeddedOptions(pattern, translated.ignore_case, literal));
  }
  if (!literal) {
    Translator translator(pattern);
    SISAL_RETURN_IF_ERROR(translator.Run());
    translated.text = std::move(translator.out());
    translated.has_captures = translator.has_captures();
    translated.has_shortest = translator.has_shortest();
    return translated;
  }
  while (!pattern.empty()) {
    const std::string_view character = TakeCharacter(pattern);
    if (character.size() == 1 && !IsLetter(character[0]) && !IsDigit(character[0])) translated.text += '\\';
    translated.text += character;
  }
  return translated;
}

}  // namespace sisal::function
