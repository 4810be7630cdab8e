#pragma once

#include <string>
#include <string_view>

namespace skyline {

// The text with each byte that is no part of valid UTF-8 replaced by U+FFFD: formats whose readers
// insist on UTF-8 take names that are not.
std::string valid_utf8(std::string_view text);

// The text as a JSON string, quotes included; valid UTF-8 whatever the text.
std::string json_string(std::string_view text);

}  // namespace skyline
