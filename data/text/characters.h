#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace skyline {

// White space of Unicode 14, and U+001C to U+001F: the characters at which Python's str.split()
// splits.
bool is_white_space(char32_t code_point) noexcept;

// General category Nd.
bool is_decimal_digit(char32_t code_point) noexcept;

// Returns the lower-case form of a Latin (up to U+024F), Greek or Cyrillic capital, and any other
// code point unchanged. The result never takes more bytes in UTF-8.
char32_t lower_case(char32_t code_point) noexcept;
std::string lower_case(std::string_view text);  // UTF-8

// Position of the first byte that does not begin a well-formed sequence (RFC 3629: no overlong
// forms, no surrogates, nothing above U+10FFFF); none when all of `text` is UTF-8.
// Text that passes can be read with utf8::unchecked::next() (<utf8.h>).
std::optional<std::size_t> first_invalid_utf8(std::string_view text) noexcept;

// Returns "UTF-16LE", "UTF-16BE", "UTF-32LE" or "UTF-32BE" for the start of such a file, with or
// without a byte order mark; empty for any other.
std::string_view wide_encoding(std::string_view start) noexcept;

// "byte 8: 0xff is not UTF-8". Bytes count from 1; `first_byte` bytes come before `text`.
std::string invalid_utf8_text(std::string_view text, std::size_t position,
                              std::size_t first_byte = 0);

// "65 characters, crc32 89abcdef" for the number of items, their name and the text of their file.
std::string fingerprint(std::size_t count, const std::string& items, std::string_view text);

}  // namespace skyline
