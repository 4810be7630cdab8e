#include "train/options/train_options.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <nlohmann/json.hpp>
#include <set>

#include "train/checkpoints/checkpoint.h"
#include "train/cli/option_list.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

TEST(TrainOptionsTest, EveryOptionHasOneRowAndOneKey) {
  TrainOptions options;
  OptionList list;
  add_run_options(list, options);
  std::set<std::string> keys;
  for (const Option& option : list.options()) {
    EXPECT_TRUE(keys.insert(option.key()).second) << option.flag;
    EXPECT_EQ(option.help.empty(), (option.traits & kStoredOnly) != 0) << option.flag;
  }
  EXPECT_EQ(keys.size(), to_json(options).size()) << "a run stores every option";
}

TEST(TrainOptionsTest, JsonGivesThemBack) {
  TrainOptions options;
  options.model = "resnet20";
  options.steps = 7;
  options.step.in_place = false;
  options.data.classes = 3;
  options.text.source = {"a", "b"};
  options.memory.policy = ShapePolicy::kGrow;
  options.memory.warmup_steps = 4;
  options.device.workspace_bytes = 1 << 20;
  const Json json = to_json(options);
  EXPECT_EQ(to_json(train_options_from(json)), json);
  EXPECT_EQ(json["policy"], "grow");
  EXPECT_EQ(json["warmup_steps"], 4);
  EXPECT_EQ(json["capacity"], nullptr);
}

TEST(TrainOptionsTest, ForeignJsonIsACheckpointError) {
  EXPECT_THROW(train_options_from(Json::object()), CheckpointError);
  Json json = to_json(TrainOptions{});
  json["policy"] = "shrink";
  EXPECT_THROW(train_options_from(json), CheckpointError);
  json = to_json(TrainOptions{});
  json["batch_size"] = "many";
  EXPECT_THROW(train_options_from(json), CheckpointError);
}

TEST(TrainOptionsTest, RunsOfEarlierVersionsLackLaterOptions) {
  Json json = to_json(TrainOptions{});
  for (const char* key : {"recompute", "fused_update", "engines", "keep_best", "source", "mean"}) {
    json.erase(key);
  }
  EXPECT_EQ(to_json(train_options_from(json)), to_json(TrainOptions{}));
}

TEST(TrainOptionsTest, ResolvingSetsNoGlobalState) {
  const int threads = omp_get_max_threads();
  TrainOptions options;
  options.threads = threads + 1;
  EXPECT_EQ(resolved(options).threads, threads + 1);
  EXPECT_EQ(omp_get_max_threads(), threads);
}

TEST(TrainOptionsTest, OptionsOfTheOtherKindOfModelAreRefused) {
  TrainOptions options;
  OptionList list;
  add_run_options(list, options);
  std::ranges::find(list.options(), "--source", &Option::flag)->take("a");
  try {
    check_given(list, options.model);
    ADD_FAILURE();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "--source is for models that translate, got --model lenet");
  }
  options.model = "seq2seq";
  EXPECT_NO_THROW(check_given(list, options.model));
}

}  // namespace
}  // namespace skyline
