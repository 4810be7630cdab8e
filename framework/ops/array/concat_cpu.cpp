#include <numeric>

#include "framework/ops/activation/relu_kernels.h"
#include "framework/ops/array/concat_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

// The place of one part in each row of the joined tensor.
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

std::int64_t joined_width(const ConcatLayout& layout) {
  return std::accumulate(layout.widths.begin(), layout.widths.end(), std::int64_t{0});
}

// to[i] = function(i) for one row of a slice: a few vectors, too short for memcpy to pay.
template <typename Function>
void write_row(float* to, std::int64_t width, const Function& function) {
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) to[i] = function(i);
}

class ConcatKernelCpu : public Kernel {
 public:
  ConcatKernelCpu(const ConcatLayout& layout, bool relu)
      : rows_(layout.rows), width_(joined_width(layout)), relu_(relu), slices_(slices_of(layout)) {}

  void run(const KernelArguments& arguments) override {
    for_each_index(rows_, rows_ * width_ >= kSerialArithmetic, [&](std::int64_t row) {
      float* joined = arguments.output<float>(0) + row * width_;
      for (std::size_t i = 0; i < slices_.size(); ++i) {
        const auto [offset, width] = slices_[i];
        const float* part = arguments.input<float>(i) + row * width;
        if (relu_) {
          write_row(joined + offset, width,
                    [=](std::int64_t c) { return ReluFunction{}(part[c]); });
        } else {
          write_row(joined + offset, width, [=](std::int64_t c) { return part[c]; });
        }
      }
    });
  }

 private:
  std::int64_t rows_;
  std::int64_t width_;
  bool relu_;
  std::vector<Slice> slices_;
};

class ConcatGradKernelCpu : public Kernel {
 public:
  ConcatGradKernelCpu(const ConcatLayout& layout, bool relu, const std::vector<bool>& needed)
      : rows_(layout.rows), width_(joined_width(layout)), relu_(relu) {
    const std::vector<Slice> all = slices_of(layout);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (needed[i]) slices_.push_back(all[i]);
    }
  }

  void run(const KernelArguments& arguments) override {
    for_each_index(rows_, rows_ * width_ >= kSerialArithmetic, [&](std::int64_t row) {
      for (std::size_t j = 0; j < slices_.size(); ++j) {
        const auto [offset, width] = slices_[j];
        const std::int64_t at = row * width_ + offset;
        const float* joined = arguments.input<float>(0) + at;
        float* part = arguments.output<float>(j) + row * width;
        if (relu_) {
          const float* y = arguments.input<float>(1) + at;
          write_row(part, width,
                    [=](std::int64_t c) { return ReluGradFunction{}(joined[c], y[c]); });
        } else {
          write_row(part, width, [=](std::int64_t c) { return joined[c]; });
        }
      }
    });
  }

 private:
  std::int64_t rows_;
  std::int64_t width_;
  bool relu_;
  std::vector<Slice> slices_;
};

}  // namespace

std::unique_ptr<Kernel> make_concat_cpu(const ConcatLayout& layout, bool relu) {
  return std::make_unique<ConcatKernelCpu>(layout, relu);
}

std::unique_ptr<Kernel> make_concat_grad_cpu(const ConcatLayout& layout, bool relu,
                                             const std::vector<bool>& needed) {
  return std::make_unique<ConcatGradKernelCpu>(layout, relu, needed);
}

}  // namespace skyline
