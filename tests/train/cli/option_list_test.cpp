#include "train/cli/option_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/train/temporary_folder.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

struct Values {
  std::int64_t batch_size = 32;
  std::optional<std::int64_t> steps;
  std::optional<std::uint64_t> capacity = 1024;
  double rate = 0.5;
  bool guard = false, in_place = true;
  std::vector<std::string> files;
  std::filesystem::path out;

  bool operator==(const Values&) const = default;
};

void add_options(OptionList& list, Values& values) {
  list.add("-b,--batch-size", integer(values.batch_size, 1, 100), "Images per step");
  list.add("--steps", integer(values.steps, 1, 100), "Steps");
  list.add("--capacity", bytes(values.capacity), "Memory", kNeutral);
  list.add("--rate", number(values.rate, 0, 1), "Rate");
  list.add("--guard", flag(values.guard), "Guard");
  list.add("--no-in-place", negated_flag(values.in_place), "Not in place", kMayBeAbsent);
  list.add("--files", files(values.files), "Files", kMayBeAbsent);
  list.add("--out", path(values.out), "Folder");
}

Json written(Values values) {
  OptionList list;
  add_options(list, values);
  Json json;
  list.write(json);
  return json;
}

Values read(const Json& json) {
  Values values;
  OptionList list;
  add_options(list, values);
  list.read(json);
  return values;
}

TEST(OptionListTest, WritesStoredOptionsUnderTheNamesOfTheirFlags) {
  EXPECT_EQ(written({}), Json({{"batch_size", 32},
                               {"steps", nullptr},
                               {"capacity", 1024},
                               {"rate", 0.5},
                               {"guard", false},
                               {"no_in_place", false},
                               {"files", Json::array()}}));
}

TEST(OptionListTest, ReadsWhatItWrote) {
  const Values values{.batch_size = 7,
                      .steps = 3,
                      .capacity = {},
                      .rate = 0.1,
                      .guard = true,
                      .in_place = false,
                      .files = {"a", "b"}};
  EXPECT_EQ(read(written(values)), values);
}

TEST(OptionListTest, OnlyMarkedOptionsMayBeAbsent) {
  Json json = written({});
  json.erase("files");
  json.erase("no_in_place");
  EXPECT_EQ(read(json), Values{});
  json.erase("rate");
  EXPECT_THROW(read(json), Json::exception);
  json["rate"] = "fast";
  EXPECT_THROW(read(json), Json::exception);
}

TEST(OptionListTest, KnowsWhichOptionsAreGiven) {
  Values values;
  OptionList list;
  add_options(list, values);
  EXPECT_FALSE(list.given("--batch-size"));
  list.options().front().take("8");
  EXPECT_TRUE(list.given("--batch-size"));
  EXPECT_FALSE(list.given("--no-such-option"));
  EXPECT_EQ(values.batch_size, 8);
}

TEST(OptionListTest, ErrorsBeginWithTheOptionsName) {
  Values values;
  OptionList list;
  add_options(list, values);
  try {
    list.options().front().take("many");
    ADD_FAILURE();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "--batch-size: 'many' is not a whole number");
  }
}

// A file with options, as --config reads it.
class ConfigTest : public ::testing::Test {
 protected:
  // Returns the values after "--rate 0.25" and the file.
  Values read(const std::string& text) {
    std::ofstream(file_) << text;
    Values values;
    OptionList list;
    add_options(list, values);
    std::ranges::find(list.options(), "--rate", &Option::name)->take("0.25");
    list.read_config(file_);
    return values;
  }
  std::string problem(const std::string& text) {
    try {
      read(text);
    } catch (const UsageError& error) {
      return std::string(error.what()).substr(("--config " + file_.string() + ": ").size());
    }
    return "none";
  }
  const TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_ / "options.json";
};

TEST_F(ConfigTest, SetsWhatIsNotGiven) {
  const Values expected{.batch_size = 7,
                        .steps = 9,
                        .capacity = 2048,
                        .rate = 0.25,
                        .guard = true,
                        .in_place = false,
                        .files = {"a", "b"}};
  EXPECT_EQ(read(R"({"batch_size": 7, "steps": 9, "capacity": "2KiB", "rate": 0.75, "guard": true,
                     "no_in_place": true, "files": ["a", "b"]})"),
            expected);
}

TEST_F(ConfigTest, ReadsWhatARunStores) {
  EXPECT_EQ(read(written({}).dump()), Values{.rate = 0.25});
}

TEST_F(ConfigTest, NamesTheProblem) {
  EXPECT_EQ(problem("[]"), "expected a JSON object of options");
  EXPECT_EQ(problem("{\"batch_size\": "), "is not JSON at byte 16");
  EXPECT_EQ(problem(""), "is not JSON at byte 1");
  EXPECT_EQ(problem(R"({"files": )" + std::string(100'000, '[') + std::string(100'000, ']') + "}"),
            "is nested deeper than 100 levels (it has 200011 bytes)");
  EXPECT_EQ(problem(R"({"steps": 1, "steps": 2})"), "has the key 'steps' twice");
  EXPECT_EQ(problem(R"({"batch_siz": 7})"),
            "unknown option 'batch_siz'; did you mean 'batch_size'?");
  EXPECT_EQ(problem(R"({"batch_size": 1000})"),
            "batch_size: 1000 is out of range: it must be from 1 to 100");
  EXPECT_EQ(problem(R"({"batch_size": {}})"), "batch_size: '{}' is not a whole number");
}

}  // namespace
}  // namespace skyline
