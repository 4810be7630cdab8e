#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "memory/plan.h"
#include "memory/session/step_requests.h"
#include "memory/session/tag_matcher.h"

namespace skyline {

// What the arena needs to know of request k.
struct StepSlot {
  std::uint64_t offset = 0;
  std::uint64_t bytes_limit = 0;      // serves requests of fewer bytes; 0: not planned
  std::uint32_t released_before = 0;  // how many planned releases come before this request
  std::uint32_t rank = 0;             // the place of its own among the planned releases

  bool planned() const noexcept { return bytes_limit > 0; }
  std::uint64_t bytes() const noexcept { return bytes_limit - 1; }  // rounded; of planned slots
};

// A plan in the form that serves requests: flat tables in the order of the requests.
struct StepLayout {
  std::vector<StepSlot> slots = {};                // one a request
  std::vector<RequestIndex> request_of_rank = {};  // the planned releases in order
  std::uint64_t peak_bytes = 0;
  std::uint64_t alignment_bytes = kAlignmentBytes;  // of offsets and sizes
  // Where requests meet by tag; null: by position.
  std::shared_ptr<const TagMatcher> tags = {};
};

// Throws PlanMismatch when the plan has not one offset for each block of the step's trace.
StepLayout make_layout(const CanonicalStep& step, const Plan& plan);
// The same, for steps whose requests meet the demand's as it says.
StepLayout make_layout(const CanonicalStep& step, const Plan& plan, const StepDemand& demand);

}  // namespace skyline
