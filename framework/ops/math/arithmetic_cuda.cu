#include "framework/ops/math/arithmetic_kernels.h"
#include "framework/ops/support/vectors_cuda.h"

namespace skyline {
namespace {

// Kernel arguments hold this many addresses.
constexpr int kMostAddends = 256;

struct SumBody {
  const float* inputs[kMostAddends];
  int count;
  float* output;

  template <int kWidth>
  __device__ void run(std::int64_t i) const {
    auto total = load<kWidth>(inputs[0] + i);
#pragma unroll 4
    for (int k = 1; k < count; ++k) {
      const auto more = load<kWidth>(inputs[k] + i);
      for (int j = 0; j < kWidth; ++j) total.at[j] += more.at[j];
    }
    store(output + i, total);
  }
};

// Gradients that are not needed are null; y is null without relu.
struct AddScaledGradBody {
  const float* grad_output;
  const float* y;
  float scale;
  float* grad_x;
  float* grad_residual;

  template <int kWidth>
  __device__ void run(std::int64_t i) const {
    auto gradient = load<kWidth>(grad_output + i);
    if (y != nullptr) {
      const auto passed = load<kWidth>(y + i);
      for (int k = 0; k < kWidth; ++k) {
        gradient.at[k] = ReluGradFunction{}(gradient.at[k], passed.at[k]);
      }
    }
    if (grad_x != nullptr) store(grad_x + i, gradient);
    if (grad_residual == nullptr) return;
    for (float& value : gradient.at) value = scale * value;
    store(grad_residual + i, gradient);
  }
};

struct FillBody {
  float* output;
  float value;

  template <int kWidth>
  __device__ void run(std::int64_t i) const {
    store(output + i, vector_of<kWidth>(value));
  }
};

}  // namespace

std::unique_ptr<Kernel> make_add_scaled_cuda(CudaCompute& compute, std::int64_t elements,
                                             AddScaledParams params) {
  if (params.relu) {
    return make_elementwise_cuda(compute, elements, AddScaledReluFunction{params.scale});
  }
  return make_elementwise_cuda(compute, elements, AddScaledFunction{params.scale});
}

std::unique_ptr<Kernel> make_add_scaled_grad_cuda(CudaCompute& compute,
                                                  const AddScaledGradients& gradients) {
  return make_kernel([&compute, gradients](const KernelArguments& arguments) {
    const auto& [elements, params, x, residual] = gradients;
    for_each_vector(compute, elements,
                    AddScaledGradBody{arguments.input<float>(0),
                                      params.relu ? arguments.input<float>(1) : nullptr,
                                      params.scale, x ? arguments.output<float>(0) : nullptr,
                                      residual ? arguments.output<float>(x ? 1 : 0) : nullptr});
  });
}

// If one launch cannot take all inputs, the workspace holds the sum so far. The output cannot hold
// it, because it may be an input that is still to be read.
std::unique_ptr<Kernel> make_sum_cuda(CudaCompute& compute, std::int64_t elements, int inputs) {
  const std::size_t workspace_bytes =
      inputs <= kMostAddends ? 0 : static_cast<std::size_t>(elements) * sizeof(float);
  return make_kernel(workspace_bytes, [=, &compute](const KernelArguments& arguments) {
    auto* so_far = reinterpret_cast<float*>(arguments.workspace);
    for (int next = 0; next < inputs;) {
      SumBody body{};
      if (next > 0) body.inputs[body.count++] = so_far;
      while (next < inputs && body.count < kMostAddends) {
        body.inputs[body.count++] = arguments.input<float>(static_cast<std::size_t>(next++));
      }
      body.output = next < inputs ? so_far : arguments.output<float>(0);
      for_each_vector(compute, elements, body);
    }
  });
}

std::unique_ptr<Kernel> make_fill_cuda(CudaCompute& compute, std::int64_t elements, float value) {
  return make_kernel([=, &compute](const KernelArguments& arguments) {
    for_each_vector(compute, elements, FillBody{arguments.output<float>(0), value});
  });
}

}  // namespace skyline
