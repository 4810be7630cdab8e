#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "framework/context.h"
#include "memory/adaptors/checking_adaptors.h"
#include "memory/allocators/best_fit_pool.h"
#include "tests/framework/backend.h"
#include "tests/framework/host_tensor.h"

namespace skyline {

// Runs an op and its gradient ops by hand, without a graph, and shows every output. All memory is
// guarded and poisoned with NaN, to find kernels that write beside their outputs and workspace or
// read what they have not written.
class KernelRun {
 public:
  struct Results {
    std::vector<HostTensor> outputs;
    std::vector<HostTensor> gradients;  // by input; without values if none was given
  };

  explicit KernelRun(std::shared_ptr<Compute> compute = backend().compute())
      : context_(guard_, {.compute = std::move(compute)}) {}

  Results operator()(const Op& op, const std::vector<HostTensor>& inputs,
                     const HostTensor& grad_output) {
    std::vector<Tensor> operands;
    std::vector<TensorSpec> specs;
    for (const HostTensor& input : inputs) {
      operands.push_back(upload(input));
      specs.push_back(operands.back().spec());
    }
    const std::vector<Tensor> outputs = context_.execute(op, operands, {}, Phase::kForward, "");
    Results results;
    for (const Tensor& output : outputs) results.outputs.push_back(read(output));
    results.gradients.resize(inputs.size());
    const Tensor gradient = upload(grad_output);
    for (const GradientCall& call : op.gradient(specs, std::vector(inputs.size(), true))) {
      std::vector<Tensor> sources;
      for (const GradientSource& source : call.sources) {
        sources.push_back(pick(source, operands, outputs, gradient));
      }
      const auto made = context_.execute(*call.op, std::move(sources), {}, Phase::kBackward, "");
      for (std::size_t j = 0; j < made.size(); ++j) {
        results.gradients[static_cast<std::size_t>(call.gradient_of[j])] = read(made[j]);
      }
    }
    EXPECT_NO_THROW(guard_.check());
    return results;
  }

  // Runs an op without gradients.
  std::vector<HostTensor> forward(const Op& op, const std::vector<HostTensor>& inputs) {
    std::vector<Tensor> operands;
    for (const HostTensor& input : inputs) operands.push_back(upload(input));
    std::vector<HostTensor> results;
    for (const Tensor& output :
         context_.execute(op, std::move(operands), {}, Phase::kForward, "")) {
      results.push_back(read(output));
    }
    EXPECT_NO_THROW(guard_.check());
    return results;
  }

 private:
  static const Tensor& pick(const GradientSource& source, const std::vector<Tensor>& inputs,
                            const std::vector<Tensor>& outputs, const Tensor& grad_output) {
    const auto index = static_cast<std::size_t>(source.index);
    if (source.kind == GradientSource::Kind::kInput) return inputs[index];
    if (source.kind == GradientSource::Kind::kOutput) return outputs[index];
    return grad_output;
  }

  Tensor upload(const HostTensor& tensor) {
    return context_.upload({tensor.shape}, stored_values(tensor).data());
  }

  static HostTensor read(const Tensor& tensor) {
    std::vector<std::byte> bytes(tensor.spec().bytes());
    backend().compute()->read(bytes.data(), tensor.address(), bytes.size());
    std::vector<float> values;
    for (std::int64_t i = 0; i < tensor.shape().elements(); ++i) {
      const std::byte* address = bytes.data() + i * std::int64_t(dtype_bytes(tensor.spec().dtype));
      switch (tensor.spec().dtype) {
        case DType::kFloat32:
          values.push_back(*reinterpret_cast<const float*>(address));
          break;
        case DType::kInt32:
          values.push_back(static_cast<float>(*reinterpret_cast<const std::int32_t*>(address)));
          break;
        case DType::kUint8:
          values.push_back(static_cast<float>(*address));
          break;
      }
    }
    return from_memory_order(tensor.shape(), values);
  }

  std::unique_ptr<Device> device_ = backend().make_device();
  BestFitPool pool_{*device_};
  GuardAdaptor guard_{pool_, *device_};
  Context context_;
};

// Expects every element within `tolerance` times the largest expected magnitude.
inline void expect_close(const char* what, const HostTensor& got, const HostTensor& expected,
                         double tolerance) {
  ASSERT_EQ(got.shape, expected.shape) << what << " " << got.shape.str() << expected.shape.str();
  double scale = 0;
  for (const double value : expected.values) scale = std::max(scale, std::fabs(value));
  for (std::int64_t i = 0; i < got.elements(); ++i) {
    const double error = std::fabs(got[i] - expected[i]);
    ASSERT_TRUE(error <= tolerance * scale)
        << what << " [" << i << "]: got " << got[i] << ", expected " << expected[i];
  }
}

}  // namespace skyline
