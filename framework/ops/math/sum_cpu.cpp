#include <algorithm>

#include "framework/ops/math/sum_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

// Sums block by block in a buffer on the stack, so that the output may be any input.
class SumKernelCpu : public Kernel {
 public:
  SumKernelCpu(std::int64_t elements, int inputs) : elements_(elements), inputs_(inputs) {}

  void run(const KernelArguments& arguments) override {
    const std::int64_t blocks = (elements_ + kBlock - 1) / kBlock;
    for_each_index(blocks, elements_ >= kSerialArithmetic, [&](std::int64_t block) {
      const std::int64_t begin = block * kBlock;
      sum_block(arguments, begin, std::min(kBlock, elements_ - begin));
    });
  }

 private:
  static constexpr std::int64_t kBlock = 1024;  // 4 KiB stay in the first-level cache

  void sum_block(const KernelArguments& arguments, std::int64_t begin, std::int64_t count) const {
    float total[kBlock];
    std::copy_n(arguments.input<float>(0) + begin, count, total);
    for (int k = 1; k < inputs_; ++k) {
      const float* input = arguments.input<float>(static_cast<std::size_t>(k)) + begin;
      for (std::int64_t i = 0; i < count; ++i) total[i] += input[i];
    }
    std::copy_n(total, count, arguments.output<float>(0) + begin);
  }

  std::int64_t elements_;
  int inputs_;
};

}  // namespace

std::unique_ptr<Kernel> make_sum_cpu(std::int64_t elements, int inputs) {
  return std::make_unique<SumKernelCpu>(elements, inputs);
}

}  // namespace skyline
