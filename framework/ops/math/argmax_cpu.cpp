#include <algorithm>
#include <cmath>
#include <limits>

#include "framework/ops/math/argmax_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

// Finds the largest element first, which vectorizes, then its column. OpenMP does not say whether a
// maximum begins at minus infinity or at the least finite number; no element need equal the latter.
std::int32_t largest_column(const float* row, std::int64_t columns) {
  float largest = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : largest)
  for (std::int64_t k = 0; k < columns; ++k) largest = row[k] > largest ? row[k] : largest;
  const float* found = std::find(row, row + columns, largest);
  if (found == row + columns) {
    found = std::find_if(row, row + columns, [](float value) { return !std::isnan(value); });
  }
  return found == row + columns ? 0 : static_cast<std::int32_t>(found - row);
}

class ArgmaxKernelCpu : public Kernel {
 public:
  ArgmaxKernelCpu(std::int64_t rows, std::int64_t columns) : rows_(rows), columns_(columns) {}

  void run(const KernelArguments& arguments) override {
    for_each_index(rows_, rows_ * columns_ >= kSerialArithmetic, [&](std::int64_t row) {
      arguments.output<std::int32_t>(0)[row] =
          largest_column(arguments.input<float>(0) + row * columns_, columns_);
    });
  }

 private:
  std::int64_t rows_, columns_;
};

}  // namespace

std::unique_ptr<Kernel> make_argmax_cpu(std::int64_t rows, std::int64_t columns) {
  return std::make_unique<ArgmaxKernelCpu>(rows, columns);
}

}  // namespace skyline
