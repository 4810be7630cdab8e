#include "tests/benchmarks/train/cuda_training.h"

#include <fmt/format.h>

#include <chrono>
#include <numeric>

#include "memory/alignment.h"
#include "memory/device/devices.h"
#include "tests/benchmarks/train/timed_training.h"
#include "train/images/image_run.h"
#include "train/lab/pgmo/pgmo_seq2seq.h"
#include "train/translation/translation_run.h"

namespace skyline {
namespace {

constexpr int kProductRuns = 10;

MemoryOptions memory_options(const std::string& allocator) {
  MemoryOptions memory;
  memory.device = "cuda";
  memory.allocator = allocator;
  return memory;
}

class ImageTraining final : public CudaTraining {
 public:
  ImageTraining(const ModelEntry& entry, std::int64_t batch_size, const std::string& allocator,
                const Context::Options& options)
      : run_(memory_options(allocator), options,
             {.model = std::string(entry.name),
              .shape = entry.shape,
              .optimizer = {.weight_decay = 0},
              .watch = {.timed = true}}) {
    // Once: a copy of 73 MiB in each step would be timed as a part of it.
    run_.take(noise_batch(entry.shape, static_cast<int>(batch_size)));
  }

  ModelRun& run() override { return run_; }
  void step() override { run_.train_step(kStepParams); }
  double items() const override { return static_cast<double>(run_.batch().size); }

 private:
  ImageRun run_;
};

class TranslationTraining final : public CudaTraining {
 public:
  TranslationTraining(std::int64_t batch_size, const std::string& allocator,
                      const Context::Options& options)
      : lengths_(drawn_lengths(batch_size, 0)),
        batch_(batch_of_lengths(lengths_.source, lengths_.target)),
        run_(memory_options(allocator), options, {}) {}

  ModelRun& run() override { return run_; }
  void step() override { run_.train_step(batch_, {.learning_rate = 1e-3f, .step = ++steps_}); }
  double items() const override {
    return static_cast<double>(batch_.source.words.size() + batch_.target.words.size());
  }
  // The decoder reads one word more than a sentence has.
  std::string lengths() const override {
    std::vector<std::int32_t> target = lengths_.target;
    for (std::int32_t& length : target) ++length;
    return fmt::format(" {} {}", fmt::join(lengths_.source, ","), fmt::join(target, ","));
  }

 private:
  SentenceLengths lengths_;
  PairBatch batch_;
  TranslationRun run_;
  std::int64_t steps_ = 0;
};

}  // namespace

double CudaTraining::allocation_seconds() {
  const StepCalls& calls = run().memory.calls().last_step();
  const auto sum = [](const std::vector<std::uint32_t>& times) {
    return std::accumulate(times.begin(), times.end(), 0.0);
  };
  return 1e-9 * (sum(calls.acquire_ns) + sum(calls.release_ns));
}

std::unique_ptr<CudaTraining> make_cuda_training(const std::string& model, std::int64_t batch_size,
                                                 const std::string& allocator,
                                                 const Context::Options& options) {
  if (model == "seq2seq")
    return std::make_unique<TranslationTraining>(batch_size, allocator, options);
  return std::make_unique<ImageTraining>(find_model(model), batch_size, allocator, options);
}

std::string items_of(const std::string& model) { return model == "seq2seq" ? "words" : "images"; }

double product_seconds(const CudaOptions& options, const ProductProblem& problem) {
  const auto bytes_of = [](std::int64_t rows, std::int64_t columns) {
    return align_up(static_cast<std::size_t>(rows * columns) * sizeof(float), kAlignmentBytes);
  };
  const std::size_t a = bytes_of(problem.rows, problem.inner);
  const std::size_t b = bytes_of(problem.inner, problem.columns);
  const std::size_t c = bytes_of(problem.rows, problem.columns);
  const std::unique_ptr<Device> device = make_device("cuda");
  const std::unique_ptr<Compute> compute = make_cuda_compute(options);
  const std::size_t bytes = a + b + c + product_workspace_bytes(problem);
  std::byte* memory = device->allocate(bytes);
  compute->write(memory, noise_values((a + b) / sizeof(float)).data(), a + b);
  const auto at = [&](std::size_t offset) { return reinterpret_cast<float*>(memory + offset); };
  const auto product = make_product(*compute->cuda(), problem);
  const ProductOperands operands{
      .a = at(0), .b = at(a), .c = at(a + b), .workspace = memory + a + b + c};
  const auto run = [&] {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kProductRuns; ++i) product->run(operands);
    compute->wait();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  run();
  const double seconds = run() / kProductRuns;
  device->deallocate(memory, bytes);
  return seconds;
}

}  // namespace skyline
