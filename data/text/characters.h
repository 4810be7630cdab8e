#pragma once

namespace skyline {

// White space of Unicode 14, and U+001C to U+001F: the characters at which Python's str.split()
// splits.
bool is_white_space(char32_t code_point) noexcept;

// General category Nd.
bool is_decimal_digit(char32_t code_point) noexcept;

// Returns the lower-case form of a Latin (up to U+024F), Greek or Cyrillic capital, and any other
// code point unchanged. The result never takes more bytes in UTF-8.
char32_t lower_case(char32_t code_point) noexcept;

}  // namespace skyline
