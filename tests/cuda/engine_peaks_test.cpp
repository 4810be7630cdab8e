// cuDNN's workspaces for a card that is only described, beside the peaks of whole steps.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "framework/cuda/make_cuda_compute.h"
#include "models/models.h"
#include "tests/cuda/described_card.h"
#include "train/decide/engines.h"
#include "train/images/image_run.h"
#include "train/options/step_options.h"

namespace skyline {
namespace {

// Foresees a training step with 32 images. `engines` receives the choices.
DryRunFacts step_of(const std::string& model, CudaOptions options, EngineChoices& engines) {
  options.engines = &engines;
  options.plan_only = true;
  Context::Options context = context_options(StepOptions());
  context.compute = make_cuda_compute(options);
  return DryRun(std::make_unique<ImageRun>(
                    dry_memory(), dry_context(context, Mode::kTraining),
                    ImageRunOptions{.model = model, .shape = find_model(model).shape}))
      .foresee(32, Mode::kTraining, DryRun::Graph::kOn);
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
