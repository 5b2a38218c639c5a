// Regular expressions: PostgreSQL's "advanced" syntax on RE2, which never takes exponential time or deep recursion.
//
// What RE2 has not (back references, lookahead, word ends) is refused: 0A000. Whether a text matches is the same in
// both engines then. Which part of it matches is too, the leftmost longest, unless a quantifier asks for the shortest:
// 0A000 where that matters. What the parentheses match may differ: nobody asks.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sisal/base/status.h"

namespace re2 {
class RE2;
}

namespace sisal::function {

class Regex {
 public:
  // Errors: 2201B invalid regular expression: ..., 0A000.
  enum class Purpose { kMatches, kFind };
  static Result<Regex> Compile(std::string_view pattern, bool ignore_case, Purpose purpose = Purpose::kMatches);
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  bool Matches(std::string_view text) const;
  // The leftmost longest part of text.substr(offset) that matches; false: none. Anchors see the text before it.
  // Requires: compiled for kFind.
  bool Find(std::string_view text, size_t offset, std::string_view& match) const;
  bool has_captures() const { return has_captures_; }

 private:
  explicit Regex(std::unique_ptr<re2::RE2> compiled, bool has_captures);
  std::unique_ptr<re2::RE2> compiled_;
  bool has_captures_;
};

// An expression in RE2's syntax.
struct TranslatedRegex {
  std::string text;
  bool ignore_case = false;
  bool has_captures = false;  // parentheses other than (?:...)
  bool has_shortest = false;  // a quantifier like *?
};
// `ignore_case` holds unless embedded options say otherwise: "(?i)".
Result<TranslatedRegex> TranslateRegex(std::string_view pattern, bool ignore_case);

}  // namespace sisal::function
