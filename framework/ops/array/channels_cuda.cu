#include <algorithm>
#include <numeric>
#include <utility>

#include "framework/ops/activation/activations_kernels.h"
#include "framework/ops/array/channels_kernels.h"
#include "framework/ops/support/divider.h"
#include "framework/ops/support/images_cuda.h"
#include "framework/ops/support/vectors_cuda.h"

namespace skyline {
namespace {

// Parts of joined rows that one kernel copies. Their columns are numbered through: slice k holds
// columns begin … of that numbering, columns offset … of the joined rows and columns 0 … of `part`.
// Columns count floats until in_units() turns them into units: nvcc emits vector stores only if it
// sees a product with the width of a unit.
template <typename Float>
struct Slices {
  static constexpr int kMost = 64;  // kernel arguments hold this many addresses
  struct Slice {
    Float* part;
    std::int64_t begin, offset, width;
  };
  Slice at[kMost];
  int count = 0;
  std::int64_t width = 0;  // of all slices together

  void add(Float* part, std::int64_t offset, std::int64_t part_width) {
    at[count++] = {part, width, offset, part_width};
    width += part_width;
  }
  bool in_fours(std::int64_t joined_width) const {
    return joined_width % kFloats == 0 && std::all_of(at, at + count, [](const Slice& slice) {
             return slice.offset % kFloats == 0 && slice.width % kFloats == 0;
           });
  }
  Slices in_units(int unit) const {
    Slices result = *this;
    for (Slice& slice : result.at) {
      slice.begin /= unit;
      slice.offset /= unit;
      slice.width /= unit;
    }
    result.width /= unit;
    return result;
  }
  __device__ const Slice& of_column(std::int64_t column) const {
    int k = 0;
    while (k + 1 < count && column >= at[k + 1].begin) ++k;
    return at[k];
  }
};

template <int kWidth>
struct ConcatBody {
  Slices<const float> slices;  // in units
  float* joined;
  std::int64_t width;  // of a joined row
  bool relu;
  Divider units_per_row;

  __device__ void operator()(std::int64_t unit) const {
    const auto [row, column] = units_per_row(unit);
    const auto& slice = slices.of_column(column);
    const std::int64_t inside = column - slice.begin;
    auto values = load<kWidth>(slice.part + (row * slice.width + inside) * kWidth);
    if (relu) {
      for (float& value : values.at) value = ReluFunction{}(value);
    }
    store(joined + (row * width + slice.offset + inside) * kWidth, values);
  }
};

template <int kWidth>
struct ConcatGradBody {
  Slices<float> slices;  // in units
  const float* joined;
  const float* y;      // null: no relu
  std::int64_t width;  // of a joined row
  Divider units_per_row;

  __device__ void operator()(std::int64_t unit) const {
    const auto [row, column] = units_per_row(unit);
    const auto& slice = slices.of_column(column);
    const std::int64_t inside = column - slice.begin;
    const std::int64_t at = (row * width + slice.offset + inside) * kWidth;
    auto gradient = load<kWidth>(joined + at);
    if (y != nullptr) {
      const auto passed = load<kWidth>(y + at);
      for (int k = 0; k < kWidth; ++k) {
        gradient.at[k] = ReluGradFunction{}(gradient.at[k], passed.at[k]);
      }
    }
    store(slice.part + (row * slice.width + inside) * kWidth, gradient);
  }
};

template <int kWidth>
struct ShortcutBody {
  ImageExtents x;
  PixelUnits units;
  int stride;
  const float* input;
  float* output;

  __device__ void operator()(std::int64_t index) const {
    const auto [n, row, column, channel] = units(index);
    const float* from = input + x.offset(n, row * stride, column * stride) + channel;
    store(output + index * kWidth,
          channel < x.channels ? load<kWidth>(from) : vector_of<kWidth>(0));
  }
};

template <int kWidth>
struct ShortcutGradBody {
  ImageExtents y;
  PixelUnits units;
  int stride;
  const float* grad_output;
  float* grad_input;

  __device__ void operator()(std::int64_t index) const {
    const auto [n, row, column, channel] = units(index);
    const bool taken = row % stride == 0 && column % stride == 0;
    const float* from = grad_output + y.offset(n, row / stride, column / stride) + channel;
    store(grad_input + index * kWidth, taken ? load<kWidth>(from) : vector_of<kWidth>(0));
  }
};

std::int64_t width_of(const ConcatLayout& layout) {
  return std::accumulate(layout.widths.begin(), layout.widths.end(), std::int64_t{0});
}

bool in_fours(const ShortcutProblem& problem) {
  return problem.x[1] % kFloats == 0 && problem.y[1] % kFloats == 0;
}

}  // namespace

std::unique_ptr<Kernel> make_concat_cuda(CudaCompute& compute, const ConcatProblem& problem) {
  return make_kernel([&compute, problem](const KernelArguments& arguments) {
    const std::vector<std::int64_t>& widths = problem.layout.widths;
    const std::int64_t joined_width = width_of(problem.layout);
    const auto join = [&](const Slices<const float>& slices) {
      with_width(slices.in_fours(joined_width), [&](auto width) {
        const std::int64_t units = slices.width / width;
        for_each_index(compute, problem.layout.rows * units,
                       ConcatBody<width.value>{slices.in_units(width), arguments.output<float>(0),
                                               joined_width / width, problem.relu, Divider(units)});
      });
    };
    Slices<const float> slices{};
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (slices.count == slices.kMost) join(std::exchange(slices, {}));
      slices.add(arguments.input<float>(i), offset, widths[i]);
      offset += widths[i];
    }
    join(slices);
  });
}

std::unique_ptr<Kernel> make_concat_grad_cuda(CudaCompute& compute, const ConcatProblem& problem) {
  return make_kernel([&compute, problem](const KernelArguments& arguments) {
    const std::vector<std::int64_t>& widths = problem.layout.widths;
    const std::int64_t joined_width = width_of(problem.layout);
    const auto split = [&](const Slices<float>& slices) {
      with_width(slices.in_fours(joined_width), [&](auto width) {
        const std::int64_t units = slices.width / width;
        for_each_index(
            compute, problem.layout.rows * units,
            ConcatGradBody<width.value>{slices.in_units(width), arguments.input<float>(0),
                                        problem.relu ? arguments.input<float>(1) : nullptr,
                                        joined_width / width, Divider(units)});
      });
    };
    Slices<float> slices{};
    std::int64_t offset = 0;
    std::size_t next = 0;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (slices.count == slices.kMost) split(std::exchange(slices, {}));
      if (problem.needed[i]) slices.add(arguments.output<float>(next++), offset, widths[i]);
      offset += widths[i];
    }
    if (slices.count > 0) split(slices);
  });
}

std::unique_ptr<Kernel> make_shortcut_cuda(CudaCompute& compute, const ShortcutProblem& problem) {
  return make_pixel_kernel(
      compute, problem.y, in_fours(problem),
      [problem](auto width, const PixelUnits& units, const KernelArguments& arguments) {
        return ShortcutBody<width.value>{ImageExtents(problem.x), units,
                                         static_cast<int>(problem.stride),
                                         arguments.input<float>(0), arguments.output<float>(0)};
      });
}

std::unique_ptr<Kernel> make_shortcut_grad_cuda(CudaCompute& compute,
                                                const ShortcutProblem& problem) {
  return make_pixel_kernel(
      compute, problem.x, in_fours(problem),
      [problem](auto width, const PixelUnits& units, const KernelArguments& arguments) {
        return ShortcutGradBody<width.value>{ImageExtents(problem.y), units,
                                             static_cast<int>(problem.stride),
                                             arguments.input<float>(0), arguments.output<float>(0)};
      });
}

}  // namespace skyline
