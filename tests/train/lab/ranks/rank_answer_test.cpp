#include "train/lab/ranks/rank_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "models/models.h"
#include "tests/memory/planners/effort.h"
#include "tests/train/commands/skyline_program.h"
#include "tests/train/report/browser.h"
#include "tests/train/report/page_data.h"
#include "tests/train/temporary_folder.h"
#include "train/checkpoints/files.h"
#include "train/lab/ranks/rank_answer.h"
#include "train/options/train_options.h"

namespace skyline {
namespace {

using testing::HasSubstr;

// A dry run for `ranks` ranks; has a row for each power of two, too. Each is made once.
const nlohmann::json& foreseen(const std::string& model, std::size_t ranks) {
  static std::map<std::pair<std::string, std::size_t>, nlohmann::json> known;
  nlohmann::json& json = known[{model, ranks}];
  if (!json.is_null()) return json;
  const Outcome outcome =
      skyline_program({"dry-run", "--model", model, "--batch-size", "2", "--ranks",
                       std::to_string(ranks), "--allocators", "pool", "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
  return json = outcome.json();
}

TEST(DryRunRanks, CountBytesAndSumsOfEveryNetwork) {
  for (const std::string model : {"mlp", "lenet", "resnet20", "googlenet", "seq2seq"}) {
    SCOPED_TRACE(model);
    // A third rank of googlenet takes as long as all other networks.
    const std::size_t most = model == "googlenet" && !runs_at_night() ? 2 : 3;
    const nlohmann::json& json = foreseen(model, most);
    const nlohmann::json& rows = json["scaling"]["rows"];
    ASSERT_EQ(rows.size(), most);
    EXPECT_EQ(rows[0]["ranks"], 1);
    EXPECT_EQ(rows[0]["peak"], json["peak"]);
    EXPECT_EQ(rows[0]["sent_bytes"], 0);
    EXPECT_EQ(rows[0]["hidden"], 1);
    for (std::size_t row = 1; row < most; ++row) {
      const double ranks = rows[row]["ranks"];
      const double gradients = 4 * json["parameters"].get<double>();
      const double sent = rows[row]["sent_bytes"];
      const double expected = 2 * (ranks - 1) / ranks * gradients;
      EXPECT_GE(sent, expected);
      EXPECT_LE(sent, expected + rows[row]["sums"].get<double>());  // each is rounded up
      EXPECT_GE(rows[row]["peak"], rows[0]["peak"]);
      EXPECT_GE(rows[row]["sums"], 1);
      EXPECT_EQ(rows[row]["resident_bytes"], json["resident_bytes"]);
    }
  }
}

// Sums that the step's other ops hide cost no bytes beyond the peak that the order needs anyway.
TEST(DryRunRanks, HideSumsUnderTheLowestPeak) {
  for (const std::string model : {"resnet20", "resnet50", "vgg16"}) {
    SCOPED_TRACE(model);
    const Outcome outcome = skyline_program({"dry-run", "--model", model, "--batch-size", "32",
                                             "--ranks", "8", "--allocators", "pool", "--json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
    const nlohmann::json rows = outcome.json()["scaling"]["rows"];
    for (const nlohmann::json& row : rows) {
      EXPECT_GT(row["hidden"], 0.95);
      EXPECT_EQ(row["peak"], rows[0]["peak"]);
    }
  }
}

// Each rank keeps its share of the optimizer's state, and gets and gives a share in one pass each.
TEST(DryRunRanks, ShowWhatSharedUpdatesSave) {
  for (const std::string model : {"lenet", "resnet20", "seq2seq"}) {
    SCOPED_TRACE(model);
    const nlohmann::json& json = foreseen(model, 3);
    const double parameters = 4 * json["parameters"].get<double>();
    const double parts = model == "seq2seq" ? 2 : 1;
    for (std::size_t row = 0; row < 3; ++row) {
      const nlohmann::json all = json["scaling"]["rows"][row];
      const nlohmann::json sharded = json["scaling"]["sharded"][row];
      const double ranks = all["ranks"];
      const double saved =
          all["resident_bytes"].get<double>() - sharded["resident_bytes"].get<double>();
      // Blocks are rounded, and shares begin at multiples of 256 bytes.
      EXPECT_NEAR(saved, parts * parameters * (1 - 1 / ranks), 0.1 * parts * parameters);
      const double sent = sharded["sent_bytes"], sent_by_all = all["sent_bytes"];
      // Clipping needs all sums, so seq2seq's gathers come on top.
      EXPECT_NEAR(sent, (model == "seq2seq" ? 1.5 : 1) * sent_by_all, 40);
    }
  }
}

TEST(DryRunRanks, TakeAProfile) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  const Outcome trained = skyline_program(
      {"train", "--model", "lenet", "--data", "shapes", "--images", "64", "--batch-size", "16",
       "--steps", "3", "--threads", "1", "--output", run, "--config", few_test_images()});
  ASSERT_EQ(trained.exit_code, 0) << trained.messages;
  const Outcome outcome =
      skyline_program({"dry-run", "--model", "lenet", "--batch-size", "16", "--threads", "1",
                       "--profile", run, "--ranks", "2", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_EQ(outcome.json()["scaling"]["seconds_source"], "by the profile of " + run);
}

TEST(DryRunRanks, AreShownAsATable) {
  const Outcome outcome = skyline_program(
      {"dry-run", "--model", "lenet", "--ranks", "4096", "--bandwidth", "1GiB", "--latency", "5"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_THAT(outcome.output, HasSubstr("over a link of 1 GiB a second and\n           5 µs"));
  EXPECT_THAT(outcome.output, HasSubstr("\n4,096  "));
}

TEST(DryRunRanks, AreCurvesOnAPage) {
  const TemporaryFolder folder;
  const Outcome outcome =
      skyline_program({"dry-run", "--model", "lenet", "--ranks", "4096", "--allocators", "pool",
                       "--json", "--write-ranks", folder / "ranks.html"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
  const std::string page = read_file(folder / "ranks.html");
  const nlohmann::json data = page_data(page);
  ASSERT_EQ(data["curves"].size(), 2u);
  EXPECT_EQ(data["curves"][0]["rows"], outcome.json()["scaling"]["rows"]);
  EXPECT_EQ(data["curves"][1]["rows"], outcome.json()["scaling"]["sharded"]);
  EXPECT_EQ(data["curves"][0]["rows"].size(), 13u);
  EXPECT_EQ(page.find("src="), page.npos) << "the page loads nothing from elsewhere";
  expect_in_browser(
      page, {"On 4,096 ranks a step takes", "</svg>ideal</span>", "Up to ",
             "<td class=\"number\">4,096</td>", "role=\"img\"", "10.0 µs for each message"});
}

RankStep step_of(std::size_t ranks, std::uint64_t bytes, double seconds) {
  return {.ranks = ranks,
          .peak = bytes,
          .resident_bytes = 1024,
          .sums = ranks > 1 ? 3u : 0u,
          .sum_seconds = ranks > 1 ? 1.0 : 0.0,
          .wait_seconds = seconds - 2,
          .seconds = seconds};
}

// Walks to two ranks by keyboard.
TEST(RankPage, ShowsTwoProgramsBesideEachOther) {
  const RankAnswer all{.steps = {step_of(1, 4096, 2), step_of(2, 4096, 2.5)}};
  const RankAnswer part{.steps = {step_of(1, 4096, 2), step_of(2, 2048, 2.75)}};
  const std::string page = opened_after(
      R"(() => {
        const canvas = document.querySelector('#seconds-chart canvas');
        for (const key of ['ArrowRight', 'ArrowRight'])
          canvas.dispatchEvent(new KeyboardEvent('keydown', {key}));
        return document.getElementById('announcer').textContent.includes('2 ranks');
      })",
      rank_page(std::vector<RankCurve>{{"all <state>", all}, {"a part", part}}, "two"));
  expect_in(page, {"</svg>all &lt;state&gt;</span>", "</svg>a part</span>",
                   "2 ranks: all &lt;state&gt;  , step 2.50 s", "hidden 50.0 %", "hidden 25.0 %",
                   "bytes of a rank 3 KiB", "<td class=\"number\">1.38 ×</td>",
                   "A step of one rank waits for nobody; on 2 it takes 1.25 × as long"});
}

TEST(DryRunRanks, ThatMakeNoSenseAreWrongUsage) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--ranks", "0"}, "--ranks: 0 is out of range: it must be from 1 to 4096"},
      {{"--ranks", "2", "--infer"}, "--ranks sums gradients: leave out --infer"},
      {{"--ranks", "2", "--bandwidth", "0"}, "--bandwidth: 0 bytes a second carry nothing"},
      {{"--ranks", "2", "--latency", "-1"}, "--latency"},
      {{"--write-ranks", "ranks.html"}, "--write-ranks needs --ranks"},
      {{"--latency", "5"}, "--latency is for --ranks and would do nothing here"},
  };
  for (const auto& [more, sentence] : cases) {
    std::vector<std::string> words = {"dry-run"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = skyline_program(words);
    EXPECT_EQ(outcome.exit_code, 2) << sentence;
    EXPECT_THAT(outcome.messages, HasSubstr(sentence));
  }
}

}  // namespace
}  // namespace skyline
