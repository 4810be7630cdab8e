#include "tests/benchmarks/bare/bare_primitives.h"

#include <map>
#include <stdexcept>

#include "framework/ops/support/dnnl_kernel.h"

namespace skyline {
namespace {

dnnl::stream& stream() {
  static dnnl::stream stream(dnnl_engine());
  return stream;
}

const std::map<std::string, void (*)(BareBuilder&)>& makers() {
  static const std::map<std::string, void (*)(BareBuilder&)> table = {
      {"conv2d", add_convolution},
      {"conv2d_grad_input", add_convolution},
      {"conv2d_grad_weight", add_convolution},
      {"linear", add_linear},
      {"linear_grad_input", add_linear},
      {"linear_grad_weight", add_linear},
      {"batch_norm", add_batch_norm},
      {"batch_norm_grad", add_batch_norm},
      {"batch_norm_grad_of_sum", add_batch_norm},
      {"local_response_norm", add_response_norm},
      {"local_response_norm_grad", add_response_norm},
      {"max_pool2d", add_pooling},
      {"max_pool2d_grad", add_pooling},
      {"average_pool2d", add_pooling},
      {"average_pool2d_grad", add_pooling},
      {"relu", add_elementwise},
      {"relu_grad", add_elementwise},
      {"add", add_elementwise},
      {"add_scaled", add_elementwise},
      {"add_scaled_grad", add_elementwise},
      {"sum", add_elementwise},
      {"dropout", add_elementwise},
      {"dropout_grad", add_elementwise},
      {"gradient_seed", add_elementwise},
      {"concat", add_concat},
      {"concat_grad", add_concat},
      {"softmax_cross_entropy", add_loss},
      {"softmax_cross_entropy_grad", add_loss},
      {"sgd_momentum", add_optimizer},
  };
  return table;
}

}  // namespace

dnnl::memory BareBuilder::weight(const Operand& operand, const dnnl::memory::desc& plain,
                                 const dnnl::memory::desc& layout, BareMemory::Use use) {
  if (!reorders()) return memory_.weight(operand, plain, layout, use);
  const dnnl::memory lies = memory_.tensor(operand, plain);
  if (plain == layout) return lies;
  const dnnl::memory copy = memory_.kept("weight", layout);
  reorder(lies, copy);
  return copy;
}

dnnl::memory BareBuilder::gradient(const Operand& operand, const dnnl::memory::desc& layout) {
  if (!reorders()) return memory_.weight(operand, layout, layout, BareMemory::Use::kGradient);
  const dnnl::memory plain = memory_.tensor(operand);
  return plain.get_desc() == layout ? plain : memory_.kept("gradient", layout);
}

void BareBuilder::finish_gradient(const Operand& operand, const dnnl::memory& written) {
  const dnnl::memory plain = memory_.tensor(operand);
  if (reorders() && written.get_desc() != plain.get_desc()) reorder(written, plain);
}

void BareBuilder::reorder(const dnnl::memory& from, const dnnl::memory& to) {
  call(dnnl::reorder::primitive_desc(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

void BareBuilder::call(const dnnl::primitive_desc_base& descriptor,
                       std::unordered_map<int, dnnl::memory> arguments) {
  const dnnl::primitive primitive(descriptor.get());
  call([primitive, arguments = std::move(arguments)] { primitive.execute(stream(), arguments); });
}

std::vector<BareCall> bare_calls(const ExecutedOp& op, BareMemory& memory, BareWeights weights) {
  const auto maker = makers().find(op.name);
  if (maker == makers().end()) {
    throw std::invalid_argument("[bare step] op, got " + op.name + ", expected one of oneDNN's");
  }
  BareBuilder builder(op, memory, weights);
  maker->second(builder);
  return builder.take();
}

}  // namespace skyline
