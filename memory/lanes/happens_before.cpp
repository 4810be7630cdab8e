#include "memory/lanes/happens_before.h"

#include <algorithm>
#include <optional>

namespace skyline {

HappensBefore::HappensBefore(std::size_t ops)
    : ops_(ops), words_((ops + 63) / 64), bits_(ops * words_) {}

HappensBefore::HappensBefore(const StepEdges& edges, const Lanes& lanes)
    : HappensBefore(edges.size()) {
  const LaneId last_lane = lanes.empty() ? 0 : *std::ranges::max_element(lanes);
  std::vector<std::optional<OpId>> last_of_lane(std::size_t{last_lane} + 1);
  for (OpId op = 0; op < ops_; ++op) {
    for (const OpId before : edges[op]) add_wait(op, before);
    if (lanes.empty()) continue;
    std::optional<OpId>& last = last_of_lane[lanes[op]];
    if (last) add_wait(op, *last);
    last = op;
  }
}

void HappensBefore::add_wait(OpId op, OpId before) {
  std::uint64_t* const own = bits_.data() + op * words_;
  const std::uint64_t* const theirs = ancestors(before);
  for (std::size_t word = 0; word <= before / 64; ++word) own[word] |= theirs[word];
  own[before / 64] |= std::uint64_t{1} << (before % 64);
}

}  // namespace skyline
