#include "tests/train/patterns.h"

#include <regex>

namespace skyline {

std::vector<Match> matches(const std::string& text, const std::string& pattern) {
  std::vector<Match> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), regex), none; at != none; ++at) {
    found.emplace_back(at->begin(), at->end());
  }
  return found;
}

}  // namespace skyline
