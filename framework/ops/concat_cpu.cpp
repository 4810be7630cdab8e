#include <algorithm>
#include <numeric>

#include "framework/ops/concat_kernels.h"
#include "framework/ops/elementwise_cpu.h"

namespace skyline {
namespace {

// Where in each row of the joined tensor one of its parts lies.
struct Slice {
  std::int64_t offset = 0;
  std::int64_t width = 0;
};

std::vector<Slice> slices_of(const ConcatLayout& layout) {
  std::vector<Slice> slices;
  std::int64_t offset = 0;
  for (const std::int64_t width : layout.widths) {
    slices.push_back({offset, width});
    offset += width;
  }
  return slices;
}

class ConcatKernelCpu : public Kernel {
 public:
  explicit ConcatKernelCpu(const ConcatLayout& layout)
      : rows_(layout.rows),
        width_(std::accumulate(layout.widths.begin(), layout.widths.end(), std::int64_t{0})),
        slices_(slices_of(layout)) {}

  void run(const KernelArguments& arguments) override {
    for_each_index(rows_, rows_ * width_ >= kSerialArithmetic, [&](std::int64_t row) {
      float* joined = arguments.output<float>(0) + row * width_;
      for (std::size_t i = 0; i < slices_.size(); ++i) {
        const auto [offset, width] = slices_[i];
        std::copy_n(arguments.input<float>(i) + row * width, width, joined + offset);
      }
    });
  }

 private:
  std::int64_t rows_;
  std::int64_t width_;
  std::vector<Slice> slices_;
};

class ConcatGradKernelCpu : public Kernel {
 public:
  ConcatGradKernelCpu(const ConcatLayout& layout, const std::vector<bool>& needed)
      : rows_(layout.rows),
        width_(std::accumulate(layout.widths.begin(), layout.widths.end(), std::int64_t{0})) {
    const std::vector<Slice> all = slices_of(layout);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (needed[i]) slices_.push_back(all[i]);
    }
  }

  void run(const KernelArguments& arguments) override {
    for_each_index(rows_, rows_ * width_ >= kSerialArithmetic, [&](std::int64_t row) {
      const float* joined = arguments.input<float>(0) + row * width_;
      for (std::size_t j = 0; j < slices_.size(); ++j) {
        const auto [offset, width] = slices_[j];
        std::copy_n(joined + offset, width, arguments.output<float>(j) + row * width);
      }
    });
  }

 private:
  std::int64_t rows_;
  std::int64_t width_;
  std::vector<Slice> slices_;
};

}  // namespace

std::unique_ptr<Kernel> make_concat_cpu(const ConcatLayout& layout) {
  return std::make_unique<ConcatKernelCpu>(layout);
}

std::unique_ptr<Kernel> make_concat_grad_cpu(const ConcatLayout& layout,
                                             const std::vector<bool>& needed) {
  return std::make_unique<ConcatGradKernelCpu>(layout, needed);
}

}  // namespace skyline
