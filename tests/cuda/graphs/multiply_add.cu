#include "tests/cuda/graphs/multiply_add.h"

#include "framework/cuda/launch.h"

namespace skyline {
namespace {

__global__ void multiply_add_kernel(float* value, float factor, RunNumber<float> more) {
  *value = *value * factor + more.get();
}

class MultiplyAdd final : public Kernel {
 public:
  MultiplyAdd(CudaCompute& compute, float factor, void (*fault)(CudaCompute&))
      : compute_(compute), factor_(factor), fault_(fault) {}
  void run(const KernelArguments& arguments) override {
    if (fault_ != nullptr) fault_(compute_);
    launch(compute_, 1, 1, multiply_add_kernel, arguments.output<float>(0), factor_,
           run_number(arguments, 0.5f));
  }

 private:
  CudaCompute& compute_;
  float factor_;
  void (*fault_)(CudaCompute&);
};

}  // namespace

std::shared_ptr<Kernel> make_multiply_add(CudaCompute& compute, float factor,
                                          void (*fault)(CudaCompute&)) {
  return std::make_shared<MultiplyAdd>(compute, factor, fault);
}

}  // namespace skyline
