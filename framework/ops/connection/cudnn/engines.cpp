#include "framework/ops/connection/cudnn/engines.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

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

bool allowed(cudnnBackendNumericalNote_t note, const CudaOptions& options) {
  switch (note) {
    case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:  // fp32 goes there as TF32
      return options.tf32;
    case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:  // to 16 bits
    case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
      return false;
    case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
      return !options.deterministic;
    default:
      return true;
  }
}

CudnnDescriptor engine_of(const CudnnDescriptor& configuration) {
  return configuration.descriptor(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
}

bool fits(std::int64_t workspace, const CudaOptions& options) {
  return !options.workspace_bytes ||
         static_cast<std::size_t>(workspace) <= *options.workspace_bytes;
}

std::vector<cudnnBackendNumericalNote_t> notes_of(const CudnnDescriptor& configuration) {
  return engine_of(configuration).numerical_notes(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
}

bool allowed(const CudnnDescriptor& configuration, const CudaOptions& options) {
  return std::ranges::all_of(notes_of(configuration),
                             [&](auto note) { return allowed(note, options); }) &&
         fits(configuration.integer(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE), options);
}

bool is_reference(const CudnnDescriptor& configuration) {
  return std::ranges::count(notes_of(configuration), CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP) > 0;
}

EngineChoice choice_of(const CudnnDescriptor& configuration, std::int64_t workspace) {
  EngineChoice choice{.engine = engine_of(configuration).integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX),
                      .workspace_bytes = static_cast<std::size_t>(workspace)};
  for (const CudnnDescriptor& knob :
       configuration.descriptors(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                 CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS)) {
    choice.knobs.emplace_back(knob.knob_type(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE),
                              knob.integer(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
  }
  return choice;
}

// A graph made with a handle knows its device; without one, the description of a card replaces it.
void set_card(CudnnDescriptor& descriptor, CudnnDescriptor::Name name,
              const CudnnLibrary& library) {
  if (library.handle() == nullptr) descriptor.set(name, library.card());
}

CudnnDescriptor plan_of(const CudnnDescriptor& configuration, const CudnnLibrary& library) {
  CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  if (library.handle() != nullptr) plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, library.handle());
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  set_card(plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, library);
  plan.finalize();
  return plan;
}

std::vector<CudnnDescriptor> configurations(const CudnnDescriptor& graph,
                                            const CudnnLibrary& library,
                                            cudnnBackendHeurMode_t mode) {
  CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
  set_card(heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, library);
  heuristics.finalize();
  return heuristics.descriptors(
      CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
      heuristics.count(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR));
}

// Returns the function's result; empty, with the reason in `last_error`, if cuDNN refuses.
template <typename Function>
auto attempt(const Function& function, std::string& last_error)
    -> std::optional<decltype(function())> {
  try {
    return function();
  } catch (const CudnnError& error) {
    last_error = error.what();
    return std::nullopt;
  }
}

// Returns what the heuristics offer and the options allow, the fastest first by their own account,
// but the reference last.
std::vector<CudnnDescriptor> candidates(const CudnnDescriptor& graph, const CudnnLibrary& library,
                                        const CudaOptions& options, std::string& last_error) {
  std::vector<CudnnDescriptor> found;
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    auto offers = attempt([&] { return configurations(graph, library, mode); }, last_error);
    if (!offers) continue;
    for (CudnnDescriptor& offer : *offers) {
      if (attempt([&] { return allowed(offer, options); }, last_error).value_or(false)) {
        found.push_back(std::move(offer));
      }
    }
  }
  std::ranges::stable_partition(found, std::not_fn(is_reference));
  return found;
}

// True for an engine with the same knobs. Without knobs, it takes some of its own.
bool contains(const std::vector<FoundEngine>& found, const EngineChoice& choice) {
  return std::ranges::any_of(found, [&choice](const FoundEngine& other) {
    return other.choice.engine == choice.engine && other.choice.knobs == choice.knobs;
  });
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

FoundEngines find_engines(const CudnnDescriptor& graph, const CudnnLibrary& library,
                          const CudaOptions& options, std::size_t most) {
  FoundEngines found;
  for (const CudnnDescriptor& offer : candidates(graph, library, options, found.last_error)) {
    if (found.engines.size() == most) break;
    auto plan = attempt([&] { return plan_of(offer, library); }, found.last_error);
    if (!plan) continue;
    // The plan's own figure counts, because the plan is what runs.
    const std::int64_t workspace = plan->integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
    EngineChoice choice = choice_of(offer, workspace);
    if (!fits(workspace, options) || contains(found.engines, choice)) continue;
    found.engines.push_back({std::move(choice), std::move(*plan), is_reference(offer)});
  }
  return found;
}

CudnnDescriptor engine_plan(const CudnnDescriptor& graph, const CudnnLibrary& library,
                            const EngineChoice& choice) {
  CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
  engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, choice.engine);
  set_card(engine, CUDNN_ATTR_ENGINE_DEVICEPROP, library);
  engine.finalize();
  std::vector<CudnnDescriptor> knobs;
  for (const auto& [type, value] : choice.knobs) {
    CudnnDescriptor& knob = knobs.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, static_cast<cudnnBackendKnobType_t>(type));
    knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, value);
    knob.finalize();
  }
  CudnnDescriptor configuration(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  configuration.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  if (!knobs.empty()) configuration.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, knobs);
  configuration.finalize();
  return plan_of(configuration, library);
}

}  // namespace skyline
