#include "framework/cuda/engine_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace skyline {
namespace {

bool allowed(cudnnBackendNumericalNote_t note, const CudaOptions& options) {
  switch (note) {
    case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:  // fp32 goes there as TF32
    case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
    case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
      return options.tf32;
    case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
      return !options.deterministic;
    default:
      return true;
  }
}

CudnnDescriptor engine_of(const CudnnDescriptor& configuration) {
  return configuration.descriptor(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
}

bool allowed(const CudnnDescriptor& configuration, const CudaOptions& options) {
  const auto notes = engine_of(configuration).numerical_notes(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
  const std::int64_t workspace = configuration.integer(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE);
  return std::ranges::all_of(notes, [&](auto note) { return allowed(note, options); }) &&
         (!options.workspace_bytes ||
          static_cast<std::size_t>(workspace) <= *options.workspace_bytes);
}

EngineChoice choice_of(const CudnnDescriptor& configuration) {
  EngineChoice choice{.engine = engine_of(configuration).integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX),
                      .workspace_bytes = static_cast<std::size_t>(
                          configuration.integer(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE))};
  for (const CudnnDescriptor& knob :
       configuration.descriptors(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                 CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS)) {
    choice.knobs.emplace_back(knob.knob_type(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE),
                              knob.integer(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
  }
  return choice;
}

CudnnDescriptor plan_of(const CudnnDescriptor& configuration, const CudnnDescriptor& card) {
  CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, card);
  plan.finalize();
  return plan;
}

// What cuDNN says of graphs that no engine takes, and of engines that heuristics offer in vain.
bool is_refusal(const CudnnError& error) {
  return CUDNN_STATUS_CATEGORY(error.status()) == CUDNN_STATUS_NOT_SUPPORTED;
}

std::vector<CudnnDescriptor> configurations(const CudnnDescriptor& graph,
                                            const CudnnDescriptor& card,
                                            cudnnBackendHeurMode_t mode) {
  CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, card);
  try {
    heuristics.finalize();
  } catch (const CudnnError& error) {
    if (is_refusal(error)) return {};
    throw;
  }
  return heuristics.descriptors(
      CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
      heuristics.count(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR));
}

}  // namespace

CudnnDescriptor described_card(const std::string& json) {
  CudnnDescriptor card(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  try {
    card.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, json);
    card.finalize();
  } catch (const CudnnError& error) {
    throw std::runtime_error(
        fmt::format("[plan] card, got a description that cuDNN refuses: {}", error.what()));
  }
  return card;
}

CudnnDescriptor card_of(cudnnHandle_t handle) {
  CudnnDescriptor card(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  card.set(CUDNN_ATTR_DEVICEPROP_HANDLE, handle);
  card.finalize();
  return card;
}

std::optional<FoundEngine> find_engine(const CudnnDescriptor& graph, const CudnnDescriptor& card,
                                       const CudaOptions& options) {
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (const CudnnDescriptor& configuration : configurations(graph, card, mode)) {
      if (!allowed(configuration, options)) continue;
      try {
        return FoundEngine{choice_of(configuration), plan_of(configuration, card)};
      } catch (const CudnnError& error) {
        if (!is_refusal(error)) throw;
      }
    }
  }
  return std::nullopt;
}

CudnnDescriptor engine_plan(const CudnnDescriptor& graph, const CudnnDescriptor& card,
                            const EngineChoice& choice) {
  CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
  engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, choice.engine);
  engine.set(CUDNN_ATTR_ENGINE_DEVICEPROP, card);
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
  return plan_of(configuration, card);
}

}  // namespace skyline
