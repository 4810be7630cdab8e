#include "framework/ops/optimizer/gradient_norm.h"

#include <fmt/format.h>

#include <stdexcept>
#include <string>

#include "framework/ops/optimizer/gradient_norm_kernels.h"
#include "framework/ops/support/shape_checks.h"

namespace skyline {
namespace {

class SumOfSquares : public Op {
 public:
  std::string_view name() const override { return "sum_of_squares"; }
  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    require_inputs("sum_of_squares", inputs.size(), 1);
    require_spec("sum_of_squares", "gradient", inputs[0], {inputs[0].shape, DType::kFloat32});
    return {{{Shape{1}}, Category::kOptimizer}};
  }
  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    const std::int64_t elements = inputs[0].shape.elements();
    return compute.cuda() ? make_sum_of_squares_cuda(*compute.cuda(), elements)
                          : make_sum_of_squares_cpu(elements);
  }
};

class ClipFactor : public Op {
 public:
  explicit ClipFactor(float max_norm) : max_norm_(max_norm) {}
  std::string_view name() const override { return "clip_factor"; }
  std::string parameters() const override { return fmt::format("max_norm={}", max_norm_); }
  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    if (inputs.empty()) throw ShapeError("clip_factor", "number of sums", "0", "at least 1");
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      require_spec("clip_factor", fmt::format("sum {}", k), inputs[k], {Shape{1}});
    }
    return {{{Shape{1}}, Category::kOptimizer}};
  }
  std::vector<InPlacePair> in_place() const override { return {{.input = 0, .output = 0}}; }
  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    return compute.cuda() ? make_clip_factor_cuda(*compute.cuda(), inputs.size(), max_norm_)
                          : make_clip_factor_cpu(inputs.size(), max_norm_);
  }

 private:
  float max_norm_;
};

}  // namespace

std::shared_ptr<const Op> sum_of_squares_op() { return std::make_shared<SumOfSquares>(); }

std::shared_ptr<const Op> clip_factor_op(float max_norm) {
  if (!(max_norm > 0)) {
    throw std::invalid_argument(
        fmt::format("[clip_factor] max_norm, got {}, expected a positive number", max_norm));
  }
  return std::make_shared<ClipFactor>(max_norm);
}

}  // namespace skyline
