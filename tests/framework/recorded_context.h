#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "framework/apply.h"
#include "memory/adaptors/recording_adaptor.h"
#include "memory/allocators/best_fit_pool.h"
#include "tests/framework/backend.h"

namespace skyline {

// A context on the backend whose steps are recorded twice: as requests by the allocator, as a step
// graph by the framework.
struct RecordedContext {
  explicit RecordedContext(Context::Options options = {})
      : context(recorder, [&options] {
          options.compute = backend().compute();
          options.record_graph = true;
          options.record_refusals = true;
          return options;
        }()) {}

  // A parameter of `elements` values, all `value`.
  Parameter vector_parameter(std::string name, std::int64_t elements, float value) {
    const std::vector<float> host(static_cast<std::size_t>(elements), value);
    return context.parameter({Shape{elements}}, std::move(name), host.data());
  }

  Tensor upload_vector(std::vector<float> values) {
    return context.upload({Shape{static_cast<std::int64_t>(values.size())}}, values.data());
  }

  static std::vector<float> values(const Tensor& tensor) { return backend().read(tensor); }

  // The refusals of the running step, one line each.
  std::string refusals() const {
    std::string text;
    for (const InPlaceRefusal& refusal : context.refusals()) {
      text += refusal.op + " of " + refusal.layer + ": " + refusal.reason + "\n";
    }
    return text;
  }

  std::unique_ptr<Device> device = backend().make_device();
  BestFitPool pool{*device};
  RecordingAdaptor recorder{pool};
  Context context;
};

}  // namespace skyline
