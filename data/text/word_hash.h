#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace skyline {

// A dictionary's hash for keys that are looked up without making a string of them.
struct WordHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view word) const noexcept {
    return std::hash<std::string_view>()(word);
  }
};

}  // namespace skyline
