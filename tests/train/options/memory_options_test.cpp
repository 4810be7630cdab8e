// The options of allocators on the command line: each reaches its allocator and acts there.
#include "train/options/memory_options.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/memory/units.h"
#include "tests/train/parsed_json.h"
#include "train/cli/option_list.h"
#include "train/commands/commands.h"
#include "train/run/memory_chain.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

// Parses pairs of a flag and its value; the last flag may have no value.
AllocatorOptions parsed(const std::vector<std::string>& words) {
  AllocatorOptions options;
  OptionList list;
  add_allocator_options(list, options);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto option = std::ranges::find(list.options(), words[i], &Option::flag);
    option->take(option->value.type.empty() ? "true" : words[++i]);
  }
  return options;
}

// Allocates growing blocks with small ones in between on 160 MiB, until memory runs out.
Statistics served(const std::string& allocator, const std::vector<std::string>& words) {
  MemoryChain chain({.device = "simulated",
                     .capacity_bytes = 160 * kMiB,
                     .allocator = allocator,
                     .allocator_options = parsed(words)});
  try {
    for (std::size_t mib = 21; mib <= 60; mib += 13) {
      Block block = chain.allocator().allocate(mib * kMiB + 5000);
      Block other = chain.allocator().allocate(3000);
      block.reset();
      block = chain.allocator().allocate(2 * kMiB);
    }
  } catch (const OutOfMemory&) {
    EXPECT_EQ(chain.statistics().out_of_memory, 1u);
  }
  return chain.statistics();
}

TEST(MemoryOptionsTest, EveryFlagChangesWhatItsAllocatorDoes) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"caching", {"--max-split-size", "21MiB"}},
      {"caching", {"--garbage-collection-threshold", "0.3"}},
      {"caching", {"--expandable-segments"}},
      {"caching", {"--roundup-power2-divisions", "2"}},
      {"bfc", {"--bfc-limit", "90MiB"}},
      {"bfc", {"--no-bfc-growth"}},
      {"stitched", {"--page-size", "64KiB"}},
  };
  for (const auto& [allocator, words] : cases) {
    SCOPED_TRACE(words.front());
    EXPECT_FALSE(served(allocator, words) == served(allocator, {}));
    EXPECT_TRUE(served("best-fit-pool", words) == served("best-fit-pool", {}));
    EXPECT_NE(parsed(words), AllocatorOptions{});
  }
}

TEST(MemoryOptionsTest, ValuesOutOfTheirRangeAreWrongUsage) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--max-split-size", "20MiB"}, "--max-split-size: 20MiB is out of range"},
      {{"--max-split-size", "25000000"}, "a whole number of MiB, at least 21MiB"},
      {{"--max-split-size", "20MB"}, "--max-split-size: "},
      {{"--garbage-collection-threshold", "1.5"}, "--garbage-collection-threshold: 1.5"},
      {{"--roundup-power2-divisions", "3"}, "--roundup-power2-divisions: 3 is out of range"},
      {{"--roundup-power2-divisions", "0"}, "must be a power of two"},
      {{"--bfc-limit", "much"}, "--bfc-limit: "},
  };
  for (const auto& [words, sentence] : cases) {
    try {
      parsed(words);
      ADD_FAILURE() << words.front() << " " << words.back();
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(sentence), std::string::npos) << error.what();
    }
  }
}

TEST(MemoryOptionsTest, JsonGivesThemBack) {
  for (const AllocatorOptions& options :
       {AllocatorOptions{}, parsed({"--max-split-size", "30MiB", "--garbage-collection-threshold",
                                    "0.8", "--expandable-segments", "--roundup-power2-divisions",
                                    "8", "--bfc-limit", "1GiB", "--no-bfc-growth"})}) {
    Json json;
    write_allocator_options(options, json);
    AllocatorOptions read;
    OptionList list;
    add_allocator_options(list, read);
    list.read(json);
    EXPECT_EQ(read, options) << json;
    EXPECT_THROW(list.read(Json::object()), Json::exception);
  }
}

// Returns the result of `compare` on lenet with these words.
Json compared(std::vector<const char*> words) {
  std::vector<const char*> all = {"skyline",      "compare", "--model",   "lenet", "--images", "16",
                                  "--batch-size", "4",       "--threads", "1",     "--steps",  "3",
                                  "--json"};
  all.insert(all.end(), words.begin(), words.end());
  std::ostringstream output, messages;
  EXPECT_EQ(
      run_program(all_commands(), all, {.output = output, .messages = messages, .terminal = {}}), 0)
      << messages.str();
  return parsed_in_order(output.str());
}

TEST(MemoryOptionsTest, CompareTrainsUnderEveryAllocatorWithOptionsAndCapacity) {
  const char* all = "network-wise,exact-pool,best-fit-pool,caching,bfc,planned";
  const Json json = compared(
      {"--allocators", all, "--capacity", "256MiB", "--no-bfc-growth", "--bfc-limit", "48MiB"});
  EXPECT_EQ(json["bit_equal"], true);
  EXPECT_EQ(json["allocators"].size(), 6u);
  EXPECT_EQ(json["allocators"]["bfc"]["peak_reserved"], 48 * kMiB);
  for (const auto& [name, row] : json["allocators"].items()) {
    EXPECT_EQ(row["device_allocations_after_switch"], 0) << name;
  }
}

TEST(MemoryOptionsTest, TrainRemembersThemForItsResumption) {
  const std::string folder = ::testing::TempDir() + "skyline-allocator-options";
  std::filesystem::remove_all(folder);
  const auto train = [&](std::vector<const char*> words) {
    std::vector<const char*> all = {"skyline", "train", "--json"};
    all.insert(all.end(), words.begin(), words.end());
    std::ostringstream output, messages;
    EXPECT_EQ(
        run_program(all_commands(), all, {.output = output, .messages = messages, .terminal = {}}),
        0)
        << messages.str();
    return parsed_in_order(output.str());
  };
  const Json first = train({"--model", "lenet", "--images", "16", "--batch-size", "4", "--epochs",
                            "1", "--allocator", "bfc", "--bfc-limit", "40MiB", "--no-bfc-growth",
                            "--out", folder.c_str()});
  EXPECT_EQ(first["memory"]["peak_reserved"], 40 * kMiB) << first;
  EXPECT_EQ(train({"--resume", folder.c_str()})["memory"]["peak_reserved"], 40 * kMiB);
  const Json neutral =
      train({"--resume", folder.c_str(), "--allocator", "caching", "--expandable-segments"});
  EXPECT_EQ(neutral["memory"]["allocator"], "caching");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace skyline
