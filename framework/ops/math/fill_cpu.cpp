#include <algorithm>

#include "framework/ops/math/fill_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

class FillKernelCpu : public Kernel {
 public:
  FillKernelCpu(std::int64_t elements, float value) : elements_(elements), value_(value) {}

  void run(const KernelArguments& arguments) override {
    float* const output = arguments.output<float>(0);
    for_each_range(elements_, elements_ >= kSerialArithmetic, kVectors,
                   [&](auto begin, auto end) { std::fill(output + begin, output + end, value_); });
  }

 private:
  std::int64_t elements_;
  float value_;
};

}  // namespace

std::unique_ptr<Kernel> make_fill_cpu(std::int64_t elements, float value) {
  return std::make_unique<FillKernelCpu>(elements, value);
}

}  // namespace skyline
