#include <algorithm>

#include "framework/ops/array/rows_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

void copy_rows(const float* from, std::int64_t rows, std::int64_t width, float* to) {
  for_each_index(rows, rows * width >= kSerialArithmetic, [&](std::int64_t row) {
    std::copy_n(from + row * width, width, to + row * width);
  });
}

}  // namespace

std::unique_ptr<Kernel> make_take_rows_cpu(std::vector<RowRange> ranges, std::int64_t width) {
  return make_kernel([=](const KernelArguments& arguments) {
    for (std::size_t j = 0; j < ranges.size(); ++j) {
      copy_rows(arguments.input<float>(0) + ranges[j].first * width, ranges[j].count, width,
                arguments.output<float>(j));
    }
  });
}

std::unique_ptr<Kernel> make_place_rows_cpu(std::vector<RowRange> ranges, std::int64_t total,
                                            std::int64_t width) {
  return make_kernel([=](const KernelArguments& arguments) {
    auto* output = arguments.output<float>(0);
    std::int64_t next = 0;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const auto& [first, count] = ranges[i];
      std::fill(output + next * width, output + first * width, 0.0f);
      copy_rows(arguments.input<float>(i), count, width, output + first * width);
      next = first + count;
    }
    std::fill(output + next * width, output + total * width, 0.0f);
  });
}

std::unique_ptr<Kernel> make_permute_rows_cpu(const std::int64_t& width) {
  return make_kernel([width](const KernelArguments& arguments) {
    const auto rows = arguments.run_value.values<std::int32_t>();
    const auto count = static_cast<std::int64_t>(rows.size());
    for_each_index(count, count * width >= kSerialArithmetic, [&](std::int64_t row) {
      const float* from = arguments.input<float>(0) + rows[static_cast<std::size_t>(row)] * width;
      std::copy_n(from, width, arguments.output<float>(0) + row * width);
    });
  });
}

}  // namespace skyline
