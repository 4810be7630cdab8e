#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace skyline {

// Numbers read back from words, by a grammar of their own that takes nothing but correct spelling
// as data/text/numbers.h states it; none for anything else. 0 to 1,000,000.
std::optional<std::uint32_t> read_english_number(const std::string& text);
std::optional<std::uint32_t> read_french_number(const std::string& text);

}  // namespace skyline
