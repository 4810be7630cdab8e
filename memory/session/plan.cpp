#include "memory/session/plan.h"

#include <fmt/core.h>

#include "memory/errors.h"

namespace skyline {

StepLayout make_layout(const CanonicalStep& step, const Plan& plan,
                       const StepRecording& recording) {
  const Trace& trace = step.trace;
  if (plan.offsets.size() != trace.size()) {
    throw PlanMismatch(fmt::format("[arena] got a plan with {} offsets for a trace of {} blocks",
                                   plan.offsets.size(), trace.size()));
  }
  StepLayout layout{.slots = std::vector<StepSlot>(step.requests),
                    .peak_bytes = plan.peak,
                    .alignment_bytes = plan.alignment};
  for (std::size_t block = 0; block < trace.size(); ++block) {
    StepSlot& slot = layout.slots[step.request_of[block]];
    slot.offset = plan.offsets[block];
    slot.bytes_limit = align_checked(trace.blocks[block].bytes, plan.alignment) + 1;
  }
  for (const std::uint32_t block : step.by_release) {
    const RequestIndex request = step.request_of[block];
    layout.slots[request].rank = static_cast<std::uint32_t>(layout.request_of_rank.size());
    layout.request_of_rank.push_back(request);
  }
  // An unplanned request leaves the clock where its predecessor moved it.
  std::uint32_t released = 0;
  std::size_t block = 0;
  for (RequestIndex request = 0; request < step.requests; ++request) {
    if (block < trace.size() && step.request_of[block] == request) {
      const Tick now = trace.blocks[block++].lower;
      while (released < step.by_release.size() &&
             trace.blocks[step.by_release[released]].upper <= now) {
        ++released;
      }
    }
    layout.slots[request].released_before = released;
  }
  if (recording.matching == Matching::kByTag) {
    layout.tags = std::make_shared<const TagMatcher>(recording.requests);
  }
  if (recording.matching == Matching::kBySize) {
    for (const StepRequest& request : recording.requests) layout.sizes.push_back(request.bytes);
  }
  return layout;
}

}  // namespace skyline
