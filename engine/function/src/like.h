// LIKE: '%' any characters, '_' one character, '\' takes the next one as it is.
#pragma once

#include <string_view>
#include <vector>

#include "sisal/base/status.h"

namespace sisal::function {

// A pattern made ready; borrows its text.
class LikePattern {
 public:
  // `characters`: '_' stands for a character of UTF-8, else for a byte.
  LikePattern(std::string_view pattern, bool characters);

  // Errors: 22025 if matching comes to an escape at the pattern's end. Takes at most |text| * |pattern| steps.
  Result<bool> Matches(std::string_view text) const;

 private:
  bool MatchesPieces(std::string_view text) const;

  std::string_view pattern_;
  bool characters_;
  bool has_pieces_ = false;
  // Only '%' is special: the text between the '%'s. The first piece is at the text's begin, the last at its end.
  std::vector<std::string_view> pieces_;
};

}  // namespace sisal::function
