#include "models/gpt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "memory/allocators/best_fit_pool.h"
#include "memory/device/devices.h"
#include "memory/device/simulated_device.h"
#include "models/models.h"

namespace skyline {
namespace {

class GptTest : public ::testing::Test {
 protected:
  std::int64_t parameters(const GptShape& shape) { return parameter_count(Gpt(context_, shape)); }

  SimulatedDevice device_;
  BestFitPool pool_{device_};
  Context context_{pool_, {.dry_run = Emulation()}};
};

TEST_F(GptTest, HasAsManyParametersAsOpenAisNetworks) {
  EXPECT_EQ(parameters(find_gpt("gpt2")->shape), 124'439'808);
  EXPECT_EQ(parameters(find_gpt("gpt2-medium")->shape), 354'823'168);
  EXPECT_EQ(parameters(find_gpt("gpt2-large")->shape), 774'030'080);
  EXPECT_EQ(parameters(find_gpt("gpt2-xl")->shape), 1'557'611'200);
}

TEST_F(GptTest, ThoseOfCharactersAreNanoGpts) {
  GptShape shape = find_gpt("gpt-small")->shape;
  EXPECT_EQ(parameters(shape), 804'096);
  shape.biases = true;
  EXPECT_EQ(parameters(shape), 809'856);
  EXPECT_EQ(parameters(find_gpt("gpt-medium")->shape), 10'745'088);
  EXPECT_EQ(find_gpt("lenet"), nullptr);
}

TEST_F(GptTest, FilesHaveTheNamesOfHuggingFace) {
  const Gpt model(context_, {.words = 5, .positions = 3, .layers = 2, .heads = 2, .units = 4});
  std::set<std::string> names;
  for (const StoredWeight& weight : model.weights()) {
    names.insert(weight.name);
    EXPECT_EQ(weight.transposed,
              weight.name.find(".c_") != std::string::npos && weight.name.ends_with("weight"))
        << weight.name;
  }
  std::set<std::string> expected = {"wte.weight", "wpe.weight", "ln_f.weight", "ln_f.bias"};
  for (const char* layer : {"h.0.", "h.1."}) {
    for (const char* part :
         {"ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj"}) {
      for (const char* what : {".weight", ".bias"}) {
        expected.insert(std::string(layer) + part + what);
      }
    }
  }
  EXPECT_EQ(names, expected);
}

TEST_F(GptTest, AnswersEachWordOfEachWindow) {
  const Gpt model(context_, {.words = 11, .positions = 8, .layers = 2, .heads = 2, .units = 4});
  const auto words = [&](std::int64_t count) {
    return context_.upload({{count}, DType::kInt32}, nullptr, "words");
  };
  const Tensor z = model.features(context_, words(15), words(15), 3);
  EXPECT_EQ(z.shape(), (Shape{15, 4}));
  EXPECT_EQ(model.logits(context_, z).shape(), (Shape{15, 11}));
  EXPECT_THROW(model.features(context_, words(15), words(14), 3), ShapeError);
  EXPECT_THROW(model.features(context_, words(15), words(15), 4), ShapeError);
}

TEST_F(GptTest, HeadsDivideTheUnits) {
  EXPECT_THROW(Gpt(context_, {.layers = 1, .heads = 5, .units = 12}), ShapeError);
}

// GPT-2's: 0.02, and less where a branch ends.
TEST(GptWeights, AreInitiallySmall) {
  const auto host = make_device("cpu");
  BestFitPool pool(*host);
  Context context(pool, {.seed = 3});
  const Gpt model(context, {.words = 300, .positions = 60, .layers = 8, .heads = 2, .units = 64});
  for (const Parameter& parameter : model.parameters()) {
    std::vector<float> values(static_cast<std::size_t>(parameter.value.shape().elements()));
    context.download(parameter.value.detach(), values.data());
    double squares = 0;
    for (const float value : values) squares += double{value} * value;
    const double deviation = std::sqrt(squares / static_cast<double>(values.size()));
    const bool ends_branch = parameter.name.find("c_proj.weight") != std::string::npos;
    const bool is_matrix = parameter.value.shape().rank() == 2;
    const double expected = ends_branch                        ? 0.005
                            : is_matrix                        ? 0.02
                            : parameter.name.ends_with("bias") ? 0
                                                               : 1;
    EXPECT_NEAR(deviation, expected, 0.05 * expected) << parameter.name;
  }
}

}  // namespace
}  // namespace skyline
