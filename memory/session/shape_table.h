#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "memory/allocator.h"
#include "memory/session/plan.h"

namespace skyline {

// A session's knowledge of the steps of one shape key.
struct SessionShape {
  StepPlan planned = {};  // serves the steps; without a layout: recording
  // The recording to plan next; stays set while its plan is being made.
  std::optional<StepRecording> wanted = {};
  std::vector<StepRequest> doubtful = {};  // a recording that ran out of memory
  // The plan's requests before steps of another order were merged.
  std::vector<StepRequest> uniform = {};
  std::uint64_t most_bytes = 0;            // alive in a step that left its plan
  std::vector<Observation> left_out = {};  // of the last step that was not merged
  // Deviating steps: those that led to a plan, without calm between; those since; the last one.
  std::uint64_t tries = 0, deviating_steps = 0, deviated_at = 0;
  std::uint64_t identity = 0;  // unique
  std::uint64_t last_used = 0;
  std::uint64_t last_wanted = 0;
};

// The shapes of a session, at most `most`; evicts the least recently used one. References stay
// valid until their shape is evicted. O(shapes) each.
class ShapeTable {
 public:
  explicit ShapeTable(std::size_t most) : most_(most) {}

  // Inserts a missing shape.
  SessionShape& use(ShapeKey key);
  // Returns null when there is none.
  const SessionShape* find(ShapeKey key) const noexcept;
  // Returns null when the shape was evicted or renewed.
  SessionShape* find(ShapeKey key, std::uint64_t identity);
  // Gives the shape a new identity and drops its wanted recording; a plan still being computed for
  // the old one is discarded.
  void renew(SessionShape& shape);
  void want(SessionShape& shape, StepRecording recording);

  struct Named {
    ShapeKey key = 0;
    SessionShape* shape = nullptr;
  };
  // Returns the shape wanted last; null: none.
  Named newest_wanted();
  // Returns the largest peak of all plans but one.
  std::uint64_t largest_peak_bytes(const SessionShape* except) const;

 private:
  void forget_oldest();

  std::size_t most_;
  std::map<ShapeKey, SessionShape> shapes_;
  std::uint64_t uses_ = 0, wants_ = 0, identities_ = 0;
};

}  // namespace skyline
