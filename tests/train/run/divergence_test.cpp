#include "train/run/divergence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/train/checkpoints/host_copy.h"
#include "tests/train/images/small_training.h"
#include "tests/train/run/given_batches.h"

namespace skyline {
namespace {

using namespace tests;

class DivergenceTest : public ::testing::Test {
 protected:
  // Fills the parameter with NaN.
  void spoil(const std::string& name) {
    for (const Parameter& parameter : experiment_.model->parameters()) {
      if (parameter.name != name) continue;
      HostCopy host = host_copy(stored(experiment_.context, {name, parameter.value}));
      const float nan = std::numeric_limits<float>::quiet_NaN();
      std::memcpy(host.bytes.data(), &nan, sizeof nan);
      load(experiment_.context, stored(host), {name, parameter.value});
    }
  }
  Divergence explained(const Batch& batch) {
    experiment_.take(batch);
    return explain_divergence(experiment_, experiment_.context.random(), 7,
                              LossNotFinite(std::nanf("")));
  }

  ImageRun experiment_{
      {.guard = true}, seeded(), {.model = "lenet", .shape = small_shape("lenet")}};
  std::vector<Batch> batches_ = small_batches(small_shape("lenet"), 4, 3);
};

TEST_F(DivergenceTest, NamesTheLayerWhoseParameterWasSpoilt) {
  spoil("fc2.weight");
  EXPECT_THROW(experiment_.train_step(batches_[0], small_params()), LossNotFinite);
  const Divergence::Facts facts = explained(batches_[0]).facts();
  EXPECT_EQ(facts.layer, "fc2");
  EXPECT_EQ(facts.op, "linear");
  EXPECT_EQ(facts.parameter, "fc2.weight");
  EXPECT_EQ(facts.step, 7);
}

TEST_F(DivergenceTest, NamesTheFirstLayerForASpoiltImage) {
  batches_[0].images[3] = std::numeric_limits<float>::infinity();
  EXPECT_THROW(experiment_.train_step(batches_[0], small_params()), LossNotFinite);
  const Divergence::Facts facts = explained(batches_[0]).facts();
  EXPECT_EQ(facts.layer, "conv1");
  EXPECT_EQ(facts.parameter, "");
}

TEST_F(DivergenceTest, FindsTheBatchOfAStepBeforeAnyUpdate) {
  Context::Options options = seeded();
  ImageRun run({.guard = true}, options, {.model = "lenet", .shape = small_shape("lenet")});
  const Optimizer optimizer(run.context, *run.model, {});
  const std::string before = parameters_sha256(run);
  batches_[1].images[3] = std::numeric_limits<float>::infinity();
  const RandomStream random = run.context.random();
  try {
    GivenBatches batches(0, [&](std::size_t batch) {
      run.take(batches_[batch]);
      return run.loss_of(batch).loss;
    });
    training_step(run.context, optimizer, small_params(), batches, {.micro_batches = 3});
    FAIL() << "the second batch is spoilt";
  } catch (const LossNotFinite& found) {
    EXPECT_EQ(found.batch(), 1u);
    EXPECT_EQ(explain_divergence(run, random, 1, found).facts().layer, "conv1");
  }
  EXPECT_EQ(parameters_sha256(run), before);
}

TEST_F(DivergenceTest, SaysSoWhenTheForwardPassIsFinite) {
  const Divergence found = explained(batches_[0]);
  EXPECT_EQ(found.facts().layer, "");
  EXPECT_NE(std::string(found.what()).find("run again, was finite"), std::string::npos);
}

TEST_F(DivergenceTest, TheStepChangesNoParameterAndTheNextOneIsRight) {
  ImageRun undisturbed({}, seeded(), {.model = "lenet", .shape = small_shape("lenet")});
  undisturbed.train_step(batches_[0], small_params());
  experiment_.train_step(batches_[0], small_params());
  const std::string before = parameters_sha256(experiment_);
  Batch spoilt = batches_[1];
  spoilt.images[0] = std::numeric_limits<float>::infinity();
  EXPECT_THROW(experiment_.train_step(spoilt, small_params()), LossNotFinite);
  explained(spoilt);
  EXPECT_EQ(parameters_sha256(experiment_), before);
  EXPECT_FALSE(experiment_.context.watch().check_finite);
  EXPECT_EQ(experiment_.train_step(batches_[2], small_params()),
            undisturbed.train_step(batches_[2], small_params()));
  EXPECT_EQ(parameters_sha256(experiment_), parameters_sha256(undisturbed));
}

}  // namespace
}  // namespace skyline
