#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace skyline {

// Position of the first byte that does not begin a well-formed sequence (RFC 3629: no overlong
// forms, no surrogates, nothing above U+10FFFF); none when all of `text` is UTF-8.
// Text that passes can be read with utf8::unchecked::next() (<utf8.h>).
std::optional<std::size_t> first_invalid_utf8(std::string_view text) noexcept;

// "byte 8: 0xff is not UTF-8". Bytes count from 1; `first_byte` bytes come before `text`.
std::string invalid_utf8_text(std::string_view text, std::size_t position,
                              std::size_t first_byte = 0);

}  // namespace skyline
