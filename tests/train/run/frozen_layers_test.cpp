// Layers that training leaves as they are: their names, their bits, the others' bits, memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/train/checkpoints/host_copy.h"
#include "tests/train/commands/skyline_program.h"
#include "tests/train/images/small_training.h"
#include "tests/train/temporary_folder.h"
#include "tests/train/translation/small_translation.h"
#include "train/checkpoints/checkpoint.h"
#include "train/cli/usage_error.h"
#include "train/lab/dry_run/model_dry_run.h"
#include "train/options/train_options.h"

namespace skyline {
namespace {

using namespace tests;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

using Names = std::vector<std::string>;

Names frozen(const std::string& model, Names layers, bool all_but_last = false) {
  TrainOptions options{.model = model};
  options.step.freeze = std::move(layers);
  options.step.train_last = all_but_last;
  return frozen_parameters(options);
}

TEST(FrozenParameters, HaveTheNamesOfFilesOrElseOfTheNetwork) {
  EXPECT_THAT(frozen("resnet18", {"conv1"}), ElementsAre("conv1.weight"));
  EXPECT_THAT(frozen("resnet18", {"bn1", "conv1"}),
              ElementsAre("conv1.bn.beta", "conv1.bn.gamma", "conv1.weight"));
  EXPECT_EQ(frozen("resnet18", {"layer4.1"}), frozen("resnet18", {"res5b"}));
  EXPECT_EQ(frozen("resnet18", {"layer4.*"}), frozen("resnet18", {"layer4"}));
  EXPECT_EQ(frozen("resnet18", {"layer?"}).size(), 62u - 3 - 2);
  EXPECT_THAT(frozen("seq2seq", {"embed_*"}), ElementsAre("embed_x.weight", "embed_y.weight"));
  EXPECT_TRUE(frozen("lenet", {}).empty());
}

TEST(FrozenParameters, RefuseUnknownLayersAndAll) {
  EXPECT_THAT([] { frozen("resnet18", {"layr1"}); },
              ThrowsMessage<UsageError>(
                  HasSubstr("--freeze: unknown layer 'layr1'; did you mean 'layer1'?")));
  EXPECT_THAT([] { frozen("mlp", {"zzz"}); },
              ThrowsMessage<UsageError>(HasSubstr("known are: fc1, fc2, fc3")));
  EXPECT_THAT([] { frozen("mobilenet_v2", {"zzz"}); },
              ThrowsMessage<UsageError>(testing::EndsWith("known are: classifier, features")));
  EXPECT_THAT([] { frozen("mlp", {""}); }, ThrowsMessage<UsageError>(HasSubstr("unknown layer")));
  EXPECT_THAT([] { frozen("mlp", {"*"}); },
              ThrowsMessage<UsageError>(HasSubstr("nothing would be trained")));
}

// The layer that tells the classes apart, also where auxiliary heads are made after it.
TEST(FrozenParameters, OfTrainLastLeaveTheClassifier) {
  for (const ModelEntry& entry : models()) {
    const std::string model(entry.name);
    SCOPED_TRACE(model);
    DryRunOptions options{.model = model, .shape = entry.shape, .batch_size = 2};
    options.step.frozen = frozen(model, {}, true);
    const DryRunFacts facts = make_dry_run(options).foresee(2, Mode::kTraining);
    // Its weight has a row and its bias an element for each class.
    EXPECT_GT(facts.trained_parameters, entry.shape.classes);
    EXPECT_EQ(facts.trained_parameters % entry.shape.classes, 0);
    EXPECT_LT(facts.trained_parameters, facts.parameters);
  }
}

using WeightBits = std::map<std::string, std::string>;

template <typename Named>
void add_bits(ModelRun& run, std::span<const Named> tensors, WeightBits& bits) {
  for (const Named& one : tensors) bits[one.name] = tensors_sha256(run.context, {&one.value, 1});
}

WeightBits bits_of(ModelRun& run) {
  WeightBits bits;
  add_bits<Parameter>(run, run.network().parameters(), bits);
  add_bits<Buffer>(run, run.network().buffers(), bits);
  return bits;
}

std::unique_ptr<ImageRun> image_run(const std::string& model, const StepOptions& step) {
  Context::Options options = context_options(step);
  options.seed = seeded().seed;
  return std::make_unique<ImageRun>(MemoryOptions{}, options,
                                    ImageRunOptions{.model = model, .shape = small_shape(model)});
}

WeightBits after_steps(const std::string& model, const StepOptions& step, std::size_t count) {
  const auto run = image_run(model, step);
  for (const Batch& batch : small_batches(small_shape(model), 4, count)) {
    run->train_step(batch, small_params());
  }
  return bits_of(*run);
}

StepOptions freezing(const std::string& model, const std::string& layers) {
  StepOptions step;
  step.frozen = frozen(model, {layers});
  return step;
}

TEST(FrozenLayers, KeepTheirBitsAndHaveNeitherGradientsNorState) {
  std::vector<std::pair<std::string, std::string>> cases = {{"resnet18", "layer2.0.downsample"}};
  for (const std::string& model : small_model_names()) cases.emplace_back(model, "*1");
  for (const auto& [model, layers] : cases) {
    SCOPED_TRACE(model);
    const StepOptions step = freezing(model, layers);
    const auto run = image_run(model, step);
    const WeightBits before = bits_of(*run);
    for (const Batch& batch : small_batches(small_shape(model), 4, 3)) {
      run->train_step(batch, small_params());
    }
    const WeightBits after = bits_of(*run);
    const auto is_frozen = [&](const std::string& name) {
      return std::ranges::find(step.frozen, name) != step.frozen.end();
    };
    for (const Parameter& parameter : run->network().parameters()) {
      EXPECT_EQ(before.at(parameter.name) == after.at(parameter.name), is_frozen(parameter.name))
          << parameter.name;
      EXPECT_EQ(!parameter.gradient, is_frozen(parameter.name)) << parameter.name;
    }
    for (const Buffer& buffer : run->network().buffers()) {
      const std::string layer = buffer.name.substr(0, buffer.name.rfind('.'));
      EXPECT_EQ(before.at(buffer.name) == after.at(buffer.name), is_frozen(layer + ".gamma"))
          << buffer.name;
    }
    EXPECT_EQ(run->optimizer_state().size(),
              run->network().parameters().size() - step.frozen.size());
  }
}

// A frozen layer without normalization changes nothing for the others in the first step.
TEST(FrozenLayers, LeaveTheOthersGradientsAsTheyAre) {
  for (const auto& [model, layer] : {std::pair("mlp", "fc2"),
                                     {"lenet", "conv1"},
                                     {"lenet", "conv2"},
                                     {"resnet20", "conv1"},
                                     {"resnet20", "conv3_2.conv2"}}) {
    SCOPED_TRACE(layer);
    const StepOptions step = freezing(model, layer);
    WeightBits plain = after_steps(model, {}, 1), with_frozen = after_steps(model, step, 1);
    for (const std::string& name : step.frozen) {
      EXPECT_NE(plain.at(name), with_frozen.at(name));
      plain.erase(name);
      with_frozen.erase(name);
    }
    EXPECT_EQ(plain, with_frozen);
  }
}

TEST(FrozenLayers, TrainTheSameBitsInEveryKindOfStep) {
  for (const auto& [model, layers] : {std::pair("resnet20", "*1"),
                                      {"resnet20", "conv2_*"},
                                      {"resnet20", "bn*"},
                                      {"resnet18", "layer2.0.downsample"},
                                      {"resnet18", "layer2.0.bn2"}}) {
    SCOPED_TRACE(layers);
    const StepOptions step = freezing(model, layers);
    const WeightBits bits = after_steps(model, step, 2);
    StepOptions fused = step, recomputing = step, ordered = step, out_of_place = step;
    fused.fused_update = true;
    recomputing.recompute = 3;
    ordered.order = "program";
    out_of_place.in_place = false;
    for (const StepOptions& other : {fused, recomputing, ordered, out_of_place}) {
      EXPECT_EQ(after_steps(model, other, 2), bits);
    }
  }
}

TEST(FrozenLayers, OfTranslationKeepTheirBits) {
  const TranslationData data = small_text();
  for (const bool unroll : {false, true}) {
    for (const Names& layers :
         {Names{"embed_x"}, {"encoder"}, {"embed_*", "decoder"}, {"encoder.weight_hh_l0", "W"}}) {
      SCOPED_TRACE(layers.front());
      StepOptions step;
      step.freeze = layers;
      TrainOptions text{.model = "seq2seq", .step = step};
      text.text.layers = 2;
      step.frozen = frozen_parameters(text);
      Context::Options options = context_options(step);
      options.seed = seeded().seed;
      TranslationRun run({}, options, small_run(small_seq2seq(data, unroll)));
      const WeightBits before = bits_of(run);
      run_steps(run, small_pair_batches(data, 2));
      const WeightBits after = bits_of(run);
      for (const auto& [name, bits] : before) {
        const bool stays = std::ranges::find(step.frozen, name) != step.frozen.end();
        EXPECT_EQ(bits == after.at(name), stays) << name;
      }
    }
  }
}

// Backward ends above the frozen layers, so nothing below is kept for it.
TEST(FrozenLayers, SpareGradientsStateAndActivations) {
  DryRunOptions options{.model = "resnet18", .shape = find_model("resnet18").shape};
  const DryRunFacts all = dry_run(options);
  options.step.frozen = frozen("resnet18", {}, true);
  const DryRunFacts last = dry_run(options);
  EXPECT_EQ(last.trained_parameters, 512 * 1000 + 1000);
  const auto peak = [](const DryRunFacts& facts, Category category) {
    return facts.peak_bytes[static_cast<std::size_t>(category)];
  };
  EXPECT_EQ(peak(last, Category::kParameterGradient), 4u * 513'000);
  EXPECT_EQ(peak(last, Category::kOptimizer), 4u * 513'000);
  EXPECT_LT(3 * peak(last, Category::kActivation), peak(all, Category::kActivation));
  for (const StepOp& op : last.step.graph.ops) EXPECT_NE(op.name, "conv2d_grad_weight");
}

class FrozenTraining : public ::testing::Test {
 protected:
  Outcome train(Names more) const {
    Names words = {"train", "--threads", "1", "--steps", "4", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return skyline_program(words);
  }
  Names begin(const std::string& name, Names more) const {
    Names words = {"--out",        (folder_ / name).string(),
                   "--model",      "lenet",
                   "--images",     "32",
                   "--batch-size", "4",
                   "--config",     few_test_images()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::vector<HostCopy> weights(const std::string& name) const {
    return host_copies(load_checkpoint(folder_ / name).checkpoint.weights);
  }

  TemporaryFolder folder_;
};

TEST_F(FrozenTraining, IsResumedWithTheSameLayersAlone) {
  ASSERT_EQ(train(begin("whole", {"--freeze", "conv1,conv2"})).exit_code, 0);
  ASSERT_EQ(
      train(begin("halves", {"--freeze", "conv1,conv2", "--steps", "2", "--schedule", "constant"}))
          .exit_code,
      0);
  const std::string halves = (folder_ / "halves").string();
  for (const Names& other : {Names{"--freeze", "conv1"}, {"--train-last"}}) {
    Names words = {"--resume", halves};
    words.insert(words.end(), other.begin(), other.end());
    const Outcome refused = train(words);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.messages, HasSubstr("but the run to resume was started"));
  }
  ASSERT_EQ(train({"--resume", halves}).exit_code, 0);
  ASSERT_EQ(
      train(begin("constant", {"--freeze", "conv1,conv2", "--schedule", "constant"})).exit_code, 0);
  EXPECT_EQ(weights("halves"), weights("constant"));
  EXPECT_NE(weights("halves"), weights("whole"));
}

TEST_F(FrozenTraining, RefusesWhatWouldDoNothing) {
  for (const auto& [words, why] :
       {std::pair(Names{"train", "--freeze", "conv1", "--train-last"}, "leave out --freeze"),
        {{"dry-run", "--train-last", "--infer"}, "leave out --infer"},
        {{"train", "--model", "lenet", "--freeze", "con1"}, "did you mean 'conv1'"}}) {
    const Outcome outcome = skyline_program(words);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.messages, HasSubstr(why));
  }
}

TEST_F(FrozenTraining, IsToldBySummaryAndDryRun) {
  EXPECT_THAT(skyline_program({"summary", "--model", "lenet", "--train-last"}).output,
              HasSubstr("frozen are 60,856 parameters; trained are 850\n"));
  EXPECT_THAT(skyline_program({"dry-run", "--model", "lenet", "--train-last"}).output,
              HasSubstr("61,706 parameters, 850 of them trained\n"));
}

}  // namespace
}  // namespace skyline
