#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string_view>

namespace skyline {

// Values are copied, compared and written by recursion: 50,000 levels would overflow the stack.
// Skyline writes at most eight levels.
inline constexpr std::size_t kDeepestJson = 100;

// Why a text is refused, without its source: "is not JSON at byte 12", "is nested deeper than 100
// levels (it has 200000 bytes)", "has the key 'a' twice", "holds a number out of range".
class JsonError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Parse a whole text. All readers of JSON call them. Throw JsonError.
nlohmann::json read_json(std::string_view text);
nlohmann::ordered_json read_ordered_json(std::string_view text);
// Returns null for a text that read_ordered_json() refuses.
nlohmann::ordered_json ordered_json_or_null(std::string_view text);

}  // namespace skyline
