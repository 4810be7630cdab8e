#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace skyline {

// Bytes from text: "8388608", "8MiB", "1.5 GiB", "512B"; units B, KiB, MiB, GiB, TiB, PiB in any
// case. Throws UsageError when the text is no size, not a whole number of bytes, or above 2^63 − 1;
// a decimal unit ("8MB", "8M") is answered with the binary one.
std::uint64_t parse_bytes(std::string_view text);

// For reading, rounded to at most four digits: "512 B", "8 MiB", "12.41 MiB".
std::string format_bytes(std::uint64_t bytes);

// Exact and accepted by parse_bytes: the largest unit that divides it, "8MiB", "8388609B".
std::string format_bytes_exact(std::uint64_t bytes);

// 1234567 as "1,234,567".
std::string format_count(std::int64_t count);

}  // namespace skyline
