// Regular expressions: PostgreSQL's "advanced" syntax on RE2, which never takes exponential time or deep recursion.
//
// What RE2 has not (back references, lookahead, word ends) is refused: 0A000. Whether a text matches is the same in
// both engines then; which part of it matches may differ (PostgreSQL: the longest), so only that is asked.
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
  static Result<Regex> Compile(std::string_view pattern, bool ignore_case);
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  bool Matches(std::string_view text) const;

 private:
  explicit Regex(std::unique_ptr<re2::RE2> compiled);
  std::unique_ptr<re2::RE2> compiled_;
};

// The expression in RE2's syntax. `ignore_case` is set or cleared by embedded options: "(?i)".
Result<std::string> TranslateRegex(std::string_view pattern, bool& ignore_case);

}  // namespace sisal::function
