#include "train/lab/pgmo/pgmo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "tests/train/commands/skyline_program.h"
#include "tests/train/report/browser.h"
#include "train/lab/pgmo/pgmo_seq2seq.h"

namespace skyline {
namespace {

using ::testing::HasSubstr;

// Runs once for all tests. At 32, googlenet's training saves most against the one pool and its
// inference against the other; seq2seq needs no more than 2.
const PgmoReproduction& small_reproduction() {
  static const PgmoReproduction reproduction = reproduce_pgmo(
      {.batch_sizes = {32}, .seq2seq_batch_sizes = {2}, .timed_runs = 1, .mip_seconds = 2});
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
    EXPECT_GE(row.ours.heuristic_bytes, row.best_plan_bytes);
    EXPECT_GT(row.heuristic_seconds, 0);
    for (const PgmoMemory& memory : {row.ours, row.as_chainer}) {
      // The policy grow may pay twice for the few bytes of two sentences.
      EXPECT_TRUE(memory.mini_batches || memory.planned_bytes() < memory.network_wise_bytes);
      EXPECT_LE(memory.planned_bytes(), memory.exact_pool_bytes);
      EXPECT_LT(memory.resident_bytes, memory.pool_bytes);
      const auto pool = static_cast<double>(memory.pool_bytes);
      EXPECT_NEAR(memory.saving() * pool, pool - static_cast<double>(memory.planned_bytes()), 1);
    }
    EXPECT_EQ(row.as_chainer.resident_bytes, row.ours.resident_bytes);
    EXPECT_GE(row.as_chainer.network_wise_bytes, row.ours.network_wise_bytes);
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
  const PgmoMemory memory = pgmo_seq2seq(Mode::kTraining, 32).memory;
  const PgmoMiniBatches& ran = *memory.mini_batches;
  const PgmoArm &upper_bound = ran.arm("planned-upper-bound"), &grow = ran.arm("planned-grow");
  EXPECT_EQ(ran.count, 10);
  constexpr std::uint64_t kParameterBytes = 4 * 173'306'946ull;
  EXPECT_GE(memory.resident_bytes, 4 * kParameterBytes) << "gradients and Adam's moments too";
  EXPECT_LT(memory.resident_bytes, 4 * kParameterBytes + 4096);
  EXPECT_GE(upper_bound.reserved_bytes, ran.live_bytes);
  EXPECT_LE(static_cast<double>(upper_bound.reserved_bytes),
            1.01 * static_cast<double>(ran.live_bytes));
  EXPECT_EQ(upper_bound.device_allocations, 0u);
  EXPECT_EQ(upper_bound.replans, 0u);
  EXPECT_GT(grow.replans, 0u);
  EXPECT_EQ(memory.planned_bytes(), grow.reserved_bytes);
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
    EXPECT_THAT(figure.note, HasSubstr("--measure"));
  }
  EXPECT_TRUE(to_json(small_reproduction())["figures"].back()["ours"].is_null());
}

TEST(PgmoTest, FiguresStandInTheirSectionsOfThePaper) {
  EXPECT_EQ(figure_with("seq2seq, 100 words, inference of 1: saving").section, "5.3.1");
  EXPECT_EQ(figure_with("time saved").section, "5.3.1");
  EXPECT_EQ(figure_with("memory in AlexNet's").section, "1");
  EXPECT_EQ(figure_with("largest saving of the image networks").section, "abstract, 1");
  EXPECT_EQ(figure_with("speed of all training").section, "abstract, 1");
}

// Chainer writes nothing in place, runs relu apart and packs an LSTM's weights in each call.
TEST(PgmoTest, ChainersOpsComeNearerToThePaper) {
  for (const char* network :
       {"AlexNet, inference of 1: bytes", "GoogLeNet, inference of 1: bytes"}) {
    const PgmoFigure& figure = figure_with(network);
    EXPECT_EQ(figure.as_chainer, figure.paper) << network;
  }
  for (const char* what : {"32, network-wise", "32, pool", "ResNet-50, inference of 1: saving"}) {
    const PgmoFigure& figure = figure_with(what);
    const auto off = [&](const std::optional<double>& value) {
      return std::abs(*value - figure.paper);
    };
    EXPECT_LT(off(figure.chainer_exact_pool ? figure.chainer_exact_pool : figure.as_chainer),
              off(figure.exact_pool ? figure.exact_pool : figure.ours))
        << what;
  }
  EXPECT_THAT(figure_with("training at 64, pool").note, HasSubstr("GB stay unexplained"));
}

TEST(PgmoTest, ChainersStepIsSplitByOp) {
  for (const PgmoRow& row : small_reproduction().rows) {
    SCOPED_TRACE(row_name(row));
    using Part = PgmoParts::ByOp::value_type;
    const auto sum = [](const PgmoParts::ByOp& parts) {
      EXPECT_TRUE(std::ranges::is_sorted(parts, std::greater<>(), &Part::second));
      std::uint64_t bytes = 0;
      for (const auto& [op, of_op] : parts) bytes += of_op;
      return bytes;
    };
    const PgmoParts& parts = row.chainer_parts;
    EXPECT_LE(sum(parts.at_peak), row.as_chainer.heuristic_bytes);
    EXPECT_LE(sum(parts.at_peak), sum(parts.pool));
    const auto packed = std::ranges::find(parts.at_peak, "lstm", &Part::first);
    EXPECT_EQ(packed != parts.at_peak.end(), row.network == "seq2seq");
    if (packed == parts.at_peak.end()) {
      // Within the alignments of the pools.
      EXPECT_NEAR(static_cast<double>(sum(parts.pool)),
                  static_cast<double>(row.as_chainer.pool_bytes - row.as_chainer.resident_bytes),
                  0.02 * static_cast<double>(row.as_chainer.pool_bytes));
    } else {
      EXPECT_GE(packed->second, std::uint64_t{96} << 20);
    }
  }
}

// The paper's program finds no better plan than the heuristic, as in its section 5.2.3.
TEST(PgmoTest, TheProgramIsSolvedOnThePapersTwoInstances) {
  for (const PgmoRow& row : small_reproduction().rows) {
    SCOPED_TRACE(row_name(row));
    const bool asked =
        row.mode == Mode::kInference && (row.network == "alexnet" || row.network == "googlenet");
    ASSERT_EQ(row.mip.has_value(), asked);
    if (!asked) continue;
    EXPECT_EQ(row.mip->solver, "CBC");
    EXPECT_FALSE(row.mip->status.empty());
    EXPECT_LE(row.mip->bound.value_or(0), row.ours.heuristic_bytes);
  }
  EXPECT_THAT(pgmo_text(small_reproduction()), HasSubstr("CBC: "));
}

TEST(PgmoTest, RatiosAreSaidForEachBatchAndAllocator) {
  const std::vector<PgmoRatio>& ratios = small_reproduction().ratios;
  EXPECT_EQ(ratios.size(), 4u) << "one batch size, four allocators";
  const PgmoFigure& figure = figure_with("memory in AlexNet's");
  const PgmoRatio& nearest = *std::ranges::min_element(
      ratios, {}, [](const PgmoRatio& ratio) { return std::abs(ratio.ours - 12.5); });
  EXPECT_EQ(figure.ours, nearest.ours);
  EXPECT_THAT(figure.note, HasSubstr("ours: " + nearest.allocator + ", batch 32"));
}

// The abstract does not name the network of its 49.5 %.
TEST(PgmoTest, NoNetworkIsSaidToHaveThePapersLargestSaving) {
  for (const PgmoFigure& figure : small_reproduction().figures) {
    if (figure.paper != 0.495) continue;
    EXPECT_THAT(figure.what, testing::Not(HasSubstr("Inception")));
  }
  EXPECT_THAT(pgmo_page(small_reproduction()), HasSubstr("largest saving is 49.5 %."));
}

TEST(PgmoTest, SavingsAreSaidAgainstBothPools) {
  for (const PgmoFigure& figure : small_reproduction().figures) {
    const bool saving = figure.what.find("saving") != std::string::npos;
    EXPECT_TRUE(!saving || (figure.exact_pool && figure.chainer_exact_pool)) << figure.what;
  }
  for (const PgmoRow& row : small_reproduction().rows) {
    EXPECT_NEAR(
        row.ours.saving_against_exact_pool() * static_cast<double>(row.ours.exact_pool_bytes),
        static_cast<double>(row.ours.exact_pool_bytes) -
            static_cast<double>(row.ours.planned_bytes()),
        1);
  }
}

// They may be at different rows.
TEST(PgmoTest, LargestSavingsAreTheMaximaOfTheirColumns) {
  const struct {
    const char* what;
    bool (*counts)(const PgmoRow&);
  } cases[] = {
      {"of the image networks", [](const PgmoRow& row) { return row.network != "seq2seq"; }},
      {"of all networks", [](const PgmoRow&) { return true; }}};
  std::set<std::string> named;
  for (const auto& [what, counts] : cases) {
    const PgmoFigure& figure = figure_with(std::string("largest saving ") + what);
    const struct {
      std::string name;
      std::optional<double> said;
      PgmoMemory PgmoRow::*memory;
      double (PgmoMemory::*saving)() const;
    } columns[] = {{"ours: ", figure.ours, &PgmoRow::ours, &PgmoMemory::saving},
                   {"; exact-pool: ", figure.exact_pool, &PgmoRow::ours,
                    &PgmoMemory::saving_against_exact_pool},
                   {"as Chainer: ", figure.as_chainer, &PgmoRow::as_chainer, &PgmoMemory::saving},
                   {"its exact-pool: ", figure.chainer_exact_pool, &PgmoRow::as_chainer,
                    &PgmoMemory::saving_against_exact_pool}};
    for (const auto& column : columns) {
      double most = -1;
      std::string at;
      for (const PgmoRow& row : small_reproduction().rows) {
        const double saved = (row.*column.memory.*column.saving)();
        if (!counts(row) || saved <= most) continue;
        most = saved;
        at = row_name(row);
      }
      EXPECT_EQ(column.said, most) << what;
      EXPECT_THAT(figure.note, HasSubstr(column.name + at));
      named.insert(at);
    }
  }
  EXPECT_GT(named.size(), 1u) << "else one row's figures would pass for all maxima";
}

// Figure 3 of a small network and a small translator.
const PgmoTimes& small_times(std::optional<std::uint64_t> capacity_bytes) {
  static std::map<std::optional<std::uint64_t>, PgmoTimes> known;
  const auto [found, is_new] = known.try_emplace(capacity_bytes);
  if (is_new) {
    const PgmoMeasuring measuring{
        .steps = 4,
        .capacity_bytes = capacity_bytes,
        .translation = {
            .source_words = 50, .target_words = 60, .layers = 1, .units = 8, .embedding = 8}};
    found->second = measure_pgmo(measuring, {"lenet"}, {2, 3}, {2});
  }
  return found->second;
}

TEST(PgmoTimesTest, EachPanelOfFigure3IsFilled) {
  const std::vector<PgmoTime>& rows = small_times({}).rows;
  std::string panels;
  for (const PgmoTime& row : rows) {
    panels += row.panel;
    EXPECT_EQ(row.mode, row.panel == "a" || row.panel == "c" ? Mode::kTraining : Mode::kInference);
    EXPECT_EQ(row.arms.size(), row.network == "seq2seq" ? 3u : 2u);
    EXPECT_EQ(row.arms.front().allocator, "best-fit-pool");
    for (const PgmoArmTime& arm : row.arms) {
      EXPECT_GT(arm.step_seconds.value_or(0), 0) << arm.allocator;
      EXPECT_GT(arm.allocate_ns.value_or(0), 0) << arm.allocator;
    }
    EXPECT_DOUBLE_EQ(row.speed().value(), *row.arms[0].step_seconds / *row.arms[1].step_seconds);
  }
  EXPECT_EQ(panels, "aabcd");
  EXPECT_THAT(small_times({}).largest, testing::IsEmpty()) << "the capacity is not known";
  EXPECT_THAT(pgmo_times_sections(small_times({})).front().note, HasSubstr("give --capacity"));
  EXPECT_FALSE(pgmo_times_sections({}).front().table.has_value()) << "the place stays";
}

TEST(PgmoTimesTest, ABatchThatDoesNotFitIsNotAvailableAndTheLargestOneIsRun) {
  constexpr std::uint64_t kCapacity = 6 << 20;
  const PgmoTimes& times = small_times(kCapacity);
  ASSERT_EQ(times.largest.size(), 1u);
  const PgmoTime& largest = times.largest.front();
  EXPECT_GE(largest.arms[1].batch_size, largest.arms[0].batch_size) << "planned";
  EXPECT_GT(largest.arms[0].batch_size, 3);
  const auto per_second = [](const PgmoArmTime& arm) {
    return static_cast<double>(arm.batch_size) / arm.step_seconds.value();
  };
  EXPECT_DOUBLE_EQ(largest.speed().value(),
                   per_second(largest.arms[1]) / per_second(largest.arms[0]));
  const PgmoTimes tight = measure_pgmo(
      {.steps = 3, .capacity_bytes = 1 << 20, .translation = {.layers = 1, .units = 8}}, {"lenet"},
      {32}, {});
  EXPECT_FALSE(tight.rows.front().arms.front().step_seconds.has_value());
  EXPECT_FALSE(tight.rows.front().speed().has_value());
  EXPECT_THAT(pgmo_times_sections(tight).front().table->str(), HasSubstr("N/A"));
}

// The figures that the paper reads off figure 3.
TEST(PgmoTimesTest, TheLargestSpeedsAndWhereTheyWere) {
  PgmoReproduction reproduction = small_reproduction();
  const auto time = [](const char* panel, const char* network, double pool, double planned) {
    return PgmoTime{
        .panel = panel,
        .network = network,
        .arms = {{.allocator = "best-fit-pool", .batch_size = 4, .step_seconds = pool},
                 {.allocator = "planned-upper-bound", .batch_size = 4, .step_seconds = planned}}};
  };
  reproduction.times = PgmoTimes{.rows = {time("a", "alexnet", 3, 2), time("a", "resnet50", 4, 2),
                                          time("b", "alexnet", 9, 3), time("d", "seq2seq", 4, 3)},
                                 .largest = {time("a", "googlenet", 7, 2)}};
  const auto figures = pgmo_figures(
      [&](std::string_view network, Mode mode, std::int64_t) -> const PgmoRow& {
        return *std::ranges::find_if(reproduction.rows, [&](const PgmoRow& row) {
          return row.network == network && row.mode == mode;
        });
      },
      reproduction);
  const auto ours = [&](const char* what) {
    return *std::ranges::find_if(figures, [&](const PgmoFigure& figure) {
      return figure.what.find(what) != std::string::npos;
    });
  };
  EXPECT_DOUBLE_EQ(ours("time saved").ours.value(), 0.25);
  EXPECT_DOUBLE_EQ(ours("at the same batch").ours.value(), 2);
  EXPECT_THAT(ours("at the same batch").note, HasSubstr("resnet50"));
  EXPECT_DOUBLE_EQ(ours("larger batch that fits").ours.value(), 3.5);
  EXPECT_DOUBLE_EQ(ours("up to").ours.value(), 3.5);
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
  for (const char* part :
       {"10,169,344", "12,202,496", "1.21 GB", "12.6 %", "49.5 %", "5.2.3", "inception-resnet",
        "training 32", "inference 1", "to the power of", "14.6 %", "23.8 %", "not measured",
        "re-plans", "as Chainer", "against exact-pool; as Chainer", "the step as Chainer by op"}) {
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
  EXPECT_THAT(shown, HasSubstr("one step, exact-pool"));
  EXPECT_THAT(shown, HasSubstr("time of a step (the paper's figure 3)"));
  EXPECT_THAT(shown, HasSubstr("srcdoc=")) << "figure 1";
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
                          "saving", "blocks", "heuristic_seconds", "mini_batches", "as_chainer"}) {
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
               {{"reproduce", "pgmo", "--batch-sizes", "many"}, "'many' is not a batch size"},
               {{"reproduce", "pgmo", "--steps", "5"}, "--steps needs --measure"},
               {{"reproduce", "olla", "--measure"}, "--measure is for pgmo"},
               {{"reproduce", "pgmo", "--measure", "--steps", "3", "--warmup-steps", "2"},
                "no step is left to time"}};
  for (const auto& [words, hint] : cases) {
    const Outcome outcome = skyline_program(words);
    EXPECT_EQ(outcome.exit_code, 2) << words.back();
    EXPECT_THAT(outcome.messages, HasSubstr(hint));
    EXPECT_EQ(outcome.output, "");
  }
}

}  // namespace
}  // namespace skyline
