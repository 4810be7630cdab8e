#include "framework/ops/recurrent/lstm_cell.h"

#include <utility>

#include "framework/apply.h"
#include "framework/ops/recurrent/lstm_cell_kernels.h"
#include "framework/ops/support/operands.h"
#include "framework/ops/support/shape_checks.h"

namespace skyline {
namespace {

// Inputs activated gates, c before, c after, grad_h, grad_c; outputs grad_gates, grad_c_before.
class LstmCellGrad : public Op {
 public:
  std::string_view name() const override { return "lstm_cell_grad"; }

  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    require_inputs("lstm_cell_grad", inputs.size(), 5);
    require_float("lstm_cell_grad", "c", inputs[1], 2);
    const Shape& c = inputs[1].shape;
    require_spec("lstm_cell_grad", "gates", inputs[0], {{c[0], 4 * c[1]}});
    require_spec("lstm_cell_grad", "c after", inputs[2], inputs[1]);
    require_spec("lstm_cell_grad", "grad_h", inputs[3], inputs[1]);
    require_spec("lstm_cell_grad", "grad_c", inputs[4], inputs[1]);
    return {{inputs[0], Category::kGradient}, {inputs[1], Category::kGradient}};
  }
  std::vector<InPlacePair> in_place() const override {
    return {{.input = 0, .output = 0}, {.input = 4, .output = 1}, {.input = 3, .output = 1}};
  }

  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    const Shape& c = inputs[1].shape;
    return compute.cuda() ? make_lstm_cell_grad_cuda(*compute.cuda(), c[0], c[1])
                          : make_lstm_cell_grad_cpu(c[0], c[1]);
  }
};

// Inputs gates, c; outputs h, activated gates, c. In this order an output that nobody reads dies at
// once, while the caller holds c.
class LstmCell : public Op {
 public:
  std::string_view name() const override { return "lstm_cell"; }

  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    require_inputs("lstm_cell", inputs.size(), 2);
    require_float("lstm_cell", "c", inputs[1], 2);
    const Shape& c = inputs[1].shape;
    require_spec("lstm_cell", "gates", inputs[0], {{c[0], 4 * c[1]}});
    return {{inputs[1], Category::kActivation},
            {inputs[0], Category::kActivation},
            {inputs[1], Category::kActivation}};
  }
  std::vector<InPlacePair> in_place() const override {
    return {{.input = 0, .output = 1}, {.input = 1, .output = 2}};
  }

  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    const Shape& c = inputs[1].shape;
    return compute.cuda() ? make_lstm_cell_cuda(*compute.cuda(), c[0], c[1])
                          : make_lstm_cell_cpu(c[0], c[1]);
  }

  std::vector<GradientCall> gradient(std::span<const TensorSpec>,
                                     const std::vector<bool>&) const override {
    return {
        {.op = std::make_shared<LstmCellGrad>(),
         .sources = {GradientSource::output(1), GradientSource::input(1), GradientSource::output(2),
                     GradientSource::grad_output(0), GradientSource::grad_output(2)},
         .gradient_of = {0, 1}}};
  }
};

}  // namespace

LstmCellOutput lstm_cell(Context& context, Tensor gates, Tensor c) {
  std::vector<Tensor> outputs =
      apply(context, std::make_shared<LstmCell>(), operands(std::move(gates), std::move(c)));
  return {.h = std::move(outputs[0]), .c = std::move(outputs[2])};
}

}  // namespace skyline
