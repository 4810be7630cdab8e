#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace skyline {

// A hash that lets maps with string keys look up a string_view without copying it.
struct WordHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view word) const noexcept {
    return std::hash<std::string_view>()(word);
  }
};

}  // namespace skyline
