#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "memory/allocator.h"
#include "memory/session/step_plan.h"

namespace skyline {

// What a session knows of the steps of one shape key.
struct SessionShape {
  StepPlan planned = {};  // what serves; without a layout: nothing yet
  // What has been learned since and is to be planned; set while the plan for it is in work, too.
  std::optional<StepDemand> wanted = {};
  std::vector<StepRequest> doubtful = {};  // a recording in which memory ran out
  std::vector<StepRequest> uniform = {};   // the plan's, before steps of another order were merged
  std::uint64_t identity = 0;              // differs from every earlier shape's
  std::uint64_t last_used = 0;
  std::uint64_t last_wanted = 0;
};

// The shapes of a session, at most so many: the least recently used one goes. References stay valid
// until their shape goes. O(shapes) each.
class ShapeTable {
 public:
  explicit ShapeTable(std::size_t most) : most_(most) {}

  // Made where there is none.
  SessionShape& use(ShapeKey key);
  // Null: none.
  const SessionShape* find(ShapeKey key) const noexcept;
  // Null when it is gone, or another has come under its key.
  SessionShape* find(ShapeKey key, std::uint64_t identity);
  // From now on another shape, with nothing wanted: what is in work for it is for nobody.
  void renew(SessionShape& shape);
  void want(SessionShape& shape, StepDemand demand);

  struct Named {
    ShapeKey key = 0;
    SessionShape* shape = nullptr;
  };
  // The one that was wanted last; null: none.
  Named newest_wanted();
  // Of all plans but one.
  std::uint64_t largest_peak_bytes(const SessionShape* except) const;

 private:
  void forget_oldest();

  std::size_t most_;
  std::map<ShapeKey, SessionShape> shapes_;
  std::uint64_t uses_ = 0, wants_ = 0, identities_ = 0;
};

}  // namespace skyline
