// Matrix products and convolutions in place of cuBLAS and cuDNN: loops, enqueued like the
// libraries' kernels, that check the alignment promised to the libraries. This file is compiled
// without sanitizers, because instrumented loops would take most of the tests' time; instead,
// operands are checked beforehand to be on the device.

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "framework/cuda/cublas/product.h"
#include "framework/cuda/cuda_compute.h"
#include "framework/cuda/cuda_error.h"
#include "framework/ops/connection/convolution_cuda.h"
#include "tests/cuda_emulation/convolution_workspace.h"
#include "tests/cuda_emulation/device_memory.h"

namespace skyline {
namespace {

void enqueue(CudaCompute& compute, std::function<void()> work) {
  check_cuda(cuda_emulation::enqueue_work(compute.stream(), std::move(work)), "a library's call");
}

struct Operand {
  const void* address;
  std::int64_t bytes;
};

Operand floats(const float* address, std::int64_t count) {
  return {address, count * static_cast<std::int64_t>(sizeof(float))};
}

void require(std::initializer_list<Operand> operands, std::uintptr_t alignment) {
  for (const auto& [address, bytes] : operands) {
    if (reinterpret_cast<std::uintptr_t>(address) % alignment != 0) {
      throw std::logic_error("a library got an address that is no multiple of what was promised");
    }
    if (bytes > 0 && !cuda_emulation::is_on_device(address, static_cast<std::size_t>(bytes))) {
      throw std::logic_error("a library got an operand that does not lie on the device");
    }
  }
}

// Required by cublasSetWorkspace; cuBLASLt and cuDNN document none.
constexpr std::uintptr_t kWorkspaceAlignment = 256;

// As max() does, the libraries' relu replaces NaN.
float library_relu(double value) { return value > 0 ? static_cast<float>(value) : 0.0f; }

// Reads b along its rows as stored, for contiguous access.
void multiply(const ProductProblem& problem, const ProductOperands& operands) {
  const std::int64_t rows = problem.rows, columns = problem.columns, inner = problem.inner;
  const std::int64_t a_row = problem.transposed_a ? 1 : inner;
  const std::int64_t a_inner = problem.transposed_a ? rows : 1;
  std::vector<double> sums(static_cast<std::size_t>(columns));
  for (std::int64_t row = 0; row < rows; ++row) {
    float* const c = operands.c + row * columns;
    const float* const before = problem.add ? c : problem.bias ? operands.bias : nullptr;
    const float* const a = operands.a + row * a_row;
    double* const sum = sums.data();
    for (std::int64_t k = 0; k < columns; ++k) sum[k] = before == nullptr ? 0.0 : before[k];
    if (problem.transposed_b) {
      for (std::int64_t k = 0; k < columns; ++k) {
        const float* const b = operands.b + k * inner;
        for (std::int64_t i = 0; i < inner; ++i) sum[k] += double{a[i * a_inner]} * b[i];
      }
    } else {
      for (std::int64_t i = 0; i < inner; ++i) {
        const double factor = a[i * a_inner];
        const float* const b = operands.b + i * columns;
        for (std::int64_t k = 0; k < columns; ++k) sum[k] += factor * b[k];
      }
    }
    std::transform(sum, sum + columns, c, [&](double value) {
      return problem.relu ? library_relu(value) : static_cast<float>(value);
    });
  }
}

// Overwrites the workspace first, as a library that uses it does.
class EmulatedProduct final : public Product {
 public:
  EmulatedProduct(CudaCompute& compute, const ProductProblem& problem)
      : compute_(compute), problem_(problem) {}

  void run(const ProductOperands& operands) override {
    const std::int64_t rows = problem_.rows, columns = problem_.columns, inner = problem_.inner;
    const auto workspace = static_cast<std::int64_t>(product_workspace_bytes(problem_));
    require({{operands.workspace, workspace}}, kWorkspaceAlignment);
    require(
        {floats(operands.a, rows * inner), floats(operands.b, inner * columns),
         floats(operands.bias, problem_.bias ? columns : 0), floats(operands.c, rows * columns)},
        alignof(float));
    enqueue(compute_, [problem = problem_, operands] {
      std::fill_n(operands.workspace, product_workspace_bytes(problem), std::byte{0xEE});
      multiply(problem, operands);
    });
  }

 private:
  CudaCompute& compute_;
  ProductProblem problem_;
};

// Calls visit(pixel of y, pixel of x, place in the window) for all combinations, except those in
// the padding.
template <typename Visit>
void for_each_meeting(const Conv2dProblem& problem, const Visit& visit) {
  const Size2d stride = problem.params.stride, padding = problem.params.padding;
  const std::int64_t height = problem.x[2], width = problem.x[3];
  const std::int64_t window_width = problem.weight[3], window = problem.weight[2] * window_width;
  const std::int64_t out_width = problem.y[3], out = problem.y[2] * out_width;
  for (std::int64_t y = 0; y < problem.y[0] * out; ++y) {
    for (std::int64_t k = 0; k < window; ++k) {
      const std::int64_t h =
          y % out / out_width * stride.height - padding.height + k / window_width;
      const std::int64_t w = y % out_width * stride.width - padding.width + k % window_width;
      if (h < 0 || h >= height || w < 0 || w >= width) continue;
      visit(y, (y / out * height + h) * width + w, k);
    }
  }
}

const Shape& result_shape(ConvolutionKind kind, const Conv2dProblem& problem) {
  return kind == ConvolutionKind::kForward     ? problem.y
         : kind == ConvolutionKind::kGradInput ? problem.x
                                               : problem.weight;
}

// Adds each product of two elements to its place in the result, in double precision. An output
// channel meets the `in` input channels of its group.
void convolve(const Conv2dProblem& problem, ConvolutionKind kind,
              const ConvolutionOperands& operands) {
  const std::int64_t in = problem.weight[1], out = problem.y[1];
  const std::int64_t outputs_of_group = out / problem.params.groups;
  const std::int64_t window = problem.weight[2] * problem.weight[3];
  std::vector<double> all(static_cast<std::size_t>(result_shape(kind, problem).elements()));
  double* const sums = all.data();
  const float *first = operands.first, *second = operands.second;
  for_each_meeting(problem, [&](std::int64_t y_pixel, std::int64_t x_pixel, std::int64_t k) {
    for (std::int64_t o = 0; o < out; ++o) {
      const std::int64_t y = y_pixel * out + o, weight = (o * window + k) * in;
      const std::int64_t x = x_pixel * problem.x[1] + o / outputs_of_group * in;
      if (kind == ConvolutionKind::kForward) {
        double sum = 0;
        for (std::int64_t c = 0; c < in; ++c) sum += double{first[x + c]} * second[weight + c];
        sums[y] += sum;
      } else {
        const bool of_input = kind == ConvolutionKind::kGradInput;
        const float* factors = first + (of_input ? weight : x);
        double* to = sums + (of_input ? x : weight);
        for (std::int64_t c = 0; c < in; ++c) to[c] += double{factors[c]} * second[y];
      }
    }
  });
  std::ranges::transform(all, operands.result, [](double sum) { return static_cast<float>(sum); });
}

// Does what the op's own kernel does with y, but for NaN.
void add_bias_and_relu(const Conv2dProblem& problem, const ConvolutionOperands& operands) {
  const std::int64_t channels = problem.y[1];
  for (std::int64_t i = 0; i < problem.y.elements(); ++i) {
    operands.result[i] = library_relu(operands.result[i] + operands.bias[i % channels]);
  }
}

// Overwrites the workspace first, as above. Finishes y where bias and relu follow, unless there are
// groups, so that the op's own kernel for both runs, too. It is the only engine, so that there is
// nothing to measure; but it is noted, and a noted one is used as it is.
class EmulatedConvolution final : public Convolution {
 public:
  EmulatedConvolution(CudaCompute& compute, ConvolutionKind kind, const Conv2dProblem& problem)
      : compute_(compute),
        kind_(kind),
        problem_(problem),
        choice_{.finishes = kind == ConvolutionKind::kForward && problem.bias &&
                            problem.params.relu && problem.params.groups == 1,
                .workspace_bytes = cuda_emulation::convolution_workspace_bytes(kind, problem)} {
    if (EngineChoices* const engines = compute.options().engines; engines != nullptr) {
      key_ = std::string(convolution_name(kind)) + " " + problem.str();
      const auto limit = engines->most_workspace_bytes.find(key_);
      if (limit != engines->most_workspace_bytes.end()) {
        choice_.workspace_bytes = std::min(choice_.workspace_bytes, limit->second);
      }
      choice_ = engines->by_problem.emplace(key_, choice_).first->second;
    }
  }

  std::size_t workspace_bytes() const override { return choice_.workspace_bytes; }
  bool finishes() const override { return choice_.finishes; }
  std::optional<EngineUse> engine_use() const override {
    if (key_.empty()) return {};
    return EngineUse{.problem = key_, .engine = {}, .smaller = {}};
  }
  void run(const ConvolutionOperands& operands) override {
    const Shape &x = problem_.x, &weight = problem_.weight, &y = problem_.y;
    const Shape& first = kind_ == ConvolutionKind::kGradInput ? weight : x;
    const Shape& second = kind_ == ConvolutionKind::kForward ? weight : y;
    require({{operands.workspace, static_cast<std::int64_t>(workspace_bytes())}},
            kWorkspaceAlignment);
    require({floats(operands.first, first.elements()), floats(operands.second, second.elements()),
             floats(operands.result, result_shape(kind_, problem_).elements())},
            kConvolutionAlignmentBytes);
    if (finishes()) require({floats(operands.bias, y[1])}, kConvolutionAlignmentBytes);
    enqueue(compute_, [kind = kind_, problem = problem_, operands, bytes = workspace_bytes(),
                       finishes = finishes()] {
      std::fill_n(operands.workspace, bytes, std::byte{0xEE});
      convolve(problem, kind, operands);
      if (finishes) add_bias_and_relu(problem, operands);
    });
  }

 private:
  CudaCompute& compute_;
  ConvolutionKind kind_;
  Conv2dProblem problem_;
  EngineChoice choice_;
  std::string key_;  // empty without choices
};

constexpr const char* kEmulatedCard =
    R"({"deviceName": "an emulated device", "deviceVer": 900, "multiProcessorCount": 1})";

}  // namespace

std::unique_ptr<Compute> make_cuda_compute(const CudaOptions& options) {
  if (options.engines != nullptr && options.engines->card.empty()) {
    options.engines->card = kEmulatedCard;
  }
  return std::make_unique<CudaCompute>(options);
}

std::unique_ptr<Product> make_product(CudaCompute& compute, const ProductProblem& problem) {
  return std::make_unique<EmulatedProduct>(compute, problem);
}

std::unique_ptr<Convolution> make_convolution(CudaCompute& compute, ConvolutionKind kind,
                                              const Conv2dProblem& problem) {
  return std::make_unique<EmulatedConvolution>(compute, kind, problem);
}

}  // namespace skyline
