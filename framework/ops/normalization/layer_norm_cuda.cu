#include <cmath>

#include "framework/ops/normalization/normalization_kernels.h"
#include "framework/ops/support/reduce_cuda.h"

namespace skyline {
namespace {

// The row of a block, which is blockIdx.x.
struct Row {
  std::int64_t begin, channels;
  __device__ Row(const LayerNormProblem& problem)
      : begin(blockIdx.x * problem.channels), channels(problem.channels) {}
  // Calls body(channel) for the thread's channels.
  template <typename Body>
  __device__ void for_each(const Body& body) const {
    for (std::int64_t c = threadIdx.x; c < channels; c += blockDim.x) body(c);
  }
  template <typename Term>
  __device__ float mean(const Term& term) const {
    float sum = 0;
    for_each([&](std::int64_t c) { sum += term(c); });
    return reduce_block<Adding<float>>(sum) / static_cast<float>(channels);
  }
};

struct Given {
  const float *mean, *scale;  // of each row
};

__global__ void __launch_bounds__(kThreads)
    normalize_kernel(LayerNormProblem problem, const float* x, const float* weight,
                     const float* bias, float* y, float* means, float* scales) {
  const Row row(problem);
  const float mean = row.mean([&](std::int64_t c) { return x[row.begin + c]; });
  const float variance = row.mean([&](std::int64_t c) {
    const float away = x[row.begin + c] - mean;
    return away * away;
  });
  const float scale = 1.0f / std::sqrt(variance + problem.epsilon);
  if (threadIdx.x == 0) {
    means[blockIdx.x] = mean;
    scales[blockIdx.x] = scale;
  }
  row.for_each([&](std::int64_t c) {
    const float value = (x[row.begin + c] - mean) * scale * weight[c];
    y[row.begin + c] = bias == nullptr ? value : value + bias[c];
  });
}

__global__ void __launch_bounds__(kThreads)
    normalize_grad_kernel(LayerNormProblem problem, const float* x, const float* weight,
                          Given given, const float* grad_y, float* grad_x) {
  const Row row(problem);
  const float mean = given.mean[blockIdx.x], scale = given.scale[blockIdx.x];
  const auto normal = [&](std::int64_t c) { return (x[row.begin + c] - mean) * scale; };
  const auto gradient = [&](std::int64_t c) { return grad_y[row.begin + c] * weight[c]; };
  const float total = row.mean(gradient);
  const float along = row.mean([&](std::int64_t c) { return gradient(c) * normal(c); });
  row.for_each([&](std::int64_t c) {
    grad_x[row.begin + c] = (gradient(c) - total - normal(c) * along) * scale;
  });
}

// Writes a panel's sums for the gradients of weight and bias, a channel a thread.
__global__ void panel_sums_kernel(LayerNormProblem problem, const float* x, Given given,
                                  const float* grad_y, float* sums) {
  const std::int64_t channel = thread_of_grid(), channels = problem.channels;
  if (channel >= channels) return;
  const std::int64_t first = blockIdx.y * LayerNormProblem::kPanelRows;
  const std::int64_t last = first + LayerNormProblem::kPanelRows;
  float of_weight = 0, of_bias = 0;
#pragma unroll 4
  for (std::int64_t row = first; row < (last < problem.rows ? last : problem.rows); ++row) {
    const std::int64_t at = row * channels + channel;
    of_weight += grad_y[at] * ((x[at] - given.mean[row]) * given.scale[row]);
    of_bias += grad_y[at];
  }
  sums[blockIdx.y * 2 * channels + channel] = of_weight;
  sums[(blockIdx.y * 2 + 1) * channels + channel] = of_bias;
}

struct AddPanels {
  const float* sums;
  std::int64_t panels, channels;
  float *grad_weight, *grad_bias;  // the latter null without bias

  __device__ void operator()(std::int64_t i) const {
    float sum = sums[i];
    for (std::int64_t panel = 1; panel < panels; ++panel) sum += sums[panel * 2 * channels + i];
    if (i < channels) {
      grad_weight[i] = sum;
    } else if (grad_bias != nullptr) {
      grad_bias[i - channels] = sum;
    }
  }
};

}  // namespace

std::unique_ptr<Kernel> make_layer_norm_cuda(CudaCompute& compute,
                                             const LayerNormProblem& problem) {
  return make_kernel([&compute, problem](const KernelArguments& arguments) {
    launch(compute, static_cast<unsigned>(problem.rows), kThreads, normalize_kernel, problem,
           arguments.input<float>(0), arguments.input<float>(1),
           problem.bias ? arguments.input<float>(2) : nullptr, arguments.output<float>(0),
           arguments.output<float>(1), arguments.output<float>(2));
  });
}

// The sums come first, because grad_x may be grad_y.
std::unique_ptr<Kernel> make_layer_norm_grad_cuda(CudaCompute& compute,
                                                  const LayerNormProblem& problem) {
  const std::int64_t channels = problem.channels, panels = problem.panels();
  WorkspaceLayout workspace;
  workspace.add_floats(panels * 2 * channels);
  return make_kernel(workspace.bytes(), [=, &compute](const KernelArguments& arguments) {
    const auto *const x = arguments.input<float>(0), *const grad_y = arguments.input<float>(4);
    const Given given{arguments.input<float>(2), arguments.input<float>(3)};
    auto* const sums = reinterpret_cast<float*>(arguments.workspace);
    launch(compute, dim3(blocks_for(channels).x, static_cast<unsigned>(panels)), kThreads,
           panel_sums_kernel, problem, x, given, grad_y, sums);
    for_each_index(compute, 2 * channels,
                   AddPanels{sums, panels, channels, arguments.output<float>(1),
                             problem.bias ? arguments.output<float>(2) : nullptr});
    launch(compute, static_cast<unsigned>(problem.rows), kThreads, normalize_grad_kernel, problem,
           x, arguments.input<float>(1), given, grad_y, arguments.output<float>(0));
  });
}

}  // namespace skyline
