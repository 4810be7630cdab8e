#include <algorithm>

#include "framework/ops/optimizer/sgd_momentum_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

class SgdMomentumKernelCpu : public Kernel {
 public:
  SgdMomentumKernelCpu(std::int64_t elements, SgdParams params, bool scaled)
      : elements_(elements), function_{params}, scaled_(scaled) {}

  void run(const KernelArguments& arguments) override {
    const std::int64_t blocks = (elements_ + kBlock - 1) / kBlock;
    for_each_index(blocks, elements_ >= kSerialArithmetic, [&](std::int64_t block) {
      const std::int64_t begin = block * kBlock;
      const std::int64_t end = std::min(begin + kBlock, elements_);
      // Without a scale nothing multiplies, so that no compiler contracts the sums otherwise.
      if (scaled_) {
        update(arguments, begin, end,
               [scale = *arguments.input<float>(3)](float gradient) { return gradient * scale; });
      } else {
        update(arguments, begin, end, [](float gradient) { return gradient; });
      }
    });
  }

 private:
  static constexpr std::int64_t kBlock = 1024;

  template <typename Scaled>
  void update(const KernelArguments& arguments, std::int64_t begin, std::int64_t end,
              Scaled scaled) const {
    const float* value = arguments.input<float>(0);
    const float* gradient = arguments.input<float>(1);
    const float* velocity = arguments.input<float>(2);
    float* new_value = arguments.output<float>(0);
    float* new_velocity = arguments.output<float>(1);
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) {
      const float moved = function_.velocity(value[i], scaled(gradient[i]), velocity[i]);
      new_velocity[i] = moved;
      new_value[i] = value[i] + moved;
    }
  }

  std::int64_t elements_;
  SgdMomentumFunction function_;
  bool scaled_;
};

}  // namespace

std::unique_ptr<Kernel> make_sgd_momentum_cpu(std::int64_t elements, SgdParams params,
                                              bool scaled) {
  return std::make_unique<SgdMomentumKernelCpu>(elements, params, scaled);
}

}  // namespace skyline
