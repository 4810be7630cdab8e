// The largest batch that a dry run finds for a capacity trains within it, with default options.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/memory/planners/effort.h"
#include "tests/train/commands/skyline_program.h"
#include "tests/train/decided_run.h"
#include "train/options/train_options.h"

namespace skyline {
namespace {

using Words = std::vector<std::string>;

std::int64_t side_of(const std::string& model) {
  if (model == "alexnet") return 67;
  if (model == "googlenet") return 79;
  return model.starts_with("inception") ? 75 : 32;
}

bool has_own_side(const std::string& model) { return model == "mlp" || model == "lenet"; }

// A small form of the model and few data.
TrainOptions largest_options(const std::string& model, std::int64_t batch, std::uint64_t capacity) {
  TrainOptions options;
  options.model = model;
  options.batch_size = batch;
  options.data.images = 64;
  options.data.test_images = 4;
  if (!has_own_side(model)) options.data.insize = side_of(model);
  options.text.pairs = 200;
  options.text.val_pairs = 8;
  options.text.units = 48;
  options.text.layers = 1;
  options.text.characters = 10'000;
  options.text.length = 16;
  options.text.heads = 4;
  options.steps = 2;
  options.threads = 1;
  options.memory.capacity_bytes = capacity;
  return resolved(options);
}

nlohmann::json planned(const std::string& model, const Words& more) {
  Words words = {"dry-run", "--model", model,          "--threads",
                 "1",       "--json",  "--allocators", "planned"};
  Words small = {"--insize", std::to_string(side_of(model))};
  if (model == "seq2seq") {
    small = {"--units", "48", "--layers", "1", "--vocab-size", "300", "--sentence-words", "30"};
  } else if (model.starts_with("gpt")) {
    small = {"--units", "48", "--heads", "4", "--layers", "1", "--length", "16"};
  } else if (has_own_side(model)) {
    small = {};
  }
  for (const Words& added : {small, more}) words.insert(words.end(), added.begin(), added.end());
  const Outcome outcome = skyline_program(words);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
  return outcome.json()["allocators"]["planned"];
}

class LargestBatchTrains : public ::testing::TestWithParam<std::string> {};

// Both forms of inception-resnet wait for nights: googlenet has such branches, resnet50 such sums.
std::vector<std::string> trained_models() {
  std::vector<std::string> models = model_names();
  const auto waits = [](const std::string& model) { return model.starts_with("inception"); };
  if (!runs_at_night()) std::erase_if(models, waits);
  return models;
}

TEST_P(LargestBatchTrains, WithinItsCapacity) {
  const auto bytes =
      planned(GetParam(), {"--batch-size", "3"})["peak_reserved"].get<std::uint64_t>();
  const auto batch = planned(GetParam(), {"--device-memory", std::to_string(bytes) + "B"});
  ASSERT_GE(batch["largest_batch"], 2);
  std::ostringstream messages;
  Console console(messages, {});
  const TrainOptions options = largest_options(GetParam(), batch["largest_batch"], bytes);
  const DecidedWorkload decided = decided_workload(options, {}, console);
  const auto run = tests::run_on(decided, options.memory);
  decided.workload->prepare();
  run->seek({}, options.data.seed);
  for (std::int64_t step = 1; step <= 2; ++step) {
    run->next();
    run->train_step({.learning_rate = 0.01f, .step = step});
  }
  run->evaluate(2, {});
  EXPECT_LE(run->memory.statistics().peak_reserved_bytes, bytes) << messages.str();
}

INSTANTIATE_TEST_SUITE_P(Models, LargestBatchTrains, ::testing::ValuesIn(trained_models()),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace skyline
