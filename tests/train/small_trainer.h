#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/train/checkpoints/host_copy.h"
#include "tests/train/parsed_json.h"
#include "train/trainer.h"

namespace skyline::tests {

// 2 epochs of 5 steps.
inline TrainOptions small_options(const std::string& allocator = "planned") {
  TrainOptions options;
  options.model = "lenet";
  options.data.images = 40;
  options.data.test_images = 20;
  options.epochs = 2;
  options.batch_size = 8;
  options.threads = 1;
  options.memory.allocator = allocator;
  options = resolved(options);
  return options;
}

class TrainerTest : public ::testing::Test {
 protected:
  TrainerTest() { std::filesystem::remove_all(folder_); }
  ~TrainerTest() override { std::filesystem::remove_all(folder_); }

  CommandResult train(const TrainOptions& options, const std::string& name) {
    Trainer trainer(options, {}, console_);
    trainer.start(folder_ / name);
    return trainer.run();
  }
  CommandResult resume(const TrainOptions& options, const std::filesystem::path& from) {
    Trainer trainer(options, {}, console_);
    trainer.resume(load_checkpoint(from));
    return trainer.run();
  }
  // Returns the last checkpoint without its arguments, which do not affect further training.
  Checkpoint last_checkpoint(const std::string& name) {
    Checkpoint checkpoint = load_checkpoint(folder_ / name).checkpoint;
    checkpoint.position.arguments = nlohmann::ordered_json::object();
    return checkpoint;
  }
  void expect_equal_ends(const std::string& a, const std::string& b) {
    const Checkpoint first = last_checkpoint(a), second = last_checkpoint(b);
    EXPECT_EQ(host_copies(first.weights), host_copies(second.weights));
    EXPECT_EQ(host_copies(first.state), host_copies(second.state));
    EXPECT_EQ(first.position, second.position);
    EXPECT_EQ(logged(a, "loss"), logged(b, "loss"));
    EXPECT_EQ(logged(a, "step"), logged(b, "step"));
  }
  std::vector<nlohmann::ordered_json> logged(const std::string& name, const std::string& key) {
    std::ifstream log(folder_ / name / "log.jsonl");
    std::vector<nlohmann::ordered_json> values;
    for (std::string line; std::getline(log, line);)
      values.push_back(parsed_in_order(line).at(key));
    return values;
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) /
      (std::string("skyline-trainer-") +
       ::testing::UnitTest::GetInstance()->current_test_info()->name());
  std::ostringstream messages_;
  Console console_{messages_, {}};
};

}  // namespace skyline::tests
