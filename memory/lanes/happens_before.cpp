#include "memory/lanes/happens_before.h"

#include <algorithm>
#include <optional>

namespace skyline {

HappensBefore::HappensBefore(const StepEdges& edges, const Lanes& lanes)
    : ops_(edges.size()), words_((ops_ + 63) / 64), bits_(ops_ * words_) {
  const LaneId last_lane = lanes.empty() ? 0 : *std::ranges::max_element(lanes);
  std::vector<std::optional<OpId>> last_of_lane(std::size_t{last_lane} + 1);
  for (OpId op = 0; op < ops_; ++op) {
    for (const OpId before : edges[op]) inherit(op, before);
    if (lanes.empty()) continue;
    std::optional<OpId>& last = last_of_lane[lanes[op]];
    if (last) inherit(op, *last);
    last = op;
  }
}

void HappensBefore::inherit(OpId op, OpId before) {
  std::uint64_t* const own = bits_.data() + op * words_;
  const std::uint64_t* const theirs = ancestors(before);
  for (std::size_t word = 0; word <= before / 64; ++word) own[word] |= theirs[word];
  own[before / 64] |= std::uint64_t{1} << (before % 64);
}

}  // namespace skyline
