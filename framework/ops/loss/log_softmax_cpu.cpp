#include <cmath>

#include "framework/ops/activation/exponential.h"
#include "framework/ops/loss/log_softmax_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

void log_softmax_row(const float* logits, float* output, std::int64_t columns) {
  float largest = logits[0];
#pragma omp simd reduction(max : largest)
  for (std::int64_t k = 0; k < columns; ++k) largest = logits[k] > largest ? logits[k] : largest;
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (std::int64_t k = 0; k < columns; ++k) total += exponential(logits[k] - largest);
  const float logarithm = std::log(total);
#pragma omp simd
  for (std::int64_t k = 0; k < columns; ++k) output[k] = logits[k] - largest - logarithm;
}

class LogSoftmaxKernelCpu : public Kernel {
 public:
  LogSoftmaxKernelCpu(std::int64_t rows, std::int64_t columns) : rows_(rows), columns_(columns) {}

  void run(const KernelArguments& arguments) override {
    for_each_index(rows_, rows_ * columns_ >= kSerialTranscendental, [&](std::int64_t row) {
      log_softmax_row(arguments.input<float>(0) + row * columns_,
                      arguments.output<float>(0) + row * columns_, columns_);
    });
  }

 private:
  std::int64_t rows_, columns_;
};

}  // namespace

std::unique_ptr<Kernel> make_log_softmax_cpu(std::int64_t rows, std::int64_t columns) {
  return std::make_unique<LogSoftmaxKernelCpu>(rows, columns);
}

}  // namespace skyline
