#include "train/lab/runs/run_difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "memory/planners/registry.h"
#include "tests/train/commands/skyline_program.h"
#include "tests/train/patterns.h"
#include "tests/train/report/browser.h"
#include "tests/train/report/page_data.h"
#include "tests/train/temporary_folder.h"
#include "train/cli/byte_sizes.h"

namespace skyline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

BlockTag tag(const std::string& layer) {
  return {"conv2d", layer, Phase::kForward, Category::kActivation};
}

StoredRun stored(std::vector<TraceBlock> blocks, const std::vector<std::string>& layers) {
  StoredRun run{.folder = "runs/x", .trace = {.blocks = std::move(blocks)}};
  for (const std::string& layer : layers) run.trace.tags.push_back(tag(layer));
  run.plan = plan(run.trace, "best-fit", {.alignment = 1});
  return run;
}

TEST(RunDifference, IsNothingBetweenEqualSteps) {
  const StoredRun run = stored({{0, 4, 8}, {1, 3, 4}, {2, 5, 2}}, {"a", "b", "a"});
  const RunDifference difference = compare_runs(run, run);
  EXPECT_TRUE(difference.same_blocks());
  EXPECT_EQ(difference.pairs.size(), 3u);
  EXPECT_THAT(difference_text(difference),
              HasSubstr("No block changed: both runs make the same 3 requests in the same order."));
}

TEST(RunDifference, ABlockOfOneRunChangesNoOther) {
  const RunDifference difference =
      compare_runs(stored({{0, 3, 8}, {1, 2, 4}}, {"a", "c"}),
                   stored({{0, 5, 8}, {1, 3, 16}, {2, 4, 4}}, {"a", "b", "c"}));
  ASSERT_EQ(difference.blocks.size(), 1u);
  EXPECT_EQ(difference.blocks[0].tag.layer, "b");
  EXPECT_EQ(difference.blocks[0].first, std::nullopt);
  EXPECT_EQ(difference.blocks[0].second->bytes, 16u);
  EXPECT_EQ(difference.only_first(), 0u);
  EXPECT_EQ(difference.only_second(), 1u);
  EXPECT_EQ(difference.reordered, 0u);
}

TEST(RunDifference, FindsBytesAndLifetimes) {
  const RunDifference difference =
      compare_runs(stored({{0, 4, 8}, {1, 3, 4}, {2, 5, 2}}, {"a", "b", "c"}),
                   stored({{0, 4, 9}, {1, 2, 4}, {2, 5, 2}}, {"a", "b", "c"}));
  ASSERT_EQ(difference.blocks.size(), 2u);
  EXPECT_EQ(difference.changed(), 2u);
  EXPECT_EQ(difference.blocks[0].first, (BlockFacts{8, 3}));
  EXPECT_EQ(difference.blocks[0].second, (BlockFacts{9, 3}));
  EXPECT_EQ(difference.blocks[1].first, (BlockFacts{4, 2}));
  EXPECT_EQ(difference.blocks[1].second, (BlockFacts{4, 1}));
  EXPECT_TRUE(difference.pairs[0].changed);
  EXPECT_FALSE(difference.pairs[2].changed);
}

TEST(RunDifference, CountsTheBlocksThatMoved) {
  const RunDifference difference =
      compare_runs(stored({{0, 1, 8}, {1, 2, 8}, {2, 3, 8}, {3, 4, 8}}, {"a", "b", "c", "d"}),
                   stored({{0, 1, 8}, {1, 2, 8}, {2, 3, 8}, {3, 4, 8}}, {"d", "a", "b", "c"}));
  EXPECT_EQ(difference.reordered, 1u);
  EXPECT_TRUE(difference.blocks.empty());
  EXPECT_FALSE(difference.same_blocks());
}

TEST(RunDifference, TheTextListsTheLargestAndTheJsonAll) {
  std::vector<TraceBlock> small, large;
  std::vector<std::string> layers;
  for (Tick i = 0; i < 50; ++i) {
    small.push_back({i, i + 1, 1000 + static_cast<std::uint64_t>(i)});
    large.push_back({i, i + 1, 5000 + static_cast<std::uint64_t>(i)});
    layers.push_back("layer" + std::to_string(i) + ".");
  }
  const RunDifference difference = compare_runs(stored(small, layers), stored(large, layers));
  const std::string text = difference_text(difference);
  EXPECT_THAT(text, AllOf(HasSubstr("layer49."), HasSubstr("layer30."), HasSubstr("… 30 more")));
  EXPECT_THAT(text, Not(HasSubstr("layer29.")));
  const nlohmann::json all = to_json(difference);
  ASSERT_EQ(all["changed_blocks"].size(), 50u);
  EXPECT_EQ(all["changed_blocks"][0]["layer"], "layer49.");
}

TEST(RunDifference, TakesStepsWithoutTagsOrBlocks) {
  StoredRun plain = stored({{0, 2, 8}, {1, 3, 4}}, {});
  EXPECT_TRUE(compare_runs(plain, plain).same_blocks());
  EXPECT_EQ(compare_runs(plain, stored({}, {})).only_first(), 2u);
}

// Folders of runs that were trained once for all tests.
class TwoRuns : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    train("plain", {});
    train("small", {"--batch-size", "16"});
    train("again", {"--recompute", "2"});
  }
  static void TearDownTestSuite() { delete folder_; }

  static std::string run(const std::string& name) { return *folder_ / name; }
  static void train(const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> words = {
        "train",    "--model", "lenet",    "--images",       "64", "--steps", "3",
        "--output", run(name), "--config", few_test_images()};
    words.insert(words.end(), more.begin(), more.end());
    ASSERT_EQ(skyline_program(words).exit_code, 0) << name;
  }
  static Outcome compared(std::vector<std::string> words) {
    words.insert(words.begin(), "compare");
    return skyline_program(words);
  }

  inline static TemporaryFolder* folder_ = nullptr;
};

TEST_F(TwoRuns, OneRunTwiceDiffersInNothing) {
  const std::string text = compared({run("plain"), run("plain")}).output;
  EXPECT_THAT(text, AllOf(HasSubstr("no setting differs"), HasSubstr("No block changed")));
  const nlohmann::json found = compared({run("plain"), run("plain"), "--json"}).json();
  EXPECT_EQ(found["first"], found["second"]);
  EXPECT_TRUE(found["changed_blocks"].empty());
  for (const auto& [key, value] : found["difference"].items()) EXPECT_EQ(value, 0) << key;
}

TEST_F(TwoRuns, HalfABatchHalvesActivations) {
  const nlohmann::json found = compared({run("plain"), run("small"), "--json"}).json();
  EXPECT_EQ(found["settings"],
            nlohmann::json::parse(R"([{"name": "batch_size", "first": "32", "second": "16"}])"));
  EXPECT_EQ(found["only_first"], 0);
  EXPECT_EQ(found["only_second"], 0);
  const nlohmann::json& largest = found["changed_blocks"][0];
  EXPECT_EQ(largest["op"], "conv2d");
  EXPECT_EQ(largest["layer"], "conv1");
  EXPECT_EQ(largest["first"]["bytes"], 2 * largest["second"]["bytes"].get<std::int64_t>());
  EXPECT_EQ(largest["first"]["lifetime"], largest["second"]["lifetime"]);
}

TEST_F(TwoRuns, RecomputedBlocksAreNewAndKeptOnesLiveShorter) {
  const nlohmann::json found = compared({run("plain"), run("again"), "--json"}).json();
  EXPECT_EQ(found["only_first"], 0);
  EXPECT_GT(found["only_second"], 0);
  EXPECT_EQ(found["difference"]["blocks"], found["only_second"]);
  std::size_t shorter = 0;
  for (const nlohmann::json& block : found["changed_blocks"]) {
    if (block["first"].is_null()) {
      EXPECT_EQ(block["phase"], "backward") << block;
    } else {
      EXPECT_EQ(block["phase"], "forward") << block;
      shorter += block["second"]["lifetime"] < block["first"]["lifetime"];
    }
  }
  EXPECT_EQ(found["changed"], shorter);
  EXPECT_GT(shorter, 0u);
}

TEST_F(TwoRuns, TextAndJsonAgree) {
  const std::string text = compared({run("plain"), run("small")}).output;
  const nlohmann::json found = compared({run("plain"), run("small"), "--json"}).json();
  const std::pair<const char*, const char*> rows[] = {
      {"requested at the peak", "requested_at_peak"},
      {"lower bound", "lower_bound"},
      {"planned peak", "peak"},
      {"reserved after the last step", "reserved"}};
  for (const auto& [name, key] : rows) {
    const auto first = found["first"][key].get<std::int64_t>();
    const auto second = found["second"][key].get<std::int64_t>();
    EXPECT_EQ(found["difference"][key], second - first);
    const auto bytes = [](std::int64_t n) { return format_bytes(static_cast<std::uint64_t>(n)); };
    const std::string row = std::string(name) + " +" + bytes(first) + " +" + bytes(second) + " +−" +
                            bytes(first - second) + "\n";
    EXPECT_FALSE(matches(text, row).empty()) << row << text;
  }
  EXPECT_THAT(text, HasSubstr(std::to_string(found["changed"].get<int>()) + " have other bytes"));
}

TEST_F(TwoRuns, TheFiguresAreThoseThatTheRunWrote) {
  const StoredRun plain = load_run(run("plain"));
  EXPECT_EQ(plain.steps, 3);
  EXPECT_EQ(plain.setting("batch_size"), "32");
  EXPECT_EQ(plain.plan.planner, "best-fit");
  std::ifstream log(run("plain") + "/log.jsonl");
  std::vector<double> seconds;
  for (std::string line; std::getline(log, line);) {
    const nlohmann::json step = parsed_json(line);
    seconds.push_back(step["seconds"]);
    EXPECT_LE(step["reserved"], *plain.most_reserved_bytes);
  }
  EXPECT_EQ(plain.step_seconds_median, std::max(seconds[1], seconds[2]));  // the upper median
  const std::uint64_t needed = *plain.resident_bytes + plain.plan.peak;
  EXPECT_GE(*plain.last_reserved_bytes, needed);
  EXPECT_LE(*plain.last_reserved_bytes, needed + needed / 100);  // resident memory is rounded up
}

TEST_F(TwoRuns, RefusesWhatIsNoRun) {
  std::filesystem::create_directory(run("empty"));
  std::filesystem::create_directory(run("started"));
  std::filesystem::copy(run("plain") + "/arguments.json", run("started"));
  const std::string log = run("plain") + "/log.jsonl";
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{run("plain")}, "RUN2 is missing: compare " + run("plain") + " with which run?"},
      {{run("plain"), run("none")}, run("none") + " is no run folder: it does not exist"},
      {{run("empty"), run("plain")}, run("empty") + " is no run folder: it holds no arguments"},
      {{run("plain"), log}, log + " is no run folder: it is a file"},
      {{run("plain"), run("started")}, run("started") + " holds no recorded step (plan.csv)"},
      {{run("plain"), run("small"), "--steps", "3"}, "--steps is for comparing allocators"},
      {{run("plain"), run("small"), "--model", "lenet"}, "--model is for comparing allocators"}};
  for (const auto& [words, problem] : cases) {
    const Outcome outcome = compared(words);
    EXPECT_EQ(outcome.exit_code, 2) << problem;
    EXPECT_THAT(outcome.messages, HasSubstr(problem));
    EXPECT_EQ(std::ranges::count(outcome.messages, '\n'), 1) << outcome.messages;
  }
}

TEST_F(TwoRuns, RefusesADamagedFolder) {
  std::filesystem::copy(run("plain"), run("damaged"), std::filesystem::copy_options::recursive);
  for (const auto& [text, reason] :
       {std::pair(std::string("["), "arguments.json is damaged: it is not JSON at byte 2"),
        std::pair(std::string("[]"), "arguments.json is damaged: it is no JSON object"),
        std::pair("{\"model\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}",
                  "arguments.json is damaged: it is nested deeper than 100 levels")}) {
    std::ofstream(run("damaged") + "/arguments.json") << text;
    EXPECT_THAT(compared({run("damaged"), run("plain")}).messages, HasSubstr(reason));
  }
}

TEST_F(TwoRuns, ThePageHoldsBothPlans) {
  const std::string file = run("page.html");
  ASSERT_EQ(compared({run("plain"), run("again"), "--report", file}).exit_code, 0);
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  const std::string page = text.str();
  for (const char* reach : {"src=", "href", "url(", "@import", "fetch(", "https:"}) {
    EXPECT_EQ(page.find(reach), page.npos) << reach;
  }
  const nlohmann::json data = page_data(page);
  EXPECT_EQ(data["plans"][0]["blocks"].size(), data["first"]["blocks"]);
  EXPECT_EQ(data["plans"][1]["blocks"].size(), data["second"]["blocks"]);
  const std::string opened = opened_in_browser(page);
  if (opened.empty()) GTEST_SKIP() << kNoBrowser;
  EXPECT_NE(opened.find(data["sentence"].get<std::string>()), opened.npos);
  EXPECT_NE(opened.find("<td class=\"name\">recompute</td><td class=\"\">0</td>"), opened.npos);
  for (const nlohmann::json& name : data["names"]) {
    EXPECT_NE(opened.find("</i>" + name.get<std::string>()), opened.npos) << name;
  }
}

// A point above the lower plan is free there, and in the higher plan a block.
TEST(RunsPage, DrawsBothPlansOnOneScale) {
  const RunDifference difference =
      compare_runs(stored({{0, 10, 1024}}, {"a"}), stored({{0, 10, 512}}, {"a"}));
  const std::string opened = opened_after(R"(() => {
      const point = (id) => {
        const canvas = document.querySelector(`#${id} canvas.base`);
        const box = canvas.getBoundingClientRect();
        canvas.dispatchEvent(
            new PointerEvent('pointermove', {clientX: box.left + 300, clientY: box.top + 140}));
        return document.getElementById('tooltip').textContent;
      };
      document.body.dataset.first = point('first-chart');
      document.body.dataset.second = point('second-chart');
      if (!document.body.dataset.first || !document.body.dataset.second) return false;
      document.getElementById('only-changed').click();
      return true;
    })",
                                          difference_page(difference));
  if (opened.empty()) GTEST_SKIP() << kNoBrowser;
  const auto shown = [&opened](const std::string& name) {
    const std::size_t at = opened.find("data-" + name + "=");
    return opened.substr(at, opened.find('"', at + name.size() + 7) - at);
  };
  EXPECT_THAT(shown("first"), HasSubstr("1 KiB"));
  EXPECT_THAT(shown("second"), HasSubstr("free at this tick"));
  EXPECT_NE(opened.find("id=\"only-changed\" aria-pressed=\"true\""), opened.npos);
}

}  // namespace
}  // namespace skyline
