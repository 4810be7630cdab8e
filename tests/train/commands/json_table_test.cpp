// The table of JSON keys in train/README.md names every key that commands print.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <set>

#include "tests/train/commands/skyline_program.h"
#include "tests/train/temporary_folder.h"
#include "train/checkpoints/files.h"

namespace skyline {
namespace {

const std::set<std::string> kKeyedByName = {"allocators", "categories", "resident",
                                            "categories_at_lower_bound"};

// Returns the words in backquotes of the table, split at dots.
std::set<std::string> documented_keys() {
  const std::string text = read_file(SKYLINE_TRAIN_README);
  const std::size_t start = text.find("\n## JSON\n"), end = text.find("\n## ", start + 1);
  const std::string section = text.substr(start, end - start);
  std::set<std::string> keys;
  const std::regex quoted("`([a-z0-9_.]+)`"), word("[a-z0-9_]+");
  for (std::sregex_iterator at(section.begin(), section.end(), quoted), none; at != none; ++at) {
    const std::string name = (*at)[1];
    for (std::sregex_iterator part(name.begin(), name.end(), word); part != none; ++part) {
      keys.insert(part->str());
    }
  }
  return keys;
}

// Adds the keys of an object and of all below it, except names of allocators and the like.
void add_keys(const nlohmann::json& top, std::set<std::string>& keys) {
  std::vector<std::pair<const nlohmann::json*, bool>> open = {{&top, true}};
  while (!open.empty()) {
    const auto [json, counts] = open.back();
    open.pop_back();
    if (!json->is_object() && !json->is_array()) continue;
    for (const auto& [key, value] : json->items()) {
      if (json->is_object() && counts) keys.insert(key);
      open.emplace_back(&value, !kKeyedByName.contains(key) || json->is_array());
    }
  }
}

class JsonTable : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }

  // Returns the keys of the command's JSON that the table lacks.
  std::set<std::string> unknown_keys(std::vector<std::string> arguments) const {
    arguments.push_back("--json");
    std::set<std::string> keys, unknown;
    add_keys(skyline_program(arguments).json(), keys);
    EXPECT_GT(keys.size(), 3u);
    const std::set<std::string> documented = documented_keys();
    std::ranges::set_difference(keys, documented, std::inserter(unknown, unknown.end()));
    return unknown;
  }

  TemporaryFolder folder_;
};

TEST_F(JsonTable, NamesTheKeysOfPlansAndReplays) {
  std::ofstream(path("t.csv")) << "id,lower,upper,size\na,0,3,4096\nb,1,9,4\n";
  EXPECT_THAT(unknown_keys({"plan", path("t.csv"), "--output", path("p.csv")}), testing::IsEmpty());
  EXPECT_THAT(unknown_keys({"check", path("t.csv"), path("p.csv")}), testing::IsEmpty());
  EXPECT_THAT(unknown_keys({"replay", path("t.csv"), path("t.csv"), "--capacity", "4KiB"}),
              testing::IsEmpty());
}

TEST_F(JsonTable, NamesTheKeysOfStepsAndOrders) {
  EXPECT_THAT(unknown_keys({"dry-run", "--model", "lenet", "--write-graph", path("g.json")}),
              testing::IsEmpty());
  EXPECT_THAT(unknown_keys({"dry-run", "--model", "lenet", "--lanes", "2"}), testing::IsEmpty());
  EXPECT_THAT(unknown_keys({"reproduce", "mxnet"}), testing::IsEmpty());
  EXPECT_THAT(unknown_keys({"order", path("g.json"), "--output", path("o.json")}),
              testing::IsEmpty());
  EXPECT_THAT(unknown_keys({"check-order", path("g.json"), path("o.json")}), testing::IsEmpty());
  EXPECT_THAT(unknown_keys({"graph", "--model", "lenet"}), testing::IsEmpty());
  EXPECT_THAT(unknown_keys({"summary", "--model", "lenet"}), testing::IsEmpty());
}

TEST_F(JsonTable, NamesTheKeysOfRuns) {
  const std::string run = path("run");
  EXPECT_THAT(unknown_keys({"train", "--model", "lenet", "--steps", "2", "--output", run}),
              testing::IsEmpty());
  EXPECT_THAT(unknown_keys({"evaluate", run}), testing::IsEmpty());
  EXPECT_THAT(
      unknown_keys({"compare", "--model", "lenet", "--steps", "2", "--allocators", "pool,planned"}),
      testing::IsEmpty());
  const std::string other = path("other");
  skyline_program(
      {"train", "--model", "lenet", "--steps", "2", "--batch-size", "16", "--output", other});
  EXPECT_THAT(unknown_keys({"compare", run, other}), testing::IsEmpty());
}

}  // namespace
}  // namespace skyline
