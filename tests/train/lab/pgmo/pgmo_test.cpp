#include "train/lab/pgmo/pgmo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "tests/train/commands/skyline_program.h"
#include "tests/train/report/browser.h"
#include "train/lab/pgmo/pgmo_seq2seq.h"

namespace skyline {
namespace {

using ::testing::HasSubstr;

// Runs once for all tests. At 32, googlenet's training saves most against the one pool and its
// inference against the other; seq2seq needs no more than 2.
const PgmoReproduction& small_reproduction() {
  static const PgmoReproduction reproduction =
      reproduce_pgmo({.batch_sizes = {32}, .seq2seq_batch_sizes = {2}, .timed_runs = 1});
  return reproduction;
}

const PgmoFigure& figure_with(const std::string& text) {
  for (const PgmoFigure& figure : small_reproduction().figures) {
    if (figure.what.find(text) != std::string::npos) return figure;
  }
  throw std::out_of_range(text);
}

TEST(PgmoTest, TheBytesOfInferenceAreThePapers) {
  for (const char* network :
       {"AlexNet, inference of 1: bytes", "GoogLeNet, inference of 1: bytes"}) {
    const PgmoFigure& figure = figure_with(network);
    EXPECT_EQ(figure.ours, figure.paper) << network;
    EXPECT_EQ(difference_text(figure), "equal");
  }
}

TEST(PgmoTest, InceptionResNetFitsTheDevicePlanned) {
  EXPECT_EQ(difference_text(figure_with("training at 64, planned")), "holds");
}

TEST(PgmoTest, EveryNetworkHasARowForEachBatchAndOneForInference) {
  const std::vector<PgmoRow>& rows = small_reproduction().rows;
  ASSERT_EQ(rows.size(), 10u);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const PgmoRow& row = rows[i];
    SCOPED_TRACE(row_name(row));
    EXPECT_EQ(row.mode, i % 2 == 0 ? Mode::kTraining : Mode::kInference);
    EXPECT_EQ(row.batch_size, i % 2 == 1 ? 1 : row.network == "seq2seq" ? 2 : 32);
    EXPECT_TRUE(row.proved_optimal);
    EXPECT_GE(row.heuristic_bytes, row.best_plan_bytes);
    EXPECT_GT(row.heuristic_seconds, 0);
    EXPECT_LT(row.planned_bytes(), row.network_wise_bytes);
    EXPECT_LE(row.planned_bytes(), row.exact_pool_bytes);
    EXPECT_LT(row.resident_bytes, row.pool_bytes);
    EXPECT_NEAR(row.saving() * static_cast<double>(row.pool_bytes),
                static_cast<double>(row.pool_bytes) - static_cast<double>(row.planned_bytes()), 1);
  }
}

TEST(PgmoTest, SentencesAreAsLongAsTheTextsThatTheyStandFor) {
  const SentenceLengths lengths = drawn_lengths(20'000, 0);
  const auto mean = [](const std::vector<std::int32_t>& words) {
    return std::accumulate(words.begin(), words.end(), 0.0) / static_cast<double>(words.size());
  };
  EXPECT_NEAR(mean(lengths.source), 21.2, 0.1) << "WMT's development sets: 21.9";
  EXPECT_NEAR(mean(lengths.target), 24.4, 0.1) << "25.4";
  for (const auto* side : {&lengths.source, &lengths.target}) {
    ASSERT_EQ(side->size(), 20'000u);
    EXPECT_EQ(std::ranges::min(*side), 1);
    EXPECT_EQ(std::ranges::max(*side), 50);
  }
  EXPECT_EQ(drawn_lengths(3, 1).source, drawn_lengths(3, 1).source);
  EXPECT_NE(drawn_lengths(9, 1).source, drawn_lengths(9, 2).source);
}

// Pools accumulate blocks that fit no later request; a plan for the longest mini-batch stays close
// to the live bytes.
TEST(PgmoTest, MiniBatchesOfOtherLengthsAreNoTroubleForAPlanMadeBeforehand) {
  const PgmoRow row = pgmo_seq2seq(Mode::kTraining, 32).row;
  const PgmoMiniBatches& ran = *row.mini_batches;
  const PgmoArm &upper_bound = ran.arm("planned-upper-bound"), &grow = ran.arm("planned-grow");
  EXPECT_EQ(ran.count, 10);
  constexpr std::uint64_t kParameterBytes = 4 * 173'306'946ull;
  EXPECT_GE(row.resident_bytes, 4 * kParameterBytes) << "gradients and Adam's moments too";
  EXPECT_LT(row.resident_bytes, 4 * kParameterBytes + 4096);
  EXPECT_GE(upper_bound.reserved_bytes, ran.live_bytes);
  EXPECT_LE(static_cast<double>(upper_bound.reserved_bytes),
            1.01 * static_cast<double>(ran.live_bytes));
  EXPECT_EQ(upper_bound.device_allocations, 0u);
  EXPECT_EQ(upper_bound.replans, 0u);
  EXPECT_GT(grow.replans, 0u);
  EXPECT_EQ(row.planned_bytes(), grow.reserved_bytes);
  for (const char* pool : {"network-wise", "exact-pool", "best-fit-pool"}) {
    EXPECT_GT(ran.arm(pool).reserved_bytes, upper_bound.reserved_bytes) << pool;
    EXPECT_GT(ran.arm(pool).device_allocations, 0u) << pool;
  }
  EXPECT_THROW(ran.arm("arena"), std::out_of_range);
}

TEST(PgmoTest, TimeIsNotMeasuredAndSaysSo) {
  for (const char* what : {"time saved", "at the same batch", "larger batch that fits", "up to"}) {
    const PgmoFigure& figure = figure_with(what);
    EXPECT_FALSE(figure.ours.has_value());
    EXPECT_EQ(difference_text(figure), "not measured");
    EXPECT_THAT(figure.note, HasSubstr("a card"));
  }
  EXPECT_TRUE(to_json(small_reproduction())["figures"].back()["ours"].is_null());
}

// The paper's largest saving is Inception-ResNet's; ours is another network's, and both are shown.
TEST(PgmoTest, SaysWhatDoesNotAgree) {
  const PgmoFigure& all = figure_with("largest saving of the image networks");
  const PgmoFigure& same = figure_with("largest saving with Inception-ResNet");
  EXPECT_EQ(all.paper, same.paper);
  EXPECT_GT(*all.ours, *same.ours);
  EXPECT_THAT(same.note, HasSubstr("inception-resnet"));
  EXPECT_THAT(all.note, testing::Not(HasSubstr("inception-resnet")));
  const PgmoFigure &least = figure_with("AlexNet's, least"), &most = figure_with("AlexNet's, most");
  EXPECT_LT(*least.ours, *most.ours);
  EXPECT_EQ(least.paper, 12.5);
  EXPECT_THAT(figure_with("training at 64, pool").note, HasSubstr("GB stay unexplained"));
}

TEST(PgmoTest, SavingsAreSaidAgainstBothPools) {
  for (const PgmoFigure& figure : small_reproduction().figures) {
    const bool saving = figure.what.find("saving") != std::string::npos;
    EXPECT_TRUE(figure.against_exact_pool || !saving) << figure.what;
  }
  for (const PgmoRow& row : small_reproduction().rows) {
    EXPECT_NEAR(
        row.saving_against_exact_pool() * static_cast<double>(row.exact_pool_bytes),
        static_cast<double>(row.exact_pool_bytes) - static_cast<double>(row.planned_bytes()), 1);
  }
}

// They may be at different rows.
TEST(PgmoTest, LargestSavingsAreTheMaximaOfTheirColumns) {
  const struct {
    const char* what;
    bool (*counts)(const PgmoRow&);
  } cases[] = {
      {"with Inception-ResNet",
       [](const PgmoRow& row) { return row.network == "inception-resnet"; }},
      {"of the image networks", [](const PgmoRow& row) { return row.network != "seq2seq"; }},
      {"of all networks", [](const PgmoRow&) { return true; }}};
  int apart = 0;
  for (const auto& [what, counts] : cases) {
    const PgmoFigure& figure = figure_with(std::string("largest saving ") + what);
    double against_pool = -1, against_exact_pool = -1;
    std::string pool_row, exact_pool_row;
    for (const PgmoRow& row : small_reproduction().rows) {
      if (!counts(row)) continue;
      if (row.saving() > against_pool) {
        against_pool = row.saving();
        pool_row = row_name(row);
      }
      if (row.saving_against_exact_pool() > against_exact_pool) {
        against_exact_pool = row.saving_against_exact_pool();
        exact_pool_row = row_name(row);
      }
    }
    EXPECT_EQ(figure.ours, against_pool) << what;
    EXPECT_EQ(figure.against_exact_pool, against_exact_pool) << what;
    EXPECT_EQ(figure.note, "ours at " + pool_row + "; against exact-pool at " + exact_pool_row);
    apart += pool_row != exact_pool_row;
  }
  EXPECT_GT(apart, 0) << "else one row's figures would pass for both maxima";
}

TEST(PgmoTest, DifferencesAreSaidInTheirUnits) {
  using Unit = PgmoFigure::Unit;
  const auto said = [](Unit unit, double paper, double ours, const char* relation = "") {
    return difference_text({.unit = unit, .paper = paper, .relation = relation, .ours = ours});
  };
  EXPECT_EQ(said(Unit::kBytes, 512, 512), "equal");
  EXPECT_EQ(said(Unit::kGigabytes, 2e9, 1.5e9), "-25.0 %");
  EXPECT_EQ(said(Unit::kShare, 0.1, 0.125), "+2.5 points");
  EXPECT_EQ(said(Unit::kBytes, 100, 100, "at most"), "holds");
  EXPECT_EQ(said(Unit::kBytes, 100, 101, "at most"), "does not hold");
  EXPECT_EQ(said(Unit::kBytes, 100, 100, "above"), "does not hold");
  EXPECT_EQ(figure_text(Unit::kBytes, 10'169'344), "10,169,344");
  EXPECT_EQ(figure_text(Unit::kGigabytes, 1.21e9), "1.21 GB");
  EXPECT_EQ(figure_text(Unit::kShare, 0.126), "12.6 %");
  EXPECT_EQ(figure_text(Unit::kTimes, 2.19), "2.19 x");
  EXPECT_EQ(said(Unit::kTimes, 12.5, 10), "-20.0 %");
}

TEST(PgmoTest, TextNamesFiguresRowsAndGrowth) {
  const std::string text = pgmo_text(small_reproduction());
  for (const char* part : {"10,169,344", "12,202,496", "1.21 GB", "12.6 %", "49.5 %", "5.2.3",
                           "inception-resnet", "training 32", "inference 1", "to the power of",
                           "14.6 %", "23.8 %", "not measured", "re-plans"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(PgmoTest, ThePageDrawsItsBars) {
  const std::string page = pgmo_page(small_reproduction());
  EXPECT_EQ(page.find("http://"), page.npos);
  EXPECT_EQ(page.find("https://"), page.npos);
  const std::string shown = opened_in_browser(page);
  if (shown.empty()) GTEST_SKIP() << kNoBrowser;
  EXPECT_THAT(shown, HasSubstr("class=\"allocator\""));
  EXPECT_THAT(shown, HasSubstr("10,169,344"));
  EXPECT_THAT(shown, HasSubstr("proved optimal"));
}

TEST(ReproduceCommandTest, WritesItsFiles) {
  const TemporaryFolder folder;
  const Outcome outcome = skyline_program({"reproduce", "pgmo", "--batch-sizes", "1", "--output",
                                           (folder / "deep/er").string(), "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
  const nlohmann::json json = outcome.json();
  for (const char* key : {"paper", "source", "workspace", "figures", "rows", "growth_exponent"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  for (const char* key : {"network", "mode", "batch_size", "resident_bytes", "network_wise",
                          "exact_pool", "pool", "planned", "planned_step", "proved_optimal",
                          "saving", "blocks", "heuristic_seconds", "mini_batches"}) {
    EXPECT_TRUE(json["rows"][0].contains(key)) << key;
  }
  for (const char* file : {"pgmo.txt", "pgmo.json", "pgmo.html"}) {
    EXPECT_TRUE(std::filesystem::exists(folder / "deep/er" / file)) << file;
  }
}

TEST(ReproduceCommandTest, WrongUsageNamesItself) {
  const struct {
    std::vector<std::string> words;
    const char* hint;
  } cases[] = {{{"reproduce", "pgom"}, "did you mean 'pgmo'"},
               {{"reproduce"}, "PAPER"},
               {{"reproduce", "pgmo", "--batch-sizes", "32,0"}, "'0' is not a batch size"},
               {{"reproduce", "pgmo", "--batch-sizes", "32,,64"}, "'' is not a batch size"},
               {{"reproduce", "pgmo", "--batch-sizes", "many"}, "'many' is not a batch size"}};
  for (const auto& [words, hint] : cases) {
    const Outcome outcome = skyline_program(words);
    EXPECT_EQ(outcome.exit_code, 2) << words.back();
    EXPECT_THAT(outcome.messages, HasSubstr(hint));
    EXPECT_EQ(outcome.output, "");
  }
}

}  // namespace
}  // namespace skyline
