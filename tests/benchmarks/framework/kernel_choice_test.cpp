// Tests which implementations oneDNN chooses for the kernels of the paper's networks, in dry runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/models.h"
#include "tests/benchmarks/framework/observed_ops.h"
#include "train/lab/dry_run/model_dry_run.h"
#include "train/lab/model_summary.h"

namespace skyline {
namespace {

constexpr std::int64_t kBatch = 2;

std::vector<ExecutedOp> ops_of(const std::string& model, Mode mode) {
  const DryRunOptions step{.model = model,
                           .shape = find_model(model).shape,
                           .batch_size = kBatch,
                           .mode = mode,
                           .compute = std::make_shared<CpuCompute>()};
  dry_run(step);  // chooses engines in dry runs of its own
  OpLog log;
  dry_run(step);
  return log.take();
}

class KernelChoice : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Networks, KernelChoice,
                         ::testing::Values("alexnet", "googlenet", "resnet50", "inception-resnet",
                                           "mobilenet_v2", "resnet18", "vgg16"),
                         [](const auto& network) {
                           std::string name = network.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Reference implementations are a hundred times slower and are chosen silently.
TEST_P(KernelChoice, IsNeverAReference) {
  for (const Mode mode : {Mode::kTraining, Mode::kInference}) {
    int implementations = 0;
    for (const ExecutedOp& op : ops_of(GetParam(), mode)) {
      for (const std::string& name : op.implementations) {
        ++implementations;
        EXPECT_THAT(name, ::testing::Not(::testing::HasSubstr("ref")))
            << op.name << " of " << op.layer << " with " << op.parameters;
      }
    }
    EXPECT_GT(implementations, 0);
  }
}

// Training needs three products for each product of the forward pass, except for the gradient of
// the images.
TEST_P(KernelChoice, CountsTheMultiplyAddsThatRun) {
  const ModelEntry& entry = find_model(GetParam());
  std::int64_t forward = 0, first = 0;
  for (const LayerSummary& layer : summarize(entry, entry.shape, kBatch)) {
    if (first == 0) first = layer.multiply_adds;
    forward += layer.multiply_adds;
  }
  const std::vector<ExecutedOp> ops = ops_of(GetParam(), Mode::kTraining);
  EXPECT_EQ(flop(ops), 2.0 * static_cast<double>(3 * forward - first));
}

TEST(OpObserver, AllowsNoOther) {
  const OpLog log;
  EXPECT_THROW(OpLog{}, std::logic_error);
}

TEST(OpObserver, LeavesTheStepAsItIs) {
  const auto requests = [] { return dry_run({.model = "mlp", .batch_size = 1}).trace.size(); };
  const std::size_t unobserved = requests();
  OpLog log;
  EXPECT_EQ(requests(), unobserved);
  EXPECT_FALSE(log.take().empty());
}

}  // namespace
}  // namespace skyline
