#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace skyline {

// The position of the first byte that begins no well-formed sequence (RFC 3629: nothing overlong,
// no surrogates, nothing above U+10FFFF); none when all of `text` is UTF-8.
std::optional<std::size_t> first_invalid_utf8(std::string_view text) noexcept;

// "byte 8: 0xff is not UTF-8", bytes counted from 1; `first_byte` of them come before `text`.
std::string invalid_utf8_text(std::string_view text, std::size_t position,
                              std::size_t first_byte = 0);

struct CodePoint {
  char32_t value;
  std::size_t bytes;  // 1 to 4
};
// The code point that begins at `position` < text.size(), which begins a well-formed sequence.
CodePoint code_point_at(std::string_view text, std::size_t position) noexcept;

void append_utf8(std::string& text, char32_t code_point);

}  // namespace skyline
