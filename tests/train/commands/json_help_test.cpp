// `skyline help json` lists the keys that commands print under --json, and no others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "tests/train/commands/skyline_program.h"
#include "tests/train/images/image_folder_files.h"
#include "tests/train/patterns.h"
#include "tests/train/temporary_folder.h"

namespace skyline {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kByName = "by name";

// The keys that the program lists for a command, and what each holds: "bytes", "list", "by name".
std::map<std::string, std::string> listed_keys(const std::string& command) {
  const std::string text = skyline_program({"help", "json", command}).output;
  const std::string row =
      R"(\n  (\S+)\s+(bytes|count|share|seconds|ns|number|text|true or false|list|)"
      R"(object|by name): )";
  std::map<std::string, std::string> keys;
  for (const Match& match : matches(text, row)) keys[match[1]] = match[2];
  return keys;
}

// The words that train a gpt, after `command`.
std::vector<std::string> small_gpt(const std::string& output, const std::string& command = {}) {
  std::vector<std::string> words = {
      "--model", "gpt-small", "--characters", "500", "--steps",      "2", "--layers", "1",
      "--units", "4",         "--length",     "8",   "--batch-size", "2", "--output", output};
  if (!command.empty()) words.insert(words.begin(), command);
  return words;
}

// The keys of what one command prints, over several runs of it.
class JsonHelp : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }

  void write_images() const {
    tests::write_image_folder(path("images"), 8, 6);
    tests::write_bad_images(path("images"));
  }
  void use(const std::string& command) {
    listed_ = listed_keys(command);
    EXPECT_GT(listed_.size(), 0u) << command;
    command_ = command;
  }
  nlohmann::json run(std::vector<std::string> words) {
    words.insert(words.begin(), command_);
    words.emplace_back("--json");
    const Outcome outcome = skyline_program(words);
    if (outcome.exit_code > 1) ADD_FAILURE() << outcome.messages;
    nlohmann::json json = outcome.json();
    add_keys(json);
    return json;
  }
  void expect_the_same_keys() const {
    std::vector<std::string> unlisted, unprinted;
    for (const std::string& key : printed_) {
      if (!listed_.contains(key)) unlisted.push_back(key);
    }
    for (const auto& [key, unit] : listed_) {
      if (!printed_.contains(key) && !below_nothing(key)) unprinted.push_back(key);
    }
    EXPECT_THAT(unlisted, IsEmpty()) << command_;
    EXPECT_THAT(unprinted, IsEmpty()) << command_;
  }

 private:
  // Objects of several recordings have the keys of one.
  void add_keys(const nlohmann::json& top) {
    std::vector<std::pair<const nlohmann::json*, std::string>> open = {{&top, ""}};
    while (!open.empty()) {
      const auto [json, at] = open.back();
      open.pop_back();
      if (!json->is_null() && !json->empty()) filled_.insert(at);
      for (const auto& [key, value] : json->items()) {
        const std::string prefix = at.empty() ? "" : at + ".";
        if (json->is_object() && is_by_name(at)) {
          open.emplace_back(&value, prefix + "NAME");
        } else if (json->is_object()) {
          printed_.insert(prefix + key);
          open.emplace_back(&value, command_ == "replay" && key == "traces" ? "" : prefix + key);
        } else if (json->is_array()) {
          open.emplace_back(&value, at);
        }
      }
    }
  }
  bool is_by_name(const std::string& key) const {
    const auto found = listed_.find(key);
    return found != listed_.end() && found->second == kByName;
  }
  // True if an object above the key is null or a list above it is empty in all runs.
  bool below_nothing(std::string key) const {
    while (key.find('.') != key.npos) {
      key.resize(key.rfind('.'));
      if (key.ends_with(".NAME")) continue;
      if (printed_.contains(key) && !filled_.contains(key)) return true;
    }
    return false;
  }

  TemporaryFolder folder_;
  std::string command_;
  std::map<std::string, std::string> listed_;
  std::set<std::string> printed_, filled_;
};

TEST_F(JsonHelp, HasTheKeysOfPlans) {
  std::ofstream(path("t.csv")) << "id,lower,upper,size\na,0,3,4096\nb,1,9,4\n";
  use("plan");
  run({path("t.csv"), "--output", path("p.csv")});
  expect_the_same_keys();
}

TEST_F(JsonHelp, HasTheKeysOfChecks) {
  std::ofstream(path("t.csv")) << "id,lower,upper,size\na,0,3,4096\nb,1,9,4\n";
  skyline_program({"plan", path("t.csv"), "--output", path("p.csv")});
  use("check");
  run({path("t.csv"), path("p.csv")});
  expect_the_same_keys();
}

TEST_F(JsonHelp, HasTheKeysOfReplays) {
  std::ofstream(path("t.csv")) << "id,lower,upper,size\na,0,3,4096\nb,1,9,4\n";
  use("replay");
  run({path("t.csv"), path("t.csv"), "--capacity", "4KiB"});
  run({path("t.csv"), "--allocator", "caching"});
  expect_the_same_keys();
}

TEST_F(JsonHelp, HasTheKeysOfDryRuns) {
  use("dry-run");
  run({"--model", "lenet", "--write-graph", path("g.json"), "--lanes", "2", "--ranks", "2",
       "--memory", "2MiB", "--budgets", "--hold", "conv1"});
  run({"--model", "lenet", "--device-memory", "3MiB", "--slowdown", "5"});
  run({"--model", "lenet", "--device-memory", "500KiB"});
  expect_the_same_keys();
}

TEST_F(JsonHelp, HasTheKeysOfOrders) {
  skyline_program({"dry-run", "--model", "lenet", "--write-graph", path("g.json")});
  use("order");
  run({path("g.json"), "--output", path("o.json")});
  expect_the_same_keys();
}

TEST_F(JsonHelp, HasTheKeysOfChecksOfOrders) {
  skyline_program({"dry-run", "--model", "lenet", "--write-graph", path("g.json")});
  skyline_program({"order", path("g.json"), "--output", path("o.json")});
  use("check-order");
  run({path("g.json"), path("o.json")});
  expect_the_same_keys();
}

TEST_F(JsonHelp, HasTheKeysOfGraphs) {
  use("graph");
  run({"--model", "lenet"});
  expect_the_same_keys();
}

TEST_F(JsonHelp, HasTheKeysOfSummaries) {
  use("summary");
  run({"--model", "lenet"});
  run({"--model", "seq2seq"});
  expect_the_same_keys();
}

TEST_F(JsonHelp, HasTheKeysOfPapers) {
  use("reproduce");
  run({"mxnet"});
  run({"olla"});
  run({"together", "--model", "mlp", "--time-limit", "1"});
  run({"pgmo", "--batch-sizes", "1"});
  expect_the_same_keys();
}

TEST_F(JsonHelp, HasTheKeysOfLabs) {
  use("lab");
  run({"planner"});
  expect_the_same_keys();
}

TEST_F(JsonHelp, HasTheKeysOfScripts) {
  use("completion");
  run({"bash"});
  expect_the_same_keys();
}

TEST_F(JsonHelp, HasTheKeysOfImages) {
  write_images();
  std::ofstream(path("text.tsv")) << "a b\tc d\nalone\n";
  use("check-data");
  run({path("images")});
  run({path("text.tsv")});
  expect_the_same_keys();
}

// Sums of ranks need several processes, and launches a card: both are null here.
TEST_F(JsonHelp, HasTheKeysOfRuns) {
  write_images();
  use("train");
  run({"--model", "lenet", "--data", path("images"), "--steps", "4", "--batch-size", "4",
       "--memory", "2MiB", "--output", path("run")});
  run({"--model", "seq2seq", "--data", "numbers", "--steps", "4", "--batch-size", "8", "--units",
       "8", "--pairs", "64", "--val-pairs", "8", "--output", path("text")});
  run(small_gpt(path("gpt")));
  expect_the_same_keys();
}

TEST_F(JsonHelp, HasTheKeysOfEvaluations) {
  write_images();
  skyline_program({"train", "--model", "lenet", "--data", path("images"), "--steps", "2",
                   "--batch-size", "4", "--output", path("run")});
  skyline_program(small_gpt(path("gpt"), "train"));
  use("evaluate");
  run({path("run")});
  run({path("gpt")});
  expect_the_same_keys();
}

TEST_F(JsonHelp, HasTheKeysOfPredictions) {
  write_images();
  skyline_program({"train", "--model", "lenet", "--data", path("images"), "--steps", "2",
                   "--batch-size", "4", "--output", path("run")});
  use("predict");
  run({path("run"), path("images/train/blue")});
  expect_the_same_keys();
}

TEST_F(JsonHelp, HasTheKeysOfTranslations) {
  skyline_program({"train", "--model", "seq2seq", "--data", "numbers", "--steps", "2",
                   "--batch-size", "8", "--units", "8", "--pairs", "64", "--val-pairs", "8",
                   "--output", path("run")});
  std::ofstream(path("in.txt")) << "one\n";
  std::ofstream(path("out.txt")) << "un\n";
  use("translate");
  run({path("run"), "--input", path("in.txt"), "--reference", path("out.txt"), "--max-length",
       "3"});
  expect_the_same_keys();
}

TEST_F(JsonHelp, HasTheKeysOfTexts) {
  skyline_program(small_gpt(path("gpt"), "train"));
  use("generate");
  run({path("gpt"), "--length", "3"});
  expect_the_same_keys();
}

TEST_F(JsonHelp, HasTheKeysOfComparisons) {
  write_images();
  for (const char* batch : {"4", "2"}) {
    skyline_program({"train", "--model", "lenet", "--images", "16", "--steps", "2", "--batch-size",
                     batch, "--config", few_test_images(), "--output", path(batch)});
  }
  use("compare");
  run({"--model", "lenet", "--data", path("images"), "--steps", "4", "--batch-size", "4",
       "--memory", "2MiB", "--allocators", "pool@512KiB,planned"});
  run({"--model", "seq2seq", "--data", "numbers", "--steps", "4", "--batch-size", "8", "--units",
       "8", "--pairs", "64", "--allocators", "planned-grow,planned-upper-bound"});
  run({path("4"), path("2")});
  expect_the_same_keys();
}

TEST_F(JsonHelp, HasTheKeysOfOtherPrograms) {
  use("run");
  run({"--json", "--", "true"});
  expect_the_same_keys();
}

TEST_F(JsonHelp, ListsEveryCommand) {
  const std::string text = skyline_program({"help", "json"}).output;
  for (const Command& command : all_commands()) {
    EXPECT_THAT(text, HasSubstr("\n" + command.name + " prints:\n"));
    EXPECT_FALSE(listed_keys(command.name).empty()) << command.name;
  }
}

TEST_F(JsonHelp, SuggestsACommand) {
  const Outcome outcome = skyline_program({"help", "json", "plam"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.messages, HasSubstr("did you mean 'plan'?"));
}

}  // namespace
}  // namespace skyline
