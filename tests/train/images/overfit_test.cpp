// Every network of the paper overfits one batch, so data, layers, loss and optimizer fit each
// other. A slightly wrong gradient may pass here; the tests of the ops find it.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ostream>

#include "tests/memory/planners/effort.h"
#include "tests/train/images/paper_training.h"

namespace skyline {
namespace {

using namespace tests;

constexpr int kMostSteps = 100;  // twice what the slowest network takes

struct Overfit {
  PaperNetwork network;
  float learning_rate = 0.01f;
  float brightest_pixel = 1;
};

void PrintTo(const Overfit& tested, std::ostream* out) { *out << tested.network.name; }

// Under sanitizers one network is enough, because they do not check the kernel library. The layers
// of vgg16 are of alexnet's kinds, and its 134 million parameters take 16 s; the paper's own
// drawing of inception-resnet has the layers of the other.
std::vector<Overfit> cases() {
  std::vector<Overfit> all;
  for (const PaperNetwork& network : paper_networks()) {
    if (effort(1) == 0 && network.name != "resnet50") continue;
    const bool for_nights = network.name == "vgg16" || network.name == "inception-resnet-figure";
    if (for_nights && !runs_at_night()) continue;
    Overfit tested{network};
    // With initial weights, its 22 layers without batch normalization pass on little of an image.
    // Pixels up to 255 make it learn sooner.
    if (network.name == "googlenet") tested.learning_rate = 0.007f, tested.brightest_pixel = 255;
    // The first steps overshoot at higher rates, which dropout's noise then makes slow to repair.
    if (network.name == "vgg16") tested.learning_rate = 0.003f;
    all.push_back(tested);
  }
  return all;
}

class OverfitTest : public ::testing::TestWithParam<Overfit> {};

// The training loss includes dropout and GoogLeNet's auxiliary heads. The learning rate falls in
// proportion to the loss.
TEST_P(OverfitTest, TheLossOfOneBatchFallsByNineTenths) {
  const auto& [network, learning_rate, brightest_pixel] = GetParam();
  const ModelShape shape = step_shape(network);
  ImageRun experiment({}, seeded(),
                      {.model = network.name, .shape = shape, .optimizer = {.weight_decay = 0}});
  Batch batch = small_batches(shape, 8, 1).front();
  for (float& pixel : batch.images) pixel *= brightest_pixel;
  std::string losses;
  float first = 0, share = 1;
  for (int step = 0; step < kMostSteps && share > 0.1f; ++step) {
    const float loss = experiment.train_step(batch, {.learning_rate = learning_rate * share});
    if (step == 0) first = loss;
    share = loss / first;
    losses += fmt::format(" {:.3f}", loss);
  }
  EXPECT_LE(share, 0.1f) << losses;
}

INSTANTIATE_TEST_SUITE_P(Networks, OverfitTest, ::testing::ValuesIn(cases()),
                         [](const auto& tested) { return test_name(tested.param.network.name); });

}  // namespace
}  // namespace skyline
