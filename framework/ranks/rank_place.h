#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace skyline {

class RankGroup;

// Which of the ranks that train a network together a program is.
struct RankOf {
  std::size_t rank = 0;
  std::size_t ranks = 1;
};

// Which gradients the ranks sum together: buckets of their numbers. Gradients count from 0 in the
// sequence of the parameters, without those of parameters on which the loss does not depend. Null:
// all are in one bucket.
using SumBuckets = std::shared_ptr<const std::vector<std::vector<std::size_t>>>;

}  // namespace skyline
