#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "framework/apply.h"
#include "framework/backward/backward_graph.h"
#include "memory/adaptors/observing_adaptors.h"
#include "memory/allocators/best_fit_pool.h"
#include "tests/framework/backend.h"

namespace skyline {

// A context on the backend that records steps twice: as requests by the allocator, and as a step
// graph by the framework.
struct RecordedContext {
  explicit RecordedContext(Context::Options options = {})
      : context(recorder, [&options] {
          if (!options.compute) options.compute = backend().compute();
          return options;
        }()) {
    context.watch().record_graph = true;
  }

  // A parameter of `elements` values, all `value`.
  Parameter vector_parameter(std::string name, std::int64_t elements, float value) {
    const std::vector<float> host(static_cast<std::size_t>(elements), value);
    return make_parameter(context, {Shape{elements}}, std::move(name), host.data());
  }

  Tensor upload_vector(std::vector<float> values) {
    return context.upload({Shape{static_cast<std::int64_t>(values.size())}}, values.data());
  }

  static std::vector<float> values(const Tensor& tensor) { return backend().read(tensor); }

  // Returns why outputs of the running step were not written in place, a line an output.
  std::string refusals() const {
    const RecordedStep& step = context.recorded_step();
    std::string text;
    for (std::size_t k = 0; k < step.memory.size(); ++k) {
      for (const OutputMemory& memory : step.memory[k]) {
        if (memory.reason.empty()) continue;
        text += step.graph.ops[k].name + " of " + step.graph.ops[k].layer + ": " + memory.reason;
        text += '\n';
      }
    }
    return text;
  }

  std::unique_ptr<Device> device = backend().make_device();
  BestFitPool pool{*device};
  RecordingAdaptor recorder{pool};
  Context context;
};

}  // namespace skyline
