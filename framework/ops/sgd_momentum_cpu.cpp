#include "framework/ops/elementwise_cpu.h"
#include "framework/ops/sgd_momentum_kernels.h"

namespace skyline {
namespace {

class SgdMomentumKernelCpu : public Kernel {
 public:
  SgdMomentumKernelCpu(std::int64_t elements, SgdParams params)
      : elements_(elements), function_{params} {}

  void run(const KernelArguments& arguments) override {
    const float* value = arguments.input<float>(0);
    const float* gradient = arguments.input<float>(1);
    const float* velocity = arguments.input<float>(2);
    float* new_value = arguments.output<float>(0);
    float* new_velocity = arguments.output<float>(1);
#pragma omp parallel for simd schedule(static) if (parallel : elements_ >= kSerialArithmetic)
    for (std::int64_t i = 0; i < elements_; ++i) {
      const float moved = function_.velocity(value[i], gradient[i], velocity[i]);
      new_velocity[i] = moved;
      new_value[i] = value[i] + moved;
    }
  }

 private:
  std::int64_t elements_;
  SgdMomentumFunction function_;
};

}  // namespace

std::unique_ptr<Kernel> make_sgd_momentum_cpu(std::int64_t elements, SgdParams params) {
  return std::make_unique<SgdMomentumKernelCpu>(elements, params);
}

}  // namespace skyline
