// Training steps that are captured as graphs: the same bits as without, in few launches.

#include <gtest/gtest.h>

#include <optional>

#include "framework/cuda/make_cuda_compute.h"
#include "tests/cuda/device_calls.h"
#include "tests/memory/planners/effort.h"
#include "tests/train/images/paper_training.h"
#include "tests/train/images/small_training.h"

namespace skyline {
namespace {

using namespace tests;

struct Choice {
  std::string model;
  std::string optimizer = "sgd";
  std::string allocator = "planned";
  float clip = 0;
  bool prefetch = false;
  bool fused_update = false;
  std::size_t micro_batches = 1;
};

struct GraphTrained {
  std::vector<float> losses;
  std::string parameters, state;
  Launches launches;                     // of the last step
  std::optional<std::uint64_t> kernels;  // which it launched outside graphs, if that is known
};

// Batches of both sizes take turns if `sizes` is 2, each with a plan of its own in one arena.
GraphTrained train_in_graphs(const Choice& choice, bool graph, int steps, std::size_t sizes = 1) {
  const bool small =
      std::ranges::find(small_model_names(), choice.model) != small_model_names().end();
  const auto paper = std::ranges::find(paper_networks(), choice.model, &PaperNetwork::name);
  const ModelShape shape = small ? small_shape(choice.model) : step_shape(*paper);
  Context::Options options = seeded();
  options.compute = make_cuda_compute({.deterministic = true, .graph = graph});
  options.prefetch = choice.prefetch;
  options.fused_update = choice.fused_update;
  ImageRun run({.device = "cuda",
                .allocator = choice.allocator,
                .policy = ShapePolicy::kPerShape,
                .check = true},
               options,
               {.model = choice.model,
                .shape = shape,
                .optimizer = {.name = choice.optimizer, .clip = choice.clip},
                .shares = {.micro_batches = choice.micro_batches}});
  GraphTrained trained;
  const auto all = static_cast<std::size_t>(steps);
  const std::vector<Batch> batches[] = {small_batches(shape, 2, all), small_batches(shape, 3, all)};
  for (std::size_t step = 0; step < all; ++step) {
    const Launches before = run.context.compute().runner().facts().launches;
    const auto kernels_before = kernels_outside_graphs();
    const auto number = static_cast<std::int64_t>(step);
    trained.losses.push_back(run.train_step(
        batches[step % sizes][step],
        {.learning_rate = 0.05f / static_cast<float>(step + 1), .step = number + 1}));
    const Launches now = run.context.compute().runner().facts().launches;
    trained.launches = {.ops = now.ops - before.ops, .graphs = now.graphs - before.graphs};
    if (kernels_before) trained.kernels = *kernels_outside_graphs() - *kernels_before;
  }
  trained.parameters = parameters_sha256(run);
  trained.state = state_sha256(run);
  return trained;
}

void expect_same_bits(const Choice& choice, int steps, std::size_t sizes = 1) {
  const GraphTrained expected = train_in_graphs(choice, false, steps, sizes);
  const GraphTrained got = train_in_graphs(choice, true, steps, sizes);
  EXPECT_EQ(got.losses, expected.losses);
  EXPECT_EQ(got.parameters, expected.parameters);
  EXPECT_EQ(got.state, expected.state);
  // One graph up to the loss and one from there, for each batch.
  EXPECT_EQ(got.launches.graphs, 2 * choice.micro_batches);
  EXPECT_EQ(got.launches.ops, 0u);
  EXPECT_EQ(got.kernels.value_or(0), 0u);
  EXPECT_GT(expected.launches.ops, 0u);
  EXPECT_EQ(expected.launches.graphs, 0u);
}

// The pool serves the first step, so the second and third show what is captured.
constexpr int kSteps = 6;

TEST(CudaGraphTraining, GivesTheSameBits) {
  for (const std::string& model : small_model_names()) {
    SCOPED_TRACE(model);
    expect_same_bits({.model = model}, kSteps);
  }
}

TEST(CudaGraphTraining, GivesTheSameBitsWithEveryOption) {
  const Choice choices[] = {
      {.model = "resnet20", .optimizer = "adam"},
      {.model = "lenet", .optimizer = "adam", .clip = 0.5f, .prefetch = true},
      {.model = "resnet20", .prefetch = true, .fused_update = true},
      {.model = "lenet", .micro_batches = 2},
      {.model = "lenet", .allocator = "best-fit-pool"},
  };
  for (const Choice& choice : choices) {
    SCOPED_TRACE(choice.model + " " + choice.optimizer + " " + choice.allocator);
    expect_same_bits(choice, kSteps);
  }
}

// Dropout draws other numbers in each step.
TEST(CudaGraphTraining, GivesTheSameBitsWithDropout) {
  expect_same_bits({.model = "googlenet"}, 4);
  if (runs_at_night()) expect_same_bits({.model = "alexnet"}, 4);
}

TEST(CudaGraphTraining, HasAGraphForEachShapeInOneArena) {
  expect_same_bits({.model = "lenet"}, 2 * kSteps, 2);
}

// A step that deviates from its graph runs its ops one by one.
TEST(CudaGraphTraining, GoesOnAfterAnotherShape) {
  const std::string model = "lenet";
  const ModelShape shape = small_shape(model);
  const auto run_steps = [&](bool graph) {
    Context::Options options = seeded();
    options.compute = make_cuda_compute({.deterministic = true, .graph = graph});
    ImageRun run({.device = "cuda", .policy = ShapePolicy::kGrow, .check = true}, options,
                 {.model = model, .shape = shape});
    std::vector<float> losses;
    for (const std::size_t size : {3u, 3u, 3u, 3u, 2u, 3u, 4u, 4u, 4u, 4u, 4u, 3u}) {
      losses.push_back(run.train_step(small_batches(shape, size, 1).front(), small_params()));
    }
    return std::pair(losses, parameters_sha256(run));
  };
  EXPECT_EQ(run_steps(true), run_steps(false));
}

}  // namespace
}  // namespace skyline
