#include "framework/ops/connection/cudnn/convolution_graph.h"

#include <limits>
#include <utility>
#include <vector>

namespace skyline {
namespace {

// Numbers that connect addresses with tensors.
enum TensorId : std::int64_t { kX = 1, kWeight, kY, kBias, kSums, kBiasedSums };

// Virtual tensors have no address: they exist only inside an engine.
CudnnDescriptor tensor(TensorId id, const Shape& shape, bool is_virtual = false) {
  const std::int64_t row = shape[3] * shape[1];
  CudnnDescriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS,
             std::vector<std::int64_t>{shape[0], shape[1], shape[2], shape[3]});
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES,
             std::vector<std::int64_t>{shape[2] * row, 1, row, shape[1]});
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, std::int64_t{id});
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kConvolutionAlignmentBytes);
  tensor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual);
  tensor.finalize();
  return tensor;
}

CudnnDescriptor windows(const Conv2dParams& params) {
  const std::vector<std::int64_t> padding{params.padding.height, params.padding.width};
  CudnnDescriptor windows(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  windows.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2});
  windows.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  windows.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION);
  windows.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, padding);
  windows.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, padding);
  windows.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, std::vector<std::int64_t>{1, 1});
  windows.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
              std::vector<std::int64_t>{params.stride.height, params.stride.width});
  windows.finalize();
  return windows;
}

// The operation of one kind and the attributes of its operands.
struct OperationNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t windows, x, weight, y, alpha, beta;
};

constexpr OperationNames kOperations[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}};

CudnnDescriptor convolution(ConvolutionKind kind, const Conv2dProblem& problem,
                            const CudnnDescriptor& y) {
  const OperationNames& names = kOperations[static_cast<int>(kind)];
  CudnnDescriptor operation(names.type);
  operation.set(names.windows, windows(problem.params));
  operation.set(names.x, tensor(kX, problem.x));
  operation.set(names.weight, tensor(kWeight, problem.weight));
  operation.set(names.y, y);
  operation.set(names.alpha, 1.0f);
  operation.set(names.beta, 0.0f);
  operation.finalize();
  return operation;
}

CudnnDescriptor pointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& x,
                          const CudnnDescriptor* b, const CudnnDescriptor& y) {
  CudnnDescriptor function(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  function.set(CUDNN_ATTR_POINTWISE_MODE, mode);
  function.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
  // The defaults may turn NaN into 0 and clip at a value that floats exceed.
  if (mode == CUDNN_POINTWISE_RELU_FWD) {
    function.set(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_PROPAGATE_NAN);
    function.set(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, double{std::numeric_limits<float>::max()});
  }
  function.finalize();
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, function);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
  if (b != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  operation.finalize();
  return operation;
}

// Returns convolution, bias and relu, those that the problem has.
std::vector<CudnnDescriptor> finished_convolution(const Conv2dProblem& problem) {
  const bool relu = problem.params.relu;
  const CudnnDescriptor sums = tensor(kSums, problem.y, true);
  std::vector<CudnnDescriptor> operations;
  operations.push_back(convolution(ConvolutionKind::kForward, problem, sums));
  if (problem.bias) {
    const CudnnDescriptor bias = tensor(kBias, {1, problem.weight[0], 1, 1});
    const CudnnDescriptor biased = tensor(relu ? kBiasedSums : kY, problem.y, relu);
    operations.push_back(pointwise(CUDNN_POINTWISE_ADD, sums, &bias, biased));
    if (relu) {
      operations.push_back(
          pointwise(CUDNN_POINTWISE_RELU_FWD, biased, nullptr, tensor(kY, problem.y)));
    }
  } else {
    operations.push_back(pointwise(CUDNN_POINTWISE_RELU_FWD, sums, nullptr, tensor(kY, problem.y)));
  }
  return operations;
}

}  // namespace

CudnnDescriptor convolution_graph(ConvolutionKind kind, const Conv2dProblem& problem, bool finish,
                                  cudnnHandle_t handle) {
  std::vector<CudnnDescriptor> operations;
  if (finish) {
    operations = finished_convolution(problem);
  } else {
    operations.push_back(convolution(kind, problem, tensor(kY, problem.y)));
  }
  CudnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (handle != nullptr) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations);
  graph.finalize();
  return graph;
}

CudnnDescriptor convolution_addresses(ConvolutionKind kind, const ConvolutionOperands& operands) {
  constexpr TensorId kIds[][3] = {{kX, kWeight, kY}, {kWeight, kY, kX}, {kX, kY, kWeight}};
  const TensorId* of_kind = kIds[static_cast<int>(kind)];
  std::vector<std::int64_t> ids(of_kind, of_kind + 3);
  std::vector<void*> addresses{const_cast<float*>(operands.first),
                               const_cast<float*>(operands.second), operands.result};
  if (operands.bias != nullptr) {
    ids.push_back(kBias);
    addresses.push_back(const_cast<float*>(operands.bias));
  }
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  pack.set_pointers(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, addresses);
  pack.set_pointer(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, operands.workspace);
  pack.finalize();
  return pack;
}

}  // namespace skyline
