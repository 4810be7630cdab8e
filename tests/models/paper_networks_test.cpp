#include "tests/models/paper_networks.h"

#include <gtest/gtest.h>

#include "memory/allocators/best_fit_pool.h"
#include "memory/device/simulated_device.h"

namespace skyline {
namespace {

using namespace tests;

// A model made in a dry run.
struct DryModel {
  DryModel(const std::string& name, const ModelShape& shape, Mode mode = Mode::kTraining)
      : context(pool, {.dry_run = {{.convolution_workspace_bytes = 0}}, .mode = mode}),
        model(find_model(name).make(context, shape)) {}

  Prediction forward(std::int64_t images) {
    const ModelShape& shape = model->shape();
    return model->forward(
        context, context.upload({{images, shape.channels, shape.height, shape.width}}, nullptr));
  }
  std::int64_t running_values() const {
    std::int64_t count = 0;
    for (const Buffer& buffer : model->buffers()) count += buffer.value.shape().elements();
    return count;
  }

  SimulatedDevice device;
  BestFitPool pool{device};
  Context context;
  std::unique_ptr<Model> model;
};

class PaperNetworksTest : public ::testing::TestWithParam<PaperNetwork> {
 protected:
  const std::string& name() const { return GetParam().name; }
  ModelShape shape(int classes) const {
    ModelShape shape = find_model(name()).shape;
    shape.classes = classes;
    return shape;
  }
};

TEST_P(PaperNetworksTest, ParametersAndRunningValues) {
  for (const int classes : {1000, 12, 10}) {
    const DryModel made(name(), shape(classes));
    EXPECT_EQ(parameter_count(*made.model),
              GetParam().parameters + classes * GetParam().for_each_class);
    EXPECT_EQ(made.running_values(), GetParam().running_values);
  }
}

TEST_P(PaperNetworksTest, SmallestImagesInTrainingAndInference) {
  const int smallest = GetParam().smallest_image;
  DryModel training(name(), with_images(name(), smallest));
  const Prediction prediction = training.forward(3);
  EXPECT_EQ(prediction.logits.shape(), Shape({3, 10}));
  EXPECT_EQ(prediction.auxiliary.size(), name() == "googlenet" ? 2u : 0u);
  DryModel inference(name(), with_images(name(), smallest), Mode::kInference);
  const Prediction inferred = inference.forward(3);
  EXPECT_EQ(inferred.logits.shape(), Shape({3, 10}));
  EXPECT_TRUE(inferred.auxiliary.empty());
}

TEST_P(PaperNetworksTest, ImagesOfAnyLargerSize) {
  ModelShape shape = with_images(name(), GetParam().smallest_image);
  shape.channels = 1;
  shape.height += 2;
  shape.width += 23;
  EXPECT_EQ(DryModel(name(), shape, Mode::kInference).forward(1).logits.shape(), Shape({1, 10}));
}

TEST_P(PaperNetworksTest, ASmallerImageIsNamedWithTheSmallest) {
  const int smallest = GetParam().smallest_image;
  ModelShape shape = with_images(name(), smallest);
  shape.width -= 1;
  try {
    const DryModel made(name(), shape);
    FAIL() << "no error";
  } catch (const ShapeError& error) {
    const std::string side = std::to_string(smallest);
    EXPECT_EQ(error.what(), "[" + name() + "] image, got " + side + " x " +
                                std::to_string(smallest - 1) + ", expected at least " + side +
                                " x " + side);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, PaperNetworksTest, ::testing::ValuesIn(paper_networks()),
                         [](const auto& tested) { return test_name(tested.param.name); });

// Checks the tables' counts by class, at 1000 classes.
TEST(PaperNetworkTest, WellKnownCounts) {
  const auto count = [](const std::string& name, Mode mode = Mode::kTraining) {
    return parameter_count(*DryModel(name, find_model(name).shape, mode).model);
  };
  EXPECT_EQ(count("alexnet"), 62'378'344);
  EXPECT_EQ(count("googlenet"), 13'378'280);
  EXPECT_EQ(count("googlenet", Mode::kInference), 6'998'552);
  EXPECT_EQ(count("resnet50"), 25'557'096);
  EXPECT_EQ(count("inception-resnet"), 55'843'464);
  EXPECT_EQ(count("inception-resnet-figure"), 32'433'928);
  EXPECT_EQ(count("mobilenet_v2"), 3'504'872);
  EXPECT_EQ(count("resnet18"), 11'689'512);
  EXPECT_EQ(count("vgg16"), 138'357'544);
}

// The other networks have the same parameters in training and in inference.
TEST(PaperNetworkTest, OnlyGoogLeNetHasAuxiliaryHeads) {
  for (const PaperNetwork& network : paper_networks()) {
    const ModelShape shape = find_model(network.name).shape;
    const DryModel training(network.name, shape);
    const DryModel inference(network.name, shape, Mode::kInference);
    EXPECT_EQ(parameter_count(*training.model) == parameter_count(*inference.model),
              network.name != "googlenet");
    EXPECT_EQ(inference.running_values(), network.running_values);
  }
}

// The heads come last, so that they change no other layer's random numbers.
TEST(GoogLeNetTest, HeadsComeAfterTheParametersOfInference) {
  const ModelShape shape = find_model("googlenet").shape;
  const DryModel training("googlenet", shape), inference("googlenet", shape, Mode::kInference);
  const auto& all = training.model->parameters();
  const auto& without = inference.model->parameters();
  ASSERT_EQ(all.size(), without.size() + 2 * 6);
  for (std::size_t i = 0; i < without.size(); ++i) EXPECT_EQ(all[i].name, without[i].name);
  EXPECT_EQ(all[without.size()].name, "loss1.conv.weight");
  EXPECT_EQ(all.back().name, "loss2.fc2.bias");
}

TEST(GoogLeNetTest, HeadsWeighThreeTenthsAndAreLeftOutOfInferenceSteps) {
  DryModel made("googlenet", with_images("googlenet", 79));
  const Prediction training = made.forward(2);
  ASSERT_EQ(training.auxiliary.size(), 2u);
  for (const AuxiliaryLogits& head : training.auxiliary) {
    EXPECT_EQ(head.weight, 0.3f);
    EXPECT_EQ(head.logits.shape(), Shape({2, 10}));
  }
  made.context.set_mode(Mode::kInference);
  EXPECT_TRUE(made.forward(2).auxiliary.empty());
}

TEST(GoogLeNetTest, WithoutHeadsSmallerImagesWillDo) {
  DryModel made("googlenet", with_images("googlenet", 47), Mode::kInference);
  EXPECT_EQ(made.forward(1).logits.shape(), Shape({1, 10}));
  EXPECT_THROW(DryModel("googlenet", with_images("googlenet", 46), Mode::kInference), ShapeError);
}

}  // namespace
}  // namespace skyline
