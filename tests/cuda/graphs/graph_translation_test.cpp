// Training on text whose steps are captured as graphs, from the options to the run's folder: the
// same bits as without, in few launches once a shape has returned.

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "framework/cuda/make_cuda_compute.h"
#include "tests/train/images/small_training.h"
#include "tests/train/parsed_json.h"
#include "tests/train/ranks/run_bits.h"
#include "tests/train/temporary_folder.h"
#include "tests/train/translation/small_translation.h"
#include "train/trainer.h"

namespace skyline {
namespace {

using namespace tests;

using Change = std::function<void(TrainOptions&)>;

// One batch an epoch, so that the shape always returns, though its sentences are shuffled. The
// first three steps are timed, op by op. Each epoch ends with an evaluation.
TrainOptions text_options(const Change& change, bool graph) {
  TrainOptions options;
  options.model = "seq2seq";
  options.steps = 8;
  options.batch_size = 8;
  options.threads = 1;
  options.text.pairs = 8;
  options.text.val_pairs = 2;
  options.text.units = 8;
  options.text.dropout = 0.2;
  options.memory.device = "cuda";
  options.memory.check = true;
  options.device.deterministic = true;
  options.device.graph = graph;
  change(options);
  return resolved(options);
}

nlohmann::json two_graphs() { return {{"ops", 0}, {"graphs", 2}}; }

class CudaGraphTranslation : public testing::Test {
 protected:
  nlohmann::json train(const std::string& name, const Change& change, bool graph) {
    Trainer trainer(text_options(change, graph), {}, console_);
    trainer.start(folder_.path() / name);
    return parsed_json(trainer.run().json)["launches_of_last_step"];
  }
  // Returns the launches of the last step with graphs.
  nlohmann::json expect_same_bits(const Change& change) {
    const std::string number = std::to_string(++runs_);
    train("one-by-one-" + number, change, false);
    nlohmann::json launches = train("graphs-" + number, change, true);
    EXPECT_TRUE(run_bits(folder_.path() / ("graphs-" + number)) ==
                run_bits(folder_.path() / ("one-by-one-" + number)));
    return launches;
  }

  TemporaryFolder folder_;
  std::ostringstream messages_;
  Console console_{messages_, {}};
  int runs_ = 0;
};

TEST_F(CudaGraphTranslation, GivesTheSameBitsInTwoGraphsAStep) {
  const std::pair<const char*, Change> changes[] = {
      {"default", [](TrainOptions&) {}},
      {"per-shape", [](TrainOptions& options) { options.memory.policy = ShapePolicy::kPerShape; }},
      {"grow", [](TrainOptions& options) { options.memory.policy = ShapePolicy::kGrow; }},
      {"sgd", [](TrainOptions& options) { options.optimizer = "sgd"; }},
      {"clip", [](TrainOptions& options) { options.text.clip = 0.1; }},
      {"fused", [](TrainOptions& options) { options.step.fused_update = true; }},
      {"unroll", [](TrainOptions& options) { options.text.unroll = true; }},
  };
  for (const auto& [name, change] : changes) {
    SCOPED_TRACE(name);
    EXPECT_EQ(expect_same_bits(change), two_graphs());
  }
}

// A pool chooses between free blocks of one size by their addresses, so steps need not return to
// the same ones: on an H100 they did not.
TEST_F(CudaGraphTranslation, GivesTheSameBitsFromAPool) {
  expect_same_bits([](TrainOptions& options) { options.memory.allocator = "best-fit-pool"; });
}

TEST_F(CudaGraphTranslation, GivesTheSameBitsWhereShapesSeldomReturn) {
  expect_same_bits([](TrainOptions& options) {
    options.batch_size = 2;
    options.step.micro_batches = 2;
    options.steps = 20;
  });
}

TEST_F(CudaGraphTranslation, ResumesBitForBit) {
  const auto steps = [](std::int64_t count) {
    return [count](TrainOptions& options) {
      options.steps = count;
      options.schedule = "constant";
    };
  };
  train("one-by-one", steps(12), false);
  train("graphs", steps(6), true);
  Trainer trainer(text_options(steps(12), true), {}, console_);
  trainer.resume(load_checkpoint(folder_.path() / "graphs"));
  const nlohmann::json resumed = parsed_json(trainer.run().json);
  EXPECT_EQ(resumed["steps"], 12);
  EXPECT_EQ(resumed["launches_of_last_step"], two_graphs());
  EXPECT_TRUE(run_bits(folder_.path() / "graphs") == run_bits(folder_.path() / "one-by-one"));
}

// Makes sentences of these lengths on both sides, paired and filled at random.
PairBatch batch_of_shape(const std::vector<std::int32_t>& lengths, std::uint64_t seed) {
  const RandomBits random = Philox{seed};
  SentencePairs pairs{.name = "random sentences"};
  std::vector<std::size_t> indices;
  for (SentenceList* side : {&pairs.source, &pairs.target}) {
    const std::uint64_t stream = side == &pairs.source ? 0 : 1;
    for (const std::size_t place : shuffled_order(lengths.size(), stream, random)) {
      std::vector<std::int32_t> words;
      while (std::ssize(words) < lengths[place]) {
        words.push_back(static_cast<std::int32_t>(random(stream, words.size() + 9 * place)[0] % 9));
      }
      side->push_back(words);
    }
  }
  while (indices.size() < lengths.size()) indices.push_back(indices.size());
  return make_pair_batch(pairs, indices);
}

struct TrainedOnShapes {
  std::vector<float> losses;
  std::string parameters;
  std::uint64_t graphs = 0;
};

// Two shapes with as many words take turns. Words and pairs of sentences are new in each step.
TrainedOnShapes train_on_two_shapes(bool unroll, bool graph) {
  const std::vector<std::int32_t> lengths[] = {{1, 2, 2, 3, 5}, {2, 2, 2, 3, 4}};
  const TranslationData data = small_text();
  Context::Options options = seeded();
  options.compute = make_cuda_compute({.deterministic = true, .graph = graph});
  TranslationRun run({.device = "cuda", .policy = ShapePolicy::kPerShape, .check = true}, options,
                     small_run(small_seq2seq(data, unroll)));
  std::vector<PairBatch> batches;
  while (batches.size() < 12) {
    batches.push_back(batch_of_shape(lengths[batches.size() % 2], batches.size()));
  }
  return {.losses = run_steps(run, batches),
          .parameters = parameters_sha256(run),
          .graphs = run.context.compute().runner().facts().launches.graphs};
}

// A shape's first step is served by the pool, so its second and third are the first that are equal.
TEST(CudaGraphShapes, HaveGraphsOfTheirOwnInOneArena) {
  for (const bool unroll : {false, true}) {
    SCOPED_TRACE(unroll ? "unrolled" : "packed");
    const TrainedOnShapes expected = train_on_two_shapes(unroll, false);
    const TrainedOnShapes got = train_on_two_shapes(unroll, true);
    EXPECT_EQ(got.losses, expected.losses);
    EXPECT_EQ(got.parameters, expected.parameters);
    EXPECT_EQ(expected.graphs, 0u);
    EXPECT_EQ(got.graphs, 2u * 2 * 3) << "of the last three steps of each";
  }
}

}  // namespace
}  // namespace skyline
