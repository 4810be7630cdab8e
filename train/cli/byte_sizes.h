#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace skyline {

// Reads bytes from text: "8388608", "8MiB", "1.5 GiB", "512B"; units are B, KiB, MiB, GiB, TiB and
// PiB in any case. Fractions of a unit are rounded down to whole bytes. Throws UsageError if the
// text is not a size, is a fraction of a byte ("1.5"), or above 2^63 − 1. For a decimal unit
// ("8MB", "8M") the error suggests the binary one.
std::uint64_t parse_bytes(std::string_view text);

// For people, rounded to at most four digits: "512 B", "8 MiB", "12.41 MiB".
std::string format_bytes(std::uint64_t bytes);
// The same, but rounded up: what parse_bytes() reads back is enough.
std::string format_bytes_up(std::uint64_t bytes);

// Both rounded and exact: "12.41 MiB (13012992 bytes)".
std::string format_bytes_both(std::uint64_t bytes);

// Exact, in the largest unit that divides it: "8MiB", "8388609B". parse_bytes() reads it back.
std::string format_bytes_exact(std::uint64_t bytes);

// "1,234,567" for 1234567.
std::string format_count(std::int64_t count);

}  // namespace skyline
