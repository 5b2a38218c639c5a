// LIKE, ILIKE and regular expression operators.
#include <optional>

#include "kernel.h"
#include "like.h"
#include "registry.h"
#include "regular_expression.h"
#include "utf8.h"

namespace sisal::function {
namespace {

using enum type::TypeId;
using Text = std::string_view;

std::string LowerText(Text text) {
  std::string lower(text);
  bool ascii = true;
  for (char& byte : lower) {
    ascii &= static_cast<uint8_t>(byte) < 0x80;
    byte = static_cast<char>(byte ^ ((byte >= 'A') & (byte <= 'Z')) << 5);
  }
  if (ascii) return lower;
  lower.clear();
  char bytes[4];
  while (!text.empty()) {
    const size_t size = WriteCodePoint(LowerCodePoint(CodePointOf(TakeCharacter(text))), bytes);
    lower.append(bytes, size);
  }
  return lower;
}

// How a pattern is made ready for many texts. `Matcher` has: Result<Matcher> Make(pattern), Result<bool> Matches(text).
template <typename Matcher, bool kNegated>
Status MatchKernel(const Call& call, type::Vector& out) {
  std::optional<Matcher> matcher;
  Text pattern;
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    const uint32_t row = call.rows[i];
    if (!matcher.has_value() || pattern != call.args[1].Bytes(row)) {
      pattern = call.args[1].Bytes(row);
      SISAL_ASSIGN_OR_RETURN(matcher, Matcher::Make(pattern));
    }
    SISAL_ASSIGN_OR_RETURN(const bool matches, matcher->Matches(call.args[0].Bytes(row)));
    out.ints[row] = matches != kNegated;
  }
  return Status();
}

template <bool kCharacters>
struct Like {
  LikePattern pattern;
  static Result<Like> Make(Text pattern) { return Like{LikePattern(pattern, kCharacters)}; }
  Result<bool> Matches(Text text) const { return pattern.Matches(text); }
};
// Both sides in lower case, as in PostgreSQL.
struct CaselessLike {
  std::unique_ptr<std::string> lower;  // stays in place
  LikePattern pattern;
  static Result<CaselessLike> Make(Text pattern) {
    auto lower = std::make_unique<std::string>(LowerText(pattern));
    LikePattern compiled(*lower, true);
    return CaselessLike{std::move(lower), std::move(compiled)};
  }
  Result<bool> Matches(Text text) const { return pattern.Matches(LowerText(text)); }
};
template <bool kIgnoreCase>
struct RegexMatcher {
  Regex regex;
  static Result<RegexMatcher> Make(Text pattern) {
    SISAL_ASSIGN_OR_RETURN(Regex regex, Regex::Compile(pattern, kIgnoreCase));
    return RegexMatcher{std::move(regex)};
  }
  Result<bool> Matches(Text text) const { return regex.Matches(text); }
};

template <typename Matcher>
void AddMatch(Registry& registry, std::string_view symbol, std::string_view negated, type::TypeId text,
              type::TypeId pattern) {
  registry.Operator(symbol, {text, pattern}, kBoolean, MatchKernel<Matcher, false>);
  registry.Operator(negated, {text, pattern}, kBoolean, MatchKernel<Matcher, true>);
}

// Rewrites a pattern with ESCAPE `escape` for the usual backslash. An empty `escape`: there is no escape character.
Text LikeEscape(Env& env, Text pattern, Text escape) {
  if (!escape.empty() && CharacterBytes(escape[0]) != escape.size()) {
    return env.Fail(Error("22025", "invalid escape string").WithHint("Escape string must be empty or one character."));
  }
  if (escape == "\\") return pattern;
  std::string result;
  bool after_escape = false;
  while (!pattern.empty()) {
    const Text character = TakeCharacter(pattern);
    if (!escape.empty() && character == escape && !after_escape) {
      result += '\\';
      after_escape = true;
      continue;
    }
    if (character == "\\" && !after_escape) result += '\\';
    result += character;
    after_escape = false;
  }
  return env.Copy(result);
}

}  // namespace

void RegisterPatternFunctions(Registry& registry) {
  for (const type::TypeId text : {kText, kChar}) {
    AddMatch<Like<true>>(registry, "~~", "!~~", text, kText);
    AddMatch<CaselessLike>(registry, "~~*", "!~~*", text, kText);
    AddMatch<RegexMatcher<false>>(registry, "~", "!~", text, kText);
    AddMatch<RegexMatcher<true>>(registry, "~*", "!~*", text, kText);
  }
  AddMatch<Like<false>>(registry, "~~", "!~~", kBytea, kBytea);
  registry.Scalar("like_escape", {kText, kText}, kText,
                  Map<[](Env& env, Text pattern, Text escape) { return LikeEscape(env, pattern, escape); }>);
}

}  // namespace sisal::function
