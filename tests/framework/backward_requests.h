#pragma once

#include <cstdint>
#include <vector>

#include "memory/trace.h"

namespace skyline {

// A request of the backward pass; ticks count from its first one.
struct BackwardRequest {
  std::uint64_t bytes = 0;
  Tick lower = 0, upper = 0;
  bool operator==(const BackwardRequest&) const = default;
};

inline std::vector<BackwardRequest> backward_requests(const Trace& trace) {
  std::vector<BackwardRequest> requests;
  Tick first = 0;
  for (std::size_t k = 0; k < trace.blocks.size(); ++k) {
    const TraceBlock& block = trace.blocks[k];
    if (trace.tags[k].phase == Phase::kForward) continue;
    if (requests.empty()) first = block.lower;
    requests.push_back({block.bytes, block.lower - first, block.upper - first});
  }
  return requests;
}

}  // namespace skyline
