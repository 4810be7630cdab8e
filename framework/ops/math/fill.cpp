#include "framework/ops/math/fill.h"

#include <fmt/format.h>

#include "framework/ops/math/fill_kernels.h"
#include "framework/ops/support/shape_checks.h"

namespace skyline {

Fill::Fill(TensorSpec spec, float value, Category category)
    : spec_(spec), value_(value), category_(category) {
  if (spec.dtype != DType::kFloat32) {
    throw ShapeError("fill", "dtype", dtype_name(spec.dtype), dtype_name(DType::kFloat32));
  }
}

std::string Fill::parameters() const {
  return fmt::format("spec={} value={}", spec_.str(), value_);
}

std::vector<OutputSpec> Fill::outputs(std::span<const TensorSpec> inputs) const {
  require_inputs("fill", inputs.size(), 0);
  return {{spec_, category_}};
}

std::unique_ptr<Kernel> Fill::kernel(Compute& compute, std::span<const TensorSpec>) const {
  const std::int64_t elements = spec_.shape.elements();
  return compute.cuda() ? make_fill_cuda(*compute.cuda(), elements, value_)
                        : make_fill_cpu(elements, value_);
}

}  // namespace skyline
