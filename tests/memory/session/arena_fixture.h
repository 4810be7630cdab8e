#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "memory/adaptors/adaptor.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/device/simulated_device.h"
#include "memory/planners/registry.h"
#include "memory/session/arena.h"
#include "tests/memory/units.h"

namespace skyline::tests {

// Three requests of 1000 bytes; the first may be reused by the third.
inline const std::vector<StepRequest> kThree = {
    {.bytes = 1000, .needed_until = 2, .release_order = 0},
    {.bytes = 1000, .needed_until = 3, .release_order = 1},
    {.bytes = 1000, .needed_until = 3, .release_order = 2}};

// An arena of 32 MiB between a pool and a fallback that serves at most 4096 live bytes.
class ArenaFixture : public ::testing::Test {
 protected:
  SimulatedDevice device_{64 * kMiB};
  BestFitPool pool_{device_};
  BestFitPool unbounded_{device_};
  LimitAdaptor fallback_{unbounded_, 4096};
  Arena arena_{device_, pool_, fallback_, 32 * kMiB};

  void install(const std::vector<StepRequest>& requests) {
    const CanonicalStep step = canonical_step(requests);
    const Plan plan = skyline::plan(step.trace, "best-fit");
    arena_.commit(plan.peak);
    arena_.install(std::make_shared<const StepLayout>(make_layout(step, plan)));
  }

  // Runs a hot step of kThree. Returns the addresses of its blocks.
  std::vector<std::byte*> hot_step() {
    arena_.begin_step(0);
    Block a = arena_.allocate(1000), b = arena_.allocate(1000);
    std::vector<std::byte*> addresses = {a.address(), b.address()};
    a.reset();
    Block c = arena_.allocate(1000);
    addresses.push_back(c.address());
    b.reset();
    c.reset();
    arena_.end_step();
    return addresses;
  }
  const std::vector<Observation>& seen() { return arena_.log().observations(); }
};

}  // namespace skyline::tests
