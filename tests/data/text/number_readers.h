#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace skyline {

// Parse numbers from 0 to 1,000,000 in words, with a grammar of their own that accepts only the
// spelling that data/text/numbers.h defines; none for anything else.
std::optional<std::uint32_t> read_english_number(const std::string& text);
std::optional<std::uint32_t> read_french_number(const std::string& text);

}  // namespace skyline
