#include "like.h"

#include "utf8.h"

namespace sisal::function {

LikePattern::LikePattern(std::string_view pattern, bool characters) : pattern_(pattern), characters_(characters) {
  if (pattern.find_first_of("_\\") != std::string_view::npos) return;
  has_pieces_ = true;
  size_t begin = 0;
  for (size_t at = pattern.find('%'); at != std::string_view::npos; at = pattern.find('%', begin)) {
    pieces_.push_back(pattern.substr(begin, at - begin));
    begin = at + 1;
  }
  pieces_.push_back(pattern.substr(begin));
}

bool LikePattern::MatchesPieces(std::string_view text) const {
  if (pieces_.size() == 1) return text == pieces_[0];
  if (!text.starts_with(pieces_.front())) return false;
  text.remove_prefix(pieces_.front().size());
  if (!text.ends_with(pieces_.back())) return false;
  text.remove_suffix(pieces_.back().size());
  // The leftmost place of each piece leaves most for the others.
  for (size_t i = 1; i + 1 < pieces_.size(); ++i) {
    const size_t at = text.find(pieces_[i]);
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at + pieces_[i].size());
  }
  return true;
}

Result<bool> LikePattern::Matches(std::string_view text) const {
  if (has_pieces_) return MatchesPieces(text);
  const std::string_view pattern = pattern_;
  size_t t = 0, p = 0;
  // After a mismatch the last '%' takes one more character; earlier ones need not change.
  size_t retry_text = 0, retry_pattern = std::string_view::npos;
  const auto width = [&](size_t at) { return characters_ ? CharacterBytes(text[at]) : 1; };
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '%') {
      retry_pattern = ++p;
      retry_text = t;
      continue;
    }
    if (p < pattern.size() && pattern[p] == '_') {
      ++p;
      t += width(t);
      continue;
    }
    if (p < pattern.size() && pattern[p] == '\\') {
      if (p + 1 == pattern.size()) return Error("22025", "LIKE pattern must not end with escape character");
      if (pattern[p + 1] == text[t]) {
        p += 2;
        ++t;
        continue;
      }
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
      continue;
    }
    if (retry_pattern == std::string_view::npos) return false;
    p = retry_pattern;
    retry_text += width(retry_text);
    t = retry_text;
  }
  while (p < pattern.size() && pattern[p] == '%') ++p;
  return p == pattern.size();
}

}  // namespace sisal::function
