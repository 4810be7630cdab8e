#pragma once

#include <string>
#include <vector>

namespace skyline {

// A text that fits a regular expression, whole at 0, then what its groups hold.
using Match = std::vector<std::string>;

// Returns the texts that fit a pattern of ECMAScript, in their order. Not inline, because including
// <regex> costs each test file six seconds of compile time.
std::vector<Match> matches(const std::string& text, const std::string& pattern);

}  // namespace skyline
