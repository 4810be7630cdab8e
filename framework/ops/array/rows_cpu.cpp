#include <algorithm>
#include <utility>

#include "framework/ops/array/rows_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

void copy_rows(const float* from, std::int64_t rows, std::int64_t width, float* to) {
  for_each_index(rows, rows * width >= kSerialArithmetic, [&](std::int64_t row) {
    std::copy_n(from + row * width, width, to + row * width);
  });
}

class TakeRowsKernelCpu : public Kernel {
 public:
  TakeRowsKernelCpu(std::vector<RowRange> ranges, std::int64_t width)
      : ranges_(std::move(ranges)), width_(width) {}

  void run(const KernelArguments& arguments) override {
    for (std::size_t j = 0; j < ranges_.size(); ++j) {
      copy_rows(arguments.input<float>(0) + ranges_[j].first * width_, ranges_[j].count, width_,
                arguments.output<float>(j));
    }
  }

 private:
  std::vector<RowRange> ranges_;
  std::int64_t width_;
};

class PlaceRowsKernelCpu : public Kernel {
 public:
  PlaceRowsKernelCpu(std::vector<RowRange> ranges, std::int64_t total, std::int64_t width)
      : ranges_(std::move(ranges)), total_(total), width_(width) {}

  void run(const KernelArguments& arguments) override {
    auto* output = arguments.output<float>(0);
    std::int64_t next = 0;
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      std::fill(output + next * width_, output + ranges_[i].first * width_, 0.0f);
      copy_rows(arguments.input<float>(i), ranges_[i].count, width_,
                output + ranges_[i].first * width_);
      next = ranges_[i].first + ranges_[i].count;
    }
    std::fill(output + next * width_, output + total_ * width_, 0.0f);
  }

 private:
  std::vector<RowRange> ranges_;
  std::int64_t total_;
  std::int64_t width_;
};

class PermuteRowsKernelCpu : public Kernel {
 public:
  explicit PermuteRowsKernelCpu(std::int64_t width) : width_(width) {}

  void run(const KernelArguments& arguments) override {
    const auto rows = arguments.run_value.values<std::int32_t>();
    const auto count = static_cast<std::int64_t>(rows.size());
    for_each_index(count, count * width_ >= kSerialArithmetic, [&](std::int64_t row) {
      const float* from = arguments.input<float>(0) + rows[static_cast<std::size_t>(row)] * width_;
      std::copy_n(from, width_, arguments.output<float>(0) + row * width_);
    });
  }

 private:
  std::int64_t width_;
};

}  // namespace

std::unique_ptr<Kernel> make_take_rows_cpu(std::vector<RowRange> ranges, std::int64_t width) {
  return std::make_unique<TakeRowsKernelCpu>(std::move(ranges), width);
}

std::unique_ptr<Kernel> make_place_rows_cpu(std::vector<RowRange> ranges, std::int64_t total,
                                            std::int64_t width) {
  return std::make_unique<PlaceRowsKernelCpu>(std::move(ranges), total, width);
}

std::unique_ptr<Kernel> make_permute_rows_cpu(std::int64_t width) {
  return std::make_unique<PermuteRowsKernelCpu>(width);
}

}  // namespace skyline
