// Functions of regular expressions: regexp_replace() and its family, substring() by a pattern, SIMILAR TO.
#include <optional>

#include "kernel.h"
#include "registry.h"
#include "regular_expression.h"
#include "utf8.h"

namespace sisal::function {
namespace {

using enum type::TypeId;
using Text = std::string_view;

struct Flags {
  bool ignore_case = false;
  bool global = false;
};

// `allows_global`: "g" is a flag of regexp_replace() alone. Errors: 22023, 0A000.
Result<Flags> ParseFlags(Text text, std::string_view function, bool allows_global) {
  Flags flags;
  while (!text.empty()) {
    const Text flag = TakeCharacter(text);
    if (flag == "g") {
      flags.global = true;
    } else if (flag == "i") {
      flags.ignore_case = true;
    } else if (flag == "c") {
      flags.ignore_case = false;
    } else if (Text("bemnpqwx").find(flag) != Text::npos) {
      return Error("0A000", "regular expression option \"" + std::string(flag) + "\" is not supported");
    } else if (flag != "s" && flag != "t") {
      return Error("22023", "invalid regular expression option: \"" + std::string(flag) + "\"");
    }
  }
  if (flags.global && !allows_global) {
    return Error("22023", std::string(function) + "() does not support the \"global\" option");
  }
  return flags;
}

// Compiles again only when the pattern or the flags change from row to row.
class CachedRegex {
 public:
  CachedRegex(Regex::Purpose purpose, std::string_view function, bool allows_global)
      : purpose_(purpose), function_(function), allows_global_(allows_global) {}

  Status Prepare(Text pattern, Text flags) {
    if (regex_.has_value() && pattern == pattern_ && flags == flags_text_) return Status();
    SISAL_ASSIGN_OR_RETURN(flags_, ParseFlags(flags, function_, allows_global_));
    SISAL_ASSIGN_OR_RETURN(regex_, Regex::Compile(pattern, flags_.ignore_case, purpose_));
    pattern_ = pattern;
    flags_text_ = flags;
    return Status();
  }
  const Regex& regex() const { return *regex_; }
  bool global() const { return flags_.global; }

 private:
  const Regex::Purpose purpose_;
  const std::string_view function_;
  const bool allows_global_;
  std::optional<Regex> regex_;
  Flags flags_;
  Text pattern_, flags_text_;
};

Status LikeKernel(const Call& call, type::Vector& out) {
  CachedRegex cached(Regex::Purpose::kMatches, "regexp_like", false);
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    const uint32_t row = call.rows[i];
    SISAL_RETURN_IF_ERROR(
        cached.Prepare(call.args[1].Bytes(row), call.args.size() > 2 ? call.args[2].Bytes(row) : Text()));
    out.ints[row] = cached.regex().Matches(call.args[0].Bytes(row));
  }
  return Status();
}

// From `offset` on, until `visit` returns false.
template <typename Visit>
void ForEachMatch(const Regex& regex, Text text, size_t offset, Visit visit) {
  Text match;
  while (offset <= text.size() && regex.Find(text, offset, match)) {
    if (!visit(match)) return;
    offset = static_cast<size_t>(match.data() - text.data()) + match.size();
    // An empty match: go on behind the next character.
    if (match.empty()) offset += offset < text.size() ? CharacterBytes(text[offset]) : 1;
  }
}

// The byte at which a search from the character `start` begins; behind the text's end if that is shorter.
Result<size_t> SearchOffset(Text text, int64_t start) {
  if (start < 1) return Error("22023", "invalid value for parameter \"start\": " + std::to_string(start));
  const auto characters = static_cast<size_t>(start - 1);
  return CharacterCount(text) < characters ? text.size() + 1 : OffsetOfCharacter(text, characters);
}

// The replacement's pieces; a piece without data stands for the match: "\&".
Result<std::vector<std::optional<std::string>>> ParseReplacement(Text text) {
  std::vector<std::optional<std::string>> pieces;
  std::string literal;
  while (!text.empty()) {
    const char c = text[0];
    const char next = text.size() > 1 ? text[1] : '\0';
    if (c != '\\' || (next != '&' && next != '\\' && (next < '1' || next > '9'))) {
      literal += c;
      text.remove_prefix(1);
      continue;
    }
    if (next >= '1' && next <= '9') {
      return Error("0A000", "a reference to a parenthesized part in a replacement is not supported");
    }
    text.remove_prefix(2);
    if (next == '\\') {
      literal += '\\';
      continue;
    }
    pieces.push_back(std::exchange(literal, {}));
    pieces.push_back(std::nullopt);
  }
  pieces.push_back(std::move(literal));
  return pieces;
}

// The match number `which` from `offset` on; 0: all.
Result<std::string> ReplaceMatches(const Regex& regex, Text text, Text replacement, size_t offset, int64_t which) {
  SISAL_ASSIGN_OR_RETURN(const auto pieces, ParseReplacement(replacement));
  std::string result;
  size_t copied = 0;
  int64_t number = 0;
  ForEachMatch(regex, text, offset, [&](Text match) {
    if (++number < which) return true;
    const auto begin = static_cast<size_t>(match.data() - text.data());
    result.append(text.substr(copied, begin - copied));
    for (const std::optional<std::string>& piece : pieces) result.append(piece.has_value() ? Text(*piece) : match);
    copied = begin + match.size();
    return which == 0;
  });
  result.append(text.substr(copied));
  if (result.size() > (size_t{1} << 30) - 5) return Error("54000", "requested length too large");
  return result;
}

// regexp_replace(text, pattern, replacement [, flags])
Status ReplaceKernel(const Call& call, type::Vector& out) {
  CachedRegex cached(Regex::Purpose::kFind, "regexp_replace", true);
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    const uint32_t row = call.rows[i];
    SISAL_RETURN_IF_ERROR(
        cached.Prepare(call.args[1].Bytes(row), call.args.size() > 3 ? call.args[3].Bytes(row) : Text()));
    SISAL_ASSIGN_OR_RETURN(
        const std::string replaced,
        ReplaceMatches(cached.regex(), call.args[0].Bytes(row), call.args[2].Bytes(row), 0, cached.global() ? 0 : 1));
    out.bytes[row] = call.arena.Copy(replaced);
  }
  return Status();
}

// regexp_replace(text, pattern, replacement, start [, which [, flags]])
Status ReplaceFromKernel(const Call& call, type::Vector& out) {
  CachedRegex cached(Regex::Purpose::kFind, "regexp_replace", true);
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    const uint32_t row = call.rows[i];
    const Text text = call.args[0].Bytes(row);
    SISAL_ASSIGN_OR_RETURN(const size_t offset, SearchOffset(text, call.args[3].Int(row)));
    const int64_t which = call.args.size() > 4 ? call.args[4].Int(row) : 1;
    if (which < 0) return Error("22023", "invalid value for parameter \"n\": " + std::to_string(which));
    SISAL_RETURN_IF_ERROR(
        cached.Prepare(call.args[1].Bytes(row), call.args.size() > 5 ? call.args[5].Bytes(row) : Text()));
    SISAL_ASSIGN_OR_RETURN(const std::string replaced,
                           ReplaceMatches(cached.regex(), text, call.args[2].Bytes(row), offset, which));
    out.bytes[row] = call.arena.Copy(replaced);
  }
  return Status();
}

// regexp_count(text, pattern [, start [, flags]])
Status CountKernel(const Call& call, type::Vector& out) {
  CachedRegex cached(Regex::Purpose::kFind, "regexp_count", false);
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    const uint32_t row = call.rows[i];
    const Text text = call.args[0].Bytes(row);
    SISAL_ASSIGN_OR_RETURN(const size_t offset, SearchOffset(text, call.args.size() > 2 ? call.args[2].Int(row) : 1));
    SISAL_RETURN_IF_ERROR(
        cached.Prepare(call.args[1].Bytes(row), call.args.size() > 3 ? call.args[3].Bytes(row) : Text()));
    int64_t count = 0;
    ForEachMatch(cached.regex(), text, offset, [&](Text) {
      ++count;
      return true;
    });
    out.ints[row] = count;
  }
  return Status();
}

// substring(text from pattern): the match, or NULL.
Status SubstringKernel(const Call& call, type::Vector& out) {
  type::EnsureNulls(out, call.capacity, call.arena);
  CachedRegex cached(Regex::Purpose::kFind, "substring", false);
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    const uint32_t row = call.rows[i];
    SISAL_RETURN_IF_ERROR(cached.Prepare(call.args[1].Bytes(row), {}));
    if (cached.regex().has_captures()) {
      return Error("0A000", "substring() by a pattern with parentheses is not supported")
          .WithHint("Parentheses of the form (?:...) are.");
    }
    if (!cached.regex().Find(call.args[0].Bytes(row), 0, out.bytes[row])) {
      out.bytes[row] = {};
      out.SetNull(row);
    }
  }
  return Status();
}

// substring(text similar pattern escape e).
Status SubstringSimilarKernel(const Call&, type::Vector&) {
  return Error("0A000", "substring() by a SIMILAR TO pattern is not supported");
}

// The pattern of SIMILAR TO as a regular expression for "~". An empty `escape`: there is no escape character.
Text SimilarToEscape(Env& env, Text pattern, Text escape) {
  if (!escape.empty() && CharacterBytes(escape[0]) != escape.size()) {
    return env.Fail(Error("22025", "invalid escape string").WithHint("Escape string must be empty or one character."));
  }
  std::string result = "^(?:";
  bool after_escape = false, in_brackets = false;
  while (!pattern.empty()) {
    const Text character = TakeCharacter(pattern);
    if (after_escape) {
      if (character == "\"" && !in_brackets) {
        return env.Fail("0A000", "a separator in a SIMILAR TO pattern is not supported");
      }
      result.append("\\").append(character);
      after_escape = false;
    } else if (!escape.empty() && character == escape) {
      after_escape = true;
    } else if (in_brackets) {
      if (character == "\\") result += '\\';
      result += character;
      if (character == "]") in_brackets = false;
    } else if (character == "[") {
      result += '[';
      in_brackets = true;
    } else if (character == "%") {
      result += ".*";
    } else if (character == "_") {
      result += '.';
    } else if (character == "(") {
      result += "(?:";
    } else {
      if (Text("\\.^$").find(character) != Text::npos) result += '\\';
      result += character;
    }
  }
  return env.Copy(result + ")$");
}

}  // namespace

void RegisterRegexFunctions(Registry& registry) {
  registry.Scalar("regexp_like", {kText, kText}, kBoolean, LikeKernel);
  registry.Scalar("regexp_like", {kText, kText, kText}, kBoolean, LikeKernel);
  registry.Scalar("regexp_replace", {kText, kText, kText}, kText, ReplaceKernel);
  registry.Scalar("regexp_replace", {kText, kText, kText, kText}, kText, ReplaceKernel);
  registry.Scalar("regexp_replace", {kText, kText, kText, kInteger}, kText, ReplaceFromKernel);
  registry.Scalar("regexp_replace", {kText, kText, kText, kInteger, kInteger}, kText, ReplaceFromKernel);
  registry.Scalar("regexp_replace", {kText, kText, kText, kInteger, kInteger, kText}, kText, ReplaceFromKernel);
  registry.Scalar("regexp_count", {kText, kText}, kInteger, CountKernel);
  registry.Scalar("regexp_count", {kText, kText, kInteger}, kInteger, CountKernel);
  registry.Scalar("regexp_count", {kText, kText, kInteger, kText}, kInteger, CountKernel);
  registry.Scalar("substring", {kText, kText}, kText, SubstringKernel);
  registry.Scalar("substring", {kText, kText, kText}, kText, SubstringSimilarKernel);
  registry.Scalar("similar_to_escape", {kText, kText}, kText,
                  Map<[](Env& env, Text pattern, Text escape) { return SimilarToEscape(env, pattern, escape); }>);
  registry.Scalar("similar_to_escape", {kText}, kText,
                  Map<[](Env& env, Text pattern) { return SimilarToEscape(env, pattern, "\\"); }>);
}

}  // namespace sisal::function
