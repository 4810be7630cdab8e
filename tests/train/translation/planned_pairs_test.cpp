#include "train/translation/translation_run.h"

#include <gtest/gtest.h>

#include <map>

#include "memory/device/simulated_device.h"

namespace skyline {
namespace {

Savings makes_again(const char* op) {
  return std::make_shared<const ByteSavings>(
      ByteSavings{.recomputed = {{{.op = op}, Recomputing::kOnce}}});
}

Trace one_block(std::uint64_t bytes) {
  return {.blocks = {{.lower = 0, .upper = 1, .bytes = bytes}}};
}

TEST(PlannedPairs, TakeTheFirstChoiceThatFitsElseSearch) {
  const Savings some = makes_again("some"), most = makes_again("most");
  const std::map<Savings, std::uint64_t> bytes = {{nullptr, 3072}, {some, 2048}, {most, 1024}};
  SimulatedDevice device;
  const Session session(device);
  int searches = 0;
  const auto chosen_within = [&](std::uint64_t plan_bytes) {
    const StepChoices choices{.savings = {nullptr, some},
                              .plan_bytes = plan_bytes,
                              .search = [&](const std::vector<PairBatch>&) {
                                ++searches;
                                return most;
                              }};
    const PlannedChoice choice = first_that_fits(
        {}, choices,
        [&](const std::vector<PairBatch>&, const Savings& savings) {
          return one_block(bytes.at(savings));
        },
        session);
    EXPECT_EQ(choice.plan.plan.peak, bytes.at(choice.savings));
    return choice.savings;
  };
  EXPECT_EQ(chosen_within(3072), nullptr);
  EXPECT_EQ(chosen_within(3071), some);
  EXPECT_EQ(chosen_within(2048), some);
  EXPECT_EQ(searches, 0);
  EXPECT_EQ(chosen_within(2047), most);
  EXPECT_EQ(searches, 1);
}

}  // namespace
}  // namespace skyline
