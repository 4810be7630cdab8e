#include "models/models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "memory/allocators/best_fit_pool.h"
#include "memory/device/cpu_device.h"
#include "memory/device/simulated_device.h"

namespace skyline {
namespace {

class ModelsTest : public ::testing::Test {
 protected:
  std::unique_ptr<Model> make(std::string_view name, const ModelShape& shape) {
    return find_model(name).make(context_, shape);
  }
  Tensor images(std::int64_t size, const ModelShape& shape) {
    return context_.upload({{size, shape.channels, shape.height, shape.width}}, nullptr);
  }
  Shape logits(std::string_view name, const ModelShape& shape) {
    const auto model = make(name, shape);
    return model->forward(context_, images(3, shape)).logits.shape();
  }

  SimulatedDevice device_;
  BestFitPool pool_{device_};
  Context context_{pool_, {.dry_run = {{.convolution_workspace_bytes = 0}}}};
};

// By hand: 784*256+256 + 256*128+128 + 128*10+10.
TEST_F(ModelsTest, MlpParameters) { EXPECT_EQ(parameter_count(*make("mlp", {})), 235'146); }

// The well-known count of LeNet-5 with full connections:
// (25*1+1)*6 + (25*6+1)*16 + (400+1)*120 + (120+1)*84 + (84+1)*10.
TEST_F(ModelsTest, LenetParameters) { EXPECT_EQ(parameter_count(*make("lenet", {})), 61'706); }

// He et al. 2016, table 6: 0.27M. By hand, gamma and beta included:
// 432+32 + 6*2304+6*32 + (4608+5*9216)+6*64 + (18432+5*36864)+6*128 + 650.
TEST_F(ModelsTest, Resnet20Parameters) {
  const auto model = make("resnet20", find_model("resnet20").shape);
  EXPECT_EQ(parameter_count(*model), 269'722);
  EXPECT_EQ(model->parameters().size(), 19u * 3 + 2);
  EXPECT_EQ(model->buffers().size(), 19u * 2);
}

TEST_F(ModelsTest, OneLogitForEachClass) {
  for (const ModelEntry& entry : models()) {
    SCOPED_TRACE(entry.name);
    ModelShape shape = entry.shape;
    EXPECT_EQ(logits(entry.name, shape), Shape({3, shape.classes}));
    shape.classes = 7;
    EXPECT_EQ(logits(entry.name, shape), Shape({3, 7}));
  }
}

TEST_F(ModelsTest, OtherImagesAreTakenToo) {
  const ModelShape grey{.channels = 1, .height = 28, .width = 28, .classes = 10};
  const ModelShape colour{.channels = 3, .height = 32, .width = 32, .classes = 10};
  const ModelShape odd{.channels = 2, .height = 17, .width = 23, .classes = 4};
  for (const std::string name : {"mlp", "lenet", "resnet20"}) {
    for (const ModelShape& shape : {grey, colour, odd}) {
      SCOPED_TRACE(name + " " + std::to_string(shape.height));
      EXPECT_EQ(logits(name, shape), Shape({3, shape.classes}));
    }
  }
}

TEST_F(ModelsTest, LenetRefusesImagesThatItsSecondConvolutionCannotTake) {
  EXPECT_EQ(logits("lenet", {.channels = 1, .height = 12, .width = 12, .classes = 10}),
            Shape({3, 10}));
  try {
    make("lenet", {.channels = 1, .height = 11, .width = 28, .classes = 10});
    FAIL() << "no error";
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "[lenet] image, got 11 x 28, expected at least 12 x 12");
  }
}

TEST_F(ModelsTest, AnotherNumberOfChannelsIsAShapeError) {
  for (const ModelEntry& entry : models()) {
    SCOPED_TRACE(entry.name);
    const auto model = entry.make(context_, entry.shape);
    ModelShape other = entry.shape;
    other.channels += 1;
    EXPECT_THROW(model->forward(context_, images(1, other)), ShapeError);
  }
}

TEST_F(ModelsTest, NamesOfModelsParametersAndBuffersAreUnique) {
  std::set<std::string_view> model_names;
  for (const ModelEntry& entry : models()) {
    SCOPED_TRACE(entry.name);
    EXPECT_TRUE(model_names.insert(entry.name).second);
    const auto model = entry.make(context_, entry.shape);
    std::set<std::string> names;
    for (const Parameter& parameter : model->parameters()) names.insert(parameter.name);
    for (const Buffer& buffer : model->buffers()) names.insert(buffer.name);
    EXPECT_EQ(names.size(), model->parameters().size() + model->buffers().size());
    std::set<std::string> stored;
    std::size_t tensors = 0;
    for (const StoredWeight& weight : model->weights()) {
      EXPECT_TRUE(stored.insert(weight.name).second) << weight.name;
      if (!weight.value) continue;  // a normalization's number of batches
      ++tensors;
      const std::int64_t rows = std::max<std::int64_t>(weight.value.shape()[0], 1);
      EXPECT_EQ(weight.value.shape().elements() / rows % weight.channels, 0) << weight.name;
    }
    EXPECT_EQ(tensors, names.size());
  }
}

TEST_F(ModelsTest, UnknownNamesThrow) { EXPECT_THROW(find_model("lenett"), std::invalid_argument); }

// The paper's halvings: 32 x 32, 16 x 16, 8 x 8, then an average of the rest.
TEST_F(ModelsTest, Resnet20HalvesTheImageTwice) {
  const ModelShape shape = find_model("resnet20").shape;
  const auto model = make("resnet20", shape);
  context_.set_mode(Mode::kInference);
  context_.watch().record_graph = true;
  context_.begin_step();
  model->forward(context_, images(1, shape));
  context_.end_step();
  std::uint64_t last_of[3] = {};
  for (const StepOp& op : context_.step_graph().ops) {
    const std::uint64_t bytes = context_.step_graph().values[op.outputs.front()].bytes;
    if (op.name == "add" && op.layer == "conv2_3") last_of[0] = bytes;
    if (op.name == "add" && op.layer == "conv3_3") last_of[1] = bytes;
    if (op.name == "add" && op.layer == "conv4_3") last_of[2] = bytes;
  }
  EXPECT_EQ(last_of[0], 4u * 16 * 32 * 32);
  EXPECT_EQ(last_of[1], 4u * 32 * 16 * 16);
  EXPECT_EQ(last_of[2], 4u * 64 * 8 * 8);
}

// The same seed gives the same network, another seed another.
TEST(ModelSeedTest, LogitsDependOnTheSeed) {
  const auto first_logit = [](std::uint64_t seed) {
    CpuDevice device;
    BestFitPool pool(device);
    Context context(pool, {.mode = Mode::kInference, .seed = seed});
    const auto model = find_model("lenet").make(context, {});
    const std::vector<float> image(28 * 28, 0.5f);
    std::vector<float> logits(10);
    context.download(model->forward(context, context.upload({{1, 1, 28, 28}}, image.data())).logits,
                     logits.data());
    return logits;
  };
  EXPECT_EQ(first_logit(1), first_logit(1));
  EXPECT_NE(first_logit(1), first_logit(2));
}

}  // namespace
}  // namespace skyline
