#include <algorithm>
#include <utility>

#include "framework/ops/optimizer/adam_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

class AdamKernelCpu : public Kernel {
 public:
  AdamKernelCpu(std::vector<UpdateRange> ranges, AdamFunction function, bool scaled)
      : ranges_(std::move(ranges)), function_(function), scaled_(scaled) {}

  void run(const KernelArguments& arguments) override {
    const float scale = scaled_ ? *arguments.input<float>(4 * ranges_.size()) : 1.0f;
    AdamFunction function = function_;
    function.rate = arguments.run_value.value_or(function.rate);
    for (std::size_t p = 0; p < ranges_.size(); ++p) {
      const std::int64_t elements = ranges_[p].count;
      const std::int64_t blocks = (elements + kBlock - 1) / kBlock;
      for_each_index(blocks, elements >= kSerialArithmetic, [&](std::int64_t block) {
        const std::int64_t begin = block * kBlock;
        update(function, arguments, p, scale, begin, std::min(begin + kBlock, elements));
      });
    }
  }

 private:
  static constexpr std::int64_t kBlock = 1024;

  void update(AdamFunction function, const KernelArguments& arguments, std::size_t p, float scale,
              std::int64_t begin, std::int64_t end) const {
    const std::int64_t first_element = ranges_[p].first;
    const float* value = arguments.input<float>(4 * p) + first_element;
    const float* gradient = arguments.input<float>(4 * p + 1) + first_element;
    const float* first = arguments.input<float>(4 * p + 2);
    const float* second = arguments.input<float>(4 * p + 3);
    float* new_value = arguments.output<float>(3 * p) + first_element;
    float* new_first = arguments.output<float>(3 * p + 1);
    float* new_second = arguments.output<float>(3 * p + 2);
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) {
      const float scaled = gradient[i] * scale;
      const float mean = function.first(first[i], scaled);
      const float square = function.second(second[i], scaled);
      new_first[i] = mean;
      new_second[i] = square;
      new_value[i] = value[i] - function.rate * mean / (__builtin_sqrtf(square) + function.epsilon);
    }
  }

  std::vector<UpdateRange> ranges_;
  AdamFunction function_;
  bool scaled_;
};

}  // namespace

std::unique_ptr<Kernel> make_adam_cpu(std::vector<UpdateRange> ranges, AdamFunction function,
                                      bool scaled) {
  return std::make_unique<AdamKernelCpu>(std::move(ranges), function, scaled);
}

}  // namespace skyline
