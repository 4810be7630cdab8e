// cuDNN's workspaces for a card that is only described, beside the peaks of whole steps.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "framework/cuda/make_cuda_compute.h"
#include "memory/alignment.h"
#include "memory/replay/live_bytes.h"
#include "models/models.h"
#include "tests/cuda/described_card.h"
#include "train/decide/engines.h"
#include "train/images/image_run.h"
#include "train/options/step_options.h"

namespace skyline {
namespace {

// Foresees a step with 32 images. `engines` receives the choices.
DryRunFacts step_of(const std::string& model, CudaOptions options, EngineChoices& engines,
                    const StepOptions& how = {}, Mode mode = Mode::kTraining) {
  options.engines = &engines;
  options.plan_only = true;
  Context::Options context = context_options(how);
  context.compute = make_cuda_compute(options);
  return DryRun(std::make_unique<ImageRun>(
                    dry_memory(), dry_context(context, mode),
                    ImageRunOptions{.model = model, .shape = find_model(model).shape}))
      .foresee(32, mode, DryRun::Graph::kOn);
}

class EnginePeaks : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Networks, EnginePeaks,
                         testing::Values("alexnet", "resnet18", "resnet20", "vgg16"));

// In fp32, first engines that copy images would raise all their peaks.
TEST_P(EnginePeaks, AreNotRaised) {
  EngineChoices engines{.card = tests::kDescribedCard};
  const DryRunFacts step = step_of(GetParam(), {}, engines);
  EXPECT_FALSE(engines.most_workspace_bytes.empty());
  EXPECT_THAT(workspaces_within_peak(step), testing::IsEmpty());
}

// Their peaks are far lower in steps that save bytes.
class ProductPeaks : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Networks, ProductPeaks, testing::Values("googlenet", "resnet50"));

TEST_P(ProductPeaks, AreNotRaised) {
  for (const bool tf32 : {false, true}) {
    EngineChoices engines{.card = tests::kDescribedCard};
    step_of(GetParam(), {.tf32 = tf32}, engines);
    EngineChoices without = engines;
    std::size_t most = 0;
    for (auto& [problem, choice] : without.by_problem) {
      if (problem.starts_with("product"))
        most = std::max(most, std::exchange(choice.workspace_bytes, 0));
    }
    EXPECT_EQ(most, std::size_t{32} << 20);
    const auto peak = [&](EngineChoices& choices, const StepOptions& how, Mode mode) {
      return lower_bound_bytes(step_of(GetParam(), {.tf32 = tf32}, choices, how, mode).trace,
                               kAlignmentBytes);
    };
    for (const StepOptions& how : {StepOptions(), {.recompute = 4, .fused_update = true}}) {
      for (const Mode mode : {Mode::kTraining, Mode::kInference}) {
        EXPECT_LE(peak(engines, how, mode), peak(without, how, mode)) << tf32 << how.fused_update;
      }
    }
  }
}

// A run repeats the choices of an earlier one.
TEST(EnginePeaks, GivenChoicesAreKept) {
  EngineChoices engines{.card = tests::kDescribedCard};
  step_of("alexnet", {}, engines);
  for (auto& [problem, choice] : engines.by_problem) choice.workspace_bytes = std::size_t{1} << 30;
  EngineChoices given{
      .card = engines.card, .cudnn = engines.cudnn, .by_problem = engines.by_problem};
  step_of("alexnet", {}, given);
  EXPECT_EQ(given.by_problem, engines.by_problem);
  EXPECT_THAT(given.most_workspace_bytes, testing::IsEmpty());
}

}  // namespace
}  // namespace skyline
