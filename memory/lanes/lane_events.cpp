#include "memory/lanes/lane_events.h"

#include <algorithm>
#include <cstdint>

namespace skyline {

// A clock says how many ops of each lane are surely done when an op begins, as their turn on the
// lane, from 1.
std::vector<LaneEvent> lane_events(const StepEdges& edges, const Lanes& lanes) {
  using Clock = std::vector<std::uint32_t>;
  const std::size_t count = lanes.empty() ? 0 : std::size_t{*std::ranges::max_element(lanes)} + 1;
  std::vector<LaneEvent> events;
  std::vector<Clock> begin(edges.size());  // by op
  std::vector<Clock> lane(count, Clock(count));
  std::vector<std::uint32_t> turn(edges.size());
  for (OpId op = 0; op < edges.size(); ++op) {
    Clock& now = lane[lanes[op]];
    const auto wait = [&](OpId before) {
      if (now[lanes[before]] >= turn[before]) return;
      events.push_back({before, op});
      for (std::size_t k = 0; k < count; ++k) now[k] = std::max(now[k], begin[before][k]);
      now[lanes[before]] = turn[before];
    };
    // The latest op first: what it waited for needs no event of its own.
    for (std::size_t k = edges[op].size(); k-- > 0;) wait(edges[op][k]);
    begin[op] = now;
    turn[op] = ++now[lanes[op]];
  }
  return events;
}

}  // namespace skyline
