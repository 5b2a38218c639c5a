#include "regular_expression.h"

#include <re2/re2.h>

namespace sisal::function {
namespace {

Error CompileError(const re2::RE2& compiled) {
  const auto invalid = [](std::string_view what) {
    return Error("2201B", "invalid regular expression: " + std::string(what));
  };
  switch (compiled.error_code()) {
    case re2::RE2::ErrorMissingBracket:
      return invalid("brackets [] not balanced");
    case re2::RE2::ErrorMissingParen:
    case re2::RE2::ErrorUnexpectedParen:
      return invalid("parentheses () not balanced");
    case re2::RE2::ErrorRepeatArgument:
    case re2::RE2::ErrorRepeatOp:
      return invalid("quantifier operand invalid");
    case re2::RE2::ErrorBadCharRange:
      return invalid("invalid character range");
    case re2::RE2::ErrorBadCharClass:
      return invalid("invalid character class");
    case re2::RE2::ErrorRepeatSize:  // each count alone has been checked
    case re2::RE2::ErrorPatternTooLarge:
      return Error("0A000", "a regular expression of this size is not supported");
    default:
      return invalid(compiled.error());
  }
}

}  // namespace

Regex::Regex(std::unique_ptr<re2::RE2> compiled, bool has_captures)
    : compiled_(std::move(compiled)), has_captures_(has_captures) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

Result<Regex> Regex::Compile(std::string_view pattern, bool ignore_case, Purpose purpose) {
  SISAL_ASSIGN_OR_RETURN(const TranslatedRegex translated, TranslateRegex(pattern, ignore_case));
  if (purpose == Purpose::kFind && translated.has_shortest) {
    return Error("0A000", "a shortest-match quantifier in a regular expression is not supported here");
  }
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_dot_nl(true);  // '.' matches a newline, as in PostgreSQL
  options.set_never_capture(true);
  options.set_case_sensitive(!translated.ignore_case);
  options.set_longest_match(purpose == Purpose::kFind);
  options.set_max_mem(int64_t{16} << 20);
  auto compiled = std::make_unique<re2::RE2>(re2::StringPiece(translated.text.data(), translated.text.size()), options);
  if (!compiled->ok()) return CompileError(*compiled);
  return Regex(std::move(compiled), translated.has_captures);
}

bool Regex::Matches(std::string_view text) const {
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *compiled_);
}

bool Regex::Find(std::string_view text, size_t offset, std::string_view& match) const {
  re2::StringPiece found;
  const re2::StringPiece whole(text.data(), text.size());
  if (!compiled_->Match(whole, offset, text.size(), re2::RE2::UNANCHORED, &found, 1)) return false;
  match = {found.data(), found.size()};
  return true;
}

}  // namespace sisal::function
