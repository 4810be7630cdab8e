#include <algorithm>

#include "framework/ops/activation/activations_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"
#include "framework/philox.h"

namespace skyline {
namespace {

constexpr std::int64_t kBlock = 4 * kDropoutStride;

// words[w][i] is word w of counter first + i. All counters do a round together, so that
// compilers vectorize it: 0.9 ns an element, 7 ns with one counter at a time.
void draw_block(const DropoutMask& mask, std::uint64_t first,
                std::uint32_t (&words)[4][kDropoutStride]) {
  for (int i = 0; i < kDropoutStride; ++i) {
    const std::uint64_t counter = first + static_cast<std::uint64_t>(i);
    words[0][i] = static_cast<std::uint32_t>(counter);
    words[1][i] = static_cast<std::uint32_t>(counter >> 32);
    words[2][i] = static_cast<std::uint32_t>(mask.stream);
    words[3][i] = static_cast<std::uint32_t>(mask.stream >> 32);
  }
  auto key0 = static_cast<std::uint32_t>(mask.seed);
  auto key1 = static_cast<std::uint32_t>(mask.seed >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
#pragma omp simd
    for (int i = 0; i < kDropoutStride; ++i) {
      philox_round(words[0][i], words[1][i], words[2][i], words[3][i], key0, key1);
    }
    key0 += kPhiloxWeyl0;
    key1 += kPhiloxWeyl1;
  }
}

void run_block(const DropoutMask& mask, const float* input, float* output, std::int64_t block,
               std::int64_t elements) {
  std::uint32_t words[4][kDropoutStride];
  draw_block(mask, static_cast<std::uint64_t>(block) * kDropoutStride, words);
  const std::uint32_t* word = &words[0][0];
  const std::int64_t begin = block * kBlock;
  const std::int64_t count = std::min(kBlock, elements - begin);
  const std::uint32_t threshold = mask.threshold();
  const float scale = mask.scale();
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    output[begin + i] = word[i] >= threshold ? input[begin + i] * scale : 0.0f;
  }
}

}  // namespace

std::unique_ptr<Kernel> make_activation_cpu(const ActivationProblem& problem) {
  using enum ActivationKind;
  const bool exponential = problem.gradient ? problem.kind == kGelu : problem.kind != kRelu;
  return with_function(problem, [&](auto function) {
    return make_elementwise_cpu(problem.elements,
                                exponential ? kSerialTranscendental : kSerialArithmetic, function);
  });
}

std::unique_ptr<Kernel> make_dropout_cpu(std::int64_t elements, DropoutMask mask) {
  return make_kernel([=](const KernelArguments& arguments) {
    DropoutMask of_run = mask;
    of_run.stream = arguments.run_value.value_or(mask.stream) + mask.offset;
    const std::int64_t blocks = (elements + kBlock - 1) / kBlock;
    for_each_index(blocks, elements >= kSerialTranscendental, [&](std::int64_t block) {
      run_block(of_run, arguments.input<float>(0), arguments.output<float>(0), block, elements);
    });
  });
}

}  // namespace skyline
