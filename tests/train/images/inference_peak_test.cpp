// Inference on one image with a workspace of 8 MiB for every convolution, as PGMO measured it
// (section 5.2.3). The planned peak equals the paper's to the byte.

#include <gtest/gtest.h>

#include <algorithm>

#include "memory/planners/registry.h"
#include "tests/models/paper_networks.h"
#include "train/lab/dry_run/model_dry_run.h"

namespace skyline {
namespace {

using namespace tests;

constexpr std::uint64_t kWorkspaceBytes = std::uint64_t{8} << 20;

Trace inference_trace(const std::string& model) {
  return dry_run({.model = model,
                  .shape = find_model(model).shape,
                  .batch_size = 1,
                  .mode = Mode::kInference,
                  .emulate = {.convolution_workspace_bytes = kWorkspaceBytes}})
      .trace;
}

void expect_peak(const std::string& model, std::uint64_t bytes) {
  const Trace trace = inference_trace(model);
  EXPECT_EQ(lower_bound_bytes(trace, kAlignmentBytes), bytes);
  EXPECT_EQ(plan(trace, "best-fit").peak, bytes);
  const Plan exact = plan(trace, "exact");
  EXPECT_EQ(exact.peak, bytes);
  EXPECT_EQ(exact.proved_bound, bytes);
  EXPECT_TRUE(exact.proved_optimal);
}

// At the peak: image, label, conv1's output and its workspace, rounded to 512 bytes.
TEST(InferencePeakTest, AlexNet) {
  static_assert(618'496 + 512 + 1'161'728 + kWorkspaceBytes == 10'169'344);
  expect_peak("alexnet", 10'169'344);
}

TEST(InferencePeakTest, GoogLeNet) {
  static_assert(602'112 + 512 + 3'211'264 + kWorkspaceBytes == 12'202'496);
  expect_peak("googlenet", 12'202'496);
}

// conv1_2 writes over its images where Winograd computes it, so that the first pool is the fullest
// moment: its input, its output and the batch's labels.
TEST(InferencePeakTest, Vgg16WritesOverItsLargestImages) {
  constexpr std::int64_t kBatch = 8;
  const DryRunFacts step = dry_run({.model = "vgg16",
                                    .shape = find_model("vgg16").shape,
                                    .batch_size = kBatch,
                                    .mode = Mode::kInference});
  const auto conv1_2 = std::ranges::find(step.step.graph.ops, "conv1_2", &StepOp::layer);
  if (conv1_2->in_place.empty()) GTEST_SKIP() << "this processor has no Winograd: AVX2 is missing";
  constexpr std::uint64_t kImage = 224 * 224 * 64 * sizeof(float);
  EXPECT_EQ(lower_bound_bytes(step.trace, kAlignmentBytes), kBatch * (kImage + kImage / 4) + 512);
}

// The other networks are planned without a gap too.
TEST(InferencePeakTest, EveryNetworkIsPlannedWithoutAGap) {
  for (const PaperNetwork& network : paper_networks()) {
    SCOPED_TRACE(network.name);
    const Trace trace = inference_trace(network.name);
    const Plan best_fit = plan(trace, "best-fit");
    EXPECT_EQ(best_fit.peak, lower_bound_bytes(trace, kAlignmentBytes));
  }
}

}  // namespace
}  // namespace skyline
