#pragma once

#include <cstddef>

namespace skyline {

class RankGroup;

// Which of the ranks that train a network together a program is.
struct RankPlace {
  std::size_t rank = 0;
  std::size_t ranks = 1;
};

}  // namespace skyline
