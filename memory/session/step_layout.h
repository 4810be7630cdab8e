#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "memory/plan.h"
#include "memory/session/recording.h"
#include "memory/session/tag_matcher.h"

namespace skyline {

// The facts with which the arena serves request k.
struct StepSlot {
  std::uint64_t offset = 0;
  std::uint64_t bytes_limit = 0;      // serves requests of fewer bytes; 0: not planned
  std::uint32_t released_before = 0;  // planned releases that come before this request
  std::uint32_t rank = 0;             // index of its own release among the planned ones

  bool planned() const noexcept { return bytes_limit > 0; }
  std::uint64_t bytes() const noexcept { return bytes_limit - 1; }  // rounded; of planned slots
};

// The form of a plan that serves requests: flat tables in the order of the requests.
struct StepLayout {
  std::vector<StepSlot> slots = {};                // one for each request
  std::vector<RequestIndex> request_of_rank = {};  // the planned releases in order
  std::uint64_t peak_bytes = 0;
  std::uint64_t alignment_bytes = kAlignmentBytes;  // of offsets and sizes
  std::shared_ptr<const TagMatcher> tags = {};      // null: requests match by position
};

// `recording` says how requests match, and has the tags; by default they match by position.
// Throws PlanMismatch unless the plan has one offset for each block of the step's trace.
StepLayout make_layout(const CanonicalStep& step, const Plan& plan,
                       const StepRecording& recording = {});

}  // namespace skyline
