#include "train/lab/together/together.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "memory/solvers/solvers.h"
#include "models/models.h"
#include "tests/train/commands/skyline_program.h"
#include "tests/train/report/browser.h"
#include "tests/train/temporary_folder.h"
#include "train/checkpoints/files.h"
#include "train/lab/order/step_order.h"

namespace skyline {
namespace {

using testing::HasSubstr;

DryRunOptions lenet_program() { return {.model = "lenet", .shape = find_model("lenet").shape}; }

const Together& together() {
  static const Together done =
      reproduce_together({.program = lenet_program(), .time_limit_seconds = 5});
  return done;
}

TEST(Together, PlansTheStepThatADryRunRecords) {
  const DryRunFacts facts = dry_run(lenet_program());
  const Together& all = together();
  EXPECT_EQ(all.requests, facts.trace.size());
  EXPECT_EQ(all.step_bound, lower_bound_bytes(facts.trace, kAlignmentBytes));
  for (const char* planner : {"box", "box-fixed", "colouring", "best-fit"}) {
    EXPECT_EQ(all.row(planner).bytes, plan(facts.trace, planner).peak) << planner;
  }
  EXPECT_EQ(all.row("as executed").bytes, plan(facts.trace).peak);
  EXPECT_EQ(all.row("mip").bytes, all.step_bound);
  EXPECT_THAT(all.row("mip").status, testing::StartsWith("CBC: "));
  EXPECT_EQ(all.row("as executed").status, "is the bound");
  EXPECT_EQ(all.row("queue").work, "TensorFlow");
  EXPECT_GE(all.row("stitched").bytes, all.step_bound);
  const StepGraph& graph = facts.step.graph;
  EXPECT_EQ(all.row("in place").bytes, plan(simulate(graph, {.sharing = false})).peak);
  for (const char* pool : {"network-wise", "exact-pool", "best-fit-pool", "caching"}) {
    const AllocatorUse use = replay_run(run_of(facts.trace), facts.trace, {.allocator = pool});
    EXPECT_EQ(all.row(pool).bytes, use.peak_reserved_bytes) << pool;
    EXPECT_EQ(all.row(pool).first_calls, use.device_allocations) << pool;
  }
}

TEST(Together, NoRowThatKeepsAllValuesIsBelowTheBound) {
  const Together& all = together();
  EXPECT_LE(all.bound, all.step_bound);
  for (const TogetherRow& row : all.rows) {
    if (row.name == "least by recomputing") continue;
    EXPECT_GE(row.bytes, all.bound) << row.name;
    EXPECT_GE(row.above_bound, 0) << row.name;
    EXPECT_GT(row.nanoseconds, 0) << row.name;
    EXPECT_TRUE(std::ranges::is_sorted(row.curve)) << row.name << ": bytes taken so far";
    EXPECT_LE(row.curve.back(), row.bytes) << row.name;
  }
  EXPECT_LE(all.row("best order").bytes, all.row("program's order").bytes);
  EXPECT_LE(all.row("box").bytes, all.row("box-fixed").bytes);
  EXPECT_LE(std::ranges::max(all.live), all.step_bound);
}

TEST(Together, SaysWhyAStepIsTooLargeForTheProgram) {
  const Together all = reproduce_together(
      {.program = {.model = "resnet50", .shape = find_model("resnet50").shape, .batch_size = 1}});
  EXPECT_THROW(all.row("mip"), std::out_of_range);
  EXPECT_THAT(all.left_out.value_or(""), HasSubstr("[mip] too large for this planner"));
  EXPECT_THAT(together_text(all), HasSubstr("left out: [mip] too large"));
  EXPECT_EQ(together().left_out, std::nullopt);
}

TEST(Together, IsTextJsonAndAPage) {
  const TemporaryFolder folder;
  const Outcome outcome =
      skyline_program({"reproduce", "together", "--model", "mlp", "--batch-size", "8",
                       "--time-limit", "2", "--json", "--output", folder / "all"});
  const nlohmann::json json = outcome.json();
  EXPECT_EQ(json["model"], "mlp");
  EXPECT_EQ(json["rows"].size(), together().rows.size());
  EXPECT_EQ(json["rows"][0]["name"], "network-wise");
  EXPECT_THAT(read_file(folder / "all/together.txt"), HasSubstr("OLLA"));
  expect_in_browser(read_file(folder / "all/together.html"),
                    {"MXNet: box", "PGMO: best-fit", "No plan of the recorded step needs less"});
  const Outcome of_dry_run =
      skyline_program({"dry-run", "--model", "mlp", "--batch-size", "8", "--works", "--json"});
  for (std::size_t row = 0; row < json["rows"].size(); ++row) {
    EXPECT_EQ(of_dry_run.json()["works"]["rows"][row]["bytes"], json["rows"][row]["bytes"]);
  }
  const Outcome inference = skyline_program({"dry-run", "--works", "--infer"});
  EXPECT_EQ(inference.exit_code, 2);
  EXPECT_THAT(inference.messages, HasSubstr("--works shows a training step"));
  const Outcome other = skyline_program({"reproduce", "mxnet", "--model", "mlp"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.messages, HasSubstr("--model is for together"));
}

}  // namespace
}  // namespace skyline
