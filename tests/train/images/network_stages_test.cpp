// Every stage of the paper's networks: its output shape, parameters and multiply-adds, at the
// papers' image sizes and with 1000 classes.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <set>

#include "tests/models/paper_networks.h"
#include "train/lab/model_summary.h"

namespace skyline {
namespace {

using namespace tests;

// A layer and all layers below it; "res2*" means all layers with names that begin with "res2".
struct Stage {
  std::string name;
  Shape output;  // including the poolings and normalizations after it
  std::int64_t parameters;
  std::string million_multiply_adds;  // with the tables' digits
};

struct StagedNetwork {
  std::string model;
  std::vector<Stage> stages;  // all of them
  std::string billion_multiply_adds;
  std::string without_heads;
};

void PrintTo(const StagedNetwork& network, std::ostream* out) { *out << network.model; }

bool belongs(const LayerSummary& row, const std::string& stage) {
  if (stage.ends_with('*')) return row.layer.starts_with(stage.substr(0, stage.size() - 1));
  return row.layer == stage || row.layer.starts_with(stage + ".");
}

// Formats a count in units of `unit`, with as many decimals as `like` has.
std::string in_units(std::int64_t count, double unit, const std::string& like) {
  const std::size_t point = like.find('.');
  const std::size_t digits = point == std::string::npos ? 0 : like.size() - point - 1;
  return fmt::format("{:.{}f}", static_cast<double>(count) / unit, digits);
}

std::vector<StagedNetwork> networks() {
  return {
      {"alexnet",
       {{"conv1", {1, 96, 27, 27}, 34'944, "105.4"},
        {"conv2", {1, 256, 13, 13}, 614'656, "447.9"},
        {"conv3", {1, 384, 13, 13}, 885'120, "149.5"},
        {"conv4", {1, 384, 13, 13}, 1'327'488, "224.3"},
        {"conv5", {1, 9216}, 884'992, "149.5"},
        {"fc6", {1, 4096}, 37'752'832, "37.7"},
        {"fc7", {1, 4096}, 16'781'312, "16.8"},
        {"fc8", {1, 1000}, 4'097'000, "4.1"}},
       "1.135",
       "1.135"},
      {"googlenet",
       {{"conv1", {1, 64, 56, 56}, 9'472, "118.0"},
        {"conv2_reduce", {1, 64, 56, 56}, 4'160, "12.8"},
        {"conv2", {1, 192, 28, 28}, 110'784, "346.8"},
        {"inception_3a", {1, 256, 28, 28}, 163'696, "128.0"},
        {"inception_3b", {1, 480, 14, 14}, 388'736, "304.3"},
        {"inception_4a", {1, 512, 14, 14}, 376'176, "73.6"},
        {"loss1", {1, 1000}, 65'664 + 2'098'176 + 1'025'000, "4.2"},
        {"inception_4b", {1, 512, 14, 14}, 449'160, "87.9"},
        {"inception_4c", {1, 512, 14, 14}, 510'104, "99.9"},
        {"inception_4d", {1, 528, 14, 14}, 605'376, "118.5"},
        {"loss2", {1, 1000}, 67'712 + 2'098'176 + 1'025'000, "4.2"},
        {"inception_4e", {1, 832, 7, 7}, 868'352, "170.0"},
        {"inception_5a", {1, 832, 7, 7}, 1'043'456, "51.1"},
        {"inception_5b", {1, 1024}, 1'444'080, "70.7"},
        {"fc", {1, 1000}, 1'025'000, "1.0"}},
       "1.591",
       "1.583"},
      {"resnet50",
       {{"conv1", {1, 64, 56, 56}, 9'472 + 128, "118"},
        {"res2*", {1, 256, 56, 56}, 215'808, "668"},
        {"res3*", {1, 512, 28, 28}, 1'219'584, "951"},
        {"res4*", {1, 1024, 14, 14}, 7'098'368, "1387"},
        {"res5*", {1, 2048}, 14'964'736, "732"},
        {"fc", {1, 1000}, 2'049'000, "2"}},
       "3.858",
       "3.858"},
      {"inception-resnet",
       {{"stem.conv1", {1, 32, 149, 149}, 928, "19"},
        {"stem.conv2", {1, 32, 147, 147}, 9'280, "199"},
        {"stem.conv3", {1, 64, 147, 147}, 18'560, "398"},
        {"stem.conv4", {1, 80, 73, 73}, 5'280, "27"},
        {"stem.conv5", {1, 192, 71, 71}, 138'624, "697"},
        {"stem", {1, 192, 35, 35}, 928 + 9'280 + 18'560 + 5'280 + 138'624, "1341"},
        {"mixed_5b", {1, 320, 35, 35}, 268'320, "327"},
        {"block35_1", {1, 320, 35, 35}, 123'168, "150"},
        {"block35*", {1, 320, 35, 35}, 1'231'680, "1499"},
        {"reduction_a", {1, 1088, 17, 17}, 2'664'960, "1398"},
        {"block17_20", {1, 1088, 17, 17}, 1'126'784, "325"},
        {"block17*", {1, 1088, 17, 17}, 20 * 1'126'784, "6499"},
        {"reduction_b", {1, 2080, 8, 8}, 3'880'960, "585"},
        {"block8_9", {1, 2080, 8, 8}, 2'035'424, "130"},
        {"block8*", {1, 2080, 8, 8}, 10 * 2'035'424, "1300"},
        {"conv7b", {1, 1536}, 3'197'952, "204"},
        {"fc", {1, 1000}, 1'537'000, "2"}},
       "13.156",
       "13.156"},
      {"inception-resnet-figure",
       {{"stem1", {1, 64, 147, 147}, 28'768, "617"},
        {"stem2", {1, 160, 73, 73}, 55'488, "295"},
        {"stem3", {1, 192, 71, 71}, 189'312, "972"},
        {"stem4", {1, 384, 35, 35}, 332'160, "406"},
        {"stem*", {1, 384, 35, 35}, 605'728, "2290"},
        {"block35*", {1, 384, 35, 35}, 687'840, "837"},
        {"reduction_a", {1, 1152, 17, 17}, 2'902'528, "1482"},
        {"block17*", {1, 1152, 17, 17}, 11'719'040, "3380"},
        {"reduction_b", {1, 2144, 8, 8}, 3'930'112, "600"},
        {"block8*", {1, 2144}, 10'443'680, "667"},
        {"fc", {1, 1000}, 2'145'000, "2"}},
       "9.258",
       "9.258"},
      {"mobilenet_v2",
       {{"conv1", {1, 32, 112, 112}, 864 + 64, "10.8"},
        {"bottleneck1*", {1, 16, 112, 112}, 896, "10.0"},
        {"bottleneck2*", {1, 24, 56, 56}, 13'968, "54.9"},
        {"bottleneck3*", {1, 32, 28, 28}, 39'696, "37.4"},
        {"bottleneck4*", {1, 64, 14, 14}, 183'872, "38.5"},
        {"bottleneck5*", {1, 96, 14, 14}, 303'168, "58.1"},
        {"bottleneck6*", {1, 160, 7, 7}, 795'264, "46.6"},
        {"bottleneck7*", {1, 320, 7, 7}, 473'920, "23.0"},
        {"conv2", {1, 1280}, 412'160, "20.1"},
        {"fc", {1, 1000}, 1'281'000, "1.3"}},
       "0.301",
       "0.301"},
      {"resnet18",
       {{"conv1", {1, 64, 56, 56}, 9'408 + 128, "118.0"},
        {"res2*", {1, 64, 56, 56}, 147'968, "462.4"},
        {"res3*", {1, 128, 28, 28}, 525'568, "411.0"},
        {"res4*", {1, 256, 14, 14}, 2'099'712, "411.0"},
        {"res5*", {1, 512}, 8'393'728, "411.0"},
        {"fc", {1, 1000}, 513'000, "0.5"}},
       "1.814",
       "1.814"},
      {"vgg16",
       {{"conv1_*", {1, 64, 112, 112}, 38'720, "1936.4"},
        {"conv2_*", {1, 128, 56, 56}, 221'440, "2774.5"},
        {"conv3_*", {1, 256, 28, 28}, 1'475'328, "4624.2"},
        {"conv4_*", {1, 512, 14, 14}, 5'899'776, "4624.2"},
        {"conv5_*", {1, 25088}, 7'079'424, "1387.3"},
        {"fc6", {1, 4096}, 102'764'544, "102.8"},
        {"fc7", {1, 4096}, 16'781'312, "16.8"},
        {"fc8", {1, 1000}, 4'097'000, "4.1"}},
       "15.470",
       "15.470"},
  };
}

class NetworkStagesTest : public ::testing::TestWithParam<StagedNetwork> {
 protected:
  NetworkStagesTest()
      : rows_(summarize(find_model(GetParam().model), find_model(GetParam().model).shape)) {}

  std::vector<LayerSummary> rows_;
};

TEST_P(NetworkStagesTest, OutputsParametersAndMultiplyAdds) {
  for (const Stage& stage : GetParam().stages) {
    SCOPED_TRACE(stage.name);
    std::int64_t parameters = 0, multiply_adds = 0;
    std::optional<Shape> output;
    for (const LayerSummary& row : rows_) {
      if (!belongs(row, stage.name)) continue;
      parameters += row.parameters;
      multiply_adds += row.multiply_adds;
      output = row.output;
    }
    ASSERT_TRUE(output.has_value());
    EXPECT_EQ(*output, stage.output) << output->str();
    EXPECT_EQ(parameters, stage.parameters);
    EXPECT_EQ(in_units(multiply_adds, 1e6, stage.million_multiply_adds),
              stage.million_multiply_adds);
  }
}

TEST_P(NetworkStagesTest, TotalsAndNothingBesidesTheStages) {
  std::int64_t all = 0, heads = 0;
  for (const LayerSummary& row : rows_) {
    all += row.multiply_adds;
    if (row.auxiliary) heads += row.multiply_adds;
    const auto known = [&](const Stage& stage) { return belongs(row, stage.name); };
    EXPECT_TRUE(std::ranges::any_of(GetParam().stages, known)) << row.layer << " " << row.op;
  }
  const StagedNetwork& network = GetParam();
  EXPECT_EQ(in_units(all, 1e9, network.billion_multiply_adds), network.billion_multiply_adds);
  EXPECT_EQ(in_units(all - heads, 1e9, network.without_heads), network.without_heads);
}

TEST_P(NetworkStagesTest, ALayerHasOneRowForEachOfItsOps) {
  std::set<std::string> seen;
  for (const LayerSummary& row : rows_) {
    if (row.parameters > 0) {
      EXPECT_TRUE(seen.insert(row.layer).second) << row.layer;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, NetworkStagesTest, ::testing::ValuesIn(networks()),
                         [](const auto& tested) { return test_name(tested.param.model); });

// One op before the first block, where poolings and normalizations are separate rows.
struct Row {
  std::string layer, op;
  Shape output;
  bool operator==(const Row&) const = default;
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.layer << " " << row.op << " " << row.output.str();
}

std::vector<Row> rows_before(const std::string& model, const std::string& layer) {
  std::vector<Row> rows;
  for (const LayerSummary& row : summarize(find_model(model), find_model(model).shape)) {
    if (row.layer.starts_with(layer)) return rows;
    rows.push_back({row.layer, row.op, row.output});
  }
  return rows;
}

TEST(NetworkStagesTest, AlexNetOpByOp) {
  const std::vector<Row> expected = {
      {"conv1", "conv2d", {1, 96, 55, 55}},
      {"conv1", "relu", {1, 96, 55, 55}},
      {"conv1", "local_response_norm", {1, 96, 55, 55}},
      {"conv1", "max_pool2d", {1, 96, 27, 27}},
      {"conv2", "conv2d", {1, 256, 27, 27}},
      {"conv2", "relu", {1, 256, 27, 27}},
      {"conv2", "local_response_norm", {1, 256, 27, 27}},
      {"conv2", "max_pool2d", {1, 256, 13, 13}},
      {"conv3", "conv2d", {1, 384, 13, 13}},
      {"conv3", "relu", {1, 384, 13, 13}},
      {"conv4", "conv2d", {1, 384, 13, 13}},
      {"conv4", "relu", {1, 384, 13, 13}},
      {"conv5", "conv2d", {1, 256, 13, 13}},
      {"conv5", "relu", {1, 256, 13, 13}},
      {"conv5", "max_pool2d", {1, 256, 6, 6}},
      {"conv5", "reshape", {1, 9216}},
      {"fc6", "linear", {1, 4096}},
      {"fc6", "relu", {1, 4096}},
      {"fc6", "dropout", {1, 4096}},
      {"fc7", "linear", {1, 4096}},
      {"fc7", "relu", {1, 4096}},
      {"fc7", "dropout", {1, 4096}},
      {"fc8", "linear", {1, 1000}},
  };
  EXPECT_EQ(rows_before("alexnet", "nothing"), expected);
}

// GoogLeNet pools before its first normalization, with conv1's relu, and after its second.
TEST(NetworkStagesTest, GoogLeNetBeforeTheFirstInception) {
  const std::vector<Row> expected = {
      {"conv1", "conv2d", {1, 64, 112, 112}},
      {"conv1", "max_pool2d", {1, 64, 56, 56}},
      {"conv1", "local_response_norm", {1, 64, 56, 56}},
      {"conv2_reduce", "conv2d", {1, 64, 56, 56}},
      {"conv2_reduce", "relu", {1, 64, 56, 56}},
      {"conv2", "conv2d", {1, 192, 56, 56}},
      {"conv2", "relu", {1, 192, 56, 56}},
      {"conv2", "local_response_norm", {1, 192, 56, 56}},
      {"conv2", "max_pool2d", {1, 192, 28, 28}},
  };
  EXPECT_EQ(rows_before("googlenet", "inception"), expected);
}

TEST(NetworkStagesTest, ResNet50BeforeTheFirstBlock) {
  const std::vector<Row> expected = {
      {"conv1", "conv2d", {1, 64, 112, 112}},
      {"conv1.bn", "batch_norm", {1, 64, 112, 112}},
      {"conv1.bn", "max_pool2d", {1, 64, 56, 56}},
  };
  EXPECT_EQ(rows_before("resnet50", "res2"), expected);
}

// The first bottleneck of a row halves the image in its depthwise convolution. The second keeps the
// shape, so the last normalization adds its input.
TEST(NetworkStagesTest, MobileNetV2BottlenecksOpByOp) {
  std::vector<Row> rows;
  for (const Row& row : rows_before("mobilenet_v2", "bottleneck3")) {
    if (row.layer.starts_with("bottleneck2")) rows.push_back(row);
  }
  const std::vector<Row> expected = {
      {"bottleneck2_1.expand", "conv2d", {1, 96, 112, 112}},
      {"bottleneck2_1.expand.bn", "batch_norm", {1, 96, 112, 112}},
      {"bottleneck2_1.depthwise", "conv2d", {1, 96, 56, 56}},
      {"bottleneck2_1.depthwise.bn", "batch_norm", {1, 96, 56, 56}},
      {"bottleneck2_1.project", "conv2d", {1, 24, 56, 56}},
      {"bottleneck2_1.project.bn", "batch_norm", {1, 24, 56, 56}},
      {"bottleneck2_2.expand", "conv2d", {1, 144, 56, 56}},
      {"bottleneck2_2.expand.bn", "batch_norm", {1, 144, 56, 56}},
      {"bottleneck2_2.depthwise", "conv2d", {1, 144, 56, 56}},
      {"bottleneck2_2.depthwise.bn", "batch_norm", {1, 144, 56, 56}},
      {"bottleneck2_2.project", "conv2d", {1, 24, 56, 56}},
      {"bottleneck2_2.project.bn", "batch_norm", {1, 24, 56, 56}},
  };
  EXPECT_EQ(rows, expected);
}

// As in He et al.'s original form, the first 1x1 convolution of a stage halves the image.
TEST(NetworkStagesTest, ResNet50StridesInTheFirstConvolutionOfAStage) {
  for (const LayerSummary& row : summarize(find_model("resnet50"), find_model("resnet50").shape)) {
    if (row.layer != "res3a.conv1" && row.layer != "res3a.projection") continue;
    EXPECT_EQ(row.output[2], 28) << row.layer;
  }
}

}  // namespace
}  // namespace skyline
