// Whether a step's images cross to a CUDA device during the step before, by dry runs on the CPU.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "train/decide/decide.h"
#include "train/lab/dry_run/model_dry_run.h"

namespace skyline {
namespace {

class LenetProbe final : public StepProbe {
 public:
  StepTrial dry_step(const StepDecisions& decisions) override {
    ++dry_steps;
    return {.facts = dry_run({.model = "lenet", .shape = {}, .prefetch = decisions.prefetch})};
  }
  std::unique_ptr<StepProbe> divided(std::int64_t) override {
    throw std::logic_error("not asked for");
  }
  double timed_step(const StepDecisions&) override { throw std::logic_error("not asked for"); }

  int dry_steps = 0;
};

class Prefetching : public testing::Test {
 protected:
  Prefetching() {
    options_.memory.device = "cuda";
    options_.memory.capacity_bytes = std::uint64_t{1} << 40;
  }

  bool decided() { return decide(options_, 1, probe_, console_).prefetch; }

  TrainOptions options_;
  LenetProbe probe_;
  std::ostringstream messages_;
  Console console_{messages_, {}};
};

TEST_F(Prefetching, IsTheDefaultWhereThereIsRoom) {
  EXPECT_TRUE(decided());
  EXPECT_EQ(messages_.str(), "");
}

// The room for the plan, or for the warm-up in the pool before it.
TEST_F(Prefetching, NeedsRoomForTheStepAndOneMoreBatch) {
  const DryRunFacts step = probe_.dry_step({.prefetch = true}).facts;
  const std::uint64_t needed = std::max(reserved_bytes(options_.memory, step, {&step.trace, 1}),
                                        reserved_bytes(options_.memory, step, {}, "best-fit-pool"));
  options_.memory.capacity_bytes = needed;
  EXPECT_TRUE(decided());
  options_.memory.capacity_bytes = needed - 1;
  EXPECT_FALSE(decided());
  EXPECT_EQ(messages_.str(),
            "no room for one more batch: each crosses to the device when its step begins\n");
}

TEST_F(Prefetching, IsLeftOutWithoutADryStep) {
  options_.device.prefetch = false;
  EXPECT_FALSE(decided());
  options_.device.prefetch = true;
  options_.model = "seq2seq";
  EXPECT_FALSE(decided());
  options_.model = "lenet";
  options_.memory.device = "cpu";
  EXPECT_FALSE(decided());
  EXPECT_EQ(probe_.dry_steps, 0);
  EXPECT_EQ(messages_.str(), "");
}

}  // namespace
}  // namespace skyline
