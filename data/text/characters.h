#pragma once

namespace skyline {

// What Unicode 14 calls white space, and U+001C to U+001F: what Python's str.split() splits at.
bool is_white_space(char32_t code_point) noexcept;

// General category Nd.
bool is_decimal_digit(char32_t code_point) noexcept;

// The lower-case letter of an upper-case Latin letter up to U+024F, Greek or Cyrillic one; any
// other code point itself. Never of more bytes in UTF-8.
char32_t lower_case(char32_t code_point) noexcept;

}  // namespace skyline
