#include <algorithm>
#include <utility>

#include "framework/ops/optimizer/sgd_momentum_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

class SgdMomentumKernelCpu : public Kernel {
 public:
  SgdMomentumKernelCpu(std::vector<UpdateRange> ranges, SgdParams params, bool scaled)
      : ranges_(std::move(ranges)), function_{params}, scaled_(scaled) {}

  void run(const KernelArguments& arguments) override {
    // Without a scale nothing multiplies, so that no compiler contracts the sums otherwise.
    if (scaled_) {
      const float scale = *arguments.input<float>(3 * ranges_.size());
      update_all(arguments, [scale](float gradient) { return gradient * scale; });
    } else {
      update_all(arguments, [](float gradient) { return gradient; });
    }
  }

 private:
  static constexpr std::int64_t kBlock = 1024;

  template <typename Scaled>
  void update_all(const KernelArguments& arguments, Scaled scaled) const {
    SgdMomentumFunction function = function_;
    function.params.learning_rate = arguments.run_value.value_or(function.params.learning_rate);
    for (std::size_t p = 0; p < ranges_.size(); ++p) {
      const std::int64_t elements = ranges_[p].count;
      const std::int64_t blocks = (elements + kBlock - 1) / kBlock;
      for_each_index(blocks, elements >= kSerialArithmetic, [&](std::int64_t block) {
        const std::int64_t begin = block * kBlock;
        update(function, arguments, p, begin, std::min(begin + kBlock, elements), scaled);
      });
    }
  }

  template <typename Scaled>
  void update(SgdMomentumFunction function, const KernelArguments& arguments, std::size_t p,
              std::int64_t begin, std::int64_t end, Scaled scaled) const {
    const std::int64_t first_element = ranges_[p].first;
    const float* value = arguments.input<float>(3 * p) + first_element;
    const float* gradient = arguments.input<float>(3 * p + 1) + first_element;
    const float* velocity = arguments.input<float>(3 * p + 2);
    float* new_value = arguments.output<float>(2 * p) + first_element;
    float* new_velocity = arguments.output<float>(2 * p + 1);
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) {
      const float moved = function.velocity(value[i], scaled(gradient[i]), velocity[i]);
      new_velocity[i] = moved;
      new_value[i] = value[i] + moved;
    }
  }

  std::vector<UpdateRange> ranges_;
  SgdMomentumFunction function_;
  bool scaled_;
};

}  // namespace

std::unique_ptr<Kernel> make_sgd_momentum_cpu(std::vector<UpdateRange> ranges, SgdParams params,
                                              bool scaled) {
  return std::make_unique<SgdMomentumKernelCpu>(std::move(ranges), params, scaled);
}

}  // namespace skyline
