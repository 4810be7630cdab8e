// Under every policy, evaluations run within the memory that training has.

#include <gtest/gtest.h>

#include <sstream>

#include "tests/train/decided_run.h"
#include "train/options/memory_options.h"
#include "train/options/train_options.h"

namespace skyline {
namespace {

using namespace tests;

TrainOptions evaluated_options(const std::string& model) {
  TrainOptions options;
  options.model = model;
  options.data.images = 40;
  options.data.test_images = 20;
  options.text.pairs = 200;
  options.text.units = 16;
  options.text.val_pairs = 20;
  options.batch_size = 8;
  options.steps = 8;
  options.threads = 1;
  options.memory.check = true;
  return options;
}

class EvaluationMemory : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(EvaluationMemory, IsWithinTheMemoryOfTraining) {
  const auto& [model, policy] = GetParam();
  TrainOptions options = evaluated_options(model);
  options.memory.policy = policy_of(policy);
  options = resolved(options);
  std::ostringstream messages;
  Console console(messages, {});
  const DecidedWorkload decided = decided_workload(options, {}, console);
  const auto run = tests::run_on(decided, options.memory);
  run->seek({}, 0);
  const auto reserved = [&] { return run->memory.statistics().peak_reserved_bytes; };
  for (std::int64_t step = 1; step <= 6; ++step) {
    run->next();
    run->train_step({.learning_rate = 1e-3f, .step = step});
  }
  run->memory.session()->wait_for_plan();
  const std::uint64_t training = reserved();
  const SessionStatistics before = run->memory.session()->session_statistics();
  for (int k = 0; k < 2; ++k) {
    const Evaluation evaluation = run->evaluate(6, {});
    EXPECT_FALSE(evaluation.metrics.empty());
    EXPECT_EQ(reserved(), training);
  }
  const SessionStatistics after = run->memory.session()->session_statistics();
  EXPECT_EQ(after.deviations, before.deviations);
  EXPECT_EQ(after.device_allocations_since_switch, before.device_allocations_since_switch);
}

INSTANTIATE_TEST_SUITE_P(Policies, EvaluationMemory,
                         ::testing::Combine(::testing::Values("lenet", "resnet20", "seq2seq"),
                                            ::testing::ValuesIn(policy_names())),
                         [](const auto& tested) {
                           std::string name =
                               std::get<0>(tested.param) + "_" + std::get<1>(tested.param);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace skyline
