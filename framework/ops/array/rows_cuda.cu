#include <algorithm>

#include "framework/ops/array/rows_kernels.h"
#include "framework/ops/support/divider.h"
#include "framework/ops/support/vectors_cuda.h"

namespace skyline {
namespace {

// Runs of floats to copy, in units of kWidth floats: units begin[k] … begin[k + 1] - 1 go to to[k],
// from from[k] or, if that is null, as zeros.
struct Runs {
  static constexpr int kMost = 128;  // kernel arguments hold this many addresses
  std::int64_t begin[kMost + 1];
  const float* from[kMost];
  float* to[kMost];
  int count;
};

template <int kWidth>
struct CopyRunsBody {
  Runs runs;

  __device__ void operator()(std::int64_t unit) const {
    int run = 0, end = runs.count;
    while (end - run > 1) {
      const int middle = (run + end) / 2;
      (unit < runs.begin[middle] ? end : run) = middle;
    }
    const std::int64_t i = (unit - runs.begin[run]) * kWidth;
    const float* from = runs.from[run];
    store(runs.to[run] + i, from == nullptr ? vector_of<kWidth>(0) : load<kWidth>(from + i));
  }
};

// Collects runs of rows and copies as many at a time as a kernel's arguments hold.
class RunCopier {
 public:
  RunCopier(CudaCompute& compute, std::int64_t width) : compute_(compute), width_(width) {}

  void add(const float* from, float* to, std::int64_t rows) {
    if (rows == 0) return;
    if (runs_.count == Runs::kMost) copy();
    runs_.from[runs_.count] = from;
    runs_.to[runs_.count] = to;
    ++runs_.count;
    runs_.begin[runs_.count] = runs_.begin[runs_.count - 1] + rows * width_ / unit();
  }

  void copy() {
    with_width(unit() == kFloats, [this](auto width) {
      for_each_index(compute_, runs_.begin[runs_.count], CopyRunsBody<width.value>{runs_});
    });
    runs_.count = 0;
  }

 private:
  int unit() const { return width_ % kFloats == 0 ? kFloats : 1; }

  CudaCompute& compute_;
  std::int64_t width_;
  Runs runs_{};
};

// Part of a permutation. Passed as a kernel argument, because a copy to the device might wait for
// the stream; in a captured launch it lies in device memory.
struct RowNumbers {
  static constexpr std::size_t kMost = 896;
  std::int32_t numbers[kMost];
  const std::int32_t* at;  // null: `numbers`

  __device__ std::int64_t operator[](std::int64_t row) const {
    return at == nullptr ? numbers[row] : at[row];
  }
};

template <int kWidth>
struct PermuteBody {
  RowNumbers rows;
  const float* input;
  float* output;
  std::int64_t width;
  Divider units_per_row;

  __device__ void operator()(std::int64_t unit) const {
    const auto [row, column] = units_per_row(unit);
    store(output + unit * kWidth, load<kWidth>(input + rows[row] * width + column * kWidth));
  }
};

}  // namespace

std::unique_ptr<Kernel> make_take_rows_cuda(CudaCompute& compute, std::vector<RowRange> ranges,
                                            std::int64_t width) {
  return make_kernel([=, &compute](const KernelArguments& arguments) {
    RunCopier copier(compute, width);
    for (std::size_t j = 0; j < ranges.size(); ++j) {
      copier.add(arguments.input<float>(0) + ranges[j].first * width, arguments.output<float>(j),
                 ranges[j].count);
    }
    copier.copy();
  });
}

std::unique_ptr<Kernel> make_place_rows_cuda(CudaCompute& compute, std::vector<RowRange> ranges,
                                             std::int64_t total, std::int64_t width) {
  return make_kernel([=, &compute](const KernelArguments& arguments) {
    auto* output = arguments.output<float>(0);
    RunCopier copier(compute, width);
    std::int64_t next = 0;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const auto& [first, count] = ranges[i];
      copier.add(nullptr, output + next * width, first - next);
      copier.add(arguments.input<float>(i), output + first * width, count);
      next = first + count;
    }
    copier.add(nullptr, output + next * width, total - next);
    copier.copy();
  });
}

std::unique_ptr<Kernel> make_permute_rows_cuda(CudaCompute& compute, const std::int64_t& columns) {
  return make_kernel([&compute, columns](const KernelArguments& arguments) {
    const auto all = arguments.run_value.values<std::int32_t>();
    const auto* at = reinterpret_cast<const std::int32_t*>(arguments.run_value_at);
    for (std::size_t first = 0; first < all.size(); first += RowNumbers::kMost) {
      const std::size_t count = std::min(RowNumbers::kMost, all.size() - first);
      RowNumbers rows{.numbers = {}, .at = at == nullptr ? nullptr : at + first};
      std::ranges::copy(all.subspan(first, count), rows.numbers);
      with_width(columns % kFloats == 0, [&](auto width) {
        const std::int64_t units = columns / width;
        for_each_index(compute, static_cast<std::int64_t>(count) * units,
                       PermuteBody<width.value>{
                           rows, arguments.input<float>(0),
                           arguments.output<float>(0) + static_cast<std::int64_t>(first) * columns,
                           columns, Divider(units)});
      });
    }
  });
}

}  // namespace skyline
