#include "tests/framework/op_check_ops.h"

#include <algorithm>
#include <utility>

#include "framework/apply.h"
#include "framework/ops/array/reshape.h"
#include "framework/ops/support/declared_op.h"
#include "framework/philox.h"
#include "tests/framework/host_kernel.h"

namespace skyline {
namespace {

class Copy : public Op {
 public:
  std::string_view name() const override { return "copy"; }
  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    return {{inputs[0], Category::kActivation}};
  }
  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    const std::int64_t elements = inputs[0].shape.elements();
    return std::make_unique<HostKernel>(
        compute, elements, elements,
        [elements](const float* x, float* y) { std::copy_n(x, elements, y); });
  }
  std::vector<GradientCall> gradient(std::span<const TensorSpec> inputs,
                                     const std::vector<bool>&) const override {
    return {{.op = std::make_shared<Reshape>(inputs[0].shape),
             .sources = {GradientSource::grad_output(0)},
             .gradient_of = {0}}};
  }
};

class WeightedTotalGrad : public Op {
 public:
  WeightedTotalGrad(TensorSpec spec, std::uint64_t seed) : spec_(spec), seed_(seed) {}
  std::string_view name() const override { return "weighted_total_grad"; }
  bool cacheable() const override { return false; }
  std::vector<OutputSpec> outputs(std::span<const TensorSpec>) const override {
    return {{spec_, Category::kGradient}};
  }
  std::unique_ptr<Kernel> kernel(Compute& compute, std::span<const TensorSpec>) const override {
    const std::int64_t elements = spec_.shape.elements();
    return std::make_unique<HostKernel>(
        compute, 1, elements, [elements, seed = seed_](const float* grad, float* grad_x) {
          for (std::int64_t i = 0; i < elements; ++i) {
            grad_x[i] = grad[0] * static_cast<float>(output_weight(seed, i));
          }
        });
  }

 private:
  TensorSpec spec_;
  std::uint64_t seed_;
};

class WeightedTotal : public Op {
 public:
  explicit WeightedTotal(std::uint64_t seed) : seed_(seed) {}
  std::string_view name() const override { return "weighted_total"; }
  bool cacheable() const override { return false; }
  std::vector<OutputSpec> outputs(std::span<const TensorSpec>) const override {
    return {{{Shape{1}}, Category::kActivation}};
  }
  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    const std::int64_t elements = inputs[0].shape.elements();
    return std::make_unique<HostKernel>(compute, elements, 1,
                                        [elements, seed = seed_](const float* x, float* loss) {
                                          double total = 0;
                                          for (std::int64_t i = 0; i < elements; ++i) {
                                            total += output_weight(seed, i) * double{x[i]};
                                          }
                                          *loss = static_cast<float>(total);
                                        });
  }
  std::vector<GradientCall> gradient(std::span<const TensorSpec> inputs,
                                     const std::vector<bool>&) const override {
    return {{.op = std::make_shared<WeightedTotalGrad>(inputs[0], seed_),
             .sources = {GradientSource::grad_output(0)},
             .gradient_of = {0}}};
  }

 private:
  std::uint64_t seed_;
};

}  // namespace

Tensor copy(Context& context, Tensor x) {
  return apply(context, std::make_shared<Copy>(), operands(std::move(x))).front();
}

double output_weight(std::uint64_t seed, std::int64_t i) {
  constexpr std::uint64_t kWeightStream = 2000;
  const auto words = Philox{seed}(kWeightStream, static_cast<std::uint64_t>(i));
  return 2.0 * double{uniform_float(words[0])} - 1.0;
}

Tensor weighted_total(Context& context, Tensor x, std::uint64_t seed) {
  return apply(context, std::make_shared<WeightedTotal>(seed), operands(std::move(x))).front();
}

}  // namespace skyline
