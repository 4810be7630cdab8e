#include "framework/ops/connection/cudnn/engine_search.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace skyline {
namespace {

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

// True unless the engine copies a tensor into another layout, or is the one that is slow
// everywhere: cuDNN's reference, which alone promises to pass on NaN.
bool keeps_layouts(const CudnnDescriptor& configuration, std::size_t layout_bytes) {
  const auto workspace = configuration.integer(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE);
  return static_cast<std::size_t>(workspace) < layout_bytes &&
         std::ranges::count(notes_of(configuration), CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP) == 0;
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

// Returns what the heuristics offer and the options allow, the fastest first by their own account.
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
  return found;
}

}  // namespace

FoundEngines find_engines(const CudnnDescriptor& graph, const CudnnLibrary& library,
                          const CudaOptions& options, std::size_t layout_bytes, std::size_t most) {
  FoundEngines found;
  auto offers = candidates(graph, library, options, found.last_error);
  const auto preferred = std::ranges::find_if(
      offers, [=](const CudnnDescriptor& offer) { return keeps_layouts(offer, layout_bytes); });
  if (preferred != offers.end()) std::rotate(offers.begin(), preferred, preferred + 1);
  for (const CudnnDescriptor& offer : offers) {
    if (found.engines.size() == most) break;
    auto plan = attempt([&] { return plan_of(offer, library); }, found.last_error);
    if (!plan) continue;
    // The plan's own figure counts, because the plan is what runs.
    const std::int64_t workspace = plan->integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
    if (fits(workspace, options)) {
      found.engines.push_back({choice_of(offer, workspace), std::move(*plan)});
    }
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
