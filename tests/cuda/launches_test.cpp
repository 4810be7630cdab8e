// How many kernels of ours a training step launches, counted by the emulated runtime.
#include <gtest/gtest.h>

#include "framework/cuda/make_cuda_compute.h"
#include "tests/cuda_emulation/emulation.h"
#include "tests/train/images/small_training.h"
#include "tests/train/translation/small_translation.h"

namespace skyline {
namespace {

using namespace tests;

struct StepLaunches {
  std::uint64_t kernels = 0;  // of ours; not those of the libraries
  std::size_t parameters = 0;
};

Context::Options on_cuda(bool fused_update) {
  Context::Options options = seeded();
  options.compute = make_cuda_compute({.deterministic = true});
  options.fused_update = fused_update;
  return options;
}

const MemoryOptions kCudaMemory{.device = "cuda", .check = true};

StepLaunches launches_of_images(const ModelShape& shape, const std::string& model,
                                bool fused_update) {
  ImageRun run(kCudaMemory, on_cuda(fused_update), {.model = model, .shape = shape});
  const Batch batch = small_batches(shape, 2, 1).front();
  const std::uint64_t before = cuda_emulation::counts().kernels;
  run.train_step(batch, small_params());
  return {cuda_emulation::counts().kernels - before, run.network().parameters().size()};
}

StepLaunches launches_of_text(bool fused_update) {
  const TranslationData data = small_text();
  TranslationRunOptions wanted = small_run(small_seq2seq(data, false));
  wanted.optimizer.clip = 0;  // needs all gradients before the first update
  TranslationRun run(kCudaMemory, on_cuda(fused_update), wanted);
  const std::uint64_t before = cuda_emulation::counts().kernels;
  run_steps(run, small_pair_batches(data, 1));
  return {cuda_emulation::counts().kernels - before, run.network().parameters().size()};
}

// A fused update has a launch of its own.
void expect_one_update(const std::string& name, const StepLaunches& together,
                       const StepLaunches& apart) {
  EXPECT_EQ(apart.kernels - together.kernels, together.parameters - 1) << name;
}

TEST(CudaLaunches, OneUpdatesAllParameters) {
  for (const std::string& model : small_model_names()) {
    const ModelShape shape = small_shape(model);
    expect_one_update(model, launches_of_images(shape, model, false),
                      launches_of_images(shape, model, true));
  }
  expect_one_update("seq2seq", launches_of_text(false), launches_of_text(true));
}

// Our kernels in a step with sentences of so many words; the layers are two a side.
std::uint64_t launches_of_words(std::int32_t words) {
  const TranslationData data = small_text();
  TranslationRun run(kCudaMemory, on_cuda(false), small_run(small_seq2seq(data, false)));
  const std::vector<std::int32_t> lengths(3, words);
  const std::uint64_t before = cuda_emulation::counts().kernels;
  run_steps(run, {batch_of_lengths(lengths, lengths)});
  return cuda_emulation::counts().kernels - before;
}

// The products are those of the library.
TEST(CudaLaunches, AWordCostsAnLstmOneALayerEachWay) {
  EXPECT_EQ(launches_of_words(6) - launches_of_words(5), 2u * 2 * 2);
}

std::uint64_t on_default_stream(const std::string& allocator) {
  Context::Options options = on_cuda(false);
  options.prefetch = true;
  const std::uint64_t before = cuda_emulation::counts().on_default_stream;
  const std::string model = small_model_names().front();
  const ModelShape shape = small_shape(model);
  ImageRun run({.device = "cuda", .allocator = allocator}, options,
               {.model = model, .shape = shape});
  for (const Batch& batch : small_batches(shape, 2, 3)) run.train_step(batch, small_params());
  return cuda_emulation::counts().on_default_stream - before;
}

// It would wait for all other streams, and it cannot be captured.
TEST(CudaLaunches, LeaveTheDefaultStreamAlone) {
  for (const std::string allocator : {"planned", "best-fit-pool", "cuda-async"}) {
    EXPECT_EQ(on_default_stream(allocator), 0u) << allocator;
  }
}

}  // namespace
}  // namespace skyline
