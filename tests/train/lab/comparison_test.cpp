#include "train/lab/comparison.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "data/host.h"
#include "train/options/memory_options.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

const std::vector<std::string> kAllocators = {"network-wise", "best-fit-pool", "planned"};

TrainOptions compared_options(const std::string& model) {
  TrainOptions options;
  options.model = model;
  options.data.images = 40;
  options.data.test_images = 10;
  options.batch_size = 8;
  options.threads = 1;
  options = resolved(options);
  return options;
}

Comparison compared(const TrainOptions& options, const std::vector<std::string>& allocators,
                    std::int64_t steps, Mode mode = Mode::kTraining) {
  std::ostringstream messages;
  Console console(messages, {});
  return compare_allocators(options, allocators, steps, console, mode);
}

class ComparisonTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ComparisonTest, AllocatorsAgreeBitForBitAndThePlanNeedsLeast) {
  const Comparison comparison = compared(compared_options(GetParam()), kAllocators, 12);
  EXPECT_TRUE(comparison.bit_equal());
  ASSERT_EQ(comparison.runs.size(), 3u);
  for (const ComparedRun& run : comparison.runs) {
    EXPECT_EQ(run.losses.size(), 12u);
    EXPECT_EQ(run.parameters_sha256.size(), 64u);
    EXPECT_EQ(run.memory.calls_per_step, 2.0 * static_cast<double>(comparison.trace.size()));
    EXPECT_TRUE(run.step_seconds_median && run.allocate_ns_median);
  }
  const auto reserved = [&](std::size_t i) {
    return comparison.runs[i].memory.steady_peak_bytes();
  };
  // The pool may ask once more for resnet20, whose workspaces differ widely: blocks that it cached
  // in one step serve the next one's in another way.
  const std::uint64_t asked_again[] = {0, GetParam() == "resnet20" ? 1u : 0u, 0};
  for (std::size_t i = 0; i < 3; ++i) {
    const MemorySummary& memory = comparison.runs[i].memory;
    EXPECT_LE(memory.device_allocations_after_switch, asked_again[i]) << memory.allocator;
  }
  EXPECT_LT(reserved(2), reserved(1) + 4096) << "but for the arena's last page";
  EXPECT_LT(reserved(2), reserved(0));
  EXPECT_GE(reserved(2) - comparison.runs[2].memory.resident_bytes, comparison.plan.lower_bound);
}

INSTANTIATE_TEST_SUITE_P(Networks, ComparisonTest, ::testing::Values("mlp", "lenet", "resnet20"),
                         [](const auto& tested) { return tested.param; });

TEST(ComparisonTest, TakesTheNotesPlannersAsAllocators) {
  const Comparison comparison = compared(compared_options("lenet"), {"box", "planned"}, 4);
  EXPECT_TRUE(comparison.bit_equal());
  const MemorySummary &box = comparison.runs[0].memory, &planned = comparison.runs[1].memory;
  EXPECT_EQ(box.allocator, "box");
  EXPECT_EQ(box.planner, "box");
  EXPECT_NE(planned.planner, "box");
  EXPECT_GT(box.steady_peak_bytes(), planned.steady_peak_bytes());
}

TEST(ComparisonTest, OfSentencesDrawsEveryAllocatorOverTheStepsAndThePlanOnce) {
  TrainOptions options;
  options.model = "seq2seq";
  options.batch_size = 8;
  options.threads = 1;
  options.text.pairs = 80;
  options.text.val_pairs = 10;
  options.text.units = 12;
  options = resolved(options);
  const std::vector<std::string> allocators = {"caching", "planned-grow", "planned-upper-bound"};
  const Comparison comparison = compared(options, allocators, 6);
  EXPECT_TRUE(comparison.bit_equal());
  EXPECT_EQ(comparison.runs[2].memory.session->deviations, 0u);
  const ReportData report = comparison_report(comparison);
  EXPECT_EQ(report.curves.size(), 2u) << "one of caching, one of the plan";
  ASSERT_EQ(report.steps.lines.size(), allocators.size());
  ASSERT_EQ(report.steps.live_bytes.points().size(), 6u);
  for (std::size_t i = 0; i < allocators.size(); ++i) {
    const StepsLine& line = report.steps.lines[i];
    EXPECT_EQ(line.name, allocators[i]);
    ASSERT_EQ(line.reserved_bytes.points().size(), 6u);
    EXPECT_EQ(comparison.runs[i].steps.live_bytes, report.steps.live_bytes);
    for (std::size_t step = 0; step < 6; ++step) {
      EXPECT_GE(line.reserved_bytes.points()[step].sum, report.steps.live_bytes.points()[step].sum)
          << line.name;
    }
  }
  EXPECT_EQ(report.steps.lengths.size(), 2u);
}

// This pool takes more for each batch of another shape, so the count depends on the step that it
// begins with.
TEST(ComparisonTest, AllocationsAfterTheSwitchBeginWithTheStepAfterTheWarmUp) {
  TrainOptions options;
  options.model = "seq2seq";
  options.batch_size = 8;
  options.threads = 1;
  options.text.pairs = 80;
  options.text.units = 12;
  options = resolved(options);
  const auto counted = [&](int warmup_steps) {
    options.memory.warmup_steps = warmup_steps;
    return compared(options, {"exact-pool"}, 5).runs[0].memory.device_allocations_after_switch;
  };
  EXPECT_GT(counted(1), counted(2));
  EXPECT_EQ(counted(5), 0u);
}

TEST(ComparisonTest, JsonHasItsKeys) {
  const Json json = to_json(compared(compared_options("lenet"), kAllocators, 4));
  EXPECT_EQ(json["bit_equal"], true);
  for (const std::string& name : kAllocators) {
    for (const char* key :
         {"losses", "peak_reserved", "resident_bytes", "device_allocations_after_switch",
          "step_seconds_median", "allocate_ns_median", "parameters_sha256"}) {
      EXPECT_TRUE(json["allocators"][name].contains(key)) << name << " " << key;
    }
  }
}

// The warm-up of `planned` is part of its whole run; savings and gaps count from the switch.
TEST(ComparisonTest, ThePeakOfTheWholeRunStandsBesideThatAfterTheSwitch) {
  const Comparison comparison =
      compared(compared_options("lenet"), {"best-fit-pool", "planned"}, 4);
  const MemorySummary& pool = comparison.runs[0].memory;
  const MemorySummary& planned = comparison.runs[1].memory;
  EXPECT_EQ(pool.peak_reserved_after_switch_bytes, std::nullopt);
  EXPECT_EQ(planned.peak_reserved_bytes, pool.peak_reserved_bytes) << "the warm-up used a pool";
  ASSERT_TRUE(planned.peak_reserved_after_switch_bytes);
  EXPECT_LT(*planned.peak_reserved_after_switch_bytes, planned.peak_reserved_bytes);
  const Json json = to_json(comparison);
  const Json& row = json["allocators"]["planned"];
  EXPECT_EQ(row["peak_reserved"], planned.peak_reserved_bytes);
  EXPECT_EQ(row["peak_reserved_after_switch"], *planned.peak_reserved_after_switch_bytes);
  EXPECT_EQ(row["saved_bytes"],
            pool.peak_reserved_bytes - *planned.peak_reserved_after_switch_bytes);
  EXPECT_TRUE(json["allocators"]["best-fit-pool"]["peak_reserved_after_switch"].is_null());
  const ReportData report = comparison_report(comparison);
  EXPECT_EQ(report.comparison[1].peak_reserved_bytes, planned.peak_reserved_bytes);
  EXPECT_EQ(report.comparison[1].peak_reserved_after_switch_bytes,
            planned.peak_reserved_after_switch_bytes);
}

TEST(ComparisonTest, CountsTheDevicesOfAllRunsInOneProcess) {
  const Comparison comparison =
      compared(compared_options("lenet"), {"best-fit-pool", "planned"}, 4);
  const std::uint64_t pool = comparison.runs[0].memory.peak_reserved_bytes;
  EXPECT_EQ(comparison.process->peak_reserved_bytes,
            pool + comparison.runs[1].memory.peak_reserved_bytes);
  EXPECT_GT(comparison.process->device_resident_bytes, 0u);
  EXPECT_NE(comparison_text(comparison).find("resident set"), std::string::npos);
  EXPECT_EQ(to_json(comparison)["process"]["peak_reserved"],
            comparison.process->peak_reserved_bytes);
}

TEST(ComparisonTest, AnythingThatDiffersIsFound) {
  Comparison comparison = compared(compared_options("lenet"), {"best-fit-pool", "planned"}, 3);
  ASSERT_TRUE(comparison.bit_equal());
  Comparison other = comparison;
  other.runs[1].losses[2] += 1e-7;
  EXPECT_FALSE(other.bit_equal());
  other = comparison;
  other.runs[1].parameters_sha256[0] = 'x';
  EXPECT_FALSE(other.bit_equal());
  other = comparison;
  other.runs[1].state_sha256[0] = 'x';
  EXPECT_FALSE(other.bit_equal());
  EXPECT_NE(comparison_text(other).find("NOT EQUAL"), std::string::npos);
}

// The only step is the warm-up, so times and plan are unknown and must not be printed as zero.
TEST(ComparisonTest, WhatWasNotMeasuredIsNull) {
  const Json json = to_json(compared(compared_options("lenet"), kAllocators, 1));
  EXPECT_TRUE(json["allocators"]["planned"]["step_seconds_median"].is_null());
  EXPECT_TRUE(json["allocators"]["planned"]["allocate_ns_median"].is_null());
  EXPECT_TRUE(json["allocators"]["planned"]["lower_bound"].is_null());
}

TEST(ComparisonTest, GuardsKeepTheRunsEqual) {
  TrainOptions options = compared_options("lenet");
  options.memory.guard = true;
  options.memory.check = true;
  EXPECT_TRUE(compared(options, kAllocators, 4).bit_equal());
}

TEST(ComparisonTest, ThePageNamesEveryAllocator) {
  const std::string page =
      render_report(comparison_report(compared(compared_options("lenet"), kAllocators, 4)));
  for (const std::string& name : kAllocators) EXPECT_NE(page.find(name), std::string::npos);
}

TEST(ComparisonTest, ThePageShowsTheOrderOfTheTrainingStep) {
  TrainOptions options = compared_options("resnet20");
  options.step.fused_update = true;
  const Comparison comparison = compared(options, {"planned"}, 2);
  ASSERT_TRUE(comparison.order.has_value());
  EXPECT_EQ(comparison.order->peak(),
            comparison.order->resident_bytes + comparison.plan.lower_bound);
  EXPECT_TRUE(comparison.story.has_value());
  EXPECT_LT(comparison.order->peak(), comparison.order->program());
  EXPECT_TRUE(comparison_report(comparison).order.has_value());
  EXPECT_FALSE(compared(options, {"planned"}, 2, Mode::kInference).order.has_value())
      << "inference runs as written";
}

TEST(ComparisonTest, InferenceIsComparedToo) {
  TrainOptions options = compared_options("resnet20");
  const std::vector<std::string> all = allocator_names();
  const Comparison comparison = compared(options, all, 3, Mode::kInference);
  EXPECT_TRUE(comparison.bit_equal());
  const std::uint64_t trained = compared(options, {"planned"}, 3).runs[0].memory.resident_bytes;
  for (const ComparedRun& run : comparison.runs) {
    ASSERT_EQ(run.losses.size(), 3u) << run.memory.allocator;
    EXPECT_GT(run.losses[0], 0) << run.memory.allocator;
    EXPECT_LT(run.memory.resident_bytes, trained / 2) << "neither gradients nor velocities";
  }
  EXPECT_EQ(to_json(comparison)["mode"], "inference");
}

// Its row gives the reason, and the other allocators continue.
TEST(ComparisonTest, AnAllocatorThatDoesNotFitIsSaidAndLeftOut) {
  TrainOptions options = compared_options("lenet");
  const std::uint64_t pool =
      compared(options, {"best-fit-pool"}, 4).runs[0].memory.peak_reserved_bytes;
  options.memory.capacity_bytes = pool;
  const Comparison comparison = compared(options, kAllocators, 4);
  ASSERT_EQ(comparison.runs[0].memory.allocator, "network-wise");
  EXPECT_FALSE(comparison.runs[0].fits());
  EXPECT_TRUE(comparison.runs[1].fits());
  EXPECT_TRUE(comparison.runs[2].fits());
  EXPECT_TRUE(comparison.bit_equal());
  const Json json = to_json(comparison);
  EXPECT_EQ(json["allocators"]["network-wise"]["fits"], false);
  EXPECT_TRUE(json["allocators"]["network-wise"]["peak_reserved"].is_null());
  EXPECT_EQ(json["baseline"], "best-fit-pool");
  const std::string text = comparison_text(comparison);
  EXPECT_NE(text.find("network-wise does not fit: [network-wise"), std::string::npos) << text;
  EXPECT_NE(render_report(comparison_report(comparison)).find("network-wise does not fit"),
            std::string::npos);
}

TEST(ComparisonTest, WhereNoneFitsTheRunFails) {
  TrainOptions options = compared_options("lenet");
  options.memory.capacity_bytes = 1 << 16;
  try {
    compared(options, kAllocators, 2);
    FAIL() << "nothing fits 64 KiB";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("none of the allocators fits"), std::string::npos)
        << error.what();
  }
}

TEST(ComparisonTest, ThePageSaysWhatWasRun) {
  const ReportData report = comparison_report(compared(compared_options("lenet"), kAllocators, 2));
  const auto fact = [&](const std::string& name) {
    for (const ReportFact& known : report.facts) {
      if (known.name == name) return known.value;
    }
    return std::string("missing");
  };
  EXPECT_EQ(fact("model"), "lenet");
  EXPECT_EQ(fact("batch size"), "8");
  EXPECT_EQ(fact("steps"), "2 training");
  EXPECT_EQ(fact("images"), "1 × 28 × 28");
  EXPECT_EQ(fact("momentum"), "0.9");
}

TEST(ComparisonTest, ThePageHasCurvesOfWhatItsDeviceCanReplay) {
  Comparison comparison =
      compared(compared_options("lenet"), {"caching", "caching@1GiB", "planned@1GiB"}, 2);
  comparison.runs.push_back(comparison.runs[0]);
  comparison.runs.back().memory.allocator = "cuda-async";  // as on a GPU
  const ReportData report = comparison_report(comparison);
  ASSERT_EQ(report.curves.size(), 1u);
  EXPECT_EQ(report.curves[0].name, "caching");
  EXPECT_EQ(report.comparison.size(), 4u);
}

TEST(ComparisonTest, ABatchLargerThanTheDataIsRefused) {
  TrainOptions options = compared_options("lenet");
  options.batch_size = 41;
  EXPECT_THROW(compared(options, kAllocators, 1), DataError);
}

}  // namespace
}  // namespace skyline
