#include "tests/benchmarks/framework/observed_ops.h"

#include <chrono>
#include <stdexcept>
#include <utility>

#include "framework/ops/support/dnnl_kernel.h"

namespace skyline {
namespace {

using Clock = std::chrono::steady_clock;

// The linker redirects to a plain function, which finds the observer here.
OpObserver* observer = nullptr;

Operand operand(const Tensor& tensor) {
  const Storage& storage = *tensor.storage();
  return {tensor.spec(), storage.address(), storage.category, storage.resident};
}

std::vector<std::string> implementations(Context& context, const Op& op,
                                         std::span<const TensorSpec> specs) {
  if (!op.cacheable()) return {};  // its kernel would be made again
  const auto kernel = context.kernels().get(op, specs);
  const auto* dnnl = dynamic_cast<const DnnlKernel*>(kernel.get());
  return dnnl == nullptr ? std::vector<std::string>{} : dnnl->implementations();
}

}  // namespace

// Context::execute under the two names that --wrap gives it: the real one, and the one callers
// reach. A member function is called like a free one that takes `this` first.
std::vector<Tensor> real_execute(Context* context, const Op& op, std::vector<Tensor> inputs,
                                 std::span<const Tensor> destinations, Phase phase,
                                 std::string_view layer) asm("__real_" SKYLINE_CONTEXT_EXECUTE);
std::vector<Tensor> wrapped_execute(Context* context, const Op& op, std::vector<Tensor> inputs,
                                    std::span<const Tensor> destinations, Phase phase,
                                    std::string_view layer) asm("__wrap_" SKYLINE_CONTEXT_EXECUTE);

std::vector<Tensor> wrapped_execute(Context* context, const Op& op, std::vector<Tensor> inputs,
                                    std::span<const Tensor> destinations, Phase phase,
                                    std::string_view layer) {
  if (observer == nullptr || op.is_view()) {
    return real_execute(context, op, std::move(inputs), destinations, phase, layer);
  }
  observer->executing(inputs);
  ExecutedOp executed{.name = std::string(op.name()),
                      .parameters = op.parameters(),
                      .layer = std::string(layer),
                      .phase = phase};
  std::vector<TensorSpec> specs;
  for (const Tensor& input : inputs) {
    specs.push_back(input.spec());
    executed.inputs.push_back(operand(input));
  }
  const auto start = Clock::now();
  std::vector<Tensor> outputs =
      real_execute(context, op, std::move(inputs), destinations, phase, layer);
  executed.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  for (const Tensor& output : outputs) executed.outputs.push_back(operand(output));
  executed.implementations = implementations(*context, op, specs);
  observer->executed(std::move(executed));
  return outputs;
}

OpObserver::OpObserver() {
  if (observer != nullptr) throw std::logic_error("[op observer] another one lives");
  observer = this;
}

OpObserver::~OpObserver() { observer = nullptr; }

std::int64_t multiply_adds(const ExecutedOp& op) {
  const auto count = [](const Operand& y, const Operand& weight) {
    return y.spec.shape.elements() * (weight.spec.shape.elements() / weight.spec.shape[0]);
  };
  for (const std::string forward : {"conv2d", "linear"}) {
    if (op.name == forward) return count(op.outputs[0], op.inputs[1]);
    if (op.name == forward + "_grad_input") return count(op.inputs[1], op.inputs[0]);
    if (op.name == forward + "_grad_weight") return count(op.inputs[1], op.outputs[0]);
  }
  if (op.name != "lstm" && op.name != "lstm_grad") return 0;
  std::int64_t weights = 0;
  for (const Operand& input : op.inputs) {
    const bool matrix = input.resident && input.spec.shape.rank() == 2;
    weights += matrix ? input.spec.shape.elements() : 0;
  }
  return op.inputs[0].spec.shape[0] * weights * (op.name == "lstm" ? 1 : 2);
}

double flop(std::span<const ExecutedOp> ops) {
  double sum = 0;
  for (const ExecutedOp& op : ops) sum += 2.0 * static_cast<double>(multiply_adds(op));
  return sum;
}

std::uint64_t operand_bytes(const ExecutedOp& op) {
  std::uint64_t bytes = 0;
  for (const auto* operands : {&op.inputs, &op.outputs}) {
    for (const Operand& operand : *operands) bytes += operand.spec.bytes();
  }
  return bytes;
}

}  // namespace skyline
